#!/usr/bin/env bats
# blica loglik and blica sources
load helpers

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
}

simulated() {
  run_code 0 simulate --variables 4 --sources "$1" --segments 3 --samples 300 --seed 5 --out d
}

@test "loglik agrees between engines within the stated errors, and adds up over segments" {
  simulated 2
  run_code 0 loglik d/model.json d/data.csv --engine grid --json
  echo "$out" >grid.json
  run_code 0 loglik d/model.json d/data.csv --engine lattice --error 0.01 --json
  echo "$out" >lattice.json
  /usr/bin/python3 - <<'P'
import json
g, l = json.load(open("grid.json")), json.load(open("lattice.json"))
assert g["rows"] == 900 and len(g["segments"]) == 3 and g["engine"] == "grid" and l["engine"] == "lattice"
assert abs(sum(s["loglik"] for s in g["segments"]) - g["loglik"]) < 1e-9
assert 0 < g["error"] < 1e-4 and 0 < l["error"] < 0.05
assert abs(g["loglik"] - l["loglik"]) <= g["error"] + l["error"], (g["loglik"], l["loglik"], l["error"])
for a, b in zip(g["segments"], l["segments"]):
    assert a["segment"] == b["segment"] and abs(a["loglik"] - b["loglik"]) <= a["error"] + b["error"]
P
}

@test "columns may come in any order; missing values are integrated out" {
  simulated 2
  run_code 0 loglik d/model.json d/data.csv --json
  echo "$out" >a.json
  awk -F, -v OFS=, '{print $3,$1,$5,$4,$2}' d/data.csv >turned.csv
  run_code 0 loglik d/model.json turned.csv --json
  echo "$out" >b.json
  # rows without any value add nothing
  { cat d/data.csv; echo "NA,NA,NA,NA,1"; echo ",,,,2"; } >padded.csv
  run_code 0 loglik d/model.json padded.csv --json
  echo "$out" >c.json
  # P(x1=1) + P(x1=0) = 1, and P(x1,x2) sums to it
  printf 'x1,x2,x3,x4,segment\n1,NA,NA,NA,2\n' >one.csv
  printf 'x1,x2,x3,x4,segment\n0,NA,NA,NA,2\n' >zero.csv
  for f in one zero; do
    run_code 0 loglik d/model.json $f.csv --json
    echo "$out" >$f.json
  done
  for x in 00 01 10 11; do
    printf 'x1,x2,x3,x4,segment\n1,NA,%s,%s,2\n' ${x:0:1} ${x:1:1} >p.csv
    run_code 0 loglik d/model.json p.csv --json
    echo "$out" >p$x.json
  done
  /usr/bin/python3 - <<'P'
import json, math
v = lambda f: json.load(open(f + ".json"))["loglik"]
assert abs(v("a") - v("b")) < 1e-6 and abs(v("a") - v("c")) < 1e-9
assert abs(math.exp(v("one")) + math.exp(v("zero")) - 1) < 1e-8
assert abs(sum(math.exp(v("p" + x)) for x in ("00", "01", "10", "11")) - math.exp(v("one"))) < 1e-8
P
}

@test "the same bits on any number of threads" {
  run_code 0 simulate --variables 7 --sources 5 --segments 3 --samples 300 --seed 5 --out d
  run_code 0 loglik d/model.json d/data.csv --threads 1 --json
  one=$out
  run_code 0 loglik d/model.json d/data.csv --threads 3 --json
  [ "$one" = "$out" ]
  run_code 0 sources d/model.json d/data.csv --threads 1 --out a.csv
  run_code 0 sources d/model.json d/data.csv --threads 3 --out b.csv
  cmp a.csv b.csv
}

@test "grid and lattice agree; auto takes the grid for few sources and states a small error" {
  run_code 0 simulate --variables 6 --sources 3 --segments 3 --samples 300 --seed 5 --out d
  for engine in auto grid lattice; do
    run_code 0 loglik d/model.json d/data.csv --engine $engine --error 0.01 --json
    echo "$out" >$engine.json
  done
  /usr/bin/python3 - <<'P'
import json
e, g, l = (json.load(open(f + ".json")) for f in ("auto", "grid", "lattice"))
assert e["engine"] == "grid"
assert e["error"] < 0.01
for other in (g, l):
    assert abs(e["loglik"] - other["loglik"]) <= e["error"] + other["error"], (e["loglik"], other["loglik"], other["error"])
P
}

@test "sources: rows of unknown segment are the mixture over segments; equal rows are computed once" {
  simulated 2
  run_code 0 sources d/model.json d/data.csv --segment unknown --out unknown.csv
  says "(16 distinct patterns"
  run_code 0 sources d/model.json d/data.csv --out known.csv
  says "distinct patterns"
  # by hand: every pattern under every segment, weighted by samples times probability
  for s in 1 2 3; do
    awk -F, -v OFS=, -v s=$s 'NR == 1 || $5 != "" {if (NR > 1) $5 = s; print}' d/data.csv >as$s.csv
    run_code 0 sources d/model.json as$s.csv --out as$s.out
    sed -n 2,21p as$s.csv | while read -r row; do
      { head -1 d/data.csv; echo "$row"; } >one.csv
      "$BLICA" loglik d/model.json one.csv --json --quiet | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["loglik"])'
    done >as$s.loglik
  done
  /usr/bin/python3 - <<'P'
