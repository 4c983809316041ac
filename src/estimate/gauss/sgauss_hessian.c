/* sgauss_hessian.c - second derivatives of one segment's scaled Gaussian term, in closed form.
 *
 * With K = M^-1, D = Q^-1 C Q^-1, H = K D K, L = 2H - K, b = c v, X = KA, Y = LA, P = A'X, R = A'Y, E = DX
 * (docs/method.md, equations 13 to 18):
 *   A,A  [(i,k),(j,l)] = N/2 b_k b_l (X_jk Y_il + X_il Y_jk + P_kl L_ij + R_kl K_ij) + [k=l] N b_k (K-H)_ij
 *   A,v  [(i,k),l]     = N/2 b_k b_l (P_kl Y_il + R_kl X_il) + [k=l] N b_k (X-HA)_ik
 *   A,q  [(i,k),j]     = N b_k ((DK)_ji X_jk + E_jk K_ij)
 *   v,v  [k,l]         = N/2 b_k b_l P_kl R_kl + [k=l] N/2 b_k (P-A'HA)_kk
 *   v,q  [k,j]         = N b_k E_jk X_jk;   q,q [i,j] = N (K_ij D_ij + [i=j] (DK)_ii)
 * The Fisher information is the same with H = K, D = M. Checked against central differences of the gradient. */
#include <math.h>
#include <string.h>

#include "estimate/gauss/sgauss.h"
#include "num/blas.h"

struct bl_sgauss_hessian {
  const bl_sgauss_data *data;
  double *c, *kinv, *d, *dk, *l, *gap; /* [n,n]: C, K, D, DK, L, K - H */
  double *x, *y, *e, *xgap;            /* [n,k]: KA, LA, DKA, KA - HA */
  double *p, *r, *cap;                 /* [k,k]: A'KA, A'LA, capacitance */
  double *b, *w;                       /* [k], [n] */
};

blica_status bl_sgauss_hessian_make(blica_ctx *ctx, const bl_sgauss_data *data, bl_sgauss_hessian **out) {
  blica_status status;
  BL_OWNED bl_sgauss_hessian *h = NULL;
  double *next;
  const size_t n = (size_t)data->n, k = (size_t)data->k;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &h));
  h->data = data;
  TRY(bl_alloc_for(ctx, h, 6 * n * n + 4 * n * k + 3 * k * k + k + n, &next));
  double **square[] = {&h->c, &h->kinv, &h->d, &h->dk, &h->l, &h->gap}, **tall[] = {&h->x, &h->y, &h->e, &h->xgap},
         **small[] = {&h->p, &h->r, &h->cap};
  for (int i = 0; i < 6; i++) *square[i] = next, next += n * n;
  for (int i = 0; i < 4; i++) *tall[i] = next, next += n * k;
  for (int i = 0; i < 3; i++) *small[i] = next, next += k * k;
  h->b = next, h->w = next + k;
  *out = bl_take(&h);
done:
  return status;
}

static void multiply(int rows, int columns, int inner, int transposed, const double *a, int lda, const double *b,
                     double *c) {
  bl_dgemm(transposed ? 'T' : 'N', 'N', rows, columns, inner, 1, a, lda, b, inner, 0, c, rows);
}

/* X = A (I + B'B scaled)^-1 and K = I - X diag(b) A'. */
static void inverse_part(bl_sgauss_hessian *h, const double *a, const double *local) {
  const int n = h->data->n, k = h->data->k;
  for (int j = 0; j < k; j++) h->b[j] = h->data->link * exp(local[j]);
  for (int i = 0; i < n; i++) h->w[i] = exp(-local[k + i]);
  multiply(k, k, n, 1, a, n, a, h->cap);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < k; i++) h->cap[i + j * k] = h->cap[i + j * k] * sqrt(h->b[i] * h->b[j]) + (i == j);
  bl_dpotrf('L', k, h->cap, k);
  bl_dpotri('L', k, h->cap, k);
  for (int j = 0; j < k; j++)
    for (int i = j; i < k; i++) {
      double inverse = h->cap[i + j * k], ratio = sqrt(h->b[i] / h->b[j]);
      h->cap[i + j * k] = inverse * ratio;
      h->cap[j + i * k] = inverse / ratio;
    }
  multiply(n, k, k, 0, a, n, h->cap, h->x);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) h->y[i + (size_t)j * n] = h->x[i + (size_t)j * n] * h->b[j];
  bl_dgemm('N', 'T', n, n, k, -1, h->y, n, a, n, 0, h->kinv, n);
  for (int i = 0; i < n; i++) h->kinv[i + (size_t)i * n] += 1;
}

/* D, DK, E, H and what follows from H, with the data. */
static void data_part(bl_sgauss_hessian *h, int s, const double *a) {
  const int n = h->data->n, k = h->data->k;
  const size_t nn = (size_t)n * n, nk = (size_t)n * k;
  bl_sgauss_matrix(h->data, s, h->c);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) h->d[i + (size_t)j * n] = h->w[i] * h->w[j] * h->c[i + (size_t)j * n];
  multiply(n, n, n, 0, h->d, n, h->kinv, h->dk);
  multiply(n, k, n, 0, h->d, n, h->x, h->e);
  multiply(n, n, n, 0, h->kinv, n, h->dk, h->l); /* H for now */
  for (size_t i = 0; i < nn; i++) {
    double hh = h->l[i];
    h->gap[i] = h->kinv[i] - hh;
    h->l[i] = 2 * hh - h->kinv[i];
  }
  multiply(n, k, n, 0, h->kinv, n, h->e, h->y); /* HA for now */
  for (size_t i = 0; i < nk; i++) {
    h->xgap[i] = h->x[i] - h->y[i];
    h->y[i] = 2 * h->y[i] - h->x[i];
  }
  multiply(k, k, n, 1, a, n, h->y, h->r);
}

