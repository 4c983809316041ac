#!/usr/bin/env bats
# Columns that say something of rows: --weights, --replicate-weights, --frequencies, --cluster, --strata
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

@test "frequencies give what repeated rows give in 50 designs at random" {
  cd "$BATS_TEST_TMPDIR"
  /usr/bin/python3 - "$BLICA" <<'P'
import json, random, subprocess, sys
def blica(*arguments):
    done = subprocess.run([sys.argv[1], *arguments, "--threads", "1", "--quiet"], capture_output=True, text=True)
    assert done.returncode in (0, 4), (design, arguments, done.stderr)
    return done.stdout
for design in range(50):
    draw = random.Random(design)
    k, levels, missing = draw.randint(1, 2), draw.choice((2, 2, 3, 5)), draw.choice((0, 0, 0.1))
    n, u = 2 * k + draw.randint(3, 5), draw.randint(3, 6)
    mixing = [[draw.gauss(0, 1) for _ in range(k)] for _ in range(n)]
    names = ",".join(f"q{i}" for i in range(n))
    with open("counted.csv", "w") as counted, open("repeated.csv", "w") as repeated:
        counted.write(f"{names},segment,times\n"), repeated.write(f"{names},segment\n")
        for s in range(u):
            sd = [draw.uniform(0.6, 1.6) for _ in range(k)]
            for _ in range(draw.randint(60, 120)):
                z = [draw.gauss(0, d) for d in sd]
                q = [sum(a * b for a, b in zip(row, z)) + draw.gauss(0, 1) for row in mixing]
                x = ["" if draw.random() < missing else str(sum(v > 1.6 * (c + 0.5) / (levels - 1) - 0.8 for c in range(levels - 1))) for v in q]
                times = draw.choice((0, 1, 1, 2, 5))
                counted.write(",".join(x) + f",{s},{times}\n")
                repeated.write((",".join(x) + f",{s}\n") * times)
    found = []
    for data, more in (("counted.csv", ["--frequencies", "times"]), ("repeated.csv", [])):
        blica("fit", data, "--sources", str(k), "--out", "m.json", *more, *(["--ordinal"] if levels > 2 else []))
        model = json.load(open("m.json"))
        found.append(([model[part] for part in ("mixing", "variances", "means", "cuts", "samples", "levels")],
                      blica("invariance", "m.json", data, "--json", *more)))
    assert found[0] == found[1], design
P
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

@test "strata: one is none, several change errors and tests, bad ones are refused" {
  cd "$BATS_FILE_TMPDIR"
  run_code 0 fit d/data.csv --sources 2 --out m.json
  cd "$BATS_TEST_TMPDIR"
  # clusters of 4 rows, 30 in a segment; a stratum that is the first item, one that is all, one that a cluster crosses, one that is
  # a cluster alone
  awk -F, -v OFS=, 'NR == 1 { print $0, "half", "all", "crossed", "lone"; next }
    { print $0, int(NR / 4) % 2, 1, NR % 2, $11 == "c3-80" ? 2 : 1 }' "$BATS_FILE_TMPDIR/f.csv" > f.csv
  numbers() { jq -c '[.mixing, .change.p, .m2_p, .margins, .thresholds_se]' <<< "$out"; }
  shown() { run_code 0 assess "$BATS_FILE_TMPDIR/m.json" f.csv $items --bootstrap 20 --json "$@"; }
  shown --cluster class
  plain=$(numbers)
  shown --cluster class --strata all
  [ "$(numbers)" = "$plain" ] && [ "$(jq .rows.strata <<< "$out")" = 0 ]
  shown --cluster class --strata half
  [ "$(numbers)" != "$plain" ] && [ "$(jq .rows.strata <<< "$out")" = 20 ]
  jq -r '.sentences[1]' <<< "$out" | grep -q "3[0-9][0-9] clusters count as independent within their strata."
  same=$(numbers)
  shown --cluster class --strata half --threads 3
  [ "$(numbers)" = "$same" ]
  shown --strata half --weights w
  jq -r '.sentences[1]' <<< "$out" | grep -q "Rows count as independent within 20 strata."
  run_code 0 invariance "$BATS_FILE_TMPDIR/m.json" f.csv $items --cluster class --json
  first=$out
  run_code 0 invariance "$BATS_FILE_TMPDIR/m.json" f.csv $items --cluster class --strata half --json
  [ "$out" != "$first" ]
  run_code 3 assess "$BATS_FILE_TMPDIR/m.json" f.csv --cluster class --strata crossed $items --out x.json
  says "are of one cluster but of different strata; a cluster must lie in one stratum"
  run_code 3 assess "$BATS_FILE_TMPDIR/m.json" f.csv --cluster class --strata lone $items --out x.json
  says "is of a cluster that is alone in its stratum there"
  sed '9s/,[^,]*$/,NA/' f.csv > bad.csv
  run_code 3 assess "$BATS_FILE_TMPDIR/m.json" bad.csv --strata lone $items --out x.json
  says "bad.csv, row 8: its stratum (--strata lone) is 'NA'; each row is of one stratum"
  run_code 2 assess "$BATS_FILE_TMPDIR/m.json" f.csv --strata x1 $items --out x.json
  says "as an item"
  run_code 2 assess "$BATS_FILE_TMPDIR/m.json" f.csv --strata segment $items --out x.json
  says "holds the segments"
  run_code 2 fit f.csv --strata half $items --sources 2 --out x.json
  says "give it to blica assess"
  run_code 2 loglik "$BATS_FILE_TMPDIR/m.json" f.csv --strata half $items
  says "no effect"
  run_code 2 sources "$BATS_FILE_TMPDIR/m.json" f.csv --strata half $items --out x.csv
  says "--strata has no effect"
  run_code 2 select f.csv --strata half $items
  says "does not know strata"
  run_code 2 correlate f.csv --strata half $items --out x.csv
  only_files bad.csv f.csv
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

@test "replicate weights give errors as surveys publish them" {
  cd "$BATS_FILE_TMPDIR"
  run_code 0 fit f.csv --weights w $items --sources 2 --out w.json
  # row groups are left out in turn: the jackknife, whose factor is 5/6
  awk -F, -v OFS=, 'NR == 1 { print $0, "rep1", "rep2", "rep3", "rep4", "rep5", "rep6"; next }
    { for (r = 0; r < 6; r++) $(12 + r) = NR % 6 == r ? 0 : $9 * 1.2; print }' f.csv > r.csv
  run_code 0 assess w.json r.csv --weights w --replicate-weights rep1:rep6 --replicate-method jk1 $items --json
  first=$out
  [ "$(jq -c '[.rows.replicates, .draws]' <<< "$first")" = "[6,6]" ]
  /usr/bin/python3 - "$first" <<'P'
import csv, json, statistics, sys
found, rows = json.loads(sys.argv[1]), list(csv.DictReader(open("r.csv")))
normal = statistics.NormalDist()
segments = list(dict.fromkeys(r["segment"] for r in rows))
def thresholds(weight):
    t = []
    for s in segments:
        own = [r for r in rows if r["segment"] == s]
        total = sum(float(r[weight]) for r in own)
        t.append([normal.inv_cdf(sum(float(r[weight]) for r in own if r[f"x{i}"] == "1") / total) for i in range(1, 7)])
    return t
whole, parts = thresholds("w"), [thresholds(f"rep{r}") for r in range(1, 7)]
for s in range(len(segments)):
    for i in range(6):
        wanted = (5 / 6 * sum((p[s][i] - whole[s][i]) ** 2 for p in parts)) ** 0.5
        assert abs(found["thresholds_se"][s][i] - wanted) < 1e-4 * wanted, (s, i, found["thresholds_se"][s][i], wanted)
assert found["mixing"]["se"] == found["mixing"]["se_bootstrap"]
P
  # the factor in numbers, columns as a list, another order of the columns, an array: the same
  run_code 0 assess w.json r.csv --weights w --replicate-weights rep4,rep5,rep6,12:14 --replicate-method 0.8333333333333334 $items --json
  [ "$out" = "$first" ]
  awk -F, -v OFS=, 'NR > 1 { $11 = NR; print }' r.csv > bare.csv
  /usr/bin/python3 -c 'import numpy as np; np.save("r.npy", np.loadtxt("bare.csv", delimiter=","))'
  run_code 0 fit r.npy --columns 2:7 --segment-column 8 --weights 9 --sources 2 --out n.json
  run_code 0 assess n.json r.npy --columns 2:7 --segment-column 8 --weights 9 --replicate-weights 12:17 --replicate-method jk1 --json
  [ "$(jq -c '[.mixing, .thresholds_se]' <<< "$out")" = "$(jq -c '[.mixing, .thresholds_se]' <<< "$first")" ]
  if [ -x "$(dirname "$BLICA")/blica-mpi" ] && command -v mpirun >/dev/null; then
    mpirun --allow-run-as-root --oversubscribe -n 2 "$(dirname "$BLICA")/blica-mpi" assess w.json r.csv --weights w \
      --replicate-weights rep1:rep6 --replicate-method jk1 $items --json --quiet > two.json
    [ "$(cat two.json)" = "$first" ]
  fi
}

@test "Ctrl-C during replicates ends the program with 130, and nothing is written" {
  cd "$BATS_TEST_TMPDIR"
  # errors of some of the replicates are none: they are not kept as draws of the bootstrap are
  "$BLICA" simulate --variables 40 --sources 8 --segments 20 --samples 100 --out s --quiet
  awk 'NR == 1 { printf "%s,w", $0; for (r = 0; r < 200; r++) printf ",rep%d", r; print ""; next }
    { printf "%s,1", $0; for (r = 0; r < 200; r++) printf ",%d", ((NR + r) % 7 > 2); print "" }' s/data.csv > r.csv
  run_code 0 fit r.csv --weights w --columns x1:x40 --sources 8 --out m.json
  /usr/bin/python3 - "$BLICA" "$(patience)" <<'P'
import os, pty, re, signal, subprocess, sys, time
master, slave = pty.openpty()
command = [sys.argv[1], "assess", "m.json", "r.csv", "--columns", "x1:x40", "--weights", "w", "--replicate-weights", "rep0:rep199",
           "--replicate-method", "1", "--out", "a.json"]
process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave)
os.close(slave)
shown, end = "", time.monotonic() + float(sys.argv[2])
while not re.search(r"replicate, \d+ %", shown):
    assert time.monotonic() < end, shown
    shown += os.read(master, 4096).decode()
process.send_signal(signal.SIGINT)
said = process.communicate()[0].decode()
assert process.returncode == 130 and said == "", (process.returncode, said)
P
  only_files m.json r.csv s
}

@test "bad replicate weights are refused, and nothing is written" {
  cd "$BATS_FILE_TMPDIR"
  run_code 0 fit d/data.csv --sources 2 --out m.json
  cd "$BATS_TEST_TMPDIR"
  awk -F, -v OFS=, '{ print $0, NR == 1 ? "rep1" : $9, NR == 1 ? "rep2" : 2 * $9 }' "$BATS_FILE_TMPDIR/f.csv" > f.csv
  given="$BATS_FILE_TMPDIR/m.json f.csv $items --out x.json"
  both="--replicate-weights rep1:rep2 --replicate-method brr"
  run_code 2 assess $given $both
  says "--weights is missing"
  run_code 2 assess $given --weights w --replicate-weights rep1:rep2
  says "--replicate-method is missing"
  run_code 2 assess $given --weights w --replicate-method brr
  says "--replicate-weights is missing"
  run_code 3 assess $given --weights w --replicate-weights rep1:rep9 --replicate-method brr
  says "no such column"
  run_code 2 assess $given --weights w --replicate-weights rep1:rep2 --replicate-method jk2
  says "give jk1, brr, fay=RHO"
  run_code 2 assess $given --weights w --replicate-weights rep1:rep2 --replicate-method 1,1,1
  says "3 factors, and there are 2 replicates"
  run_code 2 assess $given --weights w --replicate-weights rep1 --replicate-method brr
  says "at least two"
  run_code 2 assess $given --weights w --replicate-weights w:rep2 --replicate-method brr
  says "another option"
  run_code 2 assess "$BATS_FILE_TMPDIR/m.json" f.csv --columns x1:x6,rep1 --out x.json --weights w $both
  says "as an item"
  run_code 2 assess $given --weights w $both --bootstrap 50
  says "leave one of the two out"
  for bad in -1 nan heavy ''; do
    awk -F, -v OFS=, -v bad="$bad" 'NR == 8 { $13 = bad } { print }' f.csv > bad.csv
    run_code 3 assess "$BATS_FILE_TMPDIR/m.json" bad.csv $items --out x.json --weights w $both
    says "bad.csv, row 7, column 13 ('rep2'): a replicate weight"
  done
  for verb in "fit f.csv --sources 2 --out x.json" "fit f.csv --sources 2 --method mle --out x.json" "count f.csv --out x.npz" \
    "check f.csv" "select f.csv" "invariance $BATS_FILE_TMPDIR/m.json f.csv" "loglik $BATS_FILE_TMPDIR/m.json f.csv" \
    "sources $BATS_FILE_TMPDIR/m.json f.csv --out x.csv" \
    "correlate f.csv --out x.npz --acm y.csv" "report $BATS_FILE_TMPDIR/m.json f.csv --out x.html"; do
    run_code 2 $verb $items --weights w $both
  done
  only_files bad.csv f.csv
}

@test "several processes read weights, clusters and strata as one does" {
  [ -x "$(dirname "$BLICA")/blica-mpi" ] && command -v mpirun >/dev/null || skip "no MPI (libopenmpi-dev, openmpi-bin)"
  cd "$BATS_FILE_TMPDIR"
  run_code 0 count f.csv --weights w --frequencies freq $items --out one.npz
  mpirun --allow-run-as-root --oversubscribe -n 2 "$(dirname "$BLICA")/blica-mpi" count f.csv --weights w --frequencies freq $items --out two.npz
  cmp one.npz two.npz
  awk -F, -v OFS=, 'NR == 1 { print $0, "half"; next } { print $0, int(NR / 4) % 2 }' f.csv > half.csv
  run_code 0 fit d/data.csv --sources 2 --out ranks.json
  for more in "" "--cluster class --weights w"; do
    run_code 0 assess ranks.json half.csv --strata half $more $items --bootstrap 20 --json
    mpirun --allow-run-as-root --oversubscribe -n 2 "$(dirname "$BLICA")/blica-mpi" assess ranks.json half.csv --strata half $more \
      $items --bootstrap 20 --json --quiet > two.json
    [ "$(cat two.json)" = "$out" ]
  done
}
