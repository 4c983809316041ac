#!/usr/bin/env bats
# blica assess: against lavaan and an independent computation, on data without structure, and bad input.
load helpers

# LSAT section 7 (Bock and Lieberman 1970): rows as counts of the 32 patterns.
lsat7() {
  /usr/bin/python3 - <<'P'
counts = [12, 19, 1, 7, 3, 19, 3, 17, 10, 5, 3, 7, 7, 23, 8, 28, 7, 39, 11, 34, 14, 51, 15, 90, 6, 25, 7, 35, 18, 136, 32, 308]
print("Q1,Q2,Q3,Q4,Q5,segment")
for pattern, count in enumerate(counts):
    for _ in range(count):
        print(",".join(format(pattern, "05b")) + ",all")
P
}

@test "LSAT7: loadings and standard errors of lavaan's PML, M2 near lavaan's scaled statistic" {
  lsat7 >l7.csv
  "$BLICA" fit l7.csv --sources 1 --method pairwise --prior none --allow-unidentified --out l7.json --quiet 2>/dev/null
  run_code 0 assess l7.json l7.csv --bootstrap none --json
  echo "$out" >assessed.json
  /usr/bin/python3 - <<'P'
import csv, json
import numpy as np
from math import erf, sqrt
r, m = json.load(open("assessed.json")), json.load(open("l7.json"))
b = np.array([row[0] for row in m["mixing"]]) * sqrt(m["link"])
loading, se = b / np.sqrt(1 + b * b), np.array([row[0] for row in r["mixing"]["se"]]) * sqrt(m["link"]) / (1 + b * b) ** 1.5
# lavaan 0.6-14, estimator PML, standardised
assert np.allclose(loading, [.502, .529, .698, .432, .383], rtol=.02), loading
assert np.allclose(se, [.070, .062, .066, .059, .070], rtol=.02), se
assert abs(r["srmr"] - .045) < .001, r["srmr"]

# lavaan's WLSMV, scaled and shifted: 11.677 on 5 df; M2 from all patterns (mirt): 11.938
assert r["df"] == 5 and abs(r["m2"] - 11.677) < .3, r["m2"]
P
}

@test "the verdict in four sentences" {
  "$BLICA" simulate --variables 6 --sources 2 --segments 10 --samples 300 --out a --quiet
  "$BLICA" fit a/data.csv --sources 2 --out m.json --quiet
  run_code 0 assess m.json a/data.csv
  [[ $out == "Design: 10 segments of 6 variables can determine 2 sources if their variances change"*"Change: the data show that variances change"*"Fit: close"*"Axes: well determined"*"expected MCS"* ]]
}

@test "LSAT7 by mle: errors of loadings and cuts are those of the expected information over all patterns" {
  lsat7 >l7.csv
  "$BLICA" fit l7.csv --sources 1 --method mle --prior none --allow-unidentified --out l7.json --quiet 2>/dev/null
  run_code 0 assess l7.json l7.csv --bootstrap none --json
  echo "$out" >assessed.json
  /usr/bin/python3 - <<'P'
import json
import numpy as np
from math import erf, sqrt
r, m = json.load(open("assessed.json")), json.load(open("l7.json"))
phi = np.vectorize(lambda y: 0.5 * (1 + erf(y / sqrt(2))))
z = np.linspace(-9, 9, 721); w = np.exp(-z * z / 2); w /= w.sum()
patterns = np.array([[int(c) for c in format(p, "05b")] for p in range(32)])
c = sqrt(m["link"])
def probabilities(theta):
    one = phi(c * theta[:5, None] * z - theta[5:, None])
    return np.array([(np.prod(np.where(p[:, None] == 1, one, 1 - one), axis=0) * w).sum() for p in patterns])
cuts = np.array([x[0] if isinstance(x, list) else x for x in m["cuts"]])
theta, h = np.concatenate([[row[0] for row in m["mixing"]], cuts]), 1e-5
pi = probabilities(theta)
slope = np.array([(probabilities(theta + h * e) - probabilities(theta - h * e)) / (2 * h) for e in np.eye(10)]).T
wanted = np.sqrt(np.diag(np.linalg.inv(1000 * slope.T @ (slope / pi[:, None]))))
found = np.array([row[0] for row in r["mixing"]["se"]] + r["cuts_se"])
assert np.allclose(found, wanted, rtol=.06), (found / wanted)
P
}

