/* matched_mixing.c - Fisher's information of method matched about the mixing matrix and the log-variances of a segment.
 *
 * In the letters of corfit_matched.c, with L = T^-1 and s_ij = d_i (c v_j)^1/2: A_ij changes row and column i of T
 * alone, by s_ij u with u = B_j - R_i B_ij, whose entry i is 0. So the information about A_ij and A_lm is N s_ij s_lm [
 * L_il u_ij' L u_lm + (L u_ij)_l (L u_lm)_i ], and since L R = I - L D, with X = L B, P = B' X, Y = B - D X and G = D L
 * - I, these are (L u_ij)_l = X_lj + B_ij G_il and u_ij' L u_lm = P_jm - B_lm Y_lj - B_ij Y_im + B_ij B_lm (R - D + D L
 * D)_il. log v_j multiplies column j: its derivative is sum_i A_ij/2 times that of A_ij. Cost: (n k)^2. Checked against
 * differences of the gradient in tests/identity/test_corfit.c. */
#include <math.h>
#include <string.h>

#include "estimate/gauss/matched_information.h"
#include "num/blas.h"

size_t bl_matched_mixing_work(int n, int k) {
  const size_t nn = (size_t)n * (size_t)n, nk = (size_t)n * (size_t)k;
  return 3 * nn + 5 * nk + (size_t)k * (size_t)k + (size_t)k;
}

typedef struct {
  double *l, *g, *q;         /* [n,n] L, G', R - D + D L D */
  double *b, *x, *y, *scale; /* [n,k] B, X, Y, s */
  double *p, *root;          /* [k,k] P, [k] (c v)^1/2 */
} parts;

static parts divide(int n, int k, double *work) {
  const size_t nn = (size_t)n * (size_t)n, nk = (size_t)n * (size_t)k;
  parts p = {.l = work, .g = work + nn, .q = work + 2 * nn, .b = work + 3 * nn};
  p.x = p.b + nk, p.y = p.x + nk, p.scale = p.y + nk;
  p.p = p.scale + nk, p.root = p.p + (size_t)k * (size_t)k;
  return p;
}

/* s, B, R (as q) and L. */
static bool set_inverse(const bl_matched_point *at, parts *p) {
  const int n = at->n, k = at->k;
  for (int j = 0; j < k; j++) p->root[j] = sqrt(at->link * exp(at->log_v[j]));
  for (int i = 0; i < n; i++) {
    double d = 1;
    for (int j = 0; j < k; j++) d += pow(at->a[i + (size_t)j * (size_t)n] * p->root[j], 2);
    for (int j = 0; j < k; j++) {
      const size_t entry = (size_t)i + (size_t)j * (size_t)n;
      p->scale[entry] = p->root[j] / sqrt(d);
      p->b[entry] = at->a[entry] * p->scale[entry];
    }
  }
  bl_dgemm('N', 'T', n, n, k, 1, p->b, n, p->b, n, 0, p->q, n);
  for (int i = 0; i < n; i++) p->q[(size_t)i * (size_t)(n + 1)] = 1;
  memcpy(p->l, p->q, (size_t)n * (size_t)n * sizeof *p->l);
  for (int i = 0; i < n; i++) p->l[(size_t)i * (size_t)(n + 1)] += at->noise[i];
  if (bl_dpotrf('L', n, p->l, n) != 0 || bl_dpotri('L', n, p->l, n) != 0) return false;
  for (size_t j = 0; j < (size_t)n; j++)
    for (size_t i = 0; i < j; i++) p->l[i + j * (size_t)n] = p->l[j + i * (size_t)n];
  return true;
}

/* The products. */
static void set_products(const bl_matched_point *at, parts *p) {
  const int n = at->n, k = at->k;
  const double *noise = at->noise;
  bl_dgemm('N', 'N', n, k, n, 1, p->l, n, p->b, n, 0, p->x, n);
  bl_dgemm('T', 'N', k, k, n, 1, p->b, n, p->x, n, 0, p->p, k);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) {
      const size_t entry = (size_t)i + (size_t)j * (size_t)n;
      p->y[entry] = p->b[entry] - noise[i] * p->x[entry];
    }
  for (int l = 0; l < n; l++)
    for (int i = 0; i < n; i++) {
      const size_t entry = (size_t)i + (size_t)l * (size_t)n;
      p->g[entry] = noise[l] * p->l[entry] - (i == l);
      p->q[entry] += noise[i] * noise[l] * p->l[entry] - (i == l) * noise[i];
    }
}

