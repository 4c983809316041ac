#!/usr/bin/env bats
# items with levels: how they are read, counted and remembered
load helpers

# refuses 'words' DATA OPTIONS...: count exits with code 3, says so, and writes nothing
refuses() {
  local words=$1
  shift
  run_code 3 count "$@" --out none.csv
  says "$words"
  [ ! -e none.csv ]
}

@test "ordinal items: text and numbers, in order, one column named; what cannot be is refused and nothing is written" {
  printf 'mood,sleep,segment\nnever,3,a\noften,1,a\nrarely,2,b\nnever,1,b\nrarely,NA,a\noften,2,b\n' > o.csv
  run_code 0 count o.csv --levels "mood=never<rarely<often,sleep=1<2<3" --out o.out.csv
  grep -qxF "a,mood[never<rarely<often]>=1,mood[never<rarely<often]>=1,2,0,0,1" o.out.csv
  printf 'a,b,segment\n1,1,s\n2,4,s\n5,2,s\n1,4,t\n2,2,t\n5,1,t\n' > gaps.csv
  run_code 0 count gaps.csv --ordinal --out gaps.out.csv # levels 1, 2, 5: what is there, in order
  [[ "$err" == *"items with levels ("*" columns of bits) in"* ]]
  run_code 0 merge gaps.out.csv --out merged.out.csv
  [[ "$err" == *"items with levels ("*" columns of bits)"* ]]
  grep -q 'a\[1<2<5]>=2' gaps.out.csv
  refuses "'often' is not one of its levels never<rarely" o.csv --levels "mood=never<rarely,sleep=1<2<3"
  refuses "there is no column 'moods'" o.csv --levels "moods=never<rarely"
  refuses "column 1 ('mood'): 'never' is not a whole number" o.csv --ordinal
  refuses "the level 'never' occurs twice" o.csv --levels "mood=never<never,sleep=1<2<3"
  (echo a,b,segment; for i in $(seq 200); do echo $i,$((i % 3)),s; done) > many.csv
  refuses "more than 100 values" many.csv --ordinal
  (echo a,b,segment; for i in $(seq 20); do echo 1,$((i % 3)),s; done) > constant.csv
  refuses "column 1 ('a'): it has 1 value" constant.csv --ordinal
  [ ! -e none.csv ]
}

# A fit refuses the data: exit code 3, says so, and writes nothing.
no_fit() {
  local words=$1
  shift
  run_code 3 fit "$@" --sources 1 --out none.json
  says "$words"
  [ ! -e none.json ]
}

@test "bad items are refused by a fit, and new levels by whatever uses the model" {
  awk 'BEGIN { srand(1); print "a,b,c,segment"; split("1 2 5", l, " ");
    for (i = 0; i < 300; i++) print l[int(3 * rand()) + 1] "," int(3 * rand()) + 1 "," int(2 * rand()) "," i % 4 }' > gaps.csv
  run_code 0 fit gaps.csv --ordinal --sources 1 --out m.json
  grep -q '"1", *"2", *"5"' <(tr -d '\n ' < m.json | sed 's/,/, /g')
  for value in 3 often 1.5; do
    sed "5s/^[0-9]*/$value/" gaps.csv > new.csv
    run_code 3 loglik m.json new.csv
    says "row 4, column 1 ('a'): '$value' is not one of its levels 1<2<5, which the model knows"
    run_code 3 report m.json new.csv --out none.html
    [ ! -e none.html ]
  done
  no_fit "'1.5' is not a whole number" new.csv --ordinal
  sed '5s/^[0-9]*/often/' gaps.csv > mix.csv # numbers and text in one column
  no_fit "column 1 ('a'): 'often' is not a whole number" mix.csv --ordinal
  no_fit "'often' is not one of its levels 1<2<5" mix.csv --levels "a=1<2<5,b=1<2<3"
  no_fit "use --ordinal or --levels" mix.csv
  sed 's/^[0-9]*,/2,/;1s/.*/a,b,c,segment/' gaps.csv > same.csv
  no_fit "column 1 ('a'): it has 1 value" same.csv --ordinal
  no_fit "item 'a' has the level '2' in all rows" same.csv --levels "a=1<2<5,b=1<2<3"
  awk 'BEGIN { print "a,b,segment"; for (i = 0; i < 600; i++) print i % 200 "," i % 3 "," i % 2 }' > many.csv
  no_fit "column 1 ('a'): it has more than 100 values" many.csv --ordinal
  no_fit "item 'a' has 200 levels; from 2 to 100" many.csv --levels "a=$(seq -s '<' 0 199),b=0<1<2"
}

