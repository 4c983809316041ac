#!/usr/bin/env bats
# blica fit --checkpoint, --resume: killed at any moment and resumed, a fit ends in the same bits; another fit's checkpoint
# is refused by name; a full disk harms nothing.
load helpers

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  "$BLICA" simulate --variables 8 --sources 3 --segments 10 --samples 300 --out d --quiet
  "$BLICA" simulate --variables 8 --sources 3 --segments 10 --samples 300 --seed 2 --out e --quiet
  "$BLICA" count d/data.csv --out d/counts.csv --quiet
}

# keep ARGS...: the fit of the test data with a checkpoint at every iteration.
keep() { "$BLICA" fit "$BATS_FILE_TMPDIR/d/data.csv" --sources 3 --checkpoint c.ckpt --checkpoint-seconds 0 --quiet "$@"; }

# make_checkpoint ARGS...: one of a fit that was stopped by its time.
make_checkpoint() {
  local limit
  for limit in 0.005 0.01 0.015 0.02 0.03 0.05 0.07 0.1 0.15 0.2 0.3 0.4 0.8 2 5 0.01 0.03 0.1 0.3 20 60; do
    keep --out t.json --method blica --starts 3 --max-seconds $limit "$@" 2>/dev/null || true
    [ -e c.ckpt ] && grep -aq "start [0-2]" c.ckpt && return 0
    rm -f c.ckpt
  done
  return 1
}

@test "killed at random moments, resumed: the same bits, by every method" {
  BLICA=$BLICA bash "$BLICA_SOURCE/tools/kill_test.sh" 7 job
}

@test "a rank killed, resumed: the same bits" {
  [ -x "$(dirname "$BLICA")/blica-mpi" ] && command -v mpirun >/dev/null || skip "there is no blica-mpi or mpirun"
  BLICA=$BLICA bash "$BLICA_SOURCE/tools/kill_test.sh" 4 rank "large mle"
}

@test "the disk full: the old checkpoint stays, and the fit goes on" {
  [ "$(id -u)" = 0 ] && mkdir probe && mount -t tmpfs -o size=1m tmpfs probe 2>/dev/null || skip "no file system can be mounted"
  umount probe
  BLICA=$BLICA bash "$BLICA_SOURCE/tools/kill_test.sh" 2 disk "blica matched"
}

@test "Ctrl-C leaves the best result and a checkpoint, from which it goes on" {
  fit=(fit "$BATS_FILE_TMPDIR/d/data.csv" --sources 3 --method ivae --starts 40 --checkpoint c.ckpt --checkpoint-seconds 0.05)
  "$BLICA" "${fit[@]}" --out whole.json --quiet
  [ ! -e c.ckpt ]
  "$BLICA" "${fit[@]}" --out m.json 2>err.txt &
  pid=$!
  wait_for $pid test -e c.ckpt
  kill -INT $pid
  code=0
  wait $pid || code=$?
  [ $code = 130 ]
  grep -q -- "--resume continues" err.txt
  run_code 0 "${fit[@]}" --resume --out m.json
  [ ! -e c.ckpt ]
  /usr/bin/python3 - <<'P'
import json
a, b = json.load(open("whole.json")), json.load(open("m.json"))
assert a["mixing"] == b["mixing"] and a["means"] == b["means"] and a["fit"]["objective"] == b["fit"]["objective"]
P
}

