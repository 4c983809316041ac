#!/usr/bin/env python3
"""Checks that every function in a header has a contract: a comment that ends right above its declaration or stands on
its lines; and that what is declared BL_OWNED are pointers that begin as NULL: anything else would be freed as if it were
one. Prints what is wrong (exit 1).

    tests/contracts.py SOURCE

Functions that only release memory (_free, _close, _clear) follow the convention in blica.h and need none; static
functions belong to their header.
"""
import glob
import os
import re
import sys

FOLDERS = ("include", "src", "cli", "report", "experiments")
FUNCTION = re.compile(r"(?:BLICA_API )?(?!typedef\b|static\b|extern\b|return\b|struct \w+ \{|[A-Z_]+_INLINE\b)"
                      r"[A-Za-z_][\w ]*[ *](\w+)\(")
RELEASES = re.compile(r"_(free|close|clear)$")
OWNED = re.compile(r"\s*BL_OWNED (const )?(struct |unsigned )?\w+ \*+\w+ = NULL(, \*+\w+ = NULL)*;( /\*.*\*/)?$")


def without_contract(text):
    """(line, name) of each function that is declared in a header's text and has no comment."""
    lines, i, commented = text.split("\n"), 0, False
    while i < len(lines):
        line = lines[i]
        if line.startswith("/*"):
            heading = line.startswith("/* ----")
            while "*/" not in lines[i]:
                i += 1
            commented = lines[i].endswith("*/") and not heading
        elif (found := FUNCTION.match(line)) and not line.startswith("#"):
            first = i
            while ";" not in lines[i] and "{" not in lines[i]:
                i += 1
            declaration = "\n".join(lines[first:i + 1])
            if not (commented or "/*" in declaration or RELEASES.search(found.group(1))):
                yield first + 1, found.group(1)
            commented = False
        else:
            commented = False
        i += 1


def main(source):
    bad, headers = 0, 0
    for folder in FOLDERS:
        for path in sorted(glob.glob(os.path.join(source, folder, "**", "*.h"), recursive=True)):
            headers += 1
            with open(path, encoding="utf-8") as file:
                for line, name in without_contract(file.read()):
                    print(f"{os.path.relpath(path, source)}:{line}: {name} has no contract comment")
                    bad += 1
    for path in sorted(glob.glob(os.path.join(source, "src", "**", "*.c"), recursive=True)):
        with open(path, encoding="utf-8") as file:
            for line, text in enumerate(file.read().split("\n"), 1):
                if "BL_OWNED" in text and not OWNED.match(text):
                    print(f"{os.path.relpath(path, source)}:{line}: BL_OWNED is for pointers that begin as NULL")
                    bad += 1
    if headers == 0:
        print(f"no headers below {source}")
    return 1 if bad or headers == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
