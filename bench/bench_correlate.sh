#!/bin/bash
# Time of one tetrachoric correlation, ours beside R's, in the same run; instruction counts with --instructions.
#   bash bench/bench_correlate.sh [build folder] [--instructions]
build=${1:-build/release}
cd "$(dirname "$0")/.." || exit 1
cmake --build "$build" --target bench_correlate >/dev/null || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$build/bench_correlate" 100 40 1000 "$work/tables.csv" || exit 1
if [ "$2" = --instructions ]; then # of four more segments, 1770 tables each, three repeats: making the data does not count
  for u in 1 5; do
    valgrind --tool=callgrind --callgrind-out-file="$work/out.$u" "$build/bench_correlate" 60 $u 100 >"$work/log.$u" 2>&1 || exit 1
    callgrind_annotate --inclusive=yes "$work/out.$u" | grep -m1 blica_correlate | awk '{gsub(",", "", $1); print $1}' >"$work/count.$u"
  done
  levels=$(grep -c 'us per table' "$work/log.1")
  echo "instructions per table, mean of $levels levels (valgrind has no AVX-512):" \
    $((($(cat "$work/count.5") - $(cat "$work/count.1")) / (4 * 1770 * 3 * levels)))
fi
command -v Rscript >/dev/null || { echo "Rscript is not installed: no comparison"; exit 0; }
TABLES="$work/tables.csv" Rscript --vanilla - <<'R'
t <- read.csv(Sys.getenv("TABLES"))
have <- function(p) requireNamespace(p, quietly = TRUE)
report <- function(name, m, f) {
  seconds <- system.time(worst <- max(abs(f(m) - t$rho[m])))[["user.self"]]
  cat(sprintf("%-46s %.1f us per table (%d tables), largest difference %.1g\n", name, 1e6 * seconds / length(m), length(m), worst))
}
if (have("psych")) report("psych::tetrachoric", 1:200, function(m) sapply(m, function(i)
  suppressMessages(psych::tetrachoric(matrix(as.numeric(t[i, 4:1]), 2, byrow = TRUE), correct = 0)$rho)))
if (have("lavaan")) report("lavaan::lavCor, a pair at a time", 1:50, function(m) sapply(m, function(i)
  unclass(lavaan::lavCor(data.frame(a = rep(c(1, 1, 0, 0), t[i, 1:4]), b = rep(c(1, 0, 1, 0), t[i, 1:4])), ordered = c("a", "b")))[1, 2]))
if (have("pbivnorm")) report("uniroot on pbivnorm", 1:500, function(m) sapply(m, function(i) {
  n <- sum(t[i, 1:4]); h <- qnorm((t$n11[i] + t$n10[i]) / n); k <- qnorm((t$n11[i] + t$n01[i]) / n)
  uniroot(function(r) pbivnorm::pbivnorm(h, k, r) - t$n11[i] / n, c(-.9999, .9999), tol = 1e-9)$root }))
R
