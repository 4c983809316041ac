/* ep_kernel.c - expectation propagation (Minka 2001; Cunningham, Hennig and Lacoste-Julien 2011 for orthants) in
 * the space of the sources, eight orthants side by side.
 *
 * Factor i, Phi(s_i (mean_i + b_i'z)), or the difference of two such where the row's level has two ends, is replaced by
 * a Gaussian in b_i'z with precision tau_i and shift nu_i that gives the same mean and variance under the rest. Sites
 * are updated one after the other, the posterior covariance by rank one: n k^2 per sweep. At the fixed point the
 * derivatives of log Z with respect to mean and B are those of the single factors with the rest held, so they are exact
 * for log Z as computed.
 * Accuracy: an approximation; measured, not assumed (docs/likelihood.md). Checked against separation of variables and
 * the grid over sources, its derivatives against central differences: tests/unit/likelihood/test_likelihood.c and
 * test_rectangles.c. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "num/ep.h"
#include "num/simd.h"

enum { SWEEPS = 200 };
#define NO_END 1e9    /* in place of an end that a level does not have */
#define SETTLED 1e-11 /* largest change of a site in the last sweep */

typedef struct {
  const bl_ep *e;
  bl_v *cov, *mean, *pull, *tau, *nu; /* posterior of z; cov times b_i; sites */
  bl_v *sign;                         /* of two levels */
  bl_v *low, *high, *upper;           /* of more levels: ends, then d log Z / d upper end */
  bl_v *score;
  bl_v log_det;
} batch;

/* The cavity of site i and what the true factor does to it. */
typedef struct {
  bl_v variance, center, denominator; /* of b_i'z without site i; 1 - tau sigma^2 */
  bl_v sigma2, mu;                    /* of b_i'z with it */
  bl_v p, alpha, beta, curvature;     /* the factor's mean; derivatives of log p: first, minus second; zeta phi/Phi */
  bl_v upper;                         /* and in the upper end, with more than two levels */
} cavity;

/* A factor with one end. */
BL_INLINE void one_end(const batch *b, int i, bl_v root, cavity *c) {
  bl_v above, phi, zeta = b->sign[i] * (b->e->mean[i] + c->center) * root;
  bl_v_phi(zeta, &c->p, &above, &phi);
  bl_v ratio = phi / c->p;
  c->alpha = b->sign[i] * ratio * root;
  c->beta = ratio * (zeta + ratio) * root * root;
  c->curvature = ratio * zeta;
}

/* A factor with two ends, either of which may be missing. */
BL_INLINE void two_ends(const batch *b, int i, bl_v root, cavity *c) {
  bl_v middle = b->e->mean[i] + c->center, low = (middle - b->low[i]) * root, high = (middle - b->high[i]) * root;
  bl_v below_low, above_low, below_high, above_high, phi_low, phi_high;
  bl_v_phi(low, &below_low, &above_low, &phi_low);
  bl_v_phi(high, &below_high, &above_high, &phi_high);
  c->p = bl_v_between(low, below_low, above_low, high, below_high, above_high);
  bl_v over = 1.0 / c->p, by_low = bl_v_select((bl_vi)(b->low[i] > -NO_END), phi_low * over, bl_v_all(0.0)),
       by_high = bl_v_select((bl_vi)(b->high[i] < NO_END), phi_high * over, bl_v_all(0.0)), ratio = by_low - by_high;
  c->curvature = low * by_low - high * by_high;
  c->alpha = ratio * root;
  c->beta = bl_v_max(c->curvature + ratio * ratio, bl_v_all(0.0)) * root * root;
  c->upper = by_high * root;
}

static cavity cavity_of(batch *b, int i) {
  const bl_ep *e = b->e;
  int k = e->k;
  const double *load = e->loading + (size_t)i * k;
  cavity c = {.sigma2 = bl_v_all(0.0), .mu = bl_v_all(0.0)};
  for (int l = 0; l < k; l++) {
    const bl_v *row = b->cov + (size_t)l * k;
    bl_v sum = bl_v_all(0.0);
    for (int m = 0; m < k; m++) sum += load[m] * row[m];
    b->pull[l] = sum;
    c.sigma2 += load[l] * sum;
    c.mu += load[l] * b->mean[l];
  }
  c.denominator = 1.0 - b->tau[i] * c.sigma2;
  c.variance = c.sigma2 / c.denominator;
  c.center = (c.mu - c.sigma2 * b->nu[i]) / c.denominator;
  bl_v total = 1.0 + c.variance, root = 1.0 / bl_v_sqrt(total);
  if (e->levels.first)
    two_ends(b, i, root, &c);
  else
    one_end(b, i, root, &c);
  return c;
}

