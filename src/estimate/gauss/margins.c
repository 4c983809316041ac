/* margins.c - what the shares of ones tell about A and v, in method matched (docs/method.md, equation 33).
 *
 * The model has t_is sqrt(M_s,ii) = sqrt(c) (A mu_s)_i - tau_i, where Phi(t_is) is the share of ones of item i in
 * segment s and the cuts tau are common to all segments. With k < n the k means of a segment leave n - k of its
 * thresholds to A and v: most where values are rare, since t then changes with M. The term is
 *   1/2 sum_is w_is (t_is - q_is / sqrt(M_s,ii))^2 + 1/(2 sd_mu^2) sum_s |mu_s|^2,  q_is = sqrt(c) (A mu_s)_i - tau_i,
 * at its minimum over mu and tau, so that its gradient is that of mu and tau fixed. 1/w_is is the sampling variance of
 * t_is, (1 + D_is)/N_s, plus a variance of misfit, which is learned as Paule and Mandel do (J. Res. NBS 87, 1982): the
 * sum of squares becomes its degrees of freedom, (u - 1)(n - k). Where base rates change in ways that no means explain
 * the misfit is large, and the term counts for little. Where values are rare the tables have the weight (30), and
 * thresholds of few ones, far from normal, have none.
 * Means are eliminated segment by segment, the cuts solved by conjugate gradients to a residual of 1e-12, always from
 * 0, so that the bits do not depend on earlier calls. Checked: gradient against central differences, the
 * information against differences of the gradient, the end of a fit against a dense system, in
 * tests/identity/test_margins.c. */
#include "estimate/gauss/gauss.h"

#include <math.h>
#include <string.h>

#include "cor/cor.h"
#include "estimate/estimate.h"
#include "num/linear/blas.h"
#include "num/dot.h"

enum { MOST_STEPS = 200, BISECTIONS = 40 };
static const double SMALL = 1e-12, MOST_MISFIT = 1e3;

struct bl_margins {
  const bl_gauss *gauss;
  int n, k, u;
  double link, misfit;     /* NaN: the term does not count */
  const double *threshold; /* [n,u] t, as observed */
  double *sampling;        /* [n,u] variances of the thresholds */
  double *precision;       /* [n,u] w */
  double *total;           /* [n,u] M_s,ii */
  double *omega, *b;       /* [n,u] w/M, t sqrt M */
  double *factor;          /* [k,k,u] Cholesky factors L_s of c A' Omega_s A + 1/sd_mu^2 */
  double *side;            /* [n,k,u] sqrt(c) Omega_s A L_s'^-1 */
  double *mean, *cut;      /* [k,u], [n] */
  double *vectors;         /* [n,5] */
  double *system;          /* [n,n] of the cuts, where it is smaller than its parts, k u columns of n; else NULL */
};

blica_status bl_margins_make(blica_ctx *ctx, const bl_gauss *g, const uint8_t *freed, bl_margins **out) {
  BL_OWNED bl_margins *m = NULL;
  const size_t n = (size_t)g->layout.n, k = (size_t)g->layout.k, u = (size_t)g->layout.u;
  *out = NULL;
  MUST(bl_alloc(ctx, 1, &m));
  m->gauss = g, m->n = g->layout.n, m->k = g->layout.k, m->u = g->layout.u, m->threshold = g->cor->thresholds;
  m->link = g->layout.link, m->misfit = NAN;
  double **each[] = {&m->sampling, &m->precision, &m->total, &m->omega, &m->b};
  for (int i = 0; i < 5; i++) MUST(bl_alloc_for(ctx, m, bl_mul(n, u), each[i]));
  MUST(bl_alloc_for(ctx, m, bl_mul(k * k, u), &m->factor));
  MUST(bl_alloc_for(ctx, m, bl_mul(bl_mul(n, k), u), &m->side));
  MUST(bl_alloc_for(ctx, m, bl_mul(k, u), &m->mean));
  MUST(bl_alloc_for(ctx, m, n, &m->cut));
  MUST(bl_alloc_for(ctx, m, 5 * n, &m->vectors));
  if (n <= k * u) MUST(bl_alloc_for(ctx, m, bl_mul(n, n), &m->system));
  for (size_t i = 0; i < n * u; i++) {
    const double rows = bl_cor_item_rows(g->cor, (int)(i / n), (int)(i % n));
    const bool counts = (rows > 0 || !g->cor->item_rows) && !(freed && freed[i]);
    m->sampling[i] = counts ? (1 + g->plain[i]) / fmax(rows, 1) : INFINITY;
  }
  *out = bl_take(&m);
  return BLICA_OK;
}

