#!/bin/sh
# check_cross.sh SYSTEM: builds the library for another system by Debian's cross compilers and runs its unit tests there:
# mingw (Windows, by wine), i386 (32 bits), s390x (big endian, by qemu-user), musl (another C library). Packages: sh tools/setup.sh
# SYSTEM. BLAS and LAPACK (the reference), zlib and cmocka are built from Debian's sources. TESTS='unit/.*io$' runs some of the
# tests. Left out: test_shared_tables (hours when slowed down), test_fork (qemu-user 7.2 aborts when a process with threads forks),
# on musl test_locale (musl has no locales), and on Windows what makes locales or links files (cmake/tests.cmake).
set -eu
cd "$(dirname "$0")/.."
build=$PWD/build/cross-$1
name=Linux run= fpic= except= libraries="-lgfortran -lquadmath -lpthread -lm"
case $1 in
mingw) host=x86_64-w64-mingw32 cc=$host-gcc-posix fortran=$host-gfortran-posix ar=$host-ar name=Windows run=/usr/lib/wine/wine64 ;;
i386) host=i686-linux-gnu cc=$host-gcc fortran=$host-gfortran ar=$host-ar ;;
s390x) host=s390x-linux-gnu cc=$host-gcc fortran=$host-gfortran ar=$host-ar run=qemu-s390x libraries="-lgfortran -lpthread -lm" ;;
musl) host=$(uname -m)-linux-musl cc=musl-gcc fortran=gfortran ar=ar fpic=-fPIC libraries= except='|test_locale' ;;
*) echo "usage: check_cross.sh mingw|i386|s390x|musl" >&2; exit 2 ;;
esac
sources=$PWD/build/sources
for package in lapack zlib cmocka; do sh tools/debian_source.sh $package "$sources"; done
mkdir -p "$build/lapack" "$build/zlib" "$build/lib"
cat >"$build/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME $name)
set(CMAKE_SYSTEM_PROCESSOR $1)
set(CMAKE_C_COMPILER $cc)
set(CMAKE_FIND_ROOT_PATH /usr/$host "$build")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(CMAKE_C_STANDARD_LIBRARIES "$libraries" CACHE STRING "")
set(CMAKE_CROSSCOMPILING_EMULATOR "$run")
END
if [ ! -e "$build/lib/librefblas.a" ]; then
  cd "$build/lapack"
  from=$(echo "$sources"/lapack-*)
  fortran="$fortran -O2 $fpic -c"
  for module in la_constants la_xisnan; do $fortran "$from/SRC/$module".?90; done
  ls "$from"/BLAS/SRC/d*.f* "$from"/BLAS/SRC/idamax.f "$from"/SRC/d*.f* "$from"/SRC/i[elp]*.f "$from"/SRC/xerbla.f \
    "$from"/INSTALL/dlamch.f "$from"/INSTALL/lsame.f | grep -v 'ds[gp][eo]sv' | xargs -P "${JOBS:-2}" -n 20 $fortran
  if [ "$1" = musl ]; then # libgfortran is glibc's: what LAPACK calls of it, in C
    $cc -O2 -fPIC -c -o xerbla.o -x c - <<END
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void xerbla_(const char *name, const int *info, size_t length) {
  fprintf(stderr, "%.*s: argument %d is not allowed\n", (int)length, name, *info);
  abort();
}
void _gfortran_concat_string(size_t size, char *out, size_t m, const char *a, size_t n, const char *b) {
  for (size_t i = 0; i < size; i++) out[i] = i < m ? a[i] : i < m + n ? b[i - m] : ' ';
}
END
  fi
  $ar rcs "$build/lib/librefblas.a" ./*.o
fi
zlib=$(echo "$sources"/zlib-*)
if [ ! -e "$build/lib/libz.a" ]; then
  cd "$build/zlib"
  # shellcheck disable=SC2086
  "$cc" -O2 $fpic -DHAVE_UNISTD_H -w -c "$zlib"/*.c
  $ar rcs "$build/lib/libz.a" ./*.o
fi
cmocka=$(echo "$sources"/cmocka-*)
cmake -G Ninja -S "$cmocka" -B "$build/cmocka" --toolchain "$build/toolchain.cmake" -DWITH_STATIC_LIB=ON -DWITH_EXAMPLES=OFF >/dev/null
cmake --build "$build/cmocka" --target cmocka-static >/dev/null
cp "$build/cmocka/src/libcmocka-static.a" "$build/lib/libcmocka.a"
for library in "zlib:$zlib:z" "cmocka:$cmocka/include:cmocka"; do
  IFS=: read -r name include flag <<END
$library
END
  printf 'Name: %s\nDescription: %s\nVersion: 1\nCflags: -I%s\nLibs: -L%s -l%s\n' "$name" "$name" "$include" "$build/lib" "$flag" \
    >"$build/lib/$name.pc"
done
cd "$sources/../.."
export PKG_CONFIG_LIBDIR="$build/lib" WINEDEBUG=-all WINEPREFIX="$build/wine"
cmake -G Ninja -B "$build/blica" --toolchain "$build/toolchain.cmake" -DBLICA_HARDEN=OFF -DBLICA_CLI=OFF -DBLICA_MPI=OFF \
  -DBLICA_BLAS="$build/lib/librefblas.a" -Wno-dev >/dev/null
cmake --build "$build/blica" >"$build/build.log" 2>&1 || { cat "$build/build.log"; exit 1; }
cd "$build/blica"
ctest -R "${TESTS:-^unit/}" -E "shared_tables|test_fork|unload$except" --timeout 3000 --output-on-failure --no-tests=error -j "${JOBS:-2}"
