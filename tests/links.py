#!/usr/bin/python3
"""Links of pages lead somewhere: links.py ROOT checks the Markdown files of the tree, links.py --site FOLDER the built pages.

A link to a file needs the file, a link with an anchor a heading (or an id) of that name. Links to elsewhere are not followed. Every
link that leads nowhere is printed; then the exit code is 1.
"""
import html.parser
import pathlib
import re
import sys
import urllib.parse

SKIPPED = {"build", ".git", "libblica"}


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and mkdocs make it."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[\s]", "-", re.sub(r"[^\w\s-]", "", text.lower()).strip())


def headings(text: str) -> set:
    text = re.sub(r"(?ms)^```.*?^```$", "", text)
    return {slug(match[1]) for match in re.finditer(r"(?m)^#+\s+(.*)$", text)}


def links(text: str):
    """Targets of links and pictures outside of code."""
    text = re.sub(r"(?ms)^```.*?^```$|`[^`\n]*`|^    .*$", "", text)
    return [match[1] for match in re.finditer(r"\]\(([^)\s]+)\)", text)]


def wrong_in_tree(root: pathlib.Path):
    for page in sorted(root.rglob("*.md")):
        if SKIPPED & set(page.relative_to(root).parts[:-1]):
            continue
        for target in links(page.read_text()):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = (page.parent / urllib.parse.unquote(path)).resolve() if path else page
            if not file.exists():
                yield f"{page.relative_to(root)}: {target}: there is no such file"
            elif anchor and file.suffix == ".md" and anchor not in headings(file.read_text()):
                yield f"{page.relative_to(root)}: {target}: there is no such heading"


class Page(html.parser.HTMLParser):
    """The ids of a page, what it refers to, and what of that a browser loads with it."""

    def __init__(self, text: str):
        super().__init__()
        self.ids, self.targets, self.loaded = set(), [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.targets.append(value)
                if tag != "a":
                    self.loaded.add(value)


def wrong_in_site(folder: pathlib.Path):
    pages = {path: Page(path.read_text()) for path in sorted(folder.rglob("*.html"))}
    for path, page in pages.items():
        for target in page.targets:
            if re.match(r"[a-z]+:|//", target):
                if target in page.loaded and not target.startswith("data:"):
                    yield f"{path.relative_to(folder)}: {target} is loaded from elsewhere"
                continue
            file, _, anchor = target.partition("#")
            to = (path.parent / urllib.parse.unquote(file.partition("?")[0])).resolve() if file else path
            to = to / "index.html" if to.is_dir() else to
            if path.name == "404.html":
                continue  # its links begin at the root of a server
            if not to.is_file():
                yield f"{path.relative_to(folder)}: {target}: there is no such file"
            elif anchor and to in pages and urllib.parse.unquote(anchor) not in pages[to].ids and anchor != "__skip":
                yield f"{path.relative_to(folder)}: {target}: there is no such id"


if __name__ == "__main__":
    site = sys.argv[1] == "--site"
    found = list((wrong_in_site if site else wrong_in_tree)(pathlib.Path(sys.argv[-1]).resolve()))
    print("\n".join(found) if found else "every link leads somewhere")
    sys.exit(1 if found else 0)
