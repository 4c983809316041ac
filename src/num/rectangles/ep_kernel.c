/* ep_kernel.c - expectation propagation (Minka 2001; Cunningham, Hennig and Lacoste-Julien 2011 for orthants) in
 * the space of the sources, eight orthants side by side.
 *
 * Factor i, Phi(s_i (mean_i + b_i'z)), or the difference of two such where the row's level has two ends, is replaced by
 * a Gaussian in b_i'z with precision tau_i and shift nu_i that gives the same mean and variance under the rest. Sites
 * are updated one after the other, the posterior covariance by rank one: n k^2 per sweep. At the fixed point the
 * derivatives of log Z with respect to mean and B are those of the single factors with the rest held, so they are exact
 * for log Z as computed. A lane that has settled is left as it is, so what a row gets does not depend on its
 * neighbours.
 *
 * Posterior. The true density over the Gaussian found is prod_i (1 + e_i(u_i)), where u_i is the standardised b_i'z and
 * e_i = sum over l >= 3 of c_il He_l(u_i)/l!, because each factor has the right mean and variance (Opper, Paquet and
 * Winther, Journal of Machine Learning Research 14, 2013). With c_i, the skewness of u_i under factor i alone, the
 * leading terms are Z (1 + sum_{i<j} c_i c_j r_ij^3/6) and, added to the covariance of z, sum_{i<j} c_i c_j r_ij^2
 * (a_i a_j' + a_j a_i')/2, where a_i is the covariance of z and u_i and r_ij that of u_i and u_j. The leading terms of
 * the mean, of third order, all but cancel and do not lower its error.
 *
 * Accuracy: an approximation; measured, not assumed (docs/likelihood.md). Checked against separation of variables and
 * the grid over sources, its derivatives against central differences: tests/unit/likelihood/test_likelihood.c and
 * test_rectangles.c; the posterior against integrals over the sources: test_row_posterior.c. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "num/rectangles/ep.h"
#include "num/simd.h"

enum { SWEEPS = 200, FACTORS = 16 /* of a determinant, before their logarithm is taken */ };
#define NO_END 1e9    /* in place of an end that a level does not have */
#define SETTLED 1e-11 /* largest change of a site in the last sweep */

typedef struct {
  const bl_ep *e;
  bl_v *cov, *mean, *pull, *tau, *nu; /* posterior of z, of cov the lower triangle; cov times b_i; sites */
  bl_v *sign;                         /* of two levels */
  bl_v *low, *high, *upper;           /* of more levels: ends, then d log Z / d upper end */
  bl_v *offset;                       /* the variables' means */
  bl_v *score;
  bl_v *before; /* means and variances of z before the sweep */
  bl_v *skew;   /* c_i */
  bl_v *add;    /* to the covariance */
  bl_v *tensor; /* workspace of correct_by_tensor */
  bl_v excess, log_det;
  bl_v factors; /* of the determinant, not yet in log_det */
  int pending;  /* how many */
  bl_vi live;   /* lanes that have not settled */
} batch;

/* The cavity of site i and what the true factor does to it. */
typedef struct {
  bl_v variance, center, denominator; /* of b_i'z without site i; 1 - tau sigma^2 */
  bl_v sigma2, mu;                    /* of b_i'z with it */
  bl_v p, alpha, beta, curvature;     /* the factor's mean; derivatives of log p: first, minus second; zeta phi/Phi */
  bl_v third;                         /* third derivative of log p in center */
  bl_v upper;                         /* and in the upper end, with more than two levels */
} cavity;

/* A factor with one end. */
BL_INLINE void one_end(const batch *b, int i, bl_v root, cavity *c) {
  bl_v above, phi, zeta = b->sign[i] * (b->offset[i] + c->center) * root;
  bl_v_phi(zeta, &c->p, &above, &phi);
  bl_v ratio = phi / c->p;
  c->alpha = b->sign[i] * ratio * root;
  c->beta = ratio * (zeta + ratio) * root * root;
  c->curvature = ratio * zeta;
  bl_v down = -ratio * (zeta + ratio);
  c->third = -(down * (zeta + ratio) + ratio * (1.0 + down)) * b->sign[i] * root * root * root;
}

