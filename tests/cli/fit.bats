#!/usr/bin/env bats
# blica fit
load helpers

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  "$BLICA" simulate --variables 6 --sources 2 --segments 20 --samples 500 --out d --quiet
  "$BLICA" simulate --variables 6 --sources 2 --segments 20 --exact --out e --quiet
}

mcs() { "$BLICA" compare "$1" "$2" --json | /usr/bin/python3 -c 'import json,sys; print(json.load(sys.stdin)["mcs"])'; }
above() { /usr/bin/python3 -c "assert $1 > $2, $1"; }

@test "recovers the mixing matrix from rows and, exactly, from exact counts" {
  d=$BATS_FILE_TMPDIR
  run_code 0 fit "$d/d/data.csv" --sources 2 --out m.json
  says "seed 1"
  above "$(mcs m.json "$d/d/model.json")" 0.97
  run_code 0 fit "$d/e/counts.npz" --sources 2 --out x.json
  above "$(mcs x.json "$d/e/model.json")" "1-1e-10"
}

@test "auto is matched with learned priors for small samples, blica for exact counts or with a condition" {
  d="$BATS_FILE_TMPDIR"
  run_code 0 fit "$d/d/data.csv" --sources 2 --out a.json
  run_code 0 fit "$d/d/data.csv" --sources 2 --condition 10 --out b.json
  run_code 0 fit "$d/e/counts.npz" --sources 2 --out c.json
  /usr/bin/python3 -c '
import json
a, b, c = (json.load(open(f + ".json")) for f in "abc")
assert a["method"] == "matched" and b["method"] == c["method"] == "blica"
assert 0.5 < a["fit"]["prior_mixing"] < 10 and 0.2 < a["fit"]["prior_variance"] < 5
assert b["fit"]["prior_mixing"] == c["fit"]["prior_mixing"] == "Infinity"
assert b["fit"]["condition"] == 10 and c["fit"]["notes"] == {}'
}

@test "stdout has data, sorted loadings, sources in words, the design and commands to paste; stderr has progress" {
  sed "1s/x1/it's a name that is longer than the column/" "$BATS_FILE_TMPDIR/d/data.csv" >"the data.csv"
  run_code 0 fit "the data.csv" --sources 2 --out "my model.json"
  for text in "10000 rows, 6 items, 20 segments of 500 rows. Nothing is missing" "Change, fit, loadings: not tested yet" \
    "Design: yes. These segments can determine 2 sources if their variances change" "it's a name that is longer than the col…" \
    "All 3 starts reached the same optimum" "z1 (" " of what is explained): "; do
    [[ $out == *"$text"* ]] || { echo "no '$text' in $out"; return 1; }
  done
  [[ $err != *loadings* && $err != *round_change* && $out != *prior_mixing* && $out != *best* ]]
  says "wrote my model.json"
  # items stand in blocks, the strongest of each first
  /usr/bin/python3 - "my model.json" 3<<<"$out" <<'P'
import json, os, sys
m = json.load(open(sys.argv[1]))
text = os.fdopen(3).read().split("\n\n")[1].splitlines()[1:]
rows = [[float(x) for x in line.split()[-2:]] for line in text]
assert sorted(rows) == sorted([[round(x, 2) for x in row] for row in m["mixing"]]), (rows, m["mixing"])
P
  # the commands that are named do what they say
  grep '^  blica ' <<<"$out" | sed 's/^  blica/"$BLICA"/; s/$/ --quiet >ran.txt/; s/assess /&--bootstrap none /' >next.sh
  [ "$(wc -l <next.sh)" -eq 2 ]
  . ./next.sh
  [ -s report.html ]
  run_code 0 fit "the data.csv" --sources 2 --out m.json --quiet
  [ -z "$out$err" ]
  run_code 0 fit "the data.csv" --sources 2 --out -
  /usr/bin/python3 -c 'import json, sys; json.loads(sys.argv[1])' "$out"
  run_code 0 fit "the data.csv" --sources 2 --out m.json
  grep -q '"round_change":' m.json
}

