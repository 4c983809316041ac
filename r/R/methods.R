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

summary.blica <- function(object, ...) {
  found <- tryCatch(blica_identify(object), blica_error = function(e) NULL)
  c_ <- object$link
  explained <- colSums(object$mixing^2) * rowMeans(object$variances)
  noise <- nrow(object$mixing) / c_
  structure(list(model = object, explained = explained / (sum(explained) + noise), identification = found,
                 residual = if (!is.null(object$correlations)) sqrt(mean(residuals(object)[upper3(object)]^2))),
            class = "summary.blica")
}

upper3 <- function(object) {
  n <- nrow(object$mixing)
  rep(upper.tri(diag(n)), length(object$segments))
}

print.summary.blica <- function(x, digits = 3, ...) {
  m <- x$model
  print(m, digits = digits, ...)
  cat("\nShare of the latent variance that each source explains (averaged over variables and segments):\n")
  print(round(x$explained, digits))
  cat("\nVariances of the sources:\n")
  print(round(t(m$variances), digits), ...)
  if (!is.null(x$identification)) {
    i <- x$identification
    cat(sprintf("\nThe data %s A: rank %g of %g parameters\n", if (i$identified) "fix" else "do not fix", i$rank, i$parameters))
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

coef.blica <- function(object, what = c("mixing", "variances", "means", "thresholds"), ...) object[[match.arg(what)]]

nobs.blica <- function(object, ...) sum(object$samples)

# Latent correlations of the model, [n,n,u]; or probabilities of ones, [n,u].
fitted.blica <- function(object, type = c("correlations", "probabilities"), ...) {
  type <- match.arg(type)
  a <- object$mixing
  latent <- lapply(seq_along(object$segments), function(s) diag(nrow(a)) + object$link * a %*% (object$variances[, s] * t(a)))
  if (type == "probabilities") {
    p <- vapply(seq_along(latent), function(s) pnorm(drop(sqrt(object$link) * a %*% object$means[, s]) / sqrt(diag(latent[[s]]))), numeric(nrow(a)))
    return(matrix(p, nrow(a), dimnames = dimnames(object$thresholds)))
  }
  array(unlist(lapply(latent, stats::cov2cor)), c(nrow(a), nrow(a), length(latent)), list(object$variables, object$variables, object$segments))
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
    if (is.null(object$data)) stop("the model does not keep the rows it was fitted to; give newdata", call. = FALSE)
    newdata <- object$data$x
    colnames(newdata) <- object$variables
    segment <- object$data$segment
    object$levels <- NULL
  }
  found <- blica_sources(object, newdata, segment, ...)
  switch(type, sources = found$mean, sd = found$sd, probability = pnorm(sqrt(object$link) * found$mean %*% t(object$mixing)))
}

logLik.blica <- function(object, newdata = NULL, segment = NULL, ...) {
  if (is.null(newdata)) {
    if (is.null(object$data)) stop("the model does not keep the rows it was fitted to; give newdata and segment", call. = FALSE)
    newdata <- object$data$x
    colnames(newdata) <- object$variables
    segment <- object$data$segment
    object$levels <- NULL
  }
  value <- blica_loglik(object, newdata, segment, ...)
  n <- nrow(object$mixing); k <- ncol(object$mixing); u <- length(object$segments)
  structure(value$total, df = n * k + 2 * u * k - k, nobs = nrow(newdata), error = value$total_error, class = "logLik")
}

simulate.blica <- function(object, nsim = 1, seed = NULL, ...) {
  seed <- if (is.null(seed)) sample.int(.Machine$integer.max, 1) else seed
  pointer <- model_pointer(object)
  drawn <- lapply(seq_len(nsim), function(i) rows_frame(.Call(C_simulate_rows, context(), pointer, spell_options(list(seed = seed + i - 1)))))
  names(drawn) <- paste0("sim_", seq_len(nsim))
  structure(drawn, seed = seed)
}

plot.blica <- function(x, which = c("mixing", "variances", "starts"), ...) {
  which <- match.arg(which)
  if (which == "mixing") {
    a <- x$mixing
    bound <- max(abs(a))
    old <- par(mar = c(3, max(3, 0.6 * max(nchar(x$variables))), 2, 1))
    on.exit(par(old))
    image(seq_len(ncol(a)), seq_len(nrow(a)), t(a[rev(seq_len(nrow(a))), , drop = FALSE]), zlim = c(-bound, bound),
          col = hcl.colors(101, "Blue-Red 3"), axes = FALSE, xlab = "", ylab = "", main = "mixing matrix A", ...)
    axis(1, seq_len(ncol(a)), colnames(a))
    axis(2, seq_len(nrow(a)), rev(x$variables), las = 1, cex.axis = 0.8)
  } else if (which == "variances") {
    matplot(t(x$variances), type = "b", pch = 1, lty = 1, log = "y", xaxt = "n", xlab = "segment", ylab = "variance of the source", ...)
    axis(1, seq_along(x$segments), x$segments)
    legend("topright", colnames(x$mixing), col = seq_len(ncol(x$mixing)), lty = 1)
  } else {
    plot(x$fit$starts$objective, xlab = "start", ylab = "objective", ...)
    abline(h = x$fit$objective, lty = 2)
  }
  invisible(x)
}
