#!/bin/bash
# Runs the gallery and writes examples/README.md from what the scripts print, so that text and numbers cannot part.
#   bash examples/run.sh [folder for the figures] [--check [script...]]
# --check compares with the README instead of writing it (tools/same_page.py says how); with scripts, their sections alone.
# The packages are those that R and Python find, or else those that the tests installed in build/release.
cd "$(dirname "$0")" || exit 1
figures=${1:-$(mktemp -d)}
mkdir -p "$figures"
build=$PWD/../build/release
export R_LIBS=$build/r-check/blica.Rcheck PYTHONPATH=$build/python-package OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
describe() { ${PYTHON:-/usr/bin/python3} -c 'import ast, sys; print(ast.get_docstring(ast.parse(open(sys.argv[1]).read())))' "$1"; }
page=$(mktemp)
trap 'rm -f "$page"' EXIT
scripts=(court.R senate.R house.R mood.py personality.py anxiety.R markets.py)
check=$2
[ $# -gt 2 ] && scripts=("${@:3}")
[ $# -gt 2 ] || cat >"$page" <<'TEXT'
# Gallery

Six real data sets with natural segments and one whose segments are found, all shipped by Debian packages (`tools/setup.sh test`
installs them). Each script loads its data, deals with missing values, empty cells and small segments in the open, chooses segments,
fits by two methods, or to levels beside the same data cut at one point, draws (into the folder that it is given), and says what
was found and how far to trust it.

`bash examples/run.sh` runs all and writes this page from what they print; the numbers below are the scripts' own.
`recover.c` is the smallest program in C.
TEXT
for script in "${scripts[@]}"; do
  case $script in
  *.R) text=$(Rscript --vanilla $script "$figures") || exit 1; about=$(sed -n '/^#/!q;s/^# //p' $script) ;;
  *.py) text=$(${PYTHON:-/usr/bin/python3} $script "$figures") || exit 1; about=$(describe $script) ;;
  esac
  printf '\n## %s\n\n%s\n\n```\n%s\n```\n' $script "$about" "$text" >>"$page"
done
if [ "$check" = --check ]; then
  ${PYTHON:-/usr/bin/python3} ../tools/same_page.py README.md "$page" && echo "examples/README.md is current"
else
  cp "$page" README.md
fi
