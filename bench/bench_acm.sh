#!/bin/bash
# The asymptotic covariance of thresholds and polychoric correlations (1425 statistics of 50 five-level items, 19 376 simulated
# persons), by the R package and by lavaan::lavCor in one run, in CPU seconds of one thread, and how far they differ.
#   bash bench/bench_acm.sh [build folder]     (after ctest -R r/check, which installs the R package there)
cd "$(dirname "$0")/.." || exit 1
export R_LIBS=${R_LIBS:-${1:-$PWD/build/release}/r-check/blica.Rcheck} OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
Rscript --vanilla - <<'R'
for (p in c("blica", "lavaan")) if (!requireNamespace(p, quietly = TRUE)) { cat("R package", p, "is not installed\n"); quit() }
set.seed(1)
persons <- 19376
sources <- matrix(rnorm(5 * persons), persons)
x <- as.data.frame(sapply(1:50, function(i) {
  y <- 0.7 * sources[, (i - 1) %/% 10 + 1] + sqrt(1 - 0.49) * rnorm(persons)
  findInterval(y, c(-1.2, -0.4, 0.3, 1.1) + rnorm(1, sd = 0.2))
}))
seconds <- function(f) sum(system.time(f(), gcFirst = TRUE)[c("user.self", "sys.self")])
mine <- min(sapply(1:3, function(turn) seconds(function() ours <<- blica::blica_polychoric(x, threads = 1, acm = TRUE))))
theirs <- seconds(function() fit <<- lavaan::lavCor(x, ordered = names(x), se = "robust.sem", estimator = "WLSMV", output = "fit"))
gamma <- unclass(lavaan::lavInspect(fit, "gamma"))
cat(sprintf("blica %.2f s; lavaan::lavCor %.1f s, %.0f times as long; largest difference of a correlation %.1e, of the covariance, relative to both variances, %.1e\n",
            mine, theirs, theirs / mine, max(abs(ours$rho - unclass(lavaan::lavInspect(fit, "cor.ov")))),
            max(abs(unname(ours$lavaan$NACOV) - unname(gamma)) / sqrt(outer(diag(gamma), diag(gamma))))))
R
