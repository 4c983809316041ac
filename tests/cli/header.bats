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
  for header in blica blica_options blica_ranks; do
    echo "#include <$header.h>" >one.c
    ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$BLICA_SOURCE/include" -fsyntax-only one.c
    ${CXX:-c++} -std=c++17 -Wall -Wextra -Wpedantic -Werror -I"$BLICA_SOURCE/include" -fsyntax-only -x c++ one.c
  done
}

@test "blica.h is at most 700 lines" {
  [ "$(wc -l <"$BLICA_SOURCE/include/blica.h")" -le 700 ]
}
