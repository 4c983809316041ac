#!/usr/bin/python3
"""Writes the tables of docs/methods.md: bench/methods.py BENCH_ACCURACY [default|larger|rare|mle] ..., all of them by default.

Each table is what bench_accuracy prints, on the seeds from 1 on, between two comments of the page. The larger problems take some
twenty minutes of one core, mle ten, the others minutes.
"""
import os
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "methods.md"
PAPER, METHOD = "blica:condition=10", "matched"
TABLES = {  # rows of the bench and numbers of data sets, and the methods
    "default": ([("", 30)], [PAPER, METHOD]),
    "larger": ([("large n=20", 10), ("large n=30", 10), ("large n=50", 10), ("large n=60", 10), ("large n=100 ", 3), ("large n=1000 ", 3)],
               [PAPER, METHOD]),
    "rare": ([("rare n=8", 20), ("rare n=20", 10), ("rare n=100", 3)], [PAPER, "pairwise", METHOD]),
    "mle": ([("n=10", 5), ("n=6", 10), ("the paper", 10), ("A ~", 10), ("half", 10), ("sd in", 10), ("means in", 10), ("one large", 10),
             ("rare n=8", 10), ("large n=20 k=10 N=1000", 3), ("large n=20 k=20 N=1000", 3)], [METHOD, "mle"]),
}
RESULT = re.compile(r"([\d.]+) \(([\d.]+)\) ([\d.]+) s")


def short(number):
    return re.sub(r"^0\.", ".", f"{float(number):.4f}")


def rows(bench, part, sets, methods):
    """Of every design: its name, sets, (mean, standard error, seconds) of each method, the two bounds."""
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
    printed = subprocess.run([bench, f"{part}/{sets}" if part else str(sets), *methods], env=environment, check=True, stdout=subprocess.PIPE, text=True)
    for line in printed.stdout.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        results = [RESULT.match(cell) for cell in cells[1:1 + len(methods)]]
        if len(cells) > len(methods) and all(results):
            bounds = [short(cell) if re.match(r"[\d.]+$", cell) else "" for cell in cells[1 + len(methods):3 + len(methods)]]
            yield re.sub("^(large|rare) ", "", cells[0]), sets, [result.groups() for result in results], bounds + [""] * (2 - len(bounds))


def table(bench, parts, methods):
    bounded = not any(part.startswith("large") for part, _ in parts) and "mle" not in methods
    head = ["data", "sets", *methods, "ratio of the last two", "seconds of one fit"] + (["bound, rows", "bound, pairs"] if bounded else [])
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for part, sets in parts:
        for name, count, results, bounds in rows(bench, part, sets, methods):
            before, last = float(results[-2][0]), float(results[-1][0])
            cells = [name, str(count), *(f"{short(mean)} ({short(error)})" for mean, error, _ in results),
                     re.sub(r"^0\.", ".", f"{last / before:.2f}"), ", ".join(re.sub(r"^0\.", ".", seconds) for *_, seconds in results)]
            lines.append("| " + " | ".join(cells + (bounds if bounded else [])) + " |")
    return "\n".join(lines)


def main(bench, *names):
    for name in names or TABLES:
        mark = f"<!-- written by bench/methods.py: {name} -->"
        found = table(bench, *TABLES[name])
        before, after = PAGE.read_text(encoding="utf-8").split(mark)
        PAGE.write_text(f"{before}{mark}\n\n{found}\n\n<!-- end -->{after.split('<!-- end -->', 1)[1]}", encoding="utf-8")
        print(f"{name}\n{found}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
