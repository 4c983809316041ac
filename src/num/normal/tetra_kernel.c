/* tetra_kernel.c - tetrachoric correlations of eight tables at once.
 *
 * The unknown is theta = asin(rho); with f(w) = exp((hk sin w - (h^2+k^2)/2)/cos^2 w) the equation is
 *   int_0^theta f(w) dw = 2 pi (p11 p00 - p10 p01).
 * A first guess comes from the odds ratio; its integral takes 20 Gauss-Legendre nodes. Then Halley steps (log f has a
 * closed derivative) of at most 0.15, each adding only the integral over the step: 8 nodes for the first two, 4 for
 * later and smaller ones. A step below 1e-6 is the last: the next would be below 1e-17. Lanes that run past |theta|
 * = 1.2, or do not settle, are solved again by the bracketed scalar route (tetra.c), which is also the reference in the
 * tests. A lane's result depends on that lane alone.
 *
 * One source for SSE2, AVX2 and AVX-512 with equal bits (num/simd.h, no contraction to fused operations). Accuracy:
 * |Phi2(h,k;rho) - p11| < 1e-15. Checked in tests/unit/num/test_tetra.c and tests/identity/test_correlate.c. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "num/gauss.h"
#include "num/normal/tables.h"
#include "num/simd.h"

#define TWO_PI 6.2831853071795864769
#define HALF_PI 1.5707963267948966192
#define LARGEST 1.2   /* |theta| of an accepted root, rho = 0.932 */
#define FURTHEST 1.18 /* of a first guess */

BL_INLINE bool any_lane(bl_vi mask) {
  int64_t any = 0;
  for (int i = 0; i < BL_LANES; i++) any |= mask[i];
  return any != 0;
}

BL_INLINE bl_v normal_cdf(bl_v x) {
  bl_v below, above, density;
  bl_v_phi(x, &below, &above, &density);
  return below;
}

typedef struct {
  bl_v product, squares; /* h k, (h^2 + k^2)/2 */
} thresholds;

BL_INLINE bl_v exponent(thresholds t, bl_v sine) {
  return (t.product * sine - t.squares) / (1.0 - sine * sine);
}

/* int_from^(from+step) f(w) dw, rule of 2 * half nodes. */
BL_INLINE bl_v integrate(thresholds t, bl_v from, bl_v step, int half, const double *node, const double *weight) {
  bl_v radius = 0.5 * step, middle = from + radius, sum = bl_v_all(0.0);
  for (int i = 0; i < half; i++) {
    bl_v away = radius * node[i];
    sum +=
        weight[i] * (bl_v_exp(exponent(t, bl_v_sin(middle - away))) + bl_v_exp(exponent(t, bl_v_sin(middle + away))));
  }
  return radius * sum;
}

/* theta = (pi/2) tanh(c L/2), L the log odds ratio (Bonett and Price 2005 in other words). Their c is replaced by the
 * one that makes the slope at independence right, 8 p1 q1 p2 q2 exp((h^2+k^2)/2), with two small terms in L fitted to
 * roots: the error is 0.005 in the median, below 0.2 for 99.9 % of tables with |rho| < 0.92. */
BL_INLINE bl_v first_guess(thresholds t, bl_v p11, bl_v p10, bl_v p01, bl_v p00) {
  bl_v p1 = p11 + p10, p2 = p11 + p01;
  bl_v odds = bl_v_rough_log((p11 * p00 + 1e-200) / (p10 * p01 + 1e-200)), size = bl_v_abs(odds);
  bl_v spread = t.squares - bl_v_select(odds > 0.0, t.product, -t.product); /* (h -+ k)^2/2 */
  bl_v c = 8.0 * (p1 * (1.0 - p1)) * (p2 * (1.0 - p2)) * bl_v_exp(bl_v_min(t.squares, bl_v_all(700.0))) +
           0.0071 * t.product * odds - 0.0144 * spread * size;
  bl_v e = bl_v_exp(bl_v_min(bl_v_max(c, bl_v_all(0.1)) * size, bl_v_all(30.0)));
  bl_v theta = bl_v_min(HALF_PI * (e - 1.0) / (e + 1.0), bl_v_all(FURTHEST));
  return bl_v_select(odds < 0.0, -theta, theta);
}