/* column [n,k] <- the information about A_lm and every A_ij. */
static void fill_column(const bl_matched_point *at, const parts *p, int l, int m, double *column) {
  const size_t n = (size_t)at->n, k = (size_t)at->k, row = (size_t)l, source = (size_t)m;
  const double *inverse = p->l + n * row, *g = p->g + n * row, *q = p->q + n * row;
  const double b = p->b[row + source * n], factor = at->weight * p->scale[row + source * n];
  const double *x = p->x + source * n, *y = p->y + source * n;
  for (size_t j = 0; j < k; j++) {
    const double *own = p->b + j * n, *scale = p->scale + j * n;
    const double xj = p->x[row + j * n], base = p->p[j + source * k] - b * p->y[row + j * n];
    for (size_t i = 0; i < n; i++) {
      const double swapped = p->g[row + n * i]; /* G_il */
      column[i + j * n] =
          factor * scale[i] *
          (inverse[i] * (base - own[i] * (y[i] - b * q[i])) + (xj + own[i] * swapped) * (x[i] + b * g[i]));
    }
  }
}

/* With S = B * B, W = G * G' + (R - D + D L D) * L and E = (X * Y)' S, products * being by entries, the information is
 * N/2 [ P * P - E - E' + S' W S / 2 ]. */
bool bl_matched_variances(const bl_matched_point *at, double *variances, double *work) {
  const int n = at->n, k = at->k;
  const size_t side = (size_t)n, nk = side * (size_t)k;
  parts p = divide(n, k, work);
  double *square = p.scale, *e = variances; /* the scales are not needed */
  if (!set_inverse(at, &p)) return false;
  set_products(at, &p);
  for (size_t j = 0; j < side; j++)
    for (size_t i = 0; i < side; i++)
      p.q[i + j * side] = p.q[i + j * side] * p.l[i + j * side] + p.g[i + j * side] * p.g[j + i * side];
  for (size_t i = 0; i < nk; i++) p.y[i] *= p.x[i], square[i] = p.b[i] * p.b[i];
  bl_dgemm('T', 'N', k, k, n, 1, p.y, n, square, n, 0, e, k);
  bl_dgemm('N', 'N', n, k, n, 0.5, p.q, n, square, n, 0, p.x, n);
  for (int m = 0; m < k; m++)
    for (int j = 0; j <= m; j++) {
      double *upper = &e[j + (size_t)m * (size_t)k], *lower = &e[m + (size_t)j * (size_t)k];
      const double inner = p.p[j + (size_t)m * (size_t)k];
      const double sum =
          inner * inner - *upper - *lower + bl_ddot(n, square + side * (size_t)j, 1, p.x + side * (size_t)m, 1);
      *upper = *lower = 0.5 * at->weight * sum;
    }
  return true;
}

bool bl_matched_mixing(const bl_matched_point *at, double *mixing, double *cross, double *variances, double *work) {
  const size_t n = (size_t)at->n, k = (size_t)at->k, nk = n * k;
  parts p = divide(at->n, at->k, work);
  double *column = work + bl_matched_mixing_work(at->n, at->k) - nk;
  if (!set_inverse(at, &p)) return false;
  set_products(at, &p);
  memset(cross, 0, nk * k * sizeof *cross);
  for (size_t m = 0; m < k; m++)
    for (size_t l = 0; l < n; l++) {
      fill_column(at, &p, (int)l, (int)m, column);
      bl_daxpy((int)nk, 1, column, 1, mixing + nk * (l + n * m), 1);
      bl_daxpy((int)nk, 0.5 * at->a[l + n * m], column, 1, cross + nk * m, 1);
    }
  for (size_t m = 0; m < k; m++)
    for (size_t j = 0; j < k; j++)
      variances[j + k * m] = 0.5 * bl_ddot((int)n, at->a + n * j, 1, cross + nk * m + n * j, 1);
  return true;
}
