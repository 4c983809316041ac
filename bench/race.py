#!/usr/bin/env python3
"""race.py OLD NEW REPEATS DESIGN...: two builds of the program on the same data, by turns, as rows of a Markdown table.

A design is n,k,N,u,FIRST-LAST: variables, sources, rows of a segment, segments, seeds. For each of the methods auto and blica:
mean user CPU seconds of a fit on one thread (the smallest of REPEATS; reading the counts included), mean 1 - MCS, in how many
data sets the new objective is lower or higher by more than 0.01, the largest such fall, and how the starts of the new build
ended. With learned priors the objectives of starts are compared, since those of models have scales of their own."""
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections import Counter

ENVIRONMENT = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")


def run(program, *words):
    environment = dict(ENVIRONMENT, LD_LIBRARY_PATH=os.path.dirname(program))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([program, *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in (0, 4):  # 4: not converged
        sys.exit(f"{program} {' '.join(words)}: {done.stderr.decode()}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, done.stdout


def fit(program, k, method, repeats):
    seconds = []
    for _ in range(repeats):
        seconds.append(run(program, "fit", "c.npz", "--sources", k, "--method", method, "--threads", "1", "--quiet", "--out", "m.json")[0])
    with open("m.json") as file:
        record = json.load(file)["fit"]
    error = 1 - json.loads(run(program, "compare", "d/model.json", "m.json", "--json")[1])["mcs"]
    starts = record["starts"]
    objective = max(s["objective"] for s in starts) if method == "auto" else record["objective"]
    return min(seconds), error, objective, Counter(s["stop"] for s in starts)


def row(old, new, repeats, design, method):
    n, k, samples, segments, seeds = design.split(",")
    first, last = (int(s) for s in seeds.split("-"))
    pairs = []
    for seed in range(first, last + 1):
        run(new, "simulate", "--variables", n, "--sources", k, "--segments", segments, "--samples", samples, "--seed", str(seed),
            "--out", "d", "--quiet")
        run(new, "count", "d/data.csv", "--out", "c.npz", "--quiet")
        pairs.append([fit(program, k, method, repeats) for program in (old, new)])
    sets = len(pairs)
    seconds, errors = ([sum(p[b][what] for p in pairs) / sets for b in (0, 1)] for what in (0, 1))
    change = [p[1][2] - p[0][2] for p in pairs]
    fates = sum((p[1][3] for p in pairs), Counter())
    print(f"| {n} | {k} | {samples} | {sets} | {method} | {seconds[0]:.3f} | {seconds[1]:.3f} | {seconds[1] / seconds[0]:.2f} "
          f"| {errors[0]:.5f} | {errors[1]:.5f} | {sum(c < -.01 for c in change)} | {sum(c > .01 for c in change)} "
          f"| {-min(0, *change):.2g} | {', '.join(f'{c} {s}' for s, c in sorted(fates.items()))} |", flush=True)


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    old, new = (os.path.abspath(p) for p in sys.argv[1:3])
    os.chdir(tempfile.mkdtemp())
    print("| n | k | N | sets | method | old, s | new, s | ratio | error, old | error, new | lower | higher | fall | ends of starts |")
    print("|---|" + "---|" * 13)
    for design in sys.argv[4:]:
        for method in ("auto", "blica"):
            row(old, new, int(sys.argv[3]), design, method)


if __name__ == "__main__":
    main()
