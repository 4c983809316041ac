#!/usr/bin/env bats
# The installed tree, used as a stranger would use it: another prefix, pkg-config, find_package.

setup_file() {
  export TREE=$BATS_FILE_TMPDIR/tree
  cmake --install "$BLICA_BUILD" --prefix "$TREE" >"$BATS_FILE_TMPDIR/log" 2>&1 || { cat "$BATS_FILE_TMPDIR/log"; return 1; }
  LIB=$(dirname "$(find "$TREE" -name 'libblica.so' | head -1)")
  export LIB
  # A sanitized library needs its run-time loaded first, which strangers' programs do not do.
  export SANITIZED=no
  if nm -D "$LIB/libblica.so" | grep -qE '__(asan|tsan|ubsan)_'; then SANITIZED=yes; fi
}

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
}

# The C program of the README, or the example when the README shows none.
example() {
  if [ -f "$BLICA_SOURCE/README.md" ]; then sed -n '/^```c$/,/^```$/p' "$BLICA_SOURCE/README.md" | sed '/^```/d' >readme.c; fi
  cp "$BLICA_SOURCE/examples/recover.c" .
  if grep -q main readme.c 2>/dev/null; then echo "recover readme"; else echo recover; fi
}

@test "the program runs from the tree" {
  run "$TREE/bin/blica" --version
  [ "$status" -eq 0 ]
  [ "$output" = "blica $(cat "$BLICA_SOURCE/VERSION")" ]
}

@test "the example, the README and a page of the C interface are installed" {
  doc=$TREE/share/doc/blica
  [ -s "$doc/README.md" ]
  cmp "$doc/examples/recover.c" "$BLICA_SOURCE/examples/recover.c"
  for name in blica_fit blica_pack blica_option_set blica_model_load; do
    [ "$(grep -c "id=\"$name\"" "$doc/c-interface.html")" = 1 ]
    grep -q "href=\"#$name\"" "$doc/c-interface.html"
  done
}

@test "a stripped installation is a third of one with debug symbols, and works" {
  [ "$SANITIZED" = no ] || skip "the library is built with sanitizers"
  cmake --install "$BLICA_BUILD" --prefix "$PWD/tree" --strip >log 2>&1 || { cat log; return 1; }
  size() { stat -L -c %s "$(find "$1" -name libblica.so)"; }
  [ $((3 * $(size tree))) -lt "$(size "$TREE")" ] || { echo "$(size tree) and $(size "$TREE") bytes"; return 1; }
  tree/bin/blica --version
}

@test "a C program builds with pkg-config and runs" {
  [ "$SANITIZED" = no ] || skip "the library is built with sanitizers"
  export PKG_CONFIG_PATH=$LIB/pkgconfig
  [ "$(pkg-config --modversion blica)" = "$(cat "$BLICA_SOURCE/VERSION")" ]
  for name in $(example); do
    # shellcheck disable=SC2046
    cc -std=c11 -Wall -Wextra -Werror $name.c $(pkg-config --cflags --libs blica) -o $name
    LD_LIBRARY_PATH=$LIB run ./$name
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
    [ -n "$output" ]
  done
}

@test "a C program builds with find_package and runs" {
  [ "$SANITIZED" = no ] || skip "the library is built with sanitizers"
  example
  cat >CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.21)
project(stranger C)
find_package(blica REQUIRED)
add_executable(recover recover.c)
target_link_libraries(recover PRIVATE blica::blica)
C
  cmake -S . -B build -DCMAKE_PREFIX_PATH="$TREE" >log 2>&1 || { cat log; return 1; }
  cmake --build build >log 2>&1 || { cat log; return 1; }
  run build/recover
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  similarity=${output##* }
  awk "BEGIN{exit !($similarity > 0.95)}"
}

@test "a C program builds with the static library, by find_package and by pkg-config" {
  [ "$SANITIZED" = no ] || skip "the library is built with sanitizers"
  example
  cat >CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.21)
project(stranger C)
find_package(blica REQUIRED COMPONENTS static)
add_executable(recover recover.c)
target_link_libraries(recover PRIVATE blica::static)
C
  cmake -S . -B build -DCMAKE_PREFIX_PATH="$TREE" >log 2>&1 || { cat log; return 1; }
  cmake --build build >log 2>&1 || { cat log; return 1; }
  run build/recover
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
  run ldd build/recover
  [[ "$output" != *libblica* ]]
  export PKG_CONFIG_PATH=$LIB/pkgconfig
  flags=$(pkg-config --cflags --libs --static blica)
  [[ "$flags" != *fopenmp* ]]
  # shellcheck disable=SC2086
  cc recover.c ${flags/-lblica/-l:libblica.a} -o static
  run ./static
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
}

@test "the library's name carries the major version" {
  version=$(cat "$BLICA_SOURCE/VERSION")
  run readelf -d "$LIB/libblica.so"
  [[ "$output" == *"soname: [libblica.so.${version%%.*}]"* ]]
}

@test "the header is clean C11 and C++" {
  echo '#include <blica.h>' >a.c
  cc -std=c11 -pedantic -Wall -Wextra -Werror -I"$TREE/include" -fsyntax-only a.c
  command -v c++ >/dev/null || skip "no C++ compiler"
  cp a.c a.cc
  c++ -std=c++11 -pedantic -Wall -Wextra -Werror -I"$TREE/include" -fsyntax-only a.cc
}

@test "the library does not print, exit, read the environment or draw global random numbers" {
  [ "$SANITIZED" = no ] || skip "the library is built with sanitizers"
  nm -D --undefined-only "$LIB/libblica.so" | awk '{print $2}' | sed 's/@.*//' >needed
  run grep -xE 'printf|__printf_chk|puts|putchar|perror|exit|_exit|abort|__assert_fail|getenv|secure_getenv|rand|srand|random|drand48|signal|sigaction|stdout|stderr|setlocale' needed
  [ -z "$output" ] || { echo "$output"; return 1; }
}

@test "man pages for the program and every command, without complaints of troff" {
  man=$TREE/share/man/man1
  [ -s "$man/blica.1" ]
  for c in $("$TREE/bin/blica" --help | sed -n '/^Commands:/,/^$/p' | awk '/^  /{print $1}'); do
    [ -s "$man/blica-$c.1" ] || { echo "no page for $c"; return 1; }
    grep -q "blica.-$c" "$man/blica.1"
  done
  command -v groff >/dev/null || skip "no groff"
  for page in "$man"/*.1; do
    run groff -man -Tutf8 -ww -z "$page"
    [ "$status" -eq 0 ] && [ -z "$output" ] || { echo "$page: $output"; return 1; }
  done
}

@test "completions are valid and know commands, options and words" {
  completion=$TREE/share/bash-completion/completions/blica
  bash -n "$completion"
  complete_line() {
    PATH=$TREE/bin:$PATH bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _blica; printf "%s\n" "${COMPREPLY[@]}"' bash "$completion" "$@"
  }
  [ "$(complete_line blica simu)" = simulate ]
  [ "$(complete_line blica fit --max-s)" = --max-seconds ]
  [ "$(complete_line blica fit --prior f)" = fixed ]
  [ "$(complete_line blica help dat)" = data ]
  [ "$(complete_line blica experiment tab)" = table1 ]
  [ -s "$TREE/share/zsh/site-functions/_blica" ]
  [ -s "$TREE/share/fish/vendor_completions.d/blica.fish" ]
  if command -v zsh >/dev/null; then zsh -n "$TREE/share/zsh/site-functions/_blica"; fi
  if command -v fish >/dev/null; then fish -n "$TREE/share/fish/vendor_completions.d/blica.fish"; fi
}
