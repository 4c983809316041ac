# From matrices, data frames and sparse matrices to levels 0, 1, ... and NA, and to packed bits.

# The levels of a column of numbers that has these distinct ones, in order.
number_levels <- function(found, name, ordinal) {
  if (ordinal) {
    odd <- found[found != round(found)]
    if (length(odd)) stop(name, ": ", odd[1], " is not a whole number, which ordinal = TRUE asks for; give levels", call. = FALSE)
    if (length(found) < 2)
      stop(name, " has ", length(found), " value; an item needs at least two levels: leave it out, or give levels", call. = FALSE)
    return(found)
  }
  if (all(found %in% c(0, 1))) return(c(0, 1))
  two_levels(found, name, "say ordinal = TRUE if they are ordered whole numbers, give levels, or recode it")
}

two_levels <- function(found, name, advice) {
  if (length(found) == 2) return(found)
  stop(name, " has ", length(found), " different value", if (length(found) == 1) "" else "s", " (",
       paste(utils_head(found, 4), collapse = ", "), if (length(found) > 4) ", ...", "); binary variables have two levels: ",
       advice, call. = FALSE)
}

found_levels <- function(value, name, ordinal) {
  if (is.ordered(value)) {
    if (nlevels(value) < 2) stop(name, " is an ordered factor with ", nlevels(value), " level; an item needs at least two", call. = FALSE)
    return(levels(value))
  }
  if (is.numeric(value)) return(number_levels(sort(unique(value[!is.na(value)])), name, ordinal))
  present <- if (is.factor(value)) levels(droplevels(value)) else sort(unique(value[!is.na(value)]))
  if (ordinal && length(present) > 2)
    stop(name, ": '", present[1], "' is not a whole number, which ordinal = TRUE asks for; make it an ordered factor, or give levels",
         call. = FALSE)
  two_levels(present, name, "make it an ordered factor, give levels, or recode it")
}

# The numbers that stand for levels in a column of numbers; false and true are 0 and 1.
level_numbers <- function(levels, name) {
  text <- tolower(as.character(levels))
  number <- suppressWarnings(ifelse(text == "false", 0, ifelse(text == "true", 1, as.numeric(text))))
  if (anyNA(number)) stop(name, " has numbers, and a number is not one of its levels ", paste(levels, collapse = "<"), call. = FALSE)
  number
}

# Columns of haven: codes with labels, and codes that mean missing. As numbers, and as what the program makes of the file: ordered
# levels, named by the labels of the codes.
is_labelled <- function(value) inherits(value, "haven_labelled")

labelled_codes <- function(value) {
  code <- as.vector(unclass(value))
  range <- attr(value, "na_range")
  code[code %in% attr(value, "na_values") | (if (is.null(range)) FALSE else !is.na(code) & code >= range[1] & code <= range[2])] <- NA
  code
}

labelled_levels <- function(value) {
  code <- labelled_codes(value)
  if (is.character(code)) return(code)
  present <- sort(unique(code[!is.na(code)]))
  if (length(present) > 100) return(code)
  own <- names(attr(value, "labels"))[match(present, attr(value, "labels"))]
  text <- number_texts(present)
  twice <- own %in% own[duplicated(own)]
  factor(code, present, ifelse(is.na(own), text, ifelse(twice, paste0(own, " (", text, ")"), own)), ordered = TRUE)
}

# What the columns of a frame ask, "" where that is not known.
variable_labels <- function(x) {
  if (!is.data.frame(x)) return(character(0))
  unname(vapply(x, function(value) {
    label <- attr(value, "label", exact = TRUE)
    if (is.character(label) && length(label) == 1 && !is.na(label)) label else ""
  }, ""))
}

