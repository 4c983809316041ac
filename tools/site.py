#!/usr/bin/python3
"""Builds the documentation site: site.py SOURCE OUT writes OUT/pages and OUT/mkdocs.yml and lets mkdocs make OUT/html of them.

Pages are docs/*.md, the READMEs of the gallery, Python and R, and three references made from the code itself: the C interface from
include/blica.h, Python's from its docstrings, R's from its manual pages. Links to files that are not pages become plain text. Formulas ($...$) become MathML by KaTeX, so that a
reader's browser needs neither scripts nor fonts for them, and the search works from file://, too.
"""
import ast
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Section, then (title, page) in reading order. A page that does not exist is an error.
NAVIGATION = [
    ("Start", [("Home", "index.md"), ("Getting started", "getting-started.md"), ("Install", "install.md")]),
    ("Guides", [("Choosing segments", "choosing-segments.md"), ("Choosing k", "choosing-k.md"), ("Uncertainty", "uncertainty.md"), ("Using the sources", "using-sources.md"),
                ("Ordinal data", "ordinal.md"), ("Surveys", "surveys.md"), ("What can be identified", "identifiability.md"), ("Reading the report", "reading-the-report.md"),
                ("Data that are read", "data.md"), ("Large data", "large-data.md"), ("MPI", "mpi.md"), ("Long fits", "checkpoints.md")]),
    ("Methods", [("Which method", "methods.md"), ("Correlations", "correlations.md"), ("Likelihood", "likelihood.md"),
                 ("Competitors", "rivals.md"), ("Mathematics", "method.md")]),
    ("Evidence", [("Gallery", "gallery.md"), ("The paper's figures", "experiments.md"), ("Accuracy", "accuracy.md"),
                  ("Tests", "trust.md"), ("Beside other programs", "peers.md"), ("Growth", "growth.md")]),
    ("Reference", [("Options", "options.md"), ("C", "api-c.md"), ("Python", "python.md"), ("Python functions", "api-python.md"),
                   ("R", "r.md"), ("R functions", "api-r.md")]),
]
# Pages that live elsewhere in the tree.
ELSEWHERE = {"gallery.md": "examples/README.md", "experiments.md": "experiments/README.md", "python.md": "python/README.md",
             "r.md": "r/README.md"}

# Files whose page is made from the code.
MADE = {"include/blica.h": "api-c.md", "python/blica": "api-python.md", "r/man": "api-r.md"}

CONFIG = """site_name: blica
site_description: Independent component analysis of binary and ordinal data
docs_dir: pages
site_dir: html
use_directory_urls: false
theme:
  name: material
  custom_dir: theme
  font: false
  palette:
    - {media: "(prefers-color-scheme: light)", scheme: default, primary: indigo, toggle: {icon: material/brightness-7, name: Dark}}
    - {media: "(prefers-color-scheme: dark)", scheme: slate, primary: indigo, toggle: {icon: material/brightness-4, name: Light}}
  features: [navigation.tabs, navigation.top, search.highlight]
plugins: [search]
extra: {generator: false}
markdown_extensions:
  - tables
  - attr_list
  - toc: {permalink: true}
  - pymdownx.highlight: {anchor_linenums: false}
  - pymdownx.superfences
  - pymdownx.tabbed: {alternate_style: true}
"""


def c_reference(folder: pathlib.Path) -> str:
    """The headers as a page: a section for each ruled comment, prose from comments, declarations as code."""
    header, *others = [(folder / name).read_text() for name in ("blica.h", "blica_conclusions.h", "blica_options.h")]
    body = "\n".join(text[text.index("/* ---"):text.rindex("#ifdef __cplusplus")] for text in (header, *others))
    out = ["# C interface\n", "Made from `include/blica.h`. " + comment_text(header[:header.index("#ifndef")]) + "\n"]
    code: list[str] = []

    def flush():
        text = "\n".join(code).strip().replace("BLICA_API ", "")
        if text:
            out.append(f"```c\n{text}\n```\n")
        code.clear()

    for block in re.split(r"\n\s*\n", body):
        ruled = re.match(r"/\* -+ (.*?) \*/\n?", block.strip())
        if ruled:
            flush()
            out.append(f"## {ruled[1].strip().capitalize()}\n")
            block = block.strip()[ruled.end():]
        lead = re.match(r"/\*.*?\*/\n?", block.strip(), re.S)
        if lead and "\n" in block.strip()[lead.end() - 1:] or lead and lead.end() >= len(block.strip()):
            flush()
            out.append(comment_text(lead[0]) + "\n")
            block = block.strip()[lead.end():]
        code.append(block + "\n")
    flush()
    return "\n".join(out)


