#!/usr/bin/env bats
# Columns of numbers among the items: cut at quantiles, remembered by the model, from every kind of file.
load helpers

setup_file() {
  cd "$BATS_FILE_TMPDIR"
  /usr/bin/python3 - <<'P'
import numpy as np
rng = np.random.default_rng(2)
n, k, u, rows = 6, 2, 12, 300
A = rng.standard_normal((n, k))
out = []
for s in range(u):
    z = rng.standard_normal((rows, k)) * np.exp(rng.normal(0, .8, k) / 2)
    out.append(np.column_stack([z @ A.T * np.sqrt(np.pi / 8) + rng.standard_normal((rows, n)), np.full(rows, s + 1)]))
q = np.vstack(out)
q[:, 0], q[:, 2] = np.exp(q[:, 0]), np.round(100 * q[:, 2])
q[:, 3:6] = q[:, 3:6] > 0
np.save("data.npy", q)
np.savetxt("A.csv", A, delimiter=",")
with open("data.csv", "w") as f:
    f.write("income,time,score,a,b,c,segment\n")
    for r, row in enumerate(q):
        cells = [repr(float(v)) for v in row[:2]] + [str(int(v)) for v in row[2:]]
        if r % 50 == 7: cells[1] = ""
        f.write(",".join(cells) + "\n")
P
}

setup() { cd "$BATS_FILE_TMPDIR"; }

@test "numbers are cut at quantiles, A is found, and the model cuts new rows at the same numbers" {
  run_code 0 fit data.csv --sources 2 --numeric income:score --out m.json
  run_code 0 compare m.json A.csv --json
  /usr/bin/python3 - "$out" <<'P'
import json, sys
import numpy as np
assert json.loads(sys.argv[1])["mcs"] > .99, sys.argv[1]
m = json.load(open("m.json"))
assert [len(own) for own in m["levels"]] == [16, 16, 16, 2, 2, 2], m["levels"]
x = np.genfromtxt("data.csv", delimiter=",", skip_header=1)
for i in range(3):
    cuts = [float(t) for t in m["levels"][i]]
    assert cuts[0] == -np.inf and all(c in x[:, i] for c in cuts[1:])
    kept = x[~np.isnan(x[:, i]), i]
    share = np.searchsorted(np.sort(kept), cuts[1:]) / len(kept)
    assert abs(share - [.00818, .032626, .075339, .135822, .211986, .300695, .398118, .5, .601882, .699305, .788014, .864178,
                        .924661, .967374, .99182]).max() < .012, share
P
  run_code 0 sources m.json data.csv --out all.csv
  (head -n 1 data.csv; tail -n 5 data.csv | sed 's/^[^,]*/1e9/') >few.csv
  run_code 0 sources m.json few.csv --out few_out.csv
  run_code 0 loglik m.json data.csv
  run_code 0 assess m.json data.csv
}

@test "counts keep the cuts, and cuts of one's own are levels" {
  run_code 0 fit data.csv --sources 2 --numeric 1,time,score --out m.json
  run_code 0 count data.csv --numeric income,time,score --out c.npz
  run_code 0 fit c.npz --sources 2 --out from_counts.json
  run_code 0 fit data.csv --sources 2 --numeric time --levels "income=-Inf<.5<2,score=-Inf<-100<0<100" --out own.json
  /usr/bin/python3 - <<'P'
import json
m, c, own = (json.load(open(f)) for f in ("m.json", "from_counts.json", "own.json"))
assert m["mixing"] == c["mixing"] and m["levels"] == c["levels"] and m["cuts"] == c["cuts"]
assert own["levels"][0] == ["-Inf", ".5", "2"] and own["levels"][1] == m["levels"][1] and len(own["levels"][2]) == 4
P
}

@test ".npy and .sav give the model of the CSV" {
  sed 's/,,/,NA,/' data.csv >na.csv
  /usr/bin/python3 -c "
import numpy as np
x = np.load('data.npy'); x[7::50, 1] = np.nan; np.save('x.npy', x)"
  run_code 0 fit data.csv --sources 2 --numeric 1:3 --out csv.json
  run_code 0 fit x.npy --sources 2 --numeric 1:3 --segment-column last --out npy.json
  parts="csv npy"
  if Rscript --vanilla -e 'library(haven)' >/dev/null 2>&1; then
    Rscript --vanilla -e 'd <- read.csv("data.csv"); haven::write_sav(d, "x.sav")' >/dev/null
    run_code 0 fit x.sav --sources 2 --numeric income:score --out sav.json
    parts="$parts sav"
  fi
  /usr/bin/python3 - $parts <<'P'
import json, sys
models = [json.load(open(part + ".json")) for part in sys.argv[1:]]
for other in models[1:]:
    assert other["mixing"] == models[0]["mixing"] and other["levels"] == models[0]["levels"]
P
}

@test "what is no number, no item or given twice is refused by name" {
  sed '5s/^[^,]*/much/' data.csv >word.csv
  run_code 3 fit word.csv --sources 2 --numeric income:score --out x.json
  says "word.csv, row 4, column 1 ('income'): 'much' is not a number"
  run_code 3 fit data.csv --sources 2 --numeric income --out x.json
  says "column 2 ('time'): it has more than 100 values; if it is a number, say --numeric; if it is no item"
  run_code 2 fit data.csv --sources 2 --numeric segment --out x.json
  says "column 7 ('segment'), which is not an item"
  run_code 3 fit data.csv --sources 2 --numeric wages --out x.json
  says "--numeric wages: no such column"
  run_code 2 fit data.csv --sources 2 --numeric income:score --levels "income=-Inf<1" --out x.json
  says "which --numeric names too"
  run_code 3 fit data.csv --sources 2 --levels "income=-Inf<2<1,time=-Inf<0,score=-Inf<0" --out x.json
  says "'1' is not a number above '2'"
  awk -F, -v OFS=, 'NR > 1 {$1 = 5} 1' data.csv >constant.csv
  run_code 3 fit constant.csv --sources 2 --numeric income:score --out x.json
  says "column 1 ('income'): it has 1 different numbers"
  [ ! -e x.json ]
}
