#!/usr/bin/env bats
# Counts made by SQL, as examples/sql shows, are the counts that blica makes.

setup() {
  cd "$BATS_TEST_TMPDIR"
  command -v sqlite3 > /dev/null || skip "sqlite3 is not installed (tools/setup.sh test)"
  counts="$BLICA_SOURCE/examples/sql/counts.sh"
}

# into_database CSV: the table `answers` of t.db, empty fields as NULL.
into_database() {
  rm -f t.db
  sqlite3 t.db ".mode csv" ".import $1 answers"
  for column in $(head -n 1 "$1" | tr , ' '); do
    [ "$column" = segment ] || sqlite3 t.db "UPDATE answers SET \"$column\" = NULLIF(\"$column\", '')"
  done
}

# The counts by SQL are those of blica; merge brings the first into its way of quoting.
same_counts() {
  bash "$counts" t.db answers > sql.csv
  "$BLICA" merge sql.csv --out canonical.csv --quiet
  "$BLICA" count data.csv --out ours.csv --quiet
  cmp canonical.csv ours.csv
}

same_models() {
  python3 - "$@" <<'P'
import json, sys
def strip(o):
    if isinstance(o, dict): return {k: strip(v) for k, v in o.items() if not k.startswith("seconds")}
    return [strip(v) for v in o] if isinstance(o, list) else o
a, b = (strip(json.load(open(f))) for f in sys.argv[1:3])
assert a == b
P
}

@test "complete data: the same counts, the same model" {
  "$BLICA" simulate --variables 8 --sources 2 --segments 6 --samples 200 --out . --quiet
  into_database data.csv
  same_counts
  "$BLICA" fit data.csv --sources 2 --out ours.json --quiet
  "$BLICA" fit sql.csv --sources 2 --out sql.json --quiet
  same_models ours.json sql.json
}

@test "missing values are NULL; segments by name, in any order; awkward names" {
  awk 'BEGIN{srand(5); print "a b,segment,\"c,d\",it'"'"'s,e"; for(r=0;r<900;r++){z=rand(); l=sprintf("%d,s%d", rand()<z, int(rand()*3));
    for(i=0;i<3;i++) l = l "," (rand() < .1 ? "" : (rand()<z) + 0); print l}}' > data.csv
  sqlite3 t.db ".mode csv" ".import data.csv answers"
  for column in "c,d" "it's" e; do sqlite3 t.db "UPDATE answers SET \"$column\" = NULLIF(\"$column\", '')"; done
  same_counts
}

@test "a value missing in every variable, and a pair without common rows" {
  printf '%s\n' x,y,z,segment 1,,0,1 0,1,,1 ,1,1,1 1,0,0,1 1,,1,2 ,1,0,2 0,,1,2 ,0,0,2 > data.csv
  into_database data.csv
  same_counts
}

@test "a table that is not there is named" {
  sqlite3 t.db "CREATE TABLE t(x)"
  run bash "$counts" t.db answers
  [ "$status" -eq 1 ]
  [[ "$output" == *"no table 'answers'"* ]]
}

@test "counts of partitions, made by pandas, add up to ours" {
  awk 'BEGIN{srand(5); print "a,b,c,segment"; for(r=0;r<950;r++){z=rand(); l=""; for(i=0;i<3;i++) l = l (rand() < .1 ? "" : (rand()<z) + 0) ",";
    print l "s" int(r/300)}}' > data.csv
  /usr/bin/python3 "$BLICA_SOURCE/examples/sql/partition.py" data.csv 200 part
  "$BLICA" merge part-*.csv --out sum.csv --quiet
  "$BLICA" count data.csv --out ours.csv --quiet
  [ "$(ls part-*.csv | wc -l)" -eq 5 ]
  cmp sum.csv ours.csv
}
