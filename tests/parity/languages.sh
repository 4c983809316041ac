#!/bin/bash
# The same model, bit for bit, from the program, Python and R, on three data sets; the README's example with nothing but
# defaults in C, the shell, Python and R; items with levels; and the same posterior means.
export R_LIBS=$BLICA_BUILD/r-check/blica.Rcheck PYTHONPATH=$BLICA_BUILD/python-package OPENBLAS_NUM_THREADS=1
PYTHON=${PYTHON:-/usr/bin/python3}
for package in blica MCMCpack mlbench; do
  Rscript -e "quit(status = !requireNamespace('$package', quietly = TRUE))" >/dev/null 2>&1 ||
    { echo "SKIP: R package $package is not installed (tools/setup.sh test; r/check installs blica)"; exit 77; }
done
"$PYTHON" -c 'import blica, pandas' 2>/dev/null || { echo "SKIP: no Python package (python/install) or no pandas"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# simulated rows; a court by term with votes missing; roll calls by party with votes missing and two labels
"$BLICA" simulate --variables 8 --sources 3 --segments 12 --samples 300 --seed 4 --out drawn --quiet || exit 1
cp drawn/data.csv drawn.csv
Rscript --vanilla - <<'R' || exit 1
data(Rehnquist, package = "MCMCpack")
d <- Rehnquist[1:9]
d$segment <- Rehnquist$term
write.csv(d, "court.csv", row.names = FALSE, quote = FALSE)
data(HouseVotes84, package = "mlbench")
d <- as.data.frame(lapply(HouseVotes84[-1], function(v) as.integer(v == "y")))
d$segment <- HouseVotes84$Class
write.csv(d, "house.csv", row.names = FALSE, quote = FALSE)
R

failed=0
compare() { # name k options...
  local name=$1 k=$2 method=$3 starts=$4 seed=$5
  "$BLICA" fit $name.csv --sources $k --method $method --starts $starts --seed $seed --out c.json --quiet 2>c.log
  case $? in 0 | 4) ;; *) cat c.log; return 1 ;; esac
  NAME=$name K=$k METHOD=$method STARTS=$starts SEED=$seed "$PYTHON" -W ignore - <<'PY' || return 1
import os, pandas, blica
e = os.environ
d = pandas.read_csv(e["NAME"] + ".csv")
model = blica.fit(d.drop(columns="segment"), d.segment, sources=int(e["K"]), method=e["METHOD"], starts=int(e["STARTS"]), seed=int(e["SEED"]), threads=2)
blica.save(model, "python.json")
PY
  NAME=$name K=$k METHOD=$method STARTS=$starts SEED=$seed Rscript --vanilla - <<'R' || return 1
library(blica)
e <- function(x) Sys.getenv(x)
d <- read.csv(paste0(e("NAME"), ".csv"), check.names = FALSE)
model <- suppressWarnings(blica(d[names(d) != "segment"], d$segment, as.integer(e("K")), method = e("METHOD"), starts = as.integer(e("STARTS")),
                                seed = as.integer(e("SEED")), threads = 1))
blica_save(model, "r.json")
R
  "$PYTHON" - "$*" <<'PY'
import json, sys
models = {name: json.load(open(name + ".json")) for name in ("c", "python", "r")}
def timeless(x):
    if isinstance(x, dict):
        return {k: timeless(v) for k, v in x.items() if not k.startswith("seconds")}
    return [timeless(v) for v in x] if isinstance(x, list) else x
c = timeless(models["c"])
for name in ("python", "r"):
    other = timeless(models[name])
    bad = [key for key in c if c[key] != other.get(key)] + [key for key in other if key not in c]
    if bad:
        print(f"FAIL {sys.argv[1]}: {name} differs from the program in {', '.join(bad)}")
        sys.exit(1)
print(f"{sys.argv[1]}: same from C, Python and R ({len(c['mixing'])} x {len(c['mixing'][0])}, objective {c['fit']['objective']!r})")
PY
}
compare drawn 3 blica 3 1 || failed=1
compare court 2 blica 3 1 || failed=1
compare house 2 blica 5 11 || failed=1
compare drawn 2 ivae 1 7 || failed=1

# the README's example: no option but the number of sources
"$BLICA" simulate --variables 10 --sources 3 --segments 20 --samples 500 --seed 1 --out d --quiet || exit 1
"$BLICA" fit d/data.csv --sources 3 --out shell.json --quiet 2>c.log || { cat c.log; failed=1; }
"$BLICA_BUILD/languages_defaults" c.json || failed=1
"$PYTHON" - <<'PY' || failed=1
import blica
drawn = blica.simulate(variables=10, sources=3, segments=20, samples=500, seed=1)
ica = blica.BinaryICA(n_components=3).fit(drawn.X, segments=drawn.segments)
blica.save(ica, "estimator.json")
blica.save(blica.fit(drawn.X, drawn.segments, sources=3), "python.json")
PY
Rscript --vanilla - <<'R' || failed=1
suppressMessages(library(blica))
drawn <- blica_simulate(variables = 10, sources = 3, segments = 20, samples = 500, seed = 1)
blica_save(blica(segment ~ ., drawn$data, k = 3), "r.json")
R
"$PYTHON" - <<'PY' || failed=1
import json, sys
parts = ("mixing", "variances", "means", "thresholds", "variables", "segments", "samples", "method")
models = {name: json.load(open(name + ".json")) for name in ("shell", "c", "python", "estimator", "r")}
bad = [f"{name} differs from the program in {part}" for name in models for part in parts if models[name][part] != models["shell"][part]]
print("\n".join("FAIL defaults: " + b for b in bad) if bad else
      f"defaults: same from the shell, C, Python, scikit-learn and R (method {models['c']['method']}, A[0][0] {models['c']['mixing'][0][0]!r})")
