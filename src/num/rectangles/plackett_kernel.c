/* plackett_kernel.c - moments of signs of eight normal distributions at once.
 *
 * With M_S = E prod_{i in S} sign(Y_i), and the correlations of variable v with those before it multiplied by t,
 *   d M_S / d t = sum_{j in S} rho_vj 4 phi2(h_v, h_j; t rho_vj) M_{S - v - j}(given Y_v = Y_j = 0)
 * (Plackett 1954; in this form it holds for every S at once), and at t = 0 M_S = M_{S-v} M_v. So the moments of
 * v + 1 variables come from those of v variables and of v - 1 under v * nodes conditional distributions. The
 * conditional variance of v is 1 - t^2 R^2, R its multiple correlation: with t R = sin(theta) the integrand has no
 * singularity there; theta is taken through q = tan(theta/2), which needs no sine and stays within [0,1].
 * */
#include <string.h>

#include "num/rectangles/plackett.h"
#include "num/simd.h"

#define TWO_OVER_PI 0.63661977236758134308
#define LEAST 1e-14 /* of a conditional variance, relative */

BL_INLINE bl_v odds(bl_v h) { /* E sign(Y) */
  bl_v below, above, density;
  bl_v_phi(h, &below, &above, &density);
  return below - above;
}

/* M_12 - M_1 M_2: here R = |rho|, and what is left of the integrand is an exponential. */
BL_INLINE bl_v two(const bl_plackett_rule *rule, bl_v h, bl_v k, bl_v rho) {
  bl_v squares = -0.5 * (h * h + k * k), product = h * k, sum = bl_v_all(0.0);
  bl_v most = rho / (1.0 + bl_v_sqrt(bl_v_max(1.0 - rho * rho, bl_v_all(LEAST))));
  for (int g = 0; g < rule->nodes; g++) {
    bl_v q = most * rule->node[g], q2 = q * q, up = 1.0 + q2, down = 1.0 - q2;
    bl_v inverse = 1.0 / (up * down), over_up = inverse * down,
         over_cos = up * up * inverse; /* 1/(1+q^2), 1/cos(theta) */
    bl_v sine = 2.0 * q * over_up;
    sum += rule->weight[g] * over_up * bl_v_exp((squares + product * sine) * over_cos * over_cos);
  }
  return 2.0 * TWO_OVER_PI * most * sum;
}

static size_t pairs(int m) {
  return (size_t)m * (size_t)(m - 1) / 2;
}

/* Row v of the Cholesky factor; returns its last element, sqrt(1 - R^2). */
BL_INLINE bl_v next_row(int v, const bl_v *rho, bl_v *factor) {
  const bl_v *r = rho + pairs(v);
  bl_v *row = factor + pairs(v + 1), left = bl_v_all(1.0);
  for (int j = 0; j < v; j++) {
    const bl_v *other = factor + pairs(j + 1);
    bl_v sum = r[j];
    for (int l = 0; l < j; l++) sum -= row[l] * other[l];
    row[j] = sum / other[j];
    left -= row[j] * row[j];
  }
  return row[v] = bl_v_sqrt(bl_v_max(left, bl_v_all(LEAST)));
}

/* The distribution of the variables before v but j, given that v and j are 0, correlations of v times t: standardised.
 */
