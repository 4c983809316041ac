# The verbs beside the fit. Names are those of the program with blica_ before them.

# Counts of rows, which are packed for this only.
count_rows <- function(ctx, x, segment, ordinal, levels, missing, numeric) {
  data <- pack(ctx, encode_given(x, levels, ordinal, missing, numeric), segment)
  counts <- .Call(C_count, ctx, data)
  .Call(C_release, data)
  counts
}

new_counts <- function(pointer) structure(c(.Call(C_counts_list, pointer), list(pointer = pointer)), class = "blica_counts")

blica_count <- function(x, segment = NULL, ordinal = FALSE, levels = NULL, missing = NULL, numeric = NULL, threads = 0) {
  ctx <- context(threads)
  new_counts(count_rows(ctx, x, segment, ordinal, levels, missing, numeric))
}

blica_counts_save <- function(counts, file) invisible(.Call(C_counts_save, context(), counts$pointer, path.expand(file)))
blica_counts_load <- function(file) new_counts(.Call(C_counts_load, context(), path.expand(file)))

print.blica_counts <- function(x, ...) {
  cat(sprintf("Pair counts of %d variables in %d segments, %g rows\n", length(x$variables), length(x$segments), sum(x$samples)))
  invisible(x)
}

counts_pointer <- function(ctx, x, segment, ordinal = FALSE, levels = NULL, missing = NULL, numeric = NULL) {
  if (!inherits(x, "blica_counts")) return(count_rows(ctx, x, segment, ordinal, levels, missing, numeric))
  if (!is.null(segment)) stop("counts know their segments already; leave segment out", call. = FALSE)
  x$pointer
}

# Correlations of counts, or of rows.
cor_pointer <- function(ctx, x, ...) {
  counts <- counts_pointer(ctx, x, ...)
  cor <- .Call(C_correlate, ctx, counts)
  if (!inherits(x, "blica_counts")) .Call(C_release, counts)
  cor
}

name_cor <- function(cor) {
  labels <- list(cor$variables, cor$variables, cor$segments)
  for (part in c("correlation", "se", "flags")) dimnames(cor[[part]]) <- labels
  names(cor$samples) <- names(cor$shift) <- cor$segments
  names(cor$levels) <- cor$variables
  for (part in c("location", "log_scale", "log_scale_se")) if (!is.null(cor[[part]])) dimnames(cor[[part]]) <- labels[-1]
  cor
}

blica_correlate <- function(x, segment = NULL, condition = NULL, ordinal = FALSE, levels = NULL, missing = NULL, numeric = NULL,
                            threads = 0) {
  ctx <- context(threads)
  cor <- cor_pointer(ctx, x, segment, ordinal, levels, missing, numeric)
  if (!is.null(condition)) cor <- .Call(C_regularise, ctx, cor, as.double(condition))
  structure(name_cor(.Call(C_cor_list, cor)), class = "blica_cor")
}

print.blica_cor <- function(x, digits = 3, ...) {
  kind <- if (all(lengths(x$levels) == 2)) "Tetrachoric" else "Polychoric"
  cat(sprintf("%s correlations of %d variables in %d segments; %g pairs with an empty cell\n", kind, length(x$variables),
              length(x$segments), x$zero_cells))
  print(round(x$correlation[, , 1], digits), ...)
  if (length(x$segments) > 1) cat(sprintf("(segment '%s'; %d more)\n", x$segments[1], length(x$segments) - 1))
  invisible(x)
}

# A part of the correlations of one segment as a matrix.
square <- function(cor, part) {
  n <- length(cor$variables)
  matrix(cor[[part]], n, n, dimnames = list(cor$variables, cor$variables))
}

