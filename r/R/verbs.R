# The verbs beside the fit. Names are those of the program with blica_ before them.

new_counts <- function(pointer) structure(c(.Call(C_counts_list, pointer), list(pointer = pointer)), class = "blica_counts")

blica_count <- function(x, segment = NULL, threads = 0) {
  ctx <- context(threads)
  new_counts(.Call(C_count, ctx, pack(ctx, encode(x), segment)))
}

blica_counts_save <- function(counts, file) invisible(.Call(C_counts_save, context(), counts$pointer, path.expand(file)))
blica_counts_load <- function(file) new_counts(.Call(C_counts_load, context(), path.expand(file)))

print.blica_counts <- function(x, ...) {
  cat(sprintf("Pair counts of %d variables in %d segments, %g rows\n", length(x$variables), length(x$segments), sum(x$samples)))
  invisible(x)
}

counts_pointer <- function(ctx, x, segment) {
  if (!inherits(x, "blica_counts")) return(.Call(C_count, ctx, pack(ctx, encode(x), segment)))
  if (!is.null(segment)) stop("counts know their segments already; leave segment out", call. = FALSE)
  x$pointer
}

name_cor <- function(cor) {
  labels <- list(cor$variables, cor$variables, cor$segments)
  for (part in c("correlation", "se", "flags")) dimnames(cor[[part]]) <- labels
  names(cor$samples) <- names(cor$shift) <- cor$segments
  cor
}

blica_correlate <- function(x, segment = NULL, condition = NULL, threads = 0) {
  ctx <- context(threads)
  cor <- .Call(C_correlate, ctx, counts_pointer(ctx, x, segment))
  if (!is.null(condition)) cor <- .Call(C_regularise, ctx, cor, as.double(condition))
  structure(name_cor(.Call(C_cor_list, cor)), class = "blica_cor")
}

print.blica_cor <- function(x, digits = 3, ...) {
  cat(sprintf("Tetrachoric correlations of %d variables in %d segments; %g pairs with an empty cell\n", length(x$variables),
              length(x$segments), x$zero_cells))
  print(round(x$correlation[, , 1], digits), ...)
  if (length(x$segments) > 1) cat(sprintf("(segment '%s'; %d more)\n", x$segments[1], length(x$segments) - 1))
  invisible(x)
}

blica_tetrachoric <- function(x, threads = 0) {
  if (is.matrix(x) && identical(dim(x), c(2L, 2L))) {
    if (!is.numeric(x) || anyNA(x) || any(x < 0)) stop("a 2 x 2 table holds counts; these are not", call. = FALSE)
    one <- .Call(C_tetrachoric, context(threads), as.double(c(x[2, 2], x[2, 1], x[1, 2], x[1, 1])))
    return(structure(one, class = "blica_tetrachoric"))
  }
  ctx <- context(threads)
  cor <- .Call(C_cor_list, .Call(C_correlate, ctx, counts_pointer(ctx, x, NULL)))
  n <- length(cor$variables)
  labels <- list(cor$variables, cor$variables)
  square <- function(part) { dim(part) <- c(n, n); dimnames(part) <- labels; part }
  structure(list(rho = square(cor$correlation), se = square(cor$se), tau = cor$thresholds[, 1], flags = square(cor$flags), n.obs = cor$samples),
            class = "blica_tetrachoric")
}

print.blica_tetrachoric <- function(x, digits = 3, ...) {
  cat("Tetrachoric correlations\n")
  print(round(x$rho, digits), ...)
  filled <- sum(x$flags[upper.tri(x$flags)] > 0)
  if (is.matrix(x$rho) && filled > 0) cat(sprintf("%d pairs have an empty cell or a constant variable, see $flags\n", filled))
  cat("thresholds (normal quantiles of the share of ones)\n")
  print(round(x$tau, digits), ...)
  invisible(x)
}

rows_frame <- function(pointer) {
  rows <- .Call(C_unpack, pointer)
  colnames(rows$x) <- rows$variables
  data.frame(rows$x, segment = factor(rows$segments[rows$segment], levels = rows$segments), check.names = FALSE)
}

blica_simulate <- function(..., threads = 0) {
  drawn <- .Call(C_simulate, context(threads), spell_options(list(...)))
  list(model = new_model(drawn$model), data = if (!is.null(drawn$data)) rows_frame(drawn$data),
       counts = if (!is.null(drawn$counts)) new_counts(drawn$counts))
}

