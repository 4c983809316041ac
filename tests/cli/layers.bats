#!/usr/bin/env bats
# The house rules that a machine can hold: includes point one way, docs are current.

# includes FOLDER: "file header" for each quoted include.
includes() {
  find "$BLICA_SOURCE/$1" -maxdepth "${2:-9}" \( -name '*.c' -o -name '*.h' \) -exec grep -HoE '^ *#include "[^"]+"' {} + |
    sed -E "s|^$BLICA_SOURCE/||; s|: *#include \"([^\"]+)\"| \1|"
}

# allowed FOLDER PATTERN [DEPTH]: every include of FOLDER matches.
allowed() {
  local list
  list=$(includes "$1" "${3:-9}")
  [ -n "$list" ] || { echo "no includes found in $1"; return 1; }
  bad=$(printf '%s\n' "$list" | awk -v p="^($2)\$" '$2 !~ p')
  [ -z "$bad" ] || { echo "$1 may include $2 only: $bad"; return 1; }
}

own() { (cd "$BLICA_SOURCE/$1" && ls ./*.h | sed 's|^\./||; s|\.|\\.|g' | paste -sd'|' -); }

@test "base knows neither ICA nor mathematics" {
  allowed src/base '(blica|blica_ranks)\.h|base/[a-z_0-9]+\.h'
}

@test "files knows neither ICA nor mathematics" {
  allowed src/files '(blica|blica_ranks)\.h|(base|files)/[a-z_0-9]+\.h'
}

@test "num has never heard of ICA" {
  allowed src/num '(blica|blica_ranks)\.h|(base|files|num|num/(linear|normal|rectangles))/[a-z_0-9]+\.h'
}

# Needs the objects of the build that is tested: who calls whom is read from them.
@test "calls and includes of src/ point one way, without cycles of files" {
  /usr/bin/python3 "$BLICA_SOURCE/tests/architecture.py" "$BLICA_SOURCE" "$BLICA_BUILD"
}

@test "without BLICA_SIMD nothing is compiled for AVX" {
  cmake -S "$BLICA_SOURCE" -B "$BATS_TEST_TMPDIR/off" -DBLICA_SIMD=OFF -DBLICA_MPI=OFF -DBLICA_TESTS=OFF -Wno-dev >/dev/null
  [ "$(grep -c sov_kernel "$BATS_TEST_TMPDIR/off/compile_commands.json")" -ge 1 ]
  ! grep -iE 'avx|mfma' "$BATS_TEST_TMPDIR/off/compile_commands.json"
}

@test "every function in a header has a contract comment" {
  /usr/bin/python3 "$BLICA_SOURCE/tests/contracts.py" "$BLICA_SOURCE"
  # and a header without one is found
  mkdir -p "$BATS_TEST_TMPDIR/src"
  printf '/* A contract. */\nint with(void);\nint without(int);\n' > "$BATS_TEST_TMPDIR/src/a.h"
  run /usr/bin/python3 "$BLICA_SOURCE/tests/contracts.py" "$BATS_TEST_TMPDIR"
  [ "$status" -eq 1 ] && [ "$output" = "src/a.h:3: without has no contract comment" ]
  # and a number that would be freed
  printf '  BL_OWNED double *a = NULL, *b = NULL;\n  BL_OWNED double *c = NULL, d;\n' > "$BATS_TEST_TMPDIR/src/a.c"
  echo > "$BATS_TEST_TMPDIR/src/a.h"
  run /usr/bin/python3 "$BLICA_SOURCE/tests/contracts.py" "$BATS_TEST_TMPDIR"
  [ "$status" -eq 1 ] && [ "$output" = "src/a.c:2: BL_OWNED is for pointers that begin as NULL" ]
}

@test "the program uses blica.h and what knows nothing of the library" {
  report=$(own report) experiments=$(own experiments)
  allowed cli "blica\\.h|blica_ranks\\.h|blica_mpi\\.h|base/(number|text|hash)\\.h|files/(records|outfile|npy)\\.h|$(own cli)|$report|$experiments"
  allowed experiments "blica\\.h|blica_ranks\\.h|base/number\\.h|files/outfile\\.h|$report|$experiments"
  allowed report "blica\\.h|base/text\\.h|files/outfile\\.h|$report"
}

@test "unit tests have the folders of src/, and every test that a file names is there" {
  cd "$BLICA_SOURCE"
  for folder in tests/unit/*/; do
    [ -d "src/$(basename "$folder")" ] || { echo "$folder: there is no such folder in src/"; return 1; }
  done
  named=$(grep -rIohE --exclude-dir=build 'tests/[a-z_]+/[a-z_/]*[a-z_0-9]+\.(c|h|py|bats|sh|R)\b' src cli docs bench \
    cmake tools tests README.md ARCHITECTURE.md CONTRIBUTING.md CMakeLists.txt Makefile | sort -u)
  [ -n "$named" ]
  for file in $named; do
    [ -e "$file" ] || { echo "$file is named, but is not there"; return 1; }
  done
}

@test "every public function is tried with NULL" {
  cd "$BLICA_SOURCE"
  names=$(grep -hoE 'BLICA_API [^;(]*\bblica_[a-z0-9_]+\(' include/blica.h include/blica_conclusions.h include/blica_options.h include/blica_ranks.h | grep -oE 'blica_[a-z0-9_]+\($')
  for name in $names; do
    case $name in 'blica_version(' | 'blica_status_name(' | 'blica_stop_name(' | 'blica_answer_name(' | 'blica_question_name(' | 'blica_bvn(') continue ;; esac # take no pointer
    grep -qF "$name" tests/unit/test_interface.c || { echo "tests/unit/test_interface.c does not call $name)"; return 1; }
  done
}

@test "blica.h says little of ranks" {
  [ "$(grep -ciw 'ranks\?' "$BLICA_SOURCE/include/blica.h")" -le 8 ]
}

@test "mpi.h is included in one file and the header for it only, and that file knows the public headers alone" {
  run grep -rlE '#include *<mpi\.h>' "$BLICA_SOURCE/src" "$BLICA_SOURCE/include" "$BLICA_SOURCE/cli"
  for f in $output; do
    case $f in */src/ranks/comm_mpi.c | */include/blica_mpi.h) ;; *) echo "$f"; return 1 ;; esac
  done
  bad=$(includes src/ranks | awk '$1 ~ /comm_mpi/ && $2 != "blica_mpi.h"')
  [ -z "$bad" ] || { echo "$bad"; return 1; }
}

