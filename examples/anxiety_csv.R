# Writes anxiety.csv: 20 items on state anxiety, rated 1 to 4, from R package psychTools; segments are study and time.
data(sai, package = "psychTools")
items <- setdiff(names(sai), c("study", "time", "TOD", "drug", "film", "id"))[1:20]
segment <- paste(sai$study, sai$time, sep = ":")
keep <- segment %in% names(which(table(segment) >= 150)) & rowMeans(!is.na(sai[items])) > 0.5
write.csv(cbind(sai[items], segment)[keep, ], "anxiety.csv", row.names = FALSE, na = "")
