#!/usr/bin/env bats
# blica report; what a browser makes of the page is in report_browser.bats
load helpers

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  "$BLICA" simulate --variables 6 --sources 2 --segments 20 --samples 300 --out d --quiet
  "$BLICA" fit d/data.csv --method blica --sources 2 --out fit.json --quiet
}

@test "a page with the data has everything, without network" {
  d=$BATS_FILE_TMPDIR
  run_code 0 report "$d/fit.json" "$d/d/data.csv" --out r.html --figures f
  for text in "2 sources behind 6 binary items" "Design: at the fitted values the correlations would fix the mixing matrix" "How sure it is" "Change: the data show" "observed correlation" "Every start" \
    "Regularisation" "seed 1" "--sources 2" "x6"; do
    grep -q -- "$text" r.html || { echo "no '$text'"; return 1; }
  done
  sed -n "s/^echo \"'\([^']*\)' .*/\1/p" "$BATS_TEST_DIRNAME/../../tools/demo.sh" >headings # those that `make demo` names
  [ -s headings ]
  while read -r heading; do grep -q "<h[0-9][^>]*>$heading<" r.html || { echo "no heading '$heading'"; return 1; }; done <headings
  ! grep -qE 'https?://|src="[^d]' r.html
  for name in mixing variances means agreement segments; do
    [ -s "f/$name.svg" ]
  done
  [ ! -e f/residuals.svg ] # no pair is off
  # well-formed; where there are many pairs they are a heat map of some shades
  "$BLICA" simulate --variables 20 --sources 2 --segments 15 --samples 100 --out many --quiet
  "$BLICA" fit many/data.csv --sources 1 --out many.json --quiet
  run_code 0 report many.json many/data.csv --out many.html --figures many
  [ -s many/residuals.svg ]
  /usr/bin/python3 - f/*.svg many/*.svg <<'P'
import re, sys, xml.dom.minidom
maps = 0
for name in sys.argv[1:]:
    root = xml.dom.minidom.parse(name).documentElement
    assert root.tagName == "svg", name
    for group in root.getElementsByTagName("g"):
        paths = group.getElementsByTagName("path")
        cells = [cell for path in paths for cell in re.findall(r"M(\d+) (\d+)h(\d+)v1H(\d+)z", path.getAttribute("d"))]
        covered = {(int(x) + i, int(y)) for x, y, wide, back in cells for i in range(int(wide))}
        assert all(x == back for x, _, _, back in cells), name
        assert len(covered) == sum(int(wide) for _, _, wide, _ in cells), name  # no cell twice
        assert len({path.getAttribute("fill-opacity") for path in paths}) == len(paths) > 3, name
        maps += 1
assert maps > 0
P
}

@test "a page without data tells what is missing; a simulated model has a page too" {
  run_code 0 report "$BATS_FILE_TMPDIR/fit.json" --out r.html
  grep -q "made without the data" r.html
  run_code 0 report "$BATS_FILE_TMPDIR/d/model.json" --out truth.html
  grep -q "not fitted" truth.html
}

@test "console and page say in the same words which items a source is" {
  "$BLICA" simulate --variables 12 --sources 3 --segments 20 --samples 300 --out many --quiet
  sed '1s/x1,/calm \& "well",/; 1s/x2,/under 5 < 10,/; 1s/x12/überlang/' many/data.csv | sed '1s/calm & "well"/"calm \& ""well"""/' >named.csv
  for data in "$BATS_FILE_TMPDIR/d/data.csv" named.csv; do
    [ "$data" = named.csv ] && k=3 || k=2
    run_code 0 fit "$data" --sources $k --out m.json
    printf '%s\n' "$out" | grep '^z[0-9]* (' >console
    run_code 0 report m.json --out r.html
    /usr/bin/python3 - r.html >page <<'P'
import html, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
for line in re.findall("<li>(<i>z.*?)</li>", page.split('<ul class="found')[1].split("</ul>")[0], re.S):
    line = re.sub(" <span>.*?</span>", "", line, flags=re.S)
    print(re.sub("[.]$", "", html.unescape(re.sub("<.*?>", "", line))))
P
    [ "$(wc -l <console)" -eq $k ]
    diff console page
  done
  grep -q "calm & \"well\"\|under 5 < 10\|überlang" console
  grep -q " against " console
}

@test "starts are compared with one another, not with the objective under learned priors" {
  d=$BATS_FILE_TMPDIR
  "$BLICA" fit "$d/d/data.csv" --method matched --sources 2 --out matched.json --quiet
  run_code 0 report matched.json --out r.html
  grep -qE "All 3 starts reached the same optimum" r.html
  grep -q "under priors learned from the data" r.html
  ! grep -q -- "--condition" r.html
}

@test "constants and empty cells are named" {
  awk -F, -v OFS=, 'NR > 1 && $7 == 3 { $2 = 1 } { print }' "$BATS_FILE_TMPDIR/d/data.csv" >c.csv
  "$BLICA" fit c.csv --sources 2 --out c.json --quiet
  run_code 0 report c.json c.csv --out r.html
  grep -q "constant in a segment: their" r.html
  grep -qE '<tr><td>x2</td><td>3</td><td>1</td>' r.html
}

@test "scores of rows and items that differ between segments" {
  # everyone of segment 3 says yes to x2 more often than the sources tell
  awk -F, -v OFS=, 'NR > 1 && $7 == 3 && NR % 2 { $2 = 1 } { print }' "$BATS_FILE_TMPDIR/d/data.csv" >c.csv
  run_code 0 fit c.csv --sources 2 --out c.json --quiet
  run_code 0 report c.json c.csv --out r.html
  run_code 0 sources c.json c.csv --out s.csv --json
  echo "$out" | /usr/bin/python3 -c '
import json, re, sys
page = open("r.html").read()
rows = page[page.index("Reliability of the scores of each source"):]
for j, value in enumerate(json.load(sys.stdin)["reliability"]):
    assert f"<td class=\"w\">z{j + 1}</td><td class=\"n\" data-v=\"{value:.17g}\">{value:.2f}</td>" in rows, (j, value)
table = page[page.index("Items that differ in a segment"):]
assert "<td>x2</td><td>3</td><td class=\"w\">cuts</td>" in table[:table.index("</table>")]'
  grep -q '<b>Items:</b>\|Do not interpret' r.html
  # without rows neither is known
  run_code 0 report c.json --out m.html
  ! grep -q "Reliability of the scores" m.html
  grep -q "<code>blica invariance</code> tests it" m.html
}

@test "a model that is not the fit of the rows says so, and what to do" {
  run_code 0 simulate --variables 6 --sources 2 --segments 20 --samples 300 --seed 1 --out e
  head -4001 e/data.csv >part.csv
  awk -F, -v OFS=, 'NR > 1 { $7 = (NR - 2) % 20 + 1 } { print }' part.csv >one.csv
  run_code 0 fit one.csv --sources 2 --out one.json --quiet
  run_code 0 report one.json e/data.csv --out r.html
  grep -q "this model is not the fit of these rows" r.html
  grep -q "blica fit e/data.csv --sources 2 --out refit.json</code>" r.html
}

@test "ordinal items: the page with data, constants by their level, other levels refused" {
  run_code 0 simulate --variables 5 --sources 2 --segments 6 --samples 200 --levels 3 --out o
  awk -F, -v OFS=, 'NR > 1 { for (i = 1; i < NF; i++) $i = $i == 0 ? "low" : $i == 1 ? "mid" : "high" }
                    NR > 1 && $6 == 3 { $2 = "mid" } { print }' o/data.csv >t.csv
  run_code 0 fit t.csv --levels "low<mid<high" --sources 2 --out o.json
  run_code 0 report o.json t.csv --out r.html --figures f
  for text in "2 sources behind 5 ordinal items" "at level <i>l</i> or above" "How sure it is" \
    "Change: the data" "observed correlation" '<tr><td>x2</td><td>3</td><td>mid</td>'; do
    grep -q -- "$text" r.html || { echo "no '$text'"; return 1; }
  done
  ! grep -q "not assessed" <<<"$err"
  grep -q "Reliability of the scores of each source" r.html
  # levels that are numbers are remembered by the model; the commands of the page say --ordinal all the same
  run_code 0 fit o/data.csv --ordinal --sources 2 --out n.json --quiet
  run_code 0 report n.json o/data.csv --out n.html
  grep -q "<pre>blica fit o/data.csv --ordinal " n.html
  ! grep -q -- "--ordinal --ordinal" n.html
  run_code 0 count t.csv --levels "low<mid<high" --out same.npz
  run_code 0 report o.json same.npz --out counts.html
  run_code 0 count t.csv --levels "mid<low<high" --out other.npz
  run_code 3 report o.json other.npz --out none.html
  says "variable 'x1' has other levels in 'other.npz' than in 'o.json'"
  [ ! -e none.html ]
}

@test "data that are not the model's are refused, and nothing is written" {
  "$BLICA" simulate --variables 5 --sources 2 --segments 20 --samples 50 --out o --quiet
  run_code 3 report "$BATS_FILE_TMPDIR/fit.json" o/data.csv --out r.html
  says "has 6 variables in 20 segments"
  sed '1s/x3/other/' "$BATS_FILE_TMPDIR/d/data.csv" >n.csv
  run_code 3 report "$BATS_FILE_TMPDIR/fit.json" n.csv --out r.html
  says "variable 3 is 'x3'"
  run_code 3 report nothing.json --out r.html
  run_code 3 report "$BATS_FILE_TMPDIR/fit.json" --out no/such/r.html
  [ ! -e r.html ]
}

@test "data of too many variables are refused, with what to do; the model alone is shown" {
  python3 -c '
import json
n, u = 3200, 40
json.dump({"format": "blica-model", "version": 1, "mixing": [[1.0 + i % 3] for i in range(n)], "variances": [[1.0]] * u, "means": [[0.0]] * u,
           "thresholds": [[0.0] * n] * u, "link": 0.39, "variables": [f"x{i}" for i in range(n)], "segments": [str(s) for s in range(u)],
           "samples": [10.0] * u, "method": "truth"}, open("large.json", "w"))'
  printf 'a,b,segment\n0,1,1\n' > some.csv
  run "$BLICA" report large.json some.csv --out large.html
  [ "$status" -eq 3 ]
  [[ "$output" == *"3200 variables in 40 segments are 2.05e+08 tables"*"give no DATA"* ]]
  "$BLICA" report large.json --out large.html --quiet
  [ -s large.html ]
}

@test "the policy names the page's own script by its digest" {
  "$BLICA" simulate --variables 4 --sources 2 --segments 3 --samples 50 --out d --quiet
  run_code 0 report d/model.json --out r.html
  /usr/bin/python3 - <<'P'
import base64, hashlib, re
page = open("r.html", encoding="utf-8").read()
script, = re.findall(r"<script>(.*?)</script>", page, re.S)
digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
assert f"script-src 'sha256-{digest}'" in page, digest
P
}

@test "segments are named on their axes, variances have more than one tick" {
  "$BLICA" simulate --variables 4 --sources 2 --segments 3 --samples 50 --out d --quiet
  /usr/bin/python3 - <<'P'
import json
m = json.load(open("d/model.json"))
m["segments"] = ["north", "Österreich im Süden", "west"]
m["variances"] = [[1.1, 1.2], [1.5, 2.6], [1.9, 2.2]]
json.dump(m, open("m.json", "w"))
P
  run_code 0 report m.json --out r.html --figures f
  grep -q '>north<' f/variances.svg || grep -q '>north<' r.html
  grep -q 'Österreich im Süden' f/variances.svg
  /usr/bin/python3 - <<'P'
import re
page = open("r.html", encoding="utf-8").read()
figure = re.search(r'<svg[^>]*The variance of each source.*?</svg>', page, re.S).group()
assert len(set(re.findall(r">([125](?:\.\d+)?)<", figure))) >= 2, re.findall(r">([^<]*)<", figure)
P
}

@test "the command of the page has every option that was given" {
  "$BLICA" simulate --variables 5 --sources 2 --segments 6 --samples 200 --out d --quiet
  run_code 0 fit d/data.csv --sources 2 --method blica --prior fixed --prior-mixing 2 --tolerance 1e-6 --condition none --out m.json
  run_code 0 report m.json d/data.csv --out r.html
  command=$(sed -n 's|.*<pre>blica \(fit .*\)</pre>.*|\1|p' r.html)
  for flag in "--prior fixed" "--prior-mixing 2" "--tolerance 1e-06" "--condition none"; do
    [[ $command == *"$flag"* ]] || { echo "$command"; return 1; }
  done
  cp m.json first.json
  rm m.json
  eval "\"$BLICA\" $command --quiet"
  cmp first.json m.json
}

@test "the command of the page codes the levels of the items as the model knows them" {
  "$BLICA" simulate --variables 5 --sources 2 --segments 6 --samples 200 --levels 3 --out d --quiet
  sed 's/0,/low,/g; s/1,/mid,/g; s/2,/top,/g' d/data.csv >words.csv
  sed -i '1s/.*/a,b,c,d,e,segment/' words.csv
  for how in "d/data.csv --ordinal" "words.csv --levels low<mid<top"; do
    run_code 0 fit $how --sources 2 --out m.json
    run_code 0 report m.json ${how%% *} --out r.html # the model knows the levels
    command=$(sed -n 's|.*<pre>blica \(fit .*\)</pre>.*|\1|p' r.html | sed 's/&lt;/</g; s/&#39;/'"'"'/g')
    cp m.json first.json
    rm m.json
    eval "\"$BLICA\" $command --quiet"
    cmp <(grep -v seconds first.json) <(grep -v seconds m.json)
  done
}

