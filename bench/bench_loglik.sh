#!/bin/bash
# The full log-likelihood of 40 x 1000 rows under their true model, n = k = 6, beside mvtnorm's pmvnorm in R, in the same run.
# R is given its best case, equal rows merged (each distinct pattern of a segment once), and, as calls times 40 000 rows over distinct
# patterns, what it takes row by row. Errors are against our own value at a stated error below 0.1.
# CPU seconds of one core for both.
# usage: bench_loglik.sh [BUILD]   (default: the release build; needs its target benches, r-cran-mvtnorm, python3-numpy)
set -e
root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build/release}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export OPENBLAS_NUM_THREADS=1
"$build/blica" simulate --variables 6 --sources 6 --segments 40 --samples 1000 --seed 1 --out d --quiet
"$build/bench_loglik" 6 6 40 1000 1 auto 0.5 0.1 >call.txt
/usr/bin/python3 - "$build/blica" <<'P'
import csv, json, subprocess, sys, time
from collections import Counter
import numpy as np
import resource
best = cpu = 1e9
for _ in range(5):
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.argv[1], "loglik", "d/model.json", "d/data.csv", "--json", "--quiet", "--threads", "1"], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    best = min(best, time.perf_counter() - begun)
    cpu = min(cpu, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
open("program.txt", "w").write(f"{best} {cpu}")
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
read <- function(s) {
  cov <- as.matrix(read.table(sprintf("cov%d.txt", s))); dimnames(cov) <- NULL
  list(cov = cov, mean = scan(sprintf("mean%d.txt", s), quiet = TRUE), patterns = as.matrix(read.table(sprintf("patterns%d.txt", s))))
}
segments <- lapply(0:39, read)
for (algorithm in list(GenzBretz(), GenzBretz(maxpts = 1e6, abseps = 1e-6), Miwa())) {
  total <- 0; error <- 0; calls <- 0
  time <- system.time(for (g in segments) {
    n <- length(g$mean)
    for (r in seq_len(nrow(g$patterns))) {
      x <- g$patterns[r, 1:n]
      p <- pmvnorm(lower = ifelse(x == 1, 0, -Inf), upper = ifelse(x == 1, Inf, 0), mean = g$mean, sigma = g$cov, algorithm = algorithm)
      total <- total + g$patterns[r, n + 1] * log(p)
      error <- error + g$patterns[r, n + 1] * attr(p, "error") / p # NA for Miwa
      calls <- calls + 1
    }
    if (!identical(algorithm, GenzBretz())) break # of the slow ones one segment is enough to see
  })
  cat(sprintf("%.8f %.8f %d %.6f\n", total, if (is.na(error)) 0 else error, calls, time[["user.self"]] + time[["sys.self"]]))
}
END
/usr/bin/python3 - <<'P'
rows = [list(map(float, l.split())) for l in open("theirs.txt")]
calls = [list(map(float, l.split())) for l in open("call.txt")]
truth, value, (error, count, seconds) = calls[-1][1], rows[0][0], rows[0][1:]
print(f"reference {truth:.6f}, stated error {calls[-1][2]:.2g}")
print(f"R, pmvnorm with its defaults (abseps 1e-3): {value:.4f}, off by {abs(value - truth):.2g}, sum of its errors {error:.2g}; {count:.0f} distinct "
      f"patterns in {seconds:.1f} s, {seconds / count * 1e3:.2f} ms each; row by row that is {seconds / count * 40000:.0f} s")
for name, (v, e, n, s) in zip(("abseps 1e-6", "Miwa"), rows[1:]):
    print(f"R, {name}: {s / n * 1e3:.2f} ms a pattern (first {n:.0f}), {s / n * count:.0f} s for all")
def times(s):
    return f"{seconds / s:.0f} times faster than R on distinct patterns, {seconds / count * 40000 / s:.0f} than row by row"
elapsed, cpu = map(float, open("program.txt").read().split())
print(f"blica loglik, whole program with start and reading: {cpu:.4f} s ({elapsed:.4f} s elapsed); {times(cpu)}")
for wanted, v, e, s in calls:
    assert abs(v - value) <= e + error and abs(v - truth) <= e + calls[-1][2]
    print(f"blica_loglik, data in memory as R's, error {wanted:g}: off by {abs(v - truth):.2g}, stated {e:.2g}, {s * 1e3:.2f} ms; {times(s)}")
P
