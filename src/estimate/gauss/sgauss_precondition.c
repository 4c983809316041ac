/* sgauss_precondition.c - an approximate inverse Hessian of the scaled Gaussian likelihood for large n k.
 *
 * From the Fisher information keep the blocks that tie a column of A to its own log-variances, and the
 * diagonal of the scales q. Eliminating log v_k leaves for column k the n x n matrix
 *   sum_s N_s b_k^2 (P_kk K - X_k X_k'),  P_kk = a_k' K a_k,  X_k = K a_k,
 * which is blind to the scale of a_k, as it must be. The share b_k P_kk of a weak source goes to 0, and with it this
 * information, faster than the true curvature: EPSILON is added to the share, which also fills the blind direction.
 * Method matched has no q, and K = (M + diag(D_i M_ii))^-1 with D the noise of binary data (docs/method.md, 19 to 21).
 */
#include "estimate/gauss/sgauss_precondition.h"

#include <math.h>
#include <string.h>

#include "estimate/gauss/matched_precondition.h"
#include "estimate/gauss/row_scales.h"
#include "estimate/gauss/sgauss_precondition_low.h"
#include "num/blas.h"

static const double EPSILON = 0.05;
/* Beyond this n, and for k up to a quarter of n, sgauss_precondition_low.c applies the same matrix in n k numbers. */
enum { DENSE_MAX_N = 300, DENSE_MAX_N_NOISE = 120 };

struct bl_sgauss_preconditioner {
  blica_ctx *ctx;
  const bl_sgauss_data *data;
  const double *noise;            /* [n,u] of method matched, or NULL */
  bl_low_preconditioner *low;     /* does all the work when there is one */
  bl_matched_preconditioner *few; /* so does this: few sources of method matched */
  bl_share segments, columns;     /* among ranks */
  double *factor;                 /* [n,n] Cholesky factors of this rank's columns */
  double *x;                      /* [n,k,u] K A */
  double *p;                      /* [k,u] a_k' K a_k */
  double *b;                      /* [k,u] c v */
  double *kinv;                   /* [n,n,u] */
  double *q;                      /* [n,u] diagonal of the scales */
  double *curvature;              /* [n,k] diagonal of the columns' matrices, with noise */
  bl_row_scales rows;             /* with noise */
  double *v;                      /* [u,k] results for log v, column by column */
  const double *theta;
  double *g; /* being multiplied */
};

void bl_sgauss_preconditioner_free(bl_sgauss_preconditioner *p) {
  if (!p) return;
  double *const blocks[] = {p->factor, p->x, p->p, p->b, p->kinv, p->q, p->v, p->curvature};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) bl_free(blocks[i]);
  bl_share_free(&p->segments);
  bl_share_free(&p->columns);
  bl_low_preconditioner_free(p->low);
  bl_matched_preconditioner_free(p->few);
  bl_row_scales_free(&p->rows);
  bl_free(p);
}

blica_status bl_sgauss_preconditioner_make(blica_ctx *ctx, const bl_sgauss_data *data, const double *noise,
                                           bl_sgauss_preconditioner **out) {
  blica_status status;
  bl_sgauss_preconditioner *p = NULL;
  const size_t n = (size_t)data->n, k = (size_t)data->k, u = (size_t)data->u;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &p));
  p->ctx = ctx, p->data = data, p->noise = noise;
  if (noise && bl_matched_precondition_fits(data->n, data->k)) {
    TRY(bl_matched_preconditioner_make(ctx, data, noise, &p->few));
    *out = p;
    p = NULL;
    goto done;
  }
  if (noise) {
    TRY(bl_alloc(ctx, n * k, &p->curvature));
    TRY(bl_row_scales_make(ctx, data->n, data->k, &p->rows));
  }
  if (data->n > (noise ? DENSE_MAX_N_NOISE : DENSE_MAX_N) && data->k <= data->n / 4) {
    TRY(bl_low_preconditioner_make(ctx, data, noise, EPSILON, &p->low));
    *out = p;
    p = NULL;
    goto done;
  }
  TRY(bl_share_make(ctx, data->u, 0, &p->segments));
  TRY(bl_share_make(ctx, data->k, 0, &p->columns));
  TRY(bl_alloc(ctx, bl_mul(n * n, (size_t)(p->columns.last - p->columns.first)), &p->factor));
  TRY(bl_alloc(ctx, k * u, &p->v));
  TRY(bl_alloc(ctx, bl_mul(n * n, u), &p->kinv));
  TRY(bl_alloc(ctx, bl_mul(n * k, u), &p->x));
  TRY(bl_alloc(ctx, k * u, &p->p));
  TRY(bl_alloc(ctx, k * u, &p->b));
  TRY(bl_alloc(ctx, n * u, &p->q));
  *out = bl_take(&p);