@test "many items: the strongest of each source, without a table" {
  "$BLICA" simulate --variables 70 --sources 3 --segments 10 --samples 200 --out many --quiet
  run_code 0 fit many/data.csv --sources 3 --out m.json
  [[ $out != *loadings\ * && $out == *"z3 ("*" more"* ]]
}

@test "--json prints the record of the fit" {
  run_code 0 fit "$BATS_FILE_TMPDIR/d/data.csv" --method blica --sources 2 --starts 2 --seed 9 --out m.json --json --quiet
  echo "$out" | /usr/bin/python3 -c '
import json, sys
r, m = json.load(sys.stdin), json.load(open("m.json"))
assert r["seed"] == 9 and len(r["starts"]) == 2 and r["stop"] == "converged" and r["rows"] == 10000
assert r["objective"] == m["fit"]["objective"] == max(s["objective"] for s in r["starts"])
assert m["method"] == "blica" and m["variables"][0] == "x1" and m["samples"] == [500] * 20
for key in ("iterations", "evaluations", "options", "stop", "condition", "zero_cells", "shift", "notes"): assert key in m["fit"], key'
}

@test "the same bits on any number of threads" {
  for t in 1 3; do
    run_code 0 fit "$BATS_FILE_TMPDIR/d/data.csv" --sources 2 --threads $t --out m$t.json
  done
  /usr/bin/python3 -c '
import json
a, b = json.load(open("m1.json")), json.load(open("m3.json"))
for key in ("mixing", "variances", "means", "thresholds"): assert a[key] == b[key], key
assert a["fit"]["objective"] == b["fit"]["objective"]'
}

@test "the same fit is the same file; the record has the times" {
  for i in 1 2; do run_code 0 fit "$BATS_FILE_TMPDIR/d/data.csv" --sources 2 --threads $i --out m$i.json --json; done
  cmp m1.json m2.json
  [[ $out == *'"seconds":'* ]]
  # a file of an older program, with times
  sed 's/"best_start":/"seconds":1.5,&/' m1.json >old.json
  run_code 0 compare m1.json old.json
}

@test "a number of threads that the machine does not have: fewer, and the same bits" {
  grep -q '^BLICA_SANITIZE:STRING=$' "$BLICA_BUILD/CMakeCache.txt" || skip "sanitizers need address space without a limit"
  run_code 0 fit "$BATS_FILE_TMPDIR/d/data.csv" --sources 2 --threads 1 --out m1.json
  (ulimit -v 800000; OMP_STACKSIZE= "$BLICA" fit "$BATS_FILE_TMPDIR/d/data.csv" --sources 2 --threads 250 --out m2.json --quiet)
  cmp m1.json m2.json
}

@test "not converged: exit 4 and the result is written" {
  run_code 4 fit "$BATS_FILE_TMPDIR/d/data.csv" --sources 2 --max-iterations 1 --starts 1 --out m.json
  says "did not converge"
  run_code 0 compare m.json m.json
}

@test "mle does not say converged when its integrals are too rough" {
  "$BLICA" simulate --variables 12 --sources 4 --segments 3 --samples 1000 --seed 1 --out rough --quiet
  run_code 4 fit rough/data.csv --sources 4 --method mle --prior fixed --out m.json
  says "did not converge: the integration error"
  /usr/bin/python3 -c '
import json
fit = json.load(open("m.json"))["fit"]
assert fit["stop"] == "integration" and fit["notes"]["integration_shift"] > 0.1, fit'
  run_code 0 compare m.json m.json # a model with this stop can be read again
}