@test "an apostrophe in a name cannot end an attribute" {
  printf "it's,b,c,segment\n1,0,1,o'k\n1,1,0,o'k\n0,1,1,o'k\n0,1,0,t\n1,0,0,t\n1,1,1,t\n" >e.csv
  "$BLICA" fit e.csv --sources 1 --out m.json --quiet 2>/dev/null || [ $? = 4 ]
  run_code 0 report m.json e.csv --out r.html
  grep -q "it&#39;s" r.html
  ! grep -q "it's" r.html
}

@test "segments without an order are named dots, largest first; those cut from time order are joined" {
  d=$BATS_FILE_TMPDIR
  run_code 0 report "$d/fit.json" "$d/d/data.csv" --out r.html --figures f
  /usr/bin/python3 - "$d/fit.json" <<'EOF'
import json, re, sys
model = json.load(open(sys.argv[1]))
figure = open("f/variances.svg").read()
first = [v[0] for v in model["variances"]]
expected = [model["segments"][s] for s in sorted(range(20), key=lambda s: -first[s])]
names = re.findall(r'text-anchor="end"[^>]*>([^<]+)<', figure)[:20]
assert names == expected, (names, expected)
assert 'currentColor' in figure and 'color="#222"' in figure
EOF
  "$BLICA" fit "$d/d/data.csv" --columns x1:x6 --segment-length 300 --sources 2 --out t.json --quiet
  run_code 0 report t.json "$d/d/data.csv" --columns x1:x6 --segment-length 300 --out t.html --figures t
  grep -q "in the order of time" t/variances.svg
}

