/* corners_kernel.c - bivariate normal probabilities at many corners with one correlation, eight at once.
 *
 * Equation (1) of num/normal/bvn.c: 2 pi (Phi2 - Phi Phi) = int_0^theta exp((hk sin w - (h^2+k^2)/2)/cos^2 w) dw, theta
 * = asin(rho). The angle is the same at all corners, so sines and cosines are computed once per node: 20 Gauss-Legendre
 * nodes, 8 where |theta| is at most 0.15, 4 where it is at most 0.01. One source for SSE2, AVX2 and AVX-512 with equal
 * bits. Accuracy: excess to 1e-15. Checked in tests/unit/num/test_corners.c against blica_bvn. */
#include "num/normal/tables.h"

#include <math.h>

#include "num/gauss.h"
#include "num/simd.h"

#define TWO_PI 6.2831853071795864769
enum { MOST_NODES = 24 };

typedef struct {
  int nodes;
  double sine[MOST_NODES], inverse[MOST_NODES], weight[MOST_NODES]; /* inverse: of cos^2 */
} rule;

/* Nodes of the integral over [0, theta], 2 * half of them. */
BL_INLINE void set_rule(double theta, int half, const double *node, const double *weight, rule *r) {
  const double radius = 0.5 * theta;
  double angle[MOST_NODES] = {0};
  for (int i = 0; i < half; i++) {
    angle[2 * i] = radius - radius * node[i], angle[2 * i + 1] = radius + radius * node[i];
    r->weight[2 * i] = r->weight[2 * i + 1] = radius * weight[i];
  }
  r->nodes = 2 * half;
  for (int at = 0; at < r->nodes; at += BL_LANES) {
    bl_v sine = bl_v_sin(bl_v_load(angle + at));
    bl_v_store(r->sine + at, sine);
    bl_v_store(r->inverse + at, 1.0 / (1.0 - sine * sine));
  }
}

void BL_NAME(bl_corners_at)(bl_corners *c, double rho) {
  rule made, *r = &made;
  const double theta = asin(rho), c2 = (1 - rho) * (1 + rho), scale = 1 / (TWO_PI * sqrt(c2));
  if (fabs(theta) > 0.15)
    set_rule(theta, 10, bl_gauss20_node, bl_gauss20_weight, r);
  else if (fabs(theta) > 0.01)
    set_rule(theta, 4, bl_gauss8_node, bl_gauss8_weight, r);
  else
    set_rule(theta, 2, bl_gauss4_node, bl_gauss4_weight, r);
  for (int at = 0; at < c->count; at += BL_LANES) {
    bl_v h = bl_v_load(c->h + at), k = bl_v_load(c->k + at), sum = bl_v_all(0);
    bl_v product = h * k, squares = 0.5 * (h * h + k * k);
    for (int i = 0; i < r->nodes; i++) sum += r->weight[i] * bl_v_exp((product * r->sine[i] - squares) * r->inverse[i]);
    bl_v_store(c->excess + at, sum);
    bl_v_store(c->density + at, bl_v_exp((product * rho - squares) / c2) * scale);
  }
}

void BL_NAME(bl_corners_conditional)(bl_corners *c, double rho) {
  const double root = sqrt((1 - rho) * (1 + rho));
  for (int at = 0; at < c->count; at += BL_LANES) {
    bl_v h = bl_v_load(c->h + at), k = bl_v_load(c->k + at), below, above, density;
    bl_v_phi((k - rho * h) / root, &below, &above, &density);
    bl_v_store(c->k_given_h + at, below);
    bl_v_phi((h - rho * k) / root, &below, &above, &density);
    bl_v_store(c->h_given_k + at, below);
  }
}
