#!/bin/bash
# Standard errors of thresholds beside R: with sampling weights, clusters and both those of survey's svymean (and of a probit
# regression by sandwich's vcovCL), with strata those of svymean, and with replicate weights of four kinds those of survey's svrepdesign. The commands of the
# page Surveys print what it shows.
export OPENBLAS_NUM_THREADS=1
for package in survey sandwich psychTools; do
  Rscript -e "quit(status = !requireNamespace('$package', quietly = TRUE))" >/dev/null 2>&1 ||
    { echo "SKIP: R package $package is not installed (tools/setup.sh test)"; exit 77; }
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
cat >survey.R <<'R'
suppressMessages({library(survey); library(sandwich)})
options(survey.replicates.mse = TRUE) # deviations from the estimate, as in blica
set.seed(11)
n <- 6; u <- 4; psus <- 48; size <- 25
psu <- rep(seq_len(psus), each = size)
segment <- sample(letters[1:u], psus * size, TRUE) # replicates: people of one unit are in all segments
z <- matrix(rnorm(length(psu) * 2), ncol = 2) * exp(0.5 * matrix(rnorm(2 * u), u)[match(segment, letters), ]) + matrix(rnorm(2 * psus), psus)[psu, ]
x <- 1L * (z %*% matrix(rnorm(2 * n), 2) + rnorm(n * length(psu)) > 0)
colnames(x) <- paste0("x", 1:n)
d <- data.frame(x, segment, psu, stratum = (psu + 1) %/% 2, region = psu %% 7, class = paste(psu, segment), w = exp(rnorm(length(psu), 0, 0.6)))

errors <- function(rows, ...) { # [u,n]
  write.csv(rows, "d.csv", row.names = FALSE, quote = FALSE)
  run <- function(...) if (system2(Sys.getenv("BLICA"), c(..., "--quiet", "--columns", "x1:x6")) > 4) quit(status = 1)
  run("fit d.csv --sources 2 --out m.json --allow-unidentified", if (any(grepl("weights", c(...)))) "--weights w")
  run("assess m.json d.csv --out a.json", if (!any(grepl("replicate", c(...)))) "--bootstrap none", ..., "--block-length 1 > /dev/null")
  list(se = matrix(as.numeric(system("jq '.thresholds_se[][]' a.json", intern = TRUE)), ncol = n, byrow = TRUE),
       order = system("jq -r '.segments[].segment' a.json", intern = TRUE))
}
near <- function(what, ours, theirs, most = 1e-5) {
  distance <- max(abs(ours / theirs - 1))
  cat(sprintf("%s: largest relative difference %.1e\n", what, distance))
  if (!(distance <= most)) quit(status = 1)
}
of_mean <- function(p, se) se / dnorm(qnorm(p)) # of the threshold, from that of the share

survey_errors <- function(design, order) {
  thresholds <- function(w, data) c(sapply(colnames(x), function(item) sapply(order, function(s) {
    part <- data$segment == s
    qnorm(sum((w * data[[item]])[part]) / sum(w[part]))
  })))
  matrix(SE(withReplicates(design, thresholds)), ncol = n)
}
for (how in c("weights", "clusters", "both", "strata and weights", "strata, clusters and weights")) {
  weighted <- grepl("weights|both", how); clustered <- grepl("clusters|both", how); stratified <- grepl("strata", how)
  flags <- c(if (weighted) "--weights w", if (clustered) "--cluster class", if (stratified) "--strata region")
  own <- errors(d, flags)
  theirs <- t(sapply(own$order, function(s) {
    part <- d[d$segment == s, ]
    design <- svydesign(if (clustered) ~class else ~1, strata = if (stratified) ~region, weights = if (weighted) ~w else rep(1, nrow(part)),
                        data = part, nest = TRUE)
    found <- svymean(as.formula(paste("~", paste(colnames(x), collapse = "+"))), design)
    of_mean(coef(found), SE(found))
  }))
  near(paste("svymean,", how), own$se, theirs)
  if (stratified) next # sandwich does not know strata
  theirs <- t(sapply(own$order, function(s) sapply(colnames(x), function(item) {
    part <- d[d$segment == s, ]
    part$weight <- if (weighted) part$w else 1
    fit <- suppressWarnings(glm(reformulate("1", item), binomial("probit"), part, weights = weight))
    sqrt(vcovCL(fit, cluster = if (clustered) part$class else seq_len(nrow(part)), type = "HC0"))
  })))
  near(paste("vcovCL of a probit regression,", how), own$se, theirs)
}

design <- svydesign(~psu, strata = ~stratum, weights = ~w, data = d)
plain <- svydesign(~psu, weights = ~w, data = d)
designs <- list(JK1 = as.svrepdesign(plain, "JK1"), JKn = as.svrepdesign(design, "JKn"), BRR = as.svrepdesign(design, "BRR"),
                Fay = as.svrepdesign(design, "Fay", fay.rho = 0.3))
for (type in names(designs)) {
  r <- designs[[type]]
  weights <- weights(r, "analysis")
  colnames(weights) <- paste0("rep", seq_len(ncol(weights)))
  method <- switch(type, JK1 = "jk1", JKn = paste(sprintf("%.17g", r$scale * r$rscales), collapse = ","), BRR = "brr", Fay = "fay=0.3")
  own <- errors(cbind(d, weights), "--weights w", sprintf("--replicate-weights rep1:rep%d", ncol(weights)), "--replicate-method", method)
  near(paste0(type, ", ", ncol(weights), " replicates"), own$se, survey_errors(r, own$order))
}
R
Rscript --vanilla survey.R || exit 1

blocks() { awk -v mark='```'"$1" '$0 == mark {inside = 1; next} /^```/ {inside = 0} inside' "$BLICA_SOURCE/docs/surveys.md"; }
blocks r >page.R && blocks sh >page.sh
Rscript --vanilla page.R || exit 1
PATH=$(dirname "$BLICA"):$PATH bash -e page.sh >printed || exit 1
test -s report.html || exit 1
/usr/bin/python3 "$BLICA_SOURCE/tests/page_numbers.py" --all "$BLICA_SOURCE/docs/surveys.md" printed
