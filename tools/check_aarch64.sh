#!/bin/sh
# check_aarch64.sh: builds the library for aarch64 by Debian's cross compiler, where no vector instructions of ours
# exist, and runs its unit tests under qemu-user. Left out: test_fork (qemu-user 7.2 itself aborts when a process with
# threads forks) and test_shared_tables (a stress test of minutes, hours when emulated).
set -eu
cd "$(dirname "$0")/.."
build=build/aarch64
cmake -G Ninja -B "$build" --toolchain cmake/aarch64.cmake -DBLICA_CLI=OFF -DBLICA_MPI=OFF -DBLICA_WERROR=ON -Wno-dev >/dev/null
cmake --build "$build" >"$build/build.log" 2>&1 || { cat "$build/build.log"; exit 1; }
cd "$build"
ctest -R '^unit/' -E 'test_(fork|shared_tables)$' --timeout 3000 --output-on-failure --no-tests=error -j "${JOBS:-2}"
