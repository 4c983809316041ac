# The page of the program about a model, with what is kept of its assessment.

# Rows go through a file, with the levels as the model writes them.
blica_report <- function(model, file = "report.html", x = NULL, segment = NULL, weights = NULL, cluster = NULL,
                         strata = NULL) {
  program <- Sys.which("blica")
  if (program == "")
    stop("the program blica writes reports and is not on the path; install it (Debian: blica), or save the model by blica_save() ",
         "and run blica report elsewhere", call. = FALSE)
  folder <- tempfile("blica")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  saved <- file.path(folder, "model.json")
  blica_save(model, saved)
  code <- if (is.null(x)) model$data$code else encode_for(model, x)
  if (is.null(x)) segment <- model$data$segment
  if (is.null(x) && is.null(weights)) weights <- model$data$weights
  rows <- if (!is.null(code)) write_rows(file.path(folder, "data.csv"), model, code, segment, weights)
  found <- if (is.null(code)) kept_assessment(model) else assessed_on(model, code, segment, weights = weights, cluster = cluster, strata = strata)
  if (!is.null(found)) rows <- c(rows, "--assessment", write_assessment(file.path(folder, "assessment.json"), found))
  said <- suppressWarnings(system2(program, shQuote(c("report", saved, rows, "--out", path.expand(file), "--quiet")), stdout = TRUE, stderr = TRUE))
  if (!is.null(attr(said, "status"))) stop(paste(said, collapse = "\n"), call. = FALSE)
  invisible(file)
}

# What the model keeps, if these are its rows, with any options; else by the usual ones. NULL where the program says why not.
assessed_on <- function(model, code, segment, ...) {
  kept <- kept_assessment(model)
  if (!is.null(kept) && identical(model$kept$of[[2]], .Call(C_data_digest, pack(context(), code, segment, ...)))) return(kept)
  tryCatch(blica_assess(model, code, segment, ...), blica_error = function(e) NULL)
}

# The file and the options that name its columns.
write_rows <- function(path, model, code, segment, weights) {
  x <- as.matrix(code$x)
  if (is.raw(x)) x <- array(ifelse(x == as.raw(255), NA, as.integer(x)), dim(x))
  labels <- lapply(model$levels, level_texts)
  frame <- lapply(seq_len(ncol(x)), function(i) labels[[i]][x[, i] + 1L])
  ids <- segment_ids(segment, nrow(x))
  further <- list("segment-column" = ids$labels[ids$id + 1L], weights = weights)
  further <- further[lengths(further) > 0]
  names <- ifelse(names(further) == "segment-column", "segment", names(further))
  while (any(names %in% model$variables)) names <- paste0(names, "_")
  utils::write.csv(as.data.frame(c(stats::setNames(frame, model$variables), stats::setNames(further, names)), optional = TRUE), path,
                   row.names = FALSE, na = "")
  flags <- paste0("--", names(further), "=", names)
  c(path, flags[names != "segment"])
}

# What `blica assess --out` writes, as far as the report reads it.
write_assessment <- function(path, a) {
  model <- attr(a, "model")
  number <- function(x) {
    text <- chartr(",", ".", sprintf("%.17g", x)) # whatever the decimal point of the locale
    ifelse(is.na(x), "null", ifelse(is.finite(x), text, ifelse(x > 0, '"Infinity"', '"-Infinity"')))
  }
  text <- function(x) {
    x <- gsub("([\"\\\\])", "\\\\\\1", enc2utf8(x))
    for (code in which(vapply(1:31, function(i) any(grepl(intToUtf8(i), x, fixed = TRUE)), NA)))
      x <- gsub(intToUtf8(code), sprintf("\\u%04x", code), x, fixed = TRUE)
    paste0('"', x, '"')
  }
  list_of <- function(parts) paste0("[", paste(parts, collapse = ", "), "]")
  object <- function(...) {
    parts <- c(...)
    paste0("{", paste0('"', names(parts), '": ', parts, collapse = ", "), "}")
  }
  numbers <- function(x) list_of(number(x))
  rows <- function(m) list_of(apply(m, 1, numbers)) # a list for each row
  columns <- function(m) rows(t(m))
  each <- function(...) list_of(mapply(object, ..., USE.NAMES = FALSE))
  fields <- function(x, names) vapply(x[names], number, "")
  stability <- if (is.null(a$stability)) NA_real_ * a$angle else a$stability
  m <- a$margins
  margins <- if (is.null(m)) object(p = "null", size = "null", item = "null", segment = "null", shift = "null") else
    object(p = number(m$p), size = number(m$size), item = text(m$item), segment = text(m$segment), shift = number(m$shift))
  said <- object(
    level = number(a$level), expected_mcs = number(a$expected_mcs), chance_mcs = number(a$chance_mcs), draws = number(a$draws), segments_found = tolower(a$segments_found),
    distance = number(a$optimum[["distance"]]), refit_mcs = number(a$optimum[["refit_mcs"]]),
    refit_gain = number(a$optimum[["refit_gain"]]),
    fields(a$fit, c("srmr", "srmr_unbiased", "m2", "df", "m2_p", "rmsea2", "tails_p")),
    srmr_interval = numbers(a$fit[c("srmr_low", "srmr_high")]), rmsea2_interval = numbers(a$fit[c("rmsea2_low", "rmsea2_high")]),
    change = object(p = number(a$change_p), beyond_means_p = number(a$change_beyond_p), fields(a$rows, c("lag", "lag_z", "decay", "inflation", "draws_per_segment"))),
    rows = object(fields(a$rows, c("number", "clusters", "strata", "block_length", "replicates"))), margins = margins,
    verdict = object(vapply(a$answers, text, "")), sentences = list_of(text(a$verdict)),
    columns = each(angle_degrees = number(a$angle), angle_bound_degrees = number(a$angle_bound), change_p = number(a$source_change_p),
                   stability = number(stability)),
    mixing = object(estimate = rows(model$mixing), se = rows(a$mixing_se), low = rows(a$mixing_low), high = rows(a$mixing_high)),
    variances = object(log_se = columns(a$log_variance_se), low = columns(a$variance_low), high = columns(a$variance_high)),
    means_se = columns(a$mean_se), thresholds_se = columns(a$threshold_se), cuts_se = numbers(a$cut_se),
    items = each(srmr = number(a$item_srmr)), segments = each(srmr = number(a$segment_srmr), m2 = number(a$segment_m2)))
  writeLines(said, path, useBytes = TRUE)
  path
}
