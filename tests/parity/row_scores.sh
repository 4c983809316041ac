#!/bin/bash
# The test of change by row scores, written again from its definition (src/inference/scores/change_test.c) with scipy's normal
# and gamma distributions and sums over single rows: two and four levels, differing means, missing values, small segments.
/usr/bin/python3 -c 'import numpy, scipy' 2>/dev/null || { echo "SKIP: python3-scipy is not installed (tools/setup.sh test)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder" || exit 1
BLICA=$BLICA_BUILD/blica /usr/bin/python3 - <<'P'
import json, os, subprocess
import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from scipy.stats import gamma

NODE, WEIGHT = np.polynomial.legendre.leggauss(40)

def both_below(h, k, r):
    """P(p < h, q < k): the integral of the density over the correlation (Plackett)."""
    angle = np.arcsin(r) * (NODE + 1) / 2
    part = np.exp(-(h * h + k * k - 2 * h * k * np.sin(angle)) / (2 * np.cos(angle) ** 2))
    return ndtr(h) * ndtr(k) + np.arcsin(r) / 2 * (WEIGHT * part).sum() / (2 * np.pi)

def density(h, k, r):
    return np.exp(-(h * h + k * k - 2 * h * k * r) / (2 * (1 - r * r))) / (2 * np.pi * np.sqrt(1 - r * r))

def shrunk_margins(x, seg, levels):
    """Shares at or below each level, shrunk as a beta-binomial model has it: [segment][item] -> array."""
    u, n = seg.max() + 1, x.shape[1]
    result = [[None] * n for _ in range(u)]
    for i in range(n):
        rows = np.array([(x[seg == s, i] >= 0).sum() for s in range(u)], float)
        at = np.array([[((x[seg == s, i] >= 0) & (x[seg == s, i] > l)).sum() for s in range(u)] for l in range(levels - 1)], float)
        mean = (at.sum(1) + .5) / (rows.sum() + 1)
        together = []
        for l in range(levels - 1):
            if 0 < at[l].sum() < rows.sum():
                ok = rows > 0
                chi = ((at[l] - rows * mean[l])[ok] ** 2 / rows[ok]).sum() / (mean[l] * (1 - mean[l]))
                together.append(min(max((chi - (ok.sum() - 1)) / max(rows.sum() - (rows ** 2).sum() / rows.sum(), 1), 0), .99))
        t = np.mean(together) if together else 0
        for s in range(u):
            above = mean if t == 0 else (at[:, s] + (1 - t) / t * mean) / (rows[s] + (1 - t) / t)
            result[s][i] = 1 - np.clip(above, 1e-9, 1 - 1e-9)
    return result

class Table:
    """Cells of two items at a correlation: score of each cell, and what the thresholds take from it."""
    def __init__(self, first, second, r):
        h, k = (np.concatenate([[-np.inf], ndtri(f), [np.inf]]) for f in (first, second))
        a, b = len(h), len(k)
        F, f = np.zeros((a, b)), np.zeros((a, b))
        for i in range(a):
            for j in range(b):
                inside = np.isfinite(h[i]) and np.isfinite(k[j])
                F[i, j] = both_below(h[i], k[j], r) if inside else ndtr(h[i]) * ndtr(k[j])
                f[i, j] = density(h[i], k[j], r) if inside else 0
        difference = lambda z: z[1:, 1:] - z[:-1, 1:] - z[1:, :-1] + z[:-1, :-1]
        self.p, d = difference(F), difference(f)
        self.psi = np.where(self.p > 1e-10, d / np.maximum(self.p, 1e-10), 0)
        self.information = (d * self.psi).sum()
        root = np.sqrt(1 - r * r)
        self.first = self.margin(self.psi, h, k, r, root, first)
        self.second = self.margin(self.psi.T, k, h, r, root, second)

    @staticmethod
    def margin(psi, own, other, r, root, share):
        change = np.zeros(len(share) + 1)
        for l in range(len(share)):
            given = np.diff(ndtr((other - r * own[l + 1]) / root))
            K = ((psi[l] - psi[l + 1]) * given).sum()
            change -= K * ((np.arange(len(change)) <= l) - share[l])
        return change

def change_test(x, seg, k, levels):
    u, n, N = seg.max() + 1, x.shape[1], len(x)
    share = shrunk_margins(x, seg, levels)
    pairs = [(i, j) for j in range(n) for i in range(j)]
    varies = [[len(set(x[(seg == s) & (x[:, i] >= 0), i])) > 1 for i in range(n)] for s in range(u)]

    def pair_scores(i, j, r):
        score, info = np.zeros(N), np.zeros(u)
        for s in range(u):
            if not (varies[s][i] and varies[s][j]):
                continue
            t, rows = Table(share[s][i], share[s][j], r), np.where(seg == s)[0]
            xi, xj = x[rows, i], x[rows, j]
            a, b = xi >= 0, xj >= 0
            both = a & b
            score[rows[both]] += t.psi[xi[both], xj[both]]
            score[rows[a]] += both.sum() / a.sum() * t.first[xi[a]]
            score[rows[b]] += both.sum() / b.sum() * t.second[xj[b]]
            info[s] = both.sum() * t.information
        return score, info

    rho, R = {}, np.eye(n)
    for i, j in pairs:
        rho[i, j] = R[i, j] = R[j, i] = brentq(lambda r: pair_scores(i, j, r)[0].sum(), -.97, .97, xtol=1e-9)
    found = [pair_scores(i, j, rho[i, j]) for i, j in pairs]
    psi, W = np.array([f[0] for f in found]).T, np.array([f[1] for f in found]).T
    values, vectors = np.linalg.eigh(R)
    D = []
    for f in range(k):
        for g in range(f + 1):
            a, b = vectors[:, -1 - f], vectors[:, -1 - g]
            size = .5 * np.sqrt(values[-1 - f] * values[-1 - g])
            D.append([size * (a[i] * b[j] + a[j] * b[i] - rho[i, j] * (a[i] * b[i] + a[j] * b[j])) for i, j in pairs])
    D = np.array(D).T
    U = psi @ D
    U -= U.mean(0)
    m, rows = D.shape[1], np.bincount(seg)
    H = [D.T @ (W[s][:, None] * D) for s in range(u)]
    l = [np.sqrt(np.diag(h)) for h in H]
    Z = np.array([U[r] / l[seg[r]] * np.sqrt(rows[seg[r]]) for r in range(N)])
    pooled, T, mean, variance = Z.T @ Z / N, 0, 0, 0
    for s in range(u):
        J, S, f = np.outer(l[s], l[s]) * pooled, U[seg == s].sum(0), rows[s] / N
        Q = np.linalg.inv(J) - np.linalg.inv(J + H[s] @ H[s] / 4)
        T += S @ Q @ S
        mean += (1 - f) * np.trace(Q @ J)
        variance += 2 * (1 - f) * np.trace(Q @ J @ Q @ J)
    return gamma.sf(T, mean ** 2 / variance, scale=variance / mean)

def draw(rng, n, k, sizes, levels, means, spread):
    A, X, seg = rng.standard_normal((n, k)), [], []
    cut = np.sort(rng.normal(0, 1.2, (n, levels - 1)), 1)
    for s, size in enumerate(sizes):
        z = rng.standard_normal((size, k)) * np.exp(rng.uniform(-spread, spread, k)) + means * rng.standard_normal(k)
        q = z @ A.T + 1.6 * rng.standard_normal((size, n))
        X.append((q[:, :, None] > cut[None]).sum(2))
        seg += [s] * size
    return np.vstack(X), np.array(seg)

for seed, sizes, levels, means, spread, missing in ((1, [150] * 5, 2, 0, .1, 0), (2, [120, 60, 200], 4, .7, .1, 0),
                                                    (3, [20] * 12, 2, .3, .3, 0), (4, [200] * 4, 3, .5, .2, .4)):
    rng = np.random.default_rng(seed)
    x, seg = draw(rng, 5, 2, sizes, levels, means, spread)
    x[rng.random(x.shape) < missing] = -1
    x, seg = x[(x >= 0).any(1)], seg[(x >= 0).any(1)]
    with open("d.csv", "w") as f:
        f.write("a,b,c,d,e,segment\n" + "".join(",".join("" if v < 0 else str(v) for v in r) + f",{s}\n" for r, s in zip(x, seg)))
    ordinal = ["--ordinal"] if levels > 2 else []
    subprocess.run([os.environ["BLICA"], "fit", "d.csv", "--sources", "2", "--out", "m.json", "--quiet", "--allow-unidentified"] + ordinal,
                   check=True, stderr=subprocess.DEVNULL)
    found = json.loads(subprocess.run([os.environ["BLICA"], "assess", "m.json", "d.csv", "--bootstrap", "none", "--json"], check=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    wanted = change_test(x, seg, 2, levels)
    assert abs(found["change"]["p"] - wanted) < 1e-3 * wanted, (seed, found["change"]["p"], wanted)
    assert all(c["change_p"] >= found["change"]["p"] for c in found["columns"])
P
