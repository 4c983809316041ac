/* corfit_average.c - the objective averaged over what the data leave open of the log-variances.
 *
 * A is common to all segments and well determined; the u k log-variances are not, and a maximum over both lets the
 * prior's pull on them bend A (Neyman and Scott, Econometrica 16, 1948). Here log v_s ~ N(m_s, Sigma_s), and the mean
 * of f over it is minimised over A and m: the variational form of integrating v out (docs/method.md, equation 29).
 * Sigma_s^-1 is the mean Hessian. The mean over the normal distribution is taken over points m_s +- (TEMPER
 * Sigma_s)^1/2 e, e of signs: rows of a Hadamard matrix, which as many as k of them would make exact for polynomials of
 * degree 3. Two are taken, others with other signs in every segment, so that what is missing averages out over
 * segments; eight gave the same errors in simulated data at up to twice the cost. */
#include <math.h>
#include <string.h>

#include <cblas.h>
#include <lapacke.h>

#include "estimate/corfit.h"
#include "estimate/matched_information.h"
#include "num/rng.h"

enum { PAIRS_MAX = 2 };
static const double STEP = 1e-4;
/* The matched likelihood overstates the noise of correlations, and with it the width of the distributions: by a factor
 * of 1.5 to 3 in most directions of simulated segments. The share was chosen on data of seeds 301 to 308. */
static const double TEMPER = 0.75;

struct bl_corfit_average {
  bl_corfit *fit;
  const bl_corfit_data *data;
  size_t nk, k, u, size;
  int pairs;
  double share;          /* of the variances that counts */
  bool wide;             /* false: no width yet, f itself */
  double *sign;          /* [k,u,pairs] */
  double *shift;         /* [k,u,pairs] the root times the signs */
  double *hessian;       /* [k,k,u]: mean Hessians */
  double *root, *values; /* [k,k], [k] */
  double
      *work; /* [work_size] of LAPACK: what it would allocate itself may fail, and look like a matrix without a root */
  int work_size;
  double *theta, *gradient, *up, *down, *moved; /* [size] */
};

void bl_corfit_average_free(bl_corfit_average *a) {
  if (!a) return;
  double *const blocks[] = {a->sign,  a->shift,    a->hessian, a->root, a->values, a->work,
                            a->theta, a->gradient, a->up,      a->down, a->moved};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) bl_free(blocks[i]);
  bl_free(a);
}

/* Element of the Hadamard matrix of Sylvester's construction: the parity of the common bits. */
static int hadamard(unsigned row, unsigned column) {
  return __builtin_popcount(row & column) % 2 ? -1 : 1;
}

static void choose_signs(bl_corfit_average *a, uint64_t seed) {
  unsigned order = 1;
  while (order < a->k) order *= 2;
  a->pairs = order < PAIRS_MAX ? (int)order : PAIRS_MAX;
  for (size_t s = 0; s < a->u; s++) {
    bl_rng rng = bl_rng_make(seed, 0x5349474e00000000u + s);
    unsigned first = order > PAIRS_MAX ? (unsigned)(bl_rng_uniform(&rng) * order) : 0;
    for (size_t j = 0; j < a->k; j++) {
      int flip = bl_rng_uniform(&rng) < 0.5 ? -1 : 1;
      for (int p = 0; p < a->pairs; p++)
        a->sign[j + a->k * (s + a->u * (size_t)p)] = flip * hadamard((first + (unsigned)p) % order, (unsigned)j);
    }
  }
}

blica_status bl_corfit_average_make(blica_ctx *ctx, bl_corfit *fit, const bl_corfit_data *data, uint64_t seed,
                                    double share, bl_corfit_average **out) {
  blica_status status;
  bl_corfit_average *a = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &a));
  a->fit = fit, a->data = data, a->share = share;
  a->nk = (size_t)data->n * data->k, a->k = (size_t)data->k, a->u = (size_t)data->u, a->size = bl_corfit_size(data);
  TRY(bl_alloc(ctx, a->k * a->u * PAIRS_MAX, &a->sign));
  TRY(bl_alloc(ctx, a->k * a->u * PAIRS_MAX, &a->shift));
  TRY(bl_alloc(ctx, bl_mul(a->k * a->k, a->u), &a->hessian));
  TRY(bl_alloc(ctx, a->k * a->k, &a->root));
  TRY(bl_alloc(ctx, a->k, &a->values));
  double best = 0;
  LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'L', data->k, NULL, data->k, NULL, &best, -1);
  a->work_size = (int)fmax(best, 3.0 * data->k);
  TRY(bl_alloc(ctx, (size_t)a->work_size, &a->work));
  double **vectors[] = {&a->theta, &a->gradient, &a->up, &a->down, &a->moved};
  for (int i = 0; i < 5; i++) TRY(bl_alloc(ctx, a->size, vectors[i]));
  choose_signs(a, seed);
  *out = a;
  a = NULL;
done:
  bl_corfit_average_free(a);
  return status;
}

double bl_corfit_average_eval(bl_corfit_average *a, const double *theta, double *gradient) {
  const size_t locals = a->k * a->u;
  double value = 0, share = 1.0 / (2 * a->pairs);
  if (!a->wide) return bl_corfit_eval(a->fit, theta, gradient);
  memset(gradient, 0, a->size * sizeof *gradient);
  memcpy(a->theta, theta, a->nk * sizeof *theta);
  for (int point = 0; point < 2 * a->pairs; point++) {
    const double *shift = a->shift + locals * (size_t)(point / 2), sign = point % 2 ? -1 : 1;
    for (size_t i = 0; i < locals; i++) a->theta[a->nk + i] = theta[a->nk + i] + sign * shift[i];
    value += share * bl_corfit_eval(a->fit, a->theta, a->gradient);
    for (size_t i = 0; i < a->size; i++) gradient[i] += share * a->gradient[i];
  }
  return value;
}