@test "fair coins: no change, undetermined, in words" {
  /usr/bin/python3 -c '
import random
random.seed(3)
print(",".join(f"x{i}" for i in range(8)) + ",segment")
for row in range(1000): print(",".join(random.choice("01") for _ in range(8)) + f",{row % 10}")' >coins.csv
  "$BLICA" fit coins.csv --sources 3 --out coins.json --quiet
  run_code 0 assess coins.json coins.csv --bootstrap none
  [[ $out == *"do not show that variances change"* ]]
  [[ $out == *"undetermined"* ]]
  [[ $out != *"is identified"* ]]
}

@test "simulated change is found, and the JSON has the fields that scripts read" {
  "$BLICA" simulate --variables 6 --sources 2 --segments 10 --samples 500 --out s --quiet
  "$BLICA" fit s/data.csv --sources 2 --out m.json --quiet
  run_code 0 assess m.json s/data.csv --bootstrap 20 --out assessed.json --json
  echo "$out" | /usr/bin/python3 -c '
import json, sys
r = json.load(sys.stdin)
assert r == json.load(open("assessed.json"))
assert .9 < r["expected_mcs"] <= 1 and r["change"]["p"] < 1e-6 and r["srmr"] < .1 and r["rmsea2"] < .05, r
assert [c["source"] for c in r["columns"]] == ["z1", "z2"]
assert all(0 < c["angle_degrees"] < 20 and c["stability"] > .9 for c in r["columns"]), r["columns"]
assert r["verdict"] == dict(design="yes", change="yes", fit="yes", axes="yes"), r["sentences"]
assert r["distance"] == 0 and .5 < r["chance_mcs"] < 1 and len(r["sentences"]) == 4
assert len(r["items"]) == 6 and len(r["segments"]) == 10'
}

# answers FILE: the verdict of an assessment in JSON, as in "design=yes change=no fit=weak axes=unknown".
answers() {
  /usr/bin/python3 -c 'import json, sys; print(*(f"{k}={v}" for k, v in json.load(open(sys.argv[1]))["verdict"].items()))' "$1"
}

@test "what is not a fit of these data is never certified: random models, stopped fits, other waves, too few sources" {
  "$BLICA" simulate --variables 8 --sources 3 --segments 12 --samples 400 --seed 4 --out s --quiet
  "$BLICA" simulate --variables 8 --sources 3 --segments 12 --samples 400 --seed 5 --out t --quiet
  "$BLICA" fit s/data.csv --sources 3 --out good.json --quiet
  run_code 0 assess good.json s/data.csv --bootstrap none --strict --out good.a
  [[ $(answers good.a) == "design=yes change=yes fit=yes axes=yes" ]]
  for seed in 1 2 3 4 5; do
    /usr/bin/python3 -c '
import json, random, sys
m = json.load(open("good.json"))
random.seed(int(sys.argv[1]))
m["mixing"] = [[random.gauss(0, 1) for _ in row] for row in m["mixing"]]
m["variances"] = [[random.lognormvariate(0, .7) for _ in row] for row in m["variances"]]
json.dump(m, open("random.json", "w"))' $seed
    run_code 5 assess random.json s/data.csv --bootstrap none --strict --out random.a
    [[ $(answers random.a) == *"fit=no axes=unknown" ]]
    [[ $out == *"not the optimum for these data"* ]]
  done
  "$BLICA" fit s/data.csv --sources 3 --max-iterations 1 --out stopped.json --quiet || true
  run_code 5 assess stopped.json s/data.csv --bootstrap none --strict --out stopped.a
  [[ $(answers stopped.a) == *"fit=no axes=unknown" ]]
  run_code 5 assess good.json t/data.csv --bootstrap none --strict --out other.a
  [[ $(answers other.a) == *"fit=no axes=unknown" ]]
  /usr/bin/python3 -c '
import json
good, stopped, other = (json.load(open(f"{name}.a")) for name in ("good", "stopped", "other"))
assert good["refit_gain"] == 0 < stopped["refit_gain"] < other["refit_gain"], [r["refit_gain"] for r in (good, stopped, other)]
assert good["m2_p"] > .01 and other["m2_p"] < 1e-6 and other["df"] > good["df"]'
  "$BLICA" fit s/data.csv --sources 2 --out few.json --quiet
  run_code 5 assess few.json s/data.csv --bootstrap none --strict --out few.a
  [[ $(answers few.a) == *"fit=no axes=no" ]]
  [[ $out == *"Try more sources"* ]]
}

