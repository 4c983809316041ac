#!/bin/bash
# Draws docs/report.png: the first screen of the report of examples/anxiety.R's data. report_picture.sh PROGRAM [PICTURE]; it needs R
# with psychTools, and chromium.
set -euo pipefail
program=$1
picture=$(realpath "${2:-$(dirname "$0")/../docs/report.png}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
Rscript --vanilla -e '
data(sai, package = "psychTools")
items <- setdiff(names(sai), c("study", "time", "TOD", "drug", "film", "id"))[1:20]
segment <- paste(sai$study, sai$time, sep = ":")
keep <- segment %in% names(which(table(segment) >= 150)) & rowMeans(!is.na(sai[items])) > 0.5
write.csv(cbind(sai[items], segment)[keep, ], "anxiety.csv", row.names = FALSE, na = "")'
"$program" fit anxiety.csv --ordinal --sources 2 --out model.json --quiet
"$program" report model.json anxiety.csv --out report.html --quiet
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1 --window-size=1200,866 \
  --screenshot=report.png "file://$work/report.html" 2>chromium.log || { cat chromium.log; exit 1; }
cp report.png "$picture"
