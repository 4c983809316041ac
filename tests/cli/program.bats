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

@test "help has layers: the usual options, all of them, and reading data once" {
  run_code 0 fit --help
  [ "$(wc -l <<<"$out")" -lt 75 ]
  [[ $out == *"--starts COUNT"* && $out == *"More (blica fit --help all): --condition, "* ]]
  [[ $out == *"(blica help data): --segment-column, "* && $out != *"--segment-column NAME"* ]]
  run_code 0 fit --help all
  all=$out
  [[ $all == *"--segment-column NAME"* && $all == *"--condition "* && $all != *"More ("* ]]
  run_code 0 help fit all
  [ "$out" = "$all" ]
  run_code 0 help data
  [[ $out == *"--segment-column NAME"* && $out == *"--levels LEVELS"* && $out == *".dta"* ]]
  # no option is lost between the layers
  for flag in $(sed -n 's/^  \(--[a-z-]*\).*/\1/p' <<<"$all"); do
    { "$BLICA" fit --help; "$BLICA" help data; } | grep -q -- "$flag" || { echo "$flag"; return 1; }
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
  says "--a: cannot read"
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

# on_terminal TEXT COMMAND...: what the command shows on a terminal; interrupted once it has shown the text.
on_terminal() {
  /usr/bin/python3 - "$(patience)" "$@" <<'P'
import os, pty, select, signal, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execvp(sys.argv[3], sys.argv[3:])
shown, end, sent = b"", time.time() + float(sys.argv[1]), False
while True:
    if not sent and (sys.argv[2].encode() in shown or time.time() > end):
        os.kill(pid, signal.SIGINT)
        sent = True
    if select.select([terminal], [], [], 0.1)[0]:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.stdout.write(repr(shown.decode()) + " exit " + str(code))
P
}

@test "on a terminal: progress after a while, colour for errors unless NO_COLOR" {
  "$BLICA" simulate --variables 30 --sources 30 --samples 100 --out d --quiet
  shown=$(on_terminal iteration "$BLICA" fit d/data.csv --sources 30 --starts 1000 --out m.json)
  [[ $shown == *"\\r\\x1b[K"*"iteration"* ]] || { echo "$shown"; return 1; }
  [[ $shown == *"exit 130" ]] || { echo "$shown"; return 1; }
  [ -s m.json ]
  shown=$(on_terminal "no such text" "$BLICA" nosuch)
  [[ $shown == *"x1b[1;31m"*"exit 2" ]] || { echo "$shown"; return 1; }
  shown=$(NO_COLOR=1 on_terminal "no such text" "$BLICA" nosuch)
  [[ $shown != *"x1b"* ]] || { echo "$shown"; return 1; }
}

@test "values and options that can have no effect are wrong usage, before anything is read" {
  run_code 2 assess no.json no.csv --bootstrap 5
  says "option bootstrap: '5' is not allowed; give a whole number from 20"
  run_code 2 assess no.json no.csv --level .3
  says "option level"
  run_code 2 select no.csv --folds 1000
  says "option folds"
  run_code 2 loglik no.json no.csv --error -1
  says "option error"
  run_code 2 fit no.csv --sources 2 --out m.json --prior-mixing .01
  says "prior_mixing is 0.01, which has no effect with prior default; it needs prior fixed"
  run_code 2 fit no.csv --sources 2 --out m.json --method matched --condition 5
  says "it needs method auto or blica"
  run_code 2 fit no.csv --sources 2 --out m.json --contrast cube
  says "it needs method fastica"
  run_code 2 sources no.json no.csv --out s.csv --engine ep
  says "unknown option --engine"
  run_code 3 fit no.csv --sources 2 --out m.json --method matched --prior-mixing 3 # the default
  says "no.csv"
}

@test "shells ask for what a word can become" {
  run_code 0 --complete si
  [ "$out" = $'simulate\tdraw a random model and data from it' ]
  run_code 0 --complete fit --max-s
  [[ $out == --max-seconds$'\t'* ]]
  run_code 0 --complete fit --prior f
  [ "$out" = $'fixed\t' ]
  run_code 0 --complete help dat
  [[ $out == data$'\t'* ]]
  run_code 0 --complete fit data.c # files are the shell's affair
  [ -z "$out" ]
}

@test "segment and select offer the methods that they take" {
  run_code 0 segment --help
  flat=$(tr -s '[:space:]' ' ' <<<"$out")
  [[ $flat == *"auto, blica, matched, pairwise."* && $flat != *", mle"* ]]
  run_code 2 segment no.csv --sources 2 --out s.csv --method mle
  says "option method: 'mle' is not allowed; give auto, blica, matched or pairwise"
  run_code 2 select no.csv --method fastica
  says "option method: 'fastica' is not allowed"
}

@test "a seed without anything to draw is wrong usage" {
  run_code 2 sources no.json no.csv --out s.csv --seed 3
  says "option seed is 3, which has no effect without the option draws"
}
