# The fit, for the kinds of data that R has.

blica <- function(x, ...) UseMethod("blica")

blica.default <- function(x, ...) {
  stop("blica() does not know what to do with a ", class(x)[1], "; give a matrix, a data frame, a formula or a dgCMatrix",
       call. = FALSE)
}

blica.matrix <- function(x, segment = NULL, k, ..., ordinal = FALSE, levels = NULL, missing = NULL, numeric = NULL,
                         allow_unidentified = FALSE, threads = 0, verbose = FALSE) {
  fit_rows(x, segment, k, list(...), ordinal, levels, missing, numeric, allow_unidentified, threads, verbose, match.call())
}
blica.data.frame <- blica.matrix
blica.dgCMatrix <- blica.matrix

# segment ~ variables, ~ variables | segment, or ~ variables with group.
blica.formula <- function(x, data = NULL, k, ..., group = NULL, ordinal = FALSE, levels = NULL, missing = NULL,
                          numeric = NULL, allow_unidentified = FALSE, threads = 0, verbose = FALSE) {
  if (!is.null(data) && !is.data.frame(data)) stop("data is a ", class(data)[1], "; give a data frame", call. = FALSE)
  parts <- formula_parts(x, data, group)
  model <- fit_rows(parts$variables, parts$segment, k, list(...), ordinal, levels, missing, numeric, allow_unidentified,
                    threads, verbose, match.call())
  model$group <- parts$group
  model
}

formula_parts <- function(formula, data, group) {
  right <- formula[[length(formula)]]
  barred <- is.call(right) && identical(right[[1]], as.name("|"))
  sided <- length(formula) == 3
  if (sum(barred, sided, !is.null(group)) > 1)
    stop("the segment is given more than once; give it on the left of ~, after |, or as group", call. = FALSE)
  if (barred) {
    group <- right[[3]]
    formula[[length(formula)]] <- right[[2]]
    group <- if (is.name(group) && as.character(group) %in% names(data)) as.character(group)
             else eval(group, data, environment(formula))
  }
  named <- is.character(group) && length(group) == 1 && group %in% names(data)
  if (is.character(group) && length(group) == 1 && !named) stop("group is '", group, "', which is not a column of data", call. = FALSE)
  segment <- if (named) data[[group]] else group
  if (named) data <- data[names(data) != group]
  frame <- model.frame(formula, data, na.action = stats::na.pass)
  terms <- attr(frame, "terms")
  if (any(attr(terms, "order") > 1)) stop("the formula has an interaction; name plain variables", call. = FALSE)
  names <- gsub("^`|`$", "", attr(terms, "term.labels"))
  list(variables = frame[names], segment = if (sided) model.response(frame) else segment,
       group = if (named) group else if (sided && is.name(formula[[2]])) as.character(formula[[2]]))
}

# Roll calls of package pscl: each roll call is a row, each legislator a variable; segment is of the roll calls.
blica.rollcall <- function(x, segment = NULL, k, ..., allow_unidentified = FALSE, threads = 0, verbose = FALSE) {
  codes <- x$codes
  vote <- matrix(NA_integer_, nrow(x$votes), ncol(x$votes), dimnames = dimnames(x$votes))
  vote[x$votes %in% codes$yea] <- 1L
  vote[x$votes %in% codes$nay] <- 0L
  if (is.character(segment) && length(segment) == 1) {
    if (!segment %in% names(x$vote.data)) stop("segment is '", segment, "', which is not a column of vote.data", call. = FALSE)
    segment <- x$vote.data[[segment]]
  }
  fit_rows(t(vote), segment, k, list(...), FALSE, NULL, NULL, NULL, allow_unidentified, threads, verbose, match.call())
}

blica.blica_counts <- function(x, k, ..., allow_unidentified = FALSE, threads = 0, verbose = FALSE) {
  options <- fit_options(k, list(..., allow_unidentified = allow_unidentified))
  check_segments(x$segments, allow_unidentified)
  ctx <- context(threads, verbose)
  cor <- .Call(C_correlate, ctx, x$pointer)
  complete(call_fit(ctx, NULL, x$pointer, cor, options), cor, match.call())
}

