#!/usr/bin/env bats
# blica identify
load helpers

@test "Table 1 arithmetic" {
  run_code 0 identify --variables 10 --sources 10 --segments 3 --json
  echo "$out" | /usr/bin/python3 -c '
import json, sys
r = json.load(sys.stdin)
n, k, u = 10, 10, 3
assert r["statistics"] == u * n * (n - 1) // 2 + 2 * u * n, r
assert r["unknowns"] == n * k + 2 * u * k + u * n, r
assert r["surplus"] == r["statistics"] - r["unknowns"]'
  run_code 0 identify --variables 2 --sources 2 --segments 40
  [[ $out == *"cannot identify the model"* ]]
}

@test "rank check at a model: many segments identify it, two do not" {
  "$BLICA" simulate --variables 6 --sources 6 --segments 20 --out a --quiet
  "$BLICA" simulate --variables 6 --sources 6 --segments 2 --out b --quiet
  run_code 0 identify a/model.json --json
  echo "$out" | /usr/bin/python3 -c '
import json, sys
r = json.load(sys.stdin)
assert r["verdict"]["design"] == "yes" and r["rank"] == r["parameters"] == 6 * 6 + 20 * 6 - 6 and len(r["looseness"]) == 6, r'
  run_code 0 identify b/model.json --json
  echo "$out" | /usr/bin/python3 -c 'import json, sys; assert json.load(sys.stdin)["verdict"]["design"] == "no"'
  run_code 0 identify b/model.json
  [[ $out == *"cannot determine the sources"* ]]
}

@test "three levels: count and rank" {
  run_code 0 identify --variables 3 --sources 3 --segments 3 --levels 3
  [[ $out == "3 variables (3 with three or more levels), 3 sources, 3 segments: 27 statistics, 27 unknowns, surplus 0"* ]]
  run_code 0 identify --variables 3 --sources 3 --segments 2 --levels 5
  [[ $out == *"cannot identify the model"* ]]
  for levels in 2 3; do
    "$BLICA" simulate --variables 3 --sources 3 --segments 3 --levels $levels --out $levels --quiet
  done
  run_code 0 identify 3/model.json --json
  echo "$out" | /usr/bin/python3 -c '
import json, sys
r = json.load(sys.stdin)
assert r["verdict"]["design"] == "yes" and r["ordinal"] == 3 and r["surplus"] == 0 and r["rank"] == r["parameters"] == 15, r'
  run_code 0 identify 2/model.json --json
  echo "$out" | /usr/bin/python3 -c 'import json, sys; r = json.load(sys.stdin); assert r["verdict"]["design"] == "no" and r["rank"] == 9, r'
  run_code 2 identify --variables 3 --sources 3 --segments 3 --levels 1
}

@test "usage and bad models" {
  run_code 2 identify
  says "--variables N --sources K --segments U"
  run_code 2 identify --variables 3 --sources 2
  run_code 2 identify --variables 3 --sources 4 --segments 5
  run_code 2 identify model.json --variables 3
  run_code 2 identify --variables 1 --sources 1 --segments 3
  run_code 3 identify missing.json
  says "missing.json"
  echo '{}' >empty.json
  run_code 3 identify empty.json
  says "mixing is missing"
}

@test "planning: expected MCS by simulated fits, and rows or segments for .95" {
  run_code 0 identify --variables 8 --sources 3 --segments 8 --samples 40 --change 0.25 --json
  echo "$out" | /usr/bin/python3 -c '
import json, sys
r = json.load(sys.stdin)
low, high = r["range"]
assert .6 < r["chance_mcs"] < .95 and low <= r["expected_mcs"] <= high <= 1, r
assert r["expected_mcs"] < .95 and 40 < r["rows_needed"] < 2000 and 8 < r["segments_needed"], r
print(r["rows_needed"])' >rows
  run_code 0 identify --variables 8 --sources 3 --segments 8 --samples "$(cat rows)" --change 0.25 --json
  echo "$out" | /usr/bin/python3 -c 'import json, sys; m = json.load(sys.stdin)["expected_mcs"]; assert .92 < m < .98, m'
  run_code 0 identify --variables 8 --sources 2 --segments 8 --samples 500 --levels 4
  [[ $out == *"expected MCS with 500 rows per segment"*"takes about"*"rows per segment, or about"*"segments"* ]]
  [ -z "$err" ]
}

@test "planning: bad input" {
  run_code 2 identify --variables 8 --sources 2 --segments 8 --samples 5
  says "samples"
  run_code 2 identify --variables 8 --sources 2 --segments 8 --samples 50 --change 0
  says "change"
  run_code 2 identify --samples 50
  "$BLICA" simulate --variables 5 --sources 2 --segments 4 --samples 50 --out s --quiet
  run_code 2 identify s/model.json --samples 50
}
