#!/bin/bash
# check_install.sh WAY: installs blica in one way from a copy of the checkout, away from it, and runs an example there.
# cmake: the library alone; sdist and wheel: Python; r: the source package of R; debian: the packages, with lintian.
set -eu
way=${1:?usage: check_install.sh cmake|sdist|wheel|r|debian}
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(cat "$source/VERSION")
python=/usr/bin/python3
say() { echo "\$ $*"; "$@"; }
mkdir "$work/blica-$version"
(cd "$source" && git ls-files -z | tar --null -T - -cf -) | tar -C "$work/blica-$version" -xf -
cd "$work"

use_python() { # PYTHON: the example, from a folder with nothing in it
  mkdir -p empty && (cd empty && "$1" -c '
import blica
drawn = blica.simulate(variables=10, sources=3, segments=20, samples=500, seed=1)
model = blica.fit(drawn.X, drawn.segments, sources=3)
print(blica.__file__, f"MCS {blica.compare(model, drawn.model).mcs:.4f}")')
}

make_sdist() { (cd "blica-$version/python" && "$python" setup.py -q sdist -d "$work/dist" 2>/dev/null); ls dist; }

# Without the network pip takes numpy and cffi from Debian's packages.
environment() { "$python" -m venv --system-site-packages "$1"; }

case $way in
cmake)
  say cmake -S "blica-$version" -B build -DBLICA_CLI=OFF -DBLICA_TESTS=OFF >log 2>&1 || { cat log; exit 1; }
  say cmake --build build --parallel 2 >log 2>&1 || { cat log; exit 1; }
  say cmake --install build --prefix "$work/prefix" >log
  ldd prefix/lib/libblica.so | grep -E 'cairo|libcsv' && { echo "FAIL: the library needs more than it uses"; exit 1; }
  grep -q 'CMAKE_BUILD_TYPE:STRING=Release' build/CMakeCache.txt
  cp "blica-$version/examples/recover.c" .
  printf 'cmake_minimum_required(VERSION 3.21)\nproject(user C)\nfind_package(blica REQUIRED COMPONENTS static)\nforeach(kind blica static)\nadd_executable(recover_${kind} recover.c)\ntarget_link_libraries(recover_${kind} PRIVATE blica::${kind})\nendforeach()\n' >CMakeLists.txt
  cmake -S . -B user -DCMAKE_PREFIX_PATH="$work/prefix" >log 2>&1 && cmake --build user >log 2>&1 || { cat log; exit 1; }
  say user/recover_blica
  say user/recover_static
  ;;
sdist)
  make_sdist
  rm -rf "blica-$version"
  environment env
  say env/bin/pip install -q --no-index --no-build-isolation "dist/blica-$version.tar.gz"
  use_python "$work/env/bin/python"
  ;;
wheel)
  make_sdist
  environment build-env
  say build-env/bin/pip wheel -q --no-deps --no-index --no-build-isolation -w wheels "dist/blica-$version.tar.gz"
  "$python" "blica-$version/tools/bundle_wheel.py" wheels/*.whl bundled
  rm -rf "blica-$version" build-env
  environment env
  say env/bin/pip install -q --no-index bundled/*.whl
  use_python "$work/env/bin/python"
  ;;
r)
  say R CMD build --no-manual "blica-$version/r" >log 2>&1 || { cat log; exit 1; }
  rm -rf "blica-$version"
  mkdir library
  say R CMD INSTALL -l library "blica_$version.tar.gz" >log 2>&1 || { cat log; exit 1; }
  R_LIBS=$work/library Rscript --vanilla -e 'library(blica)
    drawn <- blica_simulate(variables = 10, sources = 3, segments = 20, samples = 500, seed = 1)
    fit <- blica(segment ~ ., drawn$data, k = 3)
    cat(sprintf("MCS %.4f\n", blica_compare(fit, drawn$model)$mcs))
    stopifnot(nzchar(vignette("blica")$PDF))
    cat("vignette: ", vignette("blica")$PDF, "\n", sep = "")'
  ;;
debian)
  cd "blica-$version"
  say dpkg-buildpackage -us -uc -b -d >../log 2>&1 || { tail -40 ../log; exit 1; }
  cd ..
  ls ./*.deb
  say lintian --fail-on error --tag-display-limit 0 --allow-root ./*.changes
  mkdir tree
  for package in ./*.deb; do dpkg-deb -x "$package" tree; done
  lib=$(dirname "$(find "$work/tree" -name 'libblica.so.*' | head -1)")
  LD_LIBRARY_PATH=$lib say tree/usr/bin/blica --version
  PYTHONPATH=$work/tree/usr/lib/python3/dist-packages use_python "$python"
  R_LIBS=$work/tree/usr/lib/R/site-library Rscript --vanilla -e 'library(blica); cat(nzchar(vignette("blica")$PDF), "\n")'
  ;;
*) echo "usage: check_install.sh cmake|sdist|wheel|r|debian" >&2; exit 2 ;;
esac
echo "$way: works"