/* Updates site i and the posterior; returns the size of the change. */
static bl_v update(batch *b, int i) {
  int k = b->e->k;
  cavity c = cavity_of(b, i);
  bl_v spread = 1.0 / (1.0 - c.variance * c.beta);
  bl_v tau = c.beta * spread, nu = (c.alpha + c.center * c.beta) * spread;
  bl_v dtau = tau - b->tau[i], dnu = nu - b->nu[i];
  bl_v grow = 1.0 + dtau * c.sigma2, over = 1.0 / grow;
  bl_v shrink = dtau * over, move = (dnu - dtau * c.mu) * over;
  for (int l = 0; l < k; l++) {
    bl_v scaled = b->pull[l] * shrink;
    b->mean[l] += b->pull[l] * move;
    for (int m = 0; m < k; m++) b->cov[(size_t)l * k + m] -= scaled * b->pull[m];
  }
  b->log_det -= bl_v_log(grow);
  b->tau[i] = tau;
  b->nu[i] = nu;
  return bl_v_max(bl_v_abs(dtau) / (1.0 + tau), bl_v_abs(dnu) / (1.0 + bl_v_abs(nu)));
}

static void set_ends(batch *b, int i, int lane, int level) {
  const double *low = bl_edge_below(&b->e->levels, i, level), *high = bl_edge_above(&b->e->levels, i, level);
  b->low[i][lane] = low ? *low : -NO_END;
  b->high[i][lane] = high ? *high : NO_END;
}

static void begin(batch *b, int64_t low, int64_t high) {
  const bl_ep *e = b->e;
  int n = e->n, k = e->k;
  memset(b->cov, 0, sizeof(bl_v) * (size_t)k * (size_t)k);
  memset(b->mean, 0, sizeof(bl_v) * (size_t)k);
  memset(b->tau, 0, sizeof(bl_v) * (size_t)n);
  memset(b->nu, 0, sizeof(bl_v) * (size_t)n);
  for (int l = 0; l < k; l++) b->cov[(size_t)l * k + l] = bl_v_all(1.0);
  b->log_det = bl_v_all(0.0);
  for (int i = 0; i < n; i++)
    for (int lane = 0; lane < BL_LANES; lane++) {
      int64_t row = low + lane < high ? low + lane : high - 1;
      b->sign[i][lane] = e->x[row * n + i] ? 1.0 : -1.0;
      if (e->levels.first) set_ends(b, i, lane, e->x[row * n + i]);
    }
}

/* log Z; with score, also its derivatives. */
static bl_v finish(batch *b, bl_v *score) {
  const bl_ep *e = b->e;
  int k = e->k;
  bl_v value = 0.5 * b->log_det;
  for (int i = 0; i < e->n; i++) {
    cavity c = cavity_of(b, i);
    bl_v tau = b->tau[i], nu = b->nu[i], grow = 1.0 + tau * c.variance;
    bl_v square = (nu * nu * c.variance + 2.0 * nu * c.center - tau * c.center * c.center) / grow;
    value += bl_v_log(c.p) + 0.5 * (bl_v_log(grow) - square) + 0.5 * nu * c.mu;
    if (!score) continue;
    bl_v shift = (tau * c.mu - nu) / c.denominator, curvature = c.curvature / ((1.0 + c.variance) * c.denominator);
    score[(size_t)i * (1 + k)] = c.alpha;
    b->upper[i] = c.upper;
    for (int l = 0; l < k; l++)
      score[(size_t)i * (1 + k) + 1 + l] = c.alpha * (b->mean[l] + shift * b->pull[l]) - curvature * b->pull[l];
  }
  return value;
}

static void store(const batch *b, int64_t low, int64_t high, bl_v value) {
  const bl_ep *e = b->e;
  int k = e->k, size = e->n * (1 + k);
  for (int64_t row = low; row < high; row++) {
    int lane = (int)(row - low);
    e->log_p[row] = value[lane];
    if (!e->score) continue;
    for (int j = 0; j < size; j++) e->score[row * size + j] = b->score[j][lane];
    for (int i = 0; e->upper && i < e->n; i++) e->upper[row * e->n + i] = b->upper[i][lane];
    for (int l = 0; l < k; l++) {
      e->first[row * k + l] = b->mean[l][lane];
      for (int m = 0; m < k; m++)
        e->second[(row * k + l) * k + m] = b->cov[(size_t)l * k + m][lane] + b->mean[l][lane] * b->mean[m][lane];
    }
  }
}

void BL_NAME(bl_ep_run)(const bl_ep *e) {
  size_t n = (size_t)e->n, k = (size_t)e->k;
  batch b = {.e = e, .cov = (bl_v *)e->work};
  b.mean = b.cov + k * k;
  b.pull = b.mean + k;
  b.tau = b.pull + k;
  b.nu = b.tau + n;
  b.sign = b.nu + n;
  b.low = b.sign + n;
  b.high = b.low + n;
  b.upper = b.high + n;
  b.score = b.upper + n;
  for (int64_t low = 0; low < e->count; low += BL_LANES) {
    int64_t high = low + BL_LANES < e->count ? low + BL_LANES : e->count;
    begin(&b, low, high);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
      bl_v change = bl_v_all(0.0);
      for (int i = 0; i < e->n; i++) change = bl_v_max(change, update(&b, i));
      bool settled = true;
      for (int lane = 0; lane < BL_LANES; lane++) settled = settled && change[lane] < SETTLED;
      if (settled) break;
    }
    store(&b, low, high, finish(&b, e->score ? b.score : NULL));
  }
}
