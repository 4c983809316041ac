#!/usr/bin/python3
"""Do errors and the test of change know clusters, weights and replicate weights? Needs the Python package.

Usage: /usr/bin/python3 bench/surveys.py [SETS]       writes the table to stdout

Six items, two sources, ten segments. Rows come in clusters of five that share the part ICC of the variance of sources and
noise; weights are lognormal, independent of the answers, with coefficient of variation CV. In the last design 40 units, each
with people in all segments, share the part ICC, and jackknife replicate weights (JK1) leave them out in turn. In the design with
strata each has two clusters in every segment, and what is shared in a stratum, half of the variance, is the same in all segments
and would be so in another sample; p with the strata given and without, clusters given in both. Columns: coverage
of 95 % intervals of the loadings with a bootstrap of 60 (of replicates: by these), of asymptotic errors alone, and of those
without the clusters; and the share of sets with p <= .05 in the test of changing variances, with the clusters given and without.
Sets with equal variances have no columns to cover: they show the size of the test."""
import itertools
import sys
import warnings

import blica
import numpy as np

LINK = np.pi / 8
N_ITEMS, SOURCES, SEGMENTS, SIZE, UNITS = 6, 2, 10, 5, 40
DESIGNS = [(500, 0.0, 0.0, 1.0), (500, 0.5, 0.0, 1.0), (2000, 0.5, 0.0, 1.0), (500, 0.0, 1.0, 1.0), (500, 0.5, 1.0, 1.0), (500, 0.5, 0.0, 0.0),
           (500, 0.0, 1.0, 0.0), (500, 0.5, 1.0, 0.0)]  # rows of a segment, ICC, CV, range of log v


def draw(rng, rows, icc, change, units=None, between=0.0):
    """units: as many in all segments, in place of clusters of five. between: the part that two clusters of a stratum share."""
    mixing, cut = rng.standard_normal((N_ITEMS, SOURCES)), rng.normal(0, 0.4, N_ITEMS)
    log_v = change * rng.uniform(-1, 1, (SEGMENTS, SOURCES))
    shared = rng.standard_normal((units or 0, SOURCES + N_ITEMS))
    stratum = rng.standard_normal((rows // SIZE // 2, SOURCES + N_ITEMS)) if between else None
    x, segment, cluster = [], [], []
    for s in range(SEGMENTS):
        groups = units or rows // SIZE
        of = np.repeat(np.arange(groups), rows // groups + 1)[:rows] if units else np.repeat(np.arange(groups), SIZE)
        common = shared if units else rng.standard_normal((groups, SOURCES + N_ITEMS))
        own = np.sqrt(icc) * common[of] + np.sqrt(1 - icc - between) * rng.standard_normal((rows, SOURCES + N_ITEMS))
        if between:
            own += np.sqrt(between) * stratum[of // 2]
        z, e = own[:, :SOURCES], own[:, SOURCES:]
        x.append((np.sqrt(LINK) * (z * np.exp((log_v[s] - log_v.mean(0)) / 2)) @ mixing.T + e - cut > 0).astype(int))
        segment += [s] * rows
        cluster += list(of if units else s * groups + of)
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
    ways = [(60, cluster), (0, cluster), (0, None)] if change else [(0, cluster), (0, cluster), (0, None)]
    found = [blica.assess(model, x, segment, bootstrap=draws, cluster=of, sample_weight=weight, threads=1) for draws, of in ways]
    return [covered(model, one, mixing) for one in found] + [found[1].change_p <= 0.05, found[2].change_p <= 0.05]


def by_replicates(seed, rows, icc):
    """Coverage with jackknife replicates of units in all segments, and with rows as units."""
    rng = np.random.default_rng(seed)
    mixing, x, segment, unit = draw(rng, rows, icc, 1.0, UNITS)
    model = blica.fit(x, segment, sources=SOURCES, threads=1)
    weights = UNITS / (UNITS - 1) * (unit[:, None] != np.arange(UNITS))
    found = blica.assess(model, x, segment, sample_weight=np.ones(len(x)), replicate_weights=weights, replicate_method="jk1", threads=1)
    return covered(model, found, mixing), covered(model, blica.assess(model, x, segment, bootstrap=60, threads=1), mixing)


def by_strata(seed, rows, icc, between):
    """Whether the test of change rejects equal variances, with the strata given and without."""
    _, x, segment, cluster = draw(np.random.default_rng(seed), rows, icc, 0.0, between=between)
    model = blica.fit(x, segment, sources=SOURCES, threads=1)
    return [blica.assess(model, x, segment, bootstrap=0, cluster=cluster, strata=strata, threads=1).change_p <= 0.05
            for strata in (cluster // 2, None)]


def main():
    warnings.simplefilter("ignore")
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(f"| rows of a segment | ICC | CV of weights | variances | coverage with clusters | asymptotic alone | without clusters "
          f"| p <= .05, {sets} sets |")
    print("|---|---|---|---|---|---|---|---|")
    for rows, icc, cv, change in DESIGNS:
        r = np.array([one_set(500 + i, rows, icc, cv, change) for i in range(sets)]).mean(0)
        coverage = f"{r[0]:.3f} | {r[1]:.3f} | {r[2]:.3f}" if change else "- | - | -"
        print(f"| {rows} | {icc:g} | {cv:g} | {'change' if change else 'equal'} | {coverage} | {r[3]:.3f}, {r[4]:.3f} |", flush=True)
    r = np.array([by_strata(500 + i, 500, 0.2, 0.5) for i in range(sets)]).mean(0)
    print(f"| 500, 50 strata | 0.2 | 0 | equal | - | - | - | {r[0]:.3f}, {r[1]:.3f} |", flush=True)
    r = np.array([by_replicates(500 + i, 500, 0.1) for i in range(sets)]).mean(0)
    print(f"| 500, 40 units, JK1 | 0.1 | 0 | change | {r[0]:.3f} by replicates | - | {r[1]:.3f} with a bootstrap of rows | - |", flush=True)


if __name__ == "__main__":
    main()
