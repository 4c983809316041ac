#!/usr/bin/env bats
# blica compare
load helpers

@test "the twelve published values" {
  data=$BLICA_SOURCE/../shared/data/mcs
  [ -d "$data" ] || skip "../shared/data/mcs is not there"
  for f in "$data"/mcs_*.csv; do
    shape=$(basename "$f" .csv)
    shape=${shape#mcs_}
    run_code 0 compare "$data/A1_$shape.csv" "$data/A2_$shape.csv" --json
    echo "$out" | /usr/bin/python3 -c '
import json, sys
expected = float(open(sys.argv[1]).read().split()[-1])
assert abs(json.load(sys.stdin)["mcs"] - expected) <= 1e-15' "$f"
  done
}

@test "order, sign and scale do not matter; JSON has the matching" {
  printf '1,2\n3,4\n5,7\n' >a.csv
  printf '2 -10\n4 -30\n7 -50\n' >b.txt
  run_code 0 compare a.csv b.txt --json
  echo "$out" | /usr/bin/python3 -c '
import json, sys
r = json.load(sys.stdin)
assert abs(r["mcs"] - 1) < 1e-15 and r["matching"] == [1, 0] and r["cosine"][0] < 0 < r["cosine"][1], r'
  run_code 0 compare a.csv b.txt
  [[ $out == MCS\ 1* ]]
}

@test "headers and row names of R, pandas and spreadsheets" {
  printf '1,2\n3,4\n' >plain.csv
  printf ',0,1\n0,1,2\n1,3,4\n' >pandas.csv
  printf '"","V1","V2"\n"1",1,2\n"2",3,4\n' >r.csv
  printf 'V1 V2\n1 1 2\n2 3 4\n' >table.txt
  printf 'a;b\r\n1;2\r\n3;4\r\n' >semicolon.csv
  printf 'name\tz1\tz2\nsmoker\t1\t2\nage\t3\t4\n' >names.tsv
  printf '"","V1","V2"\n"income, net",1,2\n"age",3,4\n' >comma.csv
  for f in pandas.csv r.csv table.txt semicolon.csv names.tsv comma.csv; do
    run_code 0 compare plain.csv "$f" --json
    echo "$out" | grep -q '"mcs": 1.0' || { echo "$f: $out"; return 1; }
  done
}

@test "models and tables can be mixed" {
  run_code 0 simulate --variables 4 --sources 2 --out d
  /usr/bin/python3 -c '
import json
for row in json.load(open("d/model.json"))["mixing"]: print(*map(repr, row), sep=",")' >a.csv
  run_code 0 compare d/model.json a.csv --json
  echo "$out" | grep -q '"mcs": 1.0'
}

@test "different shapes are refused with both shapes" {
  printf '1,2\n3,4\n5,6\n' >a.csv
  printf '1,2\n3,4\n' >b.csv
  printf '1\n3\n5\n' >c.csv
  run_code 3 compare a.csv b.csv
  says "has 3 variables and 2 sources"
  run_code 3 compare a.csv c.csv
  says "3 and 1"
}

@test "bad input" {
  printf '1,2\n3,4\n' >a.csv
  printf '1,2\n3\n' >ragged.csv
  printf '1,2\n3,x\n' >text.csv
  printf '1,2\n3,nan\n' >nan.csv
  printf '{"format":"blica-model"' >cut.json
  printf '{"format":"other"}' >other.json
  : >empty.csv
  printf 'a,b\n' >header.csv
  run_code 3 compare a.csv missing.csv
  says "missing.csv"
  run_code 3 compare a.csv .
  run_code 3 compare a.csv ragged.csv
  says "line 2: 1 fields"
  run_code 3 compare a.csv text.csv
  says "line 2, field 2: 'x'"
  run_code 3 compare a.csv nan.csv
  run_code 3 compare a.csv cut.json
  run_code 3 compare a.csv other.json
  says "format is other"
  run_code 3 compare a.csv empty.csv
  run_code 3 compare a.csv header.csv
  run_code 2 compare a.csv
  says "usage: blica compare A B"
  run_code 2 compare a.csv a.csv a.csv
}
