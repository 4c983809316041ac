#!/usr/bin/python3
"""The console example of a page prints what the page shows: page_example.py PAGE runs the commands of its indented lines that begin with $
and compares what the page shows below each with what it prints: the same words, numbers within 2 % or .001. A line that ends in ... is
the beginning of one. Exits with 77 when the data of the example are not installed.
"""
import pathlib
import re
import subprocess
import sys

from page_numbers import same


def main(page: str) -> int:
    lines = [line[4:] for line in pathlib.Path(page).read_text().splitlines() if line.startswith("    ")]
    printed, shown, wrong = [], 0, 0
    for line in lines:
        if line.startswith("$ "):
            run = subprocess.run(["bash", "-c", line[2:]], capture_output=True, text=True)
            if run.returncode and "psychTools" in run.stderr:
                return 77
            printed = [words.split() for words in run.stdout.splitlines()]
            wrong += run.returncode != 0
        elif printed:
            words = re.sub(r" \.\.\.$", "", line).split()
            shown += 1
            if not any(len(words) <= len(other) and all(map(same, words, other)) for other in printed):
                wrong += 1
                print(f"{page}: the program no longer prints: {line}")
    return wrong > 0 or shown < 5


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
