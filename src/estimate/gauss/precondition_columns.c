/* precondition_columns.c - an approximate inverse Hessian of the Gaussian likelihood with free scales; the choice of
 * one.
 *
 * From Fisher's information keep the blocks that tie a column of A to its own log-variances, and the diagonal of the
 * scales. With K = M^-1, eliminating log v_k leaves for column k the n x n matrix
 *   sum_s N_s b_k^2 (P_kk K - X_k X_k'),  P_kk = a_k' K a_k,  X_k = K a_k,
 * which is blind to the scale of a_k, as it must be. The share b_k P_kk of a weak source goes to 0, and with it this
 * information, faster than the true curvature: EPSILON is added to the share, which also fills the blind direction. K =
 * I
 * - X diag(b) A', so that sums over segments cost products of n x k matrices. On n = k = 50 L-BFGS takes some 110
 * iterations with it, and 4 000 without. */
#include <math.h>
#include <string.h>

#include "estimate/gauss/information.h"
#include "num/linear/blas.h"

static const double EPSILON = 0.05, LEAST_B = 1e-100;

typedef struct {
  blica_ctx *ctx;
  const bl_criterion *criterion;
  double *factor;      /* [n,n,k] Cholesky factors of the columns' matrices */
  double *x;           /* [n,k,u] K A */
  double *share;       /* [k,u] b_k P_kk */
  double *b;           /* [k,u] c v */
  double *q;           /* [n,u] diagonal of the scales */
  double *sum;         /* [n,k,k] per column, sum_s N_s b_k (share + EPSILON) X diag(b) */
  double *capacitance; /* [k,k] per thread */
  const double *theta;
  double *g; /* being multiplied */
} by_columns;

/* X, b, the shares and the diagonal of the scales of one segment. */
static void prepare_segment(int64_t s, int thread, void *user) {
  by_columns *p = user;
  const bl_layout *d = &p->criterion->layout;
  const int n = d->n, k = d->k;
  const double *a = p->theta, *log_v = a + bl_local(d, (int)s);
  double *x = p->x + (size_t)n * k * (size_t)s, *b = p->b + (size_t)k * (size_t)s, *q = p->q + (size_t)n * (size_t)s,
         *w = p->capacitance + (size_t)k * k * (size_t)thread;
  for (int j = 0; j < k; j++) {
    b[j] = fmax(d->link * exp(log_v[j]), LEAST_B);
    for (int i = 0; i < n; i++) x[i + (size_t)j * n] = a[i + (size_t)j * n] * sqrt(b[j]);
  }
  bl_dsyrk('L', 'T', k, n, 1, x, n, 0, w, k);
  for (int j = 0; j < k; j++) w[(size_t)j * (k + 1)] += 1;
  bl_dpotrf('L', k, w, k);
  bl_dtrsm('R', 'L', 'T', 'N', n, k, 1, w, k, x, n);
  bl_dtrsm('R', 'L', 'N', 'N', n, k, 1, w, k, x, n);
  for (int i = 0; i < n; i++) q[i] = 0; /* M_ii - 1, then N (1 + M_ii K_ii) */
  for (int j = 0; j < k; j++) {
    bl_dscal(n, 1 / sqrt(b[j]), x + (size_t)j * n, 1);
    p->share[j + (size_t)k * (size_t)s] = b[j] * bl_ddot(n, a + (size_t)j * n, 1, x + (size_t)j * n, 1);
    for (int i = 0; i < n; i++) q[i] += b[j] * a[i + (size_t)j * n] * a[i + (size_t)j * n];
  }
  for (int i = 0; i < n; i++) {
    double inverse = 1;
    for (int j = 0; j < k; j++) inverse -= b[j] * a[i + (size_t)j * n] * x[i + (size_t)j * n];
    q[i] = p->criterion->gauss->samples[s] * (1 + (1 + q[i]) * inverse);
  }
}

/* Sets the block of column j of A, with the precision of its prior, and factors it. */
static void factor_column(int64_t j, int thread, void *user) {
  by_columns *p = user;
  const bl_layout *d = &p->criterion->layout;
  const int n = d->n, k = d->k;
  double *f = p->factor + (size_t)n * n * (size_t)j, *sum = p->sum + (size_t)n * k * (size_t)j, whole = 0, trace = 0;
  (void)thread;
  memset(f, 0, (size_t)n * n * sizeof *f);
  memset(sum, 0, (size_t)n * k * sizeof *sum);
  for (int s = 0; s < d->u; s++) {
    const size_t at = (size_t)j + (size_t)k * (size_t)s;
    const double scale = p->criterion->gauss->samples[s] * p->b[at], share = p->share[at];
    whole += scale * (share + EPSILON);
    for (int l = 0; l < k; l++)
      bl_daxpy(n, scale * (share + EPSILON) * p->b[l + (size_t)k * s], p->x + (size_t)n * (l + (size_t)k * s), 1,
               sum + (size_t)n * l, 1);
    bl_dsyr('L', n, scale * p->b[at] * (1 - 2 * share / (share + EPSILON)), p->x + (size_t)n * at, 1, f, n);
  }
  bl_dgemm('N', 'T', n, n, k, -1, sum, n, p->theta, n, 1, f, n);
  for (int i = 0; i < n; i++) trace += f[(size_t)i * (n + 1)] += whole;
  for (int i = 0; i < n; i++) f[(size_t)i * (n + 1)] += 1e-9 * trace / n + p->criterion->precision_mixing;
  bl_dpotrf('L', n, f, n);
}

