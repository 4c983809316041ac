"""source_intervals.py PROGRAM [SETS]: how often 90 % intervals of the sources cover the true ones.

n = 10, k = 2, 40 segments of 1000 rows, intercepts of sd 2, items of 4 and of 2 levels. Sources and rows are drawn here
from the model that `blica simulate` makes; the intervals are those of `blica sources` for the first 100 rows of each
segment, under the true model and under the default fit, whose sources are matched by the correlation of their columns of
A."""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

program = sys.argv[1] if len(sys.argv) > 1 else "build/release/blica"
SETS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
N, K, SEGMENTS, ROWS, SHOWN = 10, 2, 40, 1000, 100


def run(*args):
    done = subprocess.run([program, *map(str, args)], capture_output=True, text=True)
    if done.returncode not in (0, 4):
        raise SystemExit(done.stderr)


def draw(m, seed, folder):
    """Writes rows.csv, and first.csv with the first of each segment; returns the sources of the latter."""
    rng = np.random.default_rng(seed)
    head = ",".join(m["variables"]) + ",segment"
    a, z, lines, first = np.array(m["mixing"]), [], [head], [head]
    for label, v, mu in zip(m["segments"], m["variances"], m["means"]):
        own = np.array(mu) + np.sqrt(v) * rng.standard_normal((ROWS, K))
        q = np.sqrt(m["link"]) * own @ a.T + rng.standard_normal((ROWS, N))
        x = np.stack([np.searchsorted(cuts, q[:, i]) for i, cuts in enumerate(m["cuts"])], 1)
        own_lines = [",".join(map(str, row)) + "," + label for row in x]
        lines += own_lines
        first += own_lines[:SHOWN]
        z.append(own[:SHOWN])
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    (folder / "first.csv").write_text("\n".join(first) + "\n")
    return np.concatenate(z)


def coverage(model, truth, z, folder):
    """Of each true source."""
    run("sources", model, folder / "first.csv", "--ordinal", "--out", folder / "s.csv")
    s = np.genfromtxt(folder / "s.csv", delimiter=",", names=True)
    a, b = np.array(truth["mixing"]), np.array(json.loads(model.read_text())["mixing"])
    cosine = (a.T @ b) / np.outer(np.linalg.norm(a, axis=0), np.linalg.norm(b, axis=0))
    swap = abs(cosine[0, 1]) + abs(cosine[1, 0]) > abs(cosine[0, 0]) + abs(cosine[1, 1])
    out = []
    for j in range(K):
        i = 1 - j if swap else j
        mean, sd = np.sign(cosine[j, i]) * s[f"z{i + 1}"], s[f"z{i + 1}_sd"]
        out.append(np.mean(np.abs(mean - z[:, j]) < 1.6448536269514722 * sd))
    return out


print("| levels | model | coverage, mean of sets | least set | most |\n|---|---|---|---|---|")
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for levels in (4, 2):
        found = {"true": [], "default fit": []}
        for seed in range(1, SETS + 1):
            run("simulate", "--variables", N, "--sources", K, "--segments", SEGMENTS, "--samples", ROWS, "--levels", levels,
                "--intercepts", 2, "--seed", seed, "--out", folder)
            truth = json.loads((folder / "model.json").read_text())
            z = draw(truth, seed, folder)
            run("fit", folder / "rows.csv", "--ordinal", "--sources", K, "--out", folder / "fit.json")
            found["true"].append(coverage(folder / "model.json", truth, z, folder))
            found["default fit"].append(coverage(folder / "fit.json", truth, z, folder))
        for kind, each in found.items():
            print(f"| {levels} | {kind} | {np.mean(each):.4f} | {np.min(each):.4f} | {np.max(each):.4f} |", flush=True)
