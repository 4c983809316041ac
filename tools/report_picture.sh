#!/bin/bash
# Draws docs/report.png: the first screen of the report of the data of examples/anxiety_csv.R. report_picture.sh PROGRAM [PICTURE]; it needs R
# with psychTools, and chromium.
set -euo pipefail
program=$1
picture=$(realpath "${2:-$(dirname "$0")/../docs/report.png}")
examples=$(realpath "$(dirname "$0")/../examples")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
Rscript --vanilla "$examples/anxiety_csv.R"
"$program" fit anxiety.csv --ordinal --sources 3 --out model.json --quiet
"$program" report model.json anxiety.csv --out report.html --quiet
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1 --window-size=1200,880 \
  --screenshot=report.png "file://$work/report.html" 2>chromium.log || { cat chromium.log; exit 1; }
cp report.png "$picture"
