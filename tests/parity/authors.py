"""The paper's method on the authors' data: MCS as published, the objective recomputed from its definition, the point
stationary, and no better one among 20 random starts in 9 of 10 data sets."""
import json
import os
import subprocess
import sys

import numpy as np

blica, source, work = os.environ["BLICA"], os.environ["BLICA_SOURCE"], sys.argv[1]
shared = os.path.join(source, "..", "shared", "data", "authors")
# MCS that the authors' scripts reach (best of 3 starts). Not listed: n=k=6, N=100, theirs .946: the likelihood there is nearly flat,
# and points within 0.001 of each other have MCS .931 and .944, so that rounding decides.
published = {"n6_nz2_N50": .9815, "n6_nz2_N1000": .9812, "n6_nz6_N1000": .9905, "n10_nz10_N100": .9815,
             "n10_nz10_N1000": .9956, "n20_nz10_N1000": .9903, "n20_nz20_N1000": .9959}
failures = []


def check(what, good):
    print(("ok   " if good else "FAIL ") + what)
    if not good:
        failures.append(what)


def run(*args):
    return subprocess.run([blica, *args], check=True, capture_output=True, text=True).stdout


def solve_scales(c, k):
    """w > 0 with w_i ((C o K) w)_i = 1: the best q = 1/w for given A and v; a convex problem, by damped Newton."""
    h, w = c * k, np.ones(len(c))
    for _ in range(200):
        g = h @ w - 1 / w
        if np.abs(g * w).max() < 1e-14:
            break
        step = np.linalg.solve(h + np.diag(1 / w**2), -g)
        t = 1.0
        value = 0.5 * w @ h @ w - np.log(w).sum()
        while (w + t * step).min() <= 0 or 0.5 * (w + t * step) @ h @ (w + t * step) - np.log(w + t * step).sum() > value + 1e-15:
            t /= 2
            if t < 1e-12:
                return w
        w = w + t * step
    return w


def recompute(model, r):
    """-f of the scaled Gaussian likelihood and the largest derivative by A and log v, from the definition."""
    a, c = np.array(model["mixing"]), model["link"]
    total, ga, worst = 0.0, np.zeros_like(a), 0.0
    for s, v in enumerate(np.array(model["variances"])):
        m = np.eye(len(a)) + c * (a * v) @ a.T
        k, samples = np.linalg.inv(m), model["samples"][s]
        w = solve_scales(r[s], k)
        d = r[s] * np.outer(w, w)
        g = samples / 2 * (k - k @ d @ k)
        total -= samples / 2 * (len(a) * np.log(2 * np.pi) + np.linalg.slogdet(m)[1] - 2 * np.log(w).sum() + np.trace(d @ k))
        ga += 2 * c * g @ a * v
        worst = max(worst, np.abs(c * v * np.einsum("ik,ij,jk->k", a, g, a)).max())
    return total, max(worst, np.abs(ga).max())


def one(name, data, k, truth, extra):
    out = os.path.join(work, name)
    run("fit", data, *extra, "--method", "blica", "--condition", "10", "--sources", str(k), "--out", out + ".json")
    run("correlate", data, *extra, "--condition", "10", "--out", out + ".npz")
    model = json.load(open(out + ".json"))
    objective, gradient = recompute(model, np.load(out + ".npz")["rho"])
    check(f"{name}: objective {model['fit']['objective']:.6f} is {objective:.6f} by its definition",
          abs(objective - model["fit"]["objective"]) < 1e-9 * abs(objective))
    check(f"{name}: relative gradient {gradient / abs(objective):.1e} < 1e-7", gradient < 1e-7 * abs(objective))
    mcs = json.loads(run("compare", out + ".json", truth, "--json"))["mcs"]
    if name in published:
        check(f"{name}: MCS {mcs:.4f}, published {published[name]}", mcs > published[name] - .002)
    if len(model["variables"]) > 10:
        return None
    run("fit", data, *extra, "--method", "blica", "--condition", "10", "--sources", str(k), "--starts", "21", "--out", out + ".21.json")
    return json.load(open(out + ".21.json"))["fit"]["objective"] - model["fit"]["objective"]


gains = {}
if os.path.isdir(shared):
    for name in list(published) + ["n6_nz6_N100"]:
        base = os.path.join(shared, name + "_s1")
        k = int(name.split("nz")[1].split("_")[0])
        gains[name] = one(name, base + ".csv.gz", k, base + "_A.csv", ["--segment-column", "last"])
else:
    print("the authors' data are not here (../shared/data/authors): simulated data only")
for seed, (n, k, samples) in enumerate([(6, 3, 500), (8, 8, 1000), (8, 4, 200), (5, 5, 2000)], 1):
    name = f"simulated{seed}"
    run("simulate", "--variables", str(n), "--sources", str(k), "--samples", str(samples), "--seed", str(seed), "--out",
        os.path.join(work, name + ".d"), "--quiet")
    gains[name] = one(name, os.path.join(work, name + ".d", "data.csv"), k, os.path.join(work, name + ".d", "model.json"), [])
gains = {name: gain for name, gain in gains.items() if gain is not None}
better = {name: gain for name, gain in gains.items() if gain > 1e-3}
print("gain of 20 random starts over the default 3:", {name: f"{gain:.1e}" for name, gain in gains.items()})
check(f"no better point in {len(gains) - len(better)} of {len(gains)} data sets", len(better) <= len(gains) // 10)
print(f"{len(failures)} failures")
sys.exit(bool(failures))
