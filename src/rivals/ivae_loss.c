/* ivae_loss.c - loss of the linear iVAE (paper, section 5.3 and appendix E) and its gradient.
 *
 * With mu, w the encoder's mean and log-variance, m, l the prior's, z = mu + exp(w/2) eps, a = Wf z, t = 1 - 2x:
 *   loss = sum_j softplus(t_j a_j) + KL,
 *   sample KL   = 1/2 sum_c [ l + (z-m)^2 exp(-l) - w - eps^2 ],
 *   analytic KL = 1/2 sum_c [ l - w + (exp(w) + (mu-m)^2) exp(-l) - 1 ].
 * Gradients as in docs/rivals.md. The one-hot segment never appears: within a segment the prior and the segment's part
 * of the encoder are constants, and their derivatives are plain sums. Rows go in pieces through BLAS, on one thread.
 * Accuracy: rounding only, about 1e-15 relative. Checked: against published loss and gradient values to 1e-12 in
 * tests/parity/test_published.c; against a fixture by complex steps and central differences in
 * tests/unit/rivals/test_ivae_loss.c. */
#include "rivals/rivals.h"

#include <math.h>
#include <string.h>

#include "data/pack.h"
#include "num/linear/blas.h"
#include "num/rng.h"

enum { PIECE = 128 }; /* rows at a time: what is kept of them fits the second cache */

struct bl_ivae {
  bl_ivae_layout layout;
  bool analytic;
  int64_t rows, missing;
  int64_t *first; /* [u+1] rows of the segments */
  double *x;      /* [n,rows] 1/2 for a missing value */
  double *eps;    /* [k,rows] */
  /* of one segment */
  double *start_mean, *start_log, *mean, *logvar, *precision;  /* [k] encoder at x = 0; prior */
  double *sum_mean, *sum_log, *sum_prior_mean, *sum_prior_log; /* [k] of dmu, dw, r, 1 - square */
  double *mu, *w, *sd, *z, *dz; /* [k,PIECE] of one piece; mu and w become their derivatives */
  double *a, *value;            /* [n,PIECE] */
};

bl_ivae_layout bl_ivae_layout_of(int n, int k, int u) {
  bl_ivae_layout at = {.n = n, .k = k, .u = u};
  size_t kn = (size_t)k, width = (size_t)n + (size_t)u, next = 0;
  at.prior_mean = next, next += kn * (size_t)u;
  at.prior_mean_bias = next, next += kn;
  at.prior_log = next, next += kn * (size_t)u;
  at.prior_log_bias = next, next += kn;
  at.decoder = next, next += (size_t)n * kn;
  at.mean = next, next += kn * width;
  at.mean_bias = next, next += kn;
  at.log = next, next += kn * width;
  at.log_bias = next, next += kn;
  at.size = next;
  return at;
}

blica_status bl_ivae_create(blica_ctx *ctx, const blica_data *data, int k, bool analytic, bl_ivae **out) {
  BL_OWNED bl_ivae *v = NULL;
  const size_t n = (size_t)data->n, kn = (size_t)k, rows = (size_t)data->rows;
  *out = NULL;
  if (data->rows == 0) return bl_fail(ctx, BLICA_ERR_DATA, "ivae: there are no rows");
  MUST(bl_alloc(ctx, 1, &v));
  v->layout = bl_ivae_layout_of(data->n, k, data->u);
  v->analytic = analytic, v->rows = data->rows, v->missing = data->missing;
  MUST(bl_alloc_for(ctx, v, (size_t)data->u + 1, &v->first));
  MUST(bl_alloc_for(ctx, v, bl_mul(n, rows), &v->x));
  MUST(bl_alloc_for(ctx, v, bl_mul(kn, rows), &v->eps));
  double **const of_segment[] = {&v->start_mean, &v->start_log, &v->mean,           &v->logvar,       &v->precision,
                                 &v->sum_mean,   &v->sum_log,   &v->sum_prior_mean, &v->sum_prior_log};
  for (int i = 0; i < 9; i++) MUST(bl_alloc_for(ctx, v, kn, of_segment[i]));
  double **const of_piece[] = {&v->mu, &v->w, &v->sd, &v->z, &v->dz, &v->a, &v->value};
  for (int i = 0; i < 7; i++) MUST(bl_alloc_for(ctx, v, PIECE * (i < 5 ? kn : n), of_piece[i]));
  double *x = v->x;
  for (int s = 0; s < data->u; s++) {
    v->first[s + 1] = v->first[s] + data->samples[s];
    for (int64_t r = 0; r < data->samples[s]; r++)
      for (int i = 0; i < data->n; i++) {
        const int value = bl_data_value(data, s, i, r);
        *x++ = value == BLICA_MISSING ? 0.5 : value;
      }
  }
  *out = bl_take(&v);
  return BLICA_OK;
}