BL_INLINE void given(int v, int j, bl_v t, bl_v c, bl_v inverse, const bl_v *h, const bl_v *rho, bl_v *to_h,
                     bl_v *to_rho) {
  bl_v av[BL_PLACKETT_MAX], aj[BL_PLACKETT_MAX], scale[BL_PLACKETT_MAX];
  for (int i = 0, at = 0; i < v; i++) {
    if (i == j) continue;
    bl_v one = t * rho[pairs(v) + (size_t)i], other = i < j ? rho[pairs(j) + (size_t)i] : rho[pairs(i) + (size_t)j];
    bl_v bv = (one - c * other) * inverse, bj = (other - c * one) * inverse;
    scale[at] = 1.0 / bl_v_sqrt(bl_v_max(1.0 - bv * one - bj * other, bl_v_all(LEAST)));
    to_h[at] = (h[i] - bv * h[v] - bj * h[j]) * scale[at];
    bv *= scale[at], bj *= scale[at];
    for (int l = 0, to = 0; l < i; l++) {
      if (l == j) continue;
      *to_rho++ = (rho[pairs(i) + (size_t)l] * scale[at] - bv * av[to] - bj * aj[to]) * scale[to];
      to++;
    }
    av[at] = one, aj[at] = other;
    at++;
  }
}

/* out[S + v + j] += f sub[S], S over the variables before v but j. */
BL_INLINE void scatter(int v, int j, bl_v f, const bl_v *sub, bl_v *out) {
  unsigned low = (1u << j) - 1, both = 1u << j | 1u << v;
  for (unsigned s = 0; s < 1u << (v - 1); s++) out[(s & ~low) << 1 | (s & low) | both] += f * sub[s];
}

static void moments(const bl_plackett_rule *rule, int m, const bl_v *h, const bl_v *rho, bl_v *out, bl_v *work);

/* The integrals of variable v >= 2, whose sqrt(1 - R^2) is c. */
static void integrate(const bl_plackett_rule *rule, int v, bl_v cosine, const bl_v *h, const bl_v *rho, bl_v *out,
                      bl_v *work) {
  bl_v *to_h = work, *to_rho = to_h + v, *sub = to_rho + pairs(v);
  bl_v over = 1.0 / (1.0 + cosine), most2 = (1.0 - cosine) * over; /* the square of tan(theta/2) at t = 1 */
  for (int g = 0; g < rule->nodes; g++) {
    double x = rule->node[g];
    bl_v q2 = most2 * (x * x), inverse_up = 1.0 / (1.0 + q2), t = 2.0 * x * over * inverse_up;
    bl_v dt = (2.0 * TWO_OVER_PI * rule->weight[g]) * over * (1.0 - q2) * inverse_up * inverse_up;
    for (int j = 0; j < v; j++) {
      bl_v r = rho[pairs(v) + (size_t)j], c = t * r, inverse = 1.0 / bl_v_max(1.0 - c * c, bl_v_all(LEAST));
      bl_v f = r * dt * bl_v_sqrt(inverse) * bl_v_exp((c * h[v] * h[j] - 0.5 * (h[v] * h[v] + h[j] * h[j])) * inverse);
      given(v, j, t, c, inverse, h, rho, to_h, to_rho);
      moments(rule, v - 1, to_h, to_rho, sub, sub + ((size_t)1 << (v - 1)));
      scatter(v, j, f, sub, out);
    }
  }
}

static void moments(const bl_plackett_rule *rule, int m, const bl_v *h, const bl_v *rho, bl_v *out, bl_v *work) {
  out[0] = bl_v_all(1.0);
  if (m == 0) return;
  out[1] = odds(h[0]);
  if (m == 1) return;
  out[2] = odds(h[1]);
  out[3] = out[1] * out[2] + two(rule, h[0], h[1], rho[0]);
  if (m == 2) return;
  bl_v *factor = work;
  work += pairs(m + 1);
  factor[0] = bl_v_all(1.0);
  next_row(1, rho, factor);
  for (int v = 2; v < m; v++) {
    bl_v one = odds(h[v]), cosine = next_row(v, rho, factor);
    for (unsigned s = 0; s < 1u << v; s++) out[1u << v | s] = out[s] * one;
    integrate(rule, v, cosine, h, rho, out, work);
  }
}

void BL_NAME(bl_plackett_batch)(const bl_plackett_batch *b) {
  moments(b->rule, b->m, (const bl_v *)b->h, (const bl_v *)b->rho, (bl_v *)b->moment, (bl_v *)b->work);
}
