#!/usr/bin/env python3
"""before_after.py OLD NEW [REPEATS]: CPU seconds of two builds of the program, by turns in one run.

Each row is one command on simulated data, on one thread; what is printed is the smallest user time of each build over the
repeats (default 7) and their ratio. Reading the data and starting the program are part of it."""
import os
import resource
import subprocess
import sys
import tempfile

DATA = {"square": "--variables 10 --sources 10", "wide": "--variables 60 --sources 6", "narrow": "--variables 10 --sources 2"}
ROWS = ["count wide/data.csv --out x.npz", "correlate wide/data.csv --out x.npz", "fit square/data.csv --sources 10 --out x.json",
        "fit wide/data.csv --sources 6 --out x.json", "fit square/data.csv --sources 10 --method blica --out x.json",
        "fit wide/data.csv --sources 6 --method blica --out x.json", "fit narrow/data.csv --sources 2 --method pairwise --out x.json",
        "fit narrow/data.csv --sources 2 --method mle --out x.json", "fit square/data.csv --sources 10 --method fastica --out x.json",
        "fit narrow/data.csv --sources 2 --method ivae --max-iterations 300 --out x.json", "loglik square/model.json square/data.csv",
        "sources narrow/model.json narrow/data.csv --out x.csv"]
ENVIRONMENT = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")


def run(program, words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([program, *words.split(), "--threads", "1"], env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if done.returncode not in (0, 4):  # 4: the limit of iterations was reached
        sys.exit(f"{program} {words}: exit {done.returncode}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    old, new = (os.path.abspath(p) for p in sys.argv[1:3])
    repeats = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    os.chdir(tempfile.mkdtemp())
    for name, sizes in DATA.items():
        run(new, f"simulate {sizes} --segments 40 --samples 1000 --seed 7 --out {name}")
    for row in ROWS:
        pairs = [(run(old, row), run(new, row)) for _ in range(repeats)]
        first, second = (min(p[i] for p in pairs) for i in (0, 1))
        print(f"{row:80s} {first:7.3f} {second:7.3f} {second / first:.2f}", flush=True)


if __name__ == "__main__":
    main()
