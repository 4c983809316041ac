#!/bin/bash
# An independent referee: lavaan's multi-group factor model of the same data, n = 6, k = 2, u = 4.
export R_LIBS=$BLICA_BUILD/r-check/blica.Rcheck OPENBLAS_NUM_THREADS=1
for package in lavaan blica; do
  Rscript -e "quit(status = !requireNamespace('$package', quietly = TRUE))" >/dev/null 2>&1 ||
    { echo "SKIP: R package $package is not installed (tools/setup.sh test; r/check installs blica)"; exit 77; }
done
Rscript --vanilla "$BLICA_SOURCE/tests/parity/referee.R"
