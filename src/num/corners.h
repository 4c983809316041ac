/* corners.h - bivariate normal probabilities at the corners of one table, as functions of its correlation. */
#ifndef BL_CORNERS_H
#define BL_CORNERS_H

#include "blica.h"

/* Corners (h_m, k_m), all finite. Arrays hold `count` elements and are read and written up to the next multiple of
 * eight. */
typedef struct {
  int count;
  double *h, *k, *product, *squares; /* product h k, squares (h^2 + k^2)/2 */
  double theta;                      /* asin(rho) of the excess */
  double *excess;                    /* 2 pi (Phi2(h,k;rho) - Phi(h) Phi(k)) */
  double *first, *second;            /* the last call's two results */
} bl_corners;

/* Sets product and squares, and rho = 0. */
void bl_corners_begin(bl_corners *corners);
/* Moves the excess to rho, |rho| <= BL_CORNERS_MOST, and sets first and second to the derivatives of Phi2 in rho. */
#define BL_CORNERS_MOST 0.9249
void bl_corners_move(blica_simd level, bl_corners *corners, double rho);
/* Sets first to Phi((k - rho h)/sqrt(1-rho^2)) and second to the same with h and k exchanged. */
void bl_corners_conditional(blica_simd level, bl_corners *corners, double rho);

/* Phi^-1 of count probabilities, from 1e-290 to below 1. Arrays as above. */
void bl_corners_quantiles(blica_simd level, int count, const double *p, double *quantile);

/* Phi^-1 of count probabilities between 1e-290 and 1, error below 1e-14. Arrays as above. */
void bl_corners_quantiles(blica_simd level, int count, const double *p, double *quantile);

#endif
