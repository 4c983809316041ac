#!/usr/bin/python3
"""Makes tests/data/rectangle_reference.csv: probabilities of rectangles of normal vectors Y_i = mean_i + load_i z + e_i,
z and e standard normal, to 30 digits by one-dimensional quadrature. Each row: n, log p, then for every item its mean,
load, number of edges, the edges (the first is 0) and the level. Run from the project root."""
import random

import mpmath as mp

mp.mp.dps = 40
random.seed(21)


def between(low, high):
    """Phi(high) - Phi(low), from the tail where both are small."""
    if low + high > 0:
        low, high = -high, -low
    return (mp.erfc(-high / mp.sqrt(2)) - (mp.erfc(-low / mp.sqrt(2)) if low > -mp.inf else 0)) / 2


def probability(items):
    def inside(z):
        value = mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)
        for mean, load, edges, level in items:
            low = edges[level - 1] if level > 0 else -mp.inf
            high = edges[level] if level < len(edges) else mp.inf
            value *= between(low - mean - load * z, high - mean - load * z)
        return value
    return mp.quad(inside, [-14, -8, -5, -3, -2, -1, -0.5, 0, 0.5, 1, 2, 3, 5, 8, 14])


def item(edges, width, far):
    """Multiples of 1/16, so that a double holds them."""
    cuts = [mp.mpf(0)]
    while len(cuts) < edges:
        cuts.append(cuts[-1] + mp.mpf(random.randrange(1, width + 1)) / 16)
    return mp.mpf(random.randrange(-far, far + 1)) / 16, mp.mpf(random.randrange(-32, 33)) / 16, cuts, random.randrange(edges + 1)


rows = []
for n in (2, 3, 5, 8, 12):
    for edges, width, far in [((2, 2), 24, 24), ((4, 4), 16, 32), ((1, 4), 20, 24), ((6, 6), 2, 24), ((3, 3), 16, 96)]:
        for _ in range(2):
            items = [item(random.randrange(edges[0], edges[1] + 1), width, far) for _ in range(n)]
            fields = [str(n), mp.nstr(mp.log(probability(items)), 30)]
            for mean, load, cuts, level in items:
                fields += [repr(float(v)) for v in (mean, load)] + [str(len(cuts))] + [repr(float(c)) for c in cuts] + [str(level)]
            rows.append(",".join(fields))
with open("tests/data/rectangle_reference.csv", "w") as out:
    out.write("n,log_p,then of each item: mean,load,edges,each edge,level\n" + "\n".join(rows) + "\n")