done:
  bl_sgauss_preconditioner_free(p);
  return status;
}

/* Where the local parameters of segment s begin. */
static size_t local_at(const bl_sgauss_preconditioner *p, int s) {
  return p->noise ? (size_t)(p->data->n + s) * (size_t)p->data->k : bl_sgauss_local(p->data, s);
}

/* X, K, P and the diagonal of the scales of one segment. */
static void prepare_segment(int64_t s, int thread, void *user) {
  (void)thread;
  bl_sgauss_preconditioner *p = user;
  const bl_sgauss_data *d = p->data;
  const int n = d->n, k = d->k;
  const double *a = p->theta, *local = p->theta + local_at(p, (int)s);
  double *x = p->x + (size_t)n * k * (size_t)s, *kinv = p->kinv + (size_t)n * n * (size_t)s;
  double *b = p->b + (size_t)k * (size_t)s, *q = p->q + (size_t)n * (size_t)s, *m = x; /* m: A diag(b) first */
  for (int j = 0; j < k; j++) {
    b[j] = d->link * exp(local[j]);
    for (int i = 0; i < n; i++) m[i + (size_t)j * n] = a[i + (size_t)j * n] * b[j];
  }
  bl_dgemm('N', 'T', n, n, k, 1, m, n, a, n, 0, kinv, n);
  for (int i = 0; i < n; i++) {
    q[i] = 1 + kinv[i + (size_t)i * n];
    kinv[i + (size_t)i * n] = q[i] * (1 + (p->noise ? p->noise[i + (size_t)n * (size_t)s] : 0));
  }
  bl_dpotrf('L', n, kinv, n);
  bl_dpotri('L', n, kinv, n);
  bl_dsymm('L', 'L', n, k, 1, kinv, n, a, n, 0, x, n);
  for (int j = 0; j < k; j++) p->p[j + (size_t)k * (size_t)s] = bl_ddot(n, a + (size_t)j * n, 1, x + (size_t)j * n, 1);
  for (int i = 0; i < n; i++) q[i] = d->weight[s] * (1 + q[i] * kinv[i + (size_t)i * n]);
}

static void factor_column(int64_t j, int thread, void *user) {
  (void)thread;
  bl_sgauss_preconditioner *p = user;
  const bl_sgauss_data *d = p->data;
  const int n = d->n, k = d->k;
  const size_t nn = (size_t)n * n;
  double *f = p->factor + nn * (size_t)(j - p->columns.first), trace = 0;
  memset(f, 0, nn * sizeof *f);
  for (int s = 0; s < d->u; s++) {
    size_t at = (size_t)j + (size_t)k * (size_t)s;
    double scale = d->weight[s] * p->b[at], share = p->b[at] * p->p[at];
    const double *kinv = p->kinv + nn * (size_t)s;
    for (int c = 0; c < n; c++)
      bl_daxpy(n - c, scale * (share + EPSILON), kinv + c + (size_t)c * n, 1, f + c + (size_t)c * n, 1);
    bl_dsyr('L', n, scale * p->b[at] * (1 - 2 * share / (share + EPSILON)), p->x + (size_t)n * (size_t)(j + k * s), 1,
            f, n);
  }
  for (int i = 0; i < n; i++) trace += f[i + (size_t)i * n];
  for (int i = 0; i < n; i++) f[i + (size_t)i * n] += 1e-9 * trace / n + d->precision_mixing;
  bl_dpotrf('L', n, f, n);
}

/* The diagonal of the matrices of factor_column, for all columns on every rank. */
static void fill_curvature(bl_sgauss_preconditioner *p) {
  const bl_sgauss_data *d = p->data;
  const size_t n = (size_t)d->n, k = (size_t)d->k;
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < n; i++) {
      double sum = d->precision_mixing;
      for (size_t s = 0; s < (size_t)d->u; s++) {
        const double b = p->b[j + k * s], share = b * p->p[j + k * s], x = p->x[i + n * (j + k * s)];
        sum += d->weight[s] * b * (share + EPSILON) * p->kinv[i * (n + 1) + n * n * s] +
               d->weight[s] * b * b * (1 - 2 * share / (share + EPSILON)) * x * x;
      }
      p->curvature[i + j * n] = sum;
    }
}

