#!/bin/bash
# bench_mpi.sh [BUILD]: strong and weak scaling of a fit, reading included, on one and two ranks of one thread, and what they exchange; then
# one and two segments on more ranks than that. FEW=1: only those.
# Processor seconds of the rank that computed longest stand beside the clock's: on a busy machine only they mean something.
set -eu
build=${1:-build/release}
build=$(cd "$build" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=${YIELD:-0}

# row LABEL RANKS DATA K: one fit; prints and leaves processor seconds in $computed.
row() {
  timeout 1500 mpirun --quiet --oversubscribe -n "$2" "$build/blica-mpi" fit "$3" --method blica --sources "$4" --starts 1 --threads 1 \
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

# few LABEL N K U RANKS...: fewer segments than ranks.
few() {
  local label=$1 n=$2 k=$3 u=$4
  shift 4
  "$build/blica" simulate --variables "$n" --sources "$k" --segments "$u" --samples 1000 --seed 1 --out d --quiet
  for r in "$@"; do
    row "$label" "$r" d/data.csv "$k"
    [ "$r" = "$1" ] && one=$computed one_clock=$clock && continue
    awk -v a="$one" -v b="$computed" -v c="$one_clock" -v d="$clock" -v r="$r" -v f="$1" \
      'BEGIN { printf "  computed %.2f times as fast as on %d, by the clock %.2f\n", a / b, f, c / d }'
  done
}

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
