#!/usr/bin/env bats
# blica simulate
load helpers

@test "writes data.csv and model.json of the sizes asked for" {
  run_code 0 simulate --variables 4 --sources 2 --segments 3 --samples 50 --seed 7 --out d
  [ "$(head -1 d/data.csv)" = "x1,x2,x3,x4,segment" ]
  [ "$(wc -l <d/data.csv)" -eq 151 ]
  [ "$(cut -d, -f5 d/data.csv | sort | uniq -c | awk '{print $1,$2}' | tr '\n' ';')" = "50 1;50 2;50 3;1 segment;" ]
  [ "$(grep -cvE '^([01],){4}[123]$' d/data.csv)" -eq 1 ] # the header
  [ "$(ls d | tr '\n' ' ')" = "data.csv model.json " ]
  /usr/bin/python3 - <<'P'
import json
m = json.load(open("d/model.json"))
assert m["format"] == "blica-model" and m["version"] == 2 and m["method"] == "truth"
assert [len(m["mixing"]), len(m["mixing"][0])] == [4, 2]
assert [len(m["variances"]), len(m["variances"][0])] == [3, 2] and m["samples"] == [50, 50, 50]
P
}

@test "the same seed gives the same bytes on any number of threads" {
  run_code 0 simulate --variables 6 --sources 3 --samples 3000 --threads 1 --out a
  run_code 0 simulate --variables 6 --sources 3 --samples 3000 --threads 3 --out b
  run_code 0 simulate --variables 6 --sources 3 --samples 3000 --seed 2 --out c
  cmp a/data.csv b/data.csv
  cmp a/model.json b/model.json
  if cmp -s a/data.csv c/data.csv; then return 1; fi
}

@test "--exact writes counts that numpy opens" {
  run_code 0 simulate --variables 4 --sources 2 --segments 3 --exact --out d
  [ "$(ls d | tr '\n' ' ')" = "counts.npz model.json " ]
  /usr/bin/python3 -c 'import numpy; z = numpy.load("d/counts.npz"); assert len(z.files) > 3'
}

@test "bad sizes are usage errors that name the option" {
  run_code 2 simulate --variables 3 --sources 4 --out d
  says "4 sources of 3 variables"
  run_code 3 simulate --sources 0 --out d
  says "sources"
  run_code 2 simulate --variables 1 --sources 1 --out d
  says "variables: '1'"
  run_code 2 simulate --segments 0 --out d
  says "segments"
  run_code 2 simulate --seed -1 --out d
  says "seed: '-1'"
  run_code 2 simulate --variables ten --out d
  says "'ten'"
  run_code 2 simulate
  says "--out DIR is missing"
  run_code 2 simulate extra --out d
  says "'extra'"
  only_files ""
}

@test "an output that cannot be made is a failure and leaves nothing" {
  touch file
  run_code 1 simulate --variables 3 --sources 2 --out file
  run_code 1 simulate --variables 3 --sources 2 --out file/sub
  run_code 1 simulate --variables 3 --sources 2 --out no/such/folder
  says "no/such/folder"
  only_files file
}

@test "both files or none" {
  mkdir -p d/data.csv
  run_code 1 simulate --variables 3 --sources 2 --out d
  [ "$(ls d)" = "data.csv" ]
}
