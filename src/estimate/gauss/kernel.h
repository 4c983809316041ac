/* kernel.h - the Gaussian likelihood of one segment, or of eight side by side, and its gradient (docs/method.md,
 * equations 19 to 22). Included by segments.c, where V is double and products are made by BLAS, and by kernel_lanes.c,
 * where V is a vector of eight segments, the matrices being too small for BLAS to be fast. Both define V and the
 * functions named below; agreement to rounding, and that with plain factorisation: tests/identity/test_gauss.c.
 *
 * F = N/2 [ log det T + tr((C + D) T^-1) ] with T = diag(psi) + B B', B = diag(d) A diag(b)^1/2, b = c v, psi = d^2 +
 * D. The kernel goes from (C, D, psi, B) to F, dF/dpsi and dF/dB by Woodbury's formula: no matrix of n x n is factored,
 * and the only product of cost n^2 k is that with C. Two rules lead from theta to (psi, B) and back: d is exp(log q),
 * or M_ii^-1/2, which A and v determine. */

typedef struct {
  V *b, *root;              /* [k] b, b^1/2 */
  V *d, *psi, *unpsi, *row; /* [n] d, psi, 1/psi, dF/dpsi, from then on half of dF/dlog d; without N/2 */
  V *l, *w, *z;             /* [k,k] I + B'F, its inverse, F'E */
  V *bb, *f, *x, *e, *gb;   /* [n,k] B, F = B/psi, X = T^-1 B, E = (C + D) X, dF/dB / 2 without N/2 */
  V *rest;                  /* for the product with C */
} parts;

BL_INLINE size_t parts_size(int n, int k) {
  return 2 * (size_t)k + 4 * (size_t)n + 3 * (size_t)k * (size_t)k + 5 * (size_t)n * (size_t)k;
}

/* Divides work among the arrays. */
BL_INLINE parts place_parts(V *work, int n, int k) {
  const size_t nk = (size_t)n * (size_t)k, kk = (size_t)k * (size_t)k;
  parts p = {.b = work, .root = work + k, .d = work + 2 * k};
  p.psi = p.d + n, p.unpsi = p.psi + n, p.row = p.unpsi + n;
  p.l = p.row + n, p.w = p.l + kk, p.z = p.w + kk;
  p.bb = p.z + kk, p.f = p.bb + nk, p.x = p.f + nk, p.e = p.x + nk, p.gb = p.e + nk, p.rest = p.gb + nk;
  return p;
}

/* Below this psi, the unit variance of the noise is rounding beside D_ii = 1/psi: there is no value. */
#define LEAST_PSI 1e-9

/* b, d, psi and B from theta; log_q NULL: d = M_ii^-1/2. */
BL_INLINE void scale_rows(int n, int k, double link, const double *a, const V *log_v, const V *log_q, const V *noise,
                          parts *p) {
  for (int j = 0; j < k; j++) {
    p->b[j] = link * exp_of(log_v[j]);
    p->root[j] = sqrt_of(p->b[j]);
  }
  for (int i = 0; i < n; i++) p->d[i] = log_q ? exp_of(log_q[i]) : all(1);
  for (int j = 0; j < k && !log_q; j++)
    for (int i = 0; i < n; i++) p->d[i] += p->b[j] * (a[i + (size_t)j * n] * a[i + (size_t)j * n]);
  for (int i = 0; i < n; i++) {
    const V square = log_q ? p->d[i] * p->d[i] : 1.0 / p->d[i], psi = square + noise[i];
    if (!log_q) p->d[i] = sqrt_of(square);
    p->psi[i] = if_less(psi, all(LEAST_PSI), all(NAN), psi);
    p->unpsi[i] = 1.0 / p->psi[i];
  }
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) {
      p->bb[i + (size_t)j * n] = p->d[i] * a[i + (size_t)j * n] * p->root[j];
      p->f[i + (size_t)j * n] = p->bb[i + (size_t)j * n] * p->unpsi[i];
    }
}

/* log det T + tr((C + D) T^-1); sets gb and row, half of G B and the diagonal of G = dF/dT, without N/2. */
BL_INLINE V evaluate(int n, int k, CORRELATIONS c, const V *noise, parts *p) {
  V value = log_sum(n, p->psi);
  set_capacitance(n, k, p->bb, p->f, p->l);
  value += invert(k, p->l, p->w);
  multiply(n, k, k, false, p->f, p->w, p->x);
  product(c, n, k, p->x, p->e, p->rest);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) p->e[i + (size_t)j * n] += noise[i] * p->x[i + (size_t)j * n];
  multiply(k, n, k, true, p->f, p->e, p->z);
  multiply(n, k, k, false, p->x, p->z, p->gb);
  for (int i = 0; i < n; i++) {
    const V own = (1.0 + noise[i]) * p->unpsi[i];
    value += own;
    p->row[i] = (1.0 - own) * p->unpsi[i];
  }
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) {
      const size_t at = (size_t)i + (size_t)j * n;
      const V ef = p->e[at] * p->f[at];
      value -= ef;
      p->row[i] -= (p->x[at] + p->gb[at]) * p->f[at] - 2.0 * ef * p->unpsi[i];
      p->gb[at] += p->x[at] - p->e[at] * p->unpsi[i];
    }
  return value;
}

/* Turns dF/dpsi and dF/dB into the gradient by A [n,k], summed over lanes, and by log v and log q. */
BL_INLINE void chain(int n, int k, const double *a, bool free_scales, V weight, parts *p, double *mixing, V *local) {
  for (int i = 0; i < n; i++) p->row[i] *= p->d[i] * p->d[i];
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) p->row[i] += p->gb[i + (size_t)j * n] * p->bb[i + (size_t)j * n];
  for (int i = 0; i < n; i++) {
    if (free_scales)
      local[k + i] = weight * p->row[i];
    else
      p->row[i] *= p->d[i] * p->d[i]; /* d log d_i = - d_i^2 sum_j b_j A_ij dA_ij */
  }
  for (int j = 0; j < k; j++) {
    V slope = all(0);
    for (int i = 0; i < n; i++) {
      const size_t at = (size_t)i + (size_t)j * n;
      V own = p->root[j] * p->d[i] * p->gb[at];
      if (!free_scales) own -= p->b[j] * a[at] * p->row[i];
      own *= weight;
      slope += 0.5 * a[at] * own;
      mixing[at] = sum_of(own);
    }
    local[j] = slope;
  }
}
