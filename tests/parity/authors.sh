#!/usr/bin/env bash
# The paper's method on the authors' data and the objective recomputed by numpy.
set -eu
/usr/bin/python3 -c 'import numpy' 2>/dev/null || { echo "numpy is not installed: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
/usr/bin/python3 "$(dirname "$0")/authors.py" "$work"