# One column as integers from 0, NA missing, and its levels, lowest first. levels is NULL (to be found) or known.
encode_column <- function(value, name, levels = NULL, ordinal = FALSE) {
  if (is.logical(value)) value <- as.integer(value)
  if (is_labelled(value)) value <- if (is_cut(levels)) labelled_codes(value) else labelled_levels(value)
  if (!is.factor(value) && !is.numeric(value) && !is.character(value))
    stop(name, " is a ", class(value)[1], "; items are numbers, logicals, factors or text", call. = FALSE)
  if (is.null(levels)) levels <- found_levels(value, name, ordinal)
  code <- if (is.numeric(value) && is_cut(levels)) findInterval(value, level_numbers(levels, name))
          else if (is.numeric(value)) match(value, level_numbers(levels, name)) else match(as.character(value), level_texts(levels))
  wrong <- which(is.na(code) & !is.na(value))
  if (length(wrong))
    stop("row ", wrong[1], ", ", name, ": value ", as.character(value[wrong[1]]), " is not one of its levels ",
         paste(level_texts(levels), collapse = "<"), call. = FALSE)
  list(code = code - 1L, levels = levels)
}

utils_head <- function(x, n) x[seq_len(min(n, length(x)))]

# Whether levels are those of numbers that are cut: the least number of each, -Inf first.
is_cut <- function(levels) length(levels) > 1 && tolower(as.character(levels[1])) == "-inf"

# The cuts of a column of numbers at quantiles.
cut_levels <- function(value, name) {
  if (is_labelled(value)) value <- labelled_codes(value)
  if (!is.numeric(value)) stop(name, " is a ", class(value)[1], ", and numeric names it; give numbers", call. = FALSE)
  tryCatch(c(-Inf, .Call(C_cut_numbers, context(), as.double(value))),
           blica_bad_data = function(e) stop(name, ": ", conditionMessage(e), call. = FALSE))
}

level_texts <- function(levels) {
  if (!is.numeric(levels)) return(as.character(levels))
  if (is_cut(levels)) { # all digits, as a number of the data may be the cut
    text <- sprintf("%.15g", levels)
    return(ifelse(as.numeric(text) == levels, text, sprintf("%.17g", levels)))
  }
  if (all(levels == round(levels) & abs(levels) < 1e15)) return(sprintf("%.0f", levels))
  vapply(levels, format, "", digits = 15, scientific = FALSE)
}

# The same for numbers of which many are equal.
number_texts <- function(numbers) {
  different <- unique(numbers)
  level_texts(different)[match(numbers, different)]
}

# Levels as the user gives them, one list for all columns or a named list: a list with an element for each column, NULL to be found.
given_levels <- function(levels, names, columns) {
  if (is.null(levels)) return(vector("list", columns))
  each <- if (is.list(levels)) levels else list(levels)
  for (own in each) {
    if (!is.character(own) && !is.numeric(own) || length(own) < 2 || anyNA(own))
      stop("levels: an item has a vector of at least two levels, lowest first", call. = FALSE)
    if (anyDuplicated(level_texts(own))) stop("levels: the level ", own[anyDuplicated(level_texts(own))], " occurs twice", call. = FALSE)
  }
  if (!is.list(levels)) return(rep(list(levels), columns))
  if (is.null(names(levels))) stop("levels is a list without names; name the columns, or give a vector for all", call. = FALSE)
  strange <- setdiff(names(levels), names)
  if (length(strange)) stop("levels: there is no column '", strange[1], "' in x", call. = FALSE)
  lapply(names, function(name) levels[[name]])
}