/* Weights and factor of segment s at theta; false when rounding spoiled the factor. */
static bool weigh_segment(bl_margins *m, const double *a, const double *log_v, int s) {
  const size_t n = (size_t)m->n, k = (size_t)m->k, at = n * (size_t)s;
  const double link = m->link;
  double *total = m->total + at, *omega = m->omega + at, *b = m->b + at, *factor = m->factor + k * k * (size_t)s;
  double *side = m->side + n * k * (size_t)s;
  for (size_t i = 0; i < n; i++) total[i] = 1;
  for (size_t j = 0; j < k; j++) {
    const double variance = link * exp(log_v[j]);
    for (size_t i = 0; i < n; i++) total[i] += variance * a[i + n * j] * a[i + n * j];
  }
  for (size_t i = 0; i < n; i++) {
    omega[i] = m->precision[at + i] / total[i];
    b[i] = m->threshold[at + i] * sqrt(total[i]);
  }
  for (size_t j = 0; j < k; j++) {
    for (size_t i = 0; i < n; i++) side[i + n * j] = sqrt(link) * omega[i] * a[i + n * j];
    for (size_t l = j; l < k; l++)
      factor[l + k * j] =
          sqrt(link) * bl_dot(n, side + n * j, a + n * l) + (l == j ? 1 / (BL_MEAN_SD * BL_MEAN_SD) : 0);
  }
  if (bl_dpotrf('L', m->k, factor, m->k) != 0) return false;
  for (size_t j = 0; j < k; j++) {
    for (size_t l = 0; l < j; l++)
      for (size_t i = 0; i < n; i++) side[i + n * j] -= factor[j + k * l] * side[i + n * l];
    for (size_t i = 0; i < n; i++) side[i + n * j] /= factor[j + k * j];
  }
  return true;
}

/* out += Omega_s (x - sqrt(c) A mu), mu being the best means of segment s for x. */
static void apply(const bl_margins *m, int s, const double *x, double *out) {
  const size_t n = (size_t)m->n;
  const double *omega = m->omega + n * (size_t)s, *side = m->side + n * (size_t)m->k * (size_t)s;
  for (size_t i = 0; i < n; i++) out[i] += omega[i] * x[i];
  for (size_t j = 0; j < (size_t)m->k; j++) {
    const double part = bl_dot(n, side + n * j, x);
    for (size_t i = 0; i < n; i++) out[i] -= part * side[i + n * j];
  }
}

/* mean [k] <- the means of segment s for which sqrt(c) A mean is nearest to x. */
static void best_means(const bl_margins *m, int s, const double *x, double *mean) {
  const size_t n = (size_t)m->n, k = (size_t)m->k;
  const double *side = m->side + n * k * (size_t)s, *factor = m->factor + k * k * (size_t)s;
  for (size_t j = k; j-- > 0;) {
    mean[j] = bl_dot(n, side + n * j, x);
    for (size_t l = j + 1; l < k; l++) mean[j] -= factor[l + k * j] * mean[l];
    mean[j] /= factor[j + k * j];
  }
}

/* out <- the sum over segments of what apply adds: by the matrix where there is one. */
static void apply_all(const bl_margins *m, const double *x, double *out) {
  if (m->system) {
    bl_dsymv('L', m->n, 1, m->system, m->n, x, 1, 0, out, 1);
    return;
  }
  memset(out, 0, (size_t)m->n * sizeof *out);
  for (int s = 0; s < m->u; s++) apply(m, s, x, out);
}

