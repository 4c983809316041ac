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

@test "an item that differs is estimated apart, by name or by itself" {
  cd "$BATS_FILE_TMPDIR"
  run_code 0 fit dif.csv --sources 2 --out free.json --free auto
  [[ "$out" == *"x3 in 4: cuts "*"(others "* ]]
  [[ "$out" == *"Freed: one item in one segment."* ]]
  [[ "$out" == *"MCS of the loadings with those before freeing: "*"Expected MCS before "*", now "* ]]
  [[ "$err" != *warning* ]]
  run_code 0 fit dif.csv --sources 2 --out named.json --free cuts:x3@4,x5@2 --json
  /usr/bin/python3 - "$out" <<'P'
import json, sys
told, own, plain = json.loads(sys.argv[1])["free"], json.load(open("named.json")), json.load(open("dif.json"))
assert [(f["item"], f["segment"]) for f in own["free"]] == [("x5", "2"), ("x3", "4")]
assert told[0] == own["free"][0] and told[1]["cuts"] == own["free"][1]["cuts"] and told[1]["mixing"] is None
assert own["free"][1]["cuts"][0] < own["cuts"][2][0] - 0.2 and "free" not in plain and "mixing" not in own["free"][1]
free = json.load(open("free.json"))
assert [(f["item"], f["segment"]) for f in free["free"]] == [("x3", "4")]
assert {"expected_mcs_common", "expected_mcs_freed", "mcs_common_freed"} <= set(free["fit"]["notes"])
P
  run_code 0 invariance free.json dif.csv
  [[ "$out" == *"Cuts: no item is shown to differ between segments."* ]]
  [[ "$out" != *"x3               4                cuts "* ]]
  run_code 0 assess free.json dif.csv --bootstrap 20
  run_code 0 sources free.json dif.csv --out z.csv
  run_code 0 loglik free.json dif.csv --json && with=$out
  run_code 0 loglik dif.json dif.csv --json
  /usr/bin/python3 -c 'import json, sys; a, b = (json.loads(x) for x in sys.argv[1:]); assert a["loglik"] > b["loglik"] + 5' "$with" "$out"
  run_code 0 report free.json dif.csv --out r.html
  grep -q 'Estimated apart' r.html
  run_code 0 fit d/data.csv --sources 2 --out none.json --free auto
  [[ "$out" == *"Freed: nothing; no item is shown to differ between segments."* ]]
  cmp <(grep -v seconds none.json) <(grep -v seconds m.json)
}

@test "what cannot be freed is refused, and nothing is written" {
  cd "$BATS_TEST_TMPDIR"
  data=$BATS_FILE_TMPDIR/d/data.csv
  for list in x99@1 x1@99 cuts:x99 x1 "" x1@1, x1@1,x1@2,x1@3,x1@4,x1@5,x1@6,x1@7,x1@8 x1@1,x2@1,x3@1,x4@1,x5@1,x6@1; do
    run_code 2 fit "$data" --sources 2 --out x.json --free "$list"
    says "option free"
  done
  run_code 2 fit "$data" --sources 2 --out x.json --free x1@2 --method mle
  says "needs method matched"
  run_code 2 fit "$data" --sources 2 --out x.json --free auto --thresholds none
  run_code 2 fit "$data" --sources 2 --out x.json --free auto --checkpoint c
  "$BLICA" count "$data" --out c.npz --quiet
  run_code 2 fit c.npz --sources 2 --out x.json --free auto
  says "counts are not enough"
  only_files c.npz
}
