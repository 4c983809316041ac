/* starts.c - starting points.
 *
 * With many variables the diagonal of M_s hardly varies over segments, so C_s is close to Q A V_s A' Q plus
 * noise: jointly diagonalising the C_s gives A up to the scales Q. For k < n this happens in the leading
 * k-dimensional eigenspace of the mean correlation matrix, the rest being read as noise. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cor/cor.h"
#include "estimate/gauss/rounds.h"
#include "num/linear/blas.h"
#include "num/linear/jointdiag.h"
#include "num/linear/symmetric.h"
#include "num/rng.h"

enum { MAX_SWEEPS = 100 };
/* Relative tolerance of joint diagonalisation in large problems: the fit improves on its result, and sweeps are as
 * costly as the fit. */
static const double DIAGONAL = 0.02;
static const double START_CONDITION = 10; /* joint diagonalisation wants positive definite matrices */

/* q, where it is free, such that S = Q M Q has a unit diagonal. */
static void unit_diagonal(const bl_starts *d, double *theta) {
  if (d->layout.locals == d->layout.k) return;
  for (int s = 0; s < d->layout.u; s++) {
    double *local = theta + bl_local(&d->layout, s);
    for (int i = 0; i < d->layout.n; i++) {
      double diagonal = 1;
      for (int j = 0; j < d->layout.k; j++) {
        double a = theta[i + (size_t)j * d->layout.n];
        diagonal += d->layout.link * a * a * exp(local[j]);
      }
      local[d->layout.k + i] = -0.5 * log(diagonal);
    }
  }
}

/* The mean of log v to 0 for each source, the column of A taking the scale. */
static void centre_variances(const bl_starts *d, double *theta) {
  for (int j = 0; j < d->layout.k; j++) {
    double mean = 0;
    for (int s = 0; s < d->layout.u; s++) mean += theta[bl_local(&d->layout, s) + (size_t)j] / d->layout.u;
    for (int s = 0; s < d->layout.u; s++) theta[bl_local(&d->layout, s) + (size_t)j] -= mean;
    for (int i = 0; i < d->layout.n; i++) theta[i + (size_t)j * d->layout.n] *= exp(0.5 * mean);
  }
}

/* A ~ unif(-3,3), v ~ unif(0.5,1.5), q such that S has a unit diagonal. Start number `index` of a seed. */
static void start_random(const bl_starts *d, uint64_t seed, int index, double *theta) {
  bl_rng rng = bl_rng_make(seed, 0x5741525400000000u + (uint64_t)index);
  for (size_t i = 0; i < (size_t)d->layout.n * d->layout.k; i++) theta[i] = 6 * bl_rng_uniform(&rng) - 3;
  for (int s = 0; s < d->layout.u; s++)
    for (int j = 0; j < d->layout.k; j++) theta[bl_local(&d->layout, s) + (size_t)j] = log(0.5 + bl_rng_uniform(&rng));
  unit_diagonal(d, theta);
}

/* ---- the mean matrix, packed ---- */

/* Block by block of pairs, so that the sum stays in cache and the matrices are read once. */
enum { PAIR_BLOCK = 1 << 14 };
typedef struct {
  const bl_starts *d;
  const double *weight;
  double total, *mean; /* [pairs] */
  int64_t pairs;
} mean_job;

/* Adds a block of all segments, one after the other. */
static void mean_block(int64_t block, int thread, void *user) {
  (void)thread;
  const mean_job *j = user;
  const bl_starts *d = j->d;
  const int64_t from = block * PAIR_BLOCK, to = from + PAIR_BLOCK < j->pairs ? from + PAIR_BLOCK : j->pairs;
  for (int s = 0; s < d->layout.u; s++) {
    const double *pairs = d->cor->rho + (size_t)d->cor->pairs * (size_t)s,
                 share = j->weight[s] / j->total * d->shrink[s];
    for (int64_t p = from; share > 0 && p < to; p++) j->mean[p] += share * pairs[p];
  }
}

