/* fastica_kernel_body.h - see fastica_kernel.h. The includer sets the instruction set, VEC_WIDTH and PANEL, the name.
 * Contrasts (Hyvarinen 1999): G = log cosh y, -exp(-y^2/2), y^4/4; g = G', g' = G''. */
#include "estimate/fastica_kernel.h"
#include "num/panel.h"

/* y <- weight g(y), row <- weight g'(y) */
static void contrast_slopes(bl_contrast contrast, size_t vectors, const vec *weight, vec *y, vec *row) {
  if (contrast == BL_CONTRAST_LOGCOSH)
    for (size_t v = 0; v < vectors; v++) {
      vec g = vec_tanh(y[v]);
      row[v] = (1.0 - g * g) * weight[v];
      y[v] = g * weight[v];
    }
  else if (contrast == BL_CONTRAST_EXP)
    for (size_t v = 0; v < vectors; v++) {
      vec square = y[v] * y[v], e = vec_exp_small(-0.5 * square) * weight[v];
      row[v] = (1.0 - square) * e;
      y[v] = y[v] * e;
    }
  else
    for (size_t v = 0; v < vectors; v++) {
      vec square = y[v] * y[v];
      row[v] = 3.0 * square * weight[v];
      y[v] = y[v] * square * weight[v];
    }
}

/* row <- weight G(y) */
static void contrast_values(bl_contrast contrast, size_t vectors, const vec *weight, const vec *y, vec *row) {
  for (size_t v = 0; v < vectors; v++) {
    vec square = y[v] * y[v], slope, value;
    if (contrast == BL_CONTRAST_LOGCOSH) {
      vec twice = -2.0 * vec_abs(y[v]);
      value = vec_abs(y[v]) + vec_softplus(twice, vec_exp_small(twice), &slope) - 0.69314718055994530942;
    } else if (contrast == BL_CONTRAST_EXP) {
      value = -vec_exp_small(-0.5 * square);
    } else {
      value = 0.25 * square * square;
    }
    row[v] = value * weight[v];
  }
}

void PANEL(int what, const bl_fastica_shared *e, const double *x, const double *weight, double *y, double *row,
           double *products, double *sums) {
  int vectors = e->height / VEC_WIDTH;
  panel_multiply(e->m, e->k, e->w, e->m, NULL, (const vec *)x, (vec *)y, vectors);
  if (what == BL_FASTICA_WHITEN) return;
  for (int j = 0; j < e->m; j++) {
    vec *yj = (vec *)y + (size_t)j * vectors;
    if (what == BL_FASTICA_STEP)
      contrast_slopes(e->contrast, (size_t)vectors, (const vec *)weight, yj, (vec *)row);
    else
      contrast_values(e->contrast, (size_t)vectors, (const vec *)weight, yj, (vec *)row);
    panel_add_rows((const vec *)row, vectors, sums + (size_t)j * VEC_LANES);
  }
  if (what == BL_FASTICA_STEP) panel_outer(e->m, e->k, (const vec *)y, (const vec *)x, (vec *)products, vectors);
}
