#!/usr/bin/env bash
# The C tests under valgrind's memcheck: no invalid access, no use of what was never set, nothing lost at the end.
# Valgrind has no AVX-512, so the library takes its AVX2 paths there. Left out are programs that fit for minutes even
# without it. Usage: valgrind.sh BUILD [TEST...]
set -eu
build=$1
shift
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$build" && pwd)
cd "$root"
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=2
if [ $# = 0 ]; then
  for source in tests/unit/test_*.c tests/identity/test_*.c; do
    name=$(basename "$source" .c)
    case $name in test_theorems) continue ;; esac
    set -- "$@" "$name"
  done
fi
failures=0
for name in "$@"; do
  begun=$SECONDS
  if valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect "$build/$name" > "$build/$name.valgrind" 2>&1; then
    echo "ok    $name ($((SECONDS - begun)) s)"
  else
    echo "FAIL  $name: exit $?, see $build/$name.valgrind"
    failures=$((failures + 1))
  fi
done
echo "$# programs, $failures with findings"
[ "$failures" = 0 ]