@test "an item given twice is named, and nothing is certified" {
  "$BLICA" simulate --variables 6 --sources 2 --segments 10 --samples 400 --out s --quiet
  awk -F, -v OFS=, 'NR > 1 { $2 = $1 } { print }' s/data.csv >twice.csv
  "$BLICA" fit twice.csv --sources 2 --out m.json --quiet
  run_code 5 assess m.json twice.csv --bootstrap none --strict
  [[ $out == *"'x1' and 'x2' agree in all rows"* ]]
  [[ $out != *"well determined"* ]]
}

@test "rows that depend on those before them: effective rows, and no verdict of change where they hold too few draws" {
  for decay in 0.6 0.95; do
    /usr/bin/python3 - $decay >rows.csv <<'P'
import math, random, sys
f, n, k = float(sys.argv[1]), 8, 2
random.seed(2)
A = [[random.gauss(0, 1) for _ in range(k)] for _ in range(n)]
z = [random.gauss(0, 1) for _ in range(k)]
print(",".join(f"x{i}" for i in range(n)))
for row in range(1500):
    z = [f * value + math.sqrt(1 - f * f) * random.gauss(0, 1) for value in z]
    print(",".join(str(int(sum(a * b for a, b in zip(r, z)) + 1.6 * random.gauss(0, 1) > 0)) for r in A))
P
    "$BLICA" fit rows.csv --segment-length 100 --sources 2 --out m.json --quiet
    run_code 0 assess m.json rows.csv --segment-length 100 --bootstrap none --out $decay.a
    [[ $out == *"depend on those before them"* ]]
  done
  [[ $(answers 0.95.a) == *"change=unknown"*"axes=unknown" ]]
  /usr/bin/python3 -c '
import json
a, b = (json.load(open(f"{decay}.a"))["change"] for decay in ("0.6", "0.95"))
assert .4 < a["decay"] < .75 < .85 < b["decay"] and b["draws_per_segment"] < 15 < a["draws_per_segment"] < 80, (a, b)'
}

@test "M2 does not depend on how much a prior shrinks the estimate" {
  "$BLICA" simulate --variables 6 --sources 2 --segments 4 --samples 500 --seed 8 --out s --quiet
  for sd in 0.7 3; do
    "$BLICA" fit s/data.csv --sources 2 --prior fixed --prior-mixing $sd --prior-variance 1 --out m$sd.json --quiet
    run_code 0 assess m$sd.json s/data.csv --bootstrap none --json
    echo "$out" >a$sd.json
  done
  /usr/bin/python3 -c '
import json
a, b = (json.load(open(f"a{sd}.json")) for sd in ("0.7", "3"))
assert a["df"] == b["df"] == 42 and abs(a["m2"] - b["m2"]) < 0.2, (a["m2"], b["m2"])'
}

