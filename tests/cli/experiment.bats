#!/usr/bin/env bats
# blica experiment
load helpers

@test "table1 is the paper's in all 45 cells, and marks its minimal cases" {
  run_code 0 experiment table1 --out t
  says "wrote CSV and figures"
  /usr/bin/python3 - <<'P'
import csv
paper = {2: "-6 -9 -12 -15 -18 -21 -24 -27 -30", 3: "-7 -9 -10 -10 -9 -7 -4 0 5", 4: "-8 -9 -8 -5 0 7 16 27 40",
         5: "-9 -9 -6 0 9 21 36 54 75", 6: "-10 -9 -4 5 18 35 56 81 110"}
red = {(9, 3), (10, 3), (6, 4), (7, 4), (8, 4), (5, 5), (5, 6)}
rows = list(csv.DictReader(open("t/table1.csv")))
assert len(rows) == 45
for r in rows:
    n, u = int(r["variables"]), int(r["segments"])
    assert int(r["surplus"]) == int(paper[u].split()[n - 2]), (n, u)
    assert (r["minimal"] == "1") == ((n, u) in red), (n, u)
    full, models = int(r["full_rank"]), int(r["models"])
    assert models == 10 and full == (models if int(r["corrected"]) >= 0 else 0), (n, u, full)
P
  [ -s "t/table1.svg" ]
}

@test "table1 for a fixed number of sources and other ranges" {
  run_code 0 experiment table1 --variables 3:5 --segments 2:3 --sources 4 --datasets 1 --out t
  [ "$(wc -l <t/table1.csv)" -eq 5 ] # n = 3 has no 4 sources
}

@test "identifiability: same numbers on one and three threads, resumed without running again" {
  run_code 0 experiment identifiability --variables 5:6 --segments 3:5 --datasets 2 --threads 1 --out one
  run_code 0 experiment identifiability --variables 5:6 --segments 3:5 --datasets 2 --threads 3 --out three
  cut -d, -f1-13,20 one/identifiability.csv >a
  cut -d, -f1-13,20 three/identifiability.csv >b
  cmp a b
  [ "$(wc -l <a)" -eq 13 ]
  cp one/identifiability.csv before
  head -n 5 before >one/identifiability.csv
  printf '1,5,5,4,0,bli' >>one/identifiability.csv # as a kill may leave it
  run_code 0 experiment identifiability --variables 5:6 --segments 3:5 --datasets 2 --out one
  head -n 5 one/identifiability.csv | cmp - <(head -n 5 before) # seconds too: not run again
  cut -d, -f1-13,20 one/identifiability.csv | cmp - a
  [ -s "one/identifiability.svg" ]
}

@test "identifiability: recovered to machine precision at the paper's minimal cases, not below the count" {
  run_code 0 experiment identifiability --variables 6:6 --segments 3:4 --datasets 3 --out d
  /usr/bin/python3 - <<'P'
import csv
for r in csv.DictReader(open("d/identifiability.csv")):
    e = float(r["error"])
    assert e < 1e-10 if r["segments"] == "4" else e > 1e-4, r
P
}

@test "usage errors name what is wrong, and another file is not overwritten" {
  run_code 2 experiment tabel1 --out t
  says "did you mean table1?"
  run_code 2 experiment table1 --variables 5:2 --out t
  says "'5:2' is not allowed; give a range LOW:HIGH"
  run_code 2 experiment identifiability --methods blica,magic --out t
  says "no method 'magic'"
  only_files ""
  mkdir t
  echo "my,own,data" >t/identifiability.csv
  run_code 3 experiment identifiability --quick --out t
  says "was not written by this experiment"
  [ "$(cat t/identifiability.csv)" = "my,own,data" ]
}

@test "indeterminacy: different matrices, the same probabilities" {
  run_code 0 experiment indeterminacy --out d
  /usr/bin/python3 - <<'P'
import csv
rows = list(csv.DictReader(open("d/indeterminacy.csv")))
assert len(rows) == 12
for a, b in zip(rows[::2], rows[1::2]):
    assert a["segment"] == b["segment"] and a["model"] != b["model"]
    assert [a[c] for c in ("a11", "a12", "a21", "a22")] != [b[c] for c in ("a11", "a12", "a21", "a22")]
    p, q = ([float(r[c]) for c in ("p11", "p10", "p01", "p00")] for r in (a, b))
    assert abs(sum(p) - 1) < 1e-14 and max(abs(x - y) for x, y in zip(p, q)) < 1e-14
P
  [ -s "d/indeterminacy.svg" ]
}

@test "finite-sample and scalability run the methods that are named, and draw from the CSV alone" {
  run_code 0 experiment finite-sample --quick --datasets 1 --methods fastica --out d
  [ "$(wc -l <d/finite-sample.csv)" -eq 10 ]
  run_code 0 experiment scalability --quick --datasets 1 --methods fastica --out d
  [ "$(wc -l <d/scalability.csv)" -eq 5 ]
  ! grep -v '^seed' d/scalability.csv | grep -v ',fastica,'
  for n in finite-sample scalability; do [ -s "d/$n.svg" ]; done
  cp d/scalability.csv before
  rm d/scalability.svg
  run_code 0 experiment scalability --quick --datasets 1 --methods fastica --draw-only --out d
  [ -s d/scalability.svg ]
  cmp before d/scalability.csv
}

@test "finite-sample of some sizes only" {
  run_code 0 experiment finite-sample --samples 60:300 --datasets 1 --methods fastica --out d
  [ "$(cut -d, -f5 d/finite-sample.csv | tail -n +2 | sort -un | tr '\n' ' ')" = "100 300 " ]
  run_code 2 experiment finite-sample --samples 60:90 --datasets 1 --methods fastica --out none
  says "--samples 60:90 holds none of the sizes"
}

@test "levels: three levels identify three variables, tell Theorem 1's models apart and find the cause" {
  run_code 0 experiment levels --variables 2:3 --segments 2:3 --datasets 4 --out d
  /usr/bin/python3 - <<'P'
import csv
cells = {(int(r["variables"]), int(r["segments"]), int(r["levels"])): r for r in csv.DictReader(open("d/levels-cells.csv"))}
assert len(cells) == 16
open_directions = {key: int(r["open_most"]) for key, r in cells.items()}
for levels in (3, 4, 5):  # the table of docs/ordinal.md
    assert [open_directions[n, u, levels] for n, u in ((2, 2), (2, 3), (3, 2), (3, 3))] == [2, 1, 3, 0]
    assert int(cells[3, 3, levels]["recovered"]) >= 3 and int(cells[3, 2, levels]["recovered"]) == 0
assert [open_directions[n, u, 2] for n, u in ((3, 2), (3, 3))] == [6, 6] and cells[3, 3, 2]["recovered"] == "0"
most = {}
for r in csv.DictReader(open("d/levels-twins.csv")):
    key = r["example"], int(r["levels"])
    most[key] = max(most.get(key, 0), abs(float(r["probability"]) - float(r["other"])))
assert max(v for (_, levels), v in most.items() if levels == 2) < 1e-14
assert min(v for (_, levels), v in most.items() if levels > 2) > 0.02
arrows = [r for r in csv.DictReader(open("d/levels-arrows.csv")) if int(r["levels"]) > 2 and r["samples"] == "1000"]
assert len(arrows) == 8 and all(r["right"] == "1" for r in arrows)
P
  [ -s "d/levels.svg" ]
}
