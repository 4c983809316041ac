#!/usr/bin/env bash
# The C tests and every command of the program (those of tests/faults/run.py, on small data) under valgrind's memcheck:
# no invalid access, no use of what was never set, nothing lost at the end.
# Valgrind has no AVX-512, so the library takes its AVX2 paths there; and it computes long double in 64 bits, so that
# test_simd, which measures by it, fails its own bounds: of that one only memcheck's findings count. Where every
# allocation fails in turn (test_faults_*), fewer of them do. Usage: valgrind.sh BUILD [TEST...]
set -eu
build=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
export OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive BLICA_FAULTS=few
commands=$#
if [ $# = 0 ]; then
  for source in tests/unit/test_*.c tests/unit/*/test_*.c tests/{identity,faults,leaks}/test_*.c; do set -- "$@" "$(basename "$source" .c)"; done
fi
failures=0
for name in "$@"; do
  begun=$SECONDS code=0
  valgrind -q --leak-check=full --show-leak-kinds=definite,indirect --log-file="$build/$name.valgrind" \
    "$build/$name" > "$build/$name.valgrind.out" 2>&1 || code=$?
  [ "$name" = test_simd ] && code=0
  if [ -s "$build/$name.valgrind" ] || [ "$code" != 0 ]; then
    echo "FAIL  $name: exit $code, see $build/$name.valgrind and .valgrind.out"
    failures=$((failures + 1))
  else
    echo "ok    $name ($((SECONDS - begun)) s)"
  fi
done
echo "$# programs, $failures with findings"
if [ "$commands" = 0 ]; then
  /usr/bin/python3 tests/faults/run.py --blica "$build/blica" --shim "$build/libfaults_shim.so" --under \
    "valgrind -q --suppressions=$PWD/tools/valgrind.supp --error-exitcode=99 --leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect" ||
    failures=$((failures + 1))
fi
[ "$failures" = 0 ]
