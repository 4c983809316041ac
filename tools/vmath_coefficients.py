#!/usr/bin/python3
"""Makes src/num/vmath_coefficients.h: polynomials for the vector normal distribution function and its
inverse, by Chebyshev interpolation in 40 digits (mpmath). Run from the project root."""
import mpmath as mp

mp.mp.dps = 40


def chebyshev(f, degree):
    """Monomial coefficients of the interpolant of f on [-1, 1]."""
    count = 2 * degree + 8
    angle = [mp.pi * (2 * j + 1) / (2 * count) for j in range(count)]
    value = [f(mp.cos(a)) for a in angle]
    c = [2 / mp.mpf(count) * sum(v * mp.cos(i * a) for v, a in zip(value, angle)) for i in range(degree + 1)]
    c[0] /= 2
    before, now = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    total = [mp.mpf(0)] * (degree + 1)
    total[0] += c[0]
    for i in range(1, degree + 1):
        for j, x in enumerate(now):
            total[j] += c[i] * x
        after = [mp.mpf(0)] + [2 * x for x in now]
        for j, x in enumerate(before):
            after[j] -= x
        before, now = now, after
    return total


def mills(x):
    return mp.sqrt(mp.pi / 2) * mp.erfc(x / mp.sqrt(2)) * mp.exp(x * x / 2)


def mills_scaled(t):  # (1 + x) mills(x), x = a (1 + t) / (1 - t)
    if 1 - t < mp.mpf(10) ** -9:
        return mp.mpf(1)
    x = MILLS_SCALE * (1 + t) / (1 - t)
    if x > 2000:
        return (1 + x) * (1 / x - 1 / x**3 + 3 / x**5 - 15 / x**7 + 105 / x**9)
    return (1 + x) * mills(x)


def normal_tail_inverse(p):  # x > 0 with 1 - Phi(x) = p <= 1/2
    target = mp.log(p)
    x = mp.sqrt(-2 * target) if p < 0.1 else (0.5 - p) * 2.5
    for _ in range(80):
        tail = mp.erfc(x / mp.sqrt(2)) / 2
        step = (mp.log(tail) - target) * tail * mp.sqrt(2 * mp.pi) * mp.exp(x * x / 2)
        x += step
        if abs(step) < mp.mpf(10) ** -33:
            return x
    raise RuntimeError(p)


MILLS_SCALE, MILLS_DEGREE = 5, 23
TAIL_SCALE, TAIL_DEGREE, TAIL_END = 4, 7, mp.mpf("38.6")
start = mp.sqrt(2 * mp.log(2))
low = (start - TAIL_SCALE) / (start + TAIL_SCALE)
high = (TAIL_END - TAIL_SCALE) / (TAIL_END + TAIL_SCALE)


def tail_gap(t):  # r - x(r), r = sqrt(-2 log p), r = a (1 + s) / (1 - s), s = low..high
    s = low + (high - low) * (t + 1) / 2
    r = TAIL_SCALE * (1 + s) / (1 - s)
    return r - normal_tail_inverse(mp.exp(-r * r / 2))


def rough_log(t):  # log(m), m = sqrt(1/2) .. sqrt(2)
    a, b = mp.sqrt(mp.mpf(1) / 2), mp.sqrt(2)
    return mp.log(a + (b - a) * (t + 1) / 2)


def array(name, values):
    rows = ",\n    ".join(float(v).hex() for v in values)
    return f"static const double {name}[{len(values)}] = {{\n    {rows}}};\n"


with open("src/num/vmath_coefficients.h", "w") as out:
    out.write("/* Made by tools/vmath_coefficients.py; lowest power first. */\n")
    out.write(f"#define BL_MILLS_SCALE {float(MILLS_SCALE)}\n#define BL_TAIL_SCALE {float(TAIL_SCALE)}\n")
    out.write(f"#define BL_TAIL_SLOPE {float(2 / (high - low))!r}\n#define BL_TAIL_SHIFT {float(-(high + low) / (high - low))!r}\n")
    out.write(array("bl_mills_poly", chebyshev(mills_scaled, MILLS_DEGREE)))
    out.write(array("bl_tail_poly", chebyshev(tail_gap, TAIL_DEGREE)))
    out.write("/* log m in 2 sqrt(2) m - 3, for sqrt(1/2) <= m <= sqrt(2), to 1e-7 */\n")
    out.write(array("bl_rough_log_poly", chebyshev(rough_log, 7)))
