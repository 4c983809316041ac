#!/usr/bin/env bats
# The built program and library carry the protections that CMakeLists.txt turns on by default.

setup() {
  command -v readelf >/dev/null || skip "readelf is not installed (binutils)"
  grep -q '^BLICA_HARDEN:BOOL=ON' "$BLICA_BUILD/CMakeCache.txt" || skip "built without BLICA_HARDEN"
  library=$BLICA_BUILD/libblica.so
}

@test "the program is position independent, its memory nowhere both writable and executable" {
  readelf -hW "$BLICA" | grep -q 'Type: *DYN'
  for file in "$BLICA" "$library"; do
    readelf -lW "$file" | grep GNU_STACK | grep -qv 'RWE'
    run bash -c "readelf -lW '$file' | grep -E '^ *LOAD' | grep -c 'RWE'"
    [ "$output" = 0 ]
  done
}

@test "relocations are read-only and bound at start" {
  for file in "$BLICA" "$library"; do
    readelf -lW "$file" | grep -q GNU_RELRO
    readelf -dW "$file" | grep -qE 'BIND_NOW|FLAGS_1.*NOW'
  done
}

@test "stacks are guarded, libc calls are fortified" {
  grep -q '^BLICA_SANITIZE:STRING=$' "$BLICA_BUILD/CMakeCache.txt" || skip "sanitizers take the place of fortified calls"
  for file in "$BLICA" "$library"; do
    readelf -sW --dyn-syms "$file" | grep -q '__stack_chk_fail'
    grep -q '^CMAKE_BUILD_TYPE:.*=Debug' "$BLICA_BUILD/CMakeCache.txt" || readelf -sW --dyn-syms "$file" | grep -qE '__[a-z]+_chk@'
  done
}

@test "functions begin with a mark for processors that check where branches land" {
  [ "$(uname -m)" = x86_64 ] || skip "for x86-64"
  objdump -d --disassemble=blica_bvn "$library" | grep -A1 '<blica_bvn>:' | grep -q endbr64
  objdump -d --disassemble=main "$BLICA" | grep -A1 '<main>:' | grep -q endbr64
}

@test "a temporary file is made by mkstemp alone" {
  unsafe='[^a-z_](tmpnam|tempnam|mktemp|tmpfile)\('
  run grep -rnE "$unsafe" "$BLICA_SOURCE/src" "$BLICA_SOURCE/cli" "$BLICA_SOURCE/report" "$BLICA_SOURCE/experiments" --exclude=system.c
  [ "$status" = 1 ]
  # but for the parts that are for Windows, which has no mkstemp
  grep -q '^#ifdef _WIN32$' "$BLICA_SOURCE/src/base/system.c"
  run grep -nE "$unsafe" <(awk '/^#ifdef _WIN32$/ {skip = 1} /^#(else|endif)/ {skip = 0} !skip' "$BLICA_SOURCE/src/base/system.c")
  [ "$status" = 1 ]
  run grep -rnE '[^a-z_](gets|strcat|sprintf|vsprintf|alloca)\(' "$BLICA_SOURCE/src" "$BLICA_SOURCE/cli" "$BLICA_SOURCE/report" "$BLICA_SOURCE/experiments" --include='*.c'
  [ "$status" = 1 ]
}
