# Methods of class blica.

print.blica <- function(x, digits = 3, ...) {
  cat(sprintf("Binary ICA by method %s: %d variables, %d sources, %d segments, %g rows\n", x$method, nrow(x$mixing),
              ncol(x$mixing), length(x$segments), sum(x$samples)))
  if (x$method != "truth")
    cat(sprintf("objective %.10g, %s after %g iterations (best of %d starts)\n", x$fit$objective, x$fit$stop, x$fit$iterations,
                nrow(x$fit$starts)))
  cat("\nMixing matrix:\n")
  print(round(x$mixing, digits), ...)
  invisible(x)
}

# assess = FALSE leaves out what takes refits: errors, the test of change, how well the axes are determined.
summary.blica <- function(object, assess = TRUE, ...) {
  found <- tryCatch(blica_identify(object), blica_error = function(e) NULL)
  c_ <- object$link
  explained <- colSums(object$mixing^2) * rowMeans(object$variances)
  noise <- nrow(object$mixing) / c_
  assessed <- if (assess && !is.null(object$data) && length(object$segments) > 1)
    tryCatch(blica_assess(object, ...), blica_error = function(e) conditionMessage(e))
  structure(list(model = object, explained = explained / (sum(explained) + noise), identification = found, assessment = assessed,
                 residual = if (!is.null(object$correlations) && !ordinal(object)) sqrt(mean(residuals(object)[upper3(object)]^2))),
            class = "summary.blica")
}

upper3 <- function(object) {
  n <- nrow(object$mixing)
  rep(upper.tri(diag(n)), length(object$segments))
}

# Whether an item has more than two levels.
ordinal <- function(object) length(object$cuts) > nrow(object$mixing)

# Rows of the fit as they were coded, and their segments.
kept_rows <- function(object, wanted) {
  if (is.null(object$data)) stop("the model does not keep the rows it was fitted to; give ", wanted, call. = FALSE)
  object$data
}

print.summary.blica <- function(x, digits = 3, ...) {
  m <- x$model
  print(m, digits = digits, ...)
  cat("\nShare of the latent variance that each source explains (averaged over variables and segments):\n")
  print(round(x$explained, digits))
  cat("\nVariances of the sources:\n")
  print(round(t(m$variances), digits), ...)
  if (inherits(x$assessment, "blica_assessment")) {
    cat("\n")
    print(x$assessment, ...)
  } else if (!is.null(x$identification)) {
    i <- x$identification
    cat(sprintf("\nDesign: these segments %s (rank %g of %g).\n",
                if (i$identified) "can determine the sources if their variances change" else "cannot determine the sources",
                i$rank, i$parameters))
    if (is.character(x$assessment)) cat("No errors were computed: ", x$assessment, "\n", sep = "")
  }
  f <- m$fit
  if (m$method != "truth") {
    cat(sprintf("Pairs with an empty cell: %g; with a constant variable: %g; without a common row: %g\n", f$zero_cells,
                f$constant_pairs, f$empty_pairs))
    if (!is.null(x$residual)) cat(sprintf("Root mean square residual of the correlations: %.*f\n", digits, x$residual))
    cat("\nStarts:\n")
    print(f$starts[c("kind", "objective", "iterations", "stop")])
  }
  invisible(x)
}

coef.blica <- function(object, what = c("mixing", "variances", "means", "cuts", "thresholds"), ...) object[[match.arg(what)]]

nobs.blica <- function(object, ...) sum(object$samples)

# Latent correlations of the model, [n,n,u]; or probabilities of ones, [n,u].
fitted.blica <- function(object, type = c("correlations", "probabilities"), ...) {
  type <- match.arg(type)
  found <- .Call(C_fitted, context(), model_pointer(object))
  if (type == "probabilities") return(matrix(found$margin, nrow(found$margin), dimnames = dimnames(object$thresholds)))
  structure(found$correlation, dimnames = list(object$variables, object$variables, object$segments))
}

