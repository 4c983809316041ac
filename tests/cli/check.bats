#!/usr/bin/env bats
# check: every figure against a table small enough to count by hand.

setup() {
  cd "$BATS_TEST_TMPDIR"
  printf 'a,b,c,segment\n1,0,1,s\n1,1,NA,s\n1,0,0,s\n0,1,1,t\n1,1,0,t\n' > d.csv
}

@test "the figures of a small table" {
  run "$BLICA" check d.csv
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"3 variables, 2 segments, 5 rows"* ]]
  [[ "$output" == *"2 least, 2.5 median, 3 most"* ]]
  [[ "$output" == *"constant columns: 2 of 6"* ]]
  [[ "$output" == *"segment 's', variable 'a': always 1"* ]]
  [[ "$output" == *"segment 't', variable 'b': always 1"* ]]
  [[ "$output" == *"pairs with an empty cell: 6 of 6"* ]]
  [[ "$output" == *"missing values: 1 of 15"* ]]
  [[ "$output" == *"'c': 1 (20 %)"* ]]
}

@test "JSON, from data and from counts alike; identifiability by counting" {
  "$BLICA" check d.csv --json > a.json
  "$BLICA" count d.csv --out c.npz --quiet
  "$BLICA" check c.npz --json > b.json
  cmp a.json b.json
  /usr/bin/python3 - <<'END'
import json
d = json.load(open("a.json"))
assert d["variables"] == 3 and d["segments"] == 2 and d["rows"] == 5 and d["samples"] == [3, 2]
assert d["missing"] == [0, 0, 1] and d["small_segments"] == 2 and d["zero_cell_pairs"] == 6
assert d["surplus"] == d["statistics"] - d["unknowns"]
END
  "$BLICA" check d.csv --json --sources 3 > c.json
  # n=3, u=2, k=3: 2*3 + 2*2*3 = 18 statistics, 9 + 12 + 6 = 27 unknowns
  /usr/bin/python3 -c 'import json; d = json.load(open("c.json")); assert d["statistics"] == 18 and d["unknowns"] == 27 and d["surplus"] == -9'
  run "$BLICA" check d.csv --sources 3
  [[ "$output" == *"3 sources: can NOT be identified"* ]]
  run "$BLICA" check d.csv --sources 4
  [ "$status" -eq 2 ]
}

@test "bad data are refused as by count" {
  run "$BLICA" check absent.csv
  [ "$status" -eq 3 ]
}

@test "items with levels are counted as items" {
  printf 'a,b,c,segment\n1,0,1,s\n2,1,NA,s\n3,0,2,s\n1,1,1,t\n1,0,2,t\n' > l.csv
  run "$BLICA" check l.csv --ordinal
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"3 variables, 2 segments, 5 rows"* ]]
  [[ "$output" == *"constant columns: 1 of 6"* ]]
  [[ "$output" == *"segment 't', variable 'a': always 1"* ]]
  [[ "$output" == *"pairs with an empty cell: 6 of 6"* ]]
  [[ "$output" == *"missing values: 1 of 15"* ]]
  "$BLICA" simulate --variables 3 --sources 3 --segments 3 --levels 3 --samples 3000 --out three --quiet
  run "$BLICA" check three/data.csv --ordinal
  [[ "$output" == *"sources: at most 3 by counting (27 statistics, 27 unknowns)"* ]]
}
