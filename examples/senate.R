# The 109th US Senate (2005-2006), by quarter. Data: pscl::s109, 645 roll calls of 102 senators. Rows are roll calls, variables are
# 16 senators who missed fewest votes, eight of each party; segments are the quarters.
suppressMessages(library(blica))
data(s109, package = "pscl")
vote <- s109$votes
x <- matrix(NA_integer_, nrow(vote), ncol(vote), dimnames = dimnames(vote))
x[vote %in% s109$codes$yea] <- 1L
x[vote %in% s109$codes$nay] <- 0L
share <- colMeans(x, na.rm = TRUE)
close <- pmin(share, 1 - share) >= 0.1
date <- s109$vote.data$date
quarter <- paste0(format(date, "%Y"), quarters(date))
party <- s109$legis.data$party
pick <- unlist(lapply(c("D", "R"), function(p) { of <- which(party == p); of[order(rowSums(is.na(x[of, close])))][1:8] }))
data <- t(x[pick, close])
colnames(data) <- sub(" .*", "", paste0(party[pick], ".", rownames(x)[pick]))
segment <- quarter[close]
cat(sprintf("%d roll calls, %d of them with a minority of at least 10 %%; %d quarters of %d to %d; %d of %d votes missing.\n", nrow(s109$vote.data), sum(close),
            length(unique(segment)), min(table(segment)), max(table(segment)), sum(is.na(data)), length(data)))
fit <- suppressWarnings(blica(data, segment, 2, method = "blica"))
other <- suppressWarnings(blica(data, segment, 2, method = "matched"))
all <- choose(16, 2) * length(fit$segments)
cat(sprintf("%d of %d tables have an empty cell (%.0f %%), because senators of a party vote alike: their correlations are bounded, not measured.\n",
            fit$fit$zero_cells, all, 100 * fit$fit$zero_cells / all))
both <- cbind(fit$mixing, other$mixing)
colnames(both) <- paste0(rep(c("blica.", "matched."), each = 2), colnames(both))
print(round(both, 2))
d <- startsWith(colnames(data), "D")
gap <- sapply(1:2, function(j) abs(mean(fit$mixing[d, j]) - mean(fit$mixing[!d, j])) / stats::sd(fit$mixing[, j]))
line <- which.max(gap)
cat(sprintf("Source %d is the party line: entries of democrats and republicans lie %.1f standard deviations apart (source %d: %.1f).\n", line, gap[line],
            3 - line, gap[3 - line]))
v <- fit$variances[line, ]
cat(sprintf("It is widest in %s (variance %.2f) and narrowest in %s (%.2f).\n", names(which.max(v)), max(v), names(which.min(v)), min(v)))
few <- names(which.min(table(segment)))
cat(sprintf("But %s has only %d roll calls: its variance of %.2f says little.\n", few, min(table(segment)), v[few]))
agree <- blica_compare(fit, other)
cat(sprintf("How far to trust it: the methods' columns have cosines %.2f and %.2f; the shifts of the regularisation\nare large (%.2f to %.2f), so the sizes of the entries mean little. The division of the parties is plain in both.\n",
            abs(agree$cosine[1]), abs(agree$cosine[2]), min(fit$fit$shift), max(fit$fit$shift)))
out <- commandArgs(TRUE)
if (length(out)) { grDevices::png(file.path(out[1], "senate.png"), 900, 450); par(mfrow = c(1, 2)); plot(fit); plot(fit, "variances"); invisible(grDevices::dev.off()) }
