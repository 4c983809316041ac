#!/usr/bin/python3
"""Numbers on a page are those that the program prints: page_numbers.py PAGE OUTPUT...

Every indented line of PAGE that begins with a number and has at least five must be a line of an OUTPUT, word for word, with numbers
within 2 % or .001: enough to notice that a page is stale, and no more than different processors need.
"""
import pathlib
import re
import sys

NUMBER = re.compile(r"-?\d+\.?\d*$")


def same(a: str, b: str) -> bool:
    if not (NUMBER.match(a) and NUMBER.match(b)):
        return a == b
    return abs(float(a) - float(b)) <= max(0.02 * abs(float(a)), 0.001)


def main(page: str, outputs: list) -> int:
    printed = [line.split() for path in outputs for line in pathlib.Path(path).read_text().splitlines()]
    shown = [line.split() for line in pathlib.Path(page).read_text().splitlines() if re.match(r"    \d", line)]
    shown = [cells for cells in shown if sum(bool(NUMBER.match(cell)) for cell in cells) >= 5]
    stale = [cells for cells in shown if not any(len(cells) == len(line) and all(map(same, cells, line)) for line in printed)]
    for cells in stale:
        print(f"{page}: the program no longer prints: {'  '.join(cells)}")
    if len(shown) < 3:
        print(f"{page}: there is no table of numbers to compare")
    return 1 if stale or len(shown) < 3 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
