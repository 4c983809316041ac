#!/bin/bash
# select and assess against psych and lavaan on psychTools' data: Velicer's test of `ability` (tetrachoric, computed by
# psych here) and of `bfi` (polychoric: psych 2.2.9 has .01668 at its minimum of five); and bfi N1-N5, E1-E5 cut above 3 in
# six groups, k = 2, where lavaan 0.6-14 (PML) has 240 degrees of freedom and SRMR .072, and a bootstrap of 200 refits a
# standard deviation of .542 for the loading of N1 on the E source, in the scale where that source has variance 1 in the
# first group. Standard errors of five items of three levels, one factor: those of lavaan's PML, computed here.
Rscript -e "quit(status = !(requireNamespace('psych', quietly = TRUE) && requireNamespace('psychTools', quietly = TRUE) &&
  requireNamespace('lavaan', quietly = TRUE)))" \
  >/dev/null 2>&1 || { echo "SKIP: R packages psych, psychTools and lavaan are not installed (tools/setup.sh test)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
blica=$BLICA_BUILD/blica
cd "$folder" || exit 1
Rscript --vanilla - <<'R' || exit 1
suppressMessages({library(psych); library(psychTools)})
put <- function(x, segment, file) write.csv(cbind(x, segment), file, row.names = FALSE, quote = FALSE, na = "")
put(ability, rep(1:2, length.out = nrow(ability)), "ability.csv")
put(bfi[1:25], rep(1:2, length.out = nrow(bfi)), "bfi.csv")
ten <- 1 * (bfi[c(paste0("N", 1:5), paste0("E", 1:5))] > 3)
whole <- complete.cases(ten)
groups <- paste0(bfi$gender, cut(bfi$age, c(-Inf, 22, 32, Inf), labels = c("a", "b", "c")))
put(ten[whole, ], groups[whole], "ten.csv")
map <- vss(suppressMessages(tetrachoric(ability)$rho), n = 3, n.obs = nrow(ability), plot = FALSE)$map
writeLines(sprintf("%.9f", map), "map.txt")
R
"$blica" select ability.csv --sources 1:3 --folds 2 --references 20 --json >ability.json 2>/dev/null || exit 1
"$blica" select bfi.csv --ordinal --sources 4:6 --folds 2 --references 20 --json >bfi.json 2>/dev/null || exit 1
"$blica" simulate --variables 5 --sources 1 --segments 2 --samples 500 --levels 3 --mixing-range 1.5 --sd-low 1 --sd-high 1 \
  --seed 3 --out three --quiet && sed 's/,[0-9]*$/,all/; 1s/,all$/,segment/' three/data.csv >three.csv || exit 1
"$blica" fit three.csv --ordinal --sources 1 --method pairwise --prior none --allow-unidentified --out three.json --quiet 2>/dev/null || exit 1
"$blica" assess three.json three.csv --bootstrap none --json >three-assessed.json || exit 1
Rscript --vanilla - <<'R' || exit 1
suppressMessages(library(lavaan))
x <- read.csv("three.csv")[paste0("x", 1:5)]
found <- parameterEstimates(cfa("f =~ NA*x1 + x2 + x3 + x4 + x5; f ~~ 1*f", x, ordered = names(x), estimator = "PML"))
write.csv(found[found$op == "=~", c("est", "se")], "lavaan.csv", row.names = FALSE)
R
"$blica" fit ten.csv --sources 2 --method pairwise --prior none --out ten.json --quiet || exit 1
"$blica" assess ten.json ten.csv --bootstrap 200 --json >assessed.json || exit 1
/usr/bin/python3 - <<'P'
import json, math
wanted = [float(line) for line in open("map.txt")]
found = [c["map"] for c in json.load(open("ability.json"))["candidates"][1:]]
assert all(abs(a - b) < 1e-5 for a, b in zip(found, wanted)), (found, wanted)
items = {c["sources"]: c["map"] for c in json.load(open("bfi.json"))["candidates"]}
assert min((4, 5, 6), key=items.get) == 5 and abs(items[5] - .01668) < 1e-5, items
m, r = json.load(open("ten.json")), json.load(open("assessed.json"))
assert r["df"] == 240 and abs(r["srmr"] - .072) < .0005, (r["df"], r["srmr"])
first, n1 = m["segments"].index("1a"), m["variables"].index("N1")
e = min((0, 1), key=lambda j: abs(m["mixing"][n1][j]))
sd = r["mixing"]["se_bootstrap"][n1][e] * math.sqrt(m["link"] * m["variances"][first][e])
assert abs(sd / .542 - 1) < .15, sd

import csv
m, r = json.load(open("three.json")), json.load(open("three-assessed.json"))
for row, (a,), (se,) in zip(csv.DictReader(open("lavaan.csv")), m["mixing"], r["mixing"]["se"]):
    b = a * math.sqrt(m["link"])
    loading, error = b / math.sqrt(1 + b * b), se * math.sqrt(m["link"]) / (1 + b * b) ** 1.5
    assert abs(abs(loading) - abs(float(row["est"]))) < .001 and abs(error / float(row["se"]) - 1) < .04, (loading, error, row)
P