@test "the levels of a model code new data" {
  run_code 0 simulate --variables 4 --sources 2 --segments 5 --samples 200 --out d
  awk -F, -v OFS=, 'NR > 1 { for (i = 1; i < NF; i++) $i = $i == 1 ? "agree" : "disagree" } { print }' d/data.csv > agree.csv
  run_code 0 fit agree.csv --levels "disagree<agree" --sources 2 --out m.json
  run_code 0 fit d/data.csv --sources 2 --out p.json
  [ "$("$BLICA" loglik m.json agree.csv)" = "$("$BLICA" loglik p.json d/data.csv)" ]
  head -2 agree.csv > one.csv && head -2 d/data.csv > first.csv
  run_code 0 sources m.json one.csv --out s.csv
  run_code 0 sources p.json first.csv --out t.csv
  cmp s.csv t.csv
  sed '2s/agree/perhaps/' agree.csv > new.csv
  run_code 3 sources m.json new.csv --out none.csv
  says "is not one of its levels disagree<agree, which the model knows"
  [ ! -e none.csv ]
  "$BLICA" count agree.csv --levels "disagree<agree" --out a.npz --quiet
  "$BLICA" count agree.csv --levels "agree<disagree" --out b.npz --quiet
  run_code 3 merge a.npz b.npz --out none.npz
  says "x1[agree<disagree]>=1"
  [ ! -e none.npz ]
}

@test "three levels: a fit of rows, of counts and of a model file; methods for two levels say so" {
  run_code 0 simulate --variables 4 --sources 4 --segments 10 --samples 300 --levels 3 --out d
  [ "$(sed 1d d/data.csv | cut -d, -f1 | sort -u | tr '\n' ' ')" = "0 1 2 " ]
  run_code 0 fit d/data.csv --ordinal --sources 4 --out a.json
  run_code 0 count d/data.csv --ordinal --out c.npz
  run_code 0 fit c.npz --sources 4 --out b.json
  run_code 0 compare a.json b.json
  [[ "$out" == "MCS 1 "* ]]
  /usr/bin/python3 - <<'P'
import json
m = json.load(open("a.json"))
assert m["levels"] == [["0", "1", "2"]] * 4 and all(len(c) == 2 and c[0] < c[1] for c in m["cuts"])
P
  run_code 0 fit d/data.csv --ordinal --sources 4 --method mle --out mle.json
  run_code 0 loglik mle.json d/data.csv --json
  echo "$out" > mle.loglik
  run_code 0 loglik a.json d/data.csv --json
  echo "$out" > a.loglik
  /usr/bin/python3 - <<'P'
import json
mle, a = json.load(open("mle.loglik")), json.load(open("a.loglik"))
assert mle["loglik"] > a["loglik"] - mle["error"] - a["error"]
assert abs(json.load(open("mle.json"))["fit"]["notes"]["loglik"] - mle["loglik"]) < 1
P
  run_code 0 fit d/data.csv --ordinal --sources 4 --method pairwise --out p.json
  run_code 0 compare a.json p.json --json
  echo "$out" | /usr/bin/python3 -c 'import json, sys; assert json.load(sys.stdin)["mcs"] > 0.98'
  run_code 2 fit d/data.csv --ordinal --sources 4 --method fastica --out none.json
  says "method 'fastica' is for items with two levels; 'x1' has 3"
  [ ! -e none.json ]
}

