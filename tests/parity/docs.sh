#!/bin/bash
# The documentation holds: the site builds without a broken link, and every block of code of the page Getting started runs.
set -eo pipefail
cd "$BLICA_SOURCE"
site=$BLICA_BUILD/site
/usr/bin/python3 tools/site.py . "$site"
test -s "$site/html/search/search_index.json"
# formulas are typeset, and the search that a page from a disk loads has all pages and starts its worker from a blob
[ "$(grep -o '<math' "$site/html/method.html" | wc -l)" -gt 150 ]
! grep -lE '<p>[^<]*\\(sqrt|frac|Phi)' "$site"/html/*.html
node -e 'global.window = global; global.Worker = function (url) { this.url = url; };
  require("vm").runInThisContext(require("fs").readFileSync(process.argv[1], "utf8"));
  __search.index.then(i => { if (i.docs.length < 100 || !/^blob:/.test(new window.Worker("none").url)) process.exit(1); });' "$site/html/search/offline.js"
/usr/bin/python3 tests/links.py --site "$site/html"

# accessibility; 77: axe-core is not installed here
(cd "$site/html" && /usr/bin/python3 "$BLICA_SOURCE/tests/axe.py" index.html getting-started.html method.html api-c.html) || [ $? = 77 ]

# blocks LANGUAGE: the text of the page's blocks in that language.
blocks() { awk -v mark='```'"$1" '$0 == mark {inside = 1; next} /^```/ {inside = 0} inside' docs/getting-started.md; }
for language in sh python r; do
  [ "$(blocks $language | wc -l)" -ge 4 ] || { echo "the page has no block of $language"; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
blocks sh >"$work/page.sh"
blocks python >"$work/page.py"
blocks r >"$work/page.R"
cd "$work"
PATH=$(dirname "$BLICA"):$PATH bash -e page.sh | tee printed
test -s report.html && test -s sources.csv
/usr/bin/python3 "$BLICA_SOURCE/tests/page_numbers.py" "$BLICA_SOURCE/docs/choosing-k.md" printed
ln -s "$BLICA_SOURCE/examples" examples
PATH=$(dirname "$BLICA"):$PATH /usr/bin/python3 "$BLICA_SOURCE/tests/page_example.py" "$BLICA_SOURCE/README.md" || [ $? = 77 ]
PYTHONPATH=$BLICA_BUILD/python-package /usr/bin/python3 page.py
R_LIBS=$BLICA_BUILD/r-check/blica.Rcheck Rscript --vanilla page.R
