"""intercepts.py PROGRAM [SETS [SD ...]]: what items' thresholds do to fits with fewer sources than items.

n = 10, k = 2, 40 segments of 1000 rows, 20 sets without and with intercepts of sd 2. Per method the mean MCS, and over the 400
shares P(x_i = 1) of a set: the largest difference of fitted and true, fitted and observed, observed and true shares, and the root
mean square of the errors against the truth. The line "bound" is what an efficient estimator would have on the same models: the
errors of its shares are normal with the covariance G I^-1 G', I the information of whole rows at the true model and G the
derivatives of the shares; observed minus fitted shares have the covariance of observed ones less that of fitted ones. 1000 draws
for each model. Cells have the mean over sets, and in brackets the median, the 90 % quantile and the largest of the sets. The last
column says how far from 0 and 1 the true shares are that were missed by most."""
import csv
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from scipy.special import log_ndtr

program = sys.argv[1] if len(sys.argv) > 1 else "build/release/blica"
SETS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
INTERCEPTS = [float(sd) for sd in sys.argv[3:]] or [0, 2]
NODES, DRAWS = 60, 1000


def run(*args):
    done = subprocess.run([program, *map(str, args)], capture_output=True, text=True)
    if done.returncode not in (0, 4):
        raise SystemExit(done.stderr)
    return done.stdout


def shares(m):
    c = m["link"]
    out = []
    for v, mu in zip(m["variances"], m["means"]):
        for a, cut in zip(m["mixing"], m["cuts"]):
            mean = math.sqrt(c) * sum(x * y for x, y in zip(a, mu)) - cut[0]
            sd = math.sqrt(1 + c * sum(x * x * y for x, y in zip(a, v)))
            out.append(0.5 * math.erfc(-mean / sd / math.sqrt(2)))
    return np.array(out)


def observed(path, truth):
    """Shares of ones by segment and item, in the order of the model."""
    names, labels = truth["variables"], [str(label) for label in truth["segments"]]
    ones, rows = {label: [0] * len(names) for label in labels}, dict.fromkeys(labels, 0)
    with open(path) as file:
        for row in csv.DictReader(file):
            label = row["segment"]
            rows[label] += 1
            for i, name in enumerate(names):
                ones[label][i] += row[name] == "1"
    return np.array([count / rows[label] for label in labels for count in ones[label]])


def patterns(a, cut, v, mu, e, weight, ones):
    """Probabilities of all rows of a segment, and their derivatives by a, cut, mu and log v. Nodes e of the sources' scores."""
    n, k = a.shape
    eta = (mu + np.sqrt(v) * e) @ a.T - cut
    up, down, density = log_ndtr(eta), log_ndtr(-eta), -0.5 * eta**2 - 0.5 * math.log(2 * math.pi)
    joint = np.exp(ones @ up.T + (1 - ones) @ down.T) * weight
    by_a, by_cut, by_mu, by_v = np.zeros((len(ones), n, k)), np.zeros((len(ones), n)), 0, 0
    basis = np.column_stack([np.ones(len(e)), e])
    for i in range(n):
        one = joint @ (np.exp(density[:, i] - up[:, i])[:, None] * basis)
        zero = joint @ (-np.exp(density[:, i] - down[:, i])[:, None] * basis)
        d = np.where(ones[:, i : i + 1] > 0, one, zero)  # by eta_i, and that times the scores
        by_a[:, i] = d[:, :1] * mu + d[:, 1:] * np.sqrt(v)
        by_cut[:, i] = -d[:, 0]
        by_mu = by_mu + d[:, :1] * a[i]
        by_v = by_v + d[:, 1:] * np.sqrt(v) / 2 * a[i]
    return joint.sum(axis=1), by_a.reshape(len(ones), -1), by_cut, by_mu, by_v