void bl_ivae_noise(bl_ivae *v, uint64_t seed) {
  const int k = v->layout.k;
  for (int64_t r = 0; r < v->rows; r++) {
    bl_rng rng = bl_rng_make(seed, (uint64_t)r);
    for (int c = 0; c < k; c++) v->eps[r * k + c] = bl_rng_normal(&rng);
  }
}

void bl_ivae_noise_set(bl_ivae *v, const double *eps) {
  memcpy(v->eps, eps, (size_t)v->layout.k * (size_t)v->rows * sizeof *eps);
}

/* ---- one evaluation ---- */

/* Takes the parameters of segment s from theta, and clears its sums. */
static void enter_segment(bl_ivae *v, const double *theta, int s) {
  const bl_ivae_layout *at = &v->layout;
  const size_t k = (size_t)at->k, u = (size_t)at->u, width = (size_t)at->n + u, own = (size_t)at->n + (size_t)s;
  for (size_t c = 0; c < k; c++) {
    v->start_mean[c] = theta[at->mean + c * width + own] + theta[at->mean_bias + c];
    v->start_log[c] = theta[at->log + c * width + own] + theta[at->log_bias + c];
    v->mean[c] = theta[at->prior_mean + c * u + (size_t)s] + theta[at->prior_mean_bias + c];
    v->logvar[c] = theta[at->prior_log + c * u + (size_t)s] + theta[at->prior_log_bias + c];
    v->precision[c] = exp(-v->logvar[c]);
    v->sum_mean[c] = v->sum_log[c] = v->sum_prior_mean[c] = v->sum_prior_log[c] = 0;
  }
}

/* mu, w, sd and z of a piece. */
static void encode(bl_ivae *v, const double *theta, int64_t first, int rows, blica_simd level) {
  const bl_ivae_layout *at = &v->layout;
  const int n = at->n, k = at->k, width = n + at->u;
  const double *x = v->x + n * first, *eps = v->eps + k * first;
  for (int r = 0; r < rows; r++) {
    memcpy(v->mu + r * k, v->start_mean, (size_t)k * sizeof *v->mu);
    memcpy(v->w + r * k, v->start_log, (size_t)k * sizeof *v->w);
  }
  bl_dgemm('T', 'N', k, rows, n, 1, theta + at->mean, width, x, n, 1, v->mu, k);
  bl_dgemm('T', 'N', k, rows, n, 1, theta + at->log, width, x, n, 1, v->w, k);
  for (int i = 0; i < rows * k; i++) v->sd[i] = 0.5 * v->w[i];
  BL_AT(level, bl_exponentials)((size_t)(rows * k), v->sd);
  for (int i = 0; i < rows * k; i++) v->z[i] = v->mu[i] + v->sd[i] * eps[i];
}

/* The reconstruction loss of a piece; a becomes its derivative by a. */
static double decode(bl_ivae *v, const double *theta, int64_t first, int rows, blica_simd level) {
  const int n = v->layout.n, k = v->layout.k;
  const double *x = v->x + n * first;
  double loss = 0;
  bl_dgemm('T', 'N', n, rows, k, 1, theta + v->layout.decoder, k, v->z, k, 0, v->a, n);
  for (int i = 0; i < rows * n; i++) v->a[i] *= 1 - 2 * x[i];
  BL_AT(level, bl_softplus)((size_t)(rows * n), v->a, v->value);
  for (int r = 0, i = 0; r < rows; r++) {
    double own = 0;
    for (int last = i + n; i < last; i++) {
      own += v->value[i];
      v->a[i] *= 1 - 2 * x[i];
    }
    loss += own;
  }
  return loss;
}