/* The weighted mean of packed matrices. */
static blica_status make_mean(blica_ctx *ctx, mean_job *j) {
  blica_status status = bl_alloc(ctx, (size_t)j->pairs, &j->mean);
  if (status == BLICA_OK) bl_parallel(ctx, (j->pairs + PAIR_BLOCK - 1) / PAIR_BLOCK, mean_block, j);
  return status;
}

/* ---- its leading eigenvectors ---- */

/* Leading eigenvectors of a packed mean matrix. As the beginning of a fit they need no more than few digits. */
static blica_status leading_packed(blica_ctx *ctx, const bl_starts *d, const double *weight, double total,
                                   double *basis, double *values) {
  blica_status status;
  const bl_lanczos_options o = {.high = d->layout.k, .tolerance = 1e-6, .max_steps = 300 + 2 * d->layout.k};
  mean_job j = {.d = d, .weight = weight, .total = total, .pairs = (int64_t)d->layout.n * (d->layout.n - 1) / 2};
  BL_OWNED double *residual = NULL, *work = NULL;
  TRY(bl_alloc(ctx, (size_t)d->layout.k, &residual));
  TRY(bl_alloc(ctx, bl_lanczos_work(d->layout.n, &o), &work));
  TRY(make_mean(ctx, &j));
  const bl_symmetric mean = {.n = d->layout.n, .pairs = j.mean, .scale = 1};
  errno = 0;
  if (bl_lanczos(&mean, &o, work, values, residual, basis) < 0)
    FAIL_OUTSIDE(ctx, BLICA_ERR_NUMERIC, "the eigenvectors of the mean correlation matrix could not be computed");
done:
  bl_free(j.mean);
  return status;
}

/* The mean [n,n]. */
static blica_status full_mean(blica_ctx *ctx, const bl_starts *d, const double *weight, double total, double *mean) {
  mean_job j = {.d = d, .weight = weight, .total = total, .pairs = (int64_t)d->layout.n * (d->layout.n - 1) / 2};
  blica_status status = make_mean(ctx, &j);
  const size_t n = (size_t)d->layout.n;
  for (size_t c = 0; c < n && status == BLICA_OK; c++) {
    mean[c * (n + 1)] = 1;
    for (size_t i = 0; i < c; i++) mean[i + c * n] = mean[c + i * n] = j.mean[c * (c - 1) / 2 + i];
  }
  bl_free(j.mean);
  return status;
}

/* Sets the leading eigenvectors and eigenvalues of the weighted mean of C, from the whole matrix. */
static blica_status leading_full(blica_ctx *ctx, const bl_starts *d, const double *weight, double total, double *basis,
                                 double *values) {
  blica_status status;
  const int n = d->layout.n, k = d->layout.k;
  const size_t nn = (size_t)n * n;
  BL_OWNED double *mean = NULL;
  BL_OWNED int *support = NULL;
  int found = 0;
  TRY(bl_alloc(ctx, nn, &mean));
  TRY(bl_alloc(ctx, 2 * (size_t)n, &support));
  TRY(full_mean(ctx, d, weight, total, mean));
  errno = 0;
  if (bl_dsyevr('L', n, mean, n, n - k + 1, n, &found, values, basis, n, support) != 0 || found != k)
    FAIL_OUTSIDE(ctx, BLICA_ERR_NUMERIC, "the eigenvectors of the mean correlation matrix could not be computed");
done:
  return status;
}

/* Leading k eigenvectors of the weighted mean of C, and the noise: the mean of the other eigenvalues, or half of the
 * least when k = n. */
