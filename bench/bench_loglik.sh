#!/bin/bash
# The full log-likelihood of 40 x 1000 rows, n = k = 6, beside a sum of mvtnorm's pmvnorm in R, in the same run.
# usage: bench_loglik.sh [BLICA]   (default: the release build)
set -e
root=$(cd "$(dirname "$0")/.." && pwd)
blica=${1:-$root/build/release/blica}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$blica" simulate --variables 6 --sources 6 --segments 40 --samples 1000 --seed 1 --out d --quiet
/usr/bin/python3 - "$blica" <<'P'
import json, subprocess, sys, time
for error in ("60", "0.5"):
    best = 1e9
    for _ in range(5):
        begun = time.perf_counter()
        out = subprocess.run([sys.argv[1], "loglik", "d/model.json", "d/data.csv", "--json", "--quiet", "--error", error], check=True, capture_output=True)
        best = min(best, time.perf_counter() - begun)
    r = json.loads(out.stdout)
    print(f"blica loglik --error {error}: {r['loglik']:.4f} with error {r['error']:.2g} in {best:.3f} s (whole program, reading included)")
    json.dump({"seconds": best, **r}, open(f"ours{error}.json", "w"))
import csv
from collections import Counter
import numpy as np
m = json.load(open("d/model.json"))
A, c = np.array(m["mixing"]), m["link"]
count = Counter((r[-1], tuple(map(int, r[:-1]))) for r in list(csv.reader(open("d/data.csv")))[1:])
for s, label in enumerate(m["segments"]):
    v, mu = np.array(m["variances"][s]), np.array(m["means"][s])
    np.savetxt(f"cov{s}.txt", np.eye(len(A)) + c * (A * v) @ A.T, fmt="%.17g")
    np.savetxt(f"mean{s}.txt", np.sqrt(c) * A @ mu, fmt="%.17g")
    np.savetxt(f"patterns{s}.txt", [list(p) + [k] for (l, p), k in sorted(count.items()) if l == label], fmt="%d")
P
Rscript - >theirs.txt <<'END'
library(mvtnorm)
set.seed(1)
total <- 0; error <- 0; calls <- 0
time <- system.time(for (s in 0:39) {
  cov <- as.matrix(read.table(sprintf("cov%d.txt", s))); dimnames(cov) <- NULL
  mean <- scan(sprintf("mean%d.txt", s), quiet = TRUE)
  patterns <- as.matrix(read.table(sprintf("patterns%d.txt", s)))
  n <- length(mean)
  for (r in seq_len(nrow(patterns))) {
    x <- patterns[r, 1:n]
    p <- pmvnorm(lower = ifelse(x == 1, 0, -Inf), upper = ifelse(x == 1, Inf, 0), mean = mean, sigma = cov)
    total <- total + patterns[r, n + 1] * log(p)
    error <- error + patterns[r, n + 1] * attr(p, "error") / p
    calls <- calls + 1
  }
})
cat(sprintf("%.6f %.6f %d %.6f\n", total, error, calls, time[["elapsed"]]))
END
/usr/bin/python3 - <<'P'
import json
value, error, calls, seconds = map(float, open("theirs.txt").read().split())
print(f"R, pmvnorm with its defaults: {value:.4f}, sum of its errors {error:.2g}; {calls:.0f} distinct patterns in {seconds:.1f} s, "
      f"{seconds / calls * 1e3:.2f} ms each; row by row that is {seconds / calls * 40000:.0f} s")
for name in ("60", "0.5"):
    r = json.load(open(f"ours{name}.json"))
    assert abs(r["loglik"] - value) <= r["error"] + error
    print(f"--error {name}: {seconds / calls * 40000 / r['seconds']:.0f} times faster than R row by row, "
          f"{seconds / r['seconds']:.0f} times faster than R on distinct patterns")
P
