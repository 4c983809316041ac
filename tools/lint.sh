#!/bin/sh
# What other people's checkers say: yamllint, mypy, lintian, R CMD check --as-cran. Each runs where it is installed.
set -eu
status=0
run() { echo "== $*"; "$@" || status=1; }
missing() { echo "== $1 is not installed (tools/setup.sh test): left out"; }
if command -v yamllint >/dev/null; then
  run yamllint --strict -d '{extends: default, rules: {line-length: {max: 120}}}' .github/workflows .pre-commit-config.yaml
else missing yamllint; fi
if command -v mypy >/dev/null; then (cd python && run mypy --cache-dir ../build/mypy-cache) || status=1; else missing mypy; fi
if command -v lintian >/dev/null; then
  for changes in build/check-install/*.changes; do
    if [ -e "$changes" ]; then run lintian --fail-on error "$changes"; else echo "== no packages: make check-install-debian"; fi
  done
else missing lintian; fi
if command -v R >/dev/null; then
  mkdir -p build/lint
  (cd build/lint && R CMD build --no-manual ../../r >/dev/null && _R_CHECK_FORCE_SUGGESTS_=false run R CMD check --as-cran --no-manual blica_*.tar.gz) || status=1
else missing R; fi
exit $status
