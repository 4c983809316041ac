#!/bin/bash
# Tetrachoric correlations against R: psych::tetrachoric, lavaan::lavCor and the root of mvtnorm's or pbivnorm's
# probability, on random tables and on tables of data sets that come with R and psych.
command -v Rscript >/dev/null || { echo "SKIP: Rscript is not installed"; exit 77; }
for package in psych lavaan mvtnorm; do
  Rscript -e "quit(status = !requireNamespace('$package', quietly = TRUE))" >/dev/null 2>&1 ||
    { echo "SKIP: R package $package is not installed"; exit 77; }
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export OURS="$BLICA_BUILD/tetrachoric_tables" WORK="$work"
[ -x "$OURS" ] || { echo "FAIL: $OURS was not built"; exit 1; }
Rscript --vanilla "$BLICA_SOURCE/tests/parity/tetrachoric.R"
