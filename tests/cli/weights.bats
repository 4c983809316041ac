#!/usr/bin/env bats
# Columns that say something of rows: --weights, --frequencies, --cluster
load helpers

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  "$BLICA" simulate --variables 6 --sources 2 --segments 10 --samples 120 --out d --quiet
  # a frequency, a weight, a weight that is the same for all, and a cluster beside the items of each row
  awk -F, -v OFS=, 'NR == 1 { print "freq", $0, "w", "same", "class"; next }
    { print NR * 7 % 4, $0, 0.25 + NR * 13 % 29, 2.5, "c" $7 "-" int(NR / 4) }' d/data.csv > f.csv
  awk -F, -v OFS=, 'NR == 1 { print; next } { for (i = 0; i < $1; i++) print }' f.csv > repeated.csv
}

items="--columns x1:x6"

@test "frequencies give what repeated rows give, bit by bit" {
  cd "$BATS_FILE_TMPDIR"
  run_code 0 count f.csv --frequencies freq $items --out a.npz && run_code 0 count repeated.csv $items --out b.npz
  cmp a.npz b.npz
  run_code 0 fit f.csv --frequencies freq $items --sources 2 --out a.json
  run_code 0 fit repeated.csv $items --sources 2 --out b.json
  [ "$(jq -c '[.mixing, .variances, .means, .samples]' a.json)" = "$(jq -c '[.mixing, .variances, .means, .samples]' b.json)" ]
  # the order of such rows tells nothing: adjacent copies are no time series
  run_code 0 assess a.json f.csv --frequencies 1 $items --json --bootstrap none
  first=$out
  run_code 0 assess b.json repeated.csv $items --json --bootstrap none
  [ "$(jq -c '[.srmr, .expected_mcs == null]' <<< "$first")" = "$(jq -c '[.srmr, .expected_mcs == null]' <<< "$out")" ]
  [ "$(jq -c '.change.lag' <<< "$first")" = null ] && [ "$(jq '.change.lag > 0.1' <<< "$out")" = true ]
}

@test "weights that are all the same change nothing; others count as their effective number of rows" {
  cd "$BATS_FILE_TMPDIR"
  run_code 0 count f.csv --weights same $items --out a.npz && run_code 0 count f.csv $items --out b.npz
  cmp a.npz b.npz
  run_code 0 count f.csv --weights w $items --out w.csv
  says "rows of 6 variables in 10 segments"
  /usr/bin/python3 - <<'P'
import csv
rows = list(csv.DictReader(open("f.csv")))
first = [r for r in rows if r["segment"] == "1"]
w = [float(r["w"]) for r in first]
scale = sum(w) / sum(v * v for v in w)
want = sum(v * scale for v, r in zip(w, first) if r["x1"] == "1" and r["x2"] == "1")
got = next(r for r in csv.DictReader(open("w.csv")) if (r["segment"], r["i"], r["j"]) == ("1", "x1", "x2"))
assert abs(float(got["n11"]) - want) < 1e-4, (got, want)
P
  run_code 0 fit f.csv --weights w $items --sources 2 --out w.json
  [[ "$out$err" == *"--weights w"* ]]
}

@test "columns of attributes are found in .npy arrays, too, and in a table without names" {
  cd "$BATS_FILE_TMPDIR"
  awk -F, -v OFS=, 'NR > 1 { print $1, $2, $3, $4, $5, $6, $7, $9, $8 }' f.csv > bare.csv
  /usr/bin/python3 -c 'import numpy as np; np.save("bare.npy", np.loadtxt("bare.csv", delimiter=","))'
  run_code 0 count f.csv --weights w --frequencies freq $items --out a.npz
  for file in bare.csv bare.npy; do
    run_code 0 count "$file" --segment-column last --frequencies 1 --weights 8 --out b.npz
    /usr/bin/python3 -c 'import numpy as np; assert (np.load("a.npz")["n11"] == np.load("b.npz")["n11"]).all()'
  done
}

@test "bad weights, frequencies and clusters are refused, and nothing is written" {
  cd "$BATS_FILE_TMPDIR"
  run_code 0 fit d/data.csv --sources 2 --out m.json
  cd "$BATS_TEST_TMPDIR"
  for bad in 0 -2 nan inf heavy ''; do
    awk -F, -v OFS=, -v bad="$bad" 'NR == 8 { $9 = bad } { print }' "$BATS_FILE_TMPDIR/f.csv" > bad.csv
    run_code 3 fit bad.csv --weights w $items --sources 2 --out x.json
    says "bad.csv, row 7: its weight (--weights w) is '$bad'"
  done
  for bad in 1.5 -1 many ''; do
    awk -F, -v OFS=, -v bad="$bad" 'NR == 8 { $1 = bad } { print }' "$BATS_FILE_TMPDIR/f.csv" > bad.csv
    run_code 3 fit bad.csv --frequencies freq $items --sources 2 --out x.json
    says "bad.csv, row 7: its frequency (--frequencies freq) is '$bad'"
  done
  sed 's/c2-35/c1-1/' "$BATS_FILE_TMPDIR/f.csv" > bad.csv
  run_code 3 assess "$BATS_FILE_TMPDIR/m.json" bad.csv --cluster class $items --out x.json
  says "are of one cluster but of the segments '1' and '2'"
  run_code 3 assess "$BATS_FILE_TMPDIR/m.json" bad.csv --cluster nosuch $items --out x.json
  says "no such column"
  cp "$BATS_FILE_TMPDIR/f.csv" f.csv
  run_code 2 fit f.csv --weights w --columns x1:x6,w --sources 2 --out x.json
  says "as an item"
  run_code 2 fit f.csv --weights segment --sources 2 --out x.json
  says "holds the segments"
  run_code 2 fit f.csv --weights w --frequencies w $items --sources 2 --out x.json
  says "another option"
  run_code 2 fit f.csv --frequencies freq --segment-length 100 $items --sources 2 --out x.json
  says "--frequencies repeats rows"
  run_code 2 fit f.csv --cluster class $items --sources 2 --out x.json
  says "give it to blica assess"
  cut -d, -f 2-7,9 f.csv > time.csv
  run_code 2 segment time.csv --weights w --sources 2 --out x.csv
  says "no weights"
  run_code 2 sources "$BATS_FILE_TMPDIR/m.json" f.csv --weights w $items --out x.csv
  says "no effect"
  run_code 2 loglik "$BATS_FILE_TMPDIR/m.json" f.csv --cluster class $items
  says "no effect"
  for method in ivae fastica; do
    run_code 2 fit f.csv --weights w $items --sources 2 --method "$method" --out x.json
    says "method $method does not know weights"
  done
  run_code 2 select f.csv --cluster class $items
  says "does not know clusters"
  run_code 0 count f.csv $items --out c.npz
  run_code 2 fit c.npz --weights w --sources 2 --out x.json
  says "holds counts, not rows"
  only_files bad.csv c.npz f.csv time.csv
}

@test "several processes read weights as one does" {
  [ -x "$(dirname "$BLICA")/blica-mpi" ] && command -v mpirun >/dev/null || skip "no MPI (libopenmpi-dev, openmpi-bin)"
  cd "$BATS_FILE_TMPDIR"
  run_code 0 count f.csv --weights w --frequencies freq $items --out one.npz
  mpirun --allow-run-as-root --oversubscribe -n 2 "$(dirname "$BLICA")/blica-mpi" count f.csv --weights w --frequencies freq $items --out two.npz
  cmp one.npz two.npz
}
