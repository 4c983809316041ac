#!/usr/bin/env bats
# Counting in bounded memory, and the ways of reading that need to know the whole table.

setup() { cd "$BATS_TEST_TMPDIR"; }

# piped BLOCKS ARGUMENT...: a header, then a block of 50 000 rows of 100 variables (10 MB) so many times, into `blica count -`;
# prints the peak memory of the program in MB.
piped() {
  python3 - "$BLICA" "$@" <<'P'
import random, resource, subprocess, sys
blica, blocks, arguments = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
random.seed(1)
rows = [",".join(format(random.getrandbits(100), "0100b")) for _ in range(50)]
block = "".join(f"{rows[r % 50]},s{r // 1000}\n" for r in range(50000)).encode()
p = subprocess.Popen([blica, "count", "-", *arguments, "--quiet"], stdin=subprocess.PIPE)
p.stdin.write((",".join(f"x{i}" for i in range(100)) + ",segment\n").encode())
for _ in range(blocks): p.stdin.write(block)
p.stdin.close()
assert p.wait() == 0
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1000)
P
}

@test "800 MB through a pipe in less memory than its bits take; the counts are right" {
  run piped 1 --out one.csv
  [ "$status" -eq 0 ]
  run piped 80 --out many.csv
  [ "$status" -eq 0 ]
  echo "peak $output MB"
  # a sanitizer (make asan, make tsan) takes memory of its own
  [ -n "${LSAN_OPTIONS:-}${TSAN_OPTIONS:-}" ] || [ "$output" -lt 70 ] # the rows as bits would be 50 MB, twice, and 16 MB of labels, twice
  awk -F, 'NR == FNR {a[FNR] = $4; next} FNR > 1 && $4 != 80 * a[FNR] {exit 1} END {if (FNR != 252501) exit 1}' one.csv many.csv
}

rows() { awk 'BEGIN{srand(7); print "x1,x2,x3"; for(r=0;r<1003;r++) print (rand()<.3) "," (rand()<.6) "," (rand()<.5)}'; }

@test "segments by count: a file, a pipe, gzip and .npy give the same" {
  rows > rows.csv
  "$BLICA" count rows.csv --segment-count 7 --out file.csv --quiet
  "$BLICA" count - --segment-count 7 --out pipe.csv --quiet < <(cat rows.csv)
  gzip -k rows.csv && "$BLICA" count rows.csv.gz --segment-count 7 --out gz.csv --quiet
  awk -F, 'NR > 1 {print $0 "," int((NR - 2) * 7 / 1003) + 1}' rows.csv | sed '1i x1,x2,x3,segment' > labelled.csv
  "$BLICA" count labelled.csv --out labelled.out.csv --quiet
  /usr/bin/python3 -c 'import numpy; numpy.save("rows.npy", numpy.loadtxt("rows.csv", "i1", delimiter=",", skiprows=1))'
  "$BLICA" count rows.npy --segment-count 7 --out npy.csv --quiet
  for other in pipe.csv gz.csv npy.csv labelled.out.csv; do cmp file.csv $other; done
}

@test "levels: values in any order of appearance, missing ones, and segments by count of a pipe" {
  rows | sed '2,$s/1/yes/g; 2,$s/0/no/g; 50s/^[^,]*/NA/' > yes.csv
  rows | sed '50s/^[^,]*/NA/' > plain.csv
  for way in "--segment-length 100" "--segment-count 7"; do
    "$BLICA" count plain.csv $way --out plain.out.csv --quiet
    "$BLICA" count yes.csv $way --ordinal --out yes.out.csv --quiet
    "$BLICA" count - $way --ordinal --out pipe.out.csv --quiet < <(cat yes.csv)
    cmp plain.out.csv <(sed 's/\[no<yes]>=1//g' yes.out.csv) # levels are part of a column's name
    cmp yes.out.csv pipe.out.csv
  done
}

@test "a fit keeps no rows: data, counts and a pipe give one model" {
  "$BLICA" simulate --variables 6 --sources 2 --segments 8 --samples 300 --out . --quiet
  "$BLICA" count data.csv --out counts.npz --quiet
  "$BLICA" fit data.csv --sources 2 --out a.json --quiet
  "$BLICA" fit counts.npz --sources 2 --out b.json --quiet
  "$BLICA" fit - --sources 2 --out c.json --quiet < data.csv
  for m in a b c; do sed 's/"seconds[^,]*,\{0,1\}//g' $m.json | grep -v seconds > $m.txt; done
  cmp a.txt b.txt
  cmp a.txt c.txt
}

@test "levels and numbers of a pipe, which is copied to a file that is removed" {
  mkdir tmp && export TMPDIR=$PWD/tmp
  { echo x1,x2,x3,segment && awk 'BEGIN {srand(3); for (r = 0; r < 600; r++) print int(4*rand()) "," int(3*rand()) "," rand() "," r % 5}'; } >o.csv
  for way in "--ordinal --ignore x3" "--ordinal --numeric x3"; do
    "$BLICA" count o.csv $way --out file.csv --quiet
    "$BLICA" count - $way --out pipe.csv --quiet < <(cat o.csv)
    cmp file.csv pipe.csv
  done
  run "$BLICA" count - --numeric x2 --out bad.csv --quiet < <(sed '9s/,/,much/' o.csv)
  [ "$status" -eq 3 ] && [[ "$output" == *"the standard input, row 8, column 2"* ]]
  [ -z "$(ls tmp)" ]
}
