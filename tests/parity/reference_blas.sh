#!/usr/bin/env bash
# The same fits over OpenBLAS and over the reference BLAS and LAPACK: sums in another order, so other roundings. Objectives
# agree to 1e-7 of themselves and mixing matrices to 1 - MCS < 1e-6 (docs/trust.md has what is measured).
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
while read -r name n k samples method; do
  "$BLICA" simulate --variables "$n" --sources "$k" --segments 12 --samples "$samples" --seed 5 --out "$work/$name" --quiet
  fit=(fit "$work/$name/data.csv" --sources "$k" --method "$method" --threads 1 --quiet --out)
  "$BLICA" "${fit[@]}" "$work/$name.open.json" 2> "$work/messages" || { cat "$work/messages"; exit 1; }
  reference "$BLICA" "${fit[@]}" "$work/$name.ref.json" 2> "$work/messages" || { cat "$work/messages"; exit 1; }
  "$BLICA" compare "$work/$name.open.json" "$work/$name.ref.json" --json > "$work/$name.mcs"
  /usr/bin/python3 - "$work/$name" "$method n=$n k=$k N=$samples" << 'PY' || failures=$((failures + 1))
import json, sys
base, what = sys.argv[1:]
a, b = (json.load(open(f"{base}.{side}.json"))["fit"]["objective"] for side in ("open", "ref"))
off, turned = abs(a / b - 1), 1 - json.load(open(base + ".mcs"))["mcs"]
good = off < 1e-7 and turned < 1e-6
print(f"{'ok  ' if good else 'FAIL'} {what}: objective differs by {off:.1e} of itself, 1 - MCS {turned:.1e}")
sys.exit(not good)
PY
done << 'SETS'
a 6 3 500 blica
b 8 8 2000 blica
c 40 5 300 blica
d 6 3 500 matched
e 5 2 400 pairwise
f 5 2 400 mle
SETS
echo "$failures failures"
[ "$failures" = 0 ]
