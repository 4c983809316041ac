# Contexts of the library, and its errors and warnings as conditions of R.

.onLoad <- function(libname, pkgname) .Call(C_namespace, parent.env(environment()))

context <- function(threads = 0L, verbose = FALSE) {
  if (!is.numeric(threads) || length(threads) != 1 || is.na(threads) || threads < 0 || threads != round(threads))
    stop("threads is ", paste(format(threads), collapse = " "), "; give a whole number, 0 for all cores", call. = FALSE)
  .Call(C_context, as.integer(threads), if (isTRUE(as.logical(verbose))) tell else NULL)
}

# Called from C: an error of class blica_error and of one that names its kind, as in blica_bad_data.
raise <- function(kind, message) {
  stop(structure(class = c(paste0("blica_", gsub("[ /]", "_", kind)), "blica_error", "error", "condition"),
                 list(message = message, call = NULL)))
}

caution <- function(message, unused) {
  warning(structure(class = c("blica_warning", "warning", "condition"), list(message = message, call = NULL)))
}

tell <- function(stage, fraction, objective, start, iteration) {
  message(if (stage == "fit") sprintf("blica fit: start %d, iteration %.0f, best objective %.10g", start, iteration, objective)
          else if (fraction >= 0) sprintf("blica %s: %.0f %%", stage, 100 * fraction)
          else sprintf("blica %s", stage))
}

# Options as the library takes them: a named character vector. Names and values are checked there, by its tables.
spell_options <- function(options) {
  options <- options[!vapply(options, is.null, NA)]
  if (length(options) && (is.null(names(options)) || any(names(options) == "")))
    stop("an argument without a name was given; options are named, as in starts = 5", call. = FALSE)
  spell <- function(name) {
    value <- options[[name]]
    if (name == "free" && is.character(value) && length(value)) value <- paste(value, collapse = ",")
    if (length(value) != 1 || is.na(value) || !(is.numeric(value) || is.character(value) || is.logical(value)))
      stop("option ", name, ": give one number or text", call. = FALSE)
    if (is.logical(value)) return(if (value) "yes" else "no")
    if (is.character(value)) return(value)
    if (is.finite(value) && value == round(value)) return(sprintf("%.0f", value))
    chartr(",", ".", sprintf("%.17g", value)) # whatever the decimal point of the locale
  }
  result <- vapply(names(options), spell, "")
  names(result) <- names(options)
  result
}

blica_options <- function(verb = c("fit", "simulate", "loglik", "sources", "segment", "assess", "invariance", "select")) {
  as.data.frame(.Call(C_options, match.arg(verb)), stringsAsFactors = FALSE)
}

blica_methods <- function() .Call(C_methods)

# The options of a verb as items of a help page.
options_rd <- function(verb) {
  escape <- function(x) gsub("([%\\\\{}])", "\\\\\\1", x)
  o <- blica_options(verb)
  default <- ifelse(is.na(o$default), "", paste0(" Default ", o$default, "."))
  words <- ifelse(is.na(o$words), "", paste0(" One of ", gsub("=[^|]*", "", o$words), "."))
  needs <- ifelse(is.na(o$needs), "", paste0(" Needs ", gsub("\\|", " or ", sub("=", " ", o$needs)), "."))
  paste0("\\describe{", paste0("\\item{\\code{", o$name, "}}{", escape(o$help), escape(gsub("\\|", ", ", words)), escape(needs), escape(default), "}",
                                collapse = "\n"), "}")
}
