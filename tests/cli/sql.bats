#!/usr/bin/env bats
# Counts made by the query of `blica sql` are the counts that blica makes: in SQLite, and in a PostgreSQL server that
# this file starts on a socket in its own folder.
load helpers

# postgres ARGS...: runs a program of the server's as a user who may run it.
postgres() {
  local program
  program=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)/$1
  shift
  if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$program" "$@"; else "$program" "$@"; fi
}

setup_file() {
  export PGHOST PGUSER=postgres PGDATABASE=postgres
  PGHOST=$(mktemp -d /tmp/blica-pg-XXXXXX) # the path of a socket must be short
  ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || return 0
  [ "$(id -u)" != 0 ] || chown postgres "$PGHOST"
  (cd / && postgres initdb -D "$PGHOST/data" -U postgres -A trust -N -E UTF8 --locale=C &&
    postgres pg_ctl -D "$PGHOST/data" -w -l "$PGHOST/log" -o "-k $PGHOST -h ''" start) >/dev/null 3>&-
}

teardown_file() {
  [ ! -d "$PGHOST/data" ] || (cd / && postgres pg_ctl -D "$PGHOST/data" -m immediate stop) >/dev/null
  rm -rf "$PGHOST"
}

need() {
  command -v sqlite3 >/dev/null || skip "sqlite3 is not installed (tools/setup.sh test)"
  [ -d "$PGHOST/data" ] || skip "PostgreSQL is not installed (tools/setup.sh test)"
}

# in_sqlite, in_postgresql: run the query of stdin; counts as CSV.
in_sqlite() { sqlite3 -csv -header t.db; }
in_postgresql() { psql -q -v ON_ERROR_STOP=1 --csv; }

# into_databases TABLE CSV TYPE: the table from a CSV in both databases, with columns of that type but a text segment.
# Empty fields are NULL in PostgreSQL and empty text in SQLite, as .import makes them.
into_databases() {
  rm -f t.db
  sqlite3 t.db ".mode csv" ".import $2 '$1'"
  /usr/bin/python3 - "$@" <<'P' | psql -q -v ON_ERROR_STOP=1
import csv, sys
quote = lambda name: '"' + name.replace('"', '""') + '"'
table, path, kind = sys.argv[1:]
names = next(csv.reader(open(path)))
print(f"DROP TABLE IF EXISTS {quote(table)};")
print(f"CREATE TABLE {quote(table)} ({', '.join(quote(n) + ' ' + ('text' if n == 'segment' else kind) for n in names)});")
print(f"\\copy {quote(table)} FROM '{path}' CSV HEADER")
P
}

# same_counts TABLE ARGS...: both engines give the counts of data.csv, whose rows are sorted by segment.
same_counts() {
  local table=$1 engine
  shift
  "$BLICA" count data.csv --out ours.csv --quiet "${READ[@]}"
  for engine in sqlite postgresql; do
    "$BLICA" sql "$table" "$@" --dialect $engine | in_$engine >$engine.csv
    "$BLICA" merge $engine.csv --out canonical.csv --quiet
    cmp canonical.csv ours.csv
  done
}

same_models() {
  /usr/bin/python3 - "$@" <<'P'
import json, sys
def strip(o):
    if isinstance(o, dict): return {k: strip(v) for k, v in o.items() if not k.startswith("seconds")}
    return [strip(v) for v in o] if isinstance(o, list) else o
a, b = (strip(json.load(open(f))) for f in sys.argv[1:3])
assert a == b
P
}

@test "complete data: the same counts, and by a pipe the same model" {
  need
  "$BLICA" simulate --variables 13 --sources 2 --segments 6 --samples 200 --out . --quiet
  into_databases answers data.csv smallint
  names=$(seq -f x%g -s , 13)
  same_counts answers --columns "$names"
  "$BLICA" fit data.csv --sources 2 --out ours.json --quiet
  "$BLICA" sql answers --columns "$names" --dialect postgresql | in_postgresql | "$BLICA" fit - --sources 2 --out sql.json --quiet
  same_models ours.json sql.json
  "$BLICA" sql public.answers --columns "$names" --dialect postgresql | in_postgresql | cmp - postgresql.csv
}

@test "missing values, awkward names, items read from some rows" {
  need
  awk 'BEGIN{srand(5); print "a b,\"c,d\",it'"'"'s,\"q\"\"t\",é,segment"; for(r=0;r<900;r++){z=rand(); l="";
    for(i=0;i<5;i++) l = l (rand() < .1 ? "" : (rand()<z) + 0) ","; print l "s" int(r/300)}}' >data.csv
  into_databases 'the "answers"' data.csv smallint
  head -n 40 data.csv >some.csv
  same_counts 'the "answers"' some.csv
  "$BLICA" sql 'the "answers"' - --dialect sqlite <some.csv | in_sqlite | cmp - sqlite.csv
}