@test "the first interrupt writes the best so far and exits 130" {
  "$BLICA" simulate --variables 30 --sources 30 --samples 100 --out big --quiet
  "$BLICA" fit big/data.csv --sources 30 --starts 1000 --out m.json --checkpoint c.ckpt --checkpoint-seconds 0 2>err.txt &
  pid=$!
  wait_for $pid test -e c.ckpt # an iteration is done
  kill -INT $pid
  code=0
  wait $pid || code=$?
  [ "$code" -eq 130 ] || { echo "exit $code"; cat err.txt; return 1; }
  run_code 0 compare m.json m.json
}

@test "one segment only is refused unless allowed" {
  cut -d, -f1-6 "$BATS_FILE_TMPDIR/d/data.csv" | sed 's/$/,1/; 1s/,1$/,segment/' >one.csv
  run_code 3 fit one.csv --sources 2 --out m.json
  says "one segment only"
  only_files one.csv
  code=0
  "$BLICA" fit one.csv --sources 2 --allow-unidentified --out m.json 2>/dev/null || code=$?
  [ "$code" -eq 0 ] || [ "$code" -eq 4 ]
  [ -s m.json ]
}

@test "bad options leave no file" {
  data=$BATS_FILE_TMPDIR/d/data.csv
  run_code 3 fit "$data" --sources 7 --out m.json
  says "6 variables"
  run_code 3 fit "$data" --sources 0 --out m.json
  says "sources: '0'"
  run_code 2 fit "$data" --out m.json
  says "--sources K is missing"
  run_code 2 fit "$data" --sources 2
  says "--out FILE is missing"
  run_code 2 fit --sources 2 --out m.json
  says "usage: blica fit DATA|COUNTS"
  run_code 2 fit "$data" --sources 2 --method nosuch --out m.json
  says "method: 'nosuch'"
  run_code 2 fit "$data" --sources 2 --condition 0.5 --out m.json
  says "condition: '0.5'"
  only_files ""
}

@test "bad input leaves no file" {
  printf 'a,segment\n0,1\n1,2\n' >narrow.csv
  printf 'a,b,segment\n0,2,1\n1,1,2\n' >two.csv
  : >empty.csv
  run_code 3 fit narrow.csv --sources 1 --out m.json
  run_code 3 fit two.csv --sources 1 --out m.json
  run_code 3 fit empty.csv --sources 1 --out m.json
  run_code 3 fit missing.csv --sources 1 --out m.json
  says "missing.csv"
  run_code 3 fit . --sources 1 --out m.json
  run_code 3 fit missing.npz --sources 1 --out m.json
  only_files narrow.csv two.csv empty.csv
}

@test "an output that cannot be written is reported before the work" {
  run_code 3 fit "$BATS_FILE_TMPDIR/d/data.csv" --sources 2 --out no/such/m.json
  says "no/such/m.json"
  run_code 3 fit "$BATS_FILE_TMPDIR/d/data.csv" --sources 2 --out .
  only_files ""
}

@test "beyond 300 variables, from packed correlations: near the truth, the same on 1, 2 and 7 threads" {
  "$BLICA" simulate --variables 320 --sources 4 --segments 8 --samples 400 --seed 3 --out large --quiet
  for t in 1 2 7; do
    "$BLICA" fit large/data.csv --sources 4 --starts 2 --threads $t --out t$t.json --quiet
    grep -v seconds t$t.json > t$t.txt
  done
  cmp t1.txt t2.txt
  cmp t1.txt t7.txt
  "$BLICA" compare t1.json large/model.json --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["mcs"] > 0.97'
}

@test "beyond Newton's reach starts converge in the scale of the model, or are duplicates of the first" {
  "$BLICA" simulate --variables 30 --sources 30 --segments 40 --samples 1000 --seed 2 --out d --quiet
  run_code 0 fit d/data.csv --method blica --sources 30 --out m.json
  /usr/bin/python3 -c '
import json
starts = json.load(open("m.json"))["fit"]["starts"]
assert len(starts) == 3 and starts[0]["stop"] == "converged", starts
for s in starts:
    assert s["gradient"] <= 1e-8 if s["stop"] == "converged" else s["stop"] == "duplicate", starts'
}
