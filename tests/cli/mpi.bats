#!/usr/bin/env bats
# blica-mpi under real mpirun: the same bits as the program alone for any number of ranks, and an orderly end when
# something fails.
load helpers

setup_file() {
  MPI=$(dirname "$BLICA")/blica-mpi
  export MPI OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo
  export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  own_mpi_folder
  [ -x "$MPI" ] || skip "blica-mpi was not built: MPI is not installed"
  command -v mpirun >/dev/null || skip "mpirun is not installed (openmpi-bin)"
}

# ranks P ARGS...: blica-mpi on P ranks of one thread each; its exit code.
ranks() {
  local p=$1
  shift
  timeout "$(patience)" mpirun --quiet -n "$p" "$MPI" "$@" --threads 1 --quiet
}

# ranks_of JOB: the process ids of the ranks, once all P are there: mpirun is the child of timeout, the ranks are its.
ranks_of() {
  local run
  run=$(pgrep -P "$1" mpirun) && pgrep -P "$run" blica-mpi
}
all_ranks() { [ "$(ranks_of "$1" | wc -l)" = "$2" ]; }

# kill_at CHECKPOINT BYTES P ARGS...: a fit on P ranks, all killed as soon as its checkpoint has more bytes; true when
# that came before the end of the fit. No rank is left, so none can write the checkpoint again.
kill_at() {
  local file=$1 bytes=$2 p=$3 pids job
  shift 3
  timeout "$(patience)" mpirun --quiet -n "$p" "$MPI" "$@" --checkpoint "$file" --checkpoint-seconds 0 --threads 1 --quiet 2>/dev/null &
  job=$!
  wait_for "$job" all_ranks "$job" "$p" && pids=$(ranks_of "$job") && wait_for "$job" larger "$file" "$bytes" && kill -9 $pids
  wait "$job" || true
  wait_gone $pids
  [ -f "$file" ]
}

