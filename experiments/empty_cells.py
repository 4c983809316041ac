#!/usr/bin/python3
"""How well three rules for an empty cell recover the correlation, on tables drawn from the model (docs/correlations.md).

    experiments/empty_cells.py build/release/tetrachoric_tables

Two variables loaded on three sources with the paper's distributions; thresholds ~ N(0, sd^2); only tables with an empty
cell and no constant column count."""
import subprocess
import sys
import numpy as np

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "build/release/tetrachoric_tables"


def correlations(tables):
    text = "\n".join(" ".join(repr(float(v)) for v in row) for row in tables)
    out = subprocess.run([PROGRAM], input=text, capture_output=True, text=True, check=True).stdout
    return np.array([line.split()[0] for line in out.splitlines()], float)


def draw(rng, N, sd, wanted, tries):
    tables, truth = [], []
    for _ in range(tries):
        if len(tables) == wanted:
            break
        h, k = sd * rng.normal(size=2)
        A, v = rng.uniform(-3, 3, (2, 3)), rng.uniform(0.5, 3, 3) ** 2
        M = np.eye(2) + np.pi / 8 * (A * v) @ A.T
        r = M[0, 1] / np.sqrt(M[0, 0] * M[1, 1])
        x = rng.normal(size=N)
        a, b = x < h, r * x + np.sqrt(1 - r * r) * rng.normal(size=N) < k
        t = np.array([(a & b).sum(), (a & ~b).sum(), (~a & b).sum(), (~a & ~b).sum()], float)
        if t.min() == 0 and t[0] + t[1] not in (0, N) and t[0] + t[2] not in (0, N):
            tables.append(t)
            truth.append(r)
    return np.array(tables), np.array(truth)


def main():
    rng = np.random.default_rng(5)
    for N in (50, 100, 1000):
        for sd in (0.3, 0.7, 1.2):
            tables, truth = draw(rng, N, sd, 3000, 400000)
            d = np.where((tables[:, 0] == 0) | (tables[:, 3] == 0), 0.5, -0.5)
            rules = {"e/(1+2e)": tables, "1/2, margins kept": tables + np.c_[d, -d, -d, d],
                     "1/2 added": np.where(tables == 0, 0.5, tables)}
            for name, t in rules.items():
                rho = correlations(t)
                print(f"N={N} sd={sd} {len(tables)} tables, {name}: rms error {np.sqrt(np.mean((rho - truth) ** 2)):.3f}, "
                      f"wrong sign {100 * np.mean(np.sign(rho) != np.sign(truth)):.1f} %", flush=True)


main()