blica_tetrachoric <- function(x, missing = NULL, threads = 0) {
  if (is.matrix(x) && identical(dim(x), c(2L, 2L))) {
    if (!is.numeric(x) || anyNA(x) || any(x < 0)) stop("a 2 x 2 table holds counts; these are not", call. = FALSE)
    one <- .Call(C_tetrachoric, context(threads), as.double(c(x[2, 2], x[2, 1], x[1, 2], x[1, 1])))
    return(structure(one, class = "blica_tetrachoric"))
  }
  ctx <- context(threads)
  cor <- .Call(C_cor_list, cor_pointer(ctx, x, NULL, missing = missing))
  structure(list(rho = square(cor, "correlation"), se = square(cor, "se"), tau = cor$thresholds[, 1], flags = square(cor, "flags"),
                 n.obs = cor$samples), class = "blica_tetrachoric")
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

# P(lower < Y < upper) of a normal vector.
blica_mvn <- function(lower, upper, mean = NULL, cov = NULL, loading = NULL, unique = NULL, error = 1e-6, seed = 1, gradient = FALSE) {
  n <- max(length(lower), length(upper))
  if (is.null(cov) == is.null(loading) || is.null(loading) != is.null(unique)) stop("give cov, or loading and unique", call. = FALSE)
  matrix <- if (is.null(cov)) as.matrix(loading) else as.matrix(cov)
  if (nrow(matrix) != n || (!is.null(cov) && ncol(matrix) != n))
    stop("cov or loading is ", nrow(matrix), " x ", ncol(matrix), ", and there are ", n, " bounds", call. = FALSE)
  numbers <- function(x) if (!is.null(x)) rep_len(as.double(x), n)
  storage.mode(matrix) <- "double"
  .Call(C_mvn, context(), numbers(lower), numbers(upper), numbers(mean), if (!is.null(cov)) matrix, if (is.null(cov)) matrix,
        numbers(unique), as.double(error), as.double(seed), isTRUE(gradient))
}

# Polychoric correlations of data, or of one table of counts.
blica_polychoric <- function(x, ordinal = TRUE, levels = NULL, missing = NULL, threads = 0, acm = FALSE, weights = NULL, cluster = NULL) {
  if (is.table(x)) {
    if (acm || !is.null(weights) || !is.null(cluster)) stop("x is a table of counts; acm, weights and cluster need its rows", call. = FALSE)
    if (length(dim(x)) != 2 || any(dim(x) < 2)) stop("a table of two items has two dimensions, each of at least 2 levels", call. = FALSE)
    if (anyNA(x) || any(x < 0)) stop("a table holds counts; these are not", call. = FALSE)
    one <- .Call(C_polychoric, context(threads), dim(x), as.double(t(x)))
    split <- seq_len(nrow(x) - 1)
    one$tau <- list(rows = one$tau[split], columns = one$tau[-split])
    return(structure(one, class = "blica_polychoric"))
  }
  ctx <- context(threads)
  data <- pack(ctx, encode_given(x, levels, ordinal, missing), NULL, weights, cluster)
  pointer <- .Call(C_correlate, ctx, .Call(C_count, ctx, data))
  cor <- .Call(C_cor_list, pointer)
  item <- factor(rep(cor$variables, lengths(cor$levels) - 1), levels = cor$variables)
  tau <- unname(-cor$thresholds[, 1])
  structure(list(rho = square(cor, "correlation"), se = square(cor, "se"), tau = split(tau, item), flags = square(cor, "flags"),
                 n.obs = cor$samples, lavaan = if (acm) for_lavaan(.Call(C_acm, ctx, data, pointer), square(cor, "correlation"), tau, item, nrow(x))),
            class = "blica_polychoric")
}

# What lavaan's functions take instead of data. WLS.V is the diagonal weight of DWLS and WLSMV.
for_lavaan <- function(acm, rho, tau, item, rows) {
  place <- stats::ave(seq_along(tau), item, FUN = seq_along)
  names(tau) <- paste0(item, "|t", place)
  pair <- which(lower.tri(rho), arr.ind = TRUE)
  dimnames(acm) <- rep(list(c(names(tau), paste0(rownames(rho)[pair[, 2]], "~~", rownames(rho)[pair[, 1]]))), 2)
  list(sample.cov = rho, sample.mean = 0 * diag(rho), sample.th = structure(tau, th.idx = stats::setNames(as.integer(item), names(tau))),
       NACOV = acm, WLS.V = structure(diag(1 / diag(acm)), dimnames = dimnames(acm)), sample.nobs = rows)
}

# The correlation of numbers and the normal variable behind an ordinal item.
blica_polyserial <- function(x, item, levels = NULL) {
  if (!is.numeric(x) || length(x) != length(item))
    stop("x must be numeric and have a value for each of item; they have ", length(x), " and ", length(item), call. = FALSE)
  code <- encode_column(item, "item", levels, ordinal = TRUE)
  .Call(C_polyserial, context(), as.double(x), as.integer(code$code), length(code$levels))
}

print.blica_polychoric <- function(x, digits = 3, ...) {
  cat("Polychoric correlations\n")
  print(round(x$rho, digits), ...)
  cat("thresholds (normal quantiles of the shares at or below each level)\n")
  for (item in names(x$tau)) cat(sprintf("%s: %s\n", item, paste(formatC(x$tau[[item]], digits = digits, format = "f"), collapse = " ")))
  invisible(x)
}

# Rows of items: 0 and 1 as they are, other levels as ordered factors.
rows_frame <- function(pointer, levels) {
  rows <- .Call(C_unpack, pointer)
  last <- cumsum(lengths(levels) - 1)
  column <- function(i) {
    code <- as.integer(rowSums(rows$x[, seq(to = last[i], length.out = length(levels[[i]]) - 1), drop = FALSE]))
    if (identical(levels[[i]], c("0", "1"))) code else factor(levels[[i]][code + 1], levels[[i]], ordered = TRUE)
  }
  items <- stats::setNames(lapply(seq_along(levels), column), names(levels))
  data.frame(items, segment = factor(rows$segments[rows$segment], levels = rows$segments), check.names = FALSE)
}

blica_simulate <- function(..., threads = 0) {
  drawn <- .Call(C_simulate, context(threads), spell_options(list(...)))
  model <- new_model(drawn$model)
  list(model = model, data = if (!is.null(drawn$data)) rows_frame(drawn$data, model$levels),
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

blica_identify <- function(model = NULL, variables, sources, segments, levels = 2, samples = NULL, change = 0.5, threads = 0, verbose = FALSE) {
  if (!is.null(model) && !is.null(samples)) stop("samples plans a study by variables, sources and segments; leave the model out", call. = FALSE)
  if (!is.null(model)) return(.Call(C_identify, context(), model_pointer(model)))
  .Call(C_identify_count, context(threads, verbose), as.integer(c(variables, sources, segments, levels)),
        if (is.null(samples)) -1 else as.double(samples), as.double(change))
}

blica_save <- function(model, file) invisible(.Call(C_model_save, context(), model_pointer(model), path.expand(file)))
blica_load <- function(file) new_model(.Call(C_model_load, context(), path.expand(file)))

blica_loglik <- function(model, x, segment = NULL, ..., threads = 0, verbose = FALSE) {
  ctx <- context(threads, verbose)
  pointer <- model_pointer(model)
  if (is.null(segment) && length(model$segments) > 1)
    stop("the model has ", length(model$segments), " segments; give those of the rows", call. = FALSE)
  if (is.null(segment)) segment <- rep(model$segments[1], row_count(x))
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
  rows <- row_count(x)
  data <- pack(ctx, encode_for(model, x), new_labels(model, segment, rows))
  result <- .Call(C_sources, ctx, pointer, data, spell_options(options))
  labels <- list(rownames(if (inherits(x, "blica_code")) x$x else x), colnames(model$mixing))
  k <- ncol(model$mixing)
  draws <- if (length(result$draws)) array(aperm(array(result$draws, c(k, length(result$draws) / (k * rows), rows)), 3:1),
                                           c(rows, length(result$draws) / (k * rows), k), list(labels[[1]], NULL, labels[[2]]))
  list(mean = matrix(t(result$mean), rows, dimnames = labels), sd = matrix(t(result$sd), rows, dimnames = labels),
       draws = draws)
}

# The segment of each row, empty where there is none or the model does not know it.
new_labels <- function(model, segment, rows) {
  if (is.null(segment)) return(rep("", rows))
  if (is_labelled(segment)) segment <- labelled_levels(segment)
  if (length(segment) != rows) segment_ids(segment, rows) # says what is wrong
  labels <- rep("", rows)
  here <- which(!is.na(segment))
  ids <- segment_ids(segment[here], length(here))
  strange <- setdiff(ids$labels, model$segments)
  if (length(strange))
    warning(length(strange), " of the segments (", paste(utils::head(strange, 3), collapse = ", "),
            ") were not in the fit; their rows are averaged over the segments of the fit", call. = FALSE)
  labels[here] <- ids$labels[ids$id + 1L]
  labels[labels %in% strange] <- ""
  labels
}

blica_segment <- function(x, sources, ..., ordinal = FALSE, levels = NULL, missing = NULL, threads = 0, verbose = FALSE) {
  ctx <- context(threads, verbose)
  data <- pack(ctx, encode_given(x, levels, ordinal, missing), NULL)
  found <- .Call(C_segment, ctx, data, spell_options(c(list(sources = sources), list(...))))
  labels <- as.character(seq_along(found$runs))
  found$state <- structure(factor(found$state, levels = seq_along(labels), labels = labels), searched = found$searched,
                           class = c("blica_labels", "factor"))
  found$searched <- NULL
  found$probability <- matrix(t(found$probability), nrow(x), dimnames = list(rownames(x), labels))
  found$transition <- matrix(t(found$transition), length(labels), dimnames = list(labels, labels))
  names(found$expected_rows) <- names(found$runs) <- labels
  found$trials <- as.data.frame(found$trials)
  if (!is.null(found$model)) found$model <- new_model(found$model)
  structure(found, class = "blica_segmentation")
}

# Labels of rows; the attribute searched is TRUE where they were found in the row itself.
`[.blica_labels` <- function(x, ...) {
  structure(NextMethod("["), searched = attr(x, "searched")[...], class = class(x))
}

print.blica_labels <- function(x, ...) {
  print(factor(as.character(x), levels(x)), ...)
  invisible(x)
}

print.blica_segmentation <- function(x, ...) {
  if (length(x$runs) == 1) {
    cat("One state: nothing in these rows says that the sources change over time\n")
  } else {
    cat(sprintf("%d states in %d rows, log-likelihood %.10g\n", length(x$runs), length(x$state), x$loglik))
    print(data.frame(state = names(x$runs), rows = round(x$expected_rows), runs = x$runs, row.names = NULL), row.names = FALSE, ...)
  }
  invisible(x)
}

row_count <- function(x) nrow(if (inherits(x, "blica_code")) x$x else x)

# Rows coded by the levels of the model, columns named as the model's.
encode_for <- function(model, x) {
  if (inherits(x, "blica_code")) return(x)
  if (is.data.frame(x) && all(model$variables %in% names(x))) x <- x[model$variables]
  if (ncol(x) != length(model$variables)) stop("x has ", ncol(x), " variables, the model has ", length(model$variables), call. = FALSE)
  named <- !is.null(colnames(x)) && all(colnames(x) %in% model$variables)
  if (!is.null(model$missing)) x <- without(x, model$missing)
  code <- encode(x, if (named) model$levels[colnames(x)] else model$levels)
  if (is.null(code$names)) code$names <- model$variables
  code
}

