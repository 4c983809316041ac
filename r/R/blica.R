# The fit, for the kinds of data that R has.

blica <- function(x, ...) UseMethod("blica")

blica.default <- function(x, ...) {
  stop("blica() does not know what to do with a ", class(x)[1], "; give a matrix, a data frame, a formula or a dgCMatrix",
       call. = FALSE)
}

blica.matrix <- function(x, segment = NULL, k, ..., threads = 0, verbose = FALSE) fit_rows(x, segment, k, list(...), threads, verbose, match.call())
blica.data.frame <- blica.matrix
blica.dgCMatrix <- blica.matrix

blica.formula <- function(x, data = NULL, k, ..., threads = 0, verbose = FALSE) {
  if (!is.null(data) && !is.data.frame(data)) stop("data is a ", class(data)[1], "; give a data frame", call. = FALSE)
  frame <- model.frame(x, data, na.action = stats::na.pass)
  segment <- model.response(frame)
  variables <- attr(attr(frame, "terms"), "term.labels")
  if (any(attr(attr(frame, "terms"), "order") > 1)) stop("the formula has an interaction; name plain variables", call. = FALSE)
  fit_rows(frame[variables], segment, k, list(...), threads, verbose, match.call())
}

blica.blica_counts <- function(x, k, ..., threads = 0, verbose = FALSE) {
  ctx <- context(threads, verbose)
  cor <- .Call(C_correlate, ctx, x$pointer)
  complete(.Call(C_fit, ctx, NULL, x$pointer, cor, fit_options(k, list(...))), cor, match.call())
}

fit_options <- function(k, options) {
  if (missing(k)) stop("k is missing; give the number of sources", call. = FALSE)
  if ("sources" %in% names(options)) stop("the number of sources is k; leave 'sources' out", call. = FALSE)
  spell_options(c(list(sources = k), options))
}

fit_rows <- function(x, segment, k, options, threads, verbose, call) {
  if (missing(k)) stop("k is missing; give the number of sources", call. = FALSE)
  options <- fit_options(k, options)
  ctx <- context(threads, verbose)
  code <- encode(x)
  data <- pack(ctx, code, segment)
  counts <- .Call(C_count, ctx, data)
  cor <- .Call(C_correlate, ctx, counts)
  model <- complete(.Call(C_fit, ctx, data, counts, cor, options), cor, call)
  model$levels <- code$levels
  model$data <- list(x = code$x, names = code$names, segment = segment)
  model
}

complete <- function(pointer, cor, call) {
  model <- new_model(pointer)
  model$correlations <- name_cor(.Call(C_cor_list, cor))$correlation
  model$call <- call
  advice <- if (model$fit$stop == "integration") "the integration error is too large, use method = 'matched'" else
    "raise max_iterations or starts, or take fewer sources"
  if (model$fit$stop != "converged") caution(sprintf("the fit did not converge (stopped: %s); %s", model$fit$stop, advice))
  model
}

# The list that is the model. The JSON text carries it through saveRDS, where the pointer does not go.
new_model <- function(pointer) {
  model <- .Call(C_model_list, pointer)
  sources <- paste0("s", seq_len(ncol(model$mixing)))
  dimnames(model$mixing) <- list(model$variables, sources)
  dimnames(model$variances) <- dimnames(model$means) <- list(sources, model$segments)
  dimnames(model$thresholds) <- list(model$variables, model$segments)
  names(model$samples) <- model$segments
  model$fit$starts <- as.data.frame(model$fit$starts, stringsAsFactors = FALSE)
  file <- tempfile(fileext = ".json")
  on.exit(unlink(file))
  .Call(C_model_save, context(), pointer, file)
  model$json <- readChar(file, file.size(file), useBytes = TRUE)
  structure(model, class = "blica")
}

model_pointer <- function(model) {
  if (!inherits(model, "blica")) stop("a ", class(model)[1], " is not a model; give what blica() or blica_load() returns", call. = FALSE)
  file <- tempfile(fileext = ".json")
  on.exit(unlink(file))
  writeChar(model$json, file, eos = NULL, useBytes = TRUE)
  .Call(C_model_load, context(), file)
}