@test "ordinal items: errors of every cut; a level that nobody chose and missing values leave M2 as it is" {
  "$BLICA" simulate --variables 5 --sources 1 --segments 3 --samples 500 --levels 4 --seed 5 --out s --quiet
  awk -F, -v OFS=, 'NR > 1 { if ($1 == 2) $1 = 3; if (NR % 7 == 0) $3 = "" } { print }' s/data.csv >odd.csv
  for data in s/data.csv odd.csv; do
    "$BLICA" fit $data --ordinal --sources 1 --out m.json --quiet 2>/dev/null
    run_code 0 assess m.json $data --ordinal --bootstrap 20 --json
    echo "$out" >assessed.json
    /usr/bin/python3 - <<'P'
import json
r = json.load(open("assessed.json"))
assert r["df"] == 30 - 7 and 5 < r["m2"] < 50 and r["m2_p"] > 1e-3, (r["df"], r["m2"])
assert len(r["cuts_se"]) in (14, 15) and len(r["thresholds_se"][0]) == len(r["cuts_se"])
for a, b in zip(r["mixing"]["se"], r["mixing"]["se_bootstrap"]):
    assert .5 < a[0] / b[0] < 2, (a, b)
P
  done
}

@test "bad input: other data, few draws, one segment, no degrees of freedom" {
  "$BLICA" simulate --variables 4 --sources 2 --segments 5 --samples 100 --out s --quiet
  "$BLICA" simulate --variables 3 --sources 3 --segments 2 --samples 100 --out t --quiet
  run_code 3 assess s/model.json t/data.csv
  says "segments"
  run_code 2 assess s/model.json s/data.csv --bootstrap 19
  says "from 20 to"
  run_code 3 assess t/model.json t/data.csv
  says "degrees of freedom"
  sed 's/,[0-9]*$/,one/; 1s/,one$/,segment/' s/data.csv >one.csv
  "$BLICA" fit one.csv --sources 2 --allow-unidentified --out one.json --quiet 2>/dev/null
  run_code 3 assess one.json one.csv
  says "one segment"
  run_code 3 assess s/model.json missing.csv
  sed '1s/x2/y2/' s/data.csv >other.csv
  run_code 3 assess s/model.json other.csv
  says "x2"
}

@test "bad input: other levels, items of two levels for ordinal ones, methods without correlations" {
  "$BLICA" simulate --variables 5 --sources 2 --segments 6 --samples 100 --levels 3 --out s --quiet
  "$BLICA" simulate --variables 5 --sources 2 --segments 6 --samples 100 --out t --quiet
  "$BLICA" fit s/data.csv --ordinal --sources 2 --out m.json --quiet
  sed '2,$s/^2,/7,/' s/data.csv >levels.csv
  run_code 3 assess m.json levels.csv
  says "7"
  "$BLICA" fit t/data.csv --sources 2 --out b.json --quiet
  run_code 3 assess b.json s/data.csv
  says "2"
  "$BLICA" fit t/data.csv --sources 2 --method fastica --out f.json --quiet
  run_code 3 assess f.json t/data.csv
  says "fastica"
}

@test "errors of an mle fit of ordinal items: near those of the default fit and of the bootstrap" {
  run_code 0 simulate --variables 5 --sources 2 --segments 8 --samples 400 --levels 3 --intercepts 0.5 --seed 5 --out d
  for method in mle auto; do
    run_code 0 fit d/data.csv --ordinal --sources 2 --method $method --out $method.json
    run_code 0 assess $method.json d/data.csv --bootstrap 0 --json
    echo "$out" >$method.assess
  done
  /usr/bin/python3 - <<'P'
import json
mle, auto = json.load(open("mle.assess")), json.load(open("auto.assess"))
assert len(mle["cuts_se"]) == 10
# the full likelihood uses more than pairs: its errors are alike or smaller, item 1 has a row of A that grew
for a, b in zip(mle["cuts_se"][2:], auto["cuts_se"][2:]):
    assert 0.6 < a / b < 1.15, (a, b)
P
  run_code 0 assess mle.json d/data.csv --bootstrap 100 --json
  echo "$out" >bootstrap.assess
  /usr/bin/python3 - <<'P'
import json
mle, bootstrap = json.load(open("mle.assess")), json.load(open("bootstrap.assess"))
flat = lambda rows: [value for row in rows for value in row]
# a standard deviation of 100 draws is known to 7 %
for a, b in zip(flat(mle["means_se"]), flat(bootstrap["means_se_bootstrap"])):
    assert 0.75 < a / b < 1.3, (a, b)
for a, b in zip(flat(mle["mixing"]["se"][1:]), flat(bootstrap["mixing"]["se_bootstrap"][1:])):
    assert 0.7 < a / b < 1.4, (a, b)
P
}

