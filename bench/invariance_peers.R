# Tests of items beside lavaan's lavTestScore and strucchange's sctest, on the same simulated sets.
#
# Usage: Rscript bench/invariance_peers.R PROGRAM [SETS]       writes the table to stdout
#
# Ten items of two levels, one source, equal loadings, five segments of 300 rows whose means and variances of the source
# differ, so that the model, the Rasch model of psychotools and the factor model of lavaan all nearly hold. One item differs in
# one segment: its cut by a shift in standard deviations of its latent response, or its loading by a factor. lavaan: WLSMV with
# equal loadings and thresholds, univariate score tests of the item against the first group, the least of four p values times
# four. sctest: scores of a Rasch model, the item's parameter over the segments (LMuo); the first item has none. blica: the test
# over all segments. Columns: the share of items without a difference, and of those that differ, with p at most .05; seconds of
# processor time for fit and tests.
suppressWarnings(suppressMessages({library(lavaan); library(strucchange); library(psychotools)}))
given <- commandArgs(TRUE)
program <- normalizePath(given[1])
sets <- if (length(given) > 1) as.integer(given[2]) else 40
n <- 10; u <- 5; rows <- 300; link <- pi / 8; loading <- 1.6
items <- paste0("x", 1:n)

draw <- function(seed, kind, size) {
  set.seed(seed)
  cut <- rnorm(n, 0, 0.5) * sqrt(1 / link + loading^2)
  item <- sample(2:n, 1)
  at <- sample(u, 1)
  x <- do.call(rbind, lapply(1:u, function(s) {
    sd <- exp(runif(1, -0.4, 0.4))
    z <- rnorm(1, 0, 0.5) + sd * rnorm(rows)
    a <- rep(loading, n); t <- cut
    if (s == at && kind == "cut") t[item] <- t[item] + size * sqrt(1 / link + loading^2 * sd^2)
    if (s == at && kind == "loading") a[item] <- a[item] * size
    1L * (sqrt(link) * outer(z, a) + matrix(rnorm(rows * n), rows) > matrix(sqrt(link) * t, rows, n, byrow = TRUE))
  }))
  colnames(x) <- items
  list(x = x, segment = rep(1:u, each = rows), item = item)
}

# Each returns p values [n] of cuts and of loadings; NA: not tested.
by_blica <- function(d) {
  folder <- tempfile(); dir.create(folder); on.exit(unlink(folder, recursive = TRUE))
  data <- file.path(folder, "d.csv"); model <- file.path(folder, "m.json")
  write.csv(cbind(d$x, segment = d$segment), data, row.names = FALSE)
  Sys.setenv(OPENBLAS_NUM_THREADS = 1)
  system2(program, c("fit", data, "--sources", "1", "--out", model, "--quiet"))
  out <- system2(program, c("invariance", model, data, "--json", "--quiet", "|", "jq", "-r",
    shQuote(".items[] | select(.segment == null) | [.item, .kind, .p] | @tsv")), stdout = TRUE)
  found <- read.delim(text = out, header = FALSE, col.names = c("item", "kind", "p"))
  of <- function(kind) with(found[found$kind == kind, ], p[match(items, item)])
  list(cuts = of("cuts"), loadings = of("loadings"))
}
by_lavaan <- function(d) {
  text <- paste0("f =~ ", paste0("NA*", items, collapse = " + "), "\nf ~~ c(1", strrep(",NA", u - 1), ")*f\nf ~ c(0", strrep(",NA", u - 1),
                 ")*1\n", paste0(items, " ~~ c(", paste(rep(1, u), collapse = ","), ")*", items, collapse = "\n"))
  fit <- cfa(text, data.frame(d$x, segment = d$segment), group = "segment", ordered = items, estimator = "WLSMV",
             group.equal = c("loadings", "thresholds"), parameterization = "theta")
  found <- lavTestScore(fit)$uni
  table <- parTable(fit)
  of <- table[match(found$lhs, table$plabel), ]
  least <- function(op, item) min(1, 4 * min(found$p.value[of$op == op & (if (op == "|") of$lhs else of$rhs) == item]))
  list(cuts = sapply(items, function(i) least("|", i)), loadings = sapply(items, function(i) least("=~", i)))
}
by_sctest <- function(d) {
  fit <- raschmodel(d$x)
  p <- sapply(1:(n - 1), function(i) sctest(fit, order.by = factor(d$segment), functional = "LMuo", parm = i)$p.value)
  list(cuts = c(NA, p), loadings = rep(NA, n))
}
tests <- list(blica = by_blica, "lavTestScore" = by_lavaan, "sctest, Rasch" = by_sctest)

cat(sprintf("| difference | test | cuts: others | the item | loadings: others | the item | seconds, %d sets |\n", sets))
cat("|---|---|---|---|---|---|---|\n")
share <- function(p) if (all(is.na(p))) "-" else sprintf("%.3f", mean(p <= 0.05, na.rm = TRUE))
for (row in list(list("none", 0), list("cut", 0.3), list("cut", 0.5), list("loading", 0.5))) {
  drawn <- lapply(seq_len(sets), function(r) draw(700 + r, row[[1]], row[[2]]))
  for (name in names(tests)) {
    took <- system.time(found <- lapply(drawn, function(d) suppressWarnings(tests[[name]](d))))
    seconds <- (took[["user.self"]] + took[["user.child"]]) / sets
    cells <- sapply(c("cuts", "loadings"), function(kind) {
      differs <- unlist(lapply(drawn, function(d) row[[1]] != "none" & seq_len(n) == d$item))
      p <- unlist(lapply(found, `[[`, kind))
      c(share(p[!differs]), if (any(differs)) share(p[differs]) else "-")
    })
    cat(sprintf("| %s | %s | %s | %.2f |\n", paste(row[[1]], if (row[[2]]) row[[2]]), name, paste(cells, collapse = " | "), seconds))
  }
}
