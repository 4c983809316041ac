#!/bin/bash
# The first table of docs/peers.md: tetrachoric and polychoric correlations and the pairwise likelihood beside psych and
# lavaan, in one run, CPU seconds of one thread, and fastICA beside scikit-learn's. Takes some four minutes.
#   bash bench/bench_peers.sh [build folder]     (after ctest -R r/check, which installs the R package there)
build=${1:-build/release}
cd "$(dirname "$0")/.." || exit 1
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
for part in tetrachoric polychoric lavaan; do
  echo "== $part"
  if command -v Rscript >/dev/null; then bash bench/bench_$part.sh "$PWD/$build"; else echo "R is not installed: left out"; fi
done
echo "== fastICA, 40 000 rows of 10 items, CPU seconds and MCS"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$build/blica" simulate --variables 10 --sources 10 --segments 40 --samples 1000 --seed 1 --out "$work/d" --quiet
TIMEFORMAT='blica %U s, reading included'
time "$build/blica" fit "$work/d/data.csv" --sources 10 --method fastica --threads 1 --out "$work/m.json" --quiet
"$build/blica" compare "$work/m.json" "$work/d/model.json"
/usr/bin/python3 - "$work/d/data.csv" <<'P'
import sys, time
try:
    import numpy, sklearn, warnings
    from sklearn.decomposition import FastICA
except ImportError:
    sys.exit("scikit-learn is not installed: left out")
warnings.simplefilter("ignore")
x = numpy.loadtxt(sys.argv[1], delimiter=",", skiprows=1)[:, :-1]
begun = time.process_time()
FastICA(n_components=10, whiten="arbitrary-variance", max_iter=1000, random_state=1).fit(x)
print(f"scikit-learn {sklearn.__version__}: {time.process_time() - begun:.2f} s, reading not included")
P
