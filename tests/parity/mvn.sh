#!/bin/bash
# The full log-likelihood against mvtnorm (Debian's r-cran-mvtnorm): every distinct pattern of a simulated data set by
# pmvnorm, an orthant or with more levels a rectangle, summed per segment, must agree within both stated errors.
Rscript -e 'library(mvtnorm)' >/dev/null 2>&1 || { echo "SKIP: R with r-cran-mvtnorm is not installed"; exit 77; }
/usr/bin/python3 -c 'import numpy' 2>/dev/null || { echo "SKIP: python3-numpy is not installed"; exit 77; }
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for case in "5 2 grid 2" "6 6 lattice 2" "7 3 grid 2" "8 4 lattice 2" "5 2 grid 4" "6 3 lattice 3" "4 4 lattice 5"; do
  set -- $case
  rows=$(($4 > 2 ? 30 : 80))
  "$BLICA" simulate --variables "$1" --sources "$2" --segments 2 --samples "$rows" --levels "$4" --seed 4 --out d --quiet
  "$BLICA" loglik d/model.json d/data.csv --ordinal --engine "$3" --error 0.02 --json --quiet >ours.json
  /usr/bin/python3 - <<'P'
# mean and covariance of each segment, and its distinct patterns with their counts, for R
import csv, json
from collections import Counter
import numpy as np
m = json.load(open("d/model.json"))
A, c = np.array(m["mixing"]), m["link"]
np.savetxt("cuts.txt", m["cuts"], fmt="%.17g")
rows = list(csv.reader(open("d/data.csv")))[1:]
for s, label in enumerate(m["segments"]):
    v, mu = np.array(m["variances"][s]), np.array(m["means"][s])
    np.savetxt(f"cov{s}.txt", np.eye(len(A)) + c * (A * v) @ A.T, fmt="%.17g")
    np.savetxt(f"mean{s}.txt", np.sqrt(c) * A @ mu, fmt="%.17g")
    count = Counter(tuple(map(int, r[:-1])) for r in rows if r[-1] == label)
    np.savetxt(f"patterns{s}.txt", [list(p) + [k] for p, k in sorted(count.items())], fmt="%d")
P
  Rscript - >theirs.txt <<'END'
library(mvtnorm)
set.seed(1)
cuts <- cbind(-Inf, as.matrix(read.table("cuts.txt")), Inf)
for (s in 0:1) {
  cov <- as.matrix(read.table(sprintf("cov%d.txt", s))); dimnames(cov) <- NULL
  mean <- scan(sprintf("mean%d.txt", s), quiet = TRUE)
  patterns <- as.matrix(read.table(sprintf("patterns%d.txt", s)))
  n <- length(mean); total <- 0; error <- 0
  for (r in seq_len(nrow(patterns))) {
    x <- patterns[r, 1:n]
    p <- pmvnorm(lower = cuts[cbind(1:n, x + 1)], upper = cuts[cbind(1:n, x + 2)], mean = mean, sigma = cov,
                 algorithm = GenzBretz(maxpts = 50000, abseps = 1e-7, releps = 1e-5))
    total <- total + patterns[r, n + 1] * log(p)
    error <- error + patterns[r, n + 1] * attr(p, "error") / p
  }
  cat(sprintf("%.12f %.12f\n", total, error))
}
END
  /usr/bin/python3 - "$case" <<'P'
import json, sys
ours = json.load(open("ours.json"))
for segment, line in zip(ours["segments"], open("theirs.txt")):
    value, error = map(float, line.split())
    gap, allowed = abs(segment["loglik"] - value), segment["error"] + error
    print(f"{sys.argv[1]} segment {segment['segment']}: {segment['loglik']:.6f} beside {value:.6f}, apart {gap:.2g}, "
          f"stated errors {segment['error']:.2g} and {error:.2g}")
    assert gap <= allowed and allowed < 0.2
P
  rm -rf d
done
