#!/bin/bash
# blica_tetrachoric() of the R package against psych::tetrachoric and lavaan::lavCor on real items: bfi and msqR.
export R_LIBS=$BLICA_BUILD/r-check/blica.Rcheck OPENBLAS_NUM_THREADS=1
for package in psych psychTools lavaan blica; do
  Rscript -e "quit(status = !requireNamespace('$package', quietly = TRUE))" >/dev/null 2>&1 ||
    { echo "SKIP: R package $package is not installed (tools/setup.sh test; r/check installs blica)"; exit 77; }
done
Rscript --vanilla - <<'R'
data(bfi, package = "psychTools")
data(msqR, package = "psychTools")
failed <- 0
compare <- function(name, x) {
  x <- x[stats::complete.cases(x), ]
  ours <- blica::blica_tetrachoric(x)
  keep <- upper.tri(ours$rho) & ours$flags == 0 # they fill empty cells in other ways
  psych <- suppressWarnings(suppressMessages(psych::tetrachoric(x, correct = 0, smooth = FALSE)$rho))
  lavaan <- suppressWarnings(unclass(lavaan::lavCor(as.data.frame(x), ordered = names(x))))
  # psych searches with a tolerance of 1.2e-4, lavaan until its gradient is small
  for (other in c("psych", "lavaan")) {
    worst <- max(abs(get(other)[keep] - ours$rho[keep]))
    bound <- c(psych = 1e-4, lavaan = 1e-6)[[other]]
    cat(sprintf("%-5s %d rows, %d pairs (%d with an empty cell left out): largest difference from %s %.2g (bound %g)\n", name, nrow(x), sum(keep),
                sum(upper.tri(keep)) - sum(keep), other, worst, bound))
    if (!isTRUE(worst <= bound)) failed <<- failed + 1
  }
}
compare("bfi", as.data.frame(1 * (bfi[1:25] > 3)))
compare("msqR", as.data.frame(1 * (msqR[1:30] > 1)))
quit(status = failed > 0)
R