/* A factor with two ends, either of which may be missing. */
BL_INLINE void two_ends(const batch *b, int i, bl_v root, cavity *c) {
  bl_v middle = b->offset[i] + c->center, low = (middle - b->low[i]) * root, high = (middle - b->high[i]) * root;
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
  bl_v moment = (low * low - 1.0) * by_low - (high * high - 1.0) * by_high;
  c->third = (moment + 3.0 * ratio * c->curvature + 2.0 * ratio * ratio * ratio) * root * root * root;
}

/* The covariance of b_i'z and z into pull, and the moments of b_i'z. */
BL_INLINE void pull_of(batch *b, int i, bl_v *sigma2, bl_v *mu) {
  const int k = b->e->k;
  const double *load = b->e->loading + (size_t)i * k;
  for (int l = 0; l < k; l++) {
    const bl_v *row = b->cov + (size_t)l * k, *column = b->cov + l;
    bl_v sum = bl_v_all(0.0);
    for (int m = 0; m <= l; m++) sum += load[m] * row[m];
    for (int m = l + 1; m < k; m++) sum += load[m] * column[(size_t)m * k];
    b->pull[l] = sum;
    *sigma2 += load[l] * sum;
    *mu += load[l] * b->mean[l];
  }
}

/* The distribution of item i without its own site, and the moments of its truncation. */
static cavity cavity_of(batch *b, int i) {
  const bl_ep *e = b->e;
  cavity c = {.sigma2 = bl_v_all(0.0), .mu = bl_v_all(0.0)};
  pull_of(b, i, &c.sigma2, &c.mu);
  c.denominator = 1.0 - b->tau[i] * c.sigma2;
  const bl_v over = 1.0 / c.denominator;
  c.variance = c.sigma2 * over;
  c.center = (c.mu - c.sigma2 * b->nu[i]) * over;
  bl_v total = 1.0 + c.variance, root = 1.0 / bl_v_sqrt(total);
  if (e->levels.first)
    two_ends(b, i, root, &c);
  else
    one_end(b, i, root, &c);
  return c;
}

static void take_factors(batch *b) {
  b->log_det -= bl_v_log(b->factors);
  b->factors = bl_v_all(1.0);
  b->pending = 0;
}

/* Changes site i, and the posterior with it. sigma2 and mu are the moments of b_i'z, whose covariance with z is pull.
 */
static void change_site(batch *b, int i, bl_v sigma2, bl_v mu, bl_v dtau, bl_v dnu) {
  int k = b->e->k;
  bl_v grow = 1.0 + dtau * sigma2, over = 1.0 / grow;
  bl_v shrink = dtau * over, move = (dnu - dtau * mu) * over;
  for (int l = 0; l < k; l++) {
    bl_v scaled = b->pull[l] * shrink;
    b->mean[l] += b->pull[l] * move;
    for (int m = 0; m <= l; m++) b->cov[(size_t)l * k + m] -= scaled * b->pull[m];
  }
  b->factors *= grow;
  if (++b->pending == FACTORS) take_factors(b);
  b->tau[i] += dtau;
  b->nu[i] += dnu;
}

/* Updates site i and the posterior; returns the size of the change, where no posterior is wanted. */
static bl_v update(batch *b, int i) {
  cavity c = cavity_of(b, i);
  bl_v spread = 1.0 / (1.0 - c.variance * c.beta), zero = bl_v_all(0.0);
  bl_v tau = c.beta * spread, nu = (c.alpha + c.center * c.beta) * spread;
  bl_v dtau = bl_v_select(b->live, tau - b->tau[i], zero), dnu = bl_v_select(b->live, nu - b->nu[i], zero);
  change_site(b, i, c.sigma2, c.mu, dtau, dnu);
  if (b->e->posterior) return zero;
  return bl_v_max(bl_v_abs(dtau) / (1.0 + tau), bl_v_abs(dnu) / (1.0 + bl_v_abs(nu)));
}

/* Takes the sites of e->start; returns the log of the integral over z of their product. */
static bl_v begin_at(batch *b, int64_t low, int64_t high) {
  const bl_ep *e = b->e;
  bl_v value = bl_v_all(0.0);
  for (int i = 0; i < e->n; i++) {
    bl_v tau, nu, sigma2 = bl_v_all(0.0), mu = bl_v_all(0.0), at = b->offset[i];
    for (int lane = 0; lane < BL_LANES; lane++) {
      int64_t row = e->nodes ? 0 : low + lane < high ? low + lane : high - 1;
      tau[lane] = e->start[row * 2 * e->n + i], nu[lane] = e->start[row * 2 * e->n + e->n + i];
    }
    pull_of(b, i, &sigma2, &mu);
    value += (nu - 0.5 * tau * at) * at;
    nu -= tau * at;
    value += 0.5 * (nu * nu * sigma2 + 2.0 * nu * mu - tau * mu * mu) / (1.0 + tau * sigma2);
    change_site(b, i, sigma2, mu, tau, nu);
  }
  take_factors(b);
  return value + 0.5 * b->log_det;
}

