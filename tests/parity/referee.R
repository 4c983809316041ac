# Called by referee.sh: lavaan fits the same model by another route. Multi-group confirmatory factor analysis of binary items:
# equal loadings, free orthogonal factor variances, free thresholds, residual variances 1 (theta parameterisation), by
# diagonally weighted least squares on its own polychoric correlations. Its loadings times sqrt(8/pi) are our A.
suppressMessages({library(lavaan); library(blica)})
drawn <- blica_simulate(variables = 6, sources = 2, segments = 4, samples = 1000, seed = 1, mixing_range = 2)
d <- drawn$data
ours <- blica(segment ~ ., d, k = 2, condition = "none") # lavaan does not regularise either
items <- paste0("x", 1:6)
pooled <- eigen(unclass(lavCor(d[items], ordered = items)))$vectors # where lavaan starts
loadings <- function(factor, start) paste(factor, "=~", paste(sprintf("NA*%s + start(%.3f)*%s", items, start, items), collapse = " + "))
model <- paste(c(loadings("f1", pooled[, 1]), loadings("f2", pooled[, 2]), "f1 ~~ c(1, NA, NA, NA)*f1", "f2 ~~ c(1, NA, NA, NA)*f2",
                 "f1 ~~ 0*f2", sprintf("%s ~~ 1*%s", items, items)), collapse = "\n")
theirs <- suppressWarnings(cfa(model, d, ordered = items, group = "segment", group.equal = "loadings", estimator = "DWLS",
                               parameterization = "theta", se = "none", test = "none"))
stopifnot(lavInspect(theirs, "converged"))
cat(sprintf("lavaan: %g s\n", lavInspect(theirs, "timing")$total))
a <- lavInspect(theirs, "est")[[1]]$lambda * sqrt(8 / pi)
similar <- blica_compare(unclass(a), ours)
cat("cosines of the columns of A, lavaan's with ours:", format(similar$cosine, digits = 5), "\n")
cat("mean cosine with the truth: lavaan", format(blica_compare(unclass(a), drawn$model)$mcs, digits = 5), "ours",
    format(blica_compare(ours, drawn$model)$mcs, digits = 5), "\n")
some <- unlist(lapply(split(seq_len(nrow(d)), d$segment), function(r) r[1:40]))
z <- predict(ours, d[some, ], d$segment[some])
theirs_z <- do.call(rbind, lavPredict(theirs, newdata = d[some, ], method = "EBM"))
agree <- sapply(1:2, function(j) cor(theirs_z[, j], z[, similar$matching[j]]))
cat("correlations of the posterior means:", format(agree, digits = 5), "\n")
quit(status = !(all(abs(similar$cosine) > 0.99) && all(abs(agree) > 0.98)))