def bound(m, rng):
    """Largest errors against true and observed shares, DRAWS each, and the rms, of an efficient estimator."""
    a, cut = math.sqrt(m["link"]) * np.array(m["mixing"]), np.array([own[0] for own in m["cuts"]])
    v, mu = np.array(m["variances"]), np.array(m["means"])
    (n, k), u = a.shape, len(v)
    x, w = np.polynomial.hermite_e.hermegauss(NODES)
    e = np.array(np.meshgrid(*[x] * k)).reshape(k, -1).T
    weight = np.prod(np.array(np.meshgrid(*[w / w.sum()] * k)).reshape(k, -1), axis=0)
    ones = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    common, size = n * k + n, n * k + n + 2 * u * k
    information, slope, seen = np.zeros((size, size)), np.zeros((u, n, size)), np.zeros((u, n, u, n))
    for s in range(u):
        p, by_a, by_cut, by_mu, by_v = patterns(a, cut, v[s], mu[s], e, weight, ones)
        j = np.zeros((len(p), size))
        j[:, :common] = np.hstack([by_a, by_cut])
        j[:, common + 2 * k * s : common + 2 * k * (s + 1)] = np.hstack([by_mu, by_v])
        information += m["samples"][s] * (j.T / p) @ j
        slope[s], mean = ones.T @ j, ones.T @ p
        seen[s, :, s] = ((ones.T * p) @ ones - np.outer(mean, mean)) / m["samples"][s]
    scale = np.sqrt(np.diag(information))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    free = values > 1e-9 * values[-1]  # scales and common means of the sources are not
    assert np.sum(~free) == 2 * k
    root = slope.reshape(u * n, size) @ (vectors[:, free] / np.sqrt(values[free]) / scale[:, None])
    fitted, seen = root @ root.T, seen.reshape(u * n, u * n)
    values, vectors = np.linalg.eigh(seen - fitted)
    rest = vectors * np.sqrt(np.maximum(values, 0))
    largest = [np.abs(r @ rng.standard_normal((r.shape[1], DRAWS))).max(axis=0) for r in (root, rest)]
    return (*largest, math.sqrt(np.trace(fitted) / (u * n)))


def most(a, b):
    return np.abs(a - b).max()


def size(a, b):
    return math.sqrt(np.mean((a - b) ** 2))


def spread(values):
    return f"{np.mean(values):.3f} ({np.median(values):.3f}, {np.quantile(values, 0.9):.3f}, {np.max(values):.3f})"


def report(sd, found, limits):
    for method, each in found.items():
        mcs, true_most, seen_most, floor, rms, rms_seen, worst = zip(*each)
        print(f"| {sd:g} | {method} | {np.mean(mcs):.4f} | {spread(true_most)} | {spread(seen_most)} | {spread(floor)} "
              f"| {np.mean(rms):.4f}, {np.mean(rms_seen):.4f} | {np.min(worst):.2f} to {np.max(worst):.2f} |")
    true_most, seen_most = (np.array([limit[i] for limit in limits]) for i in range(2))
    cells = [f"{x.mean():.3f} ({np.median(x):.3f}, {np.quantile(x, 0.9):.3f}, {x.max(axis=0).mean():.3f})" for x in (true_most, seen_most)]
    below = [np.mean(x < 0.03) for x in (true_most, seen_most)]
    print(f"| {sd:g} | bound | | {cells[0]} | {cells[1]} | | {np.mean([limit[2] for limit in limits]):.4f} | |")
    print(f"\nIntercepts {sd:g}: an efficient estimator is within .03 of all true shares in {below[0]:.0%} of sets, of all observed "
          f"shares in {below[1]:.0%}.\n", flush=True)


print("| intercepts | method | mean MCS | fitted - true | fitted - observed | observed - true | rms: fitted, observed | worst share |")
print("|---|---|---|---|---|---|---|---|")
rng = np.random.default_rng(1)
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    for sd in INTERCEPTS:
        found, limits = {"auto": [], "mle": []}, []
        for seed in range(1, SETS + 1):
            run("simulate", "--variables", 10, "--sources", 2, "--segments", 40, "--samples", 1000, "--seed", seed,
                "--intercepts", sd, "--out", folder)
            truth = json.loads((folder / "model.json").read_text())
            true, seen = shares(truth), observed(folder / "data.csv", truth)
            limits.append(bound(truth, rng))
            for method in found:
                run("fit", folder / "data.csv", "--sources", 2, "--method", method, "--out", folder / "fit.json")
                mcs = json.loads(run("compare", folder / "model.json", folder / "fit.json", "--json"))["mcs"]
                fit = shares(json.loads((folder / "fit.json").read_text()))
                worst = true[np.abs(fit - true).argmax()]
                found[method].append((mcs, most(fit, true), most(fit, seen), most(seen, true), size(fit, true), size(seen, true),
                                      min(worst, 1 - worst)))
            print(f"set {seed} of {SETS}", file=sys.stderr, flush=True)
        report(sd, found, limits)
