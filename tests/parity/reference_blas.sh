#!/usr/bin/env bash
# The same fits over OpenBLAS and over the reference BLAS and LAPACK: sums in another order, so other roundings. How far that may
# move the end of a fit is computed beforehand, from the optimiser's tolerance and the curvature of the objective (bench/results/trust.md derives
# it); objectives and mixing matrices must agree within that.
# A library named as OpenBLAS that needs the reference ones puts them in its place.
set -eu
folder=$(dirname "$(ldconfig -p | awk '/libblas\.so\.3 .*x86-64|libblas\.so\.3 .*AArch64/ {print $NF; exit}')")
if [ ! -e "$folder/blas/libblas.so.3" ] || [ ! -e "$folder/lapack/liblapack.so.3" ]; then
  echo "SKIPPED: the reference BLAS and LAPACK (libblas3, liblapack3) are not installed"
  exit 77
fi
case $(ldd "$(dirname "$BLICA")/libblica.so" 2>/dev/null || ldd "$BLICA") in
*libopenblas.so.0*) ;;
*) echo "SKIPPED: this build does not use OpenBLAS, there is nothing to put another library in place of"; exit 77 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: > "$work/empty.c"
cc -shared -fPIC -o "$work/libopenblas.so.0" -Wl,-soname,libopenblas.so.0 "$work/empty.c" -Wl,--no-as-needed \
  "$folder/lapack/liblapack.so.3" "$folder/blas/libblas.so.3"
reference() { LD_LIBRARY_PATH="$work:$folder/blas:$folder/lapack${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@"; }
! reference ldd "$BLICA" | grep -q openblas-  || { echo "FAIL OpenBLAS is still in use"; exit 1; }
failures=0
while read -r name n k segments samples method seed options; do
  "$BLICA" simulate --variables "$n" --sources "$k" --segments "$segments" --samples "$samples" --seed "$seed" --out "$work/$name" --quiet
  "$BLICA" count "$work/$name/data.csv" --out "$work/$name.npz" --quiet
  # shellcheck disable=SC2206
  fit=(fit "$work/$name/data.csv" --sources "$k" --method "$method" --threads 1 --quiet $options --out)
  "$BLICA" "${fit[@]}" "$work/$name.open.json" 2> "$work/messages" || { cat "$work/messages"; exit 1; }
  reference "$BLICA" "${fit[@]}" "$work/$name.ref.json" 2> "$work/messages" || { cat "$work/messages"; exit 1; }
  "$BLICA" compare "$work/$name.open.json" "$work/$name.ref.json" --json > "$work/$name.mcs"
  # its own eigenvalues on one thread: on a busy machine two threads of OpenBLAS wait for each other without end
  OPENBLAS_NUM_THREADS=1 "$BLICA_BUILD/curvature" "$work/$name.open.json" "$work/$name.npz" > "$work/$name.curvature"
  /usr/bin/python3 - "$work/$name" "$method n=$n k=$k u=$segments N=$samples seed $seed $options" << 'PY' || failures=$((failures + 1))
import json, math, sys
base, what = sys.argv[1:]
a, b = (json.load(open(f"{base}.{side}.json"))["fit"]["objective"] for side in ("open", "ref"))
off, turned = abs(a / b - 1), 1 - json.load(open(base + ".mcs"))["mcs"]
c = json.load(open(base + ".curvature"))
f = c["objective"]
learned = not any(word in what for word in ("blica", "--prior"))
end, rough = 1e-8 * f, (1e-8 if "pairwise" in what else 1e-6) * f # gradients at the end, and where the scales are learned
scale = 2 * 2 * rough * c["scale"] if learned else 0 # two fits; and once more for the number of determined parameters
move = 2 * end * c["column"] + scale * c["column_by_scale"]
bound_turned = min(1, 0.5 * move ** 2) + 1e-14
bound_off = (end ** 2 * c["lack"] + scale * c["objective_by_scale"]) / f + 1e-12
good = off <= bound_off and turned <= bound_turned and c["curvature"] > 1e-3
print(f"{'ok  ' if good else 'FAIL'} {what}: objective differs by {off:.1e} of itself (bound {bound_off:.1e}), "
      f"1 - MCS {turned:.1e} (bound {bound_turned:.1e}); smallest curvature {c['curvature']:.2g}")
sys.exit(not good)
PY
done << 'SETS'
a 7 3 15 800 blica 41
b 5 5 25 3000 blica 52
c 33 2 4 400 blica 43
d 7 2 15 600 matched 44 --prior none
e 6 4 20 900 matched 45
f 34 2 6 500 matched 46 --prior fixed
g 5 3 18 700 pairwise 47
h 6 2 10 500 pairwise 48 --prior fixed
i 6 2 14 450 mle 49 --prior fixed
SETS
echo "$failures failures"
[ "$failures" = 0 ]
