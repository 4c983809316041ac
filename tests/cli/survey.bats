#!/usr/bin/env bats
# Files of SPSS and Stata, written by R's haven: labels, missing codes, refusals, damaged files.
load helpers

haven() { Rscript --vanilla -e 'library(haven)' >/dev/null 2>&1; }

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  haven || return 0
  "$BLICA" simulate --variables 6 --sources 2 --segments 6 --samples 300 --seed 4 --out d --quiet
  Rscript --vanilla - <<'R' >/dev/null
library(haven)
d <- read.csv("d/data.csv")
o <- data.frame(id = seq_len(nrow(d)))
plain <- list()
for (i in 1:4) {
  x <- d[[i]]
  x[10 * i + 1:7] <- 9
  o[[paste0("q", i)]] <- labelled_spss(as.double(x), c(No = 0, Yes = 1, Refused = 9), na_values = 9)
  plain[[paste0("q", i)]] <- ifelse(x == 9, NA, c("No", "Yes")[x + 1])
}
sum <- d$x5 + 2 * d$x6
o$mood <- labelled(10 * as.double(sum), c(Low = 0, Fair = 20, High = 30)) # 10 has no label
o$wave <- labelled(as.double(d$segment), c(spring = 1, summer = 2))
o$city <- rep(c("Rome", "Paris"), length.out = nrow(d))
o$day <- as.Date("2024-01-01") + d$segment
attr(o$q1, "label") <- "Do you smoke?"
attr(o$mood, "label") <- "How are you today? \u00fc"
write_sav(o, "s.sav")
write_sav(o, "s.zsav", compress = "zsav")
stata <- o
for (i in 1:4) stata[[i + 1]] <- labelled(as.integer(ifelse(d[[i]] == o[[i + 1]], d[[i]], NA)), c(No = 0L, Yes = 1L), attr(o[[i + 1]], "label", exact = TRUE))
stata$mood <- labelled(as.integer(o$mood), c(Low = 0L, Fair = 20L, High = 30L), attr(o$mood, "label", exact = TRUE))
stata$wave <- labelled(as.integer(o$wave), c(spring = 1L, summer = 2L))
write_dta(stata, "s.dta")
plain$mood <- c("Low", "10", "Fair", "High")[sum + 1]
plain$wave <- ifelse(d$segment == 1, "spring", ifelse(d$segment == 2, "summer", d$segment))
write.csv(as.data.frame(plain), "s.csv", row.names = FALSE, na = "", quote = FALSE)
R
}

need_haven() { haven || skip "R's haven is not installed (tools/setup.sh test installs it)"; }

@test "SPSS and Stata files give the same model as the same rows in a CSV" {
  need_haven
  cd "$BATS_FILE_TMPDIR"
  run_code 0 fit s.csv --segment-column wave --sources 2 --out csv.json --levels "q1=No<Yes,q2=No<Yes,q3=No<Yes,q4=No<Yes,mood=Low<10<Fair<High"
  for end in sav zsav dta; do
    run_code 0 fit "s.$end" --segment-column wave --columns q1:mood --sources 2 --out "$end.json"
    /usr/bin/python3 - "$end.json" <<'P'
import json, sys
a, b = json.load(open("csv.json")), json.load(open(sys.argv[1]))
for name in ("mixing", "variances", "means", "cuts", "levels", "variables", "segments", "samples"):
    assert a[name] == b[name], (name, a[name], b[name])
assert b["levels"][4] == ["Low", "10", "Fair", "High"] and b["segments"][:3] == ["spring", "summer", "3"]
P
  done
  run_code 0 check s.sav --segment-column wave --columns q1:mood --json
  /usr/bin/python3 -c 'import json, sys; assert json.loads(sys.argv[1])["missing"] == [7, 7, 7, 7, 0]' "$out"
}

@test "a model's levels are found by their names, and rows can be read for everything else" {
  need_haven
  cd "$BATS_FILE_TMPDIR"
  run_code 0 fit s.sav --segment-column wave --columns q1:mood --sources 2 --out m.json
  run_code 0 sources m.json s.sav --segment-column wave --columns q1:mood --out from_sav.csv
  run_code 0 sources m.json s.csv --segment-column wave --out from_csv.csv
  cmp from_sav.csv from_csv.csv
  run_code 0 count s.sav --segment-count 7 --columns q1:mood --out c.npz
  run_code 0 count s.csv --segment-count 7 --columns q1:mood --levels "q1=No<Yes,q2=No<Yes,q3=No<Yes,q4=No<Yes,mood=Low<10<Fair<High" --out d.npz
  cmp c.npz d.npz
}

