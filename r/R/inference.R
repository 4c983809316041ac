# From an estimate to a conclusion: errors, angles, change, fit, and the number of sources.

# The rows that a model was fitted to, packed; or those that are given.
rows_of <- function(ctx, model, x, segment, weights = NULL, ...) {
  if (!is.null(x)) return(pack(ctx, encode_for(model, x), segment, weights, ...))
  kept <- kept_rows(model, "x and segment")
  pack(ctx, kept$code, kept$segment, if (is.null(weights)) kept$weights else weights, ...)
}

blica_invariance <- function(model, x = NULL, segment = NULL, ..., weights = NULL, cluster = NULL, strata = NULL, threads = 0,
                             verbose = FALSE) {
  ctx <- context(threads, verbose)
  pointer <- model_pointer(model)
  found <- .Call(C_invariance, ctx, pointer, rows_of(ctx, model, x, segment, weights, cluster, strata), spell_options(list(...)))
  found$kind <- factor(found$kind, c("cuts", "loadings"))
  as.data.frame(found, stringsAsFactors = FALSE)
}

blica_assess <- function(model, x = NULL, segment = NULL, ..., weights = NULL, cluster = NULL, strata = NULL,
                         replicate_weights = NULL, replicate_method = NULL, threads = 0, verbose = FALSE) {
  ctx <- context(threads, verbose)
  data <- rows_of(ctx, model, x, segment, weights, cluster, strata, replicate_weights, replicate_method)
  options <- spell_options(list(...))
  rows <- .Call(C_data_digest, data)
  partial <- isTRUE(model$kept$found$draws < model$kept$found$draws_planned) # interrupted
  if (partial || !identical(model$kept$of, c(model$json, rows, sort(options)))) {
    found <- assess_rows(ctx, model, data, options)
    model$kept$of <- c(model$json, rows, sort(options))
    model$kept$found <- found
  }
  kept_assessment(model)
}

# The assessment that the model keeps, in an environment that its copies share; NULL when there is none.
kept_assessment <- function(model) {
  if (is.null(model$kept$of) || !identical(model$kept$of[[1]], model$json)) return(NULL)
  structure(model$kept$found, class = "blica_assessment", model = model)
}

# What summary(), confint() and the others show: the kept assessment, unless options are given or there is none.
errors_of <- function(model, ...) {
  kept <- if (...length() == 0) kept_assessment(model)
  if (is.null(kept)) blica_assess(model, ...) else kept
}

assess_rows <- function(ctx, model, data, options) {
  a <- .Call(C_assess, ctx, model_pointer(model), data, options)
  shape <- function(part, labels) { if (!is.null(a[[part]])) dimnames(a[[part]]) <<- labels }
  for (part in c("mixing_se", "mixing_low", "mixing_high", "mixing_se_bootstrap")) shape(part, dimnames(model$mixing))
  for (part in c("log_variance_se", "variance_low", "variance_high", "log_variance_se_bootstrap", "mean_se",
                 "mean_se_bootstrap"))
    shape(part, dimnames(model$variances))
  shape("threshold_se", dimnames(model$thresholds))
  names(a$cut_se) <- rownames(model$thresholds)
  sources <- colnames(model$mixing)
  for (part in c("angle", "angle_bound", "source_change_p", "stability")) if (!is.null(a[[part]])) names(a[[part]]) <- sources
  names(a$verdict) <- names(a$answers) <- c("design", "change", "fit", "axes")
  names(a$optimum) <- c("distance", "refit_mcs", "refit_gain")
  names(a$rows) <- c("lag", "inflation", "draws_per_segment", "lag_z", "decay", "number", "clusters", "block_length", "replicates",
                     "strata")
  names(a$fit) <- c("srmr", "m2", "df", "m2_p", "rmsea2", "rmsea2_low", "rmsea2_high", "srmr_unbiased", "srmr_low", "srmr_high", "tails_p")
  if (!is.null(a$margins)) a$margins <- data.frame(p = a$margins[1], size = a$margins[2], item = model$variables[a$margins[4]],
                                                   segment = model$segments[a$margins[5]], shift = a$margins[3])
  names(a$segment_srmr) <- names(a$segment_m2) <- model$segments
  names(a$item_srmr) <- model$variables
  if (!is.null(a$covariance)) dimnames(a$covariance) <- rep(list(parameter_names(model)), 2)
  a
}

parameter_names <- function(model) {
  sources <- colnames(model$mixing)
  c(outer(model$variables, sources, paste, sep = ":"), outer(paste0("log_v_", sources), model$segments, paste, sep = ":"))
}

# Names of those of the covariance, and of means and cuts.
all_parameter_names <- function(model) {
  means <- outer(paste0("mean_", rownames(model$means)), colnames(model$means), paste, sep = ":")
  c(parameter_names(model), means, paste0("cut_", names(model$cuts)))
}

parameter_groups <- function(model) {
  groups <- c("mixing", "variances", "means", "cuts")
  rep(groups, lengths(model[groups]))
}