static blica_status leading_space(blica_ctx *ctx, const bl_starts *d, const double *weight, double *basis,
                                  double *noise) {
  blica_status status;
  const int n = d->layout.n, k = d->layout.k;
  BL_OWNED double *values = NULL;
  double total = 0, leading = 0;
  TRY(bl_alloc(ctx, (size_t)n, &values));
  for (int s = 0; s < d->layout.u; s++) total += weight[s];
  if (n > BL_LANCZOS_FROM && k <= n / 8)
    TRY(leading_packed(ctx, d, weight, total, basis, values));
  else
    TRY(leading_full(ctx, d, weight, total, basis, values));
  for (int j = 0; j < k; j++) leading += values[j];
  *noise = k < n ? (n - leading) / (n - k) : 0.5 * values[0];
  *noise = fmin(fmax(*noise, 0.01), 0.5);
done:
  return status;
}

/* projected [k,k,u] <- basis' C_s basis. */
typedef struct {
  const bl_starts *d;
  const double *basis;
  double *projected;
  double *workspace; /* per thread: [n,k], and the workspace of a product */
  size_t each;
} projection;

static void project_segment(int64_t s, int thread, void *user) {
  const projection *p = user;
  const int n = p->d->layout.n, k = p->d->layout.k;
  double *half = p->workspace + p->each * (size_t)thread, *out = p->projected + (size_t)k * k * (size_t)s;
  bl_symmetric c = bl_cor_view(p->d->cor, (int)s);
  c.scale *= p->d->shrink[s];
  bl_symmetric_product(&c, k, p->basis, half, half + (size_t)n * k);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < k; i++) out[i + k * j] = bl_ddot(n, p->basis + (size_t)n * i, 1, half + (size_t)n * j, 1);
}

/* Projects C of all segments on the basis; ranks share the segments. */
static blica_status project(blica_ctx *ctx, const bl_starts *d, const double *basis, double *projected) {
  const size_t k = (size_t)d->layout.k;
  projection p = {.d = d, .basis = basis, .projected = projected};
  const bl_places list = {projected, k * k};
  bl_split split = {0};
  blica_status status;
  TRY(bl_split_make(ctx, d->layout.u, &split));
  p.each = (size_t)d->layout.n * k + bl_symmetric_work();
  TRY(bl_alloc(ctx, bl_mul(p.each, (size_t)bl_max_threads(ctx)), &p.workspace));
  bl_split_run(ctx, &split, project_segment, &p);
  TRY(bl_split_exchange(ctx, &split, 1, &list, NULL));
done:
  bl_split_free(&split);
  bl_free(p.workspace);
  return status;
}

/* theta from the diagonaliser b [k,k] and the diagonalised matrices. Overwrites b. */
static blica_status unpack(blica_ctx *ctx, const bl_starts *d, double noise, const double *basis,
                           const double *diagonal, double *b, double *theta) {
  const int n = d->layout.n, k = d->layout.k;
  BL_OWNED int *pivots = NULL;
  blica_status status;
  TRY(bl_alloc(ctx, (size_t)k, &pivots));
  for (int j = 0; j < k; j++) {
    double norm = bl_ddot(k, b + j, k, b + j, k);
    for (int s = 0; s < d->layout.u; s++) {
      double variance = diagonal[(size_t)k * k * (size_t)s + (size_t)j * (k + 1)];
      theta[bl_local(&d->layout, s) + (size_t)j] = log(fmax(variance - noise * norm, 0.05 * variance));
    }
  }
  errno = 0;
  if (bl_dgetrf(k, k, b, k, pivots) != 0 || bl_dgetri(k, b, k, pivots) != 0)
    FAIL_OUTSIDE(ctx, BLICA_ERR_NUMERIC, "the joint diagonaliser is singular");
  bl_dgemm('N', 'N', n, k, k, 1 / sqrt(noise * d->layout.link), basis, n, b, k, 0, theta, n);
  centre_variances(d, theta);
  unit_diagonal(d, theta);
done:
  return status;
}

