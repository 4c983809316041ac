/* sgauss_dense.c - the scaled Gaussian likelihood of one segment by BLAS, for n too large for lanes.
 *
 * Same formulas as sgauss_kernel.c. No n x n matrix is formed or factored (Woodbury): one evaluation costs
 * one n x n by n x k product with C and products of size k. Checked against plain formulas and differences in
 * tests/identity/test_sgauss.c. */
#include <math.h>
#include <string.h>

#include "estimate/gauss/sgauss_kernels.h"
#include "num/blas.h"

enum { MOST_BLOCKS = 32 };
static const double BLOCK_WORK = 1.25e6; /* operations that a block is worth */
enum { LOG_DET, LOG_Q, TRACE, SLOPES };  /* of a tail: then k slopes of log v and those of log q of the rows */

int bl_sgauss_blocks(int n, int k) {
  int blocks = 1;
  /* measured: with fewer rows, BLAS loses more in blocks than a few percent */
  const double rows = n <= 160 ? fmax(48, 0.4 * k) : fmax(96, 0.9 * k), work = (double)n * k * (2.0 * n + 6.0 * k);
  while (2 * blocks <= MOST_BLOCKS && 2 * blocks * rows <= n && 2 * blocks * BLOCK_WORK <= work) blocks *= 2;
  return blocks;
}

static int bound(int n, int blocks, int block) {
  return block == blocks ? n : n * block / blocks / 8 * 8;
}

void bl_sgauss_rows(int n, int k, int block, int *first, int *last) {
  int blocks = bl_sgauss_blocks(n, k);
  *first = bound(n, blocks, block);
  *last = bound(n, blocks, block + 1);
}

static int most_rows(int n, int k) {
  return n / bl_sgauss_blocks(n, k) + 9;
}

size_t bl_sgauss_workspace_size(int n, int k) {
  return (size_t)(2 * k + n) + (size_t)k * k + 3 * (size_t)n * k;
}

bl_sgauss_workspace bl_sgauss_workspace_at(int n, int k, double *at) {
  const size_t nk = (size_t)n * k;
  bl_sgauss_workspace r = {.b = at, .root = at + k, .w = at + 2 * k, .l = at + 2 * k + n};
  r.x = r.l + (size_t)k * k;
  r.y = r.x + nk;
  r.e = r.y + nk;
  return r;
}

size_t bl_sgauss_tail_size(int n, int k) {
  return SLOPES + (size_t)k + (size_t)most_rows(n, k);
}

/* L <- Cholesky factor of I + B'B; returns its log determinant, or NaN. */
static double factor_capacitance(int k, const double *gram, const double *rb, double *l) {
  for (int j = 0; j < k; j++)
    for (int i = j; i < k; i++) l[i + (size_t)j * k] = gram[i + (size_t)j * k] * rb[i] * rb[j] + (i == j);
  if (bl_dpotrf('L', k, l, k) != 0) return NAN;
  double log_det = 0;
  for (int j = 0; j < k; j++) log_det += 2 * log(l[j + (size_t)j * k]);
  return log_det;
}

void bl_sgauss_begin(const bl_sgauss_shared *shared, const double *local, const bl_sgauss_workspace *workspace,
                     double *tail) {
  for (int j = 0; j < shared->k; j++) {
    workspace->b[j] = shared->link * exp(local[j]);
    workspace->root[j] = sqrt(workspace->b[j]);
  }
  tail[LOG_DET] = factor_capacitance(shared->k, shared->gram, workspace->root, workspace->l);
}

/* X <- A b^1/2 (L L')^-1 b^-1/2, by two triangular solves: cheaper than the inverse and its product. */
void bl_sgauss_solve(const bl_sgauss_shared *shared, const double *local, const bl_sgauss_workspace *workspace,
                     int block) {
  const int n = shared->n, k = shared->k;
  const double *a = shared->a;
  double *x = workspace->x, *y = workspace->y, *w = workspace->w;
  int first, last;
  bl_sgauss_rows(n, k, block, &first, &last);
  for (int i = first; i < last; i++) w[i] = exp(-local[k + i]);
  for (int j = 0; j < k; j++)
    for (int i = first; i < last; i++) x[i + (size_t)j * n] = a[i + (size_t)j * n] * workspace->root[j];
  bl_dtrsm('R', 'L', 'T', 'N', last - first, k, 1, workspace->l, k, x + first, n);
  bl_dtrsm('R', 'L', 'N', 'N', last - first, k, 1, workspace->l, k, x + first, n);
  for (int j = 0; j < k; j++) {
    double inverse = 1 / workspace->root[j];
    for (int i = first; i < last; i++) {
      x[i + (size_t)j * n] *= inverse;
      y[i + (size_t)j * n] = w[i] * x[i + (size_t)j * n];
    }
  }
}