print.blica_assessment <- function(x, digits = 2, ...) {
  writeLines(unname(x$verdict))
  cat("\n")
  axes <- rbind("angle (degrees)" = sprintf("%.1f", x$angle), "90 % bound" = sprintf("%.1f", x$angle_bound),
                "p of no change" = ifelse(x$source_change_p < 0.0005, "<0.001", sprintf("%.3f", x$source_change_p)))
  colnames(axes) <- names(x$angle)
  print(noquote(axes), right = TRUE, ...)
  cat("\nLoadings and their standard errors:\n")
  m <- attr(x, "model")$mixing
  text <- matrix(sprintf("%.*f (%.*f)", digits, m, digits, x$mixing_se), nrow(m), dimnames = dimnames(m))
  print(noquote(text), ...)
  invisible(x)
}

# The asymptotic correlations of the estimates, with the errors that all others show.
vcov.blica <- function(object, ...) {
  found <- errors_of(object, ...)
  covariance <- found$covariance
  if (is.null(covariance)) stop("the model has no asymptotic errors, so there is no covariance; blica_assess() gives bootstrap errors", call. = FALSE)
  asymptotic <- sqrt(diag(covariance))
  factor <- ifelse(asymptotic > 0, c(found$mixing_se, found$log_variance_se) / asymptotic, 1)
  covariance * outer(factor, factor)
}

# parm: names or numbers of parameters, or the names of groups of them.
confint.blica <- function(object, parm, level = 0.95, ...) {
  errors <- errors_of(object, ...)
  names <- all_parameter_names(object)
  groups <- parameter_groups(object)
  se <- stats::setNames(c(errors$mixing_se, errors$log_variance_se, errors$mean_se, errors$cut_se), names)
  estimate <- c(object$mixing, log(object$variances), object$means, object$cuts)
  z <- stats::qnorm(0.5 + level / 2)
  result <- cbind(estimate - z * se, estimate + z * se)
  dimnames(result) <- list(names(se), sprintf("%g %%", 100 * c(0.5 - level / 2, 0.5 + level / 2)))
  if (missing(parm)) return(result)
  wrong <- if (is.character(parm)) setdiff(parm, c(names, groups)) else parm[!parm %in% seq_along(se)]
  if (length(wrong))
    stop("there is no parameter ", wrong[1], "; parm is 'mixing', 'variances', 'means' or 'cuts', or names or numbers of parameters, as in '",
         names[1], "'", call. = FALSE)
  if (is.character(parm)) parm <- unlist(lapply(parm, function(p) if (p %in% groups) which(groups == p) else match(p, names)))
  result[parm, , drop = FALSE]
}

# Models of growing k side by side. Likelihood-ratio tests of k do not have chi-square distributions, so none is claimed.
anova.blica <- function(object, ...) {
  models <- c(list(object), list(...))
  if (!all(vapply(models, inherits, NA, "blica"))) stop("anova compares models of class blica only", call. = FALSE)
  fits <- lapply(models, logLik)
  rows <- vapply(fits, attr, 1L, "nobs")
  if (any(rows != rows[1])) stop("the models were fitted to ", paste(rows, collapse = " and "), " rows; compare fits of the same rows", call. = FALSE)
  table <- data.frame(sources = vapply(models, function(m) ncol(m$mixing), 1L), parameters = vapply(fits, attr, 1, "df"),
                      logLik = vapply(fits, as.numeric, 1), BIC = vapply(fits, stats::BIC, 1))
  table <- table[order(table$sources), ]
  rownames(table) <- NULL
  structure(table, heading = "Models by their number of sources; blica_select() compares them on held-out rows\n",
            class = c("anova", "data.frame"))
}

blica_select <- function(x, segment, sources = "1:8", ..., ordinal = FALSE, levels = NULL, missing = NULL, numeric = NULL,
                         threads = 0, verbose = FALSE) {
  ctx <- context(threads, verbose)
  if (is.numeric(sources)) {
    if (!length(sources) || anyNA(sources) || any(diff(sources) != 1))
      stop("sources is ", paste(sources, collapse = ", "), "; give consecutive numbers, as in 1:8", call. = FALSE)
    sources <- paste(range(sources), collapse = ":")
  }
  found <- .Call(C_select, ctx, pack(ctx, encode_given(x, levels, ordinal, missing, numeric), segment), spell_options(c(list(sources = sources), list(...))))
  keep <- unique(c(0, seq(found$lowest, length(found$heldout) - 1)))
  found$candidates <- data.frame(sources = keep, heldout = found$heldout[keep + 1], heldout_se = found$heldout_se[keep + 1],
                                 heldout_segments = found$heldout_segments[keep + 1], bic = found$bic[keep + 1], map = found$map[keep + 1])
  names(found$chosen) <- c("heldout", "parallel", "map", "bic", "segments")
  structure(found[c("sources", "reason", "method", "candidates", "eigenvalues", "reference", "chosen")], class = "blica_selection")
}

print.blica_selection <- function(x, ...) {
  cat(x$reason, "\n\n", sep = "")
  print(x$candidates, row.names = FALSE, ...)
  cat(sprintf("\nheld-out chooses %d, parallel analysis %d, MAP %d, BIC %d (method %s)\n", x$chosen[1], x$chosen[2], x$chosen[3],
              x$chosen[4], x$method))
  invisible(x)
}
