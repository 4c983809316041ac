/* average.c - what learning the scales of the priors needs: Laplace's approximation, and the criterion averaged over
 * what the data leave open of the log-variances.
 *
 * A is common to all segments and well determined; the u k log-variances are not, and a maximum over both lets the
 * prior's pull on them bend A (Neyman and Scott, Econometrica 16, 1948). So log v_s ~ N(m_s, Sigma_s), and the mean of
 * the criterion over it is minimised over A and m: the variational form of integrating v out (docs/method.md, equation
 * 29). Sigma_s^-1 is the information of all terms. The mean is taken over points m_s +- (TEMPER share Sigma_s)^1/2 e, e
 * of signs: rows of a Hadamard matrix, which as many as k of them would make exact for polynomials of degree 3. Few are
 * taken, others with other signs in every segment, so that what is missing averages out over segments. */
#include <math.h>
#include <string.h>

#include "estimate/gauss/rounds.h"
#include "num/linear/blas.h"
#include "num/rng.h"

/* The matched likelihood overstates the noise of correlations, and with it the width of the distributions: by a factor
 * of 1.5 to 3 in most directions of simulated segments. The share was chosen on data of seeds 301 to 308. */
static const double TEMPER = 0.75;

/* ---- Laplace's approximation ---- */

blica_status bl_laplace_at(blica_ctx *ctx, const bl_criterion *c, const double *theta, bl_laplace *out) {
  blica_status status;
  const bl_layout *p = &c->layout;
  bl_arrow h;
  double trace_mixing, trace_local;
  memset(out, 0, sizeof *out);
  TRY(bl_arrow_make(ctx, p, &h));
  out->positive =
      bl_arrow_inform(&h, c, theta) && bl_arrow_factor(&h) && bl_arrow_traces(&h, &trace_mixing, &trace_local);
  if (out->positive) {
    out->gamma_mixing = (double)p->n * p->k - c->precision_mixing * trace_mixing;
    out->gamma_variance = (double)p->k * p->u - c->precision_variance * trace_local;
  }
done:
  bl_arrow_free(&h);
  return status;
}

/* ---- the average ---- */

struct bl_average {
  blica_ctx *ctx;
  bl_evaluator *e;
  const bl_criterion *criterion;
  size_t nk, k, u, size;
  int pairs;
  double share;             /* of the variances that counts */
  bool wide;                /* false: no width yet, or no share: the criterion itself */
  double *sign;             /* [k,u,pairs] */
  double *shift;            /* [k,u,pairs] the root of the variance times the signs */
  double *trace;            /* [u] of the variances */
  double *work;             /* [work_size, threads] */
  size_t work_size;         /* the information, and what computing it takes */
  double *theta, *gradient; /* [size] */
};

void bl_average_free(bl_average *a) {
  bl_free(a);
}

/* Element of the Hadamard matrix of Sylvester's construction: the parity of the common bits. */
static int hadamard(unsigned row, unsigned column) {
  return __builtin_popcount(row & column) % 2 ? -1 : 1;
}

/* Draws directions of the points around log v, for each segment as columns of a Hadamard matrix with random signs. */
static void choose_signs(bl_average *a, uint64_t seed) {
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

blica_status bl_average_make(blica_ctx *ctx, bl_evaluator *e, const bl_criterion *c, uint64_t seed, double share,
                             int pairs, bl_average **out) {
  BL_OWNED bl_average *a = NULL;
  *out = NULL;
  MUST(bl_alloc(ctx, 1, &a));
  a->ctx = ctx, a->e = e, a->criterion = c, a->share = share, a->pairs = pairs;
  a->nk = bl_local(&c->layout, 0), a->k = (size_t)c->layout.k, a->u = (size_t)c->layout.u;
  a->size = bl_layout_size(&c->layout);
  for (int t = 0; t < c->terms; t++)
    if (c->term[t].work_size > a->work_size) a->work_size = c->term[t].work_size;
  a->work_size += a->k * a->k;
  MUST(bl_alloc_for(ctx, a, a->k * a->u * (size_t)pairs, &a->sign));
  MUST(bl_alloc_for(ctx, a, a->k * a->u * (size_t)pairs, &a->shift));
  MUST(bl_alloc_for(ctx, a, a->u, &a->trace));
  MUST(bl_alloc_for(ctx, a, bl_mul(a->work_size, (size_t)bl_max_threads(ctx)), &a->work));
  MUST(bl_alloc_for(ctx, a, a->size, &a->theta));
  MUST(bl_alloc_for(ctx, a, a->size, &a->gradient));
  choose_signs(a, seed);
  *out = bl_take(&a);
  return BLICA_OK;
}

double bl_average_evaluate(bl_average *a, const double *theta, double *gradient) {
  const size_t locals = a->k * a->u;
  double value = 0, share = 1.0 / (2 * a->pairs);
  if (!a->wide) return bl_evaluate(a->e, theta, gradient);
  memset(gradient, 0, a->size * sizeof *gradient);
  memcpy(a->theta, theta, a->nk * sizeof *theta);
  for (int point = 0; point < 2 * a->pairs; point++) {
    const double *shift = a->shift + locals * (size_t)(point / 2), sign = point % 2 ? -1 : 1;
    for (size_t i = 0; i < locals; i++) a->theta[a->nk + i] = theta[a->nk + i] + sign * shift[i];
    value += share * bl_evaluate(a->e, a->theta, a->gradient);
    for (size_t i = 0; i < a->size; i++) gradient[i] += share * a->gradient[i];
  }
  return value;
}

/* factor [k,k] <- the Cholesky factor of the information about log v of a segment plus that of the prior; where it
 * cannot be computed, that of the prior alone. */
static void factorise(const bl_average *a, int64_t s, double *factor, double *work) {
  const bl_criterion *c = a->criterion;
  const size_t k = a->k;
  bool usable = true;
  memset(factor, 0, k * k * sizeof *factor);
  for (int t = 0; t < c->terms && usable; t++)
    if (c->term[t].inform) usable = c->term[t].inform(c->term[t].data, a->theta, (int)s, factor, work);
  for (size_t i = 0; i < k; i++) factor[i * (k + 1)] += c->precision_variance;
  if (usable && bl_dpotrf('L', (int)k, factor, (int)k) == 0) return;
  memset(factor, 0, k * k * sizeof *factor);
  for (size_t i = 0; i < k; i++) factor[i * (k + 1)] = sqrt(c->precision_variance);
}

/* Sets the shifts of log v of segment s: its standard deviations in the drawn directions. */
static void set_width(int64_t s, int thread, void *user) {
  bl_average *a = user;
  const int k = (int)a->k;
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

double bl_average_update(bl_average *a, const double *theta) {
  double sum = 0;
  memcpy(a->theta, theta, a->size * sizeof *theta);
  bl_parallel(a->ctx, (int64_t)a->u, set_width, a);
  for (size_t s = 0; s < a->u; s++) sum += a->trace[s];
  a->wide = a->share > 0;
  return sum;
}
