#!/usr/bin/env bats
# The report in a real browser: no console messages, tables sort, hover tells values, names from the data stay text.
load helpers

browser() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

setup_file() {
  browser >/dev/null || return 0
  cd "$BATS_FILE_TMPDIR" || return 1
  "$BLICA" simulate --variables 6 --sources 2 --segments 12 --samples 300 --out d --quiet
  # names that would run if they were not escaped, in variables and in segments
  { printf '%s\n' '"<script>alert(1)</script>","""><img src=x onerror=alert(2)>","a&b","tab	and ''quote''",x5,x6,segment'
    sed 1d d/data.csv | sed 's/,3$/,"<b onmouseover=alert(3)>three<\/b>"/'; } >evil.csv
  "$BLICA" fit evil.csv --sources 2 --out evil.json --quiet
  "$BLICA" report evil.json evil.csv --out report.html --quiet
}

# open PAGE ARGS...: the DOM after the scripts ran is in dom.html, what the browser says in browser.log.
open() {
  local page=$1
  shift
  timeout "$(patience)" "$(browser)" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --disable-dev-shm-usage --user-data-dir="$PWD/profile" \
    --enable-logging=stderr --virtual-time-budget=3000 "$@" "file://$page" >dom.html 2>browser.log
}

# The page with a script before its own (watching for errors and alerts) and one after it (the checks).
instrument() {
  /usr/bin/python3 - "$1" "$2" <<'P'
import sys
page = open(sys.argv[1], encoding="utf-8").read()
assert page.count("script-src 'sha256-") == 1
page = page.replace("script-src '", "script-src 'nonce-test' '")
before = """<script nonce="test">window.bad=[];addEventListener('error',e=>bad.push(e.message));
window.alert=function(){bad.push('alert');};
addEventListener('securitypolicyviolation',e=>bad.push('csp '+e.violatedDirective));</script>"""
after = """<script nonce="test">addEventListener('load',function(){
const r=[],tip=document.getElementById('tip');
function check(name,ok){if(!ok)r.push(name);}
function move(el,fx,fy){const b=el.getBoundingClientRect();
 el.dispatchEvent(new MouseEvent('mousemove',{bubbles:true,clientX:b.left+fx*b.width,clientY:b.top+fy*b.height}));}
for(const d of document.querySelectorAll('details'))d.open=true;
check('tables',document.querySelectorAll('table.sort').length>=4);
let sorted=0;
for(const t of document.querySelectorAll('table.sort')){const th=t.tHead.rows[0].cells;
 for(let i=0;i<th.length;i++){if(!th[i].classList.contains('n'))continue;
  const column=()=>Array.from(t.tBodies[0].rows,x=>Number(x.cells[i].dataset.v));
  th[i].click();let v=column();check('ascending '+th[i].textContent,v.every((x,k)=>!k||v[k-1]<=x));
  check('aria',th[i].getAttribute('aria-sort')==='ascending');
  th[i].click();v=column();check('descending '+th[i].textContent,v.every((x,k)=>!k||v[k-1]>=x));sorted++;}}
check('sorted some',sorted>5);
const dot=document.querySelector('circle[data-tip]');
move(dot,0.5,0.5);check('dot tip',!tip.hidden&&tip.textContent===dot.dataset.tip&&/[0-9]/.test(tip.textContent));
move(document.querySelector('h1'),0.5,0.5);check('tip goes',tip.hidden);
check('no img',document.querySelectorAll('img').length===0);
check('no b with handler',document.querySelectorAll('[onmouseover],[onerror]').length===0);
const cells=Array.from(document.querySelectorAll('td'),x=>x.textContent);
for(const name of ['<script>alert(1)<\\/script>','"><img src=x onerror=alert(2)>','a&b','<b onmouseover=alert(3)>three</b>'])
 check('text '+name,cells.some(x=>x.includes(name))||Array.from(document.querySelectorAll('[data-tip]')).some(x=>x.dataset.tip.includes(name)));
const p=document.createElement('p');p.id='verdict';p.textContent=r.length||bad.length?'FAILED '+r.concat(bad).join('; '):'ALL GOOD';
document.body.append(p);});</script>"""
page = page.replace("<head>", "<head><meta charset=\"utf-8\">", 1)
at = page.index("<style>")
page = page[:at] + before + page[at:]
page = page.replace("</body>", after + "</body>")
open(sys.argv[2], "w", encoding="utf-8").write(page)
P
}

need_browser() { browser >/dev/null || skip "no chromium is installed (tools/setup.sh test installs it)"; }

@test "tables sort, hover tells values, hostile names are text and run nothing" {
  need_browser
  instrument "$BATS_FILE_TMPDIR/report.html" "$PWD/checked.html"
  open "$PWD/checked.html" --dump-dom
  grep -o '<p id="verdict">[^<]*' dom.html || { cat browser.log; return 1; }
  grep -q '<p id="verdict">ALL GOOD' dom.html
}

@test "the page as it is has no console messages and draws" {
  need_browser
  open "$BATS_FILE_TMPDIR/report.html" --dump-dom
  ! grep CONSOLE browser.log
  grep -q 'data-sortable' dom.html
  open "$BATS_FILE_TMPDIR/report.html" --window-size=1000,1200 --screenshot="$PWD/page.png"
  [ "$(wc -c <page.png)" -gt 20000 ]
  open "$BATS_FILE_TMPDIR/report.html" --print-to-pdf="$PWD/page.pdf"
  [ "$(head -c 4 page.pdf)" = "%PDF" ]
}

