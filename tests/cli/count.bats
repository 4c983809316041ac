#!/usr/bin/env bats
# count, merge and correlate as a user runs them.

setup() {
  cd "$BATS_TEST_TMPDIR"
  awk 'BEGIN{srand(3); print "a,b,c,d,segment"; for(r=0;r<3000;r++){z=rand(); l=""; for(i=0;i<4;i++) l = l (rand()<(z+i*.1)/1.4) ","; print l "s" int(rand()*5)}}' > data.csv
}

@test "counts of parts merge to the counts of the whole, byte by byte" {
  "$BLICA" count data.csv --out whole.npz --quiet
  "$BLICA" count data.csv --out whole.csv --quiet
  head -1 data.csv > head.txt
  for part in 1 2 3; do
    { cat head.txt; tail -n +2 data.csv | sed -n "$(((part - 1) * 1000 + 1)),$((part * 1000))p"; } > part$part.csv
  done
  "$BLICA" count part1.csv --out p1.npz --quiet
  "$BLICA" count part2.csv --out p2.csv --quiet
  gzip part3.csv && "$BLICA" count part3.csv.gz --out p3.npz --quiet
  "$BLICA" merge p1.npz p2.csv p3.npz --out sum.npz --quiet
  "$BLICA" merge p1.npz p2.csv p3.npz --out sum.csv --quiet
  cmp whole.npz sum.npz
  cmp whole.csv sum.csv
}

@test "the same file for 1, 2 and 7 threads" {
  for t in 1 2 7; do "$BLICA" count data.csv --out t$t.npz --threads $t --quiet; done
  cmp t1.npz t2.npz
  cmp t1.npz t7.npz
}

@test "merge refuses other variables, naming the first that differs" {
  "$BLICA" count data.csv --out p1.npz --quiet
  sed '1s/c,d/c,e/' data.csv > other.csv && "$BLICA" count other.csv --out p2.npz --quiet
  run "$BLICA" merge p1.npz p2.npz --out sum.npz
  [ "$status" -eq 3 ]
  [[ "$output" == *"variable 4 is 'e'"*"'d'"* ]]
  [ ! -e sum.npz ]
}

@test "files that are no counts" {
  head -c 400 /dev/urandom > junk.npz
  run "$BLICA" merge junk.npz --out sum.npz
  [ "$status" -eq 3 ]
  run "$BLICA" merge data.csv --out sum.npz
  [ "$status" -eq 3 ]
  [[ "$output" == *"not a file of pair counts"* ]]
  "$BLICA" count data.csv --out good.npz --quiet
  head -c 700 good.npz > cut.npz
  run "$BLICA" correlate cut.npz --out r.npz
  [ "$status" -eq 3 ]
  [ ! -e r.npz ]
}

@test "a failed write leaves the old file as it was" {
  "$BLICA" count data.csv --out kept.npz --quiet
  cp kept.npz before.npz
  run "$BLICA" count absent.csv --out kept.npz
  [ "$status" -eq 3 ]
  cmp kept.npz before.npz
  run "$BLICA" count data.csv --out nowhere/c.npz
  [ "$status" -eq 3 ]
  [[ "$output" == *"nowhere/c.npz"* ]]
  run "$BLICA" count data.csv --out counts.txt
  [ "$status" -eq 2 ]
  [[ "$output" == *".npz or .csv"* ]]
}

@test "correlate takes data or counts and gives the same" {
  "$BLICA" count data.csv --out c.npz --quiet
  "$BLICA" count data.csv --out c.csv --quiet
  "$BLICA" correlate data.csv --out r1.csv --quiet
  "$BLICA" correlate c.npz --out r2.csv --quiet
  "$BLICA" correlate c.csv --out r3.csv --quiet
  cmp r1.csv r2.csv
  cmp r1.csv r3.csv
  [ "$(head -1 r1.csv)" = "segment,i,j,rho,se,flags,threshold" ]
  [ "$(wc -l < r1.csv)" -eq $((1 + 5 * 10)) ]
}

@test "correlate writes the covariance of all thresholds and correlations" {
  "$BLICA" simulate --variables 3 --sources 2 --segments 2 --samples 300 --levels 3 --seed 1 --out d --quiet
  "$BLICA" correlate d/data.csv --ordinal --out r.csv --acm acm.csv --quiet
  [ "$(head -1 acm.csv)" = "segment,statistic,value,x1|t1,x1|t2,x2|t1,x2|t2,x3|t1,x3|t2,x1~~x2,x1~~x3,x2~~x3" ]
  [ "$(wc -l <acm.csv)" -eq 19 ]
  /usr/bin/python3 - <<'P'
import csv
rows = list(csv.reader(open("acm.csv")))[1:]
assert [r[:2] for r in rows[9:12]] == [["2", "x1|t1"], ["2", "x1|t2"], ["2", "x2|t1"]]
pairs = {(r["segment"], r["i"], r["j"]): r for r in csv.DictReader(open("r.csv"))}
for row in rows[6:9]:
    pair = pairs[(row[0], *row[1].split("~~"))]
    at = [r[1] for r in rows[:9]].index(row[1])
    assert float(row[2]) == float(pair["rho"]) and abs((float(row[3 + at]) / 300) ** 0.5 / float(pair["se"]) - 1) < 0.1
P
  "$BLICA" count d/data.csv --ordinal --out c.npz --quiet
  run "$BLICA" correlate c.npz --out r.csv --acm acm.csv
  [ "$status" -eq 2 ]
  [[ "$output" == *"--acm needs rows, and 'c.npz' holds counts"* ]]
  run "$BLICA" correlate d/data.csv --ordinal --out r.csv --acm acm.npz
  [ "$status" -eq 2 ]
  [[ "$output" == *"written as .csv"* ]]
  printf 'a,b\n0,0\n0,1\n0,1\n' >constant.csv
  run "$BLICA" correlate constant.csv --segment-count 1 --out r.csv --acm none.csv
  [ "$status" -eq 3 ]
  [[ "$output" == *"item 'a': no row is at one of its levels"* ]]
  [ ! -e none.csv ]
}

@test "a segment of one row: counted with a warning, refused by correlate" {
  echo "1,0,1,0,lonely" >> data.csv
  run "$BLICA" count data.csv --out c.npz
  [ "$status" -eq 0 ]
  [[ "$output" == *"lonely"* ]]
  run "$BLICA" correlate c.npz --out r.npz
  [ "$status" -eq 3 ]
  [[ "$output" == *"segment 6 ('lonely') has 1 row"* ]]
}
