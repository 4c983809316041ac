#!/usr/bin/env bats
# blica invariance: items that differ between segments
load helpers

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  "$BLICA" simulate --variables 8 --sources 2 --segments 8 --samples 500 --seed 3 --out d --quiet
  # in segment 4, item x3 is 1 for half of those who would have 0
  awk -F, -v OFS=, 'NR > 1 && $9 == 4 && NR % 2 { $3 = 1 } { print }' d/data.csv > dif.csv
  "$BLICA" fit d/data.csv --sources 2 --out m.json --quiet
  "$BLICA" fit dif.csv --sources 2 --out dif.json --quiet
}

@test "an item that differs in one segment is named, and nothing else" {
  cd "$BATS_FILE_TMPDIR"
  run_code 0 invariance dif.json dif.csv
  [[ "$out" == *"Cuts: "*"differ between segments."* ]]
  grep -qE "^x3 +4 +cuts .*differs" <<<"$out"
  run_code 0 invariance dif.json dif.csv --json
  /usr/bin/python3 - "$out" <<'P'
import json, sys
r = json.loads(sys.argv[1])
single = [t for t in r["items"] if t["segment"] is not None]
overall = [t for t in r["items"] if t["segment"] is None]
assert len(overall) == 16 and len(single) == 128
first = next(t for t in single if t["found"] == 1 and t["kind"] == "cuts")
assert (first["item"], first["segment"]) == ("x3", "4"), first
assert first["effect"] < -0.2 and first["shift"] == [first["effect"]]
assert first["probability"][1] > 0.1 and abs(sum(first["probability"])) < 1e-12
assert overall[0]["item"] == "x3" and overall[0]["p_adjusted"] < 0.001
assert all(set(t) >= {"item", "segment", "kind", "effect", "p", "p_adjusted"} for t in r["items"])
P
  run_code 0 invariance m.json d/data.csv
  [[ "$out" == *"Cuts: no item is shown to differ between segments."* ]]
}

@test "weights, frequencies and clusters are known" {
  cd "$BATS_FILE_TMPDIR"
  awk -F, -v OFS=, '{ print $0, NR == 1 ? "twice" : 2, NR == 1 ? "w" : 7, NR == 1 ? "own" : NR }' dif.csv > f.csv
  cat dif.csv <(tail -n +2 dif.csv) > doubled.csv
  items="--columns x1:x8"
  run_code 0 invariance dif.json f.csv $items --frequencies twice --json && first=$out
  run_code 0 invariance dif.json doubled.csv --json
  [ "$first" = "$out" ]
  run_code 0 invariance dif.json f.csv $items --json && first=$out
  run_code 0 invariance dif.json f.csv $items --weights w --json
  [ "$first" = "$out" ]
  run_code 0 invariance dif.json f.csv $items --cluster own --json
  [ "$first" = "$out" ]
}

@test "what cannot be tested is refused, and nothing is written" {
  cd "$BATS_FILE_TMPDIR"
  run_code 0 fit d/data.csv --sources 2 --segment-count 1 --allow-unidentified --out "$BATS_TEST_TMPDIR/one.json"
  cd "$BATS_TEST_TMPDIR"
  run_code 3 invariance one.json "$BATS_FILE_TMPDIR/d/data.csv" --segment-count 1 --out x.json
  says "one segment"
  run_code 2 invariance "$BATS_FILE_TMPDIR/m.json" "$BATS_FILE_TMPDIR/d/data.csv" --level 2 --out x.json
  cut -d, -f 2- "$BATS_FILE_TMPDIR/d/data.csv" > less.csv
  run_code 3 invariance "$BATS_FILE_TMPDIR/m.json" less.csv --out x.json
  only_files less.csv one.json
}