# kill_ranks_at CHECKPOINT ...: the same, again when the fit was at its end before the kill.
kill_ranks_at() {
  local try
  for try in 1 2 3 4 5; do kill_at "$@" && return 0; done
  return 1
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

@test "fit blica: lanes, Newton without lanes, preconditioned alone, packed pairs" {
  "$BLICA" simulate --variables 8 --sources 4 --segments 19 --samples 300 --out a --quiet
  same_fit "1 2 3 4" a/data.csv --method blica --sources 4
  same_fit "3" a/data.csv --method blica --sources 4 --starts 1
  "$BLICA" simulate --variables 36 --sources 4 --segments 11 --samples 300 --out b --quiet
  same_fit "2 4" b/data.csv --allow-unidentified --method blica --sources 4 --starts 2
  "$BLICA" simulate --variables 40 --sources 36 --segments 5 --samples 300 --out c --quiet
  same_fit "2 3" c/data.csv --method blica --sources 36 --starts 2 --max-iterations 40
  same_fit "2" c/data.csv --method matched --sources 36 --starts 1 --max-iterations 10
  "$BLICA" simulate --variables 320 --sources 3 --segments 5 --samples 200 --out d --quiet
  same_fit "2 4" d/data.csv --method blica --sources 3 --starts 1 --max-iterations 10
  same_fit "7" d/data.csv --method blica --sources 3 --starts 1 --max-iterations 5
}

@test "fit blica, fewer segments than ranks: the others wait" {
  "$BLICA" simulate --variables 400 --sources 5 --segments 2 --samples 200 --out a --quiet
  same_fit "3 4 5" a/data.csv --method blica --sources 5 --starts 1 --max-iterations 6
  "$BLICA" fit a/data.csv --method blica --sources 5 --starts 1 --max-iterations 6 --out m7.json --quiet --threads 7 || [ $? = 4 ]
  timeout "$(patience)" mpirun --quiet -n 3 "$MPI" fit a/data.csv --method blica --sources 5 --starts 1 --max-iterations 6 --out m8.json --quiet --threads 2 || [ $? = 4 ]
  same_models alone.json m7.json m8.json
  # their checkpoint is one of the same data
  many="fit a/data.csv --method blica --sources 5 --starts 100 --max-iterations 6 --threads 1 --quiet"
  "$BLICA" $many --out m8.json || [ $? = 4 ]
  kill_ranks_at many.ckpt 10000 3 $many --out m9.json
  "$BLICA" $many --out m9.json --checkpoint many.ckpt --resume || [ $? = 4 ]
  same_models m8.json m9.json
  "$BLICA" simulate --variables 400 --sources 3 --segments 1 --samples 200 --out b --quiet
  same_fit "2 4" b/data.csv --allow-unidentified --method blica --sources 3 --starts 1 --max-iterations 6
  same_fit "3" b/data.csv --allow-unidentified --method blica --sources 60 --starts 1 --max-iterations 4
  "$BLICA" simulate --variables 100 --sources 100 --segments 2 --samples 300 --out c --quiet
  same_fit "3 4" c/data.csv --method blica --sources 100 --starts 2 --max-iterations 6
  "$BLICA" simulate --variables 60 --sources 3 --segments 2 --samples 300 --out d --quiet
  same_fit "3 4" d/data.csv --method pairwise --sources 3 --starts 1 --max-iterations 5
  same_fit "3" d/data.csv --method matched --sources 3 --starts 1 --max-iterations 5
  # counts that every rank reads
  "$BLICA" count a/data.csv --out a/c.npz --quiet
  same_fit "3" a/c.npz --method blica --sources 5 --starts 1 --max-iterations 6
}

@test "the same bits, whoever read the rows" {
  "$BLICA" simulate --variables 41 --sources 20 --segments 6 --samples 250 --out a --quiet
  # mixed order, missing values, a segment that only the last rows have, a constant
  (head -1 a/data.csv; tail -n +2 a/data.csv | shuf --random-source=a/data.csv |
    awk -F, -v OFS=, 'NR % 11 == 0 { $3 = "NA" } $NF == 2 { $5 = 1 } { print } END { for (i = 0; i < 9; i++) { $NF = "late"; $(i + 1) = 1 - $(i + 1); print } }') >mixed.csv
  same_fit "1 2 3 4 7" mixed.csv --method blica --sources 20 --starts 1 --max-iterations 8
  same_fit "3" a/data.csv --method blica --sources 20 --starts 1 --max-iterations 8
  same_fit "2" mixed.csv --method pairwise --sources 20 --starts 1 --max-iterations 3
  head -90 mixed.csv >short.csv # for seven ranks: some without a line of a segment, all with segments of one or none
  same_fit "7" short.csv --method blica --sources 20 --starts 1 --max-iterations 4
  # what one rank reads for all: compressed, words
  gzip -k mixed.csv
  same_fit "3" mixed.csv.gz --method blica --sources 20 --starts 1 --max-iterations 4
  awk -F, -v OFS=, 'NR > 1 { for (i = 1; i < NF; i++) $i = $i == "NA" ? "" : $i == 1 ? "no" : "yes" } { print }' mixed.csv >words.csv
  same_fit "3" words.csv --ordinal --method blica --sources 20 --starts 1 --max-iterations 4
  # counts that every rank reads
  "$BLICA" count mixed.csv --out counts.npz --quiet
  same_fit "2 4" counts.npz --method blica --sources 20 --starts 1 --max-iterations 8
  "$BLICA" count mixed.csv --out counts.csv --quiet
  same_fit "3" counts.csv --method blica --sources 20 --starts 1 --max-iterations 4
  # warnings name the same tables
  "$BLICA" fit mixed.csv --method blica --sources 20 --starts 1 --max-iterations 2 --out m.json 2>&1 | grep -E 'warning: .*(tables|constant)' >alone.txt
  timeout "$(patience)" mpirun --quiet -n 3 "$MPI" fit mixed.csv --method blica --sources 20 --starts 1 --max-iterations 2 --out m.json --threads 1 2>&1 |
    grep -E 'warning: .*(tables|constant)' >three.txt
  [ "$(wc -l <alone.txt)" -ge 2 ]
  cmp alone.txt three.txt
}

@test "a stream of many pieces, read by the first rank" {
  "$BLICA" simulate --variables 41 --sources 20 --segments 5 --samples 400 --out a --quiet
  tail -n +2 a/data.csv | shuf --random-source=a/data.csv >rows
  stream() { head -1 a/data.csv; for i in $(seq 1010); do cat rows; done; sed 's/[0-9]*$/end/' rows; }
  fit="--method blica --sources 20 --starts 1 --max-iterations 3 --quiet --threads 1"
  stream | "$BLICA" fit - $fit --out alone.json || [ $? = 4 ]
  stream | timeout "$(patience)" mpirun --quiet -n 3 "$MPI" fit - $fit --out m3.json || [ $? = 4 ]
  same_models alone.json m3.json
  grep -q '"end"' m3.json
}

@test "a checkpoint does not know how many ranks wrote it" {
  "$BLICA" simulate --variables 41 --sources 20 --segments 5 --samples 250 --out a --quiet
  fit="fit a/data.csv --method blica --sources 20 --starts 80 --max-iterations 30"
  "$BLICA" $fit --out alone.json --quiet --threads 1 || [ $? = 4 ]
  kill_ranks_at three.ckpt 3000 3 $fit --out part.json
  ranks 2 $fit --checkpoint three.ckpt --resume --out m2.json || [ $? = 4 ]
  same_models alone.json m2.json
}

@test "fit by every other method" {
  "$BLICA" simulate --variables 5 --sources 2 --segments 5 --samples 600 --out a --quiet
  for m in matched pairwise mle ivae fastica; do same_fit "2 3" a/data.csv --method "$m" --sources 2 --max-iterations 100; done
  same_fit "4" a/data.csv --method blica --prior auto --sources 2
  "$BLICA" simulate --variables 13 --sources 3 --segments 4 --samples 700 --out b --quiet # by expectation propagation
  same_fit "2 3" b/data.csv --method mle --sources 3 --max-iterations 80
}

# same_file RANKS NAME ARGS...: the command writes NAME, and it is the same file for each number of ranks.
same_file() {
  local counts=$1 name=$2
  shift 2
  "$BLICA" "$@" --out "$name" --quiet
  mv "$name" "alone_$name"
  for p in $counts; do
    ranks "$p" "$@" --out "$name"
    cmp "alone_$name" "$name"
    rm "$name"
  done
}

@test "count, correlate, sources and loglik" {
  "$BLICA" simulate --variables 30 --sources 3 --segments 4 --samples 500 --out a --quiet
  awk -F, -v OFS=, 'NR > 1 && NR % 7 == 0 { $3 = "NA" } { print }' a/data.csv >missing.csv
  same_file "1 2 4" c.npz count a/data.csv
  same_file "3" c.csv count missing.csv
  same_file "2 3 4" r.npz correlate missing.csv
  same_file "2" r.csv correlate a/data.csv --condition 10
  "$BLICA" fit missing.csv --method blica --sources 3 --out model.json --quiet
  same_file "2 3" s.csv sources model.json missing.csv
  same_file "2" s.csv sources model.json missing.csv --segment unknown
  for e in grid lattice ep; do
    error="--error 1000"
    [ "$e" != ep ] || error= # it has no error to aim for
    "$BLICA" loglik model.json missing.csv --engine "$e" $error --json --quiet >alone.txt 2>/dev/null
    ranks 3 loglik model.json missing.csv --engine "$e" $error --json >three.txt 2>/dev/null
    cmp alone.txt three.txt
  done
  same_file "3" s.csv sources model.json a/data.csv --segment unknown
}

# same_text RANKS ARGS...: the command prints the same for each number of ranks.
same_text() {
  local counts=$1
  shift
  "$BLICA" "$@" --quiet >alone.txt 2>/dev/null
  for p in $counts; do
    ranks "$p" "$@" >ranks.txt 2>/dev/null
    cmp alone.txt ranks.txt
  done
}

@test "assess divides draws, select divides fits" {
  "$BLICA" simulate --variables 6 --sources 2 --segments 7 --samples 150 --out a --quiet
  "$BLICA" fit a/data.csv --sources 2 --out model.json --quiet
  same_text "2 3" assess model.json a/data.csv --bootstrap 20 --json
  same_file "2" out.json assess model.json a/data.csv --bootstrap 20 --out out.json
  same_text "2 5" select a/data.csv --sources 1:3 --folds 3 --json
}

@test "counts and correlations of many variables; the first rank writes them" {
  "$BLICA" simulate --variables 104 --sources 3 --segments 7 --samples 60 --out a --quiet
  (head -1 a/data.csv; tail -n +2 a/data.csv | shuf --random-source=a/data.csv | awk -F, -v OFS=, 'NR % 11 == 0 { $3 = "NA" } { print }') >mixed.csv
  same_file "2 3" c.npz count mixed.csv
  same_file "3" c.csv count a/data.csv
  same_file "2" r.npz correlate mixed.csv
  same_file "3" r.csv correlate a/data.csv --condition 10
  gzip -k mixed.csv
  same_file "3" r.npz correlate mixed.csv.gz --condition 10
  "$BLICA" count mixed.csv --out counts.npz --quiet
  "$BLICA" count mixed.csv --out counts.csv --quiet
  same_file "3" r.npz correlate counts.npz --condition 10
  same_file "2" r.npz correlate counts.csv
  # fewer segments than ranks
  "$BLICA" simulate --variables 310 --sources 3 --segments 2 --samples 60 --out b --quiet
  same_file "3" c.npz count b/data.csv
  same_file "3 4" r.npz correlate b/data.csv --condition 10
  # a full disk, met by the first rank, ends all
  for end in npz csv; do
    ln -s /dev/full full.$end
    code=0
    ranks 2 count mixed.csv --out full.$end 2>err.txt || code=$?
    [ "$code" = 1 ]
    [ "$(grep -c "full.$end: cannot write: No space left on device" err.txt)" = 1 ]
  done
}

@test "each rank reads its part of a file; what cannot be divided is read by the first" {
  "$BLICA" simulate --variables 9 --sources 2 --segments 5 --samples 200 --out a --quiet
  (head -1 a/data.csv; tail -n +2 a/data.csv | shuf --random-source=a/data.csv | sed 's/$/\r/'; echo; tail -1 a/data.csv | tr -d '\n') >mixed.csv
  same_file "2 3 4" c.npz count mixed.csv
  head -3 a/data.csv >tiny.csv
  same_file "4" c.npz count tiny.csv
  awk -F, -v OFS=, 'NR > 1 { $NF = "\"" $NF "\n,x\"" } { print }' a/data.csv >quoted.csv
  same_file "3" c.npz count quoted.csv
  same_file "2" c.npz count a/data.csv --segment-length 70
  gzip -k a/data.csv
  same_file "2" c.npz count a/data.csv.gz
  "$BLICA" count a/data.csv --out alone.npz --quiet
  ranks 2 count - --out c.npz <a/data.csv
  cmp alone.npz c.npz
  # an error is reported as by one process
  awk -F, -v OFS=, 'NR == 900 { $2 = "7" } { print }' a/data.csv >bad.csv
  "$BLICA" count bad.csv --out c.npz 2>alone.txt || [ $? = 3 ]
  code=0
  ranks 3 count bad.csv --out c.npz 2>three.txt || code=$?
  [ "$code" = 3 ]
  cmp alone.txt <(head -1 three.txt)
}

@test "experiments share their data sets" {
  "$BLICA" experiment identifiability --quick --variables 2:4 --segments 2:3 --out alone --quiet
  for p in 2 3; do
    ranks $p experiment identifiability --quick --variables 2:4 --segments 2:3 --out "e$p"
    cmp <(cut -d, -f1-13,20 alone/identifiability.csv) <(cut -d, -f1-13,20 "e$p/identifiability.csv")
    cmp alone/identifiability.svg "e$p/identifiability.svg"
  done
  # goes on from what is there
  head -5 alone/identifiability.csv >e2/identifiability.csv
  ranks 2 experiment identifiability --quick --variables 2:4 --segments 2:3 --out e2
  [ "$(wc -l <e2/identifiability.csv)" = "$(wc -l <alone/identifiability.csv)" ]
}

@test "other commands run once; one message and the right code when something is wrong" {
  ranks 2 simulate --variables 4 --sources 2 --segments 3 --samples 50 --out a
  [ -f a/data.csv ]
  code=0
  ranks 3 fit nothing.csv --sources 2 --out m.json >out.txt 2>err.txt || code=$?
  [ "$code" = 3 ]
  [ "$(grep -c 'nothing.csv: cannot read' err.txt)" = 1 ]
  code=0
  ranks 2 fit a/data.csv --sources 2 --out none/m.json 2>err.txt || code=$?
  [ "$code" = 3 ]
  [ "$(grep -c 'cannot write' err.txt)" = 1 ]
  [ "$(timeout "$(patience)" mpirun --quiet -n 2 "$MPI" --version | wc -l)" = 1 ]
}

# differ WORDS : MORE: two processes that differ in something end with one message, exit 2 or 3 and no output.
differ() {
  local code=0
  timeout "$(patience)" mpirun --quiet "$@" >out.txt 2>err.txt || code=$?
  [ "$code" = 2 ] || [ "$code" = 3 ] || { echo "exit $code"; cat err.txt; return 1; }
  [ "$(grep -c 'error: .*process' err.txt)" = 1 ] || { cat err.txt; return 1; }
  [ ! -e m.json ] && [ ! -e c.npz ] && [ ! -e s.csv ]
}

@test "processes that do not compute alike stop with one message" {
  "$BLICA" simulate --variables 12 --sources 3 --segments 5 --samples 100 --out a --quiet
  "$BLICA" simulate --variables 12 --sources 3 --segments 5 --samples 100 --seed 2 --out b --quiet
  fit="fit a/data.csv --out m.json --threads 1"
  for options in "--sources 3|--sources 2" "--sources 3 --method blica|--sources 3 --method matched" \
    "--sources 3 --max-iterations 5|--sources 3 --max-iterations 6" "--sources 3|--sources 3 --seed 9"; do
    differ -n 1 "$MPI" $fit ${options%|*} : -n 1 "$MPI" $fit ${options#*|}
    grep -q "has '--" err.txt
  done
  differ -n 1 "$MPI" $fit --sources 3 : -n 1 "$MPI" count a/data.csv --out c.npz
  # the same name, another file: by a folder of its own
  mkdir one two
  cp a/data.csv one/x.csv
  cp b/data.csv two/x.csv
  differ -n 1 -wdir one "$MPI" fit x.csv --sources 3 --out "$PWD/m.json" : -n 1 -wdir two "$MPI" fit x.csv --sources 3 --out "$PWD/m.json"
  cp a/model.json one/m.json
  cp b/model.json two/m.json
  cp one/x.csv two/x.csv
  differ -n 1 -wdir one "$MPI" sources m.json x.csv --out "$PWD/s.csv" : -n 1 -wdir two "$MPI" sources m.json x.csv --out "$PWD/s.csv"
  grep -q "in its model" err.txt
  # another processor, as BLAS sees it
  [ "$(OPENBLAS_VERBOSE=2 OPENBLAS_CORETYPE=Haswell "$BLICA" --version 2>&1 | grep -c Haswell)" = 1 ] || skip "BLAS has no other kernels here"
  other=Haswell
  [ "$(OPENBLAS_VERBOSE=2 "$BLICA" --version 2>&1 | grep -c Haswell)" = 0 ] || other=Sandybridge
  differ -n 1 "$MPI" $fit --sources 3 : -n 1 -x OPENBLAS_CORETYPE=$other "$MPI" $fit --sources 3
  grep -q "BLAS kernels" err.txt
}

@test "a process that fails alone says so and ends the others" {
  "$BLICA" simulate --variables 4 --sources 2 --segments 3 --samples 50 --out a --quiet
  code=0
  timeout "$(patience)" mpirun --quiet -n 1 "$MPI" sources a/model.json a/data.csv --out s.csv : \
    -n 1 "$MPI" sources nothing.json a/data.csv --out s.csv >out.txt 2>err.txt || code=$?
  [ "$code" = 3 ]
  grep -q 'process 1 of 2: .*nothing.json' err.txt
  [ ! -e s.csv ]
}

@test "a lost rank ends the job with a message, without a hang or half an output" {
  "$BLICA" simulate --variables 60 --sources 60 --segments 8 --samples 200 --out a --quiet
  for victim in 1 3; do
    timeout "$(patience)" mpirun -n 3 "$MPI" fit a/data.csv --method blica --sources 60 --starts 1000 --threads 1 --out m.json >out.txt 2>err.txt &
    job=$!
    wait_for "$job" all_ranks "$job" 3
    pids=$(ranks_of "$job")
    wait_for "$job" grep -q 'method blica' err.txt
    kill -9 "$(echo $pids | cut -d' ' -f$victim)"
    code=0
    wait "$job" || code=$?
    wait_gone $pids
    [ "$code" = 137 ]
    grep -q "rank $((victim - 1)) .*exited on signal 9" err.txt
    [ "$(ls)" = "$(printf 'a\nerr.txt\nout.txt')" ]
  done
}
