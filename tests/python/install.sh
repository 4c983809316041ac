#!/bin/bash
# Installs the Python package, linked with the library of this build, into $BLICA_BUILD/python-package, from a copy of
# the sources so that nothing is written beside them.
PYTHON=${PYTHON:-/usr/bin/python3}
"$PYTHON" -c 'import numpy, cffi, setuptools, pip, sys; sys.exit(not __import__("os").path.exists(
  __import__("sysconfig").get_path("include") + "/Python.h"))' 2>/dev/null ||
  { echo "SKIP: $PYTHON lacks numpy, cffi, setuptools, pip or its headers (tools/setup.sh test)"; exit 77; }
set -e
copy=$BLICA_BUILD/python-source
package=$BLICA_BUILD/python-package
rm -rf "$copy" "$package"
mkdir -p "$copy"
cp -r "$BLICA_SOURCE/include" "$BLICA_SOURCE/VERSION" "$copy"
mkdir "$copy/python"
cp -r "$BLICA_SOURCE"/python/{blica,build_ffi.py,setup.py,pyproject.toml,README.md} "$copy/python"
BLICA_LIBRARY=$BLICA_BUILD/libblica.a "$PYTHON" -m pip install --quiet --disable-pip-version-check --no-index --no-deps \
  --no-build-isolation --root-user-action=ignore --target "$package" "$copy/python"