@test "memory of the library comes through the context" {
  run grep -rnE '[^_a-z](malloc|calloc|realloc|strdup)\(' "$BLICA_SOURCE/src" --include='*.c' --include='*.h'
  bad=$(printf '%s\n' "$output" | grep -vE '(src/base/(ctx|system)|src/files/(outfile|npy)|src/num/linear/blas)\.c|src/ranks/comm_mpi\.c' || true)
  [ -z "$bad" ] || { echo "$bad"; return 1; }
}

# Tables that a script writes keep the script's lines.
@test "clang-format agrees with every C file" {
  generated='tests/data/|src/num/(gauss|rectangles/lattice_vector|vmath_coefficients|sine_poly)\.h'
  cd "$BLICA_SOURCE"
  find include src cli report experiments bench tests examples r/src python \( -name '*.c' -o -name '*.h' \) -not -path '*/build/*' |
    grep -vE "$generated" | xargs -P 2 -n 40 clang-format --dry-run --Werror
  long=$(grep -rnE --include='*.[ch]' '^.{121}' include src cli report experiments r/src/*.c) || true
  echo "$long" # comments that clang-format leaves alone
  [ -z "$long" ]
}

# Logs, and pages that the program or the gallery writes, keep their lines.
@test "prose is wrapped at 100 columns" {
  cd "$BLICA_SOURCE"
  find . -name '*.md' -not -path './build*' -not -path '*/build/*' -not -path './.git/*' -not -path './bench/results/*' \
    -not -path './docs/options.md' -not -path './examples/README.md' -exec /usr/bin/python3 tools/wrap_prose.py --check {} +
}

@test "links and anchors of pages lead somewhere" {
  /usr/bin/python3 "$BLICA_SOURCE/tests/links.py" "$BLICA_SOURCE"
}

@test "every place says that data may be ordinal" {
  cd "$BLICA_SOURCE"
  ! grep -rniE 'component analysis of binary data' --include='*' README.md CITATION.cff docs include cli cmake debian python r ||
    return 1
}

@test "every mutant has its place in the code" {
  /usr/bin/python3 "$BATS_TEST_DIRNAME/../../tools/mutants.py" --check
}
