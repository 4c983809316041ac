#!/usr/bin/env bats
# Files that somebody made to do harm, and files that other programs write a little differently.
load helpers

@test "names reach the terminal without their escape sequences" {
  printf 'a\033[31m,b,c,segment\n1,0,1,s\033]0;x\007\n1,1,0,s\033]0;x\007\n0,1,1,t\n1,0,0,t\n' >e.csv
  "$BLICA" check e.csv >out.txt 2>&1
  "$BLICA" fit e.csv --sources 1 --out m.json >>out.txt 2>&1 || [ $? = 4 ]
  "$BLICA" loglik m.json e.csv >>out.txt 2>&1
  "$BLICA" fit e.csv --sources 1 --segment-column $'\033[31m' --out m.json >>out.txt 2>&1 || [ $? = 3 ]
  grep -q '?\[31m' out.txt
  ! grep -q $'\033' out.txt
  ! grep -q $'\007' out.txt
}

@test "text with zero bytes is refused" {
  printf '1,2\n3,4\n' >a.csv
  printf '1,2\n3,4\n\0 5,6\n' >b.csv
  run_code 3 compare a.csv b.csv
  says "zero bytes"
  printf 'segment,i,j,n11,n10,n01,n00\n1\0x,a,b,1,2,3,4\n' >c.csv
  run_code 3 correlate c.csv --out r.csv
  says "c.csv, line 2: is not text (it has zero bytes)"
  printf 'segment,i,j,n11,n10,n01,n00\n"1\0",a,b,1,2,3,4\n' >c.csv
  run_code 3 correlate c.csv --out r.csv
  says "zero byte"
}

@test "counts as other programs write them: byte order mark, quotes; compressed ones are named" {
  "$BLICA" simulate --variables 3 --sources 2 --segments 2 --samples 50 --out d --quiet
  "$BLICA" count d/data.csv --out c.csv --quiet
  run_code 0 correlate c.csv --out plain.csv
  printf '\357\273\277' | cat - c.csv >bom.csv
  (printf '"segment","i","j","n11","n10","n01","n00"\n'; tail -n +2 c.csv) >quoted.csv
  for f in bom quoted; do
    run_code 0 correlate $f.csv --out r.csv
    cmp plain.csv r.csv
    run_code 0 merge $f.csv --out m.csv
    cmp c.csv m.csv
  done
  gzip -c c.csv >c.csv.gz
  run_code 3 correlate c.csv.gz --out r.csv
  says "holds pair counts"
  run_code 0 correlate - --out r.csv <c.csv
  cmp plain.csv r.csv
}

@test "a name that is not UTF-8 is refused, and how to convert it is said" {
  printf 'caf\351,b,segment\n0,1,1\n1,0,1\n1,1,2\n0,0,2\n' >latin.csv
  run_code 3 count latin.csv --out c.csv
  says "not UTF-8"
  says "iconv"
  iconv -f LATIN1 -t UTF-8 latin.csv >utf.csv
  run_code 0 count utf.csv --out c.csv
  grep -q 'café' c.csv
  printf 'a,b,segment\n0,1,\351t\351\n1,0,1\n' >latin.csv
  run_code 3 count latin.csv --out c.csv
  says "not UTF-8"
}

@test "an empty name in .npz is refused" {
  "$BLICA" simulate --variables 3 --sources 2 --segments 2 --samples 50 --out d --quiet
  "$BLICA" count d/data.csv --out c.npz --quiet
  /usr/bin/python3 -c '
import numpy as np
c = dict(np.load("c.npz"))
c["variables"] = np.array(["a", "", "c"])
np.savez("empty.npz", **c)'
  run_code 3 merge empty.npz --out m.csv
  says "the name of variable 2 is empty"
}

@test "line ends of any number of carriage returns: segments are the same, missing values or not" {
  printf 'a,b,segment\r\r\n0,1,1\r\r\n1,0,1\r\r\nNA,1,1\r\r\n1,1,2\r\r\n0,NA,2\r\r\n0,0,2\r\r\n' >r.csv
  tr -d '\r' <r.csv >n.csv
  run_code 0 count r.csv --out a.csv
  run_code 0 count n.csv --out b.csv
  cmp a.csv b.csv
  sed 's/[^,]*$/"&"/; s/\r*"$/"\r\r/; 1s/"//g' r.csv >q.csv
  run_code 0 count q.csv --out a.csv
  cmp a.csv b.csv
}

@test "a first row of data that counts up is data when it may be" {
  printf '0,1,2\n1,0,2\n1,1,3\n0,0,3\n' >x.csv
  run_code 0 count x.csv --segment-column last --out c.npz
  says "4 rows"
  printf '0,1,2,3\n1,0,1,2\n1,1,0,3\n' >x.csv # columns 0,1,2 and the segment, named by their numbers
  run_code 0 count x.csv --segment-column last --out c.npz
  says "2 rows"
}

@test "a file that is read as one column is said to be one" {
  printf 'a|b|segment\n0|1|1\n1|0|2\n' >pipe.csv
  run_code 3 fit pipe.csv --sources 1 --out m.json
  says "is read as one column: its first line, 'a|b|segment'"
}

@test "models and matrices from pipes" {
  "$BLICA" simulate --variables 3 --sources 2 --segments 2 --samples 50 --out d --quiet
  printf '1,2\n3,4\n5,7\n' >x.csv
  [ "$("$BLICA" compare <(cat d/model.json) d/model.json --json | grep -c '"mcs": 1.0')" = 1 ]
  "$BLICA" compare x.csv <(cat d/model.json) >/dev/null
  "$BLICA" compare <(cat x.csv) <(gzip -c x.csv) | grep -q '^MCS 1 '
}

@test "a line longer than any table's is refused before it takes all memory" {
  grep -q '^BLICA_SANITIZE:STRING=$' "$BLICA_BUILD/CMakeCache.txt" || skip "sanitizers need address space without a limit"
  code=0
  (ulimit -v 2000000; head -c 600000000 /dev/zero | tr '\0' '0' | OPENBLAS_NUM_THREADS=1 "$BLICA" check - 2>err.txt) || code=$?
  [ "$code" = 3 ] || { cat err.txt; return 1; }
  grep -q "line 1: is longer than 256 MiB" err.txt
}

# catches_signals PID: it is the program already, not the shell that will become it (which catches signals of its own and
# ignores SIGINT), and catches SIGTERM, 0x4000, the later of the two.
catches_signals() {
  [ "$(readlink -f "/proc/$1/exe")" = "$(readlink -f "$BLICA")" ] && grep -q 'SigCgt:.*[4-7c-f][0-9a-f]\{3\}$' "/proc/$1/status"
}

@test "a signal ends the wait for input" {
  mkfifo p
  sleep 600 >p & # holds the pipe open and writes nothing
  writer=$!
  for signal in INT TERM; do
    "$BLICA" check - <p >out.txt 2>err.txt &
    pid=$!
    wait_for $pid catches_signals $pid
    kill -$signal $pid
    code=0
    wait $pid || code=$?
    [ "$code" = 130 ] || { echo "exit $code"; kill $writer; return 1; }
  done
  kill $writer
}