static void set_low(bl_sgauss_preconditioner *p, const double *theta) {
  const int n = p->data->n;
  bl_low_preconditioner_set(p->low, theta);
  for (int j = 0; j < p->data->k && p->noise; j++)
    for (int i = 0; i < n; i++) p->curvature[i + (size_t)j * n] = bl_low_preconditioner_outside(p->low, j);
}

static void set_dense(bl_sgauss_preconditioner *p, const double *theta) {
  p->theta = theta;
  const size_t n = (size_t)p->data->n, k = (size_t)p->data->k;
  const bl_places lists[] = {{p->x, n * k}, {p->kinv, n * n}, {p->p, k}, {p->b, k}, {p->q, n}};
  bl_share_run(p->ctx, &p->segments, prepare_segment, p);
  if (bl_share_exchange(p->ctx, &p->segments, 5, lists, NULL) != BLICA_OK) return; /* the fit ends with bl_comm_check */
  bl_share_run(p->ctx, &p->columns, factor_column, p);
  if (p->noise) fill_curvature(p);
}

void bl_sgauss_preconditioner_set(bl_sgauss_preconditioner *p, const double *theta) {
  if (p->few) {
    bl_matched_preconditioner_set(p->few, theta);
    return;
  }
  (p->low ? set_low : set_dense)(p, theta);
  if (p->noise) bl_row_scales_set(&p->rows, p->data, p->noise, theta, p->curvature);
}

/* Column j of A and its log-variances. */
static void apply_column(int64_t j, int thread, void *user) {
  const bl_sgauss_preconditioner *p = user;
  const bl_sgauss_data *d = p->data;
  const int n = d->n, k = d->k;
  double *column = p->g + (size_t)j * (size_t)n;
  (void)thread;
  for (int s = 0; s < d->u; s++) {
    size_t at = (size_t)j + (size_t)k * (size_t)s;
    double tie = 2 * p->b[at] / (p->b[at] * p->p[at] + EPSILON);
    bl_daxpy(n, -tie * p->g[local_at(p, s) + (size_t)j], p->x + (size_t)n * at, 1, column, 1);
  }
  bl_dpotrs('L', n, 1, p->factor + (size_t)n * n * (size_t)(j - p->columns.first), n, column, n);
  for (int s = 0; s < d->u; s++) {
    size_t at = (size_t)j + (size_t)k * (size_t)s;
    double share = p->b[at] * p->p[at], tie = 2 * p->b[at] / (share + EPSILON);
    p->v[(size_t)j * (size_t)d->u + (size_t)s] =
        p->g[local_at(p, s) + (size_t)j] / (0.5 * d->weight[s] * share * (share + EPSILON) + d->precision_variance) -
        tie * bl_ddot(n, p->x + (size_t)n * at, 1, column, 1);
  }
}

static void apply_dense(bl_sgauss_preconditioner *p, double *g) {
  const bl_sgauss_data *d = p->data;
  const int n = d->n, k = d->k;
  const bl_places lists[] = {{g, (size_t)n}, {p->v, (size_t)d->u}};
  p->g = g;
  bl_share_run(p->ctx, &p->columns, apply_column, p);
  if (bl_share_exchange(p->ctx, &p->columns, 2, lists, NULL) != BLICA_OK) return;
  for (int s = 0; s < d->u; s++) {
    double *local = g + local_at(p, s);
    for (int j = 0; j < k; j++) local[j] = p->v[(size_t)j * (size_t)d->u + (size_t)s];
    for (int i = 0; i < n && !p->noise; i++) local[k + i] /= p->q[i + (size_t)n * (size_t)s];
  }
}

bool bl_sgauss_preconditioner_scores(const bl_sgauss_preconditioner *p) {
  return p->few != NULL;
}

void bl_sgauss_preconditioner_apply(bl_sgauss_preconditioner *p, double *g) {
  if (p->few) {
    bl_matched_preconditioner_apply(p->few, g);
    return;
  }
  if (p->noise) bl_row_scales_remember(&p->rows, g);
  if (p->low)
    bl_low_preconditioner_apply(p->low, g);
  else
    apply_dense(p, g);
  if (p->noise) bl_row_scales_add(&p->rows, local_at(p, p->data->u), g);
}
