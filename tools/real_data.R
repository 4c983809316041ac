# Real binary tables for `make torture`: <folder>/<name>.<sources>.csv without names, the segment last, missing values empty.
#   Rscript tools/real_data.R folder
folder <- commandArgs(TRUE)[1]
save <- function(name, sources, x, segment) {
  keep <- !is.na(segment)
  table <- cbind(1 * x[keep, ], as.integer(factor(segment[keep])))
  write.table(table, file.path(folder, sprintf("%s.%d.csv", name, sources)), sep = ",", na = "", row.names = FALSE, col.names = FALSE)
}
there <- function(package) {
  found <- requireNamespace(package, quietly = TRUE)
  if (!found) cat(sprintf("SKIPPED: R package %s is not installed, its data are left out\n", package))
  found
}
if (there("psychTools")) {
  data(bfi, msqR, package = "psychTools")
  age <- cut(bfi$age, c(0, 21, 30, 100))
  save("bfi by sex and age", 5, bfi[1:25] > 3, paste(bfi$gender, age))
  save("msqR by time", 3, msqR[1:12] > 1, msqR$TOD)
}
if (there("pscl")) {
  data(s109, package = "pscl")
  vote <- s109$votes
  x <- matrix(NA_integer_, nrow(vote), ncol(vote))
  x[vote %in% s109$codes$yea] <- 1L
  x[vote %in% s109$codes$nay] <- 0L
  few <- order(rowSums(is.na(x)))[1:16]
  date <- s109$vote.data$date
  save("senate by quarter", 2, t(x[few, ]), paste(format(date, "%Y"), quarters(date)))
  save("senate, all members", 2, t(x), format(date, "%Y"))
}
if (there("MCMCpack")) {
  data(Rehnquist, package = "MCMCpack")
  save("court by term", 2, Rehnquist[1:9], Rehnquist$term)
  save("court by term, k = n", 9, Rehnquist[1:9], Rehnquist$term)
}
