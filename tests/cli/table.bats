#!/usr/bin/env bats
# Reading tables: every dress a file of 0/1 data may wear gives the same counts; every malformed one is
# refused with its place, its value and what to do (exit code 3), and leaves no file behind.

setup() {
  cd "$BATS_TEST_TMPDIR"
  cat > plain.csv <<'END'
a,b,c,segment
1,0,1,s1
0,1,1,s1
1,1,0,s2
0,0,0,s2
1,1,1,s1
END
  "$BLICA" count plain.csv --out plain-counts.csv --quiet
}

# counts of the file given, with the options given, equal those of plain.csv
same_counts() {
  run "$BLICA" count "$@" --out got.csv --quiet
  echo "$output"
  [ "$status" -eq 0 ]
  diff plain-counts.csv <(sed 's/\[[^]]*]>=1//g' got.csv) # levels are part of a column's name
}

# refused CODE 'words' ARGUMENTS...
refused() {
  local code=$1 words=$2
  shift 2
  run "$BLICA" count "$@" --out refused.npz
  echo "status $status: $output"
  [ "$status" -eq "$code" ]
  [[ "$output" == *"$words"* ]]
  [ ! -e refused.npz ]
}

@test "counts of the plain table are right" {
  diff plain-counts.csv - <<'END'
segment,i,j,n11,n10,n01,n00
s1,a,a,2,0,0,1
s1,a,b,1,1,1,0
s1,b,b,2,0,0,1
s1,a,c,2,0,1,0
s1,b,c,2,0,1,0
s1,c,c,3,0,0,0
s2,a,a,1,0,0,1
s2,a,b,1,0,0,1
s2,b,b,1,0,0,1
s2,a,c,0,1,0,1
s2,b,c,0,1,0,1
s2,c,c,0,0,0,2
END
}

@test "tabs, semicolons, blanks" {
  tr , '\t' < plain.csv > t.tsv && same_counts t.tsv
  tr , ';' < plain.csv > t.txt && same_counts t.txt
  tr , ' ' < plain.csv > b.txt && same_counts b.txt
  sed 's/,/   /g; s/^/  /; s/$/  /' plain.csv > b2.txt && same_counts b2.txt
}

@test "CRLF, no newline at the end, empty lines, byte order mark, blanks around fields" {
  sed 's/$/\r/' plain.csv > crlf.csv && same_counts crlf.csv
  head -c -1 plain.csv > cut.csv && same_counts cut.csv
  sed 's/$/\n/' plain.csv > gaps.csv && same_counts gaps.csv
  { printf '\xef\xbb\xbf'; cat plain.csv; } > bom.csv && same_counts bom.csv
  sed 's/,/ , /g' plain.csv > wide.csv && same_counts wide.csv
}

@test "quotes, also around separators and newlines" {
  sed 's/[^,]*/"&"/g' plain.csv > q.csv && same_counts q.csv
  sed 's/[^,]*/"&"/g; s/,/ /g' plain.csv > q.txt && same_counts q.txt
  printf '"x, ""1""","two\nlines",segment\n1,0,"s, 1"\n0,1,"s, 1"\n' > hard.csv
  run "$BLICA" count hard.csv --out hard-counts.csv --quiet
  [ "$status" -eq 0 ]
  [ "$(grep -c '"s, 1"' hard-counts.csv)" -eq 3 ]
  grep -q '"x, ""1"""' hard-counts.csv
}

@test "0.0 and 1.0, 1e0, +1" {
  sed '2,$s/\b0\b/0.0/g; 2,$s/\b1\b/1.0/g' plain.csv > f.csv && same_counts f.csv
  sed '2,$s/^1,/1e0,/; 2,$s/^0,/-0,/' plain.csv > e.csv && same_counts e.csv
}

@test "gzip, zstd, concatenated gzip, stdin" {
  gzip -k plain.csv && same_counts plain.csv.gz
  zstd -q plain.csv && same_counts plain.csv.zst
  { head -3 plain.csv | gzip; tail -n +4 plain.csv | gzip; } > two.gz && same_counts two.gz
  mv plain.csv.gz nameless && same_counts nameless
  same_counts - < plain.csv
  same_counts - < nameless
  same_counts - < plain.csv.zst
}

@test "segment column by name, index and last, anywhere in the row" {
  sed 's/segment/when/' plain.csv > w.csv
  same_counts w.csv --segment-column when
  same_counts w.csv --segment-column 4
  same_counts w.csv --segment-column last
  awk -F, -v OFS=, '{print $1, $4, $2, $3}' plain.csv > middle.csv && same_counts middle.csv
  awk -F, -v OFS=, '{print $4, $1, $2, $3}' plain.csv > front.csv && same_counts front.csv
}

