# Files for hosted services: every target and script that they call exists, and no step has logic of its own.
bats_require_minimum_version 1.5.0
load helpers

@test "a step of a workflow is one call of make or of a script that exists" {
  cd "$BLICA_SOURCE"
  [ "$(ls .github/workflows/*.yml | wc -l)" -ge 1 ]
  grep -hE '^ *-? *run:' .github/workflows/*.yml | sed -E 's/^ *-? *run: *//' >"$BATS_TEST_TMPDIR/steps"
  [ -s "$BATS_TEST_TMPDIR/steps" ]
  while IFS= read -r step; do
    case $step in
    'make ${{ matrix.target }}') ;;
    'sh tools/'*)
      read -r _ script mode rest <<<"$step"
      [ -z "$rest" ] || { echo "more than one argument: $step"; return 1; }
      [ -f "$script" ] || { echo "$script is not there"; return 1; }
      grep -qE "^$mode\)" "$script" || { echo "$script does not know $mode"; return 1; } ;;
    *) echo "a step with logic of its own: $step"; return 1 ;;
    esac
  done <"$BATS_TEST_TMPDIR/steps"
}

@test "every target of a workflow is one of the Makefile" {
  cd "$BLICA_SOURCE"
  targets=$(sed -nE 's/^ +- ([a-z0-9-]+)$/\1/p; s/^ *target: \[(.*)\]$/\1/p' .github/workflows/*.yml | tr -d ' ' | tr ',' '\n')
  [ -n "$targets" ]
  for target in $targets; do
    grep -qE "^$target:|^${target%-*}-%:" Makefile || { echo "the Makefile has no target $target"; return 1; }
  done
}

@test "YAML files are well formed" {
  command -v yamllint >/dev/null || skip "yamllint is not installed (tools/setup.sh test)"
  cd "$BLICA_SOURCE"
  yamllint --strict -d '{extends: default, rules: {line-length: {max: 120}}}' .github/workflows .pre-commit-config.yaml
}