/* Builds the preconditioner at theta. */
static void set_point(void *own, const double *theta) {
  by_columns *p = own;
  p->theta = theta;
  bl_parallel(p->ctx, p->criterion->layout.u, prepare_segment, p);
  bl_parallel(p->ctx, p->criterion->layout.k, factor_column, p);
}

/* Column j of A and its log-variances. */
static void apply_column(int64_t j, int thread, void *user) {
  const by_columns *p = user;
  const bl_layout *d = &p->criterion->layout;
  const int n = d->n, k = d->k;
  double *column = p->g + (size_t)j * (size_t)n;
  (void)thread;
  for (int s = 0; s < d->u; s++) {
    const size_t at = (size_t)j + (size_t)k * (size_t)s;
    const double tie = 2 * p->b[at] / (p->share[at] + EPSILON);
    bl_daxpy(n, -tie * p->g[bl_local(d, s) + (size_t)j], p->x + (size_t)n * at, 1, column, 1);
  }
  bl_dpotrs('L', n, 1, p->factor + (size_t)n * n * (size_t)j, n, column, n);
  for (int s = 0; s < d->u; s++) {
    const size_t at = (size_t)j + (size_t)k * (size_t)s;
    const double share = p->share[at], tie = 2 * p->b[at] / (share + EPSILON);
    double *own = &p->g[bl_local(d, s) + (size_t)j];
    *own =
        *own / (0.5 * p->criterion->gauss->samples[s] * share * (share + EPSILON) + p->criterion->precision_variance) -
        tie * bl_ddot(n, p->x + (size_t)n * at, 1, column, 1);
  }
}

/* Applies the preconditioner to the gradient g. */
static void apply_columns(void *own, double *g) {
  by_columns *p = own;
  const bl_layout *d = &p->criterion->layout;
  p->g = g;
  bl_parallel(p->ctx, d->k, apply_column, p);
  for (int s = 0; s < d->u; s++)
    for (int i = 0; i < d->n; i++) g[bl_local(d, s) + (size_t)(d->k + i)] /= p->q[i + (size_t)d->n * (size_t)s];
}

static blica_status by_columns_make(blica_ctx *ctx, const bl_criterion *criterion, bl_preconditioner *out) {
  BL_OWNED by_columns *p = NULL;
  const size_t n = (size_t)criterion->layout.n, k = (size_t)criterion->layout.k, u = (size_t)criterion->layout.u;
  MUST(bl_alloc(ctx, 1, &p));
  p->ctx = ctx, p->criterion = criterion;
  MUST(bl_alloc_for(ctx, p, bl_mul(n * n, k), &p->factor));
  MUST(bl_alloc_for(ctx, p, bl_mul(n * k, u), &p->x));
  MUST(bl_alloc_for(ctx, p, bl_mul(n * k, k), &p->sum));
  MUST(bl_alloc_for(ctx, p, k * u, &p->share));
  MUST(bl_alloc_for(ctx, p, k * u, &p->b));
  MUST(bl_alloc_for(ctx, p, n * u, &p->q));
  MUST(bl_alloc_for(ctx, p, bl_mul(k * k, (size_t)bl_max_threads(ctx)), &p->capacitance));
  *out = (bl_preconditioner){.own = bl_take(&p), .close = bl_free, .set = set_point, .apply = apply_columns};
  return BLICA_OK;
}

blica_status bl_preconditioner_make(blica_ctx *ctx, const bl_criterion *criterion, bl_preconditioner *out) {
  const bl_layout *p = &criterion->layout;
  *out = (bl_preconditioner){.own = NULL};
  if (p->locals > p->k) return by_columns_make(ctx, criterion, out);
  if (bl_precondition_whole_fits(criterion)) return bl_precondition_whole(ctx, criterion, out);
  return bl_precondition_rows_fits(p) ? bl_precondition_rows(ctx, criterion, out) : BLICA_OK;
}
