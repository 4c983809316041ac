#!/bin/bash
# Time of a whole tetrachoric correlation matrix of real items by the R package, psych and lavaan, in the same run, one
# thread each. Ours is repeated until a second has passed, theirs run once.
#   bash bench/bench_tetrachoric.sh [build folder]      (after ctest -R r/check, which installs the R package there)
cd "$(dirname "$0")/.." || exit 1
export R_LIBS=${1:-$PWD/build/release}/r-check/blica.Rcheck OPENBLAS_NUM_THREADS=1
Rscript --vanilla - <<'R'
for (p in c("blica", "psych", "psychTools", "lavaan")) if (!requireNamespace(p, quietly = TRUE)) { cat("R package", p, "is not installed\n"); quit() }
data(bfi, package = "psychTools")
data(msqR, package = "psychTools")
options(mc.cores = 1) # psych would use more
seconds <- function(f) sum(system.time(f(), gcFirst = TRUE)[c("user.self", "sys.self", "user.child", "sys.child")])
bench <- function(name, x) {
  x <- 1 * (x[stats::complete.cases(x), ])
  pairs <- ncol(x) * (ncol(x) - 1) / 2
  storage.mode(x) <- "integer"
  times <- 1
  while ((ours <- seconds(function() for (i in seq_len(times)) blica::blica_tetrachoric(x, threads = 1))) < 1) times <- 2 * times
  ours <- ours / times
  psych <- seconds(function() suppressWarnings(suppressMessages(psych::tetrachoric(x, correct = 0, smooth = FALSE))))
  d <- as.data.frame(x)
  lavaan <- seconds(function() suppressWarnings(lavaan::lavCor(d, ordered = names(d))))
  cat(sprintf("%s: %d rows, %d pairs: blica %.3g ms, psych %.3g s (%.0f times), lavaan %.3g s (%.0f times); faster of the two: %.0f times\n", name,
              nrow(x), pairs, 1e3 * ours, psych, psych / ours, lavaan, lavaan / ours, min(psych, lavaan) / ours))
}
bench("bfi", as.matrix(bfi[1:25]) > 3)
bench("msqR", as.matrix(msqR[1:72]) > 1)
R