static void set_ends(batch *b, int i, int lane, int level) {
  const double *low = bl_edge_below(&b->e->levels, i, level), *high = bl_edge_above(&b->e->levels, i, level);
  b->low[i][lane] = low ? *low : -NO_END;
  b->high[i][lane] = high ? *high : NO_END;
}

/* Sets the first approximation, which is the prior, and the signs or ends of rows low..high-1, one in each lane. */
static void begin_rows(batch *b, int64_t low, int64_t high) {
  const bl_ep *e = b->e;
  int n = e->n, k = e->k;
  memset(b->cov, 0, sizeof(bl_v) * (size_t)k * (size_t)k);
  memset(b->mean, 0, sizeof(bl_v) * (size_t)k);
  memset(b->tau, 0, sizeof(bl_v) * (size_t)n);
  memset(b->nu, 0, sizeof(bl_v) * (size_t)n);
  for (int l = 0; l < k; l++) b->cov[(size_t)l * k + l] = bl_v_all(1.0);
  b->log_det = bl_v_all(0.0);
  b->factors = bl_v_all(1.0);
  b->pending = 0;
  b->live = (bl_vi)(b->log_det == 0.0);
  for (int i = 0; i < n; i++) b->offset[i] = e->nodes ? bl_v_load(e->nodes + i * BL_LANES) : bl_v_all(e->mean[i]);
  for (int i = 0; i < n; i++)
    for (int lane = 0; lane < BL_LANES; lane++) {
      int64_t row = e->nodes ? 0 : low + lane < high ? low + lane : high - 1;
      b->sign[i][lane] = e->x[row * n + i] ? 1.0 : -1.0;
      if (e->levels.first) set_ends(b, i, lane, e->x[row * n + i]);
    }
}

/* log P without sources: the variables are independent. */
static bl_v independent(batch *b) {
  bl_v value = bl_v_all(0.0);
  for (int i = 0; i < b->e->n; i++) {
    cavity c = {.center = bl_v_all(0.0)};
    if (b->e->levels.first)
      two_ends(b, i, bl_v_all(1.0), &c);
    else
      one_end(b, i, bl_v_all(1.0), &c);
    value += bl_v_log(c.p);
  }
  return value;
}

/* log Z; with score, also its derivatives. */
static bl_v log_integral(batch *b, bl_v *score) {
  const bl_ep *e = b->e;
  int k = e->k;
  bl_v value = 0.5 * b->log_det;
  for (int i = 0; i < e->n; i++) {
    cavity c = cavity_of(b, i);
    bl_v tau = b->tau[i], nu = b->nu[i], grow = 1.0 + tau * c.variance;
    bl_v square = (nu * nu * c.variance + 2.0 * nu * c.center - tau * c.center * c.center) / grow;
    value += bl_v_log(c.p) + 0.5 * (bl_v_log(grow) - square) + 0.5 * nu * c.mu;
    if (e->posterior) {
      bl_v over = 1.0 / bl_v_sqrt(bl_v_max(c.sigma2, bl_v_all(1e-200))), scale = c.variance * over;
      b->skew[i] = c.third * scale * scale * scale;
      for (int l = 0; l < k; l++) b->score[(size_t)i * (1 + k) + l] = b->pull[l] * over;
      b->score[(size_t)i * (1 + k) + k] = over;
    }
    if (!score) continue;
    bl_v shift = (tau * c.mu - nu) / c.denominator, curvature = c.curvature / ((1.0 + c.variance) * c.denominator);
    score[(size_t)i * (1 + k)] = c.alpha;
    b->upper[i] = c.upper;
    for (int l = 0; l < k; l++)
      score[(size_t)i * (1 + k) + 1 + l] = c.alpha * (b->mean[l] + shift * b->pull[l]) - curvature * b->pull[l];
  }
  return value;
}

/* Makes a matrix of which the lower triangle is known whole. */
static void fill_upper(bl_v *matrix, int k) {
  for (int l = 0; l < k; l++)
    for (int m = 0; m < l; m++) matrix[m * k + l] = matrix[l * k + m];
}

