# Plots of a model. Intervals are those of an assessment that is given or that the model keeps.

plot.blica <- function(x, which = c("loadings", "mixing", "variances", "means", "starts"), assessment = NULL, ...) {
  which <- match.arg(which)
  if (missing(assessment)) assessment <- kept_assessment(x)
  if (!is.null(assessment) && !inherits(assessment, "blica_assessment"))
    stop("assessment is a ", class(assessment)[1], "; give what blica_assess() returns", call. = FALSE)
  switch(which, loadings = plot_loadings(x, assessment, ...), mixing = plot_mixing(x, ...),
         variances = plot_segments(x, "variances", assessment, ...), means = plot_segments(x, "means", assessment, ...),
         starts = plot_starts(x, ...))
  invisible(x)
}

plot.blica_assessment <- function(x, which = c("loadings", "variances", "means"), ...) {
  plot(attr(x, "model"), match.arg(which), assessment = x, ...)
  invisible(x)
}

# A method of ggplot2, registered when that is loaded.
autoplot.blica <- function(object, assessment = NULL, ...) {
  if (missing(assessment)) assessment <- kept_assessment(object)
  .data <- NULL # the pronoun of ggplot2
  d <- as.data.frame(if (is.null(assessment)) object else assessment)
  d$variable <- factor(d$variable, rev(object$variables[block_order(object)]))
  drawn <- ggplot2::ggplot(d, ggplot2::aes(x = .data[["loading"]], y = .data[["variable"]])) +
    ggplot2::geom_vline(xintercept = 0, colour = "grey60") + ggplot2::facet_wrap("source", nrow = 1) + ggplot2::labs(y = NULL)
  if (is.null(assessment)) return(drawn + ggplot2::geom_point())
  drawn + ggplot2::geom_pointrange(ggplot2::aes(xmin = .data[["conf.low"]], xmax = .data[["conf.high"]]), size = 0.3)
}

source_colours <- function(k) rep_len(c("#1b6ca8", "#d1495b", "#2e8b57", "#8e5ea2", "#c77700", "#4d4d4d", "#00868b", "#b5651d"), k)
source_shapes <- function(k) rep_len(c(16, 15, 18, 17, 1, 0, 5, 2), k)

# Items by the source that they load on most, the strongest first.
block_order <- function(x) {
  strength <- abs(x$standardised)
  order(max.col(strength, ties.method = "first"), -apply(strength, 1, max))
}

# A column for each source in one panel, which par(mfrow) and layout() may place; items in blocks; grey where the interval
# contains 0.
plot_loadings <- function(x, assessment = NULL, main = "", ...) {
  k <- ncol(x$mixing)
  n <- nrow(x$mixing)
  at <- n - seq_len(n) + 1
  order <- block_order(x)
  own <- max.col(abs(x$standardised), ties.method = "first")[order]
  between <- at[which(diff(own) != 0)] - 0.5
  old <- par(mar = c(4, 2 + 0.5 * max(nchar(x$variables)), 3.5, 0.5))
  on.exit(par(old))
  plot(c(0, k - 0.1), c(0.5, n + 0.5), type = "n", axes = FALSE, yaxs = "i", ylab = "", main = main,
       xlab = if (is.null(assessment)) "loading" else sprintf("loading, %g %% interval", 100 * assessment$level), ...)
  axis(2, at, x$variables[order], las = 1, tick = FALSE, cex.axis = if (n > 30) 0.6 else 0.9)
  for (j in seq_len(k)) {
    value <- x$mixing[order, j]
    low <- if (is.null(assessment)) value else assessment$mixing_low[order, j]
    high <- if (is.null(assessment)) value else assessment$mixing_high[order, j]
    bound <- range(low, high, 0)
    place <- function(v) j - 1 + 0.9 * (0.05 + 0.9 * (v - bound[1]) / diff(bound))
    colour <- if (is.null(assessment)) source_colours(k)[j] else ifelse(low > 0 | high < 0, source_colours(k)[j], "grey60")
    graphics::segments(place(0), 0.5, place(0), n + 0.5, col = "grey50")
    if (length(between)) graphics::segments(j - 1, between, j - 0.1, between, col = "grey70", lty = 3)
    graphics::segments(place(low), at, place(high), at, col = colour, lwd = 1.5)
    graphics::points(place(value), at, pch = 16, col = colour, cex = ifelse(own == j, 1.2, 0.8))
    graphics::rect(j - 1, 0.5, j - 0.1, n + 0.5, border = "grey40")
    ticks <- pretty(bound, 5)
    ticks <- ticks[ticks >= bound[1] & ticks <= bound[2]]
    axis(1, place(ticks), ticks, cex.axis = 0.8, mgp = c(3, 0.5, 0), lwd = 0, lwd.ticks = 1)
    graphics::mtext(colnames(x$mixing)[j], 3, 0.3, at = j - 0.55)
  }
}

# Whether segments are in order, so that lines may join them: numbers, dates and ordered factors, or labels like those.
segments_ordered <- function(x) {
  given <- x$data$segment
  if (is.ordered(given) || (is.numeric(given) || inherits(given, c("Date", "POSIXt")))) return(TRUE)
  number <- suppressWarnings(as.numeric(x$segments))
  if (anyNA(number)) number <- tryCatch(as.numeric(as.Date(x$segments, "%Y-%m-%d")), error = function(e) NA)
  !anyNA(number) && all(diff(number) > 0)
}

