# Common to the command-line tests. Each test works in its own folder.
setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  own_mpi_folder
}

# own_mpi_folder: mpirun keeps its session in a folder of this test. Two mpirun that share one, as they do by default,
# fail when the first to end removes it while the other begins.
own_mpi_folder() {
  export OMPI_MCA_orte_tmpdir_base=$BATS_TEST_TMPDIR.mpi
  mkdir -p "$OMPI_MCA_orte_tmpdir_base"
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

# patience: the seconds after which something counts as hanging; the clock decides nothing else.
patience() { echo "${BLICA_PATIENCE:-300}"; }

# wait_for PID COMMAND...: polls until the command succeeds. Fails when the process has ended without it, or hangs.
wait_for() {
  local pid=$1 end=$((SECONDS + $(patience)))
  shift
  until "$@"; do
    if ! kill -0 "$pid" 2>/dev/null; then
      "$@" && return 0
      echo "process $pid ended before: $*"
      return 1
    fi
    [ "$SECONDS" -lt "$end" ] || { echo "process $pid hangs before: $*"; return 1; }
    sleep 0.02
  done
}

# wait_gone PID...: until none of the processes is left; other processes' children cannot be waited for otherwise.
wait_gone() {
  local pid end=$((SECONDS + $(patience)))
  for pid in "$@"; do
    while [ -e "/proc/$pid" ] && ! grep -q '^State:.*Z' "/proc/$pid/status" 2>/dev/null; do
      [ "$SECONDS" -lt "$end" ] || { echo "process $pid is still there"; return 1; }
      sleep 0.02
    done
  done
}

# larger FILE BYTES: the file is there and has more bytes.
larger() { [ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -gt "$2" ]; }
