#!/bin/bash
# fastICA against scikit-learn (Debian's python3-sklearn) from the same start.
/usr/bin/python3 -c 'import sklearn' 2>/dev/null || { echo "SKIP: python3-sklearn is not installed"; exit 77; }
[ -x "$BLICA_BUILD/fastica_unmix" ] || { echo "FAIL: $BLICA_BUILD/fastica_unmix was not built"; exit 1; }
OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 /usr/bin/python3 "$BLICA_SOURCE/tests/parity/fastica.py"