@test "loglik and sources of ordinal rows: engines agree, missing values drop out, two levels among others" {
  run_code 0 simulate --variables 5 --sources 2 --segments 3 --samples 200 --levels 4 --seed 6 --out d
  awk -F, -v OFS=, 'NR > 1 { $5 = $5 > 1 } { print }' d/data.csv > mixed.csv # one item of two levels
  run_code 0 fit mixed.csv --ordinal --sources 2 --out m.json
  for engine in auto grid lattice ep; do
    run_code 0 loglik m.json mixed.csv --engine $engine --json
    echo "$out" > $engine.json
  done
  awk -F, -v OFS=, 'NR > 1 { $2 = "" } { print }' mixed.csv > without.csv
  run_code 0 loglik m.json without.csv --json
  echo "$out" > without.json
  run_code 0 sources m.json mixed.csv --out s.csv
  run_code 0 sources m.json mixed.csv --segment unknown --out unknown.csv
  /usr/bin/python3 - <<'P'
import csv, json, math
from itertools import product
auto, grid, lattice, ep, without = (json.load(open(f + ".json")) for f in ("auto", "grid", "lattice", "ep", "without"))
assert auto["engine"] == "grid" and auto["loglik"] == grid["loglik"] and auto["error"] < 1e-3
assert abs(grid["loglik"] - lattice["loglik"]) <= grid["error"] + lattice["error"]
assert abs(grid["loglik"] - ep["loglik"]) <= ep["error"] + grid["error"]
assert without["loglik"] > grid["loglik"] + 100 # an item of four levels less
# one row by quadrature over the sources
m = json.load(open("m.json"))
row = list(csv.reader(open("mixed.csv")))[1]
s = m["segments"].index(row[-1])
cdf = lambda x: math.erfc(-x / math.sqrt(2)) / 2
total, mean, h = 0, 0, 0.05
for a, b in product(range(-160, 161), repeat=2):
    z = [a * h, b * h]
    p = math.exp(-(z[0] ** 2 + z[1] ** 2) / 2) * h * h / (2 * math.pi)
    source = [m["means"][s][j] + math.sqrt(m["variances"][s][j]) * z[j] for j in range(2)]
    for i in range(5):
        y = math.sqrt(m["link"]) * sum(m["mixing"][i][j] * source[j] for j in range(2))
        level, cuts = m["levels"][i].index(row[i]), m["cuts"][i]
        p *= (cdf(cuts[level] - y) if level < len(cuts) else 1) - (cdf(cuts[level - 1] - y) if level else 0)
    total += p
    mean += p * source[0]
first = list(csv.DictReader(open("s.csv")))[0]
assert abs(float(first["z1"]) - mean / total) < 1e-6
open("one.csv", "w").write(open("mixed.csv").read().split("\n")[0] + "\n" + ",".join(row) + "\n")
open("one.txt", "w").write(repr(math.log(total)))
P
  run_code 0 loglik m.json one.csv --json
  echo "$out" | /usr/bin/python3 -c 'import json, sys; assert abs(json.load(sys.stdin)["loglik"] - float(open("one.txt").read())) < 1e-8'
}

# items.csv: a, b of 1 to 3, smoker, mood, sex (1/2), c and d (0/1) in three segments
items() {
  awk 'BEGIN { srand(4); print "a,b,smoker,mood,sex,c,d,segment"; split("never rarely often", mood, " ")
    for (i = 0; i < 600; i++) { s = int(i / 200); z = (rand() - .5) * (1 + 2 * s)
      for (j = 1; j < 8; j++) v[j] = 1 + (z + rand() > .3) + (z + rand() > .9)
      print v[1] "," v[2] "," (v[3] > 1 ? "Yes" : "No") "," mood[v[4]] "," 1 + (v[5] > 1) "," (v[6] > 1) "," (v[7] > 1) ",s" s } }'
}