@test "a checkpoint of other options or data is refused, and the difference named" {
  make_checkpoint
  cp c.ckpt before
  d=$BATS_FILE_TMPDIR
  same=(--sources 3 --method blica --out m.json --checkpoint c.ckpt --resume)
  run_code 3 fit "$d/d/data.csv" "${same[@]}" --starts 5
  says "was made with starts 3, this fit has starts 5"
  run_code 3 fit "$d/d/data.csv" "${same[@]}" --seed 9
  says "was made with seed 1, this fit has seed 9"
  run_code 3 fit "$d/d/data.csv" --sources 3 --method mle --out m.json --checkpoint c.ckpt --resume
  says "was made with method blica, this fit has method mle"
  run_code 3 fit "$d/e/data.csv" "${same[@]}"
  says "was made with other data: the correlations of segment '1' differ"
  cut -d, -f2- "$d/d/data.csv" >less.csv
  run_code 3 fit less.csv "${same[@]}"
  says "was made with variables 8, this fit has variables 7"
  sed '1s/x3/smoker/' "$d/d/data.csv" >renamed.csv
  run_code 3 fit renamed.csv "${same[@]}"
  says "was made with variable 3 'x3', this fit has variable 3 'smoker'"
  sed '$d' "$d/d/data.csv" >shorter.csv
  run_code 3 fit shorter.csv "${same[@]}"
  says "samples of segment '10'"
  cmp c.ckpt before
  [ ! -e m.json ]
  run_code 0 fit "$d/d/counts.csv" "${same[@]}" # the same data by another way
}

@test "damaged and foreign files are refused, and left as they are" {
  make_checkpoint
  same=(fit "$BATS_FILE_TMPDIR/d/data.csv" --sources 3 --method blica --out m.json --resume --checkpoint)
  head -c 1000 c.ckpt >cut
  run_code 3 "${same[@]}" cut
  says "is damaged: it has 1000 bytes and should have"
  cp c.ckpt bent
  printf 'x' | dd of=bent bs=1 seek=600 conv=notrunc 2>/dev/null
  run_code 3 "${same[@]}" bent
  says "its checksum does not agree"
  cp c.ckpt newer
  printf '\7' | dd of=newer bs=1 seek=8 conv=notrunc 2>/dev/null
  run_code 3 "${same[@]}" newer
  says "has format version 7; this program reads version 1"
  cp "$BATS_FILE_TMPDIR/d/data.csv" foreign
  run_code 3 "${same[@]}" foreign
  says "is not a checkpoint of blica"
  : >empty
  run_code 3 "${same[@]}" empty
  says "is cut short"
  run_code 3 "${same[@]}" /dev/null
  says "is not a regular file"
  [ "$(wc -c <cut)" = 1000 ] && [ ! -e m.json ]
}

@test "what is there is not overwritten without --resume; without a file --resume begins" {
  : >c.ckpt
  run_code 3 fit "$BATS_FILE_TMPDIR/d/data.csv" --sources 3 --out m.json --checkpoint c.ckpt
  says "exists already: give --resume"
  [ -e c.ckpt ] && [ ! -s c.ckpt ]
  run_code 0 fit "$BATS_FILE_TMPDIR/d/data.csv" --sources 3 --out m.json --checkpoint new.ckpt --resume
  says "there is no checkpoint 'new.ckpt' yet"
  only_files c.ckpt m.json
  run_code 2 fit "$BATS_FILE_TMPDIR/d/data.csv" --sources 3 --out m.json --resume
  says "option resume is yes, which has no effect without the option checkpoint"
  run_code 3 fit "$BATS_FILE_TMPDIR/d/data.csv" --sources 3 --out m.json --checkpoint nowhere/c.ckpt
  says "nowhere/c.ckpt"
}

@test "the time limit is of each run: a queue of short jobs ends in the same bits" {
  fit=(fit "$BATS_FILE_TMPDIR/d/data.csv" --sources 3 --method matched --quiet --out)
  "$BLICA" "${fit[@]}" whole.json
  for i in $(seq 60); do
    code=0
    # longer and longer: on a busy machine the first ones may end before the first iteration
    "$BLICA" "${fit[@]}" m.json --checkpoint c.ckpt --resume --max-seconds "$(awk "BEGIN { print 0.1 * 1.15 ^ $i }")" 2>err.txt || code=$?
    [ $code = 0 ] || [ $code = 4 ]
    [ -e c.ckpt ] || break
  done
  [ ! -e c.ckpt ]
  /usr/bin/python3 - <<'P'
import json
a, b = json.load(open("whole.json")), json.load(open("m.json"))
assert a["mixing"] == b["mixing"] and a["fit"]["objective"] == b["fit"]["objective"] and a["fit"]["notes"] == b["fit"]["notes"]
P
}
