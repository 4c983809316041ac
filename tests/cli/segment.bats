#!/usr/bin/env bats
# blica segment: labels for rows in time order, from every kind of input, ready for --segment-file.
load helpers

# rows.csv: three states in turn, 200 rows each time, without labels; still.csv: one state.
setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  "$BLICA" simulate --variables 6 --sources 2 --segments 3 --samples 1000 --seed 3 --out d --quiet
  "$BLICA" simulate --variables 6 --sources 2 --segments 1 --samples 2000 --seed 4 --out e --quiet
  /usr/bin/python3 - <<'P'
import csv
rows = list(csv.reader(open("d/data.csv")))
head, body = rows[0][:-1], rows[1:]
by = {}
for r in body:
    by.setdefault(r[-1], []).append(r[:-1])
labels = sorted(by)
with open("rows.csv", "w") as out, open("with.csv", "w") as both, open("truth.txt", "w") as truth:
    out.write(",".join(head) + "\n")
    both.write(",".join(head) + ",segment\n")
    for turn in range(5):
        for name in labels:
            for r in by[name][turn * 200:(turn + 1) * 200]:
                out.write(",".join(r) + "\n")
                both.write(",".join(r) + "," + name + "\n")
                truth.write(name + "\n")
still = list(csv.reader(open("e/data.csv")))
with open("still.csv", "w") as out:
    for r in still:
        out.write(",".join(r[:-1]) + "\n")
P
}

find_states() {
  local most=(--max-states 5)
  case " $* " in *" --states "*) most=() ;; esac
  run_code "$1" segment "${@:2}" --sources 2 "${most[@]}" --starts 1
}

@test "labels, probabilities and a model; the labels serve as --segment-file" {
  find_states 0 "$BATS_FILE_TMPDIR/rows.csv" --out s.csv --model m.json
  says "3 states, chosen by the data"
  [ "$(head -1 s.csv)" = found_segment ]
  [ "$(wc -l < s.csv)" = 3001 ]
  run_code 0 compare m.json "$BATS_FILE_TMPDIR/d/model.json"
  /usr/bin/python3 - "$BATS_FILE_TMPDIR/truth.txt" <<'P'
import itertools, sys
got = open("s.csv").read().split()[1:]
truth = open(sys.argv[1]).read().split()
names = sorted(set(truth))
best = max(sum(g == p[names.index(t)] for g, t in zip(got, truth)) for p in itertools.permutations("123"))
assert best > 0.95 * len(truth), best
P
  run_code 0 fit "$BATS_FILE_TMPDIR/rows.csv" --segment-file s.csv --sources 2 --out f.json
  says "3 segments, 3000 rows"
  find_states 0 "$BATS_FILE_TMPDIR/rows.csv" --states 3 --out p.csv --probabilities
  [ "$(head -1 p.csv)" = found_segment,p1,p2,p3 ]
  run_code 0 fit "$BATS_FILE_TMPDIR/rows.csv" --segment-file p.csv --sources 2 --out g.json
  says "3 segments, 3000 rows"
}

@test "a pipe, .npy and threads give the same file" {
  find_states 0 "$BATS_FILE_TMPDIR/rows.csv" --states 2 --out a.csv --threads 1 --probabilities
  "$BLICA" segment - --sources 2 --states 2 --starts 1 --out b.csv --threads 3 --probabilities --quiet < "$BATS_FILE_TMPDIR/rows.csv"
  /usr/bin/python3 -c "
import numpy, sys
numpy.save('x.npy', numpy.loadtxt(sys.argv[1], delimiter=',', skiprows=1, dtype='i1'))" "$BATS_FILE_TMPDIR/rows.csv"
  find_states 0 x.npy --states 2 --out c.csv --probabilities
  cmp a.csv b.csv
  cmp a.csv c.csv
}

@test "rows that do not change over time: one state and a plain sentence" {
  find_states 0 "$BATS_FILE_TMPDIR/still.csv" --out s.csv
  says "nothing in these 2000 rows says that the sources change over time"
  [ "$(sort -u s.csv | tr '\n' ' ')" = "1 found_segment " ]
}