@test "check lists the variables to choose from, and fits and reports show their labels" {
  need_haven
  cd "$BATS_FILE_TMPDIR"
  for end in sav dta; do
    run_code 3 check "s.$end" --segment-column wave
    says "variable 'id' has more than 100 values"
    grep -E "^    id +(scale|codes) +0 missing +more than 100 values" <<<"$out"
    grep -E "^    q1 +(nominal|scale|codes) +7 missing +No<Yes +Do you smoke\?" <<<"$out"
    grep -E "^    mood +(nominal|scale|codes) +0 missing +Low<10<Fair<High +How are you today\? ü" <<<"$out"
    grep -E "^    city +text +0 missing" <<<"$out"
    grep -E "^    day +date +0 missing" <<<"$out"
    run_code 0 check "s.$end" --segment-column wave --columns q1:mood
    [[ "$out" != *"smoke"* ]]
    run_code 0 fit "s.$end" --segment-column wave --columns q1:mood --sources 2 --out "labels.json"
    grep -E "^q1 .*  Do you smoke\?$" <<<"$out"
    grep -E "^mood .*  How are you today\? ü$" <<<"$out"
    /usr/bin/python3 -c 'import json; assert json.load(open("labels.json"))["labels"] == ["Do you smoke?", "", "", "", "How are you today? ü"]'
  done
  run_code 0 fit s.sav --segment-column wave --columns q2:q4 --sources 1 --out no.json
  [[ "$(cat no.json)" != *'"labels"'* ]]
  "$BLICA" report labels.json --out labels.html --quiet || skip "the program has no report"
  grep -q "q1 · Do you smoke?" labels.html
  run_code 3 check none.sav
  says "none.sav: Unable to open file"
  cp s.csv liar.sav
  run_code 3 check liar.sav
  says "liar.sav: is damaged"
}

@test "variables that are no items are refused by name, with what to do" {
  need_haven
  cd "$BATS_FILE_TMPDIR"
  run_code 3 fit s.sav --segment-column wave --sources 2 --out x.json
  says "variable 'id' has more than 100 values; leave it out by --ignore"
  run_code 3 fit s.sav --segment-column wave --ignore id --sources 2 --out x.json
  says "variable 'city' holds text"
  run_code 3 fit s.sav --segment-column wave --ignore id,city --sources 2 --out x.json
  says "variable 'day' holds dates or times"
  run_code 3 fit s.sav --columns q1:q4 --sources 2 --out x.json
  says "nothing says which segment a row belongs to"
  run_code 3 fit none.sav --sources 2 --out x.json
  says "none.sav: Unable to open file"
  cp s.csv liar.sav
  run_code 3 fit liar.sav --sources 2 --out x.json
  says "liar.sav: is damaged or not what its name says"
  [ ! -e x.json ]
}

@test "damaged files end in a message, never in a crash" {
  need_haven
  cd "$BATS_FILE_TMPDIR"
  /usr/bin/python3 - "$BLICA" <<'P'
import os, random, subprocess, sys
patience = int(os.environ.get("BLICA_PATIENCE", "300"))
draw = random.Random(7)
codes = set()
for end in ("sav", "zsav", "dta"):
    whole = open("s." + end, "rb").read()
    for n in range(60):
        part = bytearray(whole)
        if n % 3 == 0:
            part = part[:draw.randrange(len(part))]
        else:
            for _ in range(draw.choice((1, 3, 20))):
                part[draw.randrange(min(len(part), 4000))] = draw.randrange(256)
        open("broken." + end, "wb").write(part)
        run = subprocess.run([sys.argv[1], "check", "broken." + end, "--segment-column", "wave", "--columns", "q1:mood"],
                             capture_output=True, text=True, timeout=patience)
        assert run.returncode in (0, 1, 3), (end, n, run.returncode, run.stderr)
        assert run.returncode == 0 or "broken." + end in run.stderr or "memory" in run.stderr, run.stderr
        codes.add(run.returncode)
assert codes >= {0, 3}, codes
P
}
