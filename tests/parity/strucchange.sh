#!/bin/bash
# The test of change and errors by clusters against R's strucchange and sandwich, on items of two and of four levels. The scores of
# rows are written again here from the pairwise likelihood (pbivnorm, numDeriv): of the common correlations in the direction of the
# leading factor, thresholds being those of each segment, for strucchange's test of an unordered category; and of the loadings and
# thresholds of one factor, for sandwich's covariance by clusters.
Rscript -e "quit(status = !all(sapply(c('strucchange', 'sandwich', 'pbivnorm', 'numDeriv'), requireNamespace, quietly = TRUE)))" \
  >/dev/null 2>&1 || { echo "SKIP: R packages strucchange, sandwich, pbivnorm and numDeriv are not installed (tools/setup.sh test)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder" || exit 1
BLICA=$BLICA_BUILD/blica Rscript --vanilla - <<'R'
suppressMessages({library(strucchange); library(sandwich)})
run <- function(...) if (system2(Sys.getenv("BLICA"), c(...), stdout = FALSE, stderr = FALSE) != 0) stop("blica ", paste(c(...), collapse = " "))
# One number, and all numbers of a matrix of one column, of the JSON that the program writes.
number <- function(file, pattern) as.numeric(sub(paste0(".*", pattern, "([-+.0-9e]+).*"), "\\1", paste(readLines(file, warn = FALSE), collapse = " ")))
matrix_of <- function(file, pattern) {
  text <- sub(paste0(".*?", pattern, "\\s*\\[(.*?\\])\\s*\\].*"), "\\1", paste(readLines(file, warn = FALSE), collapse = " "), perl = TRUE)
  as.numeric(regmatches(text, gregexpr("[-+0-9.e]+", text))[[1]])
}

# P of all cells of two items with these thresholds.
cells <- function(ti, tj, r) {
  h <- c(-Inf, ti, Inf); k <- c(-Inf, tj, Inf)
  at <- expand.grid(h, k)
  inside <- is.finite(at[[1]]) & is.finite(at[[2]])
  F <- pnorm(pmin(at[[1]], at[[2]]))
  F[inside] <- pbivnorm::pbivnorm(at[[1]][inside], at[[2]][inside], r)
  F <- matrix(F, length(h))
  d <- apply(F, 2, diff)
  t(apply(d, 1, diff))
}
slope <- function(f, at, h = 1e-5) (f(at + h) - f(at - h)) / (2 * h)
thresholds <- function(x, levels) qnorm(cumsum(tabulate(x + 1, levels) / length(x))[-levels])

# Scores of rows about the correlation r of items i and j, less what thresholds take, which are estimated from these rows.
pair_scores <- function(xi, xj, r, levels) {
  ti <- thresholds(xi, levels); tj <- thresholds(xj, levels)
  P <- cells(ti, tj, r)
  psi <- slope(function(r) cells(ti, tj, r), r) / P
  score <- psi[cbind(xi, xj) + 1]
  for (l in seq_along(ti)) {
    by <- function(t, which) slope(function(v) { t[l] <- v; log(if (which == 1) cells(t, tj, r) else cells(ti, t, r)) }, t[l])
    score <- score - sum(P * psi * by(ti, 1)) * (pnorm(ti[l]) - (xi < l)) / -dnorm(ti[l])
    score <- score - sum(P * psi * by(tj, 2)) * (pnorm(tj[l]) - (xj < l)) / -dnorm(tj[l])
  }
  score
}

change <- function(x, segment, levels) {
  n <- ncol(x); rows <- split(seq_len(nrow(x)), segment)
  total <- function(i, j, r) sum(sapply(rows, function(s) sum(pair_scores(x[s, i], x[s, j], r, levels))))
  R <- diag(n); pairs <- which(upper.tri(R), arr.ind = TRUE)
  for (p in seq_len(nrow(pairs)))
    R[pairs[p, 1], pairs[p, 2]] <- uniroot(function(r) total(pairs[p, 1], pairs[p, 2], r), c(-.9, .95), tol = 1e-7)$root
  R[lower.tri(R)] <- t(R)[lower.tri(R)]
  e <- eigen(R); v <- e$vectors[, 1]
  U <- numeric(nrow(x))
  for (p in seq_len(nrow(pairs))) {
    i <- pairs[p, 1]; j <- pairs[p, 2]
    d <- e$values[1] * (v[i] * v[j] - R[i, j] * (v[i]^2 + v[j]^2) / 2)
    for (s in rows) U[s] <- U[s] + d * pair_scores(x[s, i], x[s, j], R[i, j], levels)
  }
  g <- gefp(U, fit = function(x, ...) x, scores = function(x, ...) matrix(x, ncol = 1), order.by = factor(segment))
  sctest(g, functional = catL2BB(factor(segment)))
}

# Errors of the standardised loadings of one factor by pairwise likelihood, clusters being independent.
errors <- function(x, cluster, levels, start) {
  n <- ncol(x); m <- levels - 1
  of_rows <- function(theta) {
    t <- matrix(theta[-(1:n)], m); total <- 0
    for (j in 2:n) for (i in 1:(j - 1)) total <- total + log(cells(t[, i], t[, j], theta[i] * theta[j]))[cbind(x[, i], x[, j]) + 1]
    total
  }
  theta <- c(start, sapply(1:n, function(i) thresholds(x[, i], levels)))
  theta <- optim(theta, function(p) -sum(of_rows(p)) / nrow(x), method = "BFGS", control = list(reltol = 1e-13, maxit = 300))$par
  fit <- structure(list(scores = numDeriv::jacobian(of_rows, theta, method = "simple"),
                        information = -numDeriv::hessian(function(p) sum(of_rows(p)), theta) / nrow(x)), class = "pml")
  list(loading = theta[1:n], se = sqrt(diag(vcovCL(fit, cluster = cluster, type = "HC0", cadjust = FALSE)))[1:n])
}
estfun.pml <- function(x, ...) x$scores
bread.pml <- function(x, ...) solve(x$information)
nobs.pml <- function(object, ...) nrow(object$scores)
for (f in c("estfun", "bread")) registerS3method(f, "pml", get(paste0(f, ".pml")), envir = asNamespace("sandwich"))
registerS3method("nobs", "pml", nobs.pml, envir = asNamespace("stats"))

set.seed(7)
n <- 5; loading <- c(.9, .8, .7, 1, .6)
drawn <- function(z, levels) {
  y <- outer(z, loading) + matrix(rnorm(n * length(z)), ncol = n)
  x <- apply(y, 2, function(y) findInterval(y, if (levels == 2) .2 else c(-1, 0, 1)))
  colnames(x) <- paste0("x", 1:n)
  x
}
for (levels in c(2, 4)) {
  ordinal <- if (levels > 2) "--ordinal"
  for (spread in c(0, .25)) {
    segment <- rep(1:6, each = 500)
    x <- drawn(rnorm(3000) * exp(seq(-spread, spread, length.out = 6))[segment], levels)
    write.csv(cbind(x, segment), "change.csv", row.names = FALSE, quote = FALSE)
    run("fit", "change.csv", ordinal, "--sources", "1", "--out", "m.json", "--quiet")
    run("assess", "m.json", "change.csv", "--bootstrap", "none", "--out", "a.json")
    own <- number("a.json", '"change": *\\{ *"p": *'); other <- change(x, segment, levels)
    cat(sprintf("%d levels, spread %.2f: p %.4g, strucchange %.4g (statistic %.3f)\n", levels, spread, own, other$p.value, other$statistic))
    stopifnot(abs(qchisq(own, 5, lower.tail = FALSE) / other$statistic - 1) < .05)
  }
  cluster <- rep(1:300, each = 5)
  x <- drawn(.8 * rnorm(300)[cluster] + .6 * rnorm(1500), levels)
  write.csv(cbind(x, segment = "all", cluster), "clusters.csv", row.names = FALSE, quote = FALSE)
  run("fit", "clusters.csv", "--ignore", "cluster", ordinal, "--sources", "1", "--method", "pairwise", "--prior", "none", "--allow-unidentified", "--out", "m.json", "--quiet")
  run("assess", "m.json", "clusters.csv", "--cluster", "cluster", "--bootstrap", "none", "--out", "a.json")
  link <- number("m.json", '"link": *')
  b <- matrix_of("m.json", '"mixing":\\s*\\[') * sqrt(link)
  se <- matrix_of("a.json", '"mixing":.*?"se":\\s*\\[') * sqrt(link) / (1 + b^2)^1.5
  other <- errors(x, cluster, levels, b / sqrt(1 + b^2))
  print(rbind(loading = b / sqrt(1 + b^2), sandwich = other$loading, se = se, sandwich = other$se), digits = 4)
  stopifnot(max(abs(b / sqrt(1 + b^2) - other$loading)) < .002, max(abs(se / other$se - 1)) < .04)
}
R