/* The same in expectation: H = K, D = M. */
static void expected_part(bl_sgauss_hessian *h, const double *a) {
  const int n = h->data->n, k = h->data->k;
  const size_t nn = (size_t)n * n, nk = (size_t)n * k;
  memcpy(h->l, h->kinv, nn * sizeof *h->l);
  memset(h->gap, 0, nn * sizeof *h->gap);
  memset(h->dk, 0, nn * sizeof *h->dk);
  for (int i = 0; i < n; i++) h->dk[i + (size_t)i * n] = 1;
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) h->e[i + (size_t)j * n] = a[i + (size_t)j * n] * h->b[j];
  bl_dgemm('N', 'T', n, n, k, 1, h->e, n, a, n, 0, h->d, n);
  for (int i = 0; i < n; i++) h->d[i + (size_t)i * n] += 1;
  memcpy(h->e, a, nk * sizeof *h->e);
  memcpy(h->y, h->x, nk * sizeof *h->y);
  memset(h->xgap, 0, nk * sizeof *h->xgap);
  memcpy(h->r, h->p, (size_t)k * k * sizeof *h->r);
}

static void add_mixing_block(const bl_sgauss_hessian *h, double weight, double *aa) {
  const int n = h->data->n, k = h->data->k;
  const size_t nk = (size_t)n * k;
  for (int l = 0; l < k; l++)
    for (int j = 0; j < n; j++) {
      double *column = aa + nk * (j + (size_t)l * n);
      const double *lj = h->l + (size_t)j * n, *kj = h->kinv + (size_t)j * n, *gj = h->gap + (size_t)j * n;
      const double *xl = h->x + (size_t)l * n, *yl = h->y + (size_t)l * n;
      for (int c = 0; c < k; c++) {
        double scale = 0.5 * weight * h->b[c] * h->b[l], same = c == l ? weight * h->b[c] : 0;
        double xjc = scale * h->x[j + (size_t)c * n], yjc = scale * h->y[j + (size_t)c * n];
        double pcl = scale * h->p[c + l * k], rcl = scale * h->r[c + l * k];
        double *out = column + (size_t)c * n;
        for (int i = 0; i < n; i++) out[i] += xjc * yl[i] + yjc * xl[i] + pcl * lj[i] + rcl * kj[i] + same * gj[i];
      }
    }
}

static void set_cross_block(const bl_sgauss_hessian *h, double weight, double *al) {
  const int n = h->data->n, k = h->data->k;
  const size_t nk = (size_t)n * k;
  for (int l = 0; l < k; l++)
    for (int c = 0; c < k; c++) {
      double scale = 0.5 * weight * h->b[c] * h->b[l], same = c == l ? weight * h->b[c] : 0;
      double pcl = scale * h->p[c + l * k], rcl = scale * h->r[c + l * k];
      for (int i = 0; i < n; i++)
        al[nk * l + (size_t)c * n + i] =
            pcl * h->y[i + (size_t)l * n] + rcl * h->x[i + (size_t)l * n] + same * h->xgap[i + (size_t)c * n];
    }
  for (int j = 0; j < n; j++)
    for (int c = 0; c < k; c++) {
      double scale = weight * h->b[c], xjc = scale * h->x[j + (size_t)c * n], ejc = scale * h->e[j + (size_t)c * n];
      for (int i = 0; i < n; i++)
        al[nk * (k + j) + (size_t)c * n + i] = xjc * h->dk[j + (size_t)i * n] + ejc * h->kinv[i + (size_t)j * n];
    }
}

static void set_local_block(const bl_sgauss_hessian *h, double weight, double *ll) {
  const int n = h->data->n, k = h->data->k, m = n + k;
  for (int l = 0; l < k; l++)
    for (int c = 0; c < k; c++) {
      double value = 0.5 * weight * h->b[c] * h->b[l] * h->p[c + l * k] * h->r[c + l * k];
      if (c == l) value += 0.25 * weight * h->b[c] * (h->p[c + c * k] - h->r[c + c * k]); /* P - A'HA = (P - R)/2 */
      ll[c + (size_t)l * m] = value;
    }
  for (int c = 0; c < k; c++)
    for (int j = 0; j < n; j++)
      ll[c + (size_t)(k + j) * m] = ll[(k + j) + (size_t)c * m] =
          weight * h->b[c] * h->e[j + (size_t)c * n] * h->x[j + (size_t)c * n];
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      size_t at = i + (size_t)j * n;
      ll[(k + i) + (size_t)(k + j) * m] = weight * (h->kinv[at] * h->d[at] + (i == j ? h->dk[at] : 0));
    }
}

void bl_sgauss_hessian_segment(bl_sgauss_hessian *h, int s, const double *theta, bool fisher, double *aa, double *al,
                               double *ll) {
  const bl_sgauss_data *d = h->data;
  inverse_part(h, theta, theta + bl_sgauss_local(d, s));
  multiply(d->k, d->k, d->n, 1, theta, d->n, h->x, h->p);
  if (fisher)
    expected_part(h, theta);
  else
    data_part(h, s, theta);
  add_mixing_block(h, d->weight[s], aa);
  set_cross_block(h, d->weight[s], al);
  set_local_block(h, d->weight[s], ll);
}