void bl_sgauss_fill(const bl_sgauss_shared *shared, const bl_symmetric *c, const bl_sgauss_workspace *workspace,
                    int block, double *f) {
  const int n = shared->n, k = shared->k;
  double *e = workspace->e;
  int first, last;
  bl_sgauss_rows(n, k, block, &first, &last);
  const int rows = last - first;
  if (c->full) bl_dgemm('N', 'N', rows, k, n, 1, c->full + first, n, workspace->y, n, 0, e + first, n);
  for (int j = 0; j < k; j++)
    for (int i = first; i < last; i++) e[i + (size_t)j * n] *= workspace->w[i];
  bl_dgemm('T', 'N', k, k, rows, 1, shared->a + first, n, e + first, n, 0, f, k);
}

void bl_sgauss_join(const bl_sgauss_shared *shared, const bl_sgauss_workspace *workspace, double *f) {
  const int k = shared->k;
  for (int j = 0; j < k; j++)
    for (int i = 0; i < k; i++) f[i + (size_t)j * k] *= workspace->b[i];
}

void bl_sgauss_slopes(const bl_sgauss_shared *shared, const bl_symmetric *c, double weight, const double *local,
                      const bl_sgauss_workspace *workspace, const double *f, int block, double *gradient_a,
                      double *tail) {
  const int n = shared->n, k = shared->k;
  const double *a = shared->a, *x = workspace->x, *e = workspace->e, *b = workspace->b, *w = workspace->w;
  double *dk = workspace->y; /* diagonal of D K; these rows of y are free now */
  int first, last;
  bl_sgauss_rows(n, k, block, &first, &last);
  bl_dgemm('N', 'N', last - first, k, k, 1, x + first, n, f, k, 0, gradient_a + first, n);
  tail[LOG_Q] = tail[TRACE] = 0;
  for (int i = first; i < last; i++) {
    tail[LOG_Q] += local[k + i];
    dk[i] = w[i] * w[i] * (c->full ? c->full[i + (size_t)i * n] : 1);
    if (!(dk[i] <= BL_SGAUSS_MAX_D)) dk[i] = NAN;
  }
  for (int j = 0; j < k; j++) {
    double slope = 0;
    for (int i = first; i < last; i++) {
      size_t at = i + (size_t)j * n;
      dk[i] -= b[j] * e[at] * a[at];
      gradient_a[at] = weight * b[j] * (x[at] - e[at] + gradient_a[at]);
      slope += 0.5 * a[at] * gradient_a[at];
    }
    tail[SLOPES + j] = slope;
  }
  for (int i = first; i < last; i++) {
    tail[TRACE] += dk[i];
    tail[SLOPES + k + i - first] = weight * (1 - dk[i]);
  }
}

void bl_sgauss_end(const bl_sgauss_shared *shared, double weight, const double *tails, double *value,
                   double *local_gradient) {
  const int n = shared->n, k = shared->k, blocks = bl_sgauss_blocks(n, k);
  double log_q = 0, trace = 0;
  memset(local_gradient, 0, (size_t)k * sizeof *local_gradient);
  for (int block = 0; block < blocks; block++) {
    const double *tail = tails + bl_sgauss_tail_size(n, k) * (size_t)block;
    int first, last;
    bl_sgauss_rows(n, k, block, &first, &last);
    log_q += tail[LOG_Q];
    trace += tail[TRACE];
    for (int j = 0; j < k; j++) local_gradient[j] += tail[SLOPES + j];
    memcpy(local_gradient + k + first, tail + SLOPES + k, (size_t)(last - first) * sizeof *tail);
  }
  *value = 0.5 * weight * (tails[LOG_DET] + 2 * log_q + trace);
}