static void factorise(int k, const bl_v *matrix, bl_v *l) {
  for (int i = 0; i < k; i++)
    for (int j = 0; j <= i; j++) {
      bl_v sum = matrix[i * k + j];
      for (int m = 0; m < j; m++) sum -= l[i * k + m] * l[j * k + m];
      l[i * k + j] = i == j ? bl_v_sqrt(bl_v_max(sum, bl_v_all(1e-300))) : sum / l[j * k + j];
    }
}

/* T_abc = sum_i c_i w_ia w_ib w_ic at [a (a+1)/2 + b][c], b <= a, and in inner the lower triangle of
 * sum_ab T_abc T_abd - sum_i c_i^2 w_ic w_id; w_i is factor' b_i over the standard deviation of b_i'z. */
static void contract(const batch *b, const bl_v *factor, bl_v *inner) {
  const int k = b->e->k;
  bl_v *w = b->before, *t = b->tensor;
  memset(t, 0, sizeof(bl_v) * (size_t)(k * k * (k + 1) / 2));
  memset(inner, 0, sizeof(bl_v) * (size_t)(k * k));
  for (int i = 0; i < b->e->n; i++) {
    const double *load = b->e->loading + (size_t)i * k;
    const bl_v skew = b->skew[i], over = b->score[(size_t)i * (1 + k) + k];
    for (int l = 0; l < k; l++) {
      w[l] = load[l] * factor[l * k + l];
      for (int m = l + 1; m < k; m++) w[l] += load[m] * factor[m * k + l];
      w[l] *= over;
    }
    for (int a = 0, at = 0; a < k; a++)
      for (int c = 0; c <= a; c++, at++) {
        const bl_v part = skew * w[a] * w[c];
        inner[a * k + c] -= skew * part;
        for (int d = 0; d <= c; d++) t[at * k + d] += part * w[d];
      }
  }
  for (int a = 0, at = 0; a < k; a++)
    for (int c = 0; c <= a; c++, at++) {
      bl_v *own = t + (size_t)at * k;
      for (int d = c + 1; d < k; d++) own[d] = t[(d < a ? a * (a + 1) / 2 + d : d * (d + 1) / 2 + a) * k + c];
      const double times = c < a ? 2.0 : 1.0;
      for (int l = 0; l < k; l++)
        for (int m = 0; m <= l; m++) inner[l * k + m] += times * own[l] * own[m];
    }
}

/* As correct, for many items and few sources: with w_i as in contract, r_ij is w_i'w_j, so that sums over pairs of
 * items are sums over elements of a tensor. */
static bl_v correct_by_tensor(batch *b) {
  const int k = b->e->k;
  bl_v *factor = b->tensor + (size_t)(k * k * (k + 1) / 2), *inner = factor + (size_t)(k * k), *row = b->before;
  bl_v trace = bl_v_all(0.0), square = bl_v_all(0.0);
  factorise(k, b->cov, factor);
  contract(b, factor, inner);
  fill_upper(inner, k);
  for (int l = 0; l < k; l++) trace += inner[l * k + l];
  for (int l = 0; l < k * k; l++) square += inner[l] * inner[l];
  for (int l = 0; l < k; l++) {
    for (int c = 0; c < k; c++) {
      row[c] = bl_v_all(0.0);
      for (int m = 0; m <= l; m++) row[c] += factor[l * k + m] * inner[m * k + c];
    }
    for (int m = 0; m <= l; m++) {
      bl_v sum = bl_v_all(0.0);
      for (int c = 0; c <= m; c++) sum += row[c] * factor[m * k + c];
      b->add[l * k + m] = 0.5 * sum;
    }
  }
  fill_upper(b->add, k);
  b->excess = 0.5 * bl_v_min(trace, bl_v_sqrt(square)); /* the norm is no less than the largest eigenvalue */
  return bl_v_log(bl_v_max(1.0 + trace * (1.0 / 12), bl_v_all(0.5)));
}

