#!/bin/sh
# make demo: simulate data, recover the model they come from, compare the two, and write a report.
set -eu
cd "$(dirname "$0")/.."
blica=build/release/blica
out=demo
variables=10 sources=10 segments=40 samples=1000

echo "1. Simulating $variables binary variables from $sources hidden sources: $segments segments of $samples rows"
"$blica" simulate --variables $variables --sources $sources --segments $segments --samples $samples --seed 1 \
  --out "$out" --quiet
echo "   $out/data.csv    the data; the first rows:"
head -n 3 "$out/data.csv" | sed 's/^/      /'
echo "   $out/model.json  the model they come from"

echo "2. Fitting: the mixing matrix from the data alone"
"$blica" fit "$out/data.csv" --sources $sources --out "$out/fit.json" --quiet
echo "   $out/fit.json    the estimate"

echo "3. Comparing the estimate with the truth (MCS 1 is perfect; chance is about 0.5)"
"$blica" compare "$out/model.json" "$out/fit.json" | sed 's/^/   /'

echo "4. Writing a report"
"$blica" report "$out/fit.json" "$out/data.csv" --out report.html --quiet
echo
echo "The report: $(pwd)/report.html"
echo "Open it in a browser. The first screen answers: what each source drives, and how sure that is, in four statements."
echo "'How sure it is, in numbers' has their evidence, 'How well it fits' the residuals: points along the line, and near the standard errors."
echo "'All loadings' is the mixing matrix (hover for values, click a table's head to sort it)."
