#!/bin/sh
# Installs the Debian packages that are missing, or names them when it may not. `setup.sh build` is what
# building and the demo need; `setup.sh test` adds what the tests need, `setup.sh fuzz` what fuzzing
# needs, `setup.sh tidy` clang-tidy, `setup.sh aarch64`, `mingw`, `i386` and `s390x` a cross compiler and an emulator, `musl` another C library. The only list of packages there is.
set -eu
build="gcc libc6-dev make cmake ninja-build pkg-config libopenblas-dev libjansson-dev
 zlib1g-dev libzstd-dev libreadstat-dev bsdextrautils"
tests="binutils clang-format devscripts locales libcmocka-dev valgrind libblas3 liblapack3 bats gzip zstd python3 python3-numpy python3-scipy python3-sklearn python3-pytest python3-mpmath
 python3-dev python3-pip python3-setuptools python3-wheel python3-cffi python3-pandas python3-dask python3-distributed python3-matplotlib mypy python3-venv patchelf qpdf
 r-base-core r-cran-mvtnorm r-cran-psych r-cran-lavaan r-cran-testthat r-cran-matrix r-cran-knitr r-cran-markdown r-cran-generics r-cran-ggplot2
 r-cran-survey r-cran-sandwich r-cran-strucchange r-cran-psychotools r-cran-mcmcpack r-cran-psychtools r-cran-pscl r-cran-mlbench r-cran-haven chromium libopenmpi-dev openmpi-bin iproute2 procps sqlite3 postgresql abigail-tools yamllint lintian mkdocs mkdocs-material katex"
fuzz="clang libclang-rt-14-dev llvm"
tidy="clang-tidy"
aarch64="gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user libopenblas-dev:arm64
 libjansson-dev:arm64 zlib1g-dev:arm64 libcmocka-dev:arm64"
mingw="gcc-mingw-w64-x86-64-posix gfortran-mingw-w64-x86-64-posix wine64 dpkg-dev"
i386="gcc-i686-linux-gnu gfortran-i686-linux-gnu dpkg-dev"
s390x="gcc-s390x-linux-gnu gfortran-s390x-linux-gnu qemu-user dpkg-dev"
musl="musl-tools gfortran dpkg-dev"
case "${1:-build}" in
build) wanted=$build ;;
test) wanted="$build $tests" ;;
fuzz) wanted="$build $fuzz" ;;
tidy) wanted="$build $tidy" ;;
aarch64) wanted="$build $aarch64" ;;
mingw) wanted="$build $mingw" ;;
i386) wanted="$build $i386" ;;
s390x) wanted="$build $s390x" ;;
musl) wanted="$build $musl" ;;
*) echo "usage: setup.sh build|test|fuzz|tidy|aarch64|mingw|i386|s390x|musl" >&2; exit 2 ;;
esac
# What accessibility is tested with; without npm that test is skipped.
if [ "${1:-}" = test ] && command -v npm >/dev/null && [ ! -f "$(npm root --global)/axe-core/axe.min.js" ] && [ "$(id -u)" = 0 ]; then
  npm install --global --silent --no-audit --no-fund axe-core@4.10 >/dev/null || echo "axe-core could not be installed" >&2
fi
missing=""
for package in $wanted; do
  state=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  case $state in *"install ok installed"*) ;; *) missing="$missing $package" ;; esac # of several architectures: twice
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
  echo "Packages are missing. As root: apt-get install --no-install-recommends$missing" >&2
  exit 1
fi
echo "Installing:$missing"
export DEBIAN_FRONTEND=noninteractive
if [ "$1" = aarch64 ]; then dpkg --add-architecture arm64; fi
apt-get update -qq
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing >/dev/null
