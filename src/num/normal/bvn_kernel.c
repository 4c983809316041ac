/* bvn_kernel.c - log-likelihoods of 2x2 tables, eight at once.
 *
 * P11 = Phi2(h,k;rho) by equation (1) of num/normal/bvn.c, 20 Gauss-Legendre nodes, the other cells by subtraction;
 * d/drho = phi2 (n11/P11 - n10/P10 - n01/P01 + n00/P00), cells that are empty do not count, probabilities below 2^-52
 * count as 2^-52. Lanes with |rho| > 0.9249 take the scalar route, which is the specification. One source for SSE2,
 * AVX2 and AVX-512 with equal bits. Accuracy: P11 to 1e-15, value and slope as the scalar route to rounding
 * (tests/unit/num/test_bvn_tables.c). */
#include "num/normal/tables.h"

#include <float.h>
#include <math.h>

#include "num/normal/normal.h"
#include "num/gauss.h"
#include "num/simd.h"

#define TWO_PI 6.2831853071795864769
#define MIDDLE 0.9249 /* |rho| up to which equation (1) serves */

/* One table: the specification. */
static double one_table(const double cell[4], double h, double k, double rho, double *slope) {
  double p11 = blica_bvn(h, k, rho), ph = bl_phi_cdf(h), pk = bl_phi_cdf(k);
  double p[4] = {p11, ph - p11, pk - p11, bl_phi_cdf(-h) - (pk - p11)};
  const double sign[4] = {1, -1, -1, 1};
  double value = 0, change = 0;
  for (int i = 0; i < 4; i++) {
    if (cell[i] == 0) continue;
    double q = fmax(p[i], DBL_EPSILON);
    value -= cell[i] * log(q);
    change -= sign[i] * cell[i] / q;
  }
  *slope = change * bl_bvn_density(h, k, rho);
  return value;
}

/* Angles up to 1.181: asin(x) = 2 atan(x / (1 + sqrt(1-x^2))), the latter by two halvings and its series. */
BL_INLINE bl_v angle_of(bl_v rho, bl_v cosine) {
  bl_v t = rho / (1.0 + cosine);          /* tan(theta/2), at most 0.67 */
  t = t / (1.0 + bl_v_sqrt(1.0 + t * t)); /* theta/4 */
  t = t / (1.0 + bl_v_sqrt(1.0 + t * t)); /* theta/8, at most 0.149 */
  bl_v y = t * t;
  bl_v sum = bl_v_all(1.0 / 19);
  for (int m = 17; m >= 1; m -= 2) sum = 1.0 / m - y * sum;
  return 8.0 * t * sum;
}

/* Phi2 - Phi Phi */
BL_INLINE bl_v excess_of(bl_v product, bl_v squares, bl_v theta) {
  bl_v half = 0.5 * theta, sum = bl_v_all(0);
  for (int i = 0; i < 10; i++) {
    bl_v low = bl_v_sin(half * (1.0 - bl_gauss20_node[i])), high = bl_v_sin(half * (1.0 + bl_gauss20_node[i]));
    sum += bl_gauss20_weight[i] * (bl_v_exp((product * low - squares) / (1.0 - low * low)) +
                                   bl_v_exp((product * high - squares) / (1.0 - high * high)));
  }
  return half * sum * (1.0 / TWO_PI);
}

/* Adds -cell log p to the value and sign cell/p to the change. */
BL_INLINE void add_cell(bl_v cell, bl_v p, double sign, bl_v *value, bl_v *change) {
  bl_v q = bl_v_max(p, bl_v_all(DBL_EPSILON));
  *value -= cell * bl_v_log(q);
  *change -= sign * cell / q;
}

/* Negative log-likelihoods of BL_LANES tables, and their derivatives. */
BL_INLINE void tables8(const bl_bvn_tables *t, int at) {
  bl_v h = bl_v_load(t->h + at), below = bl_v_load(t->below + at), above = bl_v_load(t->above + at),
       rho = bl_v_load(t->rho + at);
  bl_v limit = bl_v_all(MIDDLE), inner = bl_v_min(bl_v_max(rho, -limit), limit);
  bl_v cosine2 = (1.0 - inner) * (1.0 + inner), cosine = bl_v_sqrt(cosine2);
  bl_v product = h * t->k, squares = 0.5 * (h * h + t->k * t->k);
  bl_v p11 = below * t->k_below + excess_of(product, squares, angle_of(inner, cosine));
  bl_v density = bl_v_exp((product * inner - squares) / cosine2) / (TWO_PI * cosine);
  bl_v value = bl_v_all(0), change = bl_v_all(0), p01 = t->k_below - p11;
  p11 = bl_v_max(p11, bl_v_all(0));
  add_cell(bl_v_load(t->n11 + at), p11, 1, &value, &change);
  add_cell(bl_v_load(t->n10 + at), below - p11, -1, &value, &change);
  add_cell(bl_v_load(t->n01 + at), p01, -1, &value, &change);
  add_cell(bl_v_load(t->n00 + at), above - p01, 1, &value, &change);
  bl_v_store(t->value + at, value);
  bl_v_store(t->slope + at, change * density);
}

void BL_NAME(bl_bvn_tables)(const bl_bvn_tables *t, int count) {
  for (int at = 0; at < count; at += BL_LANES) tables8(t, at);
  for (int i = 0; i < count; i++) {
    if (fabs(t->rho[i]) <= MIDDLE && fabs(t->h[i]) < 30 && fabs(t->k) < 30) continue;
    const double cell[4] = {t->n11[i], t->n10[i], t->n01[i], t->n00[i]};
    t->value[i] = one_table(cell, t->h[i], t->k, t->rho[i], &t->slope[i]);
  }
}
