#!/bin/bash
# Runs the tests of the Python package and the examples in its docstrings.
PYTHON=${PYTHON:-/usr/bin/python3}
package=$BLICA_BUILD/python-package
[ -d "$package/blica" ] || { echo "SKIP: the package was not installed (see python/install)"; exit 77; }
"$PYTHON" -c 'import pytest, sklearn, scipy, pandas, matplotlib' 2>/dev/null ||
  { echo "SKIP: $PYTHON lacks pytest, sklearn, scipy, pandas or matplotlib (tools/setup.sh test)"; exit 77; }
if command -v mypy >/dev/null; then (cd "$BLICA_SOURCE/python" && mypy --cache-dir "$BLICA_BUILD/mypy-cache") || exit 1; fi
cd "$BLICA_BUILD" || exit 1
# a locale with a decimal comma, for a test
if localedef -i de_DE -f UTF-8 "$BLICA_BUILD/de_DE.UTF-8" 2>/dev/null; then export BLICA_LOCALES=$BLICA_BUILD; fi
export PYTHONPATH=$package MPLBACKEND=Agg OPENBLAS_NUM_THREADS=1
exec "$PYTHON" -m pytest -q -p no:cacheprovider --rootdir "$BLICA_SOURCE/tests/python" --doctest-modules \
  "$BLICA_SOURCE/tests/python" "$package/blica"
