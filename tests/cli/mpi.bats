#!/usr/bin/env bats
# blica-mpi under real mpirun: the same bits as the program alone for any number of ranks, and an orderly end when
# something fails.
load helpers

setup_file() {
  MPI=$(dirname "$BLICA")/blica-mpi
  export MPI OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo
  export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  [ -x "$MPI" ] || skip "blica-mpi was not built: MPI is not installed"
  command -v mpirun >/dev/null || skip "mpirun is not installed (openmpi-bin)"
}

# ranks P ARGS...: blica-mpi on P ranks of one thread each; its exit code.
ranks() {
  local p=$1
  shift
  timeout 120 mpirun --quiet -n "$p" "$MPI" "$@" --threads 1 --quiet
}

# same_models FILE...: equal but for the seconds.
same_models() {
  /usr/bin/python3 - "$@" <<'P'
import json, sys
def strip(o):
    if isinstance(o, dict): return {k: strip(v) for k, v in o.items() if not k.startswith("seconds")}
    return [strip(v) for v in o] if isinstance(o, list) else o
first, *rest = [json.dumps(strip(json.load(open(f)))) for f in sys.argv[1:]]
sys.exit(0 if rest and all(r == first for r in rest) else "the models differ")
P
}

# same_fit RANKS ARGS...: fit by one process and by each number of ranks.
same_fit() {
  local counts=$1
  shift
  rm -f alone.json m?.json
  "$BLICA" fit "$@" --out alone.json --quiet --threads 1 || [ $? = 4 ]
  for p in $counts; do ranks "$p" fit "$@" --out "m$p.json" || [ $? = 4 ]; done
  same_models alone.json m?.json
}

@test "fit blica: lanes, Newton without lanes, preconditioned alone" {
  "$BLICA" simulate --variables 8 --sources 4 --segments 19 --samples 300 --out a --quiet
  same_fit "1 2 3 4" a/data.csv --method blica --sources 4
  same_fit "3" a/data.csv --method blica --sources 4 --starts 1
  "$BLICA" simulate --variables 36 --sources 4 --segments 11 --samples 300 --out b --quiet
  same_fit "2 4" b/data.csv --method blica --sources 4 --starts 2
  "$BLICA" simulate --variables 40 --sources 36 --segments 5 --samples 300 --out c --quiet
  same_fit "2 3" c/data.csv --method blica --sources 36 --starts 2 --max-iterations 40
}