@test "--ordinal beside columns of words: no/yes needs nothing, other text its levels" {
  items > items.csv
  run_code 0 fit items.csv --ordinal --levels "mood=never<rarely<often" --sources 1 --out m.json
  [ "$(/usr/bin/python3 -c 'import json; print(["<".join(l) for l in json.load(open("m.json"))["levels"]])')" = \
    "['1<2<3', '1<2<3', 'No<Yes', 'never<rarely<often', '1<2', '0<1', '0<1']" ]
  refuses "column 4 ('mood'): '" items.csv --ordinal
  says "as in --levels 'NAME=low<middle<high'"
  run_code 2 count items.csv --ordinal --levels "1<2<3" --out none.csv
  says "leaves nothing to --ordinal"
  sed 's/Yes/low/' items.csv > low.csv
  refuses "is not a whole number" low.csv --ordinal --ignore mood
  # without a header, words in the first row are data
  sed 1d items.csv > bare.csv
  run_code 0 check bare.csv --ordinal --ignore 4 --segment-column last --json
  [[ "$out" == *'"rows": 600'* ]]
}

@test "each column has a pair of its own: 1/2 and no/yes beside 0/1" {
  items | cut -d, -f3,5- > pairs.csv
  run_code 0 count pairs.csv --out pairs.out.csv
  says "'No' is 0 and 'Yes' is 1 in smoker (1 of 4 columns)"
  says "'1' is 0 and '2' is 1 in sex (1 of 4 columns)"
  items | awk -F, -v OFS=, 'NR == 1 { print "smoker,sex,c,d,segment"; next } { print $3 == "Yes" ? 1 : 0, $5 - 1, $6, $7, $8 }' > plain.csv
  run_code 0 count plain.csv --out plain.out.csv
  diff <(sed 's/\[[^]]*]>=1//g' pairs.out.csv) plain.out.csv
  sed 's/,2,\([01],[01],s\)/,3,\1/' pairs.csv > three.csv
  refuses "column 1 ('smoker'): value 'Yes' is not 0 or 1" three.csv
  # a column that always has one value takes the pair of the others
  items | awk -F, -v OFS=, 'NR == 1 { print "a,b,c,segment"; next } { print $3, $3, "Yes", $8 }' > one.csv
  run_code 0 check one.csv
  [[ "$out" == *"'c': always Yes"* ]] || { echo "$out"; false; }
}

@test "a name that only looks like one of levels is a name; hexadecimal numbers are not read" {
  run_code 0 simulate --variables 4 --sources 1 --segments 3 --samples 200 --out d
  run_code 0 fit d/data.csv --sources 1 --out plain.json
  for name in 'q[1]>=2' 'q[1<2]>=2' 'q[]>=1' '[1<2]>=1' 'a=b' 'p[1]>=1'; do
    sed "1s/x3/$name/" d/data.csv > named.csv
    run_code 0 fit named.csv --sources 1 --out m.json
    /usr/bin/python3 -c 'import json, sys; a, b = (json.load(open(f)) for f in ("m.json", "plain.json"))
assert a["variables"] == ["x1", "x2", sys.argv[1], "x4"] and a["mixing"] == b["mixing"]' "$name"
    for file in c.csv c.npz; do
      run_code 0 count named.csv --out $file
      run_code 0 fit $file --sources 1 --out n.json
      diff <(sed '/"seconds/d' m.json) <(sed '/"seconds/d' n.json)
    done
    run_code 0 fit named.csv --levels "$name=0<1,x1=0<1" --sources 1 --out n.json
    diff <(sed '/"seconds/d' m.json) <(sed '/"seconds/d' n.json)
  done
  sed '3s/[01]$/0x1/;3s/^[01]/0x1/' d/data.csv > hex.csv
  refuses "column 1 ('x1'): value '0x1' is not 0 or 1" hex.csv
  refuses "column 1 ('x1'): '0x1' is not a whole number" hex.csv --ordinal
  run_code 2 fit d/data.csv --sources 0x1 --out none.json
}
