#!/usr/bin/python3
"""Writes tests/data/polychoric_reference.csv: tables of counts and their two-step polychoric correlations, 50 digits by mpmath.

Thresholds are normal quantiles of the margins. The score sum n_ab P'_ab / P_ab is solved by Newton's method from a root in double
precision; P_ab by Phi2(h,k;r) = Phi(h)Phi(k) + 1/(2 pi) int_0^asin(r) exp(-(h^2+k^2-2hk sin w)/(2 cos^2 w)) dw."""
import math
import random
import sys

import mpmath as mp

DIGITS = 50


def quantile(p):
    return mp.sqrt(2) * mp.erfinv(2 * p - 1)


def bvn(h, k, r):
    f = lambda w: mp.exp(-(h * h + k * k - 2 * h * k * mp.sin(w)) / (2 * mp.cos(w) ** 2))
    return mp.ncdf(h) * mp.ncdf(k) + mp.quad(f, [0, mp.asin(r)]) / (2 * mp.pi)


def density(h, k, r):
    c2 = 1 - r * r
    return mp.exp(-(h * h - 2 * r * h * k + k * k) / (2 * c2)) / (2 * mp.pi * mp.sqrt(c2))


def rectangles(value, h, k, edge):
    """Cells from corners; edge(a, b) is the value where a threshold is infinite."""
    rows, columns = len(h) + 1, len(k) + 1
    corner = [[edge(a, b) if a in (0, rows) or b in (0, columns) else value(h[a - 1], k[b - 1]) for b in range(columns + 1)]
              for a in range(rows + 1)]
    return [[corner[a + 1][b + 1] - corner[a][b + 1] - corner[a + 1][b] + corner[a][b] for b in range(columns)] for a in range(rows)]


def score(table, h, k, r, margin):
    """The score and its derivative."""
    c2 = 1 - r * r
    second = lambda x, y: density(x, y, r) * (r / c2 + (x * y * (1 + r * r) - r * (x * x + y * y)) / c2 ** 2)
    p = rectangles(lambda x, y: bvn(x, y, r), h, k, margin)
    d = rectangles(lambda x, y: density(x, y, r), h, k, lambda a, b: mp.mpf(0))
    e = rectangles(second, h, k, lambda a, b: mp.mpf(0))
    cells = [(n, p[a][b], d[a][b], e[a][b]) for a, row in enumerate(table) for b, n in enumerate(row) if n]
    return (sum(n * x / q for n, q, x, _ in cells), sum(n * (y / q - (x / q) ** 2) for n, q, x, y in cells))


def solve(table):
    rows, columns, total = len(table), len(table[0]), sum(map(sum, table))
    below_h = [mp.mpf(sum(sum(row) for row in table[:a])) / total for a in range(rows + 1)]
    below_k = [mp.mpf(sum(sum(row[:b]) for row in table)) / total for b in range(columns + 1)]
    h, k = [quantile(p) for p in below_h[1:-1]], [quantile(p) for p in below_k[1:-1]]
    margin = lambda a, b: mp.mpf(0) if a == 0 or b == 0 else below_k[b] if a == rows else below_h[a]
    low, high, r = mp.mpf(-1), mp.mpf(1), mp.mpf(0)
    mp.mp.dps = 18
    for step in range(60):
        value, slope = score(table, h, k, r, margin)
        low, high = (r, high) if value > 0 else (low, r)
        after = r - value / slope if slope < 0 else low
        r, before = (after if low < after < high else (low + high) / 2), r
        if abs(r - before) < 1e-12:
            break
    mp.mp.dps = DIGITS
    for step in range(3):
        value, slope = score(table, h, k, r, margin)
        r -= value / slope
    return r if abs(value / slope) < mp.mpf(10) ** -25 else None


def draw(generator, rows, columns, r, size):
    """A table of a sample in which every level has at least five rows."""
    cut = lambda count: sorted(generator.gauss(0, 0.9) for _ in range(count - 1))
    while True:
        h, k, table = cut(rows), cut(columns), [[0] * columns for _ in range(rows)]
        for _ in range(size):
            x = generator.gauss(0, 1)
            y = r * x + math.sqrt(1 - r * r) * generator.gauss(0, 1)
            table[sum(t < x for t in h)][sum(t < y for t in k)] += 1
        if min(map(sum, table)) >= 5 and min(map(sum, zip(*table))) >= 5:
            return table


def main():
    mp.mp.dps = DIGITS
    generator = random.Random(7)
    tables = [[[13, 6, 0], [69, 113, 22], [41, 132, 104]]]  # Olsson 1979
    for r in (-0.95, -0.6, 0, 0.2, 0.75, 0.93):
        for rows, columns, size in ((2, 3, 200), (3, 5, 1000), (5, 4, 300), (6, 6, 4000)):
            tables.append(draw(generator, rows, columns, r, size))
    with open(sys.argv[1] if len(sys.argv) > 1 else "tests/data/polychoric_reference.csv", "w") as file:
        file.write("rows,columns,rho,cells\n")
        for table in tables:
            rho = solve(table)
            if rho is not None:  # else the likelihood grows to the end
                cells = ",".join(str(n) for row in table for n in row)
                file.write(f"{len(table)},{len(table[0])},{mp.nstr(rho, 40)},{cells}\n")


main()