sys.exit(bool(bad))
PY

# items of two, three and five levels: 0/1, text, whole numbers
"$BLICA" simulate --variables 6 --sources 2 --segments 8 --samples 400 --levels 5 --seed 9 --out o --quiet || exit 1
awk -F, -v OFS=, 'NR > 1 { $1 = $1 > 1 ? 1 : 0; split("low,low,middle,middle,high", t, ","); $2 = t[$2 + 1] } { print }' o/data.csv > o.csv
"$BLICA" fit o.csv --sources 2 --out shell.json --quiet \
  --levels "x2=low<middle<high,x3=0<1<2<3<4,x4=0<1<2<3<4,x5=0<1<2<3<4,x6=0<1<2<3<4" 2>c.log || { cat c.log; failed=1; }
"$PYTHON" - <<'PY' || failed=1
import blica, pandas
d = pandas.read_csv("o.csv")
d["x2"] = pandas.Categorical(d["x2"], ["low", "middle", "high"], ordered=True)
blica.save(blica.fit(d.drop(columns="segment"), d.segment, sources=2, ordinal=True), "python.json")
ica = blica.BinaryICA(2, ordinal=True, segment_column="segment").fit(d)
blica.save(ica, "estimator.json")
PY
Rscript --vanilla - <<'R' || failed=1
suppressMessages(library(blica))
d <- read.csv("o.csv")
d$x2 <- factor(d$x2, c("low", "middle", "high"), ordered = TRUE)
blica_save(blica(segment ~ ., d, k = 2, ordinal = TRUE), "r.json")
R
"$PYTHON" - <<'PY' || failed=1
import json, sys
parts = ("mixing", "variances", "means", "levels", "cuts", "thresholds", "variables", "segments", "samples", "method")
models = {name: json.load(open(name + ".json")) for name in ("shell", "python", "estimator", "r")}
bad = [f"{name} differs from the program in {part}" for name in models for part in parts if models[name][part] != models["shell"][part]]
print("\n".join("FAIL levels: " + b for b in bad) if bad else
      f"levels: same from the shell, Python, scikit-learn and R ({[len(own) for own in models['r']['levels']]} levels)")
sys.exit(bool(bad))
PY

# posterior means of the court's votes
"$BLICA" fit court.csv --sources 2 --out c.json --quiet 2>c.log
"$BLICA" sources c.json court.csv --out s.csv --quiet || failed=1
Rscript --vanilla - <<'R' || failed=1
library(blica)
d <- read.csv("court.csv", check.names = FALSE)
write.csv(format(blica_sources(blica_load("c.json"), d[1:9], d$segment)$mean, digits = 17), "r.csv", row.names = FALSE, quote = FALSE)
R
"$PYTHON" - <<'PY' || failed=1
import sys, numpy, pandas, blica
d = pandas.read_csv("court.csv")
ours = blica.sources(blica.load("c.json"), d.drop(columns="segment"), d.segment)
r = pandas.read_csv("r.csv", float_precision="round_trip").to_numpy()
program = pandas.read_csv("s.csv", float_precision="round_trip")
means = program[[c for c in program.columns if "mean" in c or (c.startswith(("s", "z")) and c[1:].isdigit())]].to_numpy()
assert means.shape == ours.mean.shape, (list(program.columns), ours.mean.shape)
assert (r == ours.mean).all(), abs(r - ours.mean).max()
assert numpy.allclose(means, ours.mean, rtol=1e-9, atol=1e-12), abs(means - ours.mean).max()  # the program writes 10 digits
print("posterior means: same from C, Python and R", ours.mean.shape)
PY

# what to expect of a design
"$BLICA" identify --variables 6 --sources 2 --segments 5 --samples 60 --levels 3 --change 0.3 --json >plan.json || failed=1
Rscript --vanilla - <<'R' || failed=1
library(blica)
p <- blica_identify(variables = 6, sources = 2, segments = 5, samples = 60, levels = 3, change = 0.3)
writeLines(sprintf("%.17g", unlist(p)), "plan.r")
R
"$PYTHON" - <<'PY' || failed=1
import json, blica
names = ("statistics", "unknowns", "surplus", "expected_mcs", "range", "chance_mcs", "rows_needed", "segments_needed")
own = blica.identify(variables=6, sources=2, segments=5, samples=60, levels=3, change=.3)._asdict()
program = json.load(open("plan.json"))
flat = lambda record: [v for name in names for v in (record[name] if name == "range" else [record[name]])]
r = [float(line) for line in open("plan.r")]
assert len(set(flat(program))) == 9 and flat(own) == flat(program) == r, (flat(own), flat(program), r)
print("planning: same from the program, Python and R")
PY
exit $failed
