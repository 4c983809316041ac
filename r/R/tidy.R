# A row for each number, a row for each model, a row for each row: the generics of package generics, which broom has, too.

# The part of a model with a row for each number, and what else is known of it; parts are matrices of the same shape.
long_frame <- function(x, what, parts = list(), row.names = NULL) {
  m <- x[[what]]
  names <- switch(what, mixing = c("variable", "source", "loading"), variances = c("source", "segment", "variance"),
                  means = c("source", "segment", "mean"), thresholds = c("variable", "segment", "threshold"))
  ordered <- function(labels, at) factor(labels[at], levels = labels)
  result <- data.frame(ordered(rownames(m), row(m)), ordered(colnames(m), col(m)), as.vector(m), row.names = row.names)
  names(result) <- names
  if (what == "mixing") result$standardised <- as.vector(x$standardised)
  result[names(parts)] <- lapply(parts, as.vector)
  result
}

as.data.frame.blica <- function(x, row.names = NULL, optional = FALSE, what = c("mixing", "variances", "means", "thresholds"), ...) {
  what <- match.arg(what)
  found <- kept_assessment(x)
  long_frame(x, what, if (is.null(found)) list() else error_parts(x, found, what), row.names)
}

as.data.frame.blica_assessment <- function(x, row.names = NULL, optional = FALSE, what = c("mixing", "variances", "means", "thresholds"), ...) {
  what <- match.arg(what)
  model <- attr(x, "model")
  long_frame(model, what, error_parts(model, x, what), row.names)
}

# Errors and intervals of a part of the model.
error_parts <- function(model, found, what) {
  symmetric <- function(value, error) {
    half <- stats::qnorm(0.5 + found$level / 2) * error
    list(std.error = error, conf.low = value - half, conf.high = value + half)
  }
  switch(what,
    mixing = list(std.error = found$mixing_se, conf.low = found$mixing_low, conf.high = found$mixing_high),
    variances = list(std.error.log = found$log_variance_se, conf.low = found$variance_low, conf.high = found$variance_high),
    means = symmetric(model$means, found$mean_se), thresholds = symmetric(model$thresholds, found$threshold_se))
}

tidy.blica <- function(x, conf.int = FALSE, conf.level = 0.95, ...) {
  found <- errors_of(x, ...)
  estimate <- c(x$mixing, log(x$variances), x$means, x$cuts)
  error <- c(found$mixing_se, found$log_variance_se, found$mean_se, found$cut_se)
  result <- data.frame(term = all_parameter_names(x), component = parameter_groups(x), estimate = unname(estimate), std.error = unname(error))
  if (conf.int) {
    half <- stats::qnorm(0.5 + conf.level / 2) * result$std.error
    result$conf.low <- result$estimate - half
    result$conf.high <- result$estimate + half
  }
  result
}

glance.blica <- function(x, ...) {
  found <- errors_of(x, ...)
  likelihood <- logLik(x)
  data.frame(variables = nrow(x$mixing), sources = ncol(x$mixing), segments = length(x$segments), nobs = nobs(x),
             logLik = as.numeric(likelihood), df = attr(likelihood, "df"), AIC = stats::AIC(likelihood), BIC = stats::BIC(likelihood),
             srmr = found$fit[["srmr"]], rmsea2 = found$fit[["rmsea2"]], change.p.value = found$change_p, expected.mcs = found$expected_mcs,
             converged = x$fit$stop == "converged", method = x$method)
}

# data is the data of the fit, or newdata with its segments; posterior means and standard deviations of the sources are added.
augment.blica <- function(x, data = NULL, newdata = NULL, segment = NULL, ...) {
  if (!is.null(data) && !is.null(newdata)) stop("data and newdata are both given; give one of them", call. = FALSE)
  kept <- if (is.null(newdata)) kept_rows(x, "newdata")
  rows <- if (is.null(newdata)) kept$code else newdata
  found <- blica_sources(x, rows, if (is.null(newdata)) kept$segment else segment, ...)
  shown <- if (!is.null(data)) data else newdata
  if (!is.null(shown) && nrow(shown) != nrow(found$mean))
    stop("data has ", nrow(shown), " rows, the fit has ", nrow(found$mean), "; give the data of the fit, or newdata", call. = FALSE)
  added <- data.frame(found$mean, found$sd)
  names(added) <- c(paste0(".fitted_", colnames(x$mixing)), paste0(".se.fit_", colnames(x$mixing)))
  if (is.null(shown)) added else cbind(as.data.frame(shown), added)
}