/* The segments' weights; for index > 0 a random half of them is left out. */
static void choose_segments(const bl_starts *d, uint64_t seed, int index, double *weight) {
  bl_rng rng = bl_rng_make(seed, 0x48414c4600000000u + (uint64_t)index);
  memcpy(weight, d->cor->samples, (size_t)d->layout.u * sizeof *weight);
  for (int out = 0; index > 0 && out < d->layout.u / 2;) {
    int s = (int)(bl_rng_uniform(&rng) * d->layout.u);
    out += weight[s] > 0;
    weight[s] = 0;
  }
}

/* Whether random points lead nowhere near, or late (from them the Gaussian likelihood with free scales took ten times
 * the evaluations at n = k = 14 to 28, to the same maximum). */
static bool is_large(int n, int k) {
  return (int64_t)n * k > 100;
}

/* Joint diagonalisation of the correlation matrices in their leading k-dimensional subspace: of all segments for
 * index 0, of a random half of them for others. */
static blica_status start_jointdiag(blica_ctx *ctx, const bl_starts *d, uint64_t seed, int index, double *theta) {
  blica_status status;
  const size_t n = (size_t)d->layout.n, k = (size_t)d->layout.k;
  BL_OWNED double *basis = NULL, *projected = NULL, *b = NULL, *weight = NULL;
  double noise = 0;
  TRY(bl_alloc(ctx, n * k, &basis));
  TRY(bl_alloc(ctx, bl_mul(k * k, (size_t)d->layout.u), &projected));
  TRY(bl_alloc(ctx, k * k, &b));
  TRY(bl_alloc(ctx, (size_t)d->layout.u, &weight));
  choose_segments(d, seed, index, weight);
  TRY(leading_space(ctx, d, weight, basis, &noise));
  TRY(project(ctx, d, basis, projected));
  TRY(bl_jointdiag(ctx, d->layout.k, d->layout.u, weight, projected, MAX_SWEEPS,
                   is_large(d->layout.n, d->layout.k) ? DIAGONAL : 0, b));
  TRY(unpack(ctx, d, noise, basis, projected, b, theta));
done:
  return status;
}

/* ---- which of them ---- */

/* Whether start `index` begins with joint diagonalisation: the first does, and all of large problems. */
static bool by_jointdiag(const bl_layout *layout, int index) {
  return index == 0 || is_large(layout->n, layout->k);
}

blica_status bl_starts_make(blica_ctx *ctx, const bl_layout *layout, const blica_cor *cor, const double *shift,
                            bl_starts *out) {
  blica_status status = BLICA_OK;
  const size_t u = (size_t)cor->u;
  BL_OWNED double *ends = NULL;
  double condition = START_CONDITION;
  *out = (bl_starts){.layout = *layout, .cor = cor};
  TRY(bl_alloc(ctx, u, &out->shrink));
  TRY(bl_alloc(ctx, 2 * u, &ends));
  if (shift)
    memcpy(out->shrink, shift, u * sizeof *shift);
  else
    TRY(bl_agree(ctx, bl_regularise_shifts(ctx, cor, &condition, out->shrink, ends, ends + u)));
  for (size_t s = 0; s < u; s++) out->shrink[s] = 1 / (1 + out->shrink[s]);
done:
  return status;
}

blica_status bl_start_begin(blica_ctx *ctx, const bl_starts *d, uint64_t seed, int index, bool *jointdiag,
                            double *theta) {
  *jointdiag = by_jointdiag(&d->layout, index);
  if (*jointdiag) {
    blica_status status = start_jointdiag(ctx, d, seed, index, theta);
    double sum = 0;
    for (size_t i = 0; i < bl_layout_size(&d->layout); i++) sum += fabs(theta[i]);
    bool usable = status == BLICA_OK && isfinite(sum);
    if (usable || (status != BLICA_OK && status != BLICA_ERR_NUMERIC)) return status;
    *jointdiag = false;
  }
  start_random(d, seed, index, theta);
  return BLICA_OK;
}
