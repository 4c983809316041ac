#!/bin/bash
# Polychoric correlations of the 135 items of psychTools::spi (six levels, 4000 rows, 9045 pairs) by the R package, lavaan and
# psych by turns in the same run, in CPU seconds of one thread each, and how far they differ. psych is timed on the first ITEMS
# items and extrapolated by pairs: ITEMS=135 runs all (minutes). PSYCH_BFI=1 adds psych's eigenvalues of bfi. Then the fit of
# bfi: 25 items, 6 levels, 6 groups, 5 sources.
#   ITEMS=20 bash bench/bench_polychoric.sh [build folder]     (after ctest -R r/check, which installs the R package there)
cd "$(dirname "$0")/.." || exit 1
export R_LIBS=${R_LIBS:-${1:-$PWD/build/release}/r-check/blica.Rcheck} OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 ITEMS=${ITEMS:-20}
Rscript --vanilla - <<'R'
for (p in c("blica", "psych", "psychTools", "lavaan")) if (!requireNamespace(p, quietly = TRUE)) { cat("R package", p, "is not installed\n"); quit() }
options(mc.cores = 1) # psych would use more
data(spi, package = "psychTools")
data(bfi, package = "psychTools")
seconds <- function(f) sum(system.time(f(), gcFirst = TRUE)[c("user.self", "sys.self", "user.child", "sys.child")])
x <- spi[11:145]
stopifnot(ncol(x) == 135, !anyNA(x))
few <- x[seq_len(as.integer(Sys.getenv("ITEMS")))]
pairs <- function(d) ncol(d) * (ncol(d) - 1) / 2
ours <- blica::blica_polychoric(x, threads = 1)
turns <- 2
times <- 20 # calls a turn, since one takes some hundredths of a second
mine <- lavaan <- psych <- 0
for (turn in seq_len(turns)) {
  mine <- mine + seconds(function() for (i in seq_len(times)) blica::blica_polychoric(x, threads = 1)) / times / turns
  lavaan <- lavaan + seconds(function() theirs <<- unclass(lavaan::lavCor(x, ordered = names(x)))) / turns
  psych <- psych + seconds(function() other <<- suppressMessages(psych::polychoric(few, correct = 0, smooth = FALSE, progress = FALSE))$rho) / turns
}
part <- ours$rho[names(few), names(few)]
cat(sprintf("spi, %d pairs: blica %.1f ms with standard errors (%.2f us a pair)\n", pairs(x), 1e3 * mine, 1e6 * mine / pairs(x)))
cat(sprintf("  lavaan::lavCor %.1f s (%.2f ms a pair): %.0f times blica; largest difference %.1e\n", lavaan, 1e3 * lavaan / pairs(x),
            lavaan / mine, max(abs(theirs - ours$rho))))
cat(sprintf("  psych::polychoric %.2f ms a pair (%d pairs timed): %.0f times blica; largest difference %.1e\n", 1e3 * psych / pairs(few),
            pairs(few), psych / pairs(few) * pairs(x) / mine, max(abs(other - part))))
b <- bfi[1:25]
eigen5 <- function(r) paste(sprintf("%.4f", eigen(r, only.values = TRUE)$values[1:5]), collapse = " ")
cat("bfi, eigenvalues: blica", eigen5(blica::blica_polychoric(b)$rho), "\n")
if (nzchar(Sys.getenv("PSYCH_BFI"))) # 600 pairs by psych: some seconds
  cat("  psych with the thresholds of each pair's rows", eigen5(suppressMessages(psych::polychoric(b, correct = 0, smooth = FALSE, global = FALSE, progress = FALSE))$rho),
      "and by default", eigen5(suppressMessages(psych::polychoric(b, progress = FALSE))$rho), "\n")
olsson <- as.table(matrix(c(13, 69, 41, 6, 113, 132, 0, 22, 104), 3))
cat(sprintf("Olsson's table: blica %.7f, psych %.7f\n", blica::blica_polychoric(olsson)$rho, psych::polychoric(olsson, correct = FALSE)$rho))
group <- interaction(bfi$gender, cut(bfi$age, c(0, 21, 31, 100)))
keep <- !is.na(group)
fit <- seconds(function() model <<- blica::blica(b[keep, ], group[keep], 5, ordinal = TRUE, threads = 1))
cat(sprintf("bfi, 25 items with 6 levels, %d groups, 5 sources: fit %.3f s (%s)\n", nlevels(droplevels(group)), fit, model$fit$stop))
R
