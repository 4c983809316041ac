"""levels_limit.py PROGRAM [SETS]: the error of A if the latent q were seen up to one scale per item, which is what
infinitely many levels show, for the rows of bench/levels.sh.

Models are those of seeds 1, 2, ...; q is drawn from them, and the Gaussian likelihood of its covariances D (c A V_s A' + I) D
is maximised over A, v and D from the truth. Prints the mean of 1 - MCS. No method that sees levels of q can expect to do
better without priors."""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from scipy.optimize import linear_sum_assignment, minimize

program = sys.argv[1] if len(sys.argv) > 1 else "build/release/blica"
SETS = int(sys.argv[2]) if len(sys.argv) > 2 else 30


def loss(theta, n, k, u, covariances):
    a, v, d = theta[: n * k].reshape(n, k), np.exp(theta[n * k : n * k + u * k].reshape(u, k)), np.exp(theta[n * k + u * k :])
    b = a * v[:, None, :]
    sigma = d[:, None] * (b @ a.T + np.eye(n)) * d
    inverse = np.linalg.inv(sigma)
    product = inverse @ covariances
    value = 0.5 * (np.trace(product, axis1=1, axis2=2).sum() - np.linalg.slogdet(inverse)[1].sum())
    g = 0.5 * (inverse - product @ inverse)
    by_d = 2 * np.sum(g * sigma, axis=(0, 2))
    by_b = d[:, None] * g * d @ b
    return value, np.concatenate([2 * by_b.sum(axis=0).ravel(), np.sum(a * by_b, axis=1).ravel(), by_d])


def mcs(a, b):
    cosine = np.abs((a / np.linalg.norm(a, axis=0)).T @ (b / np.linalg.norm(b, axis=0)))
    return cosine[linear_sum_assignment(-cosine)].mean()


print("| n = k | rows each | q up to scales |")
print("|---|---|---|")
with tempfile.TemporaryDirectory() as folder:
    for n, rows in ((3, 1000), (6, 1000), (6, 100)):
        errors = []
        for seed in range(1, SETS + 1):
            subprocess.run([program, "simulate", "--variables", str(n), "--sources", str(n), "--segments", "40", "--samples", "1",
                            "--seed", str(seed), "--out", folder, "--quiet"], check=True)
            m = json.loads((pathlib.Path(folder) / "model.json").read_text())
            a, v = np.sqrt(m["link"]) * np.array(m["mixing"]), np.array(m["variances"])
            rng = np.random.default_rng(seed)
            q = [rng.standard_normal((rows, n)) * np.sqrt(x) @ a.T + rng.standard_normal((rows, n)) for x in v]
            covariances = np.array([np.cov(x.T, bias=True) for x in q])
            start = np.concatenate([a.ravel(), np.log(v).ravel(), np.zeros(n)])
            found = minimize(loss, start, (n, n, 40, covariances), jac=True, method="L-BFGS-B",
                             options={"maxiter": 1000, "maxcor": 30, "ftol": 1e-13, "gtol": 1e-8})
            errors.append(1 - mcs(a, found.x[: n * n].reshape(n, n)))
        print(f"| {n} | {rows} | {np.mean(errors):.4f} (median {np.median(errors):.4f}) |", flush=True)
