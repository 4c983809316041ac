#!/usr/bin/python3
"""Makes tests/data/mvn_reference.csv: orthant probabilities to 30 digits where a closed form or a one-dimensional
integral gives them. Each row: kind, n, log p, then n means, then n*n covariances, then n zeros and ones.
Run from the project root."""
import random

import mpmath as mp

mp.mp.dps = 40
random.seed(20)


def cdf(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def factor(mean, load, noise, x):
    """Y_i = mean_i + load_i z + sqrt(noise_i) e_i."""
    def inside(z):
        value = mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)
        for m, b, d, xi in zip(mean, load, noise, x):
            y = (m + b * z) / mp.sqrt(d)
            value *= cdf(y if xi else -y)
        return value
    return mp.quad(inside, [-14, -8, -5, -3, -2, -1, -0.5, 0, 0.5, 1, 2, 3, 5, 8, 14])


def exact(value):  # what a double holds
    return mp.mpf(float(value))


rows = []


def add(kind, mean, cov, x, p):
    n = len(mean)
    numbers = [repr(float(v)) for v in mean] + [repr(float(v)) for r in cov for v in r] + [str(v) for v in x]
    rows.append(",".join([kind, str(n), mp.nstr(mp.log(p), 30)] + numbers))


for a, b, c in [(0.5, 0.25, -0.125), (0.9375, 0.9375, 0.96875), (-0.5, -0.25, -0.25), (0.0, 0.75, 0.0), (-0.875, 0.5, -0.625)]:
    for signs in [(1, 1, 1), (1, 0, 1), (0, 0, 1)]:
        s = [2 * v - 1 for v in signs]
        angle = mp.asin(s[0] * s[1] * mp.mpf(a)) + mp.asin(s[0] * s[2] * mp.mpf(b)) + mp.asin(s[1] * s[2] * mp.mpf(c))
        add("three", [0, 0, 0], [[1, a, b], [a, 1, c], [b, c, 1]], signs, mp.mpf(1) / 8 + angle / (4 * mp.pi))
for a in (0.0, 0.5, -0.9375, 0.99609375):
    add("two", [0, 0], [[1, a], [a, 1]], (1, 1), mp.mpf(1) / 4 + mp.asin(mp.mpf(a)) / (2 * mp.pi))
for n in (2, 3, 4, 5, 8, 10, 15, 20):
    for draw in range(3):
        # loads and noises are multiples of 1/8 so that the covariance is exact in double precision
        load = [mp.mpf(random.randrange(-24, 25)) / 8 for _ in range(n)]
        if draw == 0:
            load = [mp.mpf(1)] * n  # equicorrelated
        noise = [mp.mpf(1)] * n if draw < 2 else [mp.mpf(random.randrange(8, 24)) / 16 for _ in range(n)]
        mean = [exact(random.uniform(-2, 2)) for _ in range(n)] if draw else [mp.mpf(0)] * n
        x = [random.randrange(2) for _ in range(n)] if draw else [1] * n
        cov = [[load[i] * load[j] + (noise[i] if i == j else 0) for j in range(n)] for i in range(n)]
        add("factor", mean, cov, x, factor(mean, load, noise, x))
for n in (3, 6, 12):
    mean = [exact(random.uniform(-3, 3)) for _ in range(n)]
    variance = [mp.mpf(random.randrange(1, 40)) / 8 for _ in range(n)]
    x = [random.randrange(2) for _ in range(n)]
    p = mp.mpf(1)
    for m, v, xi in zip(mean, variance, x):
        y = m / mp.sqrt(v)
        p *= cdf(y if xi else -y)
    add("product", mean, [[variance[i] if i == j else 0 for j in range(n)] for i in range(n)], x, p)
with open("tests/data/mvn_reference.csv", "w") as out:
    out.write("kind,n,log_p,means,covariances,orthant\n" + "\n".join(rows) + "\n")
