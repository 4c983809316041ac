#!/bin/bash
# Normal probabilities of rectangles beside mvtnorm (Debian's r-cran-mvtnorm): 1000 random problems of 2 to 20 dimensions, each
# within the stated errors of both; and the time of both for the same wanted error.
Rscript -e 'library(mvtnorm)' >/dev/null 2>&1 || { echo "SKIP: R with r-cran-mvtnorm is not installed"; exit 77; }
PYTHON=${PYTHON:-/usr/bin/python3}
export PYTHONPATH=$BLICA_BUILD/python-package OPENBLAS_NUM_THREADS=1
"$PYTHON" -c 'import blica' 2>/dev/null || { echo "SKIP: the Python package was not installed (tests/python/install.sh)"; exit 77; }
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$PYTHON" - <<'P'
import time
import numpy as np
import blica
rng = np.random.default_rng(5)
spent, write = 0.0, open("problems.txt", "w")
for problem in range(1000):
    n = int(rng.integers(2, 21))
    a = rng.standard_normal((n, n)) * rng.uniform(0.2, 1)
    cov = a @ a.T + np.diag(rng.uniform(0.3, 1, n))
    sd = np.sqrt(np.diag(cov))
    lower, upper, mean = rng.uniform(-3, -0.5, n) * sd, rng.uniform(0, 3, n) * sd, 0.3 * rng.standard_normal(n)
    lower[rng.random(n) < 0.4] = -np.inf
    upper[rng.random(n) < 0.3] = np.inf
    start = time.process_time()
    found = blica.mvn(lower, upper, mean, cov, error=1e-4)
    spent += time.process_time() - start
    print(n, found.value.hex(), found.error.hex(), *(float(v).hex() for part in (lower, upper, mean, cov.ravel()) for v in part),
          file=write)
write.close()
open("seconds.txt", "w").write(str(spent))
P
Rscript - <<'END'
library(mvtnorm)
set.seed(1)
outside <- 0; largest <- 0; seconds <- 0
number <- function(x) ifelse(x == "inf", Inf, ifelse(x == "-inf", -Inf, suppressWarnings(as.numeric(x))))
for (line in readLines("problems.txt")) {
  x <- number(strsplit(line, " ")[[1]]); n <- x[1]
  bounds <- matrix(x[3 + seq_len(3 * n)], n); sigma <- matrix(x[3 + 3 * n + seq_len(n * n)], n)
  begin <- proc.time()[[1]]
  pmvnorm(bounds[, 1], bounds[, 2], bounds[, 3], sigma = sigma, algorithm = GenzBretz(maxpts = 200000, abseps = 1e-4))
  seconds <- seconds + proc.time()[[1]] - begin
  p <- pmvnorm(bounds[, 1], bounds[, 2], bounds[, 3], sigma = sigma, algorithm = GenzBretz(maxpts = 200000, abseps = 1e-6))
  outside <- outside + (abs(x[2] - p) > x[3] + attr(p, "error"))
  largest <- max(largest, x[3])
}
ours <- scan("seconds.txt", quiet = TRUE)
cat(sprintf("1000 rectangles, %d outside the stated errors, largest of them %.1e; seconds for 1e-4: %.1f, pmvnorm %.1f\n", outside, largest, ours, seconds))
quit(status = outside > 0)
END