@test "without header: names x1, x2, ...; text labels in the segment column are no header" {
  tail -n +2 plain.csv > bare.csv
  run "$BLICA" count bare.csv --segment-column last --out got.csv --quiet
  [ "$status" -eq 0 ]
  sed 's/,a/,x1/g; s/,b/,x2/g; s/,c/,x3/g' plain-counts.csv | diff - got.csv
}

@test "a header of numbers is a header" {
  sed '1s/.*/0,1,2,3/' plain.csv > numbers.csv
  run "$BLICA" count numbers.csv --segment-column last --out got.csv --quiet
  [ "$status" -eq 0 ]
  sed 's/,a/,0/g; s/,b/,1/g; s/,c/,2/g' plain-counts.csv | diff - got.csv
}

@test "row names as R and pandas write them are left out" {
  awk -F, -v OFS=, 'NR==1{print "\"\"", $0} NR>1{print "\"" NR-1 "\"", $0}' plain.csv > pandas.csv && same_counts pandas.csv
  awk -F, 'NR==1{print} NR>1{print NR-1 "," $0}' plain.csv > short.csv && same_counts short.csv
  run "$BLICA" count pandas.csv --out got.csv
  [[ "$output" == *"left out as row names"* ]]
}

@test "segments by length, by count and from a file" {
  cut -d, -f1-3 plain.csv > rows.csv
  tail -n +2 plain.csv | cut -d, -f4 > labels.txt
  same_counts rows.csv --segment-file labels.txt
  run "$BLICA" count rows.csv --segment-length 2 --out l.csv --quiet
  [ "$status" -eq 0 ]
  [ "$(cut -d, -f1 l.csv | sort -u | tr '\n' ' ')" = "1 2 3 segment " ]
  run "$BLICA" count rows.csv --segment-count 2 --out c.csv --quiet
  [ "$status" -eq 0 ]
  [ "$(grep '^1,a,a' c.csv)" = "1,a,a,2,0,0,1" ]
  [ "$(grep '^2,a,a' c.csv)" = "2,a,a,1,0,0,1" ]
}

@test "missing values: empty, NA, NaN and what other programs write" {
  printf 'a,b,segment\n1,NA,s\n,1,s\n1,nan,s\n1,1,s\n0,1,s\n' > m.csv
  run "$BLICA" count m.csv --out got.csv --quiet
  [ "$status" -eq 0 ]
  for word in 'N\/A' 'n\/a' '#N\/A' '<NA>' null; do
    sed "s/nan/$word/" m.csv > other.csv
    run "$BLICA" count other.csv --out other.out.csv --quiet
    [ "$status" -eq 0 ]
    cmp got.csv other.out.csv
  done
  printf 'a,b,segment\nNA,1,s\nyes,0,s\nNA,1,t\nyes,,t\n' > level.csv # NA is a level when it is given as one
  run "$BLICA" count level.csv --levels "a=NA<yes" --out level.out.csv --quiet
  [ "$status" -eq 0 ]
  grep -qxF 's,a[NA<yes]>=1,a[NA<yes]>=1,1,0,0,1' level.out.csv
  diff got.csv - <<'END'
segment,i,j,n11,n10,n01,n00
s,,,5,0,0,0
s,a,a,3,0,0,1
s,a,b,1,0,1,0
s,b,b,3,0,0,0
END
}

@test "levels: two values that need no option or --ordinal; the mapping is printed" {
  sed '2,$s/\b0\b/no/g; 2,$s/\b1\b/yes/g' plain.csv > yes.csv && same_counts yes.csv --ordinal && same_counts yes.csv && same_counts yes.csv --levels "no<yes"
  sed '2,$s/\b1\b/2/g; 2,$s/\b0\b/1/g' plain.csv > two.csv && same_counts two.csv && same_counts two.csv --ordinal
  sed '2,$s/\b1\b/10/g; 2,$s/\b0\b/9/g' plain.csv > ten.csv && same_counts ten.csv --ordinal
  same_counts plain.csv --ordinal
  run "$BLICA" count yes.csv --out got.csv
  [[ "$output" == *"in all 3 columns 'no' is 0 and 'yes' is 1"* ]]
  sed '5s/no/maybe/' yes.csv > three.csv
  refused 3 "'maybe' is not one of its levels no<yes" three.csv --levels "no<yes"
}

@test "refused: values that are not 0 or 1" {
  sed '4s/1,1,0/1,2,0/' plain.csv > v.csv
  refused 3 "row 3 (line 4), column 2 ('b'): value '2' is not 0 or 1" v.csv
  [[ "$output" == *"--levels"* ]]
  tail -n +2 v.csv > bare.csv
  refused 3 "row 3 (line 3), column 2 (no name): value '2'" bare.csv --segment-column last
  sed '4s/1,1,0/1,x,0/' plain.csv > t.csv
  refused 3 "value 'x' is not 0 or 1" t.csv
}

