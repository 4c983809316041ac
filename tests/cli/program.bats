#!/usr/bin/env bats
# What is common to all commands: help, version, usage errors.
load helpers

@test "version is that of the file VERSION" {
  run_code 0 --version
  [ "$out" = "blica $(cat "$BLICA_SOURCE/VERSION")" ]
}

@test "no command shows the overview and is a usage error" {
  run_code 2
  [[ $out == *"Usage: blica COMMAND"* ]]
}

@test "every command has help that teaches" {
  run_code 0 --help
  commands=$(printf '%s\n' "$out" | sed -n '/^Commands:/,/^$/p' | awk '/^  /{print $1}')
  [ "$(echo "$commands" | wc -l)" -ge 3 ]
  for c in $commands; do
    run_code 0 "$c" --help
    first=$out
    [[ $out == *"Usage: blica $c"* ]]
    [[ $out == *"Examples:"* ]]
    [[ $out == *"Exit code: 0"* ]]
    [ "$(printf '%s\n' "$out" | awk 'length > 110' | wc -l)" -eq 0 ]
    run_code 0 help "$c"
    [ "$out" = "$first" ]
  done
}

@test "unknown command and option suggest the nearest" {
  run_code 2 simulat
  says "did you mean simulate?"
  run_code 2 xyzzyxyzzy
  says "unknown command 'xyzzyxyzzy'"
  run_code 2 help nothing
  run_code 2 simulate --varibles 3 --out d
  says "did you mean --variables?"
  run_code 2 simulate --zzzzzzzzzzzzzz --out d
  says "unknown option --zzzzzzzzzzzzzz"
  only_files ""
}

@test "options: value with = or blank, missing value, -- ends them" {
  run_code 0 simulate --variables=3 --sources=2 --segments 2 --samples=10 --out d
  [ "$(wc -l <d/data.csv)" -eq 21 ]
  run_code 2 simulate --out
  says "--out needs a value"
  run_code 3 compare -- --a --b
  says "'--a'"
}

@test "notes go to stderr, --quiet ends them, nothing is coloured off a terminal" {
  run_code 0 simulate --variables 3 --sources 2 --out d
  [ -z "$out" ]
  says "seed 1"
  [[ $err != *$'\033'* ]]
  run_code 0 simulate --variables 3 --sources 2 --out e --quiet
  [ -z "$err" ]
}

@test "a full standard output is a failure" {
  [ -w /dev/full ] || skip "no /dev/full"
  code=0
  "$BLICA" --help >/dev/full 2>err.txt || code=$?
  [ "$code" -eq 1 ]
  grep -q "standard output" err.txt
}
