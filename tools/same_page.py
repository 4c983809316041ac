#!/usr/bin/env python3
"""Whether two pages of printed results say the same: same_page.py EXPECTED FOUND

Compares word by word and ignores spacing. Numbers with a decimal point may differ by one in the last digit that is printed:
the last digits of an optimum depend on the order of sums, which differs between BLAS kernels, and a rounding border may lie
between them. Whole numbers and all other words must be equal. A page whose first line is a heading "## name" is compared
with the section of that name in EXPECTED alone. Exit 1 names the first lines that differ."""
import re
import sys

NUMBER = re.compile(r"[-+]?\d+\.\d+")


def words(line):
    """The words of a line; a number, and what is around it, are words of their own."""
    return [w for w in re.split(rf"\s+|({NUMBER.pattern})", line) if w]


def same_word(a, b):
    if a == b:
        return True
    if not (NUMBER.fullmatch(a) and NUMBER.fullmatch(b)):
        return False
    places = len(a.split(".")[1])
    return places == len(b.split(".")[1]) and abs(round((float(a) - float(b)) * 10 ** places)) <= 1


def same_line(a, b):
    a, b = words(a), words(b)
    return len(a) == len(b) and all(map(same_word, a, b))


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [line for line in file.read().split("\n") if line.strip()]


def section(page, heading):
    start = page.index(heading)
    ends = [i for i in range(start + 1, len(page)) if page[i].startswith("## ")]
    return page[start:ends[0] if ends else len(page)]


def main():
    expected, found = lines(sys.argv[1]), lines(sys.argv[2])
    if found and found[0].startswith("## "):
        expected = section(expected, found[0])
    differ = [(a, b) for a, b in zip(expected, found) if not same_line(a, b)]
    for a, b in differ[:20]:
        print(f"- {a}\n+ {b}")
    if len(expected) != len(found):
        print(f"{len(expected)} lines expected, {len(found)} found")
    return int(bool(differ) or len(expected) != len(found))


if __name__ == "__main__":
    sys.exit(main())
