/* corfit_average.c - the objective averaged over what the data leave open of the log-variances.
 *
 * A is common to all segments and well determined; the u k log-variances are not, and a maximum over both lets the
 * prior's pull on them bend A (Neyman and Scott, Econometrica 16, 1948). Here log v_s ~ N(m_s, Sigma_s), and the mean
 * of f over it is minimised over A and m: the variational form of integrating v out (docs/method.md, equation 29).
 * Sigma_s^-1 is Fisher's information plus the prior's. The mean over the normal distribution is taken over points
 * m_s +- (TEMPER share Sigma_s)^1/2 e, e of signs: rows of a Hadamard matrix, which as many as k of them would make
 * exact for polynomials of degree 3. Few are taken, others with other signs in every segment, so that what is missing
 * averages out over segments. */
#include <math.h>
#include <string.h>

#include "estimate/gauss/corfit.h"
#include "estimate/gauss/margins.h"
#include "num/blas.h"
#include "num/rng.h"

/* The matched likelihood overstates the noise of correlations, and with it the width of the distributions: by a factor
 * of 1.5 to 3 in most directions of simulated segments. The share was chosen on data of seeds 301 to 308. */
static const double TEMPER = 0.75;

struct bl_corfit_average {
  blica_ctx *ctx;
  bl_corfit *fit;
  const bl_corfit_data *data;
  size_t nk, k, u, size;
  int pairs;
  double share;             /* of the variances that counts */
  bool wide;                /* false: no width yet, or no share: f itself */
  double *sign;             /* [k,u,pairs] */
  double *shift;            /* [k,u,pairs] the root of the variance times the signs */
  double *trace;            /* [u] of the variances */
  double *work;             /* [work_size, threads] */
  size_t work_size;         /* the information, and what computing it takes */
  double *theta, *gradient; /* [size] */
};

void bl_corfit_average_free(bl_corfit_average *a) {
  if (!a) return;
  double *const blocks[] = {a->sign, a->shift, a->trace, a->work, a->theta, a->gradient};
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
  if ((unsigned)a->pairs > order) a->pairs = (int)order;
  for (size_t s = 0; s < a->u; s++) {
    bl_rng rng = bl_rng_make(seed, 0x5349474e00000000u + s);
    unsigned first = order > (unsigned)a->pairs ? (unsigned)(bl_rng_uniform(&rng) * order) : 0;
    for (size_t j = 0; j < a->k; j++) {
      int flip = bl_rng_uniform(&rng) < 0.5 ? -1 : 1;
      for (int p = 0; p < a->pairs; p++)
        a->sign[j + a->k * (s + a->u * (size_t)p)] = flip * hadamard((first + (unsigned)p) % order, (unsigned)j);
    }
  }
}

/* Which form of the information costs less. */
static bool is_dense(const bl_corfit_data *d) {
  return d->k > d->n / 4;
}

blica_status bl_corfit_average_make(blica_ctx *ctx, bl_corfit *fit, const bl_corfit_data *data, uint64_t seed,
                                    double share, int pairs, bl_corfit_average **out) {
  blica_status status;
  bl_corfit_average *a = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &a));
  a->ctx = ctx, a->fit = fit, a->data = data, a->share = share, a->pairs = pairs;
  a->nk = (size_t)data->n * data->k, a->k = (size_t)data->k, a->u = (size_t)data->u, a->size = bl_corfit_size(data);
  a->work_size = a->k * a->k + (is_dense(data) ? bl_matched_mixing_work(data->n, data->k)
                                               : a->k * a->k + a->k + bl_matched_information_work(data->k, false));
  if (a->work_size < a->k * a->k + bl_margins_work(data->n, data->k))
    a->work_size = a->k * a->k + bl_margins_work(data->n, data->k);
  TRY(bl_alloc(ctx, a->k * a->u * (size_t)pairs, &a->sign));
  TRY(bl_alloc(ctx, a->k * a->u * (size_t)pairs, &a->shift));
  TRY(bl_alloc(ctx, a->u, &a->trace));
  TRY(bl_alloc(ctx, bl_mul(a->work_size, (size_t)bl_max_threads(ctx)), &a->work));
  TRY(bl_alloc(ctx, a->size, &a->theta));
  TRY(bl_alloc(ctx, a->size, &a->gradient));
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

/* factor [k,k] <- the Cholesky factor of a segment's information about log v, with the prior's; where there is none,
 * that of the prior's alone. */
static void factorise(const bl_corfit_average *a, int64_t s, double *factor, double *work) {
  const bl_corfit_data *d = a->data;
  const size_t k = a->k;
  const bl_matched_point at = bl_corfit_point(d, a->theta, (int)s);
  bool usable = is_dense(d) ? bl_matched_variances(&at, factor, work)
                            : bl_matched_information(&at, work, work + k, factor, NULL, work + k + k * k);
  if (usable && d->log_scale) bl_corfit_scales_information(d, a->theta, (int)s, factor);
  if (usable && d->margins) bl_margins_information(d->margins, a->theta, (int)s, factor, work);
  for (size_t i = 0; usable && i < k; i++) factor[i * (k + 1)] += d->precision_variance;
  if (usable && bl_dpotrf('L', (int)k, factor, (int)k) == 0) return;
  memset(factor, 0, k * k * sizeof *factor);
  for (size_t i = 0; i < k; i++) factor[i * (k + 1)] = sqrt(d->precision_variance);
}

static void set_width(int64_t s, int thread, void *user) {
  bl_corfit_average *a = user;
  const int k = a->data->k;
  double *factor = a->work + a->work_size * (size_t)thread, sum = 0;
  factorise(a, s, factor, factor + k * k);
  for (int p = 0; p < a->pairs; p++) {
    const size_t at = a->k * ((size_t)s + a->u * (size_t)p);
    for (size_t j = at; j < at + a->k; j++) a->shift[j] = sqrt(TEMPER * a->share) * a->sign[j];
    bl_dtrsv('L', 'T', 'N', k, factor, k, a->shift + at, 1);
  }
  bl_dpotri('L', k, factor, k);
  for (size_t j = 0; j < a->k; j++) sum += factor[j * (a->k + 1)];
  a->trace[s] = sum;
}

double bl_corfit_average_update(bl_corfit_average *a, const double *theta) {
  double sum = 0;
  memcpy(a->theta, theta, a->size * sizeof *theta);
  if (a->data->margins) bl_margins_solve(a->data->margins, theta);
  bl_parallel(a->ctx, a->data->u, set_width, a);
  for (size_t s = 0; s < a->u; s++) sum += a->trace[s];
  a->wide = a->share > 0;
  return sum;
}
