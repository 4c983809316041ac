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

@test "a segment of one row: counted with a warning, refused by correlate" {
  echo "1,0,1,0,lonely" >> data.csv
  run "$BLICA" count data.csv --out c.npz
  [ "$status" -eq 0 ]
  [[ "$output" == *"lonely"* ]]
  run "$BLICA" correlate c.npz --out r.npz
  [ "$status" -eq 3 ]
  [[ "$output" == *"segment 6 ('lonely') has 1 row"* ]]
}