residuals.blica <- function(object, type = c("correlations", "probabilities"), ...) {
  type <- match.arg(type)
  if (type == "probabilities") return(pnorm(object$thresholds) - fitted(object, type))
  if (is.null(object$correlations)) stop("the model was not fitted here: it has no sample correlations", call. = FALSE)
  object$correlations - fitted(object)
}

predict.blica <- function(object, newdata = NULL, segment = NULL, type = c("sources", "sd", "probability"), ...) {
  type <- match.arg(type)
  if (is.null(newdata)) {
    kept <- kept_rows(object, "newdata")
    newdata <- kept$code
    segment <- kept$segment
  }
  found <- blica_sources(object, newdata, segment, ...)
  if (type != "probability") return(found[[if (type == "sd") "sd" else "mean"]])
  item <- rep(seq_along(object$levels), lengths(object$levels) - 1)
  result <- pnorm(sweep(sqrt(object$link) * found$mean %*% t(object$mixing[item, , drop = FALSE]), 2, object$cuts))
  colnames(result) <- names(object$cuts)
  result
}

logLik.blica <- function(object, newdata = NULL, segment = NULL, ...) {
  if (is.null(newdata)) {
    kept <- kept_rows(object, "newdata and segment")
    newdata <- kept$code
    segment <- kept$segment
  }
  value <- blica_loglik(object, newdata, segment, ...)
  structure(value$total, df = object$parameters, nobs = row_count(newdata), error = value$total_error, class = c("blica_logLik", "logLik"))
}

print.blica_logLik <- function(x, digits = getOption("digits"), ...) {
  cat(sprintf("'log Lik.' %s (df=%g, numerical error %.2g)\n", format(c(x), digits = digits), attr(x, "df"), attr(x, "error")))
  invisible(x)
}

update.blica <- function(object, formula., ..., evaluate = TRUE) {
  call <- object$call
  if (is.null(call)) stop("the model was not fitted here: there is no call to update", call. = FALSE)
  if (!missing(formula.)) {
    old <- eval(call$x, parent.frame())
    if (!inherits(old, "formula") || length(old) != 3)
      stop("the model was not fitted by a formula segment ~ variables; update its other arguments", call. = FALSE)
    all <- stats::terms(old, data = eval(call$data, parent.frame())) # what . stands for
    call$x <- stats::update.formula(stats::formula(all), formula.)
  }
  extras <- match.call(expand.dots = FALSE)$...
  for (name in names(extras)) call[[name]] <- extras[[name]]
  if (evaluate) eval(call, parent.frame()) else call
}

# One row for each number: a data frame to filter, join and plot.
as.data.frame.blica <- function(x, row.names = NULL, optional = FALSE, what = c("mixing", "variances", "means", "thresholds"), ...) {
  what <- match.arg(what)
  m <- x[[what]]
  names <- switch(what, mixing = c("variable", "source", "loading"), variances = c("source", "segment", "variance"),
                  means = c("source", "segment", "mean"), thresholds = c("variable", "segment", "threshold"))
  ordered <- function(labels, at) factor(labels[at], levels = labels)
  result <- data.frame(ordered(rownames(m), row(m)), ordered(colnames(m), col(m)), as.vector(m), row.names = row.names)
  names(result) <- names
  result
}

simulate.blica <- function(object, nsim = 1, seed = NULL, ...) {
  if (is.null(seed)) seed <- sample.int(.Machine$integer.max, 1)
  if (!is.numeric(seed) || length(seed) != 1 || is.na(seed) || seed < 0 || seed != round(seed) || seed + nsim > 2^53)
    stop("seed is ", paste(format(seed), collapse = " "), "; give a whole number from 0 to 2^53, up to which R counts exactly", call. = FALSE)
  pointer <- model_pointer(object)
  drawn <- lapply(seq_len(nsim), function(i) rows_frame(.Call(C_simulate_rows, context(), pointer, spell_options(list(seed = seed + i - 1))), object$levels))
  names(drawn) <- paste0("sim_", seq_len(nsim))
  structure(drawn, seed = seed)
}