# Variances or means of the sources: lines over segments in order, else dots beside their names, sorted by the first source.
plot_segments <- function(x, what, assessment = NULL, ordered = segments_ordered(x), main = paste(what, "of the sources"), ...) {
  value <- t(x[[what]])
  k <- ncol(value)
  u <- nrow(value)
  low <- high <- value
  if (!is.null(assessment)) {
    half <- stats::qnorm(0.5 + assessment$level / 2) * t(assessment$mean_se)
    low <- if (what == "means") value - half else t(assessment$variance_low)
    high <- if (what == "means") value + half else t(assessment$variance_high)
  }
  rows <- if (ordered) seq_len(u) else order(value[, 1], decreasing = TRUE)
  labels <- x$segments[rows]
  place <- function(j) if (ordered) seq_len(u) else u - seq_len(u) + 1 + (if (k > 1) 0.6 * (0.5 - (j - 1) / (k - 1)) else 0)
  colours <- source_colours(k)
  log <- what == "variances"
  bound <- range(low, high, finite = TRUE)
  name <- paste0(sub("s$", "", what), " of the source", if (log) " (log scale)")
  wide <- 1.5 + 0.5 * max(nchar(labels))
  turned <- ordered && (max(nchar(labels)) > 2 || u > 20)
  old <- par(mar = if (ordered) c(if (turned) 2 + wide else 4, 5, 3, 6) else c(4.5, wide, 3, 6))
  on.exit(par(old))
  if (ordered) {
    plot(c(1, u), bound, type = "n", log = if (log) "y" else "", xaxt = "n", xlab = "", ylab = name, main = main, las = 1, ...)
    shown <- unique(round(seq(1, u, length.out = min(u, 40))))
    axis(1, shown, labels[shown], las = if (turned) 2 else 1, cex.axis = if (u > 15) 0.8 else 1)
    title(xlab = "segment", line = par("mar")[1] - 1.2)
  } else {
    plot(bound, c(0.5, u + 0.5), type = "n", log = if (log) "x" else "", yaxt = "n", xlab = name, ylab = "", main = main, yaxs = "i", ...)
    band <- seq(1, u, by = 2)
    edge <- if (log) 10^par("usr")[1:2] else par("usr")[1:2]
    graphics::rect(edge[1], band - 0.5, edge[2], band + 0.5, col = "grey95", border = NA)
    axis(2, u - seq_len(u) + 1, labels, las = 1, tick = FALSE, cex.axis = if (u > 30) 0.6 else 0.9)
    box()
  }
  for (j in seq_len(k)) {
    at <- place(j)
    ends <- list(low[rows, j], high[rows, j])
    if (!is.null(assessment)) {
      if (ordered) graphics::segments(at, ends[[1]], at, ends[[2]], col = colours[j]) else graphics::segments(ends[[1]], at, ends[[2]], at, col = colours[j])
    }
    if (ordered) graphics::lines(at, value[rows, j], type = "b", pch = source_shapes(k)[j], col = colours[j])
    else graphics::points(value[rows, j], at, pch = source_shapes(k)[j], col = colours[j])
  }
  usr <- par("usr")
  legend(if (!ordered && log) 10^usr[2] else usr[2], if (ordered && log) 10^usr[4] else usr[4], colnames(value), col = colours,
         pch = source_shapes(k), lty = if (ordered) 1 else 0, bty = "n", xpd = TRUE, xjust = -0.1)
}

# A heat map with the key of its colours beside it.
plot_mixing <- function(x, main = "mixing matrix A", ...) {
  a <- x$mixing
  bound <- max(abs(a))
  colours <- hcl.colors(101, "Blue-Red 3")
  old <- par(no.readonly = TRUE)
  on.exit(par(old))
  layout(matrix(1:2, 1), widths = c(4, 1))
  par(mar = c(3, 1 + max(2, 0.5 * max(nchar(x$variables))), 3, 1))
  image(seq_len(ncol(a)), seq_len(nrow(a)), t(a[rev(seq_len(nrow(a))), , drop = FALSE]), zlim = c(-bound, bound), col = colours,
        axes = FALSE, xlab = "", ylab = "", main = main, ...)
  axis(1, seq_len(ncol(a)), colnames(a), tick = FALSE)
  axis(2, seq_len(nrow(a)), rev(x$variables), las = 1, tick = FALSE, cex.axis = if (nrow(a) > 30) 0.5 else 0.8)
  box()
  par(mar = c(3, 1, 3, 3))
  key <- seq(-bound, bound, length.out = 101)
  image(1, key, matrix(key, 1), col = colours, axes = FALSE, xlab = "", ylab = "")
  axis(4, las = 1)
  box()
}

# How far below the best each start ended; equal starts are drawn as equal, not spread over their rounding, and duplicates,
# which were ended early, where the first start ended.
plot_starts <- function(x, xlab = "start", ylab = "objective below the best", main = "where the starts ended", ...) {
  reached <- x$fit$starts$objective
  early <- x$fit$starts$stop == "duplicate"
  reached[early] <- pmax(reached[early], reached[1])
  below <- max(reached, na.rm = TRUE) - reached
  top <- max(below, 1e-6 * abs(max(reached, na.rm = TRUE)), 1e-6, na.rm = TRUE)
  plot(below, ylim = c(0, top), xaxt = "n", xlab = xlab, ylab = ylab, pch = 16, ...,
       main = sprintf("%s (best: %.10g)", main, max(reached, na.rm = TRUE)))
  axis(1, seq_along(reached))
}