/* Mean Hessians of all segments' log v, one source at a time. */
static void mean_hessians(bl_corfit_average *a, const double *theta) {
  const size_t k = a->k;
  double *moved = a->moved;
  for (size_t j = 0; j < k; j++) {
    for (int side = 0; side < 2; side++) {
      memcpy(moved, theta, a->size * sizeof *theta);
      for (size_t s = 0; s < a->u; s++) moved[a->nk + k * s + j] += side ? -STEP : STEP;
      bl_corfit_average_eval(a, moved, side ? a->down : a->up);
    }
    for (size_t s = 0; s < a->u; s++)
      for (size_t i = 0; i < k; i++) {
        size_t at = a->nk + k * s + i;
        a->hessian[i + k * (j + k * s)] = (a->up[at] - a->down[at]) / (2 * STEP);
      }
  }
}

/* root [k,k] <- h^-1/2, symmetric, so that the order of the sources does not matter; where h is not positive definite,
 * what the prior alone says. Returns the trace of h^-1. */
static double inverse_root(const bl_corfit_average *a, double *h, double *values, double *root) {
  const size_t k = a->k;
  double trace = 0, sum = 0;
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < j; i++) h[j + k * i] = 0.5 * (h[i + k * j] + h[j + k * i]); /* the lower triangle is read */
  for (size_t i = 0; i < k * k; i++) sum += fabs(h[i]);
  bool usable = isfinite(sum) &&
                LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'L', (int)k, h, (int)k, values, a->work, a->work_size) == 0 &&
                values[0] > 0;
  memset(root, 0, k * k * sizeof *root);
  for (size_t m = 0; m < k; m++) {
    double value = usable ? values[m] : a->data->precision_variance;
    trace += 1 / value;
    if (!usable) root[m * (k + 1)] = 1 / sqrt(value);
    for (size_t j = 0; usable && j < k; j++)
      for (size_t i = 0; i < k; i++) root[i + k * j] += h[i + k * m] * h[j + k * m] / sqrt(value);
  }
  return trace;
}

/* ---- without an average: Fisher's information in place of the Hessian ---- */

typedef struct {
  const bl_corfit_data *data;
  const double *theta;
  double *trace; /* [u] */
  double *work;  /* per thread */
  size_t work_size;
} variances_job;

/* Which form of the information costs less. */
static bool is_dense(const bl_corfit_data *d) {
  return d->k > d->n / 4;
}

static void segment_variances(int64_t s, int thread, void *user) {
  const variances_job *j = user;
  const bl_corfit_data *d = j->data;
  const int k = d->k;
  double *h = j->work + j->work_size * (size_t)thread, *w = h + k * k, *root = w + k * k, sum = 0;
  const bl_matched_point at = {.n = d->n,
                               .k = k,
                               .link = d->link,
                               .weight = d->weight[s],
                               .a = j->theta,
                               .log_v = j->theta + (size_t)(d->n + s) * (size_t)k,
                               .noise = d->noise + (size_t)d->n * (size_t)s};
  bool usable = is_dense(d) ? bl_matched_variances(&at, h, w) : bl_matched_information(&at, root, w, h, NULL, root + k);
  for (int i = 0; usable && i < k; i++) h[(size_t)i * (size_t)(k + 1)] += d->precision_variance;
  usable = usable && LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', k, h, k) == 0 &&
           LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', k, h, k) == 0;
  for (int i = 0; i < k; i++) sum += usable ? h[(size_t)i * (size_t)(k + 1)] : 1 / d->precision_variance;
  j->trace[s] = sum;
}

blica_status bl_corfit_sum_variances(blica_ctx *ctx, const bl_corfit_data *data, const double *theta, double *sum) {
  blica_status status;
  const size_t k = (size_t)data->k, u = (size_t)data->u;
  variances_job j = {.data = data, .theta = theta, .work_size = k * k};
  j.work_size += is_dense(data) ? bl_matched_mixing_work(data->n, data->k)
                                : k + k * k + bl_matched_information_work(data->k, false);
  *sum = 0;
  TRY(bl_alloc(ctx, u, &j.trace));
  TRY(bl_alloc(ctx, bl_mul(j.work_size, (size_t)bl_max_threads(ctx)), &j.work));
  bl_parallel(ctx, data->u, segment_variances, &j);
  for (size_t s = 0; s < u; s++) *sum += j.trace[s];
done:
  bl_free(j.trace);
  bl_free(j.work);
  return status;
}

double bl_corfit_average_update(bl_corfit_average *a, const double *theta) {
  const size_t k = a->k;
  double trace = 0;
  bl_corfit_hold(a->fit, theta, a->up);
  mean_hessians(a, theta);
  bl_corfit_hold(a->fit, NULL, NULL);
  for (size_t s = 0; s < a->u; s++) {
    trace += inverse_root(a, a->hessian + k * k * s, a->values, a->root);
    for (int p = 0; p < a->pairs; p++) {
      const size_t at = k * (s + a->u * (size_t)p);
      cblas_dsymv(CblasColMajor, CblasLower, (int)k, sqrt(TEMPER * a->share), a->root, (int)k, a->sign + at, 1, 0,
                  a->shift + at, 1);
    }
  }
  a->wide = true;
  return trace;
}