@test "axe finds nothing on the page, light and dark, with all parts open" {
  run /usr/bin/python3 "$BLICA_SOURCE/tests/axe.py" "$BATS_FILE_TMPDIR/report.html"
  [ "$status" -ne 77 ] || skip "$output"
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
}

@test "without scripts everything that matters is there" {
  need_browser
  /usr/bin/python3 -c 'import re, sys; print(re.sub(r"<script.*?</script>", "", sys.stdin.read(), flags=re.S))' \
    <"$BATS_FILE_TMPDIR/report.html" >plain.html
  open "$PWD/plain.html" --dump-dom
  ! grep -q 'data-sortable' dom.html
  for text in "identify" "Every start" "of what is explained" "Observed and fitted" "<title>"; do
    grep -q "$text" dom.html || { echo "no '$text'"; return 1; }
  done
}

# first_screen WIDTH HEIGHT PAGE: what a reader sees before scrolling, as the browser lays it out.
first_screen() {
  /usr/bin/python3 - "$3" "$PWD/measured.html" <<'P'
import sys
page = open(sys.argv[1], encoding="utf-8").read().replace("script-src '", "script-src 'nonce-test' '")
page = page.replace("</body>", """<script nonce="test">addEventListener('load',function(){
const r=[],high=innerHeight,wide=innerWidth;
function check(name,ok){if(!ok)r.push(name);}
function seen(name,el,within){const b=el&&el.getBoundingClientRect();
 check(name+' '+(b?b.top+' to '+b.bottom:'is not there'),b&&b.height>0&&b.top>=0&&b.top<(within||high));}
seen('headline',document.querySelector('.headline'),300);
seen('source',document.querySelector('.found li')||document.querySelector('.withheld'));
seen('picture',document.querySelector('#picture tbody tr')||document.querySelector('.withheld'));
if(wide>=1000){seen('data',document.querySelectorAll('.line')[0]);seen('next',document.querySelectorAll('.line')[1]);}
check('scrolls sideways '+document.documentElement.scrollWidth,document.documentElement.scrollWidth<=wide);
for(const d of document.querySelectorAll('details.part'))check('folded '+d.id,!d.open);
for(const d of document.querySelectorAll('details'))d.open=true;
check('scrolls sideways when open '+document.documentElement.scrollWidth,document.documentElement.scrollWidth<=wide);
function channel(c){c/=255;return c<=.03928?c/12.92:Math.pow((c+.055)/1.055,2.4);}
function light(c){return .2126*channel(c[0])+.7152*channel(c[1])+.0722*channel(c[2]);}
function behind(e){for(;e;e=e.parentElement){const c=getComputedStyle(e).backgroundColor.match(/[\\d.]+/g).map(Number);
 if(c.length<4||c[3]===1)return c;}return [255,255,255];}
for(const e of document.querySelectorAll('.headline,.codes div,.found li,.line,.part>summary,#picture th,#picture caption,.cell,footer')){
 const f=getComputedStyle(e).color.match(/[\\d.]+/g).map(Number),a=light(f),b=light(behind(e));
 const ratio=(Math.max(a,b)+.05)/(Math.min(a,b)+.05);check('contrast '+ratio.toFixed(2)+' of '+e.className+e.textContent.slice(0,20),ratio>=4.5);}
parent.postMessage(r.length?'FAILED '+r.slice(0,5).join('; '):'ALL GOOD','*');});</script></body>""")
open(sys.argv[2], "w", encoding="utf-8").write(page)
P
  cat >frame.html <<F # a frame of exactly this size: windows have borders, and none is as narrow as a phone
<!DOCTYPE html><html><body><p id="verdict">nothing</p><iframe src="measured.html" width="$1" height="$2"></iframe>
<script>addEventListener('message',function(e){document.getElementById('verdict').textContent=e.data;});</script></body></html>
F
  open "$PWD/frame.html" --hide-scrollbars --window-size=1400,1100 --dump-dom "${@:4}"
  grep -o '<p id="verdict">[^<]*' dom.html || { cat browser.log; return 1; }
  grep -q '<p id="verdict">ALL GOOD' dom.html
}

@test "the first screen has verdict, sources, picture, data and the next step; nothing overflows" {
  need_browser
  "$BLICA" simulate --variables 12 --sources 8 --segments 20 --samples 200 --out w --quiet
  "$BLICA" fit w/data.csv --sources 8 --starts 1 --out wide.json --quiet || [ $? = 4 ]
  "$BLICA" report wide.json --out wide.html --quiet
  "$BLICA" fit "$BATS_FILE_TMPDIR/d/data.csv" --sources 2 --out plain.json --quiet
  "$BLICA" report plain.json "$BATS_FILE_TMPDIR/d/data.csv" --out plain.html --quiet
  for page in "$PWD/plain.html" "$PWD/wide.html"; do
    first_screen 1200 800 "$page"
    first_screen 400 800 "$page"
    first_screen 1200 800 "$page" --blink-settings=preferredColorScheme=0
  done
}
