#!/bin/bash
# Correlations as a product, beside lavaan: the asymptotic covariance from rows, plain and with sampling weights, is lavaan's
# NACOV; WLSMV fits of a two-factor model and of two groups from our matrices are those that lavaan makes of the rows, estimates and
# standard errors; and polyserial correlations are lavaan's.
export R_LIBS=$BLICA_BUILD/r-check/blica.Rcheck OPENBLAS_NUM_THREADS=1
for package in blica lavaan psychTools; do
  Rscript -e "quit(status = !requireNamespace('$package', quietly = TRUE))" >/dev/null 2>&1 ||
    { echo "SKIP: R package $package is not installed (tools/setup.sh test; r/check installs blica)"; exit 77; }
done
Rscript --vanilla - <<'R'
suppressMessages({library(lavaan); library(blica)})
data(bfi, package = "psychTools")
ten <- c(paste0("N", 1:5), paste0("E", 1:5))
near <- function(what, ours, theirs, most) {
  distance <- max(abs(unname(ours) - unname(theirs)))
  cat(sprintf("%s: largest difference %.1e\n", what, distance))
  if (!(distance <= most)) quit(status = 1)
}
whole <- bfi[stats::complete.cases(bfi[c(ten, "gender")]), ]
x <- whole[ten]
model <- paste("N =~", paste(ten[1:5], collapse = " + "), "\nE =~", paste(ten[6:10], collapse = " + "))
ours <- function(x, ...) blica_polychoric(x, acm = TRUE, ...)$lavaan
shown <- function(fit) as.matrix(parameterEstimates(fit)[c("est", "se")])

theirs <- cfa(model, x, ordered = ten, estimator = "WLSMV")
p <- ours(x)
near("thresholds", p$sample.th, lavInspect(theirs, "sampstat")$th, 1e-6)
scaled <- function(acm, by) unclass(acm) / sqrt(outer(diag(by), diag(by))) # relative to the variances
gamma <- lavInspect(theirs, "gamma")
near("NACOV", scaled(p$NACOV, gamma), scaled(gamma, gamma), 1e-5)
fit <- do.call("cfa", c(list(model, ordered = ten, estimator = "WLSMV"), p))
near("WLSMV, estimates and errors", shown(fit), shown(theirs), 1e-5)
tests <- c("chisq.scaled", "df.scaled", "rmsea.scaled", "srmr")
near("WLSMV, scaled tests", fitMeasures(fit, tests), fitMeasures(theirs, tests), 1e-3)

set.seed(1)
weight <- runif(nrow(x), 0.5, 2)
theirs <- cfa(model, cbind(x, weight), ordered = ten, estimator = "WLSMV", sampling.weights = "weight")
p <- ours(x, weights = weight)
gamma <- lavInspect(theirs, "gamma")
near("weighted NACOV", scaled(p$NACOV, gamma), scaled(gamma, gamma), 1e-5)
fit <- do.call("cfa", c(list(model, ordered = ten, estimator = "WLSMV"), p))
near("weighted WLSMV", shown(fit), shown(theirs), 1e-4)

both <- lapply(split(x, whole$gender), ours)
part <- function(name) unname(lapply(both, `[[`, name))
thresholds <- structure(part("sample.th"), th.idx = lapply(part("sample.th"), attr, "th.idx"))
fit <- cfa(model, ordered = ten, estimator = "WLSMV", sample.cov = part("sample.cov"), sample.mean = part("sample.mean"),
           sample.th = thresholds, NACOV = part("NACOV"), WLS.V = part("WLS.V"), sample.nobs = unlist(part("sample.nobs")),
           group.label = names(both), group.equal = c("loadings", "thresholds"))
theirs <- cfa(model, whole, ordered = ten, estimator = "WLSMV", group = "gender", group.label = names(both),
              group.equal = c("loadings", "thresholds"))
near("two groups", shown(fit), shown(theirs), 1e-4)

age <- whole$age
for (item in ten[c(1, 7)]) {
  own <- blica_polyserial(age, x[[item]])
  pair <- data.frame(age, item = x[[item]])
  near(paste("polyserial", item), own$rho, lavCor(pair, ordered = "item")[2, 1], 1e-6)
}
R