/* Conjugate gradients, scaled by the sum of each item's weights. */
static void solve_cuts(bl_margins *m) {
  const size_t n = (size_t)m->n;
  double *r = m->vectors, *p = r + n, *ap = p + n, *scaled = ap + n, *scale = scaled + n, *x = m->cut;
  memset(m->vectors, 0, 5 * n * sizeof *r);
  memset(x, 0, n * sizeof *x);
  for (int s = 0; s < m->u; s++) {
    apply(m, s, m->b + n * (size_t)s, r);
    for (size_t i = 0; i < n; i++) scale[i] += m->omega[i + n * (size_t)s];
  }
  if (m->system) { /* diag(scale) - sum_s side_s side_s' */
    memset(m->system, 0, n * n * sizeof *m->system);
    for (size_t i = 0; i < n; i++) m->system[i * (n + 1)] = scale[i];
    bl_dsyrk('L', 'N', m->n, m->k * m->u, -1, m->side, m->n, 1, m->system, m->n);
  }
  for (size_t i = 0; i < n; i++) r[i] = -r[i], p[i] = scaled[i] = scale[i] > 0 ? r[i] / scale[i] : 0;
  double rz = bl_dot(n, r, scaled), first = rz;
  for (int step = 0; step < MOST_STEPS && rz > SMALL * SMALL * first; step++) {
    apply_all(m, p, ap);
    const double curvature = bl_dot(n, p, ap);
    if (!(curvature > 0)) break;
    for (size_t i = 0; i < n; i++) {
      x[i] += rz / curvature * p[i];
      r[i] -= rz / curvature * ap[i];
      scaled[i] = scale[i] > 0 ? r[i] / scale[i] : 0;
    }
    const double next = bl_dot(n, r, scaled);
    for (size_t i = 0; i < n; i++) p[i] = scaled[i] + next / rz * p[i];
    rz = next;
  }
}

/* q of segment s, at the best cuts and means. */
static void fitted(const bl_margins *m, const double *a, int s, double *q) {
  const size_t n = (size_t)m->n, k = (size_t)m->k;
  const double root = sqrt(m->link), *mean = m->mean + k * (size_t)s;
  for (size_t i = 0; i < n; i++) q[i] = -m->cut[i];
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < n; i++) q[i] += root * a[i + n * j] * mean[j];
}

/* Twice the first sum of the term: squares of what thresholds miss, over their variances. */
static double squares(const bl_margins *m, const double *a) {
  const size_t n = (size_t)m->n;
  double sum = 0, *q = m->vectors;
  for (int s = 0; s < m->u; s++) {
    fitted(m, a, s, q);
    for (size_t i = 0, at = n * (size_t)s; i < n; i++, at++) {
      const double miss = m->threshold[at] - q[i] / sqrt(m->total[at]);
      sum += m->precision[at] * miss * miss;
    }
  }
  return sum;
}

/* The best cuts and means at theta; returns the value of the term. */
static double solve(bl_margins *m, const double *theta) {
  const size_t n = (size_t)m->n, k = (size_t)m->k;
  double lengths = 0, *x = m->vectors;
  for (int s = 0; s < m->u; s++)
    if (!weigh_segment(m, theta, theta + n * k + k * (size_t)s, s)) return NAN;
  solve_cuts(m);
  for (int s = 0; s < m->u; s++) {
    for (size_t i = 0; i < n; i++) x[i] = m->b[i + n * (size_t)s] + m->cut[i];
    best_means(m, s, x, m->mean + k * (size_t)s);
  }
  for (size_t i = 0; i < k * (size_t)m->u; i++) lengths += m->mean[i] * m->mean[i];
  return 0.5 * squares(m, theta) + 0.5 * lengths / (BL_MEAN_SD * BL_MEAN_SD);
}

static double eval_margins(void *work, const double *theta, double *gradient) {
  bl_margins *m = work;
  const size_t n = (size_t)m->n, k = (size_t)m->k;
  if (isnan(m->misfit)) return 0;
  const double value = solve(m, theta), link = m->link, root = sqrt(link);
  double *q = m->vectors, *by_q = q + n, *by_m = by_q + n;
  for (size_t s = 0; s < (size_t)m->u; s++) {
    const double *log_v = theta + n * k + k * s, *mean = m->mean + k * s;
    double *slope_v = gradient + n * k + k * s;
    fitted(m, theta, (int)s, q);
    for (size_t i = 0, at = n * s; i < n; i++, at++) {
      const double sd = sqrt(m->total[at]), miss = m->threshold[at] - q[i] / sd;
      by_q[i] = -m->precision[at] * miss / sd;
      by_m[i] = -0.5 * by_q[i] * q[i] / m->total[at];
    }
    for (size_t j = 0; j < k; j++) {
      const double b = link * exp(log_v[j]);
      for (size_t i = 0; i < n; i++) {
        const double x = theta[i + n * j];
        gradient[i + n * j] += by_q[i] * root * mean[j] + by_m[i] * 2 * b * x;
        slope_v[j] += by_m[i] * b * x * x;
      }
    }
  }
  return value;
}