import csv, math
read = lambda f: [[float(v) for v in r[:4]] for r in list(csv.reader(open(f)))[1:21]]
ours, parts = read("unknown.csv"), [read(f"as{s}.out") for s in (1, 2, 3)]
log_p = [[float(l) for l in open(f"as{s}.loglik")] for s in (1, 2, 3)]
for r in range(20):
    w = [math.exp(log_p[s][r]) for s in range(3)]  # samples are equal
    for j in (0, 2):
        mean = sum(w[s] * parts[s][r][j] for s in range(3)) / sum(w)
        two = sum(w[s] * (parts[s][r][j] ** 2 + parts[s][r][j + 1] ** 2) for s in range(3)) / sum(w)
        assert abs(ours[r][j] - mean) < 1e-6 and abs(ours[r][j + 1] - math.sqrt(two - mean * mean)) < 1e-6, r
P
}

@test "bad input: exit 3, the thing is named, nothing is written" {
  simulated 2
  sed '1s/x2/height/' d/data.csv >other.csv
  run_code 3 loglik d/model.json other.csv
  says "'x2'"
  sed 's/,3$/,9/' d/data.csv >unknown.csv
  run_code 3 loglik d/model.json unknown.csv
  says "segment '9'"
  run_code 3 sources d/model.json unknown.csv --out s.csv
  says "segment '9'"
  says "segment unknown"
  [ ! -e s.csv ]
  run_code 0 sources d/model.json unknown.csv --segment unknown --out s.csv
  [ "$(wc -l <s.csv)" -eq 901 ]
  rm s.csv
  /usr/bin/python3 -c 'import json; m = json.load(open("d/model.json")); m["variances"][1][0] = -1.0; json.dump(m, open("negative.json", "w"))'
  run_code 3 loglik negative.json d/data.csv
  run_code 3 sources negative.json d/data.csv --out s.csv
  [ ! -e s.csv ]
  run_code 0 simulate --variables 6 --sources 5 --segments 2 --samples 20 --out big
  run_code 3 loglik big/model.json big/data.csv --engine grid
  says "5"
  # what was there stays as it was
  echo before >s.csv
  run_code 3 sources d/model.json other.csv --out s.csv
  says "'x2'"
  run_code 3 sources negative.json d/data.csv --out s.csv
  says "variances[1][0] is -1"
  /usr/bin/python3 -c 'import json; m = json.load(open("d/model.json")); m["variances"][1][0] = 0.0; json.dump(m, open("flat.json", "w"))'
  run_code 3 sources flat.json d/data.csv --out s.csv
  says "not positive definite"
  run_code 3 loglik flat.json d/data.csv
  says "not positive definite"
  [ "$(cat s.csv)" = before ]
  # more variables in the data than in the model; a mean that is no number; engines that cannot do this many variables
  awk -F, -v OFS=, '{print $0, NR == 1 ? "extra" : 1}' d/data.csv >wide.csv
  run_code 3 loglik d/model.json wide.csv
  says "'extra'"
  /usr/bin/python3 -c 'import json; m = json.load(open("d/model.json")); m["means"][2][1] = float("nan"); json.dump(m, open("nan.json", "w"))'
  run_code 3 loglik nan.json d/data.csv
  run_code 0 simulate --variables 130 --sources 4 --segments 2 --samples 5 --out many
  run_code 3 loglik many/model.json many/data.csv --engine lattice
  says "up to 128 variables; the model has 130"
  run_code 3 loglik many/model.json many/data.csv --engine grid
  says "up to 3 sources and 128 variables; the model has 4 and 130"
  [ "$(cat s.csv)" = before ]
  run_code 3 loglik missing.json d/data.csv
  run_code 3 loglik d/model.json missing.csv
}

@test "sources --draws: plausible values have the mean and standard deviation of the row; --standardise scales all" {
  simulated 2
  head -3 d/data.csv >few.csv
  run_code 0 sources d/model.json few.csv --draws 1000 --out draws.csv
  run_code 0 sources d/model.json few.csv --draws 1000 --standardise --out standard.csv
  /usr/bin/python3 - <<'P'
import csv, statistics
for name in ("draws", "standard"):
    for row in csv.DictReader(open(name + ".csv")):
        for z in ("z1", "z2"):
            draws = [float(row[f"{z}_draw{d}"]) for d in range(1, 1001)]
            mean, sd = float(row[z]), float(row[z + "_sd"])
            assert abs(statistics.mean(draws) - mean) < 0.15 * sd and abs(statistics.stdev(draws) / sd - 1) < 0.1
P
}