/* The second order: what is to be added to the covariance; returns that of log Z. */
static bl_v correct(batch *b) {
  const bl_ep *e = b->e;
  if (e->k <= BL_EP_TENSOR && e->k * e->k < 2 * e->n) return correct_by_tensor(b);
  const int k = e->k;
  bl_v sum = bl_v_all(0.0), *near = b->before;
  memset(b->add, 0, sizeof(bl_v) * (size_t)k * (size_t)k);
  for (int i = 1; i < e->n; i++) {
    const bl_v *own = b->score + (size_t)i * (1 + k), half = 0.5 * b->skew[i];
    const double *load = e->loading + (size_t)i * k;
    for (int l = 0; l < k; l++) near[l] = bl_v_all(0.0);
    for (int j = 0; j < i; j++) {
      const bl_v *other = b->score + (size_t)j * (1 + k);
      bl_v r = bl_v_all(0.0);
      for (int l = 0; l < k; l++) r += load[l] * other[l];
      r *= own[k];
      bl_v weight = b->skew[j] * r * r;
      sum += half * weight * r;
      for (int l = 0; l < k; l++) near[l] += weight * other[l];
    }
    for (int l = 0; l < k; l++)
      for (int m = 0; m <= l; m++) b->add[l * k + m] += half * (own[l] * near[m] + own[m] * near[l]);
  }
  fill_upper(b->add, k);
  b->excess = 2.0 * sum;
  return bl_v_log(bl_v_max(1.0 + sum * (1.0 / 3), bl_v_all(0.5)));
}

static void store_posterior(const batch *b, int64_t low, int64_t high) {
  const int k = b->e->k;
  for (int64_t row = low; row < high; row++) {
    const int lane = (int)(row - low);
    double *out = b->e->posterior + row * k * (1 + 2 * k);
    for (int l = 0; l < k; l++) out[l] = b->mean[l][lane];
    for (int j = 0; j < k * k; j++) out[k + j] = b->cov[j][lane], out[k + k * k + j] = b->add[j][lane];
    b->e->excess[row] = b->excess[lane];
    for (int i = 0, n = b->e->n; b->e->sites && i < n; i++) {
      b->e->sites[row * 2 * n + i] = b->tau[i][lane];
      b->e->sites[row * 2 * n + n + i] = b->nu[i][lane] + b->tau[i][lane] * b->offset[i][lane];
    }
  }
}

/* Stores log P of rows low..high-1 and, if wanted, its derivatives and the posterior moments. */
static void store_rows(const batch *b, int64_t low, int64_t high, bl_v value) {
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

/* One sweep; lanes whose sites, or whose posterior, did not move are settled. */
static void sweep_sites(batch *b) {
  const int k = b->e->k;
  const double rest = b->e->rest;
  bl_v change = bl_v_all(0.0), *was_mean = b->before, *was_variance = b->before + k;
  for (int l = 0; l < k; l++) was_mean[l] = b->mean[l], was_variance[l] = b->cov[(size_t)l * k + l];
  for (int i = 0; i < b->e->n; i++) change = bl_v_max(change, update(b, i));
  if (!b->e->posterior) {
    b->live &= (bl_vi)(change >= SETTLED);
    return;
  }
  bl_vi moved = {0};
  for (int l = 0; l < k; l++) {
    bl_v variance = b->cov[(size_t)l * k + l], step = b->mean[l] - was_mean[l];
    moved |= (bl_vi)(step * step > rest * rest * variance) |
             (bl_vi)(bl_v_abs(variance - was_variance[l]) > 2 * rest * variance);
  }
  b->live &= moved;
}

static bool any(bl_vi lanes) {
  int64_t all = 0;
  for (int lane = 0; lane < BL_LANES; lane++) all |= lanes[lane];
  return all != 0;
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
  b.offset = b.upper + n;
  b.skew = b.offset + n;
  b.before = b.skew + n;
  b.add = b.before + 3 * k;
  b.score = b.add + k * k;
  b.tensor = b.score + n * (1 + k);
  for (int64_t low = 0; low < e->count; low += BL_LANES) {
    int64_t high = low + BL_LANES < e->count ? low + BL_LANES : e->count;
    begin_rows(&b, low, high);
    if (k == 0) {
      store_rows(&b, low, high, independent(&b));
      continue;
    }
    if (e->start) {
      bl_v guess = begin_at(&b, low, high);
      for (int64_t row = low; e->guess && row < high; row++) e->guess[row] = guess[row - low];
      if (e->guess) continue;
    }
    for (int sweep = 0; sweep < SWEEPS && any(b.live); sweep++) sweep_sites(&b);
    take_factors(&b);
    fill_upper(b.cov, e->k);
    bl_v value = log_integral(&b, e->score ? b.score : NULL);
    if (e->posterior) {
      value += correct(&b);
      store_posterior(&b, low, high);
    }
    store_rows(&b, low, high, value);
  }
}
