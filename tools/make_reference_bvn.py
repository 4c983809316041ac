#!/usr/bin/python3
"""Writes tests/data/bvn_reference.csv: Phi2(h,k;rho) computed with 50 digits by mpmath.

Two integrals, both in closed form in the textbooks (Owen 1956; Genz 2004):
  mid:   Phi(h)Phi(k) + 1/(2 pi) int_0^asin(rho) exp(-(h^2+k^2-2hk sin w)/(2 cos^2 w)) dw
  near:  Phi2 at rho = +-1 less 1/(2 pi) int_0^sqrt(1-rho^2) of the density along the way back
Every 40th point is computed by the conditional form int phi(x) Phi((k-rho x)/sqrt(1-rho^2)) dx as well and
must agree. h, k and rho are doubles, written so that they round-trip."""
import random
import sys
import mpmath as mp

mp.mp.dps = 50
INF = float("inf")


def cdf(x):
    return mp.mpf(0) if x == -INF else mp.mpf(1) if x == INF else mp.ncdf(mp.mpf(x))


def quad(f, points):
    points = sorted(set(points))
    value, error = mp.quad(f, points, error=True)
    if error > mp.mpf(10) ** -35:
        fine = [points[0]]
        for a, b in zip(points, points[1:]):
            fine += [a + (b - a) * i / 8 for i in range(1, 9)]
        value, error = mp.quad(f, fine, error=True, maxdegree=9)
    assert error < mp.mpf(10) ** -25, error
    return value


def mid(h, k, r):
    h, k, r = mp.mpf(h), mp.mpf(k), mp.mpf(r)
    top = mp.asin(r)
    f = lambda w: mp.exp(-(h * h + k * k - 2 * h * k * mp.sin(w)) / (2 * mp.cos(w) ** 2))
    return cdf(h) * cdf(k) + quad(f, [min(mp.mpf(0), top), max(mp.mpf(0), top)]) / (2 * mp.pi) * mp.sign(top)


def near(h, k, r):
    h, k, r = mp.mpf(h), mp.mpf(k), mp.mpf(r)
    s = 1 if r > 0 else -1
    a = mp.sqrt(1 - r * r)
    b2 = (h - s * k) ** 2
    limit = cdf(min(h, k)) if s > 0 else max(mp.mpf(0), cdf(h) - cdf(-k))

    def g(x):
        if x == 0:
            return mp.mpf(0) if b2 else mp.exp(-s * h * k / 2)
        root = mp.sqrt(1 - x * x)
        return mp.exp(-b2 / (2 * x * x) - s * h * k / (1 + root)) / root

    b = mp.sqrt(b2)
    points = [mp.mpf(0), a] + [b * c for c in (mp.mpf(1) / 12, mp.mpf(1) / 4, 1, 4) if 0 < b * c < a]
    return limit - s * quad(g, points) / (2 * mp.pi)


def conditional(h, k, r):
    h, k, r = mp.mpf(h), mp.mpf(k), mp.mpf(r)
    c = mp.sqrt(1 - r * r)
    f = lambda x: mp.npdf(x) * mp.ncdf((k - r * x) / c)
    turn = k / r if r else mp.mpf(0)
    cuts = [turn + c / abs(r) * m for m in (-12, -4, -1, 0, 1, 4, 12)] if r else []
    return quad(f, [mp.mpf(-40)] + [x for x in cuts + [mp.mpf(-8), mp.mpf(0)] if -40 < x < h] + [h])


def phi2(h, k, r):
    if INF in (h, k) or -INF in (h, k):
        return cdf(min(h, k)) if -INF in (h, k) else cdf(k if h == INF else h)
    if abs(r) == 1:
        return cdf(min(h, k)) if r > 0 else max(mp.mpf(0), cdf(h) - cdf(-k))
    return mid(h, k, r) if abs(r) < 0.9 else near(h, k, r)


def points(count):
    rng = random.Random(20220801)
    sign = lambda: rng.choice((-1.0, 1.0))
    for h in (-INF, -8.0, -1.0, 0.0, 0.5, 8.0, INF):
        for k in (-INF, -38.0, -8.0, 0.0, 0.5, 1.0, 38.0, INF):
            for r in (-1.0, -1 + 1e-12, -0.5, 0.0, 1e-300, 0.5, 1 - 1e-12, 1.0):
                yield h, k, r
    for i in range(count):
        kind = i % 6
        if kind == 0:    # ordinary
            yield rng.gauss(0, 1), rng.gauss(0, 1), rng.uniform(-1, 1)
        elif kind == 1:  # tails
            yield rng.uniform(-10, 10), rng.uniform(-10, 10), rng.uniform(-1, 1)
        elif kind == 2:  # near-singular rho, any h and k
            yield rng.gauss(0, 2), rng.gauss(0, 2), sign() * (1 - 10 ** rng.uniform(-15, -0.3))
        elif kind == 3:  # near-singular rho, h close to +-k
            r = sign() * (1 - 10 ** rng.uniform(-15, -0.3))
            h = rng.gauss(0, 2)
            width = (1 - abs(r)) ** 0.5
            yield h, (1 if r > 0 else -1) * h + rng.gauss(0, 1) * 3 * width, r
        elif kind == 4:  # where methods change over
            yield rng.gauss(0, 2), rng.gauss(0, 2), sign() * rng.uniform(0.85, 0.97)
        else:            # equal and opposite thresholds
            h = rng.uniform(-9, 9)
            yield h, sign() * h, sign() * (1 - 10 ** rng.uniform(-6, -0.01))


def main():
    with open(sys.argv[1], "w") as out:
        out.write("h,k,rho,phi2\n")
        for i, (h, k, r) in enumerate(points(int(sys.argv[2]) if len(sys.argv) > 2 else 3000)):
            value = phi2(h, k, r)
            if i % 40 == 0 and abs(r) < 1 and abs(h) < 30 and abs(k) < 30:
                other = conditional(h, k, r)
                assert abs(value - other) < mp.mpf(10) ** -22, (h, k, r, value, other)
            out.write(f"{h!r},{k!r},{r!r},{mp.nstr(value, 30, min_fixed=0, max_fixed=0)}\n")


main()
