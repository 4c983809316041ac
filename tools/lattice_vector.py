#!/usr/bin/python3
"""Makes src/num/rectangles/lattice_vector.h: the generating vector of an embedded rank-1 lattice, component by
component (Cools, Kuo and Nuyens 2006): each component minimises the largest, over 2^7..2^13 points, of the
worst-case error in a weighted Korobov space of smoothness 2 relative to the best of that size. Run from the
project root; takes about a minute."""
import numpy as np

LOW, HIGH, DIMENSIONS = 7, 13, 127
N = 1 << HIGH
index = np.arange(N)
kernel = 2 * np.pi**2 * ((index / N) ** 2 - index / N + 1 / 6)
product = np.ones(N)
rng = np.random.default_rng(1)
vector = []
for dimension in range(DIMENSIONS):
    weight = 0.9 / (1 + dimension) ** 1.0
    candidates = np.arange(1, N // 2, 2) if dimension < 48 else rng.choice(np.arange(1, N // 2, 2), 256, False)
    if dimension == 0:
        candidates = np.array([1])
    errors = np.empty((len(candidates), HIGH - LOW + 1))
    for c, z in enumerate(candidates):
        value = product * (1 + weight * kernel[index * z % N])
        errors[c] = [np.sqrt(max(value[:: N >> m].mean() - np.prod(1.0), 1e-300)) for m in range(LOW, HIGH + 1)]
    best = candidates[np.argmin((errors / errors.min(axis=0)).max(axis=1))]
    vector.append(int(best))
    product *= 1 + weight * kernel[index * best % N]
rows = [", ".join(map(str, vector[i : i + 16])) for i in range(0, DIMENSIONS, 16)]
with open("src/num/rectangles/lattice_vector.h", "w") as out:
    out.write("/* Made by tools/lattice_vector.py. */\n")
    out.write(f"#define BL_LATTICE_MAX {N}\n#define BL_LATTICE_DIMENSIONS {DIMENSIONS}\n")
    out.write("static const uint16_t bl_lattice_vector[BL_LATTICE_DIMENSIONS] = {\n    " + ",\n    ".join(rows) + "};\n")
