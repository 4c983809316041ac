# From matrices, data frames and sparse matrices to 0, 1 and NA, and to packed bits.

# One column as integers 0, 1, NA. levels is NULL (to be found) or the two values that mean 0 and 1.
encode_column <- function(value, name, levels = NULL) {
  if (is.factor(value)) {
    if (is.null(levels)) levels <- levels(droplevels(value))
    value <- as.character(value)
  } else if (is.logical(value)) {
    value <- as.integer(value)
  } else if (!is.numeric(value) && !is.character(value)) {
    stop(name, " is a ", class(value)[1], "; binary variables are numbers, logicals, factors or text with two levels", call. = FALSE)
  }
  if (is.null(levels)) {
    levels <- sort(unique(value[!is.na(value)]))
    if (is.numeric(value) && all(levels %in% c(0, 1))) levels <- c(0, 1)
  }
  if (length(levels) != 2) {
    some <- paste(utils_head(levels, 4), collapse = ", ")
    stop(name, " has ", length(levels), " different value", if (length(levels) == 1) "" else "s", " (", some,
         if (length(levels) > 4) ", ...", "); binary variables have two levels: recode it", call. = FALSE)
  }
  code <- match(value, levels) - 1L
  wrong <- which(is.na(code) & !is.na(value))
  if (length(wrong))
    stop("row ", wrong[1], ", ", name, ": value ", value[wrong[1]], " is neither ", levels[1], " nor ", levels[2], call. = FALSE)
  list(code = code, levels = levels)
}

utils_head <- function(x, n) x[seq_len(min(n, length(x)))]

# x as an integer matrix, with its names (or NULL) and the levels of its columns.
encode <- function(x, levels = NULL) {
  if (is_sparse(x)) return(list(x = x, names = colnames(x), levels = NULL))
  if (!is.matrix(x) && !is.data.frame(x))
    stop("x is a ", class(x)[1], "; give a matrix, a data frame or a dgCMatrix with a row per sample", call. = FALSE)
  if (nrow(x) < 1) stop("x has no rows", call. = FALSE)
  if (ncol(x) < 2) stop("x has ", ncol(x), " column; at least 2 variables are needed", call. = FALSE)
  if (is.matrix(x) && !(is.numeric(x) || is.logical(x) || is.character(x)))
    stop("x is a matrix of type ", typeof(x), "; give numbers, logicals or text", call. = FALSE)
  if (is.null(levels) && is.matrix(x) && !is.character(x) && .Call(C_is_binary, x))
    return(list(x = x, names = colnames(x), levels = rep(list(c(0, 1)), ncol(x))))
  label <- function(j) paste0("column ", j, if (!is.null(colnames(x))) paste0(" ('", colnames(x)[j], "')"))
  column <- if (is.data.frame(x)) function(j) x[[j]] else function(j) x[, j]
  parts <- lapply(seq_len(ncol(x)), function(j) encode_column(column(j), label(j), levels[[j]]))
  code <- matrix(unlist(lapply(parts, `[[`, "code")), nrow(x))
  list(x = code, names = colnames(x), levels = lapply(parts, `[[`, "levels"))
}

# Says which values became 0 and which 1, where they were not those already.
tell_levels <- function(code) {
  names <- if (is.null(code$names)) paste("column", seq_along(code$levels)) else code$names
  pair <- vapply(code$levels, function(l) if (is.numeric(l) && identical(as.numeric(l), c(0, 1))) "" else sprintf("'%s' is 0 and '%s' is 1", l[1], l[2]), "")
  for (one in setdiff(unique(pair), "")) {
    of <- names[pair == one]
    some <- paste0(paste(utils_head(of, 5), collapse = ", "), if (length(of) > 5) sprintf(", ... (%d variables)", length(of)))
    message(structure(class = c("blica_message", "message", "condition"), list(message = paste0(one, ": ", some, "\n"), call = NULL)))
  }
}

is_sparse <- function(x) inherits(x, "dgCMatrix")

# Ids from 0 and labels: in order of the levels of a factor, else of appearance.
segment_ids <- function(segment, rows) {
  if (is.null(segment)) return(list(id = integer(rows), labels = "1"))
  if (is.list(segment)) stop("segment is a list; give a vector or factor with a label for each row", call. = FALSE)
  if (length(segment) != rows) stop("segment has ", length(segment), " elements and x has ", rows, " rows; give a label for each row", call. = FALSE)
  if (anyNA(segment)) stop("row ", which(is.na(segment))[1], " has no segment; drop such rows or give them a segment of their own", call. = FALSE)
  text <- as.character(segment)
  labels <- if (is.factor(segment)) levels(droplevels(segment)) else unique(text)
  list(id = match(text, labels) - 1L, labels = labels)
}

pack <- function(context, code, segment) {
  x <- code$x
  s <- segment_ids(segment, nrow(x))
  if (is_sparse(x)) return(.Call(C_pack_sparse, context, x@Dim, x@i, x@p, x@x, s$id, s$labels, code$names))
  .Call(C_pack, context, x, s$id, s$labels, code$names)
}
