/* starts.c - starting points.
 *
 * With many variables the diagonal of M_s hardly varies over segments, so C_s is close to Q A V_s A' Q plus
 * noise: jointly diagonalising the C_s gives A up to the scales Q. For k < n this happens in the leading
 * k-dimensional eigenspace of the mean correlation matrix, the rest being read as noise. */
#include "estimate/gauss/starts.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "num/blas.h"
#include "num/jointdiag.h"
#include "num/lanczos.h"
#include "num/products.h"
#include "num/rng.h"

enum { MAX_SWEEPS = 100 };
/* Of joint diagonalisation in large problems, relative: a fit goes on from there, and sweeps cost as much as it. */
static const double DIAGONAL = 0.02;

/* q such that S = Q M Q has a unit diagonal. */
static void unit_diagonal(const bl_sgauss_data *d, double *theta) {
  for (int s = 0; s < d->u; s++) {
    double *local = theta + bl_sgauss_local(d, s);
    for (int i = 0; i < d->n; i++) {
      double diagonal = 1;
      for (int j = 0; j < d->k; j++) {
        double a = theta[i + (size_t)j * d->n];
        diagonal += d->link * a * a * exp(local[j]);
      }
      local[d->k + i] = -0.5 * log(diagonal);
    }
  }
}

/* The mean of log v to 0 for each source, the column of A taking the scale. */
static void centre_variances(const bl_sgauss_data *d, double *theta) {
  for (int j = 0; j < d->k; j++) {
    double mean = 0;
    for (int s = 0; s < d->u; s++) mean += theta[bl_sgauss_local(d, s) + (size_t)j] / d->u;
    for (int s = 0; s < d->u; s++) theta[bl_sgauss_local(d, s) + (size_t)j] -= mean;
    for (int i = 0; i < d->n; i++) theta[i + (size_t)j * d->n] *= exp(0.5 * mean);
  }
}

/* A ~ unif(-3,3), v ~ unif(0.5,1.5), q such that S has a unit diagonal. Start number `index` of a seed. */
static void start_random(const bl_sgauss_data *d, uint64_t seed, int index, double *theta) {
  bl_rng rng = bl_rng_make(seed, 0x5741525400000000u + (uint64_t)index);
  for (size_t i = 0; i < (size_t)d->n * d->k; i++) theta[i] = 6 * bl_rng_uniform(&rng) - 3;
  for (int s = 0; s < d->u; s++)
    for (int j = 0; j < d->k; j++) theta[bl_sgauss_local(d, s) + (size_t)j] = log(0.5 + bl_rng_uniform(&rng));
  unit_diagonal(d, theta);
}

/* ---- the mean matrix, packed ---- */

/* Block by block of pairs, so that the sum stays in cache and the matrices are read once. */
enum { PAIR_BLOCK = 1 << 14 };
typedef struct {
  const bl_sgauss_data *d;
  const double *weight;
  double total, *mean; /* [pairs] */
  int64_t pairs;
} mean_job;

