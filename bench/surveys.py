#!/usr/bin/python3
"""Do errors and the test of change know clusters and weights? Needs the Python package.

Usage: /usr/bin/python3 bench/surveys.py [SETS]       writes the table to stdout

Six items, two sources, ten segments. Rows come in clusters of five that share the part ICC of the variance of sources and
noise; weights are lognormal, independent of the answers, with coefficient of variation CV. Columns: coverage of 95 % intervals
of the loadings, and the share of sets with p <= .05 in the test of changing variances, with the clusters given and without."""
import itertools
import sys
import warnings

import blica
import numpy as np

LINK = np.pi / 8
N_ITEMS, SOURCES, SEGMENTS, SIZE = 6, 2, 10, 5
DESIGNS = [(500, 0.0, 0.0, 1.0), (500, 0.5, 0.0, 1.0), (2000, 0.5, 0.0, 1.0), (500, 0.0, 1.0, 1.0), (500, 0.5, 0.0, 0.0),
           (500, 0.0, 1.0, 0.0), (500, 0.5, 1.0, 0.0)]  # rows of a segment, ICC, CV, range of log v


def draw(rng, rows, icc, change):
    mixing, cut = rng.standard_normal((N_ITEMS, SOURCES)), rng.normal(0, 0.4, N_ITEMS)
    log_v = change * rng.uniform(-1, 1, (SEGMENTS, SOURCES))
    x, segment, cluster = [], [], []
    for s in range(SEGMENTS):
        groups = rows // SIZE
        of = np.repeat(np.arange(groups), SIZE)
        z = np.sqrt(icc) * rng.standard_normal((groups, SOURCES))[of] + np.sqrt(1 - icc) * rng.standard_normal((rows, SOURCES))
        e = np.sqrt(icc) * rng.standard_normal((groups, N_ITEMS))[of] + np.sqrt(1 - icc) * rng.standard_normal((rows, N_ITEMS))
        x.append((np.sqrt(LINK) * (z * np.exp((log_v[s] - log_v.mean(0)) / 2)) @ mixing.T + e - cut > 0).astype(int))
        segment += [s] * rows
        cluster += list(s * groups + of)
    order = rng.permutation(len(segment))  # rows in the order of time would be another matter
    return mixing, np.vstack(x)[order], np.array(segment)[order], np.array(cluster)[order]


def covered(model, found, mixing):
    """Share of intervals that hold the true loadings, columns matched."""
    columns = max(itertools.permutations(range(SOURCES)), key=lambda order: sum(
        abs(np.corrcoef(model.mixing[:, j], mixing[:, order[j]])[0, 1]) for j in range(SOURCES)))
    truth = mixing[:, columns] * np.sign((model.mixing * mixing[:, columns]).sum(0))
    return np.mean((found.mixing_low <= truth) & (truth <= found.mixing_high))


def one_set(seed, rows, icc, cv, change):
    rng = np.random.default_rng(seed)
    mixing, x, segment, cluster = draw(rng, rows, icc, change)
    weight = np.exp(rng.normal(0, np.sqrt(np.log(1 + cv * cv)), len(segment))) if cv else None
    model = blica.fit(x, segment, sources=SOURCES, sample_weight=weight, threads=1)
    result = []
    for given in (cluster, None):
        found = blica.assess(model, x, segment, bootstrap=0, cluster=given, sample_weight=weight, threads=1)
        result.append((covered(model, found, mixing), found.change_p <= 0.05))
    return result


def main():
    warnings.simplefilter("ignore")
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(f"| rows of a segment | ICC | CV of weights | variances | coverage with clusters, without | p <= .05, {sets} sets |")
    print("|---|---|---|---|---|---|")
    for rows, icc, cv, change in DESIGNS:
        r = np.array([one_set(500 + i, rows, icc, cv, change) for i in range(sets)]).mean(0)
        coverage = f"{r[0, 0]:.3f}, {r[1, 0]:.3f}" if change else "-"
        print(f"| {rows} | {icc:g} | {cv:g} | {'change' if change else 'equal'} | {coverage} | {r[0, 1]:.3f}, {r[1, 1]:.3f} |",
              flush=True)


if __name__ == "__main__":
    main()