@test "refused: ragged rows" {
  sed '3s/$/,1/' plain.csv > long.csv
  refused 3 "row 2 (line 3): 5 fields, 4 are expected" long.csv
  sed '5s/,s2//' plain.csv > short.csv
  refused 3 "row 4 (line 5): 3 fields, 4 are expected" short.csv
}

@test "refused: empty, header only, one column, duplicate names, directory, absent, unreadable" {
  : > empty.csv && refused 3 "is empty" empty.csv
  printf '\n \n\n' > blank.csv && refused 3 "is empty" blank.csv
  head -1 plain.csv > head.csv && refused 3 "has a header but no rows" head.csv
  printf 'a,segment\n1,s\n0,s\n' > one.csv && refused 3 "1 variable: at least 2 are needed" one.csv
  sed '1s/.*/a,b,a,segment/' plain.csv > twice.csv && refused 3 "variables 1 and 3 are both named 'a'" twice.csv
  mkdir folder && refused 3 "is a directory" folder
  refused 3 "No such file" absent.csv
  if [ "$(id -u)" -ne 0 ]; then
    cp plain.csv secret.csv && chmod 000 secret.csv && refused 3 "Permission denied" secret.csv
  fi
}

@test "refused: segments that are not given, not there, missing, or given twice" {
  cut -d, -f1-3 plain.csv > rows.csv
  refused 3 "nothing says which segment" rows.csv
  for way in --segment-column --segment-length --segment-count --segment-file; do [[ "$output" == *"$way"* ]]; done
  refused 3 "no such column; there are a, b, c, segment" plain.csv --segment-column time
  refused 3 "no such column" plain.csv --segment-column 5
  tail -n +2 plain.csv | tr -d s > bare.csv
  refused 3 "has no header; give the index of the column (1 to 4) or last" bare.csv --segment-column time
  sed '3s/s1$//' plain.csv > hole.csv && refused 3 "row 2 has no segment" hole.csv
  refused 2 "exclude each other" plain.csv --segment-length 2 --segment-count 2
  refused 3 "too few for --segment-count 6" rows.csv --segment-count 6
  printf 's\ns\n' > few.txt && refused 3 "has 2 labels, but" rows.csv --segment-file few.txt
  printf 's\n%.0s' 1 2 3 4 5 6 > many.txt && refused 3 "has more labels than" rows.csv --segment-file many.txt
  refused 3 "No such file" rows.csv --segment-file absent.txt
}

@test "refused: truncated and damaged compression, quotes that do not end" {
  awk 'BEGIN{srand(1); for(r=0;r<20000;r++) printf "%d,%d,%d,%d,s\n", rand()<.5, rand()<.5, rand()<.5, rand()<.5}' > long.csv
  gzip -k long.csv && head -c 3000 long.csv.gz > cut.gz && refused 3 "gzip data are cut off" cut.gz --segment-column last
  zstd -q long.csv && head -c 3000 long.csv.zst > cut.zst && refused 3 "zstd data are cut off" cut.zst --segment-column last
  cp long.csv.gz bad.gz && printf '\xff\xff\xff\xff\xff\xff\xff\xff' | dd of=bad.gz bs=1 seek=2000 conv=notrunc status=none
  refused 3 "gzip" bad.gz --segment-column last
  printf 'a,b,segment\n1,"0,s\n' > q.csv && refused 3 "line 2: a quoted field does not end" q.csv
  printf 'a,b,segment\n1,0"1,s\n' > q2.csv && refused 3 "line 2: an unquoted field contains a quote" q2.csv
  head -c 100 /dev/zero > zero.csv && refused 3 "is not text" zero.csv
}

@test "the piecewise reader: rows many times its buffer, plain and fast path mixed with quoted lines" {
  awk 'BEGIN{print "a,b,c,segment"; for(r=0;r<200000;r++){ q = r%997==0 ? "\"" : ""; print r%2 "," q (r%3==0) q "," (r%5==0) ",s" r%7}}' > big.csv
  run "$BLICA" count big.csv --out big-counts.csv --quiet
  [ "$status" -eq 0 ]
  awk -F, 'NR>1 && $2==$3 {n+=$4+$7} END{exit n!=600000}' big-counts.csv
  awk -F, '$2=="a" && $3=="b" {n+=$4} END{exit n!=33333}' big-counts.csv
}

@test "the authors' files read as they are" {
  data=$BLICA_SOURCE/../shared/data/authors/n10_nz10_N1000_s1.csv.gz
  [ -e "$data" ] || skip "reference data are not there: $data"
  run "$BLICA" count "$data" --segment-column last --out a.npz
  [ "$status" -eq 0 ]
  [[ "$output" == *"40000 rows of 10 variables in 40 segments"* ]]
}