/* Adds a block of all segments, one after the other. */
static void mean_block(int64_t block, int thread, void *user) {
  (void)thread;
  const mean_job *j = user;
  const bl_sgauss_data *d = j->d;
  const int64_t from = block * PAIR_BLOCK, to = from + PAIR_BLOCK < j->pairs ? from + PAIR_BLOCK : j->pairs;
  for (int s = 0; s < d->u; s++) {
    const double *pairs = bl_sgauss_pairs(d, s), share = j->weight[s] / j->total * d->scale[s];
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

typedef struct {
  bl_symmetric mean;
  double *values, *residual, *basis;
  int outcome, error;
} leading_job;

static bl_symmetric mean_of(int s, void *user) {
  (void)s;
  return ((leading_job *)user)->mean;
}

static void keep_leading(int s, int outcome, int error, const bl_lanczos_run *run, void *user) {
  leading_job *l = user;
  (void)s;
  l->outcome = outcome, l->error = error;
  bl_lanczos_end(run, l->values, l->residual, l->basis);
}

/* Leading eigenvectors of a packed mean matrix. As the beginning of a fit they need no more than few digits. */
static blica_status leading_packed(blica_ctx *ctx, const bl_sgauss_data *d, const double *weight, double total,
                                   double *basis, double *values) {
  blica_status status;
  const bl_lanczos_options o = {.high = d->k, .tolerance = 1e-6, .max_steps = 300 + 2 * d->k};
  mean_job j = {.d = d, .weight = weight, .total = total, .pairs = (int64_t)d->n * (d->n - 1) / 2};
  leading_job l = {.values = values, .basis = basis};
  const bl_lanczos_job job = {.count = 1, .o = &o, .matrix = mean_of, .end = keep_leading, .user = &l};
  TRY(bl_alloc(ctx, (size_t)d->k, &l.residual));
  TRY(make_mean(ctx, &j));
  l.mean = (bl_symmetric){.n = d->n, .pairs = j.mean, .scale = 1};
  TRY(bl_lanczos_together(ctx, d->n, &job));
  errno = l.error;
  if (l.outcome < 0)
    FAIL_OUTSIDE(ctx, BLICA_ERR_NUMERIC, "the eigenvectors of the mean correlation matrix could not be computed");
done:
  bl_free(j.mean);
  bl_free(l.residual);
  return status;
}

/* The mean [n,n] of matrices that are kept full. */
static blica_status add_full(blica_ctx *ctx, const bl_sgauss_data *d, const double *weight, double total,
                             double *mean) {
  const size_t nn = (size_t)d->n * (size_t)d->n;
  BL_OWNED double *matrix = NULL;
  MUST(bl_alloc(ctx, nn, &matrix));
  for (int s = 0; s < d->u; s++) {
    bl_sgauss_matrix(d, s, matrix);
    for (size_t i = 0; i < nn; i++) mean[i] += weight[s] / total * matrix[i];
  }
  return BLICA_OK;
}

static blica_status add_packed(blica_ctx *ctx, const bl_sgauss_data *d, const double *weight, double total,
                               double *mean) {
  mean_job j = {.d = d, .weight = weight, .total = total, .pairs = (int64_t)d->n * (d->n - 1) / 2};
  blica_status status = make_mean(ctx, &j);
  const size_t n = (size_t)d->n;
  for (size_t c = 0; c < n && status == BLICA_OK; c++) {
    mean[c * (n + 1)] = 1;
    for (size_t i = 0; i < c; i++) mean[i + c * n] = mean[c + i * n] = j.mean[c * (c - 1) / 2 + i];
  }
  bl_free(j.mean);
  return status;
}

static blica_status leading_full(blica_ctx *ctx, const bl_sgauss_data *d, const double *weight, double total,
                                 double *basis, double *values, double *trace) {
  blica_status status;
  const int n = d->n, k = d->k;
  const size_t nn = (size_t)n * n;
  BL_OWNED double *mean = NULL;
  BL_OWNED int *support = NULL;
  int found = 0;
  TRY(bl_alloc(ctx, nn, &mean));
  TRY(bl_alloc(ctx, 2 * (size_t)n, &support));
  TRY((d->c ? add_full : add_packed)(ctx, d, weight, total, mean));
  *trace = 0;
  for (int i = 0; i < n; i++) *trace += mean[(size_t)i * (n + 1)];
  errno = 0;
  if (bl_dsyevr('L', n, mean, n, n - k + 1, n, &found, values, basis, n, support) != 0 || found != k)
    FAIL_OUTSIDE(ctx, BLICA_ERR_NUMERIC, "the eigenvectors of the mean correlation matrix could not be computed");
done:
  return status;
}

/* Leading k eigenvectors of the weighted mean of C, and the noise: the mean of the other eigenvalues, or half of
 * the least when there are none. */
static blica_status leading_space(blica_ctx *ctx, const bl_sgauss_data *d, const double *weight, double *basis,
                                  double *noise) {
  blica_status status;
  const int n = d->n, k = d->k;
  BL_OWNED double *values = NULL;
  double total = 0, trace = n, leading = 0;
  TRY(bl_alloc(ctx, (size_t)n, &values));
  for (int s = 0; s < d->u; s++) total += weight[s];
  if (!d->c && k <= n / 8)
    TRY(leading_packed(ctx, d, weight, total, basis, values));
  else
    TRY(leading_full(ctx, d, weight, total, basis, values, &trace));
  for (int j = 0; j < k; j++) leading += values[j];
  *noise = k < n ? (trace - leading) / (n - k) : 0.5 * values[0];
  *noise = fmin(fmax(*noise, 0.01), 0.5);
done:
  return status;
}

/* projected [k,k,u] <- basis' C_s basis. */
typedef struct {
  const bl_sgauss_data *d;
  const double *basis;
  double *projected;
  double *workspace; /* per thread: [n,k], and a matrix with lanes or the workspace of a product */
  size_t each;
  const bl_products *products; /* made already, of the segments from base on, or NULL */
  int base;
} projection;

static void project_segment(int64_t s, int thread, void *user) {
  const projection *p = user;
  const bl_sgauss_data *d = p->d;
  const int n = d->n, k = d->k;
  double *half = p->workspace + p->each * (size_t)thread, *work = half + (size_t)n * k;
  bl_symmetric c = {.n = n, .full = work};
  if (d->lanes)
    bl_sgauss_matrix(d, (int)s, work);
  else
    c = bl_sgauss_view(d, (int)s);
  if (p->products)
    bl_products_take(p->products, (int)s - p->base, &c, p->basis, 0, n, half);
  else
    bl_symmetric_product(&c, k, p->basis, half, work);
  bl_dgemm('T', 'N', k, k, n, 1, p->basis, n, half, n, 0, p->projected + (size_t)k * k * (size_t)s, k);
}

/* The products of packed matrices, shared where there are fewer of them than threads. */
static blica_status multiply_shared(blica_ctx *ctx, const bl_share *share, projection *p, bl_products *products) {
  const bl_sgauss_data *d = p->d;
  const int count = (int)(share->last - share->first);
  BL_OWNED bl_symmetric *matrix = NULL;
  BL_OWNED const double **x = NULL;
  blica_status status = BLICA_OK;
  if (d->lanes || d->c || count == 0 || count >= bl_max_threads(ctx)) return BLICA_OK;
  p->base = (int)share->first;
  TRY(bl_products_make(ctx, d->n, d->k, count, products));
  TRY(bl_alloc(ctx, (size_t)count, &matrix));
  TRY(bl_alloc(ctx, (size_t)count, &x));
  for (int s = 0; s < count; s++) matrix[s] = bl_sgauss_view(d, p->base + s), x[s] = p->basis;
  TRY(bl_products_run(products, matrix, x));
  p->products = products;
done:
  return status;
}

static blica_status project(blica_ctx *ctx, const bl_sgauss_data *d, const double *basis, double *projected) {
  const size_t n = (size_t)d->n, k = (size_t)d->k;
  projection p = {.d = d, .basis = basis, .projected = projected};
  const bl_places list = {projected, k * k};
  bl_share share = {0};
  bl_products products = {0};
  blica_status status;
  TRY(bl_share_make(ctx, d->u, bl_sgauss_groups(d->n, d->k, d->u), &share));
  TRY(multiply_shared(ctx, &share, &p, &products));
  p.each = n * k + (d->lanes ? n * n : p.products ? 0 : bl_symmetric_work(d->n, d->k));
  TRY(bl_alloc(ctx, bl_mul(p.each, (size_t)bl_max_threads(ctx)), &p.workspace));
  bl_share_run(ctx, &share, project_segment, &p);
  TRY(bl_share_exchange(ctx, &share, 1, &list, NULL));
done:
  bl_products_free(&products);
  bl_share_free(&share);
  bl_free(p.workspace);
  return status;
}

/* theta from the diagonaliser b [k,k] and the diagonalised matrices. Overwrites b. */
static blica_status unpack(blica_ctx *ctx, const bl_sgauss_data *d, double noise, const double *basis,
                           const double *diagonal, double *b, double *theta) {
  const int n = d->n, k = d->k;
  BL_OWNED int *pivots = NULL;
  blica_status status;
  TRY(bl_alloc(ctx, (size_t)k, &pivots));
  for (int j = 0; j < k; j++) {
    double norm = bl_ddot(k, b + j, k, b + j, k);
    for (int s = 0; s < d->u; s++) {
      double variance = diagonal[(size_t)k * k * (size_t)s + (size_t)j * (k + 1)];
      theta[bl_sgauss_local(d, s) + (size_t)j] = log(fmax(variance - noise * norm, 0.05 * variance));
    }
  }
  errno = 0;
  if (bl_dgetrf(k, k, b, k, pivots) != 0 || bl_dgetri(k, b, k, pivots) != 0)
    FAIL_OUTSIDE(ctx, BLICA_ERR_NUMERIC, "the joint diagonaliser is singular");
  bl_dgemm('N', 'N', n, k, k, 1 / sqrt(noise * d->link), basis, n, b, k, 0, theta, n);
  centre_variances(d, theta);
  unit_diagonal(d, theta);
done:
  return status;
}

/* The segments' weights; for index > 0 a random half of them is left out. */
static void choose_segments(const bl_sgauss_data *d, uint64_t seed, int index, double *weight) {
  bl_rng rng = bl_rng_make(seed, 0x48414c4600000000u + (uint64_t)index);
  memcpy(weight, d->weight, (size_t)d->u * sizeof *weight);
  for (int out = 0; index > 0 && out < d->u / 2;) {
    int s = (int)(bl_rng_uniform(&rng) * d->u);
    out += weight[s] > 0;
    weight[s] = 0;
  }
}

/* Joint diagonalisation of the correlation matrices in their leading k-dimensional subspace: of all segments for
 * index 0, of a random half of them for others. */
static blica_status start_jointdiag(blica_ctx *ctx, const bl_sgauss_data *d, uint64_t seed, int index, double *theta) {
  blica_status status;
  const size_t n = (size_t)d->n, k = (size_t)d->k;
  BL_OWNED double *basis = NULL, *projected = NULL, *b = NULL, *weight = NULL;
  double noise = 0;
  TRY(bl_alloc(ctx, n * k, &basis));
  TRY(bl_alloc(ctx, bl_mul(k * k, (size_t)d->u), &projected));
  TRY(bl_alloc(ctx, k * k, &b));
  TRY(bl_alloc(ctx, (size_t)d->u, &weight));
  choose_segments(d, seed, index, weight);
  TRY(leading_space(ctx, d, weight, basis, &noise));
  TRY(project(ctx, d, basis, projected));
  TRY(bl_jointdiag(ctx, d->k, d->u, weight, projected, MAX_SWEEPS, bl_start_is_large(d->n, d->k) ? DIAGONAL : 0, b));
  TRY(unpack(ctx, d, noise, basis, projected, b, theta));
done:
  return status;
}

/* ---- which of them ---- */

bool bl_start_is_large(int n, int k) {
  return (int64_t)n * k > 100;
}

bool bl_start_by_jointdiag(int n, int k, int index) {
  return index == 0 || bl_start_is_large(n, k);
}

blica_status bl_start_begin(blica_ctx *ctx, const bl_sgauss_data *d, uint64_t seed, int index, bool *jointdiag,
                            double *theta) {
  if (*jointdiag) {
    blica_status status = start_jointdiag(ctx, d, seed, index, theta);
    double sum = 0;
    for (size_t i = 0; i < bl_sgauss_size(d); i++) sum += fabs(theta[i]);
    bool usable = status == BLICA_OK && isfinite(sum);
    if (usable || (status != BLICA_OK && status != BLICA_ERR_NUMERIC)) return status;
    *jointdiag = false;
  }
  start_random(d, seed, index, theta);
  return BLICA_OK;
}

const char *bl_start_kind(bool jointdiag, int index) {
  return !jointdiag ? "random" : index ? "half" : "jointdiag";
}
