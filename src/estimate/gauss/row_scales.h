/* row_scales.h - the directions of A that normalising to correlations makes flat, for the preconditioner of method
 * matched. */
#ifndef BL_ROW_SCALES_H
#define BL_ROW_SCALES_H

#include "estimate/gauss/sgauss.h"

typedef struct {
  int n, k;
  double *unit;   /* [n,k] rows of A over their norms */
  double *gain;   /* [n] what the inverse Hessian has more along them */
  double *before; /* [n] */
} bl_row_scales;

blica_status bl_row_scales_make(blica_ctx *ctx, int n, int k, bl_row_scales *rows); /* memory only */
void bl_row_scales_free(bl_row_scales *rows);
/* At theta = [ A | log v_1 | ... ]; curvature [n,k] is the diagonal of what the preconditioner has without them. */
void bl_row_scales_set(bl_row_scales *rows, const bl_sgauss_data *data, const double *noise, const double *theta,
                       const double *curvature);
/* Around the application of that preconditioner to g: remember, then add. */
void bl_row_scales_remember(bl_row_scales *rows, const double *g);
void bl_row_scales_add(const bl_row_scales *rows, size_t size, double *g /* [size] */);

#endif
