/* fastica_kernel.c - see fastica.h.
 * Contrasts (Hyvarinen 1999): G = log cosh y, -exp(-y^2/2), y^4/4; g = G', g' = G''. */
#define BL_WIDTH BL_REGISTER
#include "rivals/fastica.h"

#include "num/panel.h"

/* y <- weight g(y), row <- weight g'(y) */
static void contrast_slopes(blica_contrast contrast, size_t vectors, const bl_v *weight, bl_v *y, bl_v *row) {
  if (contrast == BLICA_CONTRAST_LOGCOSH)
    for (size_t v = 0; v < vectors; v++) {
      bl_v g = bl_v_tanh(y[v]);
      row[v] = (1.0 - g * g) * weight[v];
      y[v] = g * weight[v];
    }
  else if (contrast == BLICA_CONTRAST_EXP)
    for (size_t v = 0; v < vectors; v++) {
      bl_v square = y[v] * y[v], e = bl_v_exp_fused(-0.5 * square) * weight[v];
      row[v] = (1.0 - square) * e;
      y[v] = y[v] * e;
    }
  else
    for (size_t v = 0; v < vectors; v++) {
      bl_v square = y[v] * y[v];
      row[v] = 3.0 * square * weight[v];
      y[v] = y[v] * square * weight[v];
    }
}

/* row <- weight G(y) */
static void contrast_values(blica_contrast contrast, size_t vectors, const bl_v *weight, const bl_v *y, bl_v *row) {
  for (size_t v = 0; v < vectors; v++) {
    bl_v square = y[v] * y[v], slope, value;
    if (contrast == BLICA_CONTRAST_LOGCOSH) {
      bl_v twice = -2.0 * bl_v_abs(y[v]);
      value = bl_v_abs(y[v]) + bl_v_softplus(twice, bl_v_exp_fused(twice), &slope) - 0.69314718055994530942;
    } else if (contrast == BLICA_CONTRAST_EXP) {
      value = -bl_v_exp_fused(-0.5 * square);
    } else {
      value = 0.25 * square * square;
    }
    row[v] = value * weight[v];
  }
}

void BL_NAME(bl_fastica_panel)(int what, const bl_fastica_shared *e, const double *x, const double *weight, double *y,
                               double *row, double *products, double *sums) {
  int vectors = e->height / BL_WIDTH;
  panel_multiply(e->m, e->k, e->w, e->m, NULL, (const bl_v *)x, (bl_v *)y, vectors);
  if (what == BL_FASTICA_WHITEN) return;
  for (int j = 0; j < e->m; j++) {
    bl_v *yj = (bl_v *)y + (size_t)j * vectors;
    if (what == BL_FASTICA_STEP)
      contrast_slopes(e->contrast, (size_t)vectors, (const bl_v *)weight, yj, (bl_v *)row);
    else
      contrast_values(e->contrast, (size_t)vectors, (const bl_v *)weight, yj, (bl_v *)row);
    panel_add_rows((const bl_v *)row, vectors, sums + (size_t)j * BL_LANES);
  }
  if (what == BL_FASTICA_STEP) panel_outer(e->m, e->k, (const bl_v *)y, (const bl_v *)x, (bl_v *)products, vectors);
}
