#!/usr/bin/python3
"""Writes src/num/sine_poly.h: the polynomial of src/num/simd.h, by interpolation at Chebyshev nodes with 60 digits."""
import mpmath as mp

mp.mp.dps = 60
DEGREE, TOP = 8, mp.mpf("1.26") ** 2


def f(y):  # (sin(w)/w - 1)/w^2 in y = w^2
    return sum((-1) ** (n + 1) * y**n / mp.factorial(2 * n + 3) for n in range(40))


m = DEGREE + 1
nodes = [TOP / 2 * (1 + mp.cos(mp.pi * (i + mp.mpf(1) / 2) / m)) for i in range(m)]
a = mp.matrix(m, m)
for i, y in enumerate(nodes):
    for j in range(m):
        a[i, j] = y**j
c = [float(x) for x in mp.lu_solve(a, mp.matrix([f(y) for y in nodes]))]
grid = [TOP * i / 2000 for i in range(2001)]
worst = max(abs((mp.polyval([mp.mpf(x) for x in c[::-1]], y) - f(y)) * y / (1 + y * f(y))) for y in grid)
print("/* sine_poly.h - made by tools/make_sine.py: (sin(w)/w-1)/w^2 in y = w^2 <= 1.26^2;")
print(f" * error relative to sin {mp.nstr(worst, 2)}. */")
print("static const double bl_sine_poly[9] = {")
for i in range(0, 9, 3):
    print("    " + ", ".join(x.hex() for x in c[i : i + 3]) + ("," if i < 6 else "};"))
