#!/usr/bin/python3
"""Accessibility of pages in a browser: axe.py PAGE... runs axe-core on each page, light and dark, with all details open.

Prints every finding and exits with 1 when there is one, and with 77 when axe-core or a browser is not installed (tools/setup.sh test).
"""
import html
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

REPORT = """addEventListener('load', function () {
  for (const d of document.querySelectorAll('details')) d.open = true;
  axe.run().then(function (r) {
    const p = document.createElement('p');
    p.id = 'axe';
    p.textContent = r.passes.length + ' rules passed' + r.violations.map(v => '\\n' + v.id + ' (' + v.nodes.length + '): ' +
      v.nodes[0].html.slice(0, 160) + ' ' + v.nodes[0].failureSummary.slice(0, 240)).join('');
    document.body.append(p);
  });
});"""


def findings(browser: str, axe: str, page: pathlib.Path, dark: bool) -> str:
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text(encoding="utf-8"))
    script = axe.replace("</script", "<\\/script")
    probe = page.with_name("axe-probe.html")  # beside the page, so that what it loads is found
    probe.write_text(text.replace("</body>", f"<style>* {{ transition: none !important; }}</style><script>{script}</script><script>{REPORT}</script></body>"), encoding="utf-8")
    with tempfile.TemporaryDirectory() as profile:
        dom = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                              "--disable-background-networking", "--disable-component-update", "--disable-sync",
                              "--disable-dev-shm-usage", f"--user-data-dir={profile}", "--virtual-time-budget=30000", "--dump-dom",
                              *(["--blink-settings=preferredColorScheme=0"] if dark else []), f"file://{probe.resolve()}"],
                             capture_output=True, text=True, timeout=180).stdout
    probe.unlink()
    found = re.search(r'<p id="axe">(.*?)</p>', dom, re.S)
    return html.unescape(found[1]) if found else "0 rules passed\nthe page gave no answer"


def main(pages: list) -> int:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    npm = shutil.which("npm")
    root = subprocess.run([npm, "root", "--global"], capture_output=True, text=True).stdout.strip() if npm else ""
    axe = pathlib.Path(root or "/nowhere", "axe-core/axe.min.js")
    if not browser or not axe.is_file():
        print("axe-core or a browser is not installed (tools/setup.sh test)")
        return 77
    wrong = 0
    for page in pages:
        for dark in (False, True):
            passed, *found = findings(browser, axe.read_text(encoding="utf-8"), pathlib.Path(page), dark).split("\n", 1)
            print(f"{page}{' (dark)' if dark else ''}: {passed}", *found, sep="\n")
            wrong += bool(found) or int(passed.split()[0]) < 20
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
