#!/bin/bash
# bench_stream.sh [GB] [VARIABLES]: a table of so many gigabytes (10), made on the fly and piped, counted by blica beside what
# `cat` and `wc -l` take for the same stream. Per second of the clock, and per second of the program's own processor time,
# which says more on a busy machine. BLICA names the program (build/release/blica).
set -euo pipefail
gigabytes=${1:-10} n=${2:-100}
blica=${BLICA:-$(cd "$(dirname "$0")/.." && pwd)/build/release/blica}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

samples=$((64000000 / (2 * n + 2) / 40)) # a block of about 64 MB, 40 segments
"$blica" simulate --variables "$n" --sources 10 --segments 40 --samples $samples --seed 1 --out "$work" --quiet
head -n 1 "$work/data.csv" > "$work/head"
tail -n +2 "$work/data.csv" > "$work/block"
blocks=$((gigabytes * 1000000000 / $(stat -c %s "$work/block") + 1))
bytes=$((blocks * $(stat -c %s "$work/block") + $(stat -c %s "$work/head")))
stream() { cat "$work/head"; for ((b = 0; b < blocks; b++)); do cat "$work/block"; done; }

echo "$bytes bytes, $((blocks * samples * 40)) rows of $n variables in 40 segments, through a pipe"
printf '%-28s %10s %10s %12s %12s %10s\n' "" seconds "of cpu" "MB/s clock" "MB/s cpu" "peak MB"
measure() { # NAME COMMAND...
  local name=$1
  shift
  stream | /usr/bin/time -o "$work/time" -f "%e %U %S %M" "$@" > /dev/null
  awk -v name="$name" -v mb=$((bytes / 1000000)) \
    '{cpu = $2 + $3; printf "%-28s %10.1f %10.1f %12.0f %12.0f %10.0f\n", name, $1, cpu, mb / $1, mb / (cpu + 0.001), $4 / 1000}' "$work/time"
}
measure "cat > /dev/null" cat
measure "wc -l" wc -l
measure "blica count" "$blica" count - --out "$work/counts.npz" --quiet
