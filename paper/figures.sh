#!/bin/bash
# The two figures of paper.md, from the program of a build: a small version by default (minutes), FULL=1 the paper's sizes
# (hours).
#   bash paper/figures.sh [build folder]
set -e
cd "$(dirname "$0")"
blica=${1:-../build/release}/blica
quick=--quick
if [ -n "${FULL:-}" ]; then quick=; fi
"$blica" experiment levels $quick --segments 1:6 --out work
"$blica" experiment finite-sample $quick --out work
echo "The figures are work/levels.svg and work/finite-sample.svg; those of the paper are in experiments/results."
