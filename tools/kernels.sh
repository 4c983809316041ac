#!/bin/bash
# The tests with other kernels: sums in other orders, so other last digits, which no printed or compared number may show.
#   bash tools/kernels.sh [ctest option...]   every kind of kernel of OpenBLAS here, and builds for lower SIMD levels
#   bash tools/kernels.sh --list              the kinds of kernels of OpenBLAS that this machine can run
# Builds in build/kernels-LEVEL; exit 1 names what failed. A run of the whole suite takes some 15 minutes on two cores;
# with options, as in -R parity, only those tests run.
cd "$(dirname "$0")/.." || exit 1
flags=" $(grep -m 1 '^flags' /proc/cpuinfo 2>/dev/null) "
has() { for flag; do case $flags in *" $flag "*) ;; *) return 1 ;; esac; done; }
kinds=""
if has pni; then kinds=Prescott; fi
if has avx; then kinds="$kinds Sandybridge"; fi
if has avx2 fma; then kinds="$kinds Haswell Zen"; fi
if has avx512f avx512dq avx512bw avx512vl; then kinds="$kinds SkylakeX"; fi
if [ "$1" = --list ]; then echo $kinds; exit 0; fi

failures=0
# suite LEVEL KIND [ctest option...]: the tests of the build for LEVEL with kernels of KIND.
suite() {
  local level=$1 kind=$2 build=build/kernels-$1
  shift 2
  cmake --preset release -B $build -DBLICA_SIMD=$level -Wno-dev >$build.log 2>&1 && cmake --build $build >>$build.log 2>&1 ||
    { cat $build.log; exit 1; }
  echo "SIMD level $level, OpenBLAS kernels of $kind"
  (cd $build && OPENBLAS_CORETYPE=$kind ctest --output-on-failure --no-tests=error -j "${JOBS:-2}" "$@") ||
    { echo "FAIL: SIMD level $level, kernels of $kind"; failures=$((failures + 1)); }
}
mkdir -p build
for kind in $kinds; do suite ON $kind "$@"; done
suite AVX2 "${kinds##* }" "$@"
suite OFF "${kinds%% *}" "$@"
echo "$failures of the runs failed"
[ "$failures" = 0 ]
