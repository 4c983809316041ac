"""fastICA from the same start here and in scikit-learn: the unmixing up to order and sign, and the MCS with the truth
where it is known."""
import glob
import gzip
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import FastICA

warnings.simplefilter("ignore")
OURS = os.path.join(os.environ["BLICA_BUILD"], "fastica_unmix")
SHARED = os.path.join(os.environ["BLICA_SOURCE"], "..", "shared", "data", "authors")


def ours(x, start, contrast, iterations):
    with tempfile.TemporaryDirectory() as folder:
        data, first, out = (os.path.join(folder, name) for name in ("x", "w", "out"))
        x.astype(np.int8).tofile(data)
        start.tofile(first)
        rows, n = x.shape
        k = len(start)
        done = subprocess.run([OURS, data, str(rows), str(n), str(k), first, contrast, str(iterations), out],
                              check=True, capture_output=True, text=True).stdout.split()
        return np.fromfile(out).reshape(k, n), int(done[0]), float(done[1])


def theirs(x, start, contrast, iterations):
    ica = FastICA(n_components=len(start), algorithm="parallel", whiten="arbitrary-variance", fun=contrast,
                  max_iter=iterations, tol=1e-4, w_init=start)
    begun = time.perf_counter()
    ica.fit(x.astype(float))
    return ica.components_ * np.sqrt(len(x)), ica.n_iter_, time.perf_counter() - begun


def cosines(a, b):
    a, b = (m / np.linalg.norm(m, axis=0) for m in (a, b))
    c = a.T @ b
    rows, columns = linear_sum_assignment(-abs(c))
    return columns, c[rows, columns]


def difference(a, b):
    """Largest entry of a - b after matching rows and signs, relative to the largest entry."""
    order, cosine = cosines(a.T, b.T)
    return abs(a - np.sign(cosine)[:, None] * b[order]).max() / abs(b).max()


def data_sets():
    rng = np.random.default_rng(1)
    for n, k in ((4, 4), (9, 3), (70, 5)):  # 70: keys of two words
        z = rng.laplace(size=(2000, k)) * rng.uniform(0.5, 3, k)
        a = rng.uniform(-3, 3, (n, k))
        yield f"drawn n={n} k={k}", (z @ a.T + rng.logistic(size=(2000, n)) > 0).astype(float), a
    found = sorted(glob.glob(os.path.join(SHARED, "n*_N1000_s1.csv.gz")))
    if not found:
        print("skipped: the data sets in ../shared/data/authors are not there")
    for path in found:
        with gzip.open(path, "rt") as f:
            x = np.loadtxt(f, delimiter=",")[:, :-1]
        yield os.path.basename(path)[:-7], x, np.loadtxt(path[:-7] + "_A.csv", delimiter=",")


def main():
    failures = 0
    for name, x, a in data_sets():
        for contrast in ("logcosh", "exp", "cube"):
            k = a.shape[1]
            start = np.random.default_rng(7).standard_normal((k, k))
            w1, i1, t1 = ours(x, start, contrast, 1000)
            w2, i2, t2 = theirs(x, start, contrast, 1000)
            converged = i2 < 1000
            off = difference(w1, w2)
            mcs = [abs(cosines(a, np.linalg.pinv(w))[1]).mean() for w in (w1, w2)]
            good = not converged or (off < 1e-6 and abs(mcs[0] - mcs[1]) < 1e-3)
            if not converged:  # then only the first steps can be compared: later ones amplify rounding
                off = difference(ours(x, start, contrast, 10)[0], theirs(x, start, contrast, 10)[0])
                good = off < 1e-6
            failures += not good
            print(f"{'ok  ' if good else 'FAIL'} {name:22} {contrast:7} off {off:.1e}  MCS {mcs[0]:.4f} "
                  f"{mcs[1]:.4f}  iterations {i1} {i2}  seconds {t1:.4f} {t2:.4f}  ratio {t2 / t1:.1f}")
    return 1 if failures else 0


sys.exit(main())
