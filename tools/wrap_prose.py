#!/usr/bin/python3
"""Wraps the prose of Markdown files at 100 columns: wrap_prose.py [--check] FILE...

Tables, code, headings, YAML at the beginning and single words that are longer (links) stay as they are. With --check nothing is written and files whose prose
is wider are named, exit 1.
"""
import pathlib
import re
import sys
import textwrap

WIDTH = 100
ITEM = re.compile(r"^(\s*)([-*+]|\d+\.)(\s+)")


def verbatim(line: str) -> bool:
    """A line that is not prose: a table, a heading, indented code, a picture, an HTML tag, or nothing."""
    return not line.strip() or bool(re.match(r"\||#|    |!\[|<|\t|---$", line))


def fill(lines: list, first: str, rest: str) -> list:
    text = " ".join(line.strip() for line in lines)
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
                         break_on_hyphens=False)


def wrap(text: str) -> str:
    out, lines, i, fenced = [], text.split("\n"), 0, False
    if lines[0] == "---":  # YAML before the page
        i = lines.index("---", 1) + 1
        out = lines[:i]
    while i < len(lines):
        line = lines[i]
        if line.lstrip().startswith("```"):
            fenced = not fenced
        item = ITEM.match(line)
        indented = out and not out[-1].strip() and line.startswith("    ")
        if fenced or line.lstrip().startswith("```") or (verbatim(line) and not item) or indented:
            out.append(line)
            i += 1
            continue
        first = item[0] if item else re.match(r"\s*", line)[0]
        rest = " " * len(first)
        block = [line[len(first):]]
        i += 1
        while i < len(lines) and lines[i].strip() and not ITEM.match(lines[i]) and \
                not re.match(r"\||#|!\[|<|\s*```", lines[i].lstrip() if item else lines[i]) and not lines[i - 1].endswith("  "):
            block.append(lines[i])
            i += 1
        wrapped = fill(block, first, rest)
        # A line of ours must not begin like an item or a heading.
        if any(ITEM.match(w) or re.match(r"\s*[#|]", w) for w in wrapped[1:]):
            wrapped = [first + block[0], *block[1:]]
        out.extend(wrapped)
    return "\n".join(out)


def main(arguments: list) -> int:
    check = arguments[:1] == ["--check"]
    bad = 0
    for name in arguments[check:]:
        path = pathlib.Path(name)
        before = path.read_text(encoding="utf-8")
        after = wrap(before)
        if check and after != before:
            print(f"{name}: prose is not wrapped at {WIDTH} columns; run tools/wrap_prose.py {name}")
            bad = 1
        elif after != before:
            path.write_text(after, encoding="utf-8")
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
