#!/usr/bin/python3
"""Writes src/num/gauss.h: nodes and weights of Gauss-Legendre rules on [-1,1], positive half, from 50 digits."""
import mpmath as mp

mp.mp.dps = 50


def rule(n):
    rows = []
    for i in range(n // 2):
        x = mp.findroot(lambda t: mp.legendre(n, t), mp.cos(mp.pi * (i + mp.mpf(3) / 4) / (n + mp.mpf(1) / 2)))
        slope = n * (x * mp.legendre(n, x) - mp.legendre(n - 1, x)) / (x * x - 1)
        rows.append((x, 2 / ((1 - x * x) * slope**2)))
    assert abs(2 * sum(w for _, w in rows) - 2) < mp.mpf(10) ** -40
    return rows


print("/* gauss.h - made by tools/make_gauss.py: Gauss-Legendre rules of even order, nodes > 0 and their weights. */")
print("#ifndef BL_GAUSS_H\n#define BL_GAUSS_H\n")
for n in (4, 8, 20, 24):
    rows = rule(n)
    for name, column in (("node", 0), ("weight", 1)):
        text = ", ".join(mp.nstr(r[column], 20) for r in rows)
        lines, line = [], "   "
        for item in text.split(", "):
            if len(line) + len(item) + 2 > 110:
                lines.append(line)
                line = "   "
            line += " " + item + ","
        lines.append(line.rstrip(","))
        print(f"__attribute__((unused)) static const double bl_gauss{n}_{name}[{n // 2}] = {{")
        print("\n".join(lines) + "};")
    print()
print("#endif")