@test "the data are described alike by check and on the page; residuals are in standard errors" {
  d=$BATS_FILE_TMPDIR
  awk -F, -v OFS=, 'NR > 1 && NR % 7 == 0 { $1 = "" } NR > 1 && $7 == 4 { $3 = "" } { print }' "$d/d/data.csv" >gaps.csv
  "$BLICA" fit gaps.csv --sources 1 --out gaps.json --quiet 2>/dev/null
  run_code 0 report gaps.json gaps.csv --out r.html
  "$BLICA" check gaps.csv >check.txt
  words=$(head -1 check.txt)
  [[ $words == *"1157 values missing (3.2 %). In 1 case an item has no value in a segment."* ]] || { echo "$words"; return 1; }
  grep -qF "$words" r.html
  grep -qE "x[1-6], x[1-6]: fitted less observed -?[0-9.]+ standard errors</title>" r.html
  ! grep -q "Nothing is missing" r.html
}

@test "an assessment that was written is shown, not made again; one of another model is refused" {
  "$BLICA" simulate --variables 6 --sources 2 --segments 8 --samples 200 --out d --quiet
  "$BLICA" fit d/data.csv --sources 2 --out m.json --quiet
  "$BLICA" fit d/data.csv --sources 2 --method blica --out other.json --quiet
  "$BLICA" assess m.json d/data.csv --out a.json --quiet
  "$BLICA" report m.json d/data.csv --out again.html --quiet
  run_code 0 report m.json d/data.csv --assessment a.json --out r.html
  cmp again.html r.html
  run_code 0 report m.json --assessment a.json --out alone.html
  grep -q "Axes: " alone.html
  run_code 3 report other.json --assessment a.json --out x.html
  says "'a.json' is not an assessment of this model"
  head -c 300 a.json >cut.json
  run_code 3 report m.json --assessment cut.json --out x.html
  says "assessment 'cut.json', line"
  /usr/bin/python3 - <<'P'
import json
a = json.load(open("a.json"))
del a["verdict"]["axes"]
json.dump(a, open("less.json", "w"))
P
  run_code 3 report m.json --assessment less.json --out x.html
  says "assessment 'less.json' is not complete"
  run_code 3 report m.json --assessment none.json --out x.html
  says "none.json"
  [ ! -e x.html ]
}
