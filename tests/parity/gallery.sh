#!/bin/bash
# The gallery runs, and its page holds the words and numbers that the scripts print; the quickest three scripts, one of
# which ends unbounded, print them with every kind of kernel that OpenBLAS has for this machine.
for package in MCMCpack psychTools pscl mlbench; do
  Rscript -e "quit(status = !requireNamespace('$package', quietly = TRUE))" >/dev/null 2>&1 ||
    { echo "SKIP: R package $package is not installed (tools/setup.sh test)"; exit 77; }
done
figures=$(mktemp -d)
trap 'rm -rf "$figures"' EXIT
# what compares the pages lets the last digit differ by one and nothing else
same() { /usr/bin/python3 "$BLICA_SOURCE/tools/same_page.py" <(echo "$1") <(echo "$2") >/dev/null; }
same "a cosine of 0.945." "a cosine of  0.944." || { echo "FAIL: same_page.py refuses the last digit"; exit 1; }
for other in "a cosine of 0.943." "one cosine of 0.945." "a cosine of 0.95." "a cosine of 1.945." "a cosine of 0.945. And"; do
  same "a cosine of 0.945." "$other" && { echo "FAIL: same_page.py lets pass: $other"; exit 1; }
done
same "277 of 9" "276 of 9" && { echo "FAIL: same_page.py lets a count differ"; exit 1; }
bash "$BLICA_SOURCE/examples/run.sh" "$figures" --check || exit 1
drawn=$(find "$figures" -type f -size +1k | wc -l)
echo "$drawn figures"
[ "$drawn" -ge 5 ] || exit 1
for kernels in $(bash "$BLICA_SOURCE/tools/kernels.sh" --list); do
  for script in house.R court.R senate.R; do
    OPENBLAS_CORETYPE=$kernels bash "$BLICA_SOURCE/examples/run.sh" "$figures" --check $script >"$figures/log" 2>&1 ||
      { echo "FAIL: $script prints other words or numbers with the kernels of $kernels:"; cat "$figures/log"; exit 1; }
  done
  echo "kernels of $kernels: the same page"
done
