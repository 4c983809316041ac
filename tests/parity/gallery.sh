#!/bin/bash
# The gallery runs, and its page holds the words and numbers that the scripts print.
for package in MCMCpack psychTools pscl mlbench; do
  Rscript -e "quit(status = !requireNamespace('$package', quietly = TRUE))" >/dev/null 2>&1 ||
    { echo "SKIP: R package $package is not installed (tools/setup.sh test)"; exit 77; }
done
figures=$(mktemp -d)
trap 'rm -rf "$figures"' EXIT
bash "$BLICA_SOURCE/examples/run.sh" "$figures" --check || exit 1
drawn=$(find "$figures" -type f -size +1k | wc -l)
echo "$drawn figures"
[ "$drawn" -ge 5 ]