# x as a matrix of levels from 0 (integers, or bytes with ff for NA), with its names (or NULL) and the levels of its columns.
# levels is a list with an element for each column, NULL where they are to be found.
encode <- function(x, levels = NULL, ordinal = FALSE) {
  if (is_sparse(x)) {
    if (ordinal) stop("a sparse matrix holds zeros and ones; leave ordinal out, or give a matrix", call. = FALSE)
    return(structure(list(x = x, names = colnames(x), levels = NULL), class = "blica_code"))
  }
  if (!is.matrix(x) && !is.data.frame(x))
    stop("x is a ", class(x)[1], "; give a matrix, a data frame or a dgCMatrix with a row per sample", call. = FALSE)
  if (nrow(x) < 1) stop("x has no rows", call. = FALSE)
  if (ncol(x) < 2) stop("x has ", ncol(x), " column; at least 2 variables are needed", call. = FALSE)
  if (is.matrix(x) && !(is.numeric(x) || is.logical(x) || is.character(x)))
    stop("x is a matrix of type ", typeof(x), "; give numbers, logicals or text", call. = FALSE)
  if (is.null(levels) && !ordinal && is.matrix(x) && !is.character(x) && .Call(C_is_binary, x))
    return(structure(list(x = x, names = colnames(x), levels = rep(list(c(0, 1)), ncol(x))), class = "blica_code"))
  plain <- !is.data.frame(x) || !any(vapply(x, is_labelled, NA))
  if (is.null(levels) && ordinal && plain && !is.null(all <- .Call(C_whole_frame, x))) { # the usual case
    if (is.matrix(x)) rownames(all$code) <- rownames(x)
    return(structure(list(x = all$code, names = colnames(x), levels = all$levels), class = "blica_code"))
  }
  label <- function(j) paste0("column ", j, if (!is.null(colnames(x))) paste0(" ('", colnames(x)[j], "')"))
  column <- if (is.data.frame(x)) function(j) .subset2(x, j) else function(j) x[, j]
  parts <- lapply(seq_len(ncol(x)), function(j) encode_column(column(j), label(j), levels[[j]], ordinal))
  code <- unlist(lapply(parts, `[[`, "code"))
  dim(code) <- c(nrow(x), ncol(x)) # without a copy
  if (is.matrix(x)) rownames(code) <- rownames(x)
  structure(list(x = code, names = colnames(x), levels = lapply(parts, `[[`, "levels")), class = "blica_code")
}

# x with NA for values that mean missing: compared as numbers in columns of numbers, else as text. Factors lose such levels.
without <- function(x, missing) {
  if (is_sparse(x)) stop("missing is not for a sparse matrix, whose zeros are not stored; give a matrix", call. = FALSE)
  clean <- function(value) {
    if (is.factor(value)) return(factor(value, setdiff(levels(value), as.character(missing)), ordered = is.ordered(value)))
    number <- if (is.numeric(missing)) missing else suppressWarnings(as.numeric(missing))
    if (is_labelled(value)) {
      attr(value, "na_values") <- c(attr(value, "na_values"), number[!is.na(number)])
      return(value)
    }
    value[if (is.character(value)) value %in% as.character(missing) else value %in% number[!is.na(number)]] <- NA
    value
  }
  if (!is.data.frame(x)) return(clean(x))
  x[] <- lapply(x, clean)
  x
}

# The same for what a user calls: levels as a vector or a named list; missing holds values that mean missing.
encode_given <- function(x, levels, ordinal, missing = NULL, numeric = NULL) {
  if (!is.null(missing)) x <- without(x, missing)
  if (is.null(levels) && is.null(numeric)) return(encode(x, NULL, isTRUE(ordinal)))
  each <- given_levels(levels, colnames(x), ncol(x))
  for (column in numeric) {
    j <- if (is.character(column)) match(column, colnames(x)) else column
    if (is.na(j) || j < 1 || j > ncol(x)) stop("numeric: there is no column '", column, "' in x", call. = FALSE)
    if (!is.null(each[[j]])) stop("column '", column, "': levels gives its levels, and numeric names it too; give one of them", call. = FALSE)
    each[[j]] <- cut_levels(if (is.data.frame(x)) x[[j]] else x[, j], paste0("column '", column, "'"))
  }
  encode(x, each, isTRUE(ordinal))
}

# Levels as the library writes them, all items' one after the other. Two that it cannot write are 0 and 1.
packed_levels <- function(levels) {
  item <- rep(seq_along(levels), lengths(levels))
  text <- if (all(vapply(levels, is.numeric, NA)) && all(is.finite(unlist(levels)))) number_texts(unlist(levels)) else unlist(lapply(levels, level_texts))
  odd <- unique(item[text == "" | grepl("[]<[]", text)])
  text[item %in% odd[lengths(levels)[odd] == 2]] <- c("0", "1")
  text
}

