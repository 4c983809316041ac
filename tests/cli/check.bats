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
  [[ "$output" == *"5 rows, 3 items, 2 segments of 2 to 3 rows. 1 value missing (6.7 %)."* ]]
  [[ "$output" == *"2 least, 2.5 median, 3 most"* ]]
  [[ "$output" == *"constant columns: 2 of 6"* ]]
  [[ "$output" == *"segment 's', variable 'a': always 1"* ]]
  [[ "$output" == *"segment 't', variable 'b': always 1"* ]]
  [[ "$output" == *"pairs with an empty cell: 1 of 6"* ]] # the others have a constant
  [[ "$output" == *"missing values: 1 of 15"* ]]
  [[ "$output" == *"'c': 1 (20 %)"* ]]
  [[ "$output" == *"look: segments with fewer than 50 rows: 's' (3), 't' (2)"*"merge them"* ]]
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
assert d["missing"] == [0, 0, 1] and d["small_segments"] == 2 and d["zero_cell_pairs"] == 1
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
  [[ "$output" == *"5 rows, 3 items, 2 segments of 2 to 3 rows. 1 value missing (6.7 %)."* ]]
  [[ "$output" == *"constant columns: 1 of 6"* ]]
  [[ "$output" == *"segment 't', variable 'a': always 1"* ]]
  [[ "$output" == *"pairs with an empty cell: 2 of 6"* ]]
  [[ "$output" == *"missing values: 1 of 15"* ]]
  "$BLICA" simulate --variables 3 --sources 3 --segments 3 --levels 3 --samples 3000 --out three --quiet
  run "$BLICA" check three/data.csv --ordinal
  [[ "$output" == *"sources: at most 3 by counting (27 statistics, 27 unknowns)"* ]]
}

# draw AWK: a table of x1 to x5 in six segments of 200 rows; AWK may change the row, x[1..5] of segment s
draw() {
  awk 'BEGIN { srand(5); print "x1,x2,x3,x4,x5,segment"
    for (i = 0; i < 1200; i++) { s = int(i / 200); z = (rand() - .5) * (1 + s % 3)
      for (j = 1; j < 6; j++) x[j] = z + rand() > .5
      '"$1"'
      print x[1] "," x[2] "," x[3] "," x[4] "," x[5] ",s" s } }'
}

# has CODE LEVEL WORDS: the record in check.json has that finding
has() {
  /usr/bin/python3 - "$@" <<'END'
import json, sys
code, level, words = sys.argv[1:]
found = [f for f in json.load(open("check.json"))["findings"] if f["code"] == code]
assert found and found[0]["level"] == int(level) and words in found[0]["found"], (sys.argv, found)
END
}

@test "what a fit cannot repair is named by check and by fit, and good data get a good verdict" {
  while IFS='|' read -r change code words; do
    draw "$change" > bad.csv
    "$BLICA" check bad.csv --json > check.json
    has "$code" 1 "$words"
    grep -q '"verdict": "look"' check.json
    "$BLICA" check bad.csv | grep -qF "look: "
    "$BLICA" fit bad.csv --sources 1 --out bad.json 2> fit.err || [ $? -eq 4 ]
    grep -qF "$words" fit.err || { echo "fit does not say: $words"; cat fit.err; false; }
  done <<'CASES'
x[2] = x[1];|identical-items|'x2' is the same as 'x1' in all 1200 rows
x[2] = 1 - x[1];|identical-items|'x2' is 'x1' reversed in all 1200 rows
x[2] = i % 600 == 7 ? 1 - x[1] : x[1];|identical-items|'x2' is the same as 'x1' in all but 2 of 1200 rows
x[3] = 1;|constant-items|items with one value in all rows: 'x3' (always 1)
x[3] = "";|empty-items|items without any value: 'x3'
if (s == 4) for (j = 1; j < 6; j++) x[j] = "";|empty-segments|segments without any value: 's4'
if (s == 4) x[5] = "";|absent-items|items without values in a segment: 'x5' in 's4'
x[1 + i % 2] = "";|never-together|items that no row has both of: 'x1' and 'x2'
CASES
  draw > good.csv
  "$BLICA" check good.csv | tail -1 | grep -qxF "verdict: nothing prevents a fit"
  "$BLICA" check good.csv --json | grep -q '"verdict": "ready"'
  "$BLICA" fit good.csv --sources 1 --out good.json --quiet 2> fit.err
  [ ! -s fit.err ]
}

@test "nothing to fit: constants, one segment, a transposed table, too few segments" {
  draw 'for (j = 1; j < 6; j++) x[j] = s % 2;' > still.csv
  "$BLICA" check still.csv --json > check.json
  has nothing-varies 2 "in no segment do two items vary"
  "$BLICA" check still.csv | tail -1 | grep -qF "verdict: not ready for a fit"
  run "$BLICA" fit still.csv --sources 1 --out none.json
  [ "$status" -eq 3 ] && [ ! -e none.json ]
  [[ "$output" == *"in no segment do two items vary"*"nothing to fit"* ]]
  draw | cut -d, -f1-5 > one.csv
  "$BLICA" check one.csv --segment-count 1 --json > check.json
  has one-segment 2 "there is one segment"
  awk 'BEGIN { srand(2); for (g = 1; g < 51; g++) printf "g%d%s", g, g < 50 ? "," : "\n"
    for (i = 0; i < 12; i++) for (g = 1; g < 51; g++) printf "%d%s", (rand() > .5), g < 50 ? "," : "\n" }' > genes.csv
  "$BLICA" check genes.csv --segment-count 2 --json > check.json
  has transposed 1 "50 items and only 12 rows"
  printf 'a,b,segment\n1,0,s\n0,1,s\n1,1,s\n0,0,s\n1,1,t\n0,0,t\n1,0,t\n0,1,t\n' > tiny.csv
  "$BLICA" check tiny.csv --sources 2 | tail -1 | grep -qF "verdict: not ready for a fit"
}

@test "copies among items with levels, and levels that follow from others" {
  draw 'a = 1 + int(3 * rand()); x[1] = a; x[2] = 4 - a; x[3] = a > 1 ? 2 : 1; x[4] = 1 + int(3 * rand()); x[5] = 1 + int(2 * rand());' > l.csv
  "$BLICA" check l.csv --ordinal --json > check.json
  has identical-items 1 "'x2' is 'x1' reversed in all 1200 rows, 'x3' follows from 'x1' in all 1200 rows"
  "$BLICA" check l.csv --ordinal --json | grep -q '"copies": 3'
}

@test "check, counts and the record of a fit give the same numbers" {
  for change in 'x[1] = x[1] && rand() > .97; x[2] = x[1] && rand() > .5;' 'if (s == 2) x[1] = 1; if (rand() > .9) x[3] = "";' \
    'if (s == 1) x[4] = ""; if (i > 200 && i < 390) { x[1] = ""; x[2] = 0 }'; do
    draw "$change" > d.csv
    "$BLICA" check d.csv --json > check.json
    "$BLICA" fit d.csv --sources 1 --out m.json --json > fit.json 2> fit.err || [ $? -eq 4 ]
    /usr/bin/python3 - <<'END'
import json
c, f = json.load(open("check.json")), json.load(open("fit.json"))
assert c["zero_cell_pairs"] == f["zero_cells"] and c["empty_pairs"] == f["empty_pairs"], (c, f)
assert len(c["constant_columns"]) == f["constant_columns"], (c, f)
END
  done
}
