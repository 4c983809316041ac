# State anxiety: is calm the opposite of tense? Data: psychTools::sai, 20 items rated 1 to 4, as ordered factors. Segments are study
# and time of measurement; half of the items are worded towards calm, half towards anxiety.
suppressMessages(library(blica))
data(sai, package = "psychTools")
items <- setdiff(names(sai), c("study", "time", "id"))
group <- paste(sai$study, sai$time, sep = ":")
size <- table(group)
kept <- sai[group %in% names(size)[size >= 150] & rowMeans(is.na(sai[items])) < 0.5, ]
group <- paste(kept$study, kept$time, sep = ":")
x <- as.data.frame(lapply(kept[items], ordered))
cat(sprintf("%d rows; %d in %d segments of at least 150; %d answers missing, left out pair by pair.\n", nrow(sai), nrow(kept),
            length(unique(group)), sum(is.na(x))))
model <- suppressWarnings(blica(x, group, k = 2))
odd <- seq_len(nrow(x)) %% 2 == 1
halves <- suppressWarnings(blica_compare(blica(x[odd, ], group[odd], k = 2), blica(x[!odd, ], group[!odd], k = 2)))
print(round(model$mixing[order(model$mixing[, 1]), ], 2))
r <- blica_polychoric(x)
cat(sprintf("Polychoric correlation of calm and tense %.2f (standard error %.2f), of secure and regretful %.2f (%.2f).\n",
            r$rho["calm", "tense"], r$se["calm", "tense"], r$rho["secure", "regretful"], r$se["secure", "regretful"]))
ratio <- apply(model$variances, 1, max) / apply(model$variances, 1, min)
cat(sprintf("From segment to segment the variances of the sources differ by factors of %.1f and %.1f.\n", ratio[1], ratio[2]))
cat(sprintf("Cosines of the columns between fits to halves of the rows: %.2f and %.2f.\n", abs(halves$cosine[1]), abs(halves$cosine[2])))
writeLines(suppressWarnings(blica_assess(model, bootstrap = 50))$verdict)
figures <- commandArgs(TRUE)
if (length(figures)) {
  png(file.path(figures[1], "anxiety.png"), 700, 700, res = 100)
  plot(model)
  invisible(dev.off())
}
