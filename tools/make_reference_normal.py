#!/usr/bin/python3
"""Writes tests/data/normal_reference.csv and tests/data/quantile_reference.csv with 50-digit arithmetic (mpmath).
normal: x, density, Phi, log Phi, phi/Phi.  quantile: p, Phi^-1(p).  x and p are doubles that round-trip."""
import random
import sys
import mpmath as mp

mp.mp.dps = 50


def show(x):
    return mp.nstr(x, 30, min_fixed=0, max_fixed=0)


def quantile(p):
    p = mp.mpf(p)
    if p > 0.5:
        return -quantile(1 - p) if p < 1 else mp.inf
    if p == mp.mpf(0.5):
        return mp.mpf(0)
    t = mp.sqrt(-2 * mp.log(p))
    x = -t + mp.log(t + 2) / (t + 1)
    for _ in range(200):  # Newton for log Phi, concave: converges from anywhere below
        f = mp.ncdf(x)
        step = (mp.log(f) - mp.log(p)) * f / mp.npdf(x)
        x -= step
        if abs(step) < mp.mpf(10) ** -45 * (1 + abs(x)):
            break
    assert abs(mp.ncdf(x) / p - 1) < mp.mpf(10) ** -40, p
    return x


def main():
    rng = random.Random(1973)
    xs = [0.0, 1e-300, -1e-300, 1e-9, -5.0, -5.5, -10.0, -12.0, -37.5, -38.4, -100.0, -1e4, 8.2, 8.3, 38.0]
    xs += [rng.uniform(-37, 9) for _ in range(500)] + [rng.gauss(0, 1) for _ in range(400)]
    xs += [rng.uniform(-1000, -37) for _ in range(60)]
    with open(sys.argv[1] + "/normal_reference.csv", "w") as out:
        out.write("x,density,cdf,log_cdf,inverse_mills\n")
        for x in xs:
            f, p = mp.npdf(mp.mpf(x)), mp.ncdf(mp.mpf(x))
            out.write(f"{x!r},{show(f)},{show(p)},{show(mp.log(p))},{show(f / p)}\n")
    ps = [0.5, 0.25, 0.75, 0.025, 1e-300, 2.0**-1022, 2.0**-53, 1 - 2.0**-53, 0.5 + 2.0**-53, 0.5 - 2.0**-54]
    ps += [rng.random() for _ in range(500)] + [10 ** rng.uniform(-307, 0) for _ in range(300)]
    ps += [0.5 + 10 ** rng.uniform(-15, -0.4) for _ in range(100)] + [1 - 10 ** rng.uniform(-15, 0) for _ in range(100)]
    with open(sys.argv[1] + "/quantile_reference.csv", "w") as out:
        out.write("p,x\n")
        for p in ps:
            out.write(f"{p!r},{show(quantile(p))}\n")


main()
