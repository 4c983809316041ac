#!/bin/bash
# Log-likelihood of the default fit with 1 to 8 sources on real data, as a Markdown table: it should not fall by more
# than its numerical error. Needs the R packages MCMCpack, psychTools and pscl.
#   bash bench/bench_sweep.sh [build folder]
build=${1:-build/release}
cd "$(dirname "$0")/.." || exit 1
blica=$build/blica
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export OPENBLAS_NUM_THREADS=1
Rscript --vanilla - "$work" <<'R' || exit 1
out <- commandArgs(TRUE)[1]
data(Rehnquist, package = "MCMCpack")
write.csv(cbind(Rehnquist[1:9], segment = Rehnquist$term), file.path(out, "court.csv"), row.names = FALSE)
data(msqR, package = "psychTools")
items <- c("energetic", "lively", "alert", "tired", "sleepy", "sluggish", "calm", "relaxed", "at.ease", "tense",
           "nervous", "jittery", "sad", "blue", "unhappy", "gloomy")
segment <- paste(msqR$study, msqR$time, sep = ":")
kept <- segment %in% names(which(table(segment) >= 150)) & rowMeans(!is.na(msqR[items])) > 0.5
write.csv(cbind((msqR[kept, items] > 0) + 0, segment = segment[kept]), file.path(out, "moods.csv"), row.names = FALSE)
data(s109, package = "pscl")
vote <- s109$votes
x <- matrix(NA_integer_, nrow(vote), ncol(vote), dimnames = dimnames(vote))
x[vote %in% s109$codes$yea] <- 1L
x[vote %in% s109$codes$nay] <- 0L
share <- colMeans(x, na.rm = TRUE)
close <- pmin(share, 1 - share) >= 0.1
present <- rowMeans(is.na(x[, close])) < 0.5
date <- s109$vote.data$date[close]
senate <- cbind(as.data.frame(t(x[present, close])), segment = paste0(format(date, "%Y"), quarters(date)))
write.csv(senate, file.path(out, "senate.csv"), row.names = FALSE, na = "")
R
printf '| data |'; for k in 1 2 3 4 5 6 7 8; do printf ' k = %s |' $k; done; echo
printf '|---|'; for k in 1 2 3 4 5 6 7 8; do printf -- '---|'; done; echo
for name in court moods senate; do
  engine=ep
  [ $name = court ] && engine=auto
  printf '| %s |' $name
  for k in 1 2 3 4 5 6 7 8; do
    "$blica" fit "$work/$name.csv" --sources $k --threads 1 --quiet --out "$work/m.json" 2>"$work/error"
    "$blica" loglik "$work/m.json" "$work/$name.csv" --engine $engine --threads 1 --json 2>>"$work/error" >"$work/l.json" ||
      { head -3 "$work/error" >&2; exit 1; }
    jq -j '" \(.loglik * 10 | round / 10) (\(.error * 10 | round / 10)) |"' "$work/l.json"
  done
  echo
done
