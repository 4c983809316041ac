#!/usr/bin/env python3
"""row_norms.py PROGRAM DESIGN...: how much of 1 - MCS comes from the norms of the rows of A, as rows of a Markdown table.

A design is n,k,N,u,FIRST-LAST: variables, sources, rows of a segment, segments, seeds. For `blica --condition 10` and the
default: mean 1 - MCS as fitted, with all rows of A scaled to the same norm, and with each row scaled to fit the true one best
(columns being in the scale where the mean of each log v is 0, and matched to the true ones)."""
import json
import math
import os
import subprocess
import sys
import tempfile

ENVIRONMENT = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
METHODS = {"blica, r = 10": ("--method", "blica", "--condition", "10"), "default": ()}


def run(program, *words):
    done = subprocess.run([program, *words], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in (0, 4):  # 4: not converged
        sys.exit(f"{program} {' '.join(words)}: {done.stderr.decode()}")


def columns(path):
    """The columns of A, in the scale where the mean of each log v is 0."""
    with open(path) as file:
        model = json.load(file)
    result = []
    for j, column in enumerate(zip(*model["mixing"])):
        logs = [math.log(v[j]) for v in model["variances"]]
        result.append([math.exp(sum(logs) / len(logs) / 2) * a for a in column])
    return result


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def matched_to(truth, fitted):
    """Columns of the fit in the order and with the signs and norms of the true ones, the closest pairs first."""
    pairs = sorted(((abs(cosine(a, b)), i, j) for i, a in enumerate(truth) for j, b in enumerate(fitted)), reverse=True)
    result, used = {}, set()
    for _, i, j in pairs:
        if i not in result and j not in used:
            used.add(j)
            scale = math.sqrt(sum(a * a for a in truth[i]) / sum(b * b for b in fitted[j]))
            result[i] = [math.copysign(scale, cosine(truth[i], fitted[j])) * b for b in fitted[j]]
    return [result[i] for i in range(len(truth))]


def error(truth, fitted):
    return sum(1 - abs(cosine(a, b)) for a, b in zip(truth, matched_to(truth, fitted))) / len(truth)


def scaled(fitted, factors):
    return [[f * a for f, a in zip(factors, column)] for column in fitted]


def three_errors(truth, fitted):
    norms = [math.sqrt(sum(a * a for a in row)) for row in zip(*fitted)]
    mine = matched_to(truth, fitted)
    best = [sum(a * b for a, b in zip(t, m)) / sum(b * b for b in m) for t, m in zip(zip(*truth), zip(*mine))]
    return error(truth, fitted), error(truth, scaled(fitted, [1 / x for x in norms])), error(truth, scaled(mine, best))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program = os.path.abspath(sys.argv[1])
    print("| n | k | N | sets | method | 1 - MCS | equal norms | true norms |\n|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for design in sys.argv[2:]:
            n, k, samples, segments, seeds = design.split(",")
            first, last = (int(s) for s in seeds.split("-"))
            sums = {name: [0.0] * 3 for name in METHODS}
            for seed in range(first, last + 1):
                run(program, "simulate", "--variables", n, "--sources", k, "--segments", segments, "--samples", samples,
                    "--seed", str(seed), "--out", "d", "--quiet")
                run(program, "count", "d/data.csv", "--out", "c.npz", "--quiet")
                for name, words in METHODS.items():
                    run(program, "fit", "c.npz", "--sources", k, *words, "--threads", "1", "--quiet", "--out", "m.json")
                    for at, value in enumerate(three_errors(columns("d/model.json"), columns("m.json"))):
                        sums[name][at] += value / (last - first + 1)
            for name in METHODS:
                print(f"| {n} | {k} | {samples} | {last - first + 1} | {name} | "
                      + " | ".join(f"{s:.5f}" for s in sums[name]) + " |", flush=True)


main()
