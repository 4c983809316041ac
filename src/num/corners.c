/* corners.c - bivariate normal probabilities at many corners with one correlation, eight at once.
 *
 * Equation (1) of num/bvn.c: 2 pi (Phi2 - Phi Phi) = int_0^theta exp((hk sin w - (h^2+k^2)/2)/cos^2 w) dw, theta =
 * asin(rho). The angle is the same at all corners, so sines and cosines are computed once per node. A move by at most
 * 0.15 adds the integral over the step, by 8 Gauss-Legendre nodes, 4 for steps below 0.01; a longer one starts at 0
 * again, with 20 nodes. One source for SSE2, AVX2 and AVX-512 with equal bits. Accuracy: excess to 1e-15 a move.
 * Checked in tests/unit/num/test_corners.c against blica_bvn. */
#include "num/corners.h"

#include <math.h>
#include <stdbool.h>

#include "num/gauss.h"
#include "num/vsine.h"

#define TWO_PI 6.2831853071795864769
enum { MOST_NODES = 24 };

typedef struct {
  int nodes;
  double sine[MOST_NODES], inverse[MOST_NODES], weight[MOST_NODES]; /* inverse: of cos^2 */
} rule;

BL_INLINE bl_v load(const double *x) {
  bl_v v;
  memcpy(&v, x, sizeof v);
  return v;
}

BL_INLINE void store(double *x, bl_v v) {
  memcpy(x, &v, sizeof v);
}

/* Nodes of the integral over [from, to], 2 * half of them. */
BL_INLINE void set_rule(double from, double to, int half, const double *node, const double *weight, rule *r) {
  const double radius = 0.5 * (to - from), middle = from + radius;
  double angle[MOST_NODES] = {0};
  for (int i = 0; i < half; i++) {
    angle[2 * i] = middle - radius * node[i], angle[2 * i + 1] = middle + radius * node[i];
    r->weight[2 * i] = r->weight[2 * i + 1] = radius * weight[i];
  }
  r->nodes = 2 * half;
  for (int at = 0; at < r->nodes; at += BL_LANES) {
    bl_v sine = bl_v_sin(load(angle + at));
    store(r->sine + at, sine);
    store(r->inverse + at, 1.0 / (1.0 - sine * sine));
  }
}

BL_INLINE void move_all(bl_corners *c, double rho) {
  rule made, *r = &made;
  const double to = asin(rho), step = fabs(to - c->theta), c2 = (1 - rho) * (1 + rho);
  const double scale = 1 / (TWO_PI * sqrt(c2));
  const bool anew = step > 0.15;
  if (anew)
    set_rule(0, to, 10, bl_gauss20_node, bl_gauss20_weight, r);
  else if (step > 0.01)
    set_rule(c->theta, to, 4, bl_gauss8_node, bl_gauss8_weight, r);
  else
    set_rule(c->theta, to, 2, bl_gauss4_node, bl_gauss4_weight, r);
  for (int at = 0; at < c->count; at += BL_LANES) {
    bl_v product = load(c->product + at), squares = load(c->squares + at), sum = bl_v_all(0);
    for (int i = 0; i < r->nodes; i++) sum += r->weight[i] * bl_v_exp((product * r->sine[i] - squares) * r->inverse[i]);
    bl_v first = bl_v_exp((product * rho - squares) / c2) * scale;
    store(c->excess + at, anew ? sum : load(c->excess + at) + sum);
    store(c->first + at, first);
    store(c->second + at, first * (rho / c2 + (product * (1 + rho * rho) - 2 * rho * squares) / (c2 * c2)));
  }
  c->theta = to;
}

BL_INLINE void conditional_all(bl_corners *c, double rho) {
  const double root = sqrt((1 - rho) * (1 + rho));
  for (int at = 0; at < c->count; at += BL_LANES) {
    bl_v h = load(c->h + at), k = load(c->k + at), below, above, density;
    bl_v_phi((k - rho * h) / root, &below, &above, &density);
    store(c->first + at, below);
    bl_v_phi((h - rho * k) / root, &below, &above, &density);
    store(c->second + at, below);
  }
}

BL_INLINE void quantiles_all(int count, const double *p, double *quantile) {
  for (int at = 0; at < count; at += BL_LANES) {
    bl_v over_density;
    store(quantile + at, bl_v_phi_inverse(load(p + at), &over_density));
  }
}

typedef struct {
  enum { MOVE, CONDITIONAL, QUANTILES } verb;
  bl_corners *corners;
  double rho;
  int count;
  const double *p;
  double *quantile;
} job;

BL_INLINE void run_all(const job *j) {
  if (j->verb == MOVE)
    move_all(j->corners, j->rho);
  else if (j->verb == CONDITIONAL)
    conditional_all(j->corners, j->rho);
  else
    quantiles_all(j->count, j->p, j->quantile);
}

static void run_plain(const job *j) {
  run_all(j);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void run_avx2(const job *j) {
  run_all(j);
}

__attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512"))) static void run_avx512(const job *j) {
  run_all(j);
}
#endif

static void run(blica_simd level, const job *j) {
#if defined(__x86_64__)
  if (level >= BLICA_SIMD_AVX512)
    run_avx512(j);
  else if (level == BLICA_SIMD_AVX2)
    run_avx2(j);
  else
#endif
    run_plain(j);
  (void)level;
}

void bl_corners_begin(bl_corners *c) {
  for (int m = c->count; m % BL_LANES != 0; m++) c->h[m] = c->k[m] = 0; /* idle lanes */
  for (int m = 0; m < (c->count + BL_LANES - 1) / BL_LANES * BL_LANES; m++) {
    c->product[m] = c->h[m] * c->k[m];
    c->squares[m] = 0.5 * (c->h[m] * c->h[m] + c->k[m] * c->k[m]);
    c->excess[m] = 0;
  }
  c->theta = 0;
}

void bl_corners_move(blica_simd level, bl_corners *c, double rho) {
  run(level, &(job){.verb = MOVE, .corners = c, .rho = rho});
}

void bl_corners_conditional(blica_simd level, bl_corners *c, double rho) {
  run(level, &(job){.verb = CONDITIONAL, .corners = c, .rho = rho});
}

void bl_corners_quantiles(blica_simd level, int count, const double *p, double *quantile) {
  run(level, &(job){.verb = QUANTILES, .count = count, .p = p, .quantile = quantile});
}
