# The US House in 1984: 16 key votes. Data: mlbench::HouseVotes84, 435 members, y/n with many missing. The only natural
# segments are the two parties, which is the least number that can tell anything: an example of how little can be claimed.
suppressMessages(library(blica))
data(HouseVotes84, package = "mlbench")
votes <- HouseVotes84[-1]
party <- HouseVotes84$Class
cat(sprintf("%d members, %d democrats and %d republicans; %d of %d votes missing (%.0f %%), left out pair by pair.\n", nrow(votes), sum(party == "democrat"),
            sum(party == "republican"), sum(is.na(votes)), prod(dim(votes)), 100 * mean(is.na(votes))))
count <- function(k) blica_identify(variables = 16, sources = k, segments = 2)$surplus
cat(sprintf("Statistics less unknowns with 2 segments: %d for 1 source, %d for 2.\n", count(1), count(2)))
fit <- suppressWarnings(blica(votes, party, 1, method = "blica"))
other <- suppressWarnings(blica(votes, party, 1, method = "matched"))
cat(sprintf("One source: %d of the %d tables have an empty cell. The two methods' columns have a cosine of %.3f.\n", fit$fit$zero_cells, 2 * choose(16, 2),
            abs(blica_compare(fit, other)$cosine)))
strongest <- names(sort(-abs(fit$mixing[, 1])))[1:4]
cat(sprintf("Votes that the source decides most: %s (V5 is aid to El Salvador, V8 aid to the Contras).\n", paste(strongest, collapse = ", ")))
m <- fit$means[1, ]
cat(sprintf("Means of the source: %s %.2f, %s %.2f, with variances %.2f and %.2f: the parties differ in where they stand\n", fit$segments[1], m[1],
            fit$segments[2], m[2], fit$variances[1, 1], fit$variances[1, 2]))
two <- suppressWarnings(blica(votes, party, 2, method = "blica"))
cat(sprintf("far more than in how much they scatter.\nHow far to trust it: one source is a summary that both methods give. Two sources are not to be had from two parties:\n"))
size <- sort(apply(abs(two$mixing), 1, max), decreasing = TRUE)
cat(sprintf("the fit ends '%s', the row of %s in A being more than %.0f times as large as any other.\n", two$fit$stop, names(size)[1],
            10^floor(log10(size[[1]] / size[[2]]))))
out <- commandArgs(TRUE)
if (length(out)) { grDevices::png(file.path(out[1], "house.png"), 450, 450); plot(fit); invisible(grDevices::dev.off()) }
