#!/usr/bin/python3
"""Writes the public headers as one HTML page with an index of the functions: header_page.py INCLUDE OUT.html VERSION."""
import html
import pathlib
import re
import sys

STYLE = "body{font:16px/1.5 sans-serif;margin:2em auto;max-width:72em;padding:0 1em}pre{font-size:13px;overflow:auto}" \
        "nav{columns:18em}a{color:#0b57a4}:target{background:#ffe9a8}i{color:#555;font-style:normal}"
FUNCTION = re.compile(r"\b(blica_[a-z0-9_]+)(?=\()")


def page(folder: pathlib.Path, version: str) -> str:
    """Comments are grey, every declared function has an anchor, and the index names all in order of the alphabet."""
    names, bodies = set(), []
    for name in ("blica.h", "blica_conclusions.h", "blica_options.h", "blica_ranks.h", "blica_mpi.h"):
        body = []
        for part in re.split(r"(/\*.*?\*/)", (folder / name).read_text(encoding="utf-8"), flags=re.S):
            text = html.escape(part)
            if part.startswith("/*"):
                body.append(f"<i>{text}</i>")
                continue

            def anchored(found):
                first = found[1] not in names and part[:found.start()].rpartition("\n")[2].startswith("BLICA_API")
                if first:
                    names.add(found[1])
                return f'<b id="{found[1]}">{found[1]}</b>' if first else found[1]

            body.append(html.escape(FUNCTION.sub(anchored, part)).replace("&lt;b id=&quot;", '<b id="')
                        .replace("&quot;&gt;", '">').replace("&lt;/b&gt;", "</b>") if FUNCTION.search(part) else text)
        bodies.append(f'<h2>{name}</h2>\n<pre>{"".join(body)}</pre>\n')
    index = "<br>\n".join(f'<a href="#{name}">{name}</a>' for name in sorted(names))
    return (f'<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8"><title>blica {version}: C interface</title>\n<style>{STYLE}</style>\n'
            f"<h1>blica {version}: C interface</h1>\n<nav>{index}</nav>\n{''.join(bodies)}</html>\n")


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_text(page(pathlib.Path(sys.argv[1]), sys.argv[3]), encoding="utf-8")