# change LABELS ROWS: what assess says of change among these segments of the rows, and of the axes.
change() {
  "$BLICA" fit "$BATS_FILE_TMPDIR/$2" --segment-file "$1" --sources 2 --out changed.json --quiet 2>/dev/null >/dev/null
  run_code 0 assess changed.json "$BATS_FILE_TMPDIR/$2" --segment-file "$1" --bootstrap none --out changed.a
  changed=$(/usr/bin/python3 -c '
import json
r = json.load(open("changed.a"))
v = r["verdict"]
print(v["change"], v["axes"], r["segments_found"], r["change"]["p"] is None)')
}

@test "segments found in the same rows are not tested; --split holds rows out that are" {
  find_states 0 "$BATS_FILE_TMPDIR/still.csv" --states 2 --out s.csv --model m.json
  grep -q '"segments_found":1' m.json
  change s.csv still.csv
  [ "$changed" = "unknown unknown True True" ]
  [[ $out == *"found in the same rows"*"--split"* ]]
  find_states 0 "$BATS_FILE_TMPDIR/rows.csv" --states 3 --split auto --out h.csv --json
  printf '%s' "$out" | /usr/bin/python3 -c 'import json, sys; assert json.load(sys.stdin)["split"] == 10'
  [ "$(head -1 h.csv)" = segment,held_out ]
  /usr/bin/python3 -c '
rows = [line.split(",") for line in open("h.csv").read().split("\n")[1:-1]]
assert len(rows) == 3000 and all(r[1] == str(i // 10 % 2) for i, r in enumerate(rows))'
  run_code 0 fit "$BATS_FILE_TMPDIR/rows.csv" --segment-file h.csv --sources 2 --out f.json
  says "1500 rows in which the segments were found are left out"
  says "3 segments, 1500 rows"
  change h.csv rows.csv
  [ "$changed" = "yes yes False False" ]
  run_code 0 sources f.json "$BATS_FILE_TMPDIR/rows.csv" --segment-file h.csv --out z.csv
  [ "$(wc -l <z.csv)" = 3001 ]
  find_states 3 "$BATS_FILE_TMPDIR/rows.csv" --split 2000 --out x.csv
  says "split is 2000"
}

@test "states that only follow rows which depend on each other are not taken for segments" {
  /usr/bin/python3 - >chain.csv <<'P'
import math, random
random.seed(4)
n, k, f = 6, 2, 0.8
A = [[random.gauss(0, 1) for _ in range(k)] for _ in range(n)]
z = [0, 0]
print(",".join(f"x{i}" for i in range(n)))
for row in range(1500):
    z = [f * v + math.sqrt(1 - f * f) * random.gauss(0, 1) for v in z]
    print(",".join(str(int(sum(a * b for a, b in zip(r, z)) + 1.6 * random.gauss(0, 1) > 0)) for r in A))
P
  find_states 0 chain.csv --out s.csv
  says "rows depend on those before them"
  says "one state is given"
  [ "$(sort -u s.csv | tr '\n' ' ')" = "1 found_segment " ]
  find_states 0 chain.csv --states 3 --out s.csv
  says "the states may be nothing but that dependence"
}

@test "change points: each state is one stretch of rows" {
  head -601 "$BATS_FILE_TMPDIR/rows.csv" > once.csv
  find_states 0 once.csv --change-points --states 3 --out s.csv --json
  [ "$(tail -n +2 s.csv | uniq | tr '\n' ' ')" = "1 2 3 " ]
  printf '%s' "$out" | /usr/bin/python3 -c "
import json, sys
r = json.load(sys.stdin)
assert r['states'] == 3 and r['runs'] == [1, 1, 1] and r['stop'] == 'converged', r
assert abs(sum(r['expected_rows']) - 600) < 1e-6 and r['transition'][2] == [0, 0, 1], r"
}

@test "items with levels: states, a model with cuts, and a report by its levels" {
  "$BLICA" simulate --variables 6 --sources 2 --segments 3 --samples 400 --seed 3 --levels 4 --out d --quiet
  cut -d, -f1-6 d/data.csv > ordinal.csv
  find_states 0 ordinal.csv --ordinal --change-points --out s.csv --model m.json
  says "6 variables, 2 sources, 1200 rows"
  says "3 states, chosen by the data: log-likelihood"
  [ "$(tail -n +2 s.csv | uniq | tr '\n' ' ')" = "1 2 3 " ]
  /usr/bin/python3 - <<'P'
import json
m = json.load(open("m.json"))
assert [len(c) for c in m["cuts"]] == [3] * 6 and [len(v) for v in m["levels"]] == [4] * 6, m["cuts"]
label = [int(line) for line in open("s.csv").read().split()[1:]]
assert sum(s == 1 + t // 400 for t, s in enumerate(label)) > 0.97 * 1200, label
P
  run_code 0 compare m.json d/model.json --json
  printf '%s' "$out" | /usr/bin/python3 -c "import json, sys; assert json.load(sys.stdin)['mcs'] > 0.98"
  run_code 0 report m.json ordinal.csv --segment-file s.csv --out r.html
  run_code 2 segment ordinal.csv --ordinal --sources 7 --out x.csv
  says "with 6 variables it must be from 1 to 6"
}

@test "bad input is named, with exit 3" {
  find_states 3 "$BATS_FILE_TMPDIR/with.csv" --out s.csv
  says "has a column named segment"
  find_states 3 "$BATS_FILE_TMPDIR/rows.csv" --segment-count 4 --out s.csv
  says "segments are given too"
  head -40 "$BATS_FILE_TMPDIR/rows.csv" > short.csv
  find_states 3 short.csv --out s.csv
  says "there are 39 rows; at least 50 are needed"
  find_states 3 "$BATS_FILE_TMPDIR/rows.csv" --states 40 --min-length 100 --out s.csv
  says "40 states of at least 100 rows need 4000 rows, and there are 3000"
  [ ! -e s.csv ]
}

@test "stopped by its time it leaves a result and a checkpoint, and goes on to the same bits" {
  seg=("$BATS_FILE_TMPDIR/rows.csv" --checkpoint c.ckpt --checkpoint-seconds 0)
  find_states 0 "${seg[@]}" --out whole.csv --probabilities
  [ ! -e c.ckpt ]
  find_states 4 "${seg[@]}" --out part.csv --max-seconds 0.05
  [ "$(wc -l < part.csv)" = 3001 ]
  says "--resume continues"
  says "chosen by BIC (the search was stopped before held-out rows could choose)"
  [[ "$err" != *"chosen by the data"* ]]
  find_states 3 "${seg[@]}" --out part.csv
  says "exists already"
  find_states 3 "${seg[@]}" --resume --seed 7 --out part.csv
  says "seed"
  find_states 0 "${seg[@]}" --resume --out again.csv --probabilities
  cmp whole.csv again.csv
  [ ! -e c.ckpt ]
}

@test "the report shows when states held and how long they last" {
  find_states 0 "$BATS_FILE_TMPDIR/rows.csv" --states 3 --out p.csv --probabilities --model m.json
  run_code 0 report m.json "$BATS_FILE_TMPDIR/rows.csv" --segment-file p.csv --out r.html --figures f
  grep -q "the darker, the more probable" r.html
  grep -q "How long the states last" r.html
  [ -s f/timeline.svg ]
  /usr/bin/python3 - <<'P'
import re
page = open("r.html").read()
table = page[page.index("How long the states last"):]
rows = re.findall(r"<tr>(.*?)</tr>", table[table.index("<tbody>"):table.index("</tbody>")], re.S) or table[table.index("<tbody>"):table.index("</tbody>")].split("<tr>")[1:]
cells = [re.findall(r">([^<>]+)<", r) for r in rows]
labels = open("p.csv").read().split("\n")[1:-1]
state = [line.split(",")[0] for line in labels]
for row in cells:
    runs = sum(s == row[0] and (i == 0 or state[i - 1] != s) for i, s in enumerate(state))
    assert int(row[1]) == state.count(row[0]) and int(row[3]) == runs, row
assert len(cells) == 3, cells
P
  sed 's/^1,/9,/' p.csv > wrong.csv
  run_code 3 report m.json "$BATS_FILE_TMPDIR/rows.csv" --segment-file wrong.csv --out w.html
  [ ! -e w.html ]
}