/* N times the variance, as bl_tetra_variance. */
BL_INLINE bl_v variance8(thresholds t, bl_v h, bl_v k, bl_v rho, bl_v p11, bl_v p10, bl_v p01, bl_v p00) {
  bl_v c2 = (1.0 - rho) * (1.0 + rho), c = bl_v_sqrt(c2), density = bl_v_exp(exponent(t, rho)) / (TWO_PI * c);
  bl_v a = normal_cdf((k - rho * h) / c), b = normal_cdf((h - rho * k) / c), both = 1.0 - a - b;
  bl_v mean = p11 * both - p10 * a - p01 * b;
  bl_v spread = p11 * (both - mean) * (both - mean) + p10 * (a + mean) * (a + mean) + p01 * (b + mean) * (b + mean) +
                p00 * mean * mean;
  return spread / (density * density);
}

/* Eight tables from `at` on; lanes without an answer get NaN. */
BL_INLINE void solve8(const bl_tetra_batch *batch, int at) {
  bl_v h = bl_v_load(batch->h + at), k = bl_v_load(batch->k + at);
  bl_v p11 = bl_v_load(batch->share[BL_P11] + at), p10 = bl_v_load(batch->share[BL_P10] + at);
  bl_v p01 = bl_v_load(batch->share[BL_P01] + at), p00 = bl_v_load(batch->share[BL_P00] + at);
  thresholds t = {h * k, 0.5 * (h * h + k * k)};
  bl_v excess = p11 * p00 - p10 * p01, target = TWO_PI * excess;
  bl_v theta = first_guess(t, p11, p10, p01, p00);
  bl_v integral = integrate(t, bl_v_all(0.0), theta, 10, bl_gauss20_node, bl_gauss20_weight);
  bl_v rho = bl_v_all(NAN);
  bl_vi open = theta == theta; /* lanes still moving */
  for (int i = 0; i < 6 && any_lane(open); i++) {
    bl_v sine = bl_v_sin(theta), c2 = 1.0 - sine * sine, e = (t.product * sine - t.squares) / c2;
    bl_v newton = (target - integral) / bl_v_exp(e);
    bl_v curvature = 0.5 * newton * (t.product + 2.0 * e * sine) / bl_v_sqrt(c2); /* newton f'/(2f) */
    bl_v step = newton / (1.0 + bl_v_min(bl_v_max(curvature, bl_v_all(-0.5)), bl_v_all(1.0)));
    step = bl_v_min(bl_v_max(step, bl_v_all(-0.15)), bl_v_all(0.15));
    bl_v next = bl_v_min(bl_v_max(theta + step, bl_v_all(-LARGEST)), bl_v_all(LARGEST));
    bl_vi last = open & (bl_v_abs(step) < 1e-6) & (bl_v_abs(next) < LARGEST);
    rho = bl_v_select(last, bl_v_sin(next), rho);
    open &= ~last;
    if (!any_lane(open)) break;
    step = next - theta;
    integral += i <= 1 ? integrate(t, theta, step, 4, bl_gauss8_node, bl_gauss8_weight)
                       : integrate(t, theta, step, 2, bl_gauss4_node, bl_gauss4_weight);
    if (i > 1) open &= bl_v_abs(step) < 0.01; /* a large late step: not a case for four nodes */
    theta = next;
  }
  bl_v_store(batch->rho + at, rho);
  if (batch->variance) bl_v_store(batch->variance + at, variance8(t, h, k, rho, p11, p10, p01, p00));
}

void BL_NAME(bl_tetra_solve)(const bl_tetra_batch *batch, int count) {
  for (int i = count; i < (count + 7) / 8 * 8; i++) { /* idle lanes: independence */
    for (int c = 0; c < 4; c++) batch->share[c][i] = 0.25;
    batch->h[i] = batch->k[i] = 0.0;
  }
  for (int at = 0; at < count; at += BL_LANES) solve8(batch, at);
  for (int i = 0; i < count; i++) {
    if (!isnan(batch->rho[i])) continue;
    const double share[4] = {batch->share[0][i], batch->share[1][i], batch->share[2][i], batch->share[3][i]};
    batch->rho[i] = bl_tetra_root(batch->h[i], batch->k[i], share);
    if (batch->variance) batch->variance[i] = bl_tetra_variance(batch->h[i], batch->k[i], batch->rho[i], share);
  }
}