plot.blica <- function(x, which = c("mixing", "variances", "starts"), ...) {
  switch(match.arg(which), mixing = plot_mixing(x, ...), variances = plot_variances(x, ...), starts = plot_starts(x, ...))
  invisible(x)
}

# A heat map with the key of its colours beside it.
plot_mixing <- function(x, main = "mixing matrix A", ...) {
  a <- x$mixing
  bound <- max(abs(a))
  colours <- hcl.colors(101, "Blue-Red 3")
  old <- par(no.readonly = TRUE)
  on.exit(par(old))
  layout(matrix(1:2, 1), widths = c(4, 1))
  par(mar = c(3, 1 + max(2, 0.5 * max(nchar(x$variables))), 3, 1))
  image(seq_len(ncol(a)), seq_len(nrow(a)), t(a[rev(seq_len(nrow(a))), , drop = FALSE]), zlim = c(-bound, bound), col = colours,
        axes = FALSE, xlab = "", ylab = "", main = main, ...)
  axis(1, seq_len(ncol(a)), colnames(a), tick = FALSE)
  axis(2, seq_len(nrow(a)), rev(x$variables), las = 1, tick = FALSE, cex.axis = if (nrow(a) > 30) 0.5 else 0.8)
  box()
  par(mar = c(3, 1, 3, 3))
  key <- seq(-bound, bound, length.out = 101)
  image(1, key, matrix(key, 1), col = colours, axes = FALSE, xlab = "", ylab = "")
  axis(4, las = 1)
  box()
}

# Lines in colours that differ in lightness too; the legend stands beside the panel.
plot_variances <- function(x, xlab = "segment", ylab = "variance of the source (log scale)", main = "variances of the sources", ...) {
  v <- t(x$variances)
  k <- ncol(v)
  u <- nrow(v)
  colours <- hcl.colors(max(k, 3), "Dark 3")[seq_len(k)]
  shapes <- rep_len(c(16, 17, 15, 18, 1, 2, 0, 5), k)
  long <- u > 1 && (max(nchar(x$segments)) > 2 || u > 20)
  old <- par(mar = c(if (long) 3 + 0.5 * max(nchar(x$segments)) else 4, 5, 3, 7))
  on.exit(par(old))
  matplot(v, type = "b", pch = shapes, lty = 1, col = colours, log = "y", xaxt = "n", yaxt = "n", xlab = "", ylab = "", main = main, ...)
  shown <- unique(round(seq(1, u, length.out = min(u, 30))))
  axis(1, shown, x$segments[shown], las = if (long) 2 else 1, cex.axis = if (u > 15) 0.8 else 1)
  at <- axTicks(2, log = TRUE)
  axis(2, at, format(at, digits = 3, trim = TRUE, drop0trailing = TRUE, scientific = 5), las = 1)
  title(ylab = ylab, line = 3.5)
  title(xlab = xlab, line = par("mar")[1] - 1.2)
  legend(par("usr")[2], 10^par("usr")[4], colnames(v), col = colours, pch = shapes, lty = 1, bty = "n", xpd = TRUE, xjust = -0.1)
}

# How far below the best each start ended; equal starts are drawn as equal, not spread over their rounding, and duplicates,
# which were ended early, where the first start ended.
plot_starts <- function(x, xlab = "start", ylab = "objective below the best", main = "where the starts ended", ...) {
  reached <- x$fit$starts$objective
  early <- x$fit$starts$stop == "duplicate"
  reached[early] <- pmax(reached[early], reached[1])
  below <- max(reached, na.rm = TRUE) - reached
  top <- max(below, 1e-6 * abs(max(reached, na.rm = TRUE)), 1e-6, na.rm = TRUE)
  plot(below, ylim = c(0, top), xaxt = "n", xlab = xlab, ylab = ylab, pch = 16, ...,
       main = sprintf("%s (best: %.10g)", main, max(reached, na.rm = TRUE)))
  axis(1, seq_along(reached))
}