@test "sources: rows without a segment, and files without segments" {
  simulated 2
  cut -d, -f1-4 d/data.csv >bare.csv
  run_code 3 sources d/model.json bare.csv --out s.csv
  says "--segment unknown"
  [ ! -e s.csv ]
  run_code 0 sources d/model.json bare.csv --segment unknown --out bare.out
  run_code 0 sources d/model.json d/data.csv --segment unknown --out unknown.out
  run_code 0 sources d/model.json d/data.csv --out known.out
  # every other row has no segment
  awk -F, -v OFS=, 'NR > 1 && NR % 2 {$5 = NR % 3 ? "NA" : ""} {print}' d/data.csv >mixed.csv
  run_code 0 sources d/model.json mixed.csv --out mixed.out
  cmp <(cut -d, -f1-4 bare.out) <(cut -d, -f1-4 unknown.out)
  cmp <(awk 'NR % 2 == 0' mixed.out) <(awk 'NR % 2 == 0' known.out)
  cmp <(awk 'NR % 2' mixed.out | cut -d, -f1-4) <(awk 'NR % 2' unknown.out | cut -d, -f1-4)
  run_code 3 loglik d/model.json mixed.csv
  says "has no segment"
}

@test "sources: reliability of the scores, by segment too, and rows with few values" {
  simulated 2
  { cat d/data.csv; echo "NA,NA,NA,1,1"; echo "NA,NA,NA,NA,"; } >few.csv
  run_code 0 sources d/model.json few.csv --out s.csv --json
  says "2 rows have values of fewer than half of the 4 items (1 of none)"
  says "z1: reliability of the scores 0."
  echo "$out" >r.json
  /usr/bin/python3 - <<'P'
import csv, json, statistics as st
r, rows = json.load(open("r.json")), list(csv.DictReader(open("s.csv")))
assert (r["out"], r["rows"], r["few_answers"], r["no_answers"]) == ("s.csv", 902, 2, 1)
assert [(s["segment"], s["rows"]) for s in r["segments"]] == [("1", 301), ("2", 300), ("3", 300), (None, 1)]
assert r["segments"][3]["reliability"] == [None, None]
def reliability(rows, z):
    spread = st.pvariance([float(row[z]) for row in rows])
    return spread / (spread + st.mean(float(row[z + "_sd"]) ** 2 for row in rows))
for j, z in enumerate(("z1", "z2")):
    assert abs(reliability(rows, z) - r["reliability"][j]) < 1e-8
    for s in r["segments"][:3]:
        own = [row for row in rows if row["segment"] == s["segment"]]
        assert abs(reliability(own, z) - s["reliability"][j]) < 1e-8
P
  run_code 2 sources d/model.json few.csv --out - --json
  says "--out a file"
}

@test "sources of many rows come in pieces that one cannot see" {
  run_code 0 simulate --variables 4 --sources 2 --segments 2 --samples 140000 --seed 5 --out d
  run_code 0 sources d/model.json d/data.csv --draws 1 --out all.csv
  says "280000 rows"
  [ "$(wc -l <all.csv)" -eq 280001 ]
  # the same rows turned around, so that they are in other pieces
  { head -1 d/data.csv; tail -n +2 d/data.csv | tac; } >turned.csv
  run_code 0 sources d/model.json turned.csv --out turned.out
  cmp <(tail -n +2 all.csv | cut -d, -f1-4,7) <(tail -n +2 turned.out | tac)
  # draws of later pieces go on where those of the first end
  [ "$(tail -n +2 all.csv | cut -d, -f5,6 | sort -u | wc -l)" -gt 279000 ]
  # what is wrong in a later piece leaves no file
  sed '$s/^./7/' d/data.csv >wrong.csv
  run_code 3 sources d/model.json wrong.csv --out w.csv
  says "row 280000"
  [ ! -e w.csv ]
}

@test "sources and segment carry identifiers through" {
  simulated 2
  awk -F, -v OFS=, '{print NR == 1 ? "person" : "\"p, " NR "\"", $0}' d/data.csv >ids.csv
  run_code 3 sources d/model.json ids.csv --out s.csv
  says "--id or --ignore"
  run_code 0 sources d/model.json ids.csv --id person --out s.csv
  run_code 0 sources d/model.json d/data.csv --out plain.csv
  [ "$(head -1 s.csv | cut -d, -f1,2)" = "person,z1" ]
  [ "$(sed -n 2p s.csv | cut -d, -f1,2)" = '"p, 2"' ]
  cmp <(cut -d, -f3- <(tail -n +2 s.csv)) <(tail -n +2 plain.csv)
  # other commands leave the column out
  run_code 0 loglik d/model.json ids.csv --id 1
  run_code 3 loglik d/model.json ids.csv --id nobody
  says "nobody"
  cut -d, -f1-5 <(sed 's/^"p, /p/; s/",/,/' ids.csv) >series.csv
  run_code 0 segment series.csv --sources 1 --states 2 --min-length 5 --id person --out states.csv
  [ "$(head -1 states.csv)" = "found_segment,person" ]
  [ "$(sed -n 5p states.csv | cut -d, -f2)" = p5 ]
  # a number in place of an item
  awk -F, -v OFS=, '{print NR == 1 ? "person" : NR, $0}' d/data.csv >numbers.csv
  run_code 3 fit numbers.csv --sources 2 --ordinal --out m.json
  says "--ignore"
  says "--id"
}
