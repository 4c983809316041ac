#!/bin/bash
# How often `blica assess` calls axes undetermined where nothing can determine them: fair coins (2000 x 8, 10 segments,
# k = 3), 200 segments of 3 rows of coins (n = 8, k = 2), and bfi N1-N5, E1-E5 (psychTools; cut above 3) whose six groups were
# shuffled (k = 2). Usage: undetermined.sh BLICA SETS; what it printed is in bench/results/inference.md.
set -e
blica=$(readlink -f "$1"); sets=$2
folder=$(mktemp -d); trap 'rm -r "$folder"' EXIT; cd "$folder"
Rscript --vanilla -e 'library(psychTools); x <- 1 * (bfi[c(paste0("N", 1:5), paste0("E", 1:5))] > 3); ok <- complete.cases(x)
  g <- paste0(bfi$gender, cut(bfi$age, c(-Inf, 22, 32, Inf), labels = c("a", "b", "c")))
  write.csv(cbind(x, segment = g)[ok, ], "bfi.csv", row.names = FALSE, quote = FALSE)' >/dev/null
cat >make.py <<'P'
import csv, random, sys
kind, seed = sys.argv[1], int(sys.argv[2])
random.seed(seed)
if kind == "bfi":
    head, *rows = csv.reader(open("bfi.csv"))
    groups = [r[-1] for r in rows]
    random.shuffle(groups)
    rows = [r[:-1] + [g] for r, g in zip(rows, groups)]
else:
    total, segments = (2000, 10) if kind == "coins" else (600, 200)
    head = [f"x{i}" for i in range(8)] + ["segment"]
    rows = [[random.choice("01") for _ in range(8)] + [str(r % segments)] for r in range(total)]
csv.writer(open("d.csv", "w")).writerows([head] + rows)
P
for kind in bfi coins tiny; do
  found=0
  for seed in $(seq "$sets"); do
    /usr/bin/python3 make.py $kind "$seed"
    "$blica" fit d.csv --sources $([ $kind = coins ] && echo 3 || echo 2) --threads 1 --out m.json --quiet 2>/dev/null || true
    "$blica" assess m.json d.csv --bootstrap 20 --threads 1 2>/dev/null | grep -q "undetermined" && found=$((found + 1)) || true
  done
  echo "$kind: undetermined in $found of $sets"
done
