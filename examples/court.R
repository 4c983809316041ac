# The Rehnquist court: who votes together, and along how many lines? Data: MCMCpack::Rehnquist, 485 cases of the terms 1994-2004,
# nine justices, 1 for a liberal vote. Segments are the terms: the mix of cases differs from year to year, the justices stay.
suppressMessages(library(blica))
data(Rehnquist, package = "MCMCpack")
votes <- Rehnquist[1:9]
term <- Rehnquist$term
cat(sprintf("%d cases in %d terms (%d to %d in a term); %d votes are missing and are left out pair by pair.\n", nrow(votes),
            length(unique(term)), min(table(term)), max(table(term)), sum(is.na(votes))))

fits <- lapply(1:3, function(k) suppressWarnings(blica(votes, term, k, method = "blica")))
bic <- sapply(fits, BIC)
cat(sprintf("BIC with 1, 2, 3 sources: %.0f, %.0f, %.0f: %d sources it is.\n", bic[1], bic[2], bic[3], which.min(bic)))
fit <- fits[[2]]
other <- suppressWarnings(blica(votes, term, 2, method = "pairwise"))
cat(sprintf("%d of the %d pair tables have an empty cell and were filled.\n", fit$fit$zero_cells, choose(9, 2) * 11))
both <- cbind(fit$mixing, other$mixing)
colnames(both) <- paste0(rep(c("blica.", "pairwise."), each = 2), colnames(both))
print(round(both, 2))

one <- fit$mixing[, 1]
cat(sprintf("Source 1 divides the court: %s on one side, %s on the other.\n", paste(names(sort(one)[1:4]), collapse = ", "),
            paste(names(sort(-one)[1:3]), collapse = ", ")))
cat(sprintf("Source 2 moves all but Stevens the same way (entries %.2f to %.2f, Stevens %.2f): cases on which the court moves as one.\n",
            min(fit$mixing[-2, 2]), max(fit$mixing[, 2]), fit$mixing["Stevens", 2]))
best <- blica_compare(fit, other)
cat(sprintf("How far to trust it: the two methods agree (cosines %.3f and %.3f); the terms can determine 2 sources (rank %d of %d);\n", abs(best$cosine[1]),
            abs(best$cosine[2]), blica_identify(fit)$rank, blica_identify(fit)$parameters))
cat(sprintf("the weakest direction has %.3f of the information of the strongest, and a term has some 44 cases. Halves of the cases\n",
            blica_identify(fit)$smallest))
odd <- seq_len(nrow(votes)) %% 2 == 1
halves <- suppressWarnings(blica_compare(blica(votes[odd, ], term[odd], 2, method = "blica"),
                                         blica(votes[!odd, ], term[!odd], 2, method = "blica")))
cat(sprintf("(odd and even) give columns with cosines %.2f and %.2f.\n", abs(halves$cosine[1]), abs(halves$cosine[2])))
out <- commandArgs(TRUE)
if (length(out)) { grDevices::png(file.path(out[1], "court.png"), 900, 450); par(mfrow = c(1, 2)); plot(fit); plot(fit, "variances"); invisible(grDevices::dev.off()) }