/* A segment has the share of its weight that the Gaussian likelihood has; its tables have the rest. */
static double weight_of(const bl_margins *m, int s) {
  const double samples = m->gauss->cor->samples[s];
  return samples > 0 ? m->gauss->weight[s] / samples : 0;
}

static void set_misfit(bl_margins *m, double misfit) {
  for (size_t i = 0; i < (size_t)m->n * (size_t)m->u; i++)
    m->precision[i] = weight_of(m, (int)(i / (size_t)m->n)) / (m->sampling[i] + misfit);
}

/* Degrees of freedom of the squares: the thresholds that segment s has beyond its k means. */
static double freedom_of(const bl_margins *m, int s) {
  int seen = 0;
  for (int i = 0; i < m->n; i++) seen += isfinite(m->sampling[(size_t)i + (size_t)m->n * (size_t)s]);
  return seen > m->k ? weight_of(m, s) * (seen - m->k) * (1 - 1.0 / m->u) : 0;
}

/* The variance of misfit that theta leaves, and with it the precisions; NaN where nothing says how much. */
static double learn_misfit(bl_margins *m, const double *theta) {
  double low = 0, high = MOST_MISFIT, freedom = 0;
  for (int s = 0; s < m->u; s++) freedom += freedom_of(m, s);
  if (!(freedom > 0)) return NAN;
  set_misfit(m, 0);
  solve(m, theta);
  if (squares(m, theta) <= freedom) return 0;
  for (int step = 0; step < BISECTIONS; step++) {
    const double middle = low > 0 ? sqrt(low * high) : high * 1e-3;
    set_misfit(m, middle);
    solve(m, theta);
    *(squares(m, theta) > freedom ? &low : &high) = middle;
    if (high < 1.001 * low || high < 1e-9) break;
  }
  return high;
}

static blica_status renew_margins(blica_ctx *ctx, void *data, const double *theta) {
  bl_margins *m = data;
  (void)ctx;
  m->misfit = learn_misfit(m, theta);
  if (!isnan(m->misfit)) solve(m, theta);
  return BLICA_OK;
}

double bl_margins_misfit(const bl_margins *m) {
  return m->misfit;
}

/* With J and K the derivatives of what the thresholds miss, over their standard deviations, by log v and by mu:
 * J'J - J'K (K'K + 1/sd_mu^2)^-1 K'J. */
static bool inform_margins(const void *data, const double *theta, int s, double *information, double *work) {
  const bl_margins *m = data;
  const size_t n = (size_t)m->n, k = (size_t)m->k, at = n * (size_t)s;
  const double *log_v = theta + n * k + k * (size_t)s, link = m->link, *total = m->total + at;
  double *q = work, *cross = q + n, *solved = cross + k * k;
  if (isnan(m->misfit)) return true;
  fitted(m, theta, s, q);
  memset(cross, 0, k * k * sizeof *cross);
  for (size_t i = 0; i < n; i++) {
    const double precision = m->precision[at + i] / total[i], slope = 0.5 * q[i] * link / total[i];
    for (size_t j = 0; j < k; j++) {
      const double x = theta[i + n * j], own = slope * exp(log_v[j]) * x * x;
      for (size_t l = 0; l < k; l++) {
        const double y = theta[i + n * l];
        information[j + k * l] += precision * own * slope * exp(log_v[l]) * y * y;
        cross[l + k * j] += precision * own * sqrt(link) * y;
      }
    }
  }
  memcpy(solved, cross, k * k * sizeof *cross);
  bl_dpotrs('L', m->k, m->k, m->factor + k * k * (size_t)s, m->k, solved, m->k);
  for (size_t j = 0; j < k; j++)
    for (size_t l = 0; l < k; l++) information[j + k * l] -= bl_dot(k, cross + k * j, solved + k * l);
  return true;
}

bl_term bl_margins_term(bl_margins *m) {
  return (bl_term){.data = m,
                   .eval = eval_margins,
                   .renew = renew_margins,
                   .inform = inform_margins,
                   .work_size = (size_t)m->n + 2 * (size_t)m->k * (size_t)m->k};
}
