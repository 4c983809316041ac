#!/usr/bin/env bats
# Which columns are items, and which values mean missing: --columns, --ignore, --missing
load helpers

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  "$BLICA" simulate --variables 6 --sources 2 --segments 20 --samples 100 --out d --quiet
  # the same data beside a number of each person, an age and missing values written as -9
  awk -F, -v OFS=, 'NR == 1 { print "id", $1, $2, $3, "age", $4, $5, $6, $7; next }
    { if (NR % 50 == 0) $2 = "-9"; if (NR % 70 == 0) $6 = "99"; print "p" NR, $1, $2, $3, 20 + NR % 60, $4, $5, $6, $7 }' d/data.csv > wide.csv
  awk -F, -v OFS=, 'NR > 1 { if (NR % 50 == 0) $2 = "NA"; if (NR % 70 == 0) $6 = "NA" } { print }' d/data.csv > plain.csv
  "$BLICA" count plain.csv --out plain.npz --quiet
}

same_counts() { cmp "$BATS_FILE_TMPDIR/plain.npz" "$1"; }

@test "columns are left out by name or index, and values become missing" {
  cd "$BATS_FILE_TMPDIR"
  run_code 0 count wide.csv --ignore id,age --missing -9,99 --out a.npz && same_counts a.npz
  run_code 0 count wide.csv --ignore 1,5 --missing 99,-9.0 --out b.npz && same_counts b.npz
  run_code 0 count wide.csv --columns x1:x3,6:8 --missing -9,99 --out c.npz && same_counts c.npz
  run_code 0 count wide.csv --columns x1:x6 --ignore age --missing -9,99 --out e.npz && same_counts e.npz
}

@test "without a header columns are numbers" {
  cd "$BATS_FILE_TMPDIR"
  tail -n +2 wide.csv > bare.csv
  run_code 0 fit bare.csv --header no --segment-column last --columns 2:4,6:8 --missing -9,99 --sources 2 --out bare.json
  run_code 0 fit plain.csv --sources 2 --out plain.json
  [ "$(jq -c .mixing bare.json)" = "$(jq -c .mixing plain.json)" ]
  run_code 3 fit bare.csv --header no --segment-column last --columns x1:x3 --sources 2 --out bare.json
  says "the file has no header"
}

@test "0 can mean missing beside 1 and 2, as in genetics" {
  cd "$BATS_FILE_TMPDIR"
  awk -F, -v OFS=, 'NR > 1 { for (i = 1; i <= 6; i++) $i = $i == "NA" ? 0 : $i + 1 } { print }' plain.csv > alleles.csv
  run_code 0 fit alleles.csv --missing 0 --sources 2 --out alleles.json
  says "'1' is 0 and '2' is 1"
  run_code 0 fit plain.csv --sources 2 --out plain.json
  [ "$(jq -c .mixing alleles.json)" = "$(jq -c .mixing plain.json)" ]
}

@test "arrays take the same options" {
  cd "$BATS_FILE_TMPDIR"
  /usr/bin/python3 - <<'EOF'
import csv, numpy
rows = [r for r in csv.reader(open("wide.csv"))][1:]
numpy.save("wide.npy", numpy.array([[float(v) for v in r[1:]] for r in rows]))
EOF
  run_code 0 fit wide.npy --segment-column last --ignore 4 --missing -9,99 --sources 2 --out array.json
  run_code 0 fit plain.csv --sources 2 --out plain.json
  [ "$(jq -c .mixing array.json)" = "$(jq -c .mixing plain.json)" ]
}

@test "what cannot be is refused by name" {
  cd "$BATS_FILE_TMPDIR"
  run_code 3 fit wide.csv --ignore id,weight --sources 2 --out no.json
  says "--ignore weight: no such column; there are id, x1"
  run_code 3 fit wide.csv --columns x3:x1 --sources 2 --out no.json
  says "--columns x3:x1: no such column"
  run_code 2 fit wide.csv --ignore id,segment --sources 2 --out no.json
  says "holds the segments"
  run_code 3 fit wide.csv --ignore id,age --sources 2 --out no.json
  says "value '-9' is not 0 or 1"
  [ ! -e no.json ]
}

@test "the next command and the report repeat how the data were read" {
  cd "$BATS_FILE_TMPDIR"
  run_code 0 fit wide.csv --ignore id,age --missing -9,99 --sources 2 --out next.json
  [[ $out == *"blica assess next.json wide.csv --ignore id,age --missing -9,99"* ]]
  run_code 0 report next.json wide.csv --ignore id,age --missing -9,99 --out next.html
  grep -q -- "--ignore id,age --missing -9,99 --sources 2" next.html
}
