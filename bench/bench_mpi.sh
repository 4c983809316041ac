#!/bin/bash
# bench_mpi.sh [BUILD]: strong and weak scaling of a fit, reading included, on one and two ranks of one thread, and what they exchange; then
# one and two segments on more ranks than that, and on threads. FEW=1: only those. TURNS=10: instead, the two fits of strong scaling by turns, that often, and beside
# each what evenly divided work with as many waits and as long reaches (mpi_ceiling.c), with medians at the end.
# Processor seconds of the rank that computed longest stand beside the clock's: on a busy machine only they mean something.
set -eu
build=${1:-build/release}
build=$(cd "$build" && pwd)
bench=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=${YIELD:-0}

# row LABEL RANKS DATA K: one fit of $threads threads a rank; prints and leaves processor seconds in $computed.
threads=1
row() {
  timeout 1500 mpirun --quiet --oversubscribe --bind-to none -n "$2" /usr/bin/time -f "peak %M kB" "$build/blica-mpi" fit "$3" --method blica --sources "$4" --starts 1 --threads $threads \
    --max-iterations 40 --allow-unidentified --out m.json --json >record.json 2>notes.txt || [ $? = 4 ]
  evaluations=$(sed -n 's/.*"evaluations": \([0-9]*\).*/\1/p' record.json | head -1)
  bytes=$(sed -n 's/.*: \([0-9.e+]*\) bytes received.*/\1/p' notes.txt)
  computed=$(sed -n 's/.*computed for \([0-9.e+-]*\) s.*/\1/p' notes.txt)
  clock=$(sed -n 's/.*computed for .* s, of \([0-9.e+-]*\) s.*/\1/p' notes.txt)
  exchanging=$(sed -n 's/.*exchanges of \([0-9.e+-]*\) s in all.*/\1/p' notes.txt)
  printf '%-22s %5s %11s %14s %12s %10s %10s\n' "$1" "$2" "$evaluations" "$bytes" "$exchanging" "$computed" "$clock"
}

# pair LABEL N K U: both numbers of ranks on the same data, then the efficiency.
pair() {
  "$build/blica" simulate --variables "$2" --sources "$3" --segments "$4" --samples 1000 --seed 1 --out d --quiet
  row "$1" 1 d/data.csv "$3"
  one=$computed one_clock=$clock
  row "$1" 2 d/data.csv "$3"
  awk -v a="$one" -v b="$computed" -v c="$one_clock" -v d="$clock" \
    'BEGIN { printf "  efficiency on 2 ranks: %.0f %% of processor time, %.0f %% of the clock\n", 50 * a / b, 50 * c / d }'
}

# few LABEL N K U RANKS...: fewer segments than ranks, then on one rank of two threads; with the memory of each rank.
few() {
  local label=$1 n=$2 k=$3 u=$4
  shift 4
  "$build/blica" simulate --variables "$n" --sources "$k" --segments "$u" --samples 1000 --seed 1 --out d --quiet
  for r in "$@"; do
    row "$label" "$r" d/data.csv "$k"
    sed -n 's/^peak/  peak/p' notes.txt
    [ "$r" = "$1" ] && one=$computed one_clock=$clock && continue
    awk -v a="$one" -v b="$computed" -v c="$one_clock" -v d="$clock" -v r="$r" -v f="$1" \
      'BEGIN { printf "  computed %.2f times as fast as on %d, by the clock %.2f\n", a / b, f, c / d }'
  done
  threads=2
  row "$label, two threads" 1 d/data.csv "$k"
  sed -n 's/^peak/  peak/p' notes.txt
  threads=1
}

# ceiling RANKS WAITS PRODUCTS: seconds.
ceiling() { mpirun --quiet --oversubscribe -n "$1" ./ceiling "$2" "$3"; }

# turns LABEL N K U: efficiencies by the clock, of the fit and of the ceiling.
turns() {
  "$build/blica" simulate --variables "$2" --sources "$3" --segments "$4" --samples 1000 --seed 1 --out d --quiet
  row "$1" 2 d/data.csv "$3" >/dev/null # fills the cache
  waits=$(sed -n 's/.* in \([0-9]*\) exchanges of.*/\1/p' notes.txt)
  row "$1" 1 d/data.csv "$3" >/dev/null
  products=$(awk -v t="$clock" -v p="$(ceiling 1 100 5000)" 'BEGIN { printf "%d", 5000 * t / p }') # as long as the fit
  echo "$1: $waits exchanges; by the clock on 1 and 2 ranks, efficiency; the same of $products products of order 100 with $waits waits"
  for _ in $(seq "$TURNS"); do
    row "$1" 1 d/data.csv "$3" >/dev/null
    one=$clock
    row "$1" 2 d/data.csv "$3" >/dev/null
    awk -v a="$one" -v b="$clock" -v c="$(ceiling 1 "$waits" "$products")" -v d="$(ceiling 2 "$waits" "$products")" \
      'BEGIN { printf "  %.2f %.2f s %4.0f %%   %.2f %.2f s %4.0f %%\n", a, b, 50 * a / b, c, d, 50 * c / d }' | tee -a turns.txt
  done
  for column in 4 9; do awk -v c="$column" '{ print $c }' turns.txt | sort -n | awk -v c="$column" '{ x[NR] = $1 }
    END { printf "  median of the %s: %.0f %%, from %s to %s\n", c == 4 ? "fit" : "ceiling", (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2, x[1], x[NR] }'; done
  rm turns.txt
}

if [ -n "${TURNS:-}" ]; then
  mpicc -O2 -I"$bench/../src" "$bench/mpi_ceiling.c" -o ceiling -lopenblas
  turns "n=k=100 u=40" 100 100 40
  turns "n=1000 k=10 u=40" 1000 10 40
  exit
fi

printf '%-22s %5s %11s %14s %12s %10s %10s\n' fit ranks evaluations 'bytes received' 'exchanging s' 'computed s' 'clock s'
if [ -z "${FEW:-}" ]; then
pair "n=k=100 u=40" 100 100 40
pair "n=1000 k=10 u=40" 1000 10 40
echo "weak scaling: half the segments on one rank"
"$build/blica" simulate --variables 1000 --sources 10 --segments 20 --samples 1000 --seed 1 --out d --quiet
row "n=1000 k=10 u=20" 1 d/data.csv 10
fi
echo "fewer segments than ranks"
few "n=2000 k=10 u=1" 2000 10 1 1 2 4
few "n=2000 k=10 u=2" 2000 10 2 1 2 4
few "n=4000 k=10 u=1" 4000 10 1 1 2