# Says which values became 0 and which 1, where they were not those already.
tell_levels <- function(code) {
  names <- if (is.null(code$names)) paste("column", seq_along(code$levels)) else code$names
  pair <- vapply(code$levels, function(l) if (length(l) > 2 || identical(level_texts(l), c("0", "1"))) "" else sprintf("'%s' is 0 and '%s' is 1", l[1], l[2]), "")
  for (one in setdiff(unique(pair), "")) {
    of <- names[pair == one]
    some <- paste0(paste(utils_head(of, 5), collapse = ", "), if (length(of) > 5) sprintf(", ... (%d variables)", length(of)))
    message(structure(class = c("blica_message", "message", "condition"), list(message = paste0(one, ": ", some, "\n"), call = NULL)))
  }
}

is_sparse <- function(x) inherits(x, "dgCMatrix")

# Ids from 0 and labels: a factor in the order of its levels, numbers and dates in theirs, text in order of appearance.
segment_ids <- function(segment, rows) {
  if (is_labelled(segment)) segment <- labelled_levels(segment)
  if (is.null(segment)) return(list(id = integer(rows), labels = "1"))
  if (is.list(segment)) stop("segment is a list; give a vector or factor with a label for each row", call. = FALSE)
  if (length(segment) != rows) stop("segment has ", length(segment), " elements and x has ", rows, " rows; give a label for each row", call. = FALSE)
  if (anyNA(segment)) stop("row ", which(is.na(segment))[1], " has no segment; drop such rows or give them a segment of their own", call. = FALSE)
  texts <- function(x) if (is.numeric(x) && !is.object(x)) number_texts(x) else as.character(x)
  text <- texts(segment)
  labels <- if (is.factor(segment)) levels(droplevels(segment)) else if (is.character(segment)) unique(text) else texts(sort(unique(segment)))
  list(id = match(text, labels) - 1L, labels = labels)
}

pack <- function(context, code, segment, weights = NULL, cluster = NULL, strata = NULL, replicates = NULL, method = NULL) {
  data <- pack_values(context, code, segment)
  if (is.null(replicates) != is.null(method) || (!is.null(replicates) && is.null(weights)))
    stop("replicate_weights, replicate_method and weights, which the replicates vary, belong together", call. = FALSE)
  found <- any(attr(segment, "searched"))
  if (is.null(weights) && is.null(cluster) && is.null(strata) && !found) return(data)
  check_length <- function(v, what) if (!is.null(v) && length(v) != nrow(code$x))
    stop(what, " has ", length(v), " values; there are ", nrow(code$x), " rows, and each needs one", call. = FALSE)
  check_length(weights, "weights")
  check_length(cluster, "cluster")
  check_length(strata, "strata")
  for (what in c("cluster", "strata"))
    if (anyNA(get(what))) stop(what, " has missing values; give rows that belong to none a label of their own", call. = FALSE)
  number <- function(label) if (!is.null(label)) match(label, unique(label)) - 1L
  if (!is.null(replicates)) {
    replicates <- as.matrix(replicates)
    if (nrow(replicates) != nrow(code$x))
      stop("replicate_weights has ", nrow(replicates), " rows; there are ", nrow(code$x), " rows, and each needs one value of each replicate", call. = FALSE)
    storage.mode(replicates) <- "double"
    if (!is.character(method)) method <- paste(sprintf("%.17g", method), collapse = ",")
  }
  .Call(C_set_rows, context, data, if (!is.null(weights)) as.double(weights), number(cluster), number(strata), replicates, method, found)
}

pack_values <- function(context, code, segment) {
  x <- code$x
  s <- segment_ids(segment, nrow(x))
  if (is_sparse(x)) return(.Call(C_pack_sparse, context, x@Dim, x@i, x@p, x@x, s$id, s$labels, code$names))
  count <- lengths(code$levels)
  text <- packed_levels(code$levels)
  plain <- all(count == 2) && identical(text, rep(c("0", "1"), length(count)))
  .Call(C_pack, context, x, s$id, s$labels, code$names, if (!plain) count, if (!plain) enc2utf8(text))
}
