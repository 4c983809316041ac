#!/bin/bash
# Kills fits at random moments and resumes them from their checkpoints; the models must equal those of fits without a
# break in all bits. usage: kill_test.sh [TRIALS [KINDS [METHODS]]], as in kill_test.sh 50 "job rank disk" "blica mle"
#   job   the program is killed (SIGKILL)
#   rank  one of the two ranks of mpirun is killed; mpirun must end by itself
#   disk  the disk is filled, later the program is killed, if it still runs; then there is room again
# Methods are those of fit; `large` is blica at a size where a rank holds the correlations of its own segments only.
# A trial whose fit had ended before its moment came is made again with an earlier one.
# After each: no file but whole ones, and the same command with --resume ends in the same bits, after a lost rank by turns alone and on three ranks. TRIALS of each kind, over
# the methods in turn; the moments follow from SEED (default 1). Exit 1 when anything was not as it should be.
set -u
TRIALS=${1:-50} KINDS=${2:-job rank disk} METHODS=${3:-blica large matched pairwise mle ivae fastica}
SEED=${SEED:-1}
root=$(cd "$(dirname "$0")/.." && pwd)
BLICA=${BLICA:-$root/build/release/blica}
MPI=$(dirname "$BLICA")/blica-mpi
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d) bad=0
disk=$work/disk
leave() {
  mountpoint -q "$disk" && umount "$disk"
  rm -rf "$work"
}
trap leave EXIT

# random NAME: from 0 to 999, a function of the seed and the name.
random() { echo $((16#$(printf '%s %s' "$SEED" "$1" | md5sum | cut -c1-6) % 1000)); }
now() { date +%s%3N; }
sleep_ms() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }

# options METHOD: a fit of some hundred iterations.
options() {
  case $1 in
  blica) echo "--starts 12" ;;
  large) echo "--starts 3" ;;
  matched) echo "--starts 4" ;;
  pairwise) echo "--starts 2" ;;
  mle) echo "--max-iterations 100" ;;
  ivae) echo "--starts 2 --max-iterations 300" ;;
  fastica) echo "--starts 60 --tolerance 1e-12 --max-iterations 100" ;;
  esac
}

# command METHOD FOLDER: the words of the fit; checkpoint and model are in the folder.
command_of() {
  local sources=3 name=$1
  case $1 in blica) sources=6 ;; large) sources=24 name=blica ;; esac
  echo fit "$work/$1/data.csv" --method $name --sources $sources $(options "$1") --out "$2/model.json" --threads 1
}
kept() { echo --checkpoint "$1/fit.ckpt" --checkpoint-seconds 0 --resume; }

# less_times FILE: the model without the seconds.
less_times() {
  /usr/bin/python3 - "$1" <<'P'
import json, sys
def strip(o):
    if isinstance(o, dict): return {k: strip(v) for k, v in o.items() if not k.startswith("seconds")}
    return [strip(v) for v in o] if isinstance(o, list) else o
print(json.dumps(strip(json.load(open(sys.argv[1])))))
P
}

# The data and the model without checkpoints.
prepare() {
  local n=12 k=3 u=20 rows=400
  case $1 in blica) k=6 ;; large) n=34 k=24 u=6 ;; pairwise | mle) n=6 u=6 rows=200 ;; esac
  "$BLICA" simulate --variables $n --sources $k --segments $u --samples $rows --out "$work/$1" --quiet
  "$BLICA" $(command_of "$1" "$work/$1") --quiet 2>/dev/null
  less_times "$work/$1/model.json" >"$work/$1/whole.txt"
}

# The time that the fit takes with checkpoints in the folder.
measure() {
  local begun
  begun=$(now)
  "$BLICA" $(command_of "$1" "$2") $(kept "$2") --quiet 2>/dev/null
  time_of[$1]=$(($(now) - begun))
}

wrong() {
  echo "trial $trial, $kind, $method: $*"
  bad=$((bad + 1))
}

# Where files cannot be without a name, a kill leaves one that was being written under another name.
unnamed() { /usr/bin/python3 -c 'import os, sys; os.open(sys.argv[1], os.O_TMPFILE | os.O_RDWR, 0o600)' "$1" 2>/dev/null; }

# Only whole files, whatever happened.
check_files() {
  local f
  for f in $(ls -A "$1"); do
    case $f in
    fit.ckpt | fill) ;;
    .blica-*) rm "$1/$f" ;; # killed between its two names
    model.json) less_times "$1/model.json" >/dev/null || wrong "the model is not whole" ;;
    *) if unnamed "$1"; then wrong "file '$f' was left"; else rm "$1/$f"; fi ;;
    esac
  done
}