@test "a model that does not say its prior: assess says what its errors leave out" {
  "$BLICA" simulate --out d --variables 6 --sources 2 --segments 6 --samples 200 --quiet
  "$BLICA" fit d/data.csv --sources 2 --out m.json --quiet 2>/dev/null
  /usr/bin/python3 - <<'P'
import json
m = json.load(open("m.json"))
for name in ("prior_mixing", "prior_variance"): del m["fit"][name]
json.dump(m, open("unknown.json", "w"))
P
  run_code 0 assess m.json d/data.csv --bootstrap none --json
  [[ $err != *"which prior"* ]]
  run_code 0 assess unknown.json d/data.csv --bootstrap none --json
  says "the model does not say which prior it was fitted with"
}

@test "a file of counts is told from rows" {
  "$BLICA" simulate --variables 5 --sources 2 --segments 6 --samples 100 --out d --quiet
  "$BLICA" fit d/data.csv --sources 2 --out m.json --quiet
  "$BLICA" count d/data.csv --out c.npz --quiet
  run_code 3 assess m.json c.npz
  says "c.npz: holds pair counts, not rows, and this command needs the rows"
}

@test "items that some segments were not asked and cells that are missing at random: change and fit are still seen" {
  "$BLICA" simulate --variables 8 --sources 2 --segments 12 --samples 400 --seed 6 --out s --quiet
  for kind in unasked half; do
    /usr/bin/python3 - $kind >d.csv <<'P'
import csv, random, sys
random.seed(1)
head, *rows = csv.reader(open("s/data.csv"))
print(",".join(head))
for r in rows:
    lost = (lambda i: i // 2 == int(r[-1]) % 3) if sys.argv[1] == "unasked" else (lambda i: random.random() < .5)
    print(",".join("" if i < 8 and lost(i) else v for i, v in enumerate(r)))
P
    "$BLICA" fit d.csv --sources 2 --out m.json --quiet
    run_code 0 assess m.json d.csv --bootstrap none --out d.a
    [[ $(answers d.a) == "design=yes change=yes fit=yes axes="* ]]
    run_code 0 compare m.json s/model.json --json
    printf '%s' "$out" | /usr/bin/python3 -c '
import json, sys
expected, actual = json.load(open("d.a"))["expected_mcs"], json.load(sys.stdin)["mcs"]
assert actual > .95 and .2 < (1 - expected) / (1 - actual) < 5, (expected, actual)'
  done
}

@test "a cut of one item that is shifted in one segment is found and named, and axes are not certified" {
  /usr/bin/python3 - >dif.csv <<'P'
import random
random.seed(1)
n, k, u, N = 8, 2, 8, 300
A = [[random.gauss(0, 1) for _ in range(k)] for _ in range(n)]
print(",".join(f"x{i}" for i in range(n)) + ",segment")
for s in range(u):
    sd = [random.uniform(.5, 2) for _ in range(k)]
    for _ in range(N):
        z = [d * random.gauss(0, 1) for d in sd]
        y = [sum(a * b for a, b in zip(row, z)) + 1.6 * random.gauss(0, 1) for row in A]
        y[2] += 1.5 if s == 4 else 0
        print(",".join(str(int(v > 0)) for v in y) + f",{s}")
P
  "$BLICA" fit dif.csv --sources 2 --out m.json --quiet
  run_code 5 assess m.json dif.csv --bootstrap none --strict --out dif.a
  [[ $(answers dif.a) == *"fit=weak axes=weak" ]]
  [[ $out == *"Cuts differ between segments (p = "*"most for 'x2' in '4'"* ]]
  run_code 0 invariance m.json dif.csv --json
  printf '%s' "$out" | /usr/bin/python3 -c '
import json, sys
best = [t for t in json.load(sys.stdin)["items"] if t["segment"] is not None][0]
own = json.load(open("dif.a"))["margins"]
assert (best["item"], best["segment"]) == (own["item"], own["segment"]) and best["effect"] * own["shift"] < 0, (best, own)'
}

@test "segments of few rows: the intervals are said to be too short" {
  "$BLICA" simulate --variables 6 --sources 2 --segments 40 --samples 15 --out few --quiet
  "$BLICA" fit few/data.csv --sources 2 --out m.json --quiet
  run_code 0 assess m.json few/data.csv --bootstrap none
  [[ $out == *"Segments have 15 rows on average: below 40, loadings come out too small"*"merge segments"* ]]
}

@test "heavy tails of the sources are named; fit and axes are weak" {
  /usr/bin/python3 - >tails.csv <<'P'
import random
random.seed(1)
print(",".join(f"x{i}" for i in range(10)) + ",segment")
for s in range(8):
    sd = random.uniform(.5, 2), random.uniform(.5, 2)
    for _ in range(800):
        z = [d * random.gauss(0, 1) / sum(random.gauss(0, 1) ** 2 for _ in range(3)) ** .5 for d in sd]
        y = [(1 + .1 * i) * z[i % 2] + .6 * random.gauss(0, 1) for i in range(10)]
        print(",".join(str((v > -.6) + (v > 0) + (v > .6)) for v in y) + f",{s}")
P
  "$BLICA" fit tails.csv --ordinal --sources 2 --out m.json --quiet
  run_code 5 assess m.json tails.csv --bootstrap none --strict --out tails.a
  [[ $(answers tails.a) == "design=yes change=yes fit=weak axes=weak" ]]
  [[ $out == *"Items go to extremes together more often than with normal sources (p = "*"heavy tails"*"careless rows"* ]]
  /usr/bin/python3 -c 'import json; assert 0 < json.load(open("tails.a"))["tails_p"] <= .01'
}

@test "careless rows, which answer all alike, bend the columns: the axes are not certified" {
  "$BLICA" simulate --variables 9 --sources 3 --segments 10 --samples 600 --seed 4 --out d --quiet
  awk -F, 'BEGIN { OFS = FS; srand(4) }
    NR > 1 && rand() < .08 { v = rand() < .5; for (i = 1; i <= NF; i++) if (i != at) $i = v }
    NR == 1 { for (i = 1; i <= NF; i++) if ($i == "segment") at = i } { print }' d/data.csv >careless.csv
  "$BLICA" fit careless.csv --sources 3 --out m.json --quiet
  run_code 5 assess m.json careless.csv --bootstrap none --strict --out careless.a
  [[ $(answers careless.a) == *"fit=weak axes=weak" ]]
}

@test "Ctrl-C keeps the refits that are finished; on a terminal the time left is shown" {
  "$BLICA" simulate --variables 6 --sources 2 --segments 8 --samples 300 --out s --quiet
  "$BLICA" fit s/data.csv --sources 2 --out m.json --quiet
  /usr/bin/python3 - "$BLICA" "$(patience)" <<'P'
import json, os, pty, re, signal, subprocess, sys, time
master, slave = pty.openpty()
command = [sys.argv[1], "assess", "m.json", "s/data.csv", "--bootstrap", "100000", "--out", "a.json"]
process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave)
os.close(slave)
shown, end = "", time.monotonic() + float(sys.argv[2])
while not re.search(r"bootstrap draw, \d+ %, about \d+ (s|min) left", shown):
    assert time.monotonic() < end, shown
    shown += os.read(master, 4096).decode()
process.send_signal(signal.SIGINT)
said = process.communicate()[0].decode()
assert process.returncode == 130, process.returncode
r = json.load(open("a.json"))
assert 20 <= r["draws"] < r["draws_planned"] == 100000, r["draws"]
assert f"Refits were interrupted after {r['draws']} of 100000." in said, said
assert r["verdict"]["axes"] == "yes" and r["columns"][0]["stability"] is not None
P
}
