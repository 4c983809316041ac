# Called by pml.sh FOLDER: lavaan's PML estimates of the same model, from the truth, against those in FOLDER/fit.csv.
suppressMessages(library(lavaan))
folder <- commandArgs(TRUE)[1]
d <- read.csv(file.path(folder, "data.csv"))
items <- paste0("x", 1:5)
for (i in items) d[[i]] <- ordered(d[[i]])
ours <- read.csv(file.path(folder, "fit.csv"))
truth <- read.csv(file.path(folder, "model.csv"))
of <- function(values, what) with(values[values$what == what, ], tapply(value, list(i, j), sum))
start <- of(truth, "loading")
loadings <- function(f) paste0("z", f, " =~ ", paste(sprintf("NA*%s + start(%.4f)*%s", items, start[, f], items), collapse = " + "))
model <- paste(c(loadings(1), loadings(2), "z1 ~~ c(1, NA, NA)*z1", "z2 ~~ c(1, NA, NA)*z2", "z1 ~~ c(0, 0, 0)*z2",
                 "z1 ~ c(0, NA, NA)*1", "z2 ~ c(0, NA, NA)*1", sprintf("%s ~~ c(1, 1, 1)*%s", items, items)), collapse = "\n")
theirs <- cfa(model, d, group = "segment", ordered = items, estimator = "PML", parameterization = "theta",
              group.equal = c("loadings", "thresholds"), se = "none", test = "none")
stopifnot(lavInspect(theirs, "converged"))
est <- lavInspect(theirs, "est")
groups <- match(as.character(1:3), lavInspect(theirs, "group.label"))
sign <- sign(colSums(unclass(est[[1]]$lambda) * of(ours, "loading")))
check <- function(what, theirs, bound) {
  off <- max(abs(theirs - of(ours, what)))
  cat(sprintf("%s: %d estimates, largest difference %.2g\n", what, length(theirs), off))
  off < bound
}
fine <- c(check("loading", sweep(unclass(est[[1]]$lambda), 2, sign, "*"), 0.001),
          check("variance", t(sapply(groups, function(g) diag(est[[g]]$psi))), 0.001),
          check("mean", t(sapply(groups, function(g) sign * est[[g]]$alpha[, 1])), 0.001),
          check("cut", matrix(est[[1]]$tau[, 1], ncol = 2, byrow = TRUE), 0.001))
quit(status = !all(fine))