def comment_text(comment: str) -> str:
    lines = [re.sub(r"^\s*(/\*+|\*/|\*)? ?", "", line).rstrip() for line in comment.strip().splitlines()]
    text = "\n".join(lines).replace("*/", "").strip()
    return re.sub(r"(?m)^( {4,}\S.*)$", r"\n\1\n", text.replace("<", "&lt;"))


def python_reference(folder: pathlib.Path) -> str:
    """Every public class and function with its signature and docstring."""
    public = set()
    for node in ast.parse((folder / "__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            public = set(ast.literal_eval(node.value))
    out = ["# Python functions\n", "Made from the docstrings of `python/blica`.\n"]
    found = {}
    for path in sorted(folder.glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in public:
                found[node.name] = node
    for name in sorted(found, key=str.lower):
        node = found[name]
        out.append(f"## blica.{name}\n")
        if isinstance(node, ast.FunctionDef):
            out.append(f"```python\nblica.{name}({ast.unparse(node.args)})\n```\n")
        out.append(f"```text\n{ast.get_docstring(node) or ''}\n```\n")
        for inner in node.body if isinstance(node, ast.ClassDef) else []:
            if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
                out.append(f"### {name}.{inner.name}\n\n```python\n{inner.name}({ast.unparse(inner.args)})\n```\n")
                out.append(f"```text\n{ast.get_docstring(inner) or ''}\n```\n")
    return "\n".join(out)


def r_reference(folder: pathlib.Path) -> str:
    """The manual pages as text, by R's own formatter. Options that R asks the library for are on the page of options."""
    out = ["# R functions\n", "Made from the manual pages of the R package. The options of a fit are those of [Options](options.md).\n"]
    with tempfile.TemporaryDirectory() as scratch:
        for path in folder.glob("*.Rd"):
            text = re.sub(r"\\Sexpr\[[^]]*\]\{[^{}]*\}", "See the page of options.", path.read_text())
            (pathlib.Path(scratch) / path.name).write_text(text)
        script = (f"for (f in list.files('{scratch}', full.names = TRUE)) tools::Rd2txt(f, sub('Rd$', 'txt', f), "
                  "options = list(underline_titles = FALSE))")
        subprocess.run(["Rscript", "--vanilla", "-e", script], check=True)
        for path in sorted(pathlib.Path(scratch).glob("*.txt")):
            text = re.sub("_\b", "", path.read_text()).strip()
            out.append(f"## {path.stem}\n\n```text\n{text}\n```\n")
    return "\n".join(out)


def relink(text: str, source: pathlib.Path, root: pathlib.Path, pages: dict) -> str:
    """Links between pages follow them; pictures are copied beside them; links to other files become text."""
    def one(match):
        label, target = match[2], match[3]
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path, _, anchor = target.partition("#")
        real = (source.parent / path).resolve()
        if match[1]:
            if not real.is_file():
                raise SystemExit(f"{source}: the picture {target} does not exist")
            return f"![{label}](figures/{real.name})"
        if real in pages:
            return f"[{label}]({pages[real]}{'#' + anchor if anchor else ''})"
        if not real.exists() or root not in real.parents:
            raise SystemExit(f"{source}: the link {target} leads nowhere")
        return label if label.startswith("`") else f"`{real.relative_to(root)}`" if "/" in label else f"{label} (`{real.relative_to(root)}`)"
    return re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", one, text)


# Prose without its code: fences, indented blocks and spans are kept as they are.
CODE = re.compile(r"(?ms)(^```.*?^```$|^(?: {4}|\t).*?$|`[^`\n]*`)")
FORMULA = re.compile(r"(?<![\w$\\])\$(?=\S)([^$`]+?)(?<=\S)\$(?![\w$])")
KATEX = """const k = require("katex"), list = JSON.parse(require("fs").readFileSync(0));
process.stdout.write(JSON.stringify(list.map(t => k.renderToString(t, {output: "mathml", throwOnError: true}))));"""


def typeset(text: str) -> str:
    """The formulas of a page as MathML; a formula that KaTeX does not understand is an error."""
    parts = CODE.split(text)
    formulas = [" ".join(match[1].split()) for part in parts[::2] for match in FORMULA.finditer(part)]
    if not formulas:
        return text
    run = subprocess.run(["node", "-e", KATEX], input=json.dumps(formulas), capture_output=True, text=True,
                         env={**os.environ, "NODE_PATH": "/usr/share/nodejs"})
    if run.returncode:
        raise SystemExit(f"formulas need node and katex (Debian: katex): {run.stderr[-400:]}")
    made = iter(re.sub(r"(?s)<annotation.*?</annotation>|</?semantics>", "", each) for each in json.loads(run.stdout))
    return "".join(FORMULA.sub(lambda _: next(made), part) if i % 2 == 0 else part for i, part in enumerate(parts))


# What the theme lacks. Pages read from a disk may neither fetch the index nor start a worker from a file: both come with a script.
# Links must not be known by their colour alone, and what scrolls must be reachable by keys.
OVERRIDE = """{% extends "base.html" %}{% block extrahead %}<script>
if (location.protocol === "file:") document.write('<script src="{{ "search/offline.js" | url }}"><\\/script>')
</script><style>
.md-typeset p a, .md-typeset li a, .md-typeset td a { text-decoration: underline; }
[data-md-color-scheme=default][data-md-color-primary] { --md-code-hl-comment-color: #595959; --md-accent-fg-color: #3a50d9; }
[data-md-color-scheme=slate][data-md-color-primary] { --md-code-hl-comment-color: #b8bcc8; --md-typeset-a-color: #a9b8ff; --md-accent-fg-color: #a9b8ff; }
</style>{% endblock %}{% block scripts %}{{ super() }}<script>
document.querySelector(".md-search").setAttribute("aria-label", "Search");
for (const e of document.querySelectorAll(".md-search__scrollwrap, .md-typeset pre > code, .md-typeset__scrollwrap, .md-sidebar__scrollwrap"))
  e.tabIndex = 0;
</script>{% endblock %}"""


def write_offline_search(html: pathlib.Path) -> None:
    worker = next((html / "assets/javascripts/workers").glob("search.*.js")).read_text()
    index = (html / "search/search_index.json").read_text()
    (html / "search/offline.js").write_text(
        f"var __search = {{index: Promise.resolve({index})}};\n(function () {{ const W = Worker, source = {json.dumps(worker)};\n"
        "window.Worker = function () { return new W(URL.createObjectURL(new Blob([source], {type: 'text/javascript'}))); }; })();\n")


def main(root: pathlib.Path, out: pathlib.Path) -> None:
    pages_dir = out / "pages"
    shutil.rmtree(out, ignore_errors=True)
    (pages_dir / "figures").mkdir(parents=True)
    made = {"api-c.md": c_reference(root / "include"), "api-python.md": python_reference(root / "python/blica"),
            "api-r.md": r_reference(root / "r/man")}
    names = [page for _, entries in NAVIGATION for _, page in entries]
    sources = {page: (root / ELSEWHERE.get(page, "docs/" + page)) for page in names if page not in made}
    missing = [str(path) for path in sources.values() if not path.is_file()]
    unlisted = sorted(path.name for path in (root / "docs").glob("*.md") if path.name not in names)
    if missing or unlisted:
        raise SystemExit(f"pages that do not exist: {missing}; pages of docs/ that the navigation leaves out: {unlisted}")
    pages = {path.resolve(): page for page, path in sources.items()}
    pages[(root / "README.md").resolve()] = "index.md"
    pages |= {(root / path).resolve(): page for path, page in MADE.items()}
    for page, path in sources.items():
        (pages_dir / page).write_text(typeset(relink(path.read_text(), path, root, pages)))
    for name, text in made.items():
        (pages_dir / name).write_text(text)
    for folder in ("docs", "experiments/results", "examples"):
        for picture in [*(root / folder).glob("**/*.png"), *(root / folder).glob("**/*.svg")]:
            shutil.copy(picture, pages_dir / "figures" / picture.name)
    nav = "nav:\n" + "".join(f"  - {section}:\n" + "".join(f"    - \"{title}\": {page}\n" for title, page in entries)
                             for section, entries in NAVIGATION)
    (out / "mkdocs.yml").write_text(CONFIG + nav)
    (out / "theme").mkdir()
    (out / "theme/main.html").write_text(OVERRIDE)
    subprocess.run(["mkdocs", "build", "--strict", "--quiet", "--config-file", out / "mkdocs.yml"], check=True)
    write_offline_search(out / "html")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
