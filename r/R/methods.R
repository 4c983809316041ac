# Methods of class blica.

print.blica <- function(x, digits = 3, ...) {
  cat(sprintf("Binary ICA by method %s: %d variables, %d sources, %d segments, %g rows\n", x$method, nrow(x$mixing),
              ncol(x$mixing), length(x$segments), sum(x$samples)))
  if (x$method != "truth")
    cat(sprintf("objective %.10g, %s after %g iterations (best of %d starts)\n", x$fit$objective, x$fit$stop, x$fit$iterations,
                nrow(x$fit$starts)))
  for (f in x$free)
    cat(f$item, " in ", f$segment, " has its own ", if (is.null(f$mixing)) "cuts" else "cuts and loadings", "\n", sep = "")
  cat("\nMixing matrix:\n")
  print(if (is.null(x$labels)) round(x$mixing, digits) else data.frame(round(x$mixing, digits), label = x$labels), ...)
  invisible(x)
}

# assess = FALSE leaves out what takes refits: errors, the test of change, how well the axes are determined.
summary.blica <- function(object, assess = TRUE, ...) {
  found <- tryCatch(blica_identify(object), blica_error = function(e) NULL)
  c_ <- object$link
  explained <- colSums(object$mixing^2) * rowMeans(object$variances)
  noise <- nrow(object$mixing) / c_
  possible <- !is.null(object$data) && length(object$segments) > 1
  assessed <- if (assess && (possible || !is.null(kept_assessment(object))))
    tryCatch(errors_of(object, ...), blica_error = function(e) conditionMessage(e))
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
                if (i$design == "yes") "can determine the sources if their variances change" else "cannot determine the sources",
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

coef.blica <- function(object, what = c("mixing", "standardised", "communalities", "variances", "means", "cuts", "thresholds"), ...)
  object[[match.arg(what)]]

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

predict.blica <- function(object, newdata = NULL, segment = NULL, type = c("mean", "sd", "draws", "probability"), ...) {
  type <- match.arg(type)
  if (is.null(newdata)) {
    kept <- kept_rows(object, "newdata")
    newdata <- kept$code
    segment <- kept$segment
  }
  if (is.null(segment) && is.data.frame(newdata) && length(object$group) && object$group %in% names(newdata))
    segment <- newdata[[object$group]]
  options <- list(...)
  if (type == "draws" && is.null(options$draws)) options$draws <- 5
  found <- do.call(blica_sources, c(list(object, newdata, segment), options))
  if (type != "probability") return(found[[type]])
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

simulate.blica <- function(object, nsim = 1, seed = NULL, ...) {
  if (is.null(seed)) seed <- sample.int(.Machine$integer.max, 1)
  if (!is.numeric(seed) || length(seed) != 1 || is.na(seed) || seed < 0 || seed != round(seed) || seed + nsim > 2^53)
    stop("seed is ", paste(format(seed), collapse = " "), "; give a whole number from 0 to 2^53, up to which R counts exactly", call. = FALSE)
  pointer <- model_pointer(object)
  drawn <- lapply(seq_len(nsim), function(i) rows_frame(.Call(C_simulate_rows, context(), pointer, spell_options(list(seed = seed + i - 1))), object$levels))
  names(drawn) <- paste0("sim_", seq_len(nsim))
  structure(drawn, seed = seed)
}