mixing_of <- function(a, name) {
  if (inherits(a, "blica")) a <- a$mixing
  if (!is.matrix(a) || !is.numeric(a)) stop(name, " is not a mixing matrix; give a numeric matrix or a model", call. = FALSE)
  storage.mode(a) <- "double"
  a
}

blica_compare <- function(a, b) {
  a <- mixing_of(a, "a")
  b <- mixing_of(b, "b")
  if (!identical(dim(a), dim(b)))
    stop(sprintf("a is %d x %d and b is %d x %d; they must have the same shape", nrow(a), ncol(a), nrow(b), ncol(b)), call. = FALSE)
  .Call(C_compare, context(), a, b)
}

blica_identify <- function(model = NULL, variables, sources, segments, levels = 2) {
  if (!is.null(model)) return(.Call(C_identify, context(), model_pointer(model)))
  .Call(C_identify_count, context(), as.integer(variables), as.integer(sources), as.integer(segments),
        if (levels > 2) as.integer(variables) else 0L)
}

blica_save <- function(model, file) invisible(.Call(C_model_save, context(), model_pointer(model), path.expand(file)))
blica_load <- function(file) new_model(.Call(C_model_load, context(), path.expand(file)))

blica_loglik <- function(model, x, segment = NULL, ..., threads = 0, verbose = FALSE) {
  ctx <- context(threads, verbose)
  pointer <- model_pointer(model)
  if (is.null(segment) && length(model$segments) > 1)
    stop("the model has ", length(model$segments), " segments; give those of the rows", call. = FALSE)
  if (is.null(segment)) segment <- rep(model$segments[1], nrow(x))
  data <- pack(ctx, encode_for(model, x), segment)
  result <- .Call(C_loglik, ctx, pointer, data, spell_options(list(...)))
  names(result$loglik) <- names(result$error) <- result$segments
  result
}

blica_sources <- function(model, x, segment = NULL, ..., threads = 0, verbose = FALSE) {
  ctx <- context(threads, verbose)
  pointer <- model_pointer(model)
  options <- list(...)
  if (is.null(options$segment)) options$segment <- if (is.null(segment)) "unknown" else "known"
  if (is.null(segment)) segment <- rep(model$segments[1], nrow(x))
  data <- pack(ctx, encode_for(model, x), segment)
  result <- .Call(C_sources, ctx, pointer, data, spell_options(options))
  labels <- list(rownames(x), colnames(model$mixing))
  list(mean = matrix(t(result$mean), nrow(x), dimnames = labels), sd = matrix(t(result$sd), nrow(x), dimnames = labels),
       loglik = result$loglik)
}

blica_segment <- function(x, sources, ..., threads = 0, verbose = FALSE) {
  ctx <- context(threads, verbose)
  data <- pack(ctx, encode(x), NULL)
  found <- .Call(C_segment, ctx, data, spell_options(c(list(sources = sources), list(...))))
  labels <- as.character(seq_along(found$runs))
  found$state <- factor(found$state, levels = seq_along(labels), labels = labels)
  found$probability <- matrix(t(found$probability), nrow(x), dimnames = list(rownames(x), labels))
  found$transition <- matrix(t(found$transition), length(labels), dimnames = list(labels, labels))
  names(found$expected_rows) <- names(found$runs) <- labels
  found$trials <- as.data.frame(found$trials)
  if (!is.null(found$model)) found$model <- new_model(found$model)
  structure(found, class = "blica_segmentation")
}

print.blica_segmentation <- function(x, ...) {
  if (length(x$runs) == 1) {
    cat("One state: nothing in these rows says that the sources change over time\n")
  } else {
    cat(sprintf("%d states in %d rows, log-likelihood %.10g\n", length(x$runs), length(x$state), x$loglik))
    print(data.frame(state = names(x$runs), rows = round(x$expected_rows), stretches = x$runs, row.names = NULL), row.names = FALSE, ...)
  }
  invisible(x)
}

# Rows coded as those of the fit, columns named as the model's.
encode_for <- function(model, x) {
  if (is.data.frame(x) && all(model$variables %in% names(x))) x <- x[model$variables]
  columns <- length(model$cuts) # an item of several levels has a column for each but the lowest
  if (ncol(x) != columns) stop("x has ", ncol(x), " variables, the model has ", columns, call. = FALSE)
  code <- encode(x, model$levels)
  if (is.null(code$names)) code$names <- model$variables
  code
}
