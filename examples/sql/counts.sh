#!/bin/bash
# counts.sh DATABASE TABLE [SEGMENT]: pair counts of a table of 0/1 columns, made where the table is, by one SQL query in
# sqlite3, in the form that `blica fit` reads. Every column but the one named SEGMENT (segment) is a variable; NULL is a
# missing value. Segments and variables keep the order in which they first appear, so that a fit of these counts gives,
# bit by bit, the model that a fit of the rows gives.
#
#   bash examples/sql/counts.sh survey.db answers > counts.csv
#   blica fit counts.csv --sources 3 --out model.json
#
# The query is printed by: bash examples/sql/counts.sh --query DATABASE TABLE [SEGMENT]
set -euo pipefail
query=run
[ "${1:-}" = --query ] && query=print && shift
database=${1:?the database file} table=${2:?the table} segment=${3:-segment}

# The query says four things: the table in long form (one line per row and variable), its pairs, their 2x2 tables, and
# the number of rows of a segment. A product with NULL is NULL, which sum() leaves out.
long=$(sqlite3 -readonly "$database" "
  SELECT group_concat(printf('SELECT rowid AS r, \"%w\" AS segment, %d AS at, %Q AS name, \"%w\" AS x FROM \"%w\"',
                             '$segment', cid, name, name, '$table'), char(10) || '  UNION ALL ')
  FROM (SELECT * FROM pragma_table_info('$table') WHERE name <> '$segment' ORDER BY cid)")
[ -n "$long" ] || { echo "counts.sh: no table '$table' with variables in $database" >&2; exit 1; }
sql="WITH long AS (
  $long),
pairs AS (
  SELECT a.segment AS segment, min(a.r) AS first, b.at AS second, a.at AS third, a.name AS i, b.name AS j,
         coalesce(sum(a.x * b.x), 0) AS n11, coalesce(sum(a.x * (1 - b.x)), 0) AS n10,
         coalesce(sum((1 - a.x) * b.x), 0) AS n01, coalesce(sum((1 - a.x) * (1 - b.x)), 0) AS n00
  FROM long AS a JOIN long AS b ON a.r = b.r AND a.at <= b.at
  GROUP BY a.segment, a.at, b.at),
row_counts AS (
  SELECT \"$segment\" AS segment, min(rowid) AS first, count(*) AS n FROM \"$table\" GROUP BY \"$segment\"),
rest AS ( -- where every variable misses a value somewhere, the rows of a segment cannot be told from its pairs
  SELECT * FROM row_counts WHERE n > (SELECT max(n11 + n00) FROM pairs WHERE i = j AND pairs.segment = row_counts.segment))
SELECT segment, i, j, n11, n10, n01, n00 FROM (
  SELECT segment, first, second, third, i, j, n11, n10, n01, n00 FROM pairs
  UNION ALL SELECT segment, first, -1, -1, '', '', n, 0, 0, 0 FROM rest)
ORDER BY first, second, third;"
if [ "$query" = print ]; then
  printf '%s\n' "$sql"
else
  sqlite3 -readonly -csv -header "$database" "$sql"
fi