@test "levels by number and by name, in blocks; values that mean missing" {
  need
  awk 'BEGIN{srand(6); print "mood,sleep,u,v,w,segment"; for(r=0;r<1200;r++){z=rand(); l="";
    for(i=0;i<5;i++) {x = int(3*(.6*z+.4*rand())) + 1; l = l (rand() < .05 ? 9 : x) ","}; print l int(r/400)}}' >data.csv
  into_databases answers data.csv integer
  READ=(--ordinal --missing 9)
  same_counts answers data.csv --ordinal --missing 9
  same_counts answers --columns mood,sleep,u,v,w --levels "1<2<3" --missing 9
  sed 's/1,/low,/g; s/2,/mid,/g; s/3,/high,/g; s/9,/,/g' data.csv >words.csv
  mv words.csv data.csv
  into_databases answers data.csv text
  READ=(--levels "low<mid<high")
  same_counts answers --columns mood,sleep,u,v,w --levels "low<mid<high"
}

@test "a value missing in every variable, and a pair without common rows; booleans" {
  need
  printf '%s\n' x,y,z,segment 1,,0,1 0,1,,1 ,1,1,1 1,0,0,1 1,,1,2 ,1,0,2 0,,1,2 ,0,0,2 >data.csv
  into_databases answers data.csv smallint
  same_counts answers --columns x,y,z
  psql -q -c 'ALTER TABLE answers ALTER x TYPE boolean USING x = 1, ALTER y TYPE real, ALTER z TYPE numeric'
  "$BLICA" sql answers --columns x,y,z --dialect postgresql | in_postgresql | cmp - postgresql.csv
}

@test "values that are no level, rows without a segment, empty tables and columns that are not there are refused" {
  need
  printf '%s\n' x,y,segment 1,0,1 0,1,1 2,1,1 1,1,2 >data.csv
  into_databases answers data.csv smallint
  for engine in sqlite postgresql; do
    "$BLICA" sql answers --columns x,y --dialect $engine | in_$engine >c.csv
    run_code 3 count - --out out.csv <c.csv
    says "segment '1': 1 value of 'x' is not one of its levels"
  done
  sqlite3 t.db "UPDATE answers SET x = 1, segment = NULLIF(segment, '2')"
  "$BLICA" sql answers --columns x,y --dialect sqlite | in_sqlite >c.csv
  run_code 3 count - --out out.csv <c.csv
  says "1 of the rows have no segment"
  sqlite3 t.db "DELETE FROM answers"
  psql -q -c 'DELETE FROM answers'
  for engine in sqlite postgresql; do
    "$BLICA" sql answers --columns x,y --dialect $engine | in_$engine >c.csv
    run_code 3 fit - --sources 1 --out out.json <c.csv
    case $engine in sqlite) says "is empty" ;; *) says "has no rows" ;; esac
    run bash -c "'$BLICA' sql answers --columns x,nothing --dialect $engine | $(command -v psql || true) -v ON_ERROR_STOP=1 2>&1"
    [ "$status" -ne 0 ]
  done
  run bash -c "'$BLICA' sql answers --columns x,nothing --dialect sqlite | sqlite3 t.db 2>&1"
  [[ "$status" -ne 0 && "$output" == *"no such column: t.nothing"* ]]
  [ ! -e out.csv ] && [ ! -e out.json ]
}

@test "counts from a pipe that are cut off, or where rows are needed, are refused by name" {
  "$BLICA" simulate --variables 4 --sources 2 --segments 3 --samples 100 --out . --quiet
  "$BLICA" count data.csv --out c.csv --quiet
  run_code 3 count - --out d.csv < <(head -c 300 c.csv)
  says "standard input"
  run_code 3 fit - --sources 2 --method mle --out m.json <c.csv
  says "holds pair counts, not rows"
  run_code 0 correlate - --out r.csv <c.csv
  TMPDIR=/nowhere run_code 3 count - --out d.csv <c.csv
  says "cannot write the temporary file /nowhere"
  [ ! -e d.csv ] && [ ! -e m.json ]
}

@test "what the command cannot do is a usage error that says what to do" {
  run_code 2 sql answers --dialect sqlite
  says "name the items by --columns"
  run_code 2 sql answers --columns a,b
  says "dialect"
  run_code 2 sql answers --columns a,b --dialect oracle
  run_code 2 sql answers --columns a,b --segment-length 10 --dialect sqlite
  says "rows of a table have no order"
  run_code 2 sql answers --columns a,b --ordinal --dialect sqlite
  says "are for ROWS"
  run_code 3 sql answers --columns a --dialect sqlite
  run_code 3 sql answers --columns a,a --dialect sqlite
  says "both named 'a'"
  run_code 3 sql answers --columns "$(seq -f x%g -s , 200)" --dialect sqlite
  says "SQLite takes 500 tables"
  run_code 0 sql answers --columns "$(seq -f x%g -s , 200)" --dialect duckdb
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
