/* mean_errors.c - means and cuts solve sqrt(c) A mu_s - tau = t_s sqrt(M_s,ii) (model/solve_means.c), so that their
 * errors come from those of A and v and from those of the thresholds t_s. Both are drawn from their asymptotic normal
 * distributions, the equations are solved for each draw, and the standard deviations over draws are the errors.
 * That the thresholds are also correlated with the estimates of A and v is left out. Checked against the bootstrap and
 * by simulation. */
#include "inference/errors.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "model/model.h"
#include "num/linear/blas.h"
#include "num/rng.h"

enum { DRAWS = 200 };

typedef struct {
  blica_ctx *ctx;
  const blica_model *model;
  const blica_counts *counts;
  blica_model *drawn;
  size_t p, columns, u, k;
  bool cuts;
  double *root;          /* [p,p] of the covariance of A and log v; it owns the other arrays */
  double *threshold;     /* [columns,columns,u] roots of the covariances of the thresholds; borrowed */
  double *z, *theta;     /* [max(p, columns)], [p] */
  double *sum, *squares; /* [ku + columns] */
} job;

/* matrix [n,n] <- a root R of it, R R' = matrix; directions of negative variance count as 0. values [n]. */
static bool take_root(size_t n, double *matrix, double *values) {
  errno = 0;
  if (bl_dsyevd('V', 'L', (int)n, matrix, (int)n, values) != 0) return false;
  for (size_t c = 0; c < n; c++) bl_dscal((int)n, sqrt(fmax(0, values[c])), matrix + n * c, 1);
  return true;
}

static void multiply(const double *root, size_t n, bl_rng *rng, double *z, double *out) {
  for (size_t i = 0; i < n; i++) z[i] = bl_rng_normal(rng);
  bl_dgemv('N', (int)n, (int)n, 1, root, (int)n, z, 1, 1, out, 1);
}

static blica_status one_draw(job *b, uint64_t seed, int d) {
  const blica_model *m = b->model;
  const size_t nk = (size_t)m->n * b->k;
  bl_rng rng = bl_rng_make(seed, (7ull << 60) + (uint64_t)d);
  memcpy(b->theta, m->mixing, nk * sizeof *b->theta);
  for (size_t i = nk; i < b->p; i++) b->theta[i] = log(m->variances[i - nk]);
  multiply(b->root, b->p, &rng, b->z, b->theta);
  memcpy(b->drawn->mixing, b->theta, nk * sizeof *b->theta);
  for (size_t i = nk; i < b->p; i++) b->drawn->variances[i - nk] = exp(b->theta[i]);
  memcpy(b->drawn->thresholds, m->thresholds, b->columns * b->u * sizeof(double));
  for (size_t s = 0; s < b->u; s++)
    multiply(b->threshold + b->columns * b->columns * s, b->columns, &rng, b->z, b->drawn->thresholds + b->columns * s);
  for (size_t i = 0; i < b->columns * b->u; i++)
    if (!(b->counts->present[i] > 0)) b->drawn->thresholds[i] = NAN; /* nobody was asked */
  MUST(bl_solve_means(b->ctx, b->drawn, b->cuts));
  if (b->cuts) bl_model_center(b->drawn);
  for (size_t i = 0; i < b->k * b->u + b->columns; i++) {
    const double x =
        i < b->k * b->u ? b->drawn->means[i] - m->means[i] : b->drawn->cuts[i - b->k * b->u] - m->cuts[i - b->k * b->u];
    b->sum[i] += x, b->squares[i] += x * x;
  }
  return BLICA_OK;
}

/* Allocates, and takes the square roots of the covariances to draw from. */
static blica_status make_roots(job *b, const double *covariance) {
  const size_t most = b->p > b->columns ? b->p : b->columns, square = b->columns * b->columns;
  MUST(bl_model_like(b->ctx, b->model, &b->drawn));
  MUST(bl_alloc(b->ctx, b->p * b->p, &b->root));
  MUST(bl_alloc_for(b->ctx, b->root, most, &b->z));
  MUST(bl_alloc_for(b->ctx, b->root, b->p, &b->theta));
  MUST(bl_alloc_for(b->ctx, b->root, b->k * b->u + b->columns, &b->sum));
  MUST(bl_alloc_for(b->ctx, b->root, b->k * b->u + b->columns, &b->squares));
  memcpy(b->root, covariance, b->p * b->p * sizeof *b->root);
  bool fine = take_root(b->p, b->root, b->z);
  for (size_t s = 0; s < b->u && fine; s++) fine = take_root(b->columns, b->threshold + square * s, b->z);
  if (!fine)
    MUST(bl_fail_outside(b->ctx, BLICA_ERR_NUMERIC, "the covariance of the thresholds could not be decomposed"));
  return BLICA_OK;
}

blica_status bl_mean_errors(blica_ctx *ctx, const blica_model *model, const blica_counts *counts, double *thresholds,
                            const double *covariance, size_t p, uint64_t seed, double *mean_se, double *cut_se) {
  blica_status status;
  job b = {
      .ctx = ctx, .model = model, .counts = counts, .p = p, .columns = (size_t)model->planes, .u = (size_t)model->u};
  b.k = (size_t)model->k, b.threshold = thresholds;
  for (int c = 0; c < model->planes; c++) b.cuts = b.cuts || model->cuts[c] != 0;
  bl_blas_hold();
  TRY(make_roots(&b, covariance));
  for (int d = 0; d < DRAWS; d++) TRY(one_draw(&b, seed, d));
  for (size_t i = 0; i < b.k * b.u + b.columns; i++) {
    const double mean = b.sum[i] / DRAWS, deviation = sqrt(fmax(0, b.squares[i] / DRAWS - mean * mean));
    *(i < b.k * b.u ? &mean_se[i] : &cut_se[i - b.k * b.u]) = b.cuts || i < b.k * b.u ? deviation : 0;
  }
done:
  bl_blas_release();
  blica_model_free(b.drawn);
  bl_free(b.root);
  return status;
}
