# The public headers: the example at the top works, and they are C and C++ by themselves.
bats_require_minimum_version 1.5.0
load helpers

@test "the example at the top of blica.h compiles and runs" {
  sed -n '/#include <blica.h>/,/^ \*     }$/p' "$BLICA_SOURCE/include/blica.h" | sed 's|^ [*]||' >first.c
  ${CC:-cc} -std=c11 -Wall -Wextra -Werror -I"$BLICA_SOURCE/include" first.c -o first -L"$BLICA_BUILD" -lblica -Wl,-rpath,"$BLICA_BUILD"
  ./first >out
  [ "$(wc -l <out)" = 10 ]
  grep -qE '^x10 +-?[0-9]+\.[0-9]{2} +-?[0-9]+\.[0-9]{2}$' out
}

@test "each public header stands alone, in C and in C++" {
  for header in blica blica_conclusions blica_options blica_ranks; do
    echo "#include <$header.h>" >one.c
    ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$BLICA_SOURCE/include" -fsyntax-only one.c
    ${CXX:-c++} -std=c++17 -Wall -Wextra -Wpedantic -Werror -I"$BLICA_SOURCE/include" -fsyntax-only -x c++ one.c
  done
}

@test "the version is the same everywhere" {
  cd "$BLICA_SOURCE"
  version=$(cat VERSION)
  IFS=. read -r major minor patch <<<"$version"
  grep -q "^#define BLICA_VERSION \"$version\"$" include/blica.h
  grep -q "^#define BLICA_VERSION_MAJOR $major$" include/blica.h
  grep -q "^#define BLICA_VERSION_MINOR $minor$" include/blica.h
  grep -q "^#define BLICA_VERSION_PATCH $patch$" include/blica.h
  grep -q "^Version: $version$" r/DESCRIPTION
  [[ "$(head -1 debian/changelog)" == "blica ($version) "* ]]
  [ "$("$BLICA" --version)" = "blica $version" ]
  grep -q "^## $version$" CHANGELOG.md
  [ -e "$BLICA_BUILD/libblica.so.$major" ]
}

@test "symbols have versions, and only those of the headers are exported" {
  if nm -D "$BLICA_BUILD/libblica.so" | grep -qE '__(asan|tsan|ubsan)_'; then skip "the library is built with sanitizers"; fi
  nm -D --defined-only "$BLICA_BUILD/libblica.so" | awk '{print $3}' >exported
  ! grep -vE '^(blica_[a-z0-9_]+@@BLICA_1\.[0-9]+|BLICA_1\.[0-9]+)$' exported
  sed -n 's/^BLICA_OPTIONS(\(.*\))$/blica_\1_option_table blica_\1_options_init/p' "$BLICA_SOURCE/include/blica_options.h" | tr ' ' '\n' >declared
  grep -hoE '^BLICA_API [^;(]*\bblica_[a-z0-9_]+\(' "$BLICA_SOURCE"/include/blica{,_conclusions,_options,_ranks}.h | grep -oE 'blica_[a-z0-9_]+\($' | tr -d '(' >>declared
  diff <(grep -o '^blica_[a-z0-9_]*' exported | sort) <(sort declared)
}

@test "blica.h is at most 700 lines" {
  [ "$(wc -l <"$BLICA_SOURCE/include/blica.h")" -le 700 ]
}
