#!/usr/bin/python3
"""Writes ivae_fixture.h: a small case of the linear iVAE with missing values, its loss and its
gradient in both forms of the KL. The loss is written straight from the definition, row by row; the gradient is its
complex-step derivative, so neither shares anything with the library's hand-derived one."""
import os

import numpy as np

n, k, u, rows = 4, 3, 3, 150
rng = np.random.default_rng(20220802)
x = rng.integers(0, 2, (rows, n)).astype(float)
x[rng.random((rows, n)) < 0.1] = -1  # missing
segment = rng.integers(0, u, rows)
segment[:100] = 0  # more rows than a panel holds
eps = rng.standard_normal((rows, k))
shapes = [(k, u), (k,), (k, u), (k,), (n, k), (k, n + u), (k,), (k, n + u), (k,)]
theta = rng.uniform(-1, 1, sum(int(np.prod(s)) for s in shapes))


def loss(theta, analytic):
    parts, at = [], 0
    for shape in shapes:
        size = int(np.prod(shape))
        parts.append(theta[at:at + size].reshape(shape))
        at += size
    wm, bm, wl, bl, wf, wg, bg, wv, bv = parts
    total = 0
    for r in range(rows):
        onehot = np.eye(u)[segment[r]]
        seen = x[r] >= 0
        inputs = np.concatenate([np.where(seen, x[r], 0.5), onehot])
        m, l = wm @ onehot + bm, wl @ onehot + bl
        mean, w = wg @ inputs + bg, wv @ inputs + bv
        z = mean + np.exp(w / 2) * eps[r]
        a = wf @ z
        total += np.sum(np.log(1 + np.exp((1 - 2 * x[r]) * a))[seen])
        if not analytic:
            total += np.sum(l + (z - m) ** 2 * np.exp(-l) - w - eps[r] ** 2) / 2
        else:
            total += np.sum(l - w + (np.exp(w) + (mean - m) ** 2) * np.exp(-l) - 1) / 2
    return total / rows


def gradient(theta, analytic):
    step, g = 1e-30, np.empty(theta.size)
    for i in range(theta.size):
        moved = theta.astype(complex)
        moved[i] += 1j * step
        g[i] = loss(moved, analytic).imag / step
    return g


def array(kind, name, values):
    text = ", ".join(repr(v) for v in np.ravel(values).tolist())
    return f"static const {kind} {name}[] = {{{text}}};\n"


with open(os.path.join(os.path.dirname(__file__), "ivae_fixture.h"), "w") as f:
    f.write("/* Made by make_ivae_fixture.py. */\n#include <stdint.h>\n")
    f.write(f"enum {{ FX_N = {n}, FX_K = {k}, FX_U = {u}, FX_ROWS = {rows}, FX_SIZE = {theta.size} }};\n")
    f.write(array("int8_t", "fx_x", x.astype(int)) + array("int32_t", "fx_segment", segment))
    order = np.argsort(segment, kind="stable")  # noise is given segment after segment
    f.write(array("double", "fx_eps", eps[order]) + array("double", "fx_theta", theta))
    for analytic, name in ((False, "sample"), (True, "analytic")):
        f.write(f"static const double fx_loss_{name} = {float(loss(theta, analytic))!r};\n")
        f.write(array("double", f"fx_gradient_{name}", gradient(theta, analytic)))