/* The divergence from the prior of a piece; mu and w become its derivatives by them with z held, dz gains that by z. */
static double diverge(bl_ivae *v, int64_t first, int rows) {
  const int k = v->layout.k;
  const double *eps = v->eps + k * first;
  double loss = 0;
  for (int r = 0, i = 0; r < rows; r++) {
    double own = 0;
    for (int c = 0; c < k; c++, i++) {
      const double miss = (v->analytic ? v->mu[i] : v->z[i]) - v->mean[c], pull = miss * v->precision[c];
      const double spread = v->analytic ? v->sd[i] * v->sd[i] * v->precision[c] : 0, square = spread + miss * pull;
      own += 0.5 * (v->logvar[c] - v->w[i] + square - (v->analytic ? 1 : eps[i] * eps[i]));
      v->mu[i] = v->analytic ? pull : 0;
      v->dz[i] += v->analytic ? 0 : pull;
      v->w[i] = 0.5 * (spread - 1);
      v->sum_prior_mean[c] += pull;
      v->sum_prior_log[c] += 1 - square;
    }
    loss += own;
  }
  return loss;
}

/* Loss of a piece, not yet divided by the rows; adds to the sums of its segment and to the gradient by weights. */
static double run_piece(bl_ivae *v, const double *theta, int64_t first, int rows, blica_simd level, double *gradient) {
  const bl_ivae_layout *at = &v->layout;
  const int n = at->n, k = at->k, width = n + at->u;
  const double scale = 1.0 / (double)v->rows, *x = v->x + n * first, *eps = v->eps + k * first;
  encode(v, theta, first, rows, level);
  double loss = decode(v, theta, first, rows, level);
  bl_dgemm('N', 'N', k, rows, n, 1, theta + at->decoder, k, v->a, n, 0, v->dz, k);
  loss += diverge(v, first, rows);
  if (!gradient) return loss;
  for (int r = 0, i = 0; r < rows; r++)
    for (int c = 0; c < k; c++, i++) {
      v->sum_mean[c] += v->mu[i] += v->dz[i];
      v->sum_log[c] += v->w[i] += 0.5 * v->sd[i] * eps[i] * v->dz[i];
    }
  bl_dgemm('N', 'T', k, n, rows, scale, v->z, k, v->a, n, 1, gradient + at->decoder, k);
  bl_dgemm('N', 'T', n, k, rows, scale, x, n, v->mu, k, 1, gradient + at->mean, width);
  bl_dgemm('N', 'T', n, k, rows, scale, x, n, v->w, k, 1, gradient + at->log, width);
  return loss;
}

/* Derivatives that need the segment's sums; the biases gather over segments. */
static void leave_segment(const bl_ivae *v, int s, double *g) {
  const bl_ivae_layout *at = &v->layout;
  const size_t k = (size_t)at->k, u = (size_t)at->u, width = (size_t)at->n + u, own = (size_t)at->n + (size_t)s;
  const double scale = 1.0 / (double)v->rows;
  for (size_t c = 0; c < k; c++) {
    g[at->mean_bias + c] += g[at->mean + c * width + own] = v->sum_mean[c] * scale;
    g[at->log_bias + c] += g[at->log + c * width + own] = v->sum_log[c] * scale;
    g[at->prior_mean_bias + c] += g[at->prior_mean + c * u + (size_t)s] = -v->sum_prior_mean[c] * scale;
    g[at->prior_log_bias + c] += g[at->prior_log + c * u + (size_t)s] = 0.5 * v->sum_prior_log[c] * scale;
  }
}

double bl_ivae_loss(blica_ctx *ctx, bl_ivae *v, const double *theta, double *gradient) {
  const blica_simd level = blica_simd_level(ctx);
  double loss = 0;
  if (gradient) memset(gradient, 0, v->layout.size * sizeof *gradient);
  for (int s = 0; s < v->layout.u; s++) {
    enter_segment(v, theta, s);
    for (int64_t first = v->first[s], last = v->first[s + 1]; first < last; first += PIECE)
      loss += run_piece(v, theta, first, last - first < PIECE ? (int)(last - first) : PIECE, level, gradient);
    if (gradient) leave_segment(v, s, gradient);
  }
  return (loss - (double)v->missing * 0.69314718055994530942) / (double)v->rows; /* log 2 of each missing value */
}
