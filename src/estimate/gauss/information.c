/* information.c - Fisher's information of the Gaussian likelihood about the parameters of a segment.
 *
 * In the letters of kernel.h, with L = T^-1 and s_ij = d_i b_j^1/2, each parameter changes one row and column of T:
 * A_ij by w = s_ij (B_j - R_i B_ij), or s_ij B_j where the scales are free, and log q_i by w = R_i. Two of them, of
 * rows i and l, have the information N [ L_il w' L w~ + (L w)_l (L w~)_i ]. Since L R = I - L D, with X = L B, P = B'
 * X, Y = B - D X, G = D L - I and Q = R - D + D L D:  (L w)_l is s_ij (X_lj + B_ij G_il), or - G_il, and w' L w~ is
 *   s_ij s_lm (P_jm - B_lm Y_lj - B_ij Y_im + B_ij B_lm Q_il), Q_il, and between A_ij and log q_l s_ij Y_lj;
 * where scales are free the terms with B_ij and B_lm drop out. log v_j multiplies column j: its derivative is sum_i
 * A_ij/2 times that of A_ij. Cost: (n k)^2. Checked against differences of the gradient in tests/identity/test_gauss.c.
 */
#include <math.h>
#include <string.h>

#include "estimate/gauss/information.h"
#include "num/linear/blas.h"

size_t bl_information_work(int n, int k) {
  const size_t nn = (size_t)n * (size_t)n, nk = (size_t)n * (size_t)k;
  return 3 * nn + 5 * nk + (size_t)k * (size_t)k + (size_t)k + (size_t)n;
}

typedef struct {
  double *l, *g, *q;         /* [n,n] L, G', Q */
  double *b, *x, *y, *scale; /* [n,k] B, X, Y, s */
  double *p, *root, *own;    /* [k,k] P, [k] b^1/2, [n] diagonal of R */
} parts;

/* Divides work among the arrays. */
static parts place_parts(int n, int k, double *work) {
  const size_t nn = (size_t)n * (size_t)n, nk = (size_t)n * (size_t)k;
  parts p = {.l = work, .g = work + nn, .q = work + 2 * nn, .b = work + 3 * nn};
  p.x = p.b + nk, p.y = p.x + nk, p.scale = p.y + nk;
  p.p = p.scale + nk, p.root = p.p + (size_t)k * (size_t)k, p.own = p.root + k;
  return p;
}

/* s, B, R (as q) and L. */
static bool set_inverse(const bl_point *at, parts *p) {
  const int n = at->n, k = at->k;
  for (int j = 0; j < k; j++) p->root[j] = sqrt(at->link * exp(at->log_v[j]));
  for (int i = 0; i < n; i++) {
    double m = 1;
    for (int j = 0; j < k; j++) m += pow(at->a[i + (size_t)j * (size_t)n] * p->root[j], 2);
    const double d = at->log_q ? exp(at->log_q[i]) : 1 / sqrt(m);
    p->own[i] = at->log_q ? d * d * m : 1;
    for (int j = 0; j < k; j++) {
      const size_t entry = (size_t)i + (size_t)j * (size_t)n;
      p->scale[entry] = p->root[j] * d;
      p->b[entry] = at->a[entry] * p->scale[entry];
    }
  }
  bl_dgemm('N', 'T', n, n, k, 1, p->b, n, p->b, n, 0, p->q, n);
  for (int i = 0; i < n; i++) p->q[(size_t)i * (size_t)(n + 1)] = p->own[i];
  memcpy(p->l, p->q, (size_t)n * (size_t)n * sizeof *p->l);
  for (int i = 0; i < n; i++) p->l[(size_t)i * (size_t)(n + 1)] += at->noise[i];
  return !isnan(bl_invert(n, p->l));
}

/* The products. */
static void set_products(const bl_point *at, parts *p) {
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
static void fill_column(const bl_point *at, const parts *p, int l, int m, double *column) {
  const size_t n = (size_t)at->n, k = (size_t)at->k, row = (size_t)l, source = (size_t)m;
  const double *inverse = p->l + n * row, *g = p->g + n * row, *q = p->q + n * row;
  const double normal = at->log_q ? 0 : 1, b = normal * p->b[row + source * n],
               factor = at->weight * p->scale[row + source * n];
  const double *x = p->x + source * n, *y = p->y + source * n;
  for (size_t j = 0; j < k; j++) {
    const double *own = p->b + j * n, *scale = p->scale + j * n;
    const double xj = p->x[row + j * n], base = p->p[j + source * k] - b * p->y[row + j * n];
    for (size_t i = 0; i < n; i++) {
      const double swapped = p->g[row + n * i], bij = normal * own[i]; /* G_il */
      column[i + j * n] = factor * scale[i] *
                          (inverse[i] * (base - bij * (y[i] - b * q[i])) + (xj + bij * swapped) * (x[i] + b * g[i]));
    }
  }
}

/* With S = B * B, W = G * G' + (R - D + D L D) * L and E = (X * Y)' S, products * being by entries, the information is
 * N/2 [ P * P - E - E' + S' W S / 2 ]. */
bool bl_variances_information(const bl_point *at, double *variances, double *work) {
  const int n = at->n, k = at->k;
  const size_t side = (size_t)n, nk = side * (size_t)k;
  parts p = place_parts(n, k, work);
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

/* cross [nk] and local [locals] <- the information about log q_l. */
static void fill_scale(const bl_point *at, const parts *p, int l, double *cross, double *local) {
  const size_t n = (size_t)at->n, k = (size_t)at->k, row = (size_t)l;
  const double *inverse = p->l + n * row, *g = p->g + n * row, *q = p->q + n * row;
  for (size_t j = 0; j < k; j++) {
    const double *scale = p->scale + j * n, xj = p->x[row + j * n], yj = p->y[row + j * n];
    for (size_t i = 0; i < n; i++) cross[i + j * n] = at->weight * scale[i] * (inverse[i] * yj - xj * g[i]);
  }
  for (size_t m = 0; m < k; m++) local[m] = 0.5 * bl_ddot((int)n, at->a + n * m, 1, cross + n * m, 1);
  for (size_t i = 0; i < n; i++) local[k + i] = at->weight * (inverse[i] * q[i] + g[i] * p->g[row + n * i]);
}

bool bl_information(const bl_point *at, double *mixing, double *cross, double *local, double *work) {
  const size_t n = (size_t)at->n, k = (size_t)at->k, nk = n * k, locals = at->log_q ? k + n : k;
  parts p = place_parts(at->n, at->k, work);
  double *column = work + bl_information_work(at->n, at->k) - nk;
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
      local[j + locals * m] = 0.5 * bl_ddot((int)n, at->a + n * j, 1, cross + nk * m + n * j, 1);
  for (size_t l = 0; l < locals - k; l++) fill_scale(at, &p, (int)l, cross + nk * (k + l), local + locals * (k + l));
  for (size_t l = k; l < locals; l++)
    for (size_t j = 0; j < k; j++) local[l + locals * j] = local[j + locals * l];
  return true;
}