# The file is the one that a write left: the same command takes it up.
resume() {
  local code=0 program=$BLICA
  [ $kind = rank ] && [ $((trial % 2)) = 0 ] && program="mpirun --quiet -n 3 $MPI"
  [ -e "$1/fit.ckpt" ] && with=$((with + 1))
  $program $(command_of "$method" "$1") $(kept "$1") >"$work/out" 2>&1 || code=$?
  [ $code = 0 ] || [ $code = 4 ] || wrong "resumed: exit $code: $(cat "$work/out")"
  less_times "$1/model.json" | cmp -s - "$work/$method/whole.txt" || wrong "the resumed model differs"
  [ -e "$1/fit.ckpt" ] && wrong "the checkpoint was left after the end"
  check_files "$1" end
}

# moment NAME: milliseconds into the fit of this method, a function of the seed, the trial, how often it was tried, and the name.
moment() { echo $(($(random "$trial $kind $tries $1") * time_of[$method] / 1000)); }

# kill_program PID: true when it was killed, not at its end already.
kill_program() {
  local code=0
  kill -9 "$1" 2>/dev/null
  wait "$1" 2>/dev/null || code=$?
  [ $code = 137 ] && killed=$((killed + 1))
}

# Up to three kills of one fit.
kill_job() {
  local i
  for i in 1 2 3; do
    [ -e "$1/fit.ckpt" ] && with=$((with + 1)) # left by the kill before
    "$BLICA" $(command_of "$method" "$1") $(kept "$1") >"$work/out" 2>&1 &
    sleep_ms "$(moment $i)"
    kill_program $!
    check_files "$1"
    [ -e "$1/model.json" ] && break
  done
}

kill_rank() {
  local pid ranks code=0
  mpirun --quiet -n 2 "$MPI" $(command_of "$method" "$1") $(kept "$1") >"$work/out" 2>&1 &
  pid=$!
  sleep_ms $((200 + $(moment rank) + $(random "$trial $tries init") * 600 / 1000))
  ranks=($(pgrep -P $pid blica-mpi))
  [ ${#ranks[@]} = 2 ] && kill -9 "${ranks[$(($(random "$trial which") % 2))]}" 2>/dev/null
  timeout "${BLICA_PATIENCE:-300}" tail --pid=$pid -f /dev/null || { wrong "mpirun hangs after a rank was lost"; kill -9 $pid; }
  wait $pid || code=$?
  [ $code != 0 ] && killed=$((killed + 1)) # not when they were at their end already
  [ $code = 0 ] && [ ! -e "$1/model.json" ] && wrong "mpirun says 0 after a rank was lost"
  check_files "$1"
}

fill_disk() {
  local pid
  "$BLICA" $(command_of "$method" "$1") $(kept "$1") >"$work/out" 2>&1 &
  pid=$!
  sleep_ms "$(moment first)"
  dd if=/dev/zero of="$1/fill" bs=4096 2>/dev/null
  sleep_ms $(($(moment later) / 2))
  kill_program $pid
  grep -q "No space left" "$work/out" && noticed=$((noticed + 1))
  check_files "$1"
  rm -f "$1/fill"
}

possible() {
  case $1 in
  rank) [ -x "$MPI" ] && command -v mpirun >/dev/null || { echo "rank: skipped, there is no blica-mpi or mpirun"; return 1; } ;;
  disk)
    mkdir -p "$disk"
    mountpoint -q "$disk" || mount -t tmpfs -o size=8m tmpfs "$disk" 2>/dev/null ||
      { echo "disk: skipped, no file system can be mounted (root can)"; return 1; }
    ;;
  esac
}

declare -A time_of
for method in $METHODS; do prepare "$method"; done
list=($METHODS)
printf '%-6s %7s %7s %12s %14s %7s\n' kind trials killed 'disk full' 'from file' wrong
for kind in $KINDS; do
  possible "$kind" || continue
  killed=0 noticed=0 with=0 before=$bad folder=$work/run
  [ "$kind" = disk ] && folder=$disk
  mkdir -p "$folder"
  for method in $METHODS; do measure "$method" "$folder"; done
  for ((trial = 1; trial <= TRIALS; trial++)); do
    method=${list[$((trial % ${#list[@]}))]}
    for ((tries = 1; tries <= 20; tries++)); do
      happened=$((killed + noticed))
      rm -f "$folder"/*
      case $kind in job) kill_job "$folder" ;; rank) kill_rank "$folder" ;; disk) fill_disk "$folder" ;; esac
      [ $((killed + noticed)) -gt $happened ] && break
      time_of[$method]=$((time_of[$method] * 3 / 4)) # it was measured at a busier time
    done
    if [ -e "$folder/model.json" ] && [ ! -e "$folder/fit.ckpt" ]; then # it had ended before
      less_times "$folder/model.json" | cmp -s - "$work/$method/whole.txt" || wrong "the model differs"
    else
      resume "$folder"
    fi
  done
  printf '%-6s %7d %7d %12d %14d %7d\n' "$kind" "$TRIALS" $killed $noticed $with $((bad - before))
done
[ $bad = 0 ]
