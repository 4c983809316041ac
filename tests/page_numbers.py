#!/usr/bin/python3
"""Numbers on a page are those that the program prints: page_numbers.py [--all] PAGE OUTPUT...

Every indented line of PAGE that begins with a number and has at least five (with --all every indented line but ...) must be a
line of an OUTPUT, word for word up to a final ..., with numbers within 2 % or .001: enough to notice that a page is stale, and
no more than different processors need.
"""
import pathlib
import re
import sys

NUMBER = re.compile(r"[-+]?\d+\.?\d*(e-?\d+)?$")


def same(a: str, b: str) -> bool:
    a, b = a.strip("(),;"), b.strip("(),;")
    if not (NUMBER.match(a) and NUMBER.match(b)):
        return a == b
    return abs(float(a) - float(b)) <= max(0.02 * abs(float(a)), 0 if "e" in a else 0.001)


def printed_as(cells: list, line: list) -> bool:
    if cells[-1] == "...":
        cells, line = cells[:-1], line[:len(cells) - 1]
    return len(cells) == len(line) and all(map(same, cells, line))


def main(page: str, outputs: list, every: bool) -> int:
    printed = [line.split() for path in outputs for line in pathlib.Path(path).read_text().splitlines()]
    shown = [line.split() for line in pathlib.Path(page).read_text().splitlines() if re.match(r"    \S" if every else r"    \d", line)]
    shown = [cells for cells in shown if cells != ["..."] and (every or sum(bool(NUMBER.match(cell)) for cell in cells) >= 5)]
    stale = [cells for cells in shown if not any(printed_as(cells, line) for line in printed)]
    for cells in stale:
        print(f"{page}: the program no longer prints: {'  '.join(cells)}")
    if len(shown) < 3:
        print(f"{page}: there is no table of numbers to compare")
    return 1 if stale or len(shown) < 3 else 0


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if argument != "--all"]
    sys.exit(main(given[0], given[1:], "--all" in sys.argv))
