#!/usr/bin/python3
"""Writes tests/data/elementary_reference.csv with 50-digit arithmetic (mpmath): function, x, value. x are doubles that
round-trip; each function over its whole domain in src/num (simd.h, normal.c)."""
import random
import sys
import mpmath as mp

mp.mp.dps = 50
FUNCTIONS = {
    "exp": mp.exp,
    "log": mp.log,
    "sin": mp.sin,
    "softplus": lambda x: mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x)),
    "logistic": lambda x: 1 / (1 + mp.exp(-x)),
    "tanh": mp.tanh,
    "mills": lambda x: mp.ncdf(-x) / mp.npdf(x),
}


def points(name, rng):
    if name == "log":
        return [10 ** rng.uniform(-307, 308) for _ in range(200)] + [1 + rng.uniform(-0.5, 1) for _ in range(150)] + \
               [1 + s * 10 ** rng.uniform(-15, -1) for s in (-1, 1) for _ in range(50)]
    if name == "sin":
        return [rng.uniform(-1.26, 1.26) for _ in range(200)] + [10 ** rng.uniform(-300, 0) for _ in range(50)]
    if name == "mills":
        return [rng.uniform(0, 37) for _ in range(150)] + [10 ** rng.uniform(-9, 8) for _ in range(100)]
    span = 690 if name == "exp" else 700
    some = [rng.uniform(-span, span) for _ in range(100)] + [rng.gauss(0, 3) for _ in range(150)]
    return some + [s * 10 ** rng.uniform(-15, 1) for s in (-1, 1) for _ in range(60)]


def main():
    rng = random.Random(1931)
    with open(sys.argv[1] + "/elementary_reference.csv", "w") as out:
        out.write("function,x,value\n")
        for name, f in FUNCTIONS.items():
            for x in points(name, rng):
                out.write(f"{name},{x!r},{mp.nstr(f(mp.mpf(x)), 25, min_fixed=0, max_fixed=0)}\n")


main()
