#!/usr/bin/env bats
# What is written where: no command destroys what it reads, and the standard output can be named.
load helpers

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  "$BLICA" simulate --variables 4 --sources 2 --segments 3 --samples 60 --out d --quiet
  "$BLICA" count d/data.csv --out d/c.csv --quiet
}

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  cp "$BATS_FILE_TMPDIR"/d/* .
}

# refused FILE ARGS...: the command is refused, and the file is as it was.
refused() {
  local file=$1
  shift
  cp "$file" before
  run_code 3 "$@"
  says "would be overwritten"
  cmp "$file" before
}

@test "no output may be an input, by whatever name" {
  ln -s data.csv link.csv
  mkdir sub
  refused data.csv fit data.csv --sources 2 --out data.csv
  refused data.csv fit data.csv --sources 2 --out sub/../data.csv
  refused data.csv fit data.csv --sources 2 --out link.csv
  refused data.csv count data.csv --out data.csv
  refused data.csv correlate data.csv --out ./data.csv
  refused c.csv merge c.csv c.csv --out c.csv
  refused model.json sources model.json data.csv --out model.json
  refused data.csv sources model.json data.csv --out data.csv
  refused model.json report model.json data.csv --out model.json
  cut -d, -f5 data.csv | tail -n +2 >labels.csv
  cut -d, -f1-4 data.csv >rows.csv
  refused labels.csv count rows.csv --segment-file labels.csv --out labels.csv
}

@test "a checkpoint is neither the model nor the data" {
  run_code 3 fit data.csv --sources 2 --out m.json --checkpoint m.json
  says "would be overwritten"
  [ ! -e m.json ]
  run_code 3 fit data.csv --sources 2 --out m.json --checkpoint ./m.json
  refused data.csv fit data.csv --sources 2 --out m.json --checkpoint data.csv --resume
}

@test "--out - and /dev/stdout are the standard output" {
  run_code 0 fit data.csv --sources 2 --starts 1 --out m.json
  run_code 0 sources m.json data.csv --out s.csv
  for out in - /dev/stdout; do
    "$BLICA" fit data.csv --sources 2 --starts 1 --out $out --quiet >f.json
    "$BLICA" compare m.json f.json --json | grep -q '"mcs": 1.0'
    [ ! -e ./- ]
    { echo first; "$BLICA" sources m.json data.csv --out $out --quiet; } >f.csv
    cmp s.csv <(tail -n +2 f.csv)
    [ "$(head -1 f.csv)" = first ]
    "$BLICA" report m.json --out $out --quiet | grep -q '</html>'
  done
  [ -L /dev/stdout ]
  run_code 2 fit data.csv --sources 2 --out - --json
  says "both need the standard output"
  run_code 2 count data.csv --out -
  says "end the name in one of them"
}

@test "a file that grows past the limit of its size is an error with a message, and none is left" {
  code=0
  (ulimit -f 1; exec "$BLICA" simulate --variables 20 --sources 3 --segments 20 --samples 500 --out big 2>said) || code=$?
  [ $code = 1 ] && grep -q "cannot write .*: File too large" said
  [ ! -e big/model.json ] || [ ! -e big/data.csv ]
}
