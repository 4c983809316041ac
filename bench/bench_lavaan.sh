#!/bin/bash
# The same model and data by lavaan and by the R package, in CPU seconds of one thread, standard errors included: psychTools::bfi,
# N1-N5 and E1-E5 cut above 3, six groups of sex and age, two sources, pairwise likelihood (PML; method pairwise without priors).
# Loadings and variances are compared where the variances are 1 in the first group. lavaan starts at our estimate, which spares it
# part of its search. Takes some two minutes of CPU.
#   bash bench/bench_lavaan.sh [build folder]     (after ctest -R r/check, which installs the R package there)
cd "$(dirname "$0")/.." || exit 1
export R_LIBS=${R_LIBS:-${1:-$PWD/build/release}/r-check/blica.Rcheck} OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
Rscript --vanilla - <<'R'
suppressMessages({library(blica); library(lavaan)})
data(bfi, package = "psychTools")
seconds <- function(f) sum(system.time(f(), gcFirst = TRUE)[1:2])
items <- c(paste0("N", 1:5), paste0("E", 1:5))
d <- as.data.frame(1L * (bfi[items] > 3))
d$group <- paste0(bfi$gender, cut(bfi$age, c(-Inf, 22, 32, Inf), labels = c("a", "b", "c")))
d <- d[stats::complete.cases(d), ]
ours <- seconds(function() {
  for (i in 1:10) {
    model <<- blica(d[items], d$group, 2, method = "pairwise", prior = "none", threads = 1)
    errors <<- blica_assess(model, bootstrap = 0, threads = 1)
  }
}) / 10
scale <- sqrt(model$link * model$variances[, 1])
loading <- sweep(model$mixing, 2, scale, "*")
variance <- t(model$variances / model$variances[, 1])
u <- nrow(variance)
free <- function(first) paste0("c(", paste(c(first, rep("NA", u - 1)), collapse = ", "), ")")
zero <- paste0("c(", paste(rep(0, u), collapse = ", "), ")")
loads <- function(f) paste0("z", f, " =~ ", paste(sprintf("NA*%s + start(%.4f)*%s", items, loading[, f], items), collapse = " + "))
syntax <- paste(c(loads(1), loads(2), sprintf("z%d ~~ %s*z%d", 1:2, free(1), 1:2), sprintf("z1 ~~ %s*z2", zero)), collapse = "\n")
theirs <- seconds(function() found <<- cfa(syntax, d, group = "group", ordered = items, estimator = "PML", parameterization = "theta",
                                           group.equal = "loadings"))
est <- lavInspect(found, "est")[model$segments]
lambda <- unclass(est[[1]]$lambda)
lambda <- sweep(lambda, 2, sign(colSums(lambda * loading)), "*")
psi <- t(sapply(est, function(g) diag(unclass(g$psi))))
cat(sprintf("%d people in %d groups; lavaan %s: %.1f s with standard errors; blica: %.4f s with standard errors; ratio %.0f\n", nrow(d), u,
            utils::packageVersion("lavaan"), theirs, ours, theirs / ours))
cat(sprintf("largest difference of %d loadings %.1e, of %d variances %.1e; lavaan converged: %s\n", length(lambda),
            max(abs(lambda - loading)), length(psi) - 2, max(abs(psi - variance)), lavInspect(found, "converged")))
R
