# Common to the command-line tests. Each test works in its own folder.
setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
}

# run_code CODE ARGS...: runs blica, expects the exit code; stdout in $out, stderr in $err.
run_code() {
  local expected=$1 code=0
  shift
  "$BLICA" "$@" >stdout.txt 2>stderr.txt || code=$?
  out=$(cat stdout.txt)
  err=$(cat stderr.txt)
  rm -f stdout.txt stderr.txt
  if [ "$code" -ne "$expected" ]; then
    echo "blica $*: exit $code, not $expected; stderr: $err"
    return 1
  fi
}

# says TEXT: stderr holds it.
says() {
  case $err in
  *"$1"*) ;;
  *) echo "stderr lacks '$1': $err"; return 1 ;;
  esac
}

# only_files NAMES...: nothing else is in the folder; "" for nothing at all.
only_files() {
  local found
  found=$(ls -A | sort | tr '\n' ' ')
  if [ "$found" != "$(printf '%s\n' "$@" | sort | tr '\n' ' ' | sed 's/^ $//')" ]; then
    echo "files: $found"
    return 1
  fi
}