fit_options <- function(k, options) {
  if (missing(k)) stop("k is missing; give the number of sources", call. = FALSE)
  if ("sources" %in% names(options)) stop("the number of sources is k; leave 'sources' out", call. = FALSE)
  spell_options(c(list(sources = k), options))
}

# The program and Python refuse a single segment, too.
check_segments <- function(labels, allow_unidentified) {
  if (length(labels) == 1 && !isTRUE(allow_unidentified))
    stop("there is one segment ('", labels, "'): the mixing matrix is not identified without a change of variances; ",
         "give segments, or allow_unidentified = TRUE", call. = FALSE)
}

fit_rows <- function(x, segment, k, options, ordinal, levels, missing, numeric, allow_unidentified, threads, verbose, call) {
  if (missing(k)) stop("k is missing; give the number of sources", call. = FALSE)
  weights <- options[["weights"]]
  options[["weights"]] <- NULL
  options <- fit_options(k, c(options, list(allow_unidentified = allow_unidentified)))
  ctx <- context(threads, verbose)
  code <- encode_given(x, levels, ordinal, missing, numeric)
  check_segments(segment_ids(segment, nrow(x))$labels, allow_unidentified)
  tell_levels(code)
  data <- pack(ctx, code, segment, weights)
  counts <- .Call(C_count, ctx, data)
  cor <- .Call(C_correlate, ctx, counts)
  pointer <- call_fit(ctx, data, counts, cor, options)
  labels <- variable_labels(x)
  if (any(nzchar(labels))) .Call(C_set_labels, ctx, pointer, enc2utf8(labels))
  model <- complete(pointer, cor, call)
  model$missing <- missing # for new data
  if (!is_sparse(x)) { # levels that the library cannot write
    forgotten <- !mapply(identical, unname(model$levels), lapply(code$levels, level_texts))
    model$levels[forgotten] <- code$levels[forgotten]
  }
  code$names <- model$variables
  model$data <- list(code = code, segment = segment, weights = weights)
  model
}

# Errors speak of k, as the user wrote it.
call_fit <- function(ctx, data, counts, cor, options) {
  tryCatch(.Call(C_fit, ctx, data, counts, cor, options), blica_bad_argument = function(e) {
    e$message <- sub("^(option )?sources(:| is )", "k\\2", e$message)
    stop(e)
  })
}

complete <- function(pointer, cor, call) {
  model <- new_model(pointer)
  model$correlations <- name_cor(.Call(C_cor_list, cor))$correlation
  call[[1]] <- quote(blica) # not its method, which update() would not find
  model$call <- call
  advice <- if (model$fit$stop == "integration") "the integration error is too large, use method = 'matched'" else
    "raise max_iterations or starts, or take fewer sources"
  if (model$fit$stop != "converged") caution(sprintf("the fit did not converge (stopped: %s); %s", model$fit$stop, advice))
  model
}

# The list that is the model. The JSON text carries it through saveRDS, where the pointer does not go.
new_model <- function(pointer) {
  model <- .Call(C_model_list, pointer)
  sources <- paste0("z", seq_len(ncol(model$mixing)))
  dimnames(model$mixing) <- list(model$variables, sources)
  dimnames(model$variances) <- dimnames(model$means) <- list(sources, model$segments)
  names(model$samples) <- model$segments
  names(model$levels) <- model$variables
  model$fit$starts <- as.data.frame(model$fit$starts, stringsAsFactors = FALSE)
  # sources have their mean variances over segments, weighted by rows
  share <- if (sum(model$samples) > 0) model$samples / sum(model$samples) else rep(1 / length(model$samples), length(model$samples))
  signal <- sweep(model$mixing, 2, sqrt(model$link * drop(model$variances %*% share)), `*`)
  model$communalities <- rowSums(signal^2) / (1 + rowSums(signal^2))
  model$standardised <- signal * sqrt(1 - model$communalities)
  model$json <- .Call(C_model_write, context(), pointer)
  model$kept <- new.env(parent = emptyenv()) # the assessment, once there is one
  structure(model, class = "blica")
}

model_pointer <- function(model) {
  if (!inherits(model, "blica")) stop("a ", class(model)[1], " is not a model; give what blica() or blica_load() returns", call. = FALSE)
  .Call(C_model_read, context(), model$json)
}
