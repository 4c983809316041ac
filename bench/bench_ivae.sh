#!/bin/bash
# CPU time of one loss-and-gradient evaluation of the linear iVAE on one thread: ours beside the same model written in
# torch (Debian's python3-torch, double precision, automatic differentiation), in the same run.
#   bash bench/bench_ivae.sh [build folder]
build=${1:-build/release}
cd "$(dirname "$0")/.." || exit 1
cmake --build "$build" --target bench_ivae >/dev/null || exit 1
/usr/bin/python3 -c 'import torch' 2>/dev/null && torch=yes ||
  echo "python3-torch is not installed: ours beside the published code's 64 CPU s for 1000 iterations at n=k=5 (64 ms each)"
printf '%-26s %12s %12s %8s\n' "40 segments of 1000 rows" "ours, ms" "torch, ms" ratio
for shape in "5 5" "6 2" "6 6" "10 10" "20 10"; do
  set -- $shape
  ours=$("$build/bench_ivae" "$1" "$2" 40 1000 31) || exit 1
  theirs=nan
  if [ "$torch" ]; then
    theirs=$(OMP_NUM_THREADS=1 /usr/bin/python3 bench/bench_ivae.py "$1" "$2" 40 1000 7) || exit 1
  elif [ "$shape" = "5 5" ]; then
    theirs=64
  fi
  awk -v n="$1" -v k="$2" -v a="$ours" -v b="$theirs" 'BEGIN {
    ratio = b == "nan" ? "" : sprintf("%.1f", b / a)
    printf "%-26s %12.3f %12s %8s\n", "n=" n " k=" k, a, b, ratio }'
done
