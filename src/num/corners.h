/* corners.h - bivariate normal probabilities at the corners of one table, as functions of its correlation. */
#ifndef BL_CORNERS_H
#define BL_CORNERS_H

#include "blica.h"
#include "num/simd.h"

/* Corners (h_m, k_m), all finite. Arrays hold `count` elements and are read and written up to the next multiple of
 * eight. */
typedef struct {
  int count;
  double *h, *k, *product, *squares; /* product h k, squares (h^2 + k^2)/2 */
  double theta;                      /* asin(rho) of the excess */
  double *excess;                    /* 2 pi (Phi2(h,k;rho) - Phi(h) Phi(k)) */
  double *first, *second;            /* the last call's two results */
} bl_corners;

/* Doubles that the arrays of up to `most` corners take. */
static inline size_t bl_corners_size(size_t most) {
  return 7 * ((most + 7) / 8 * 8);
}

/* Places the arrays for up to `most` corners in work [bl_corners_size(most)]. */
static inline void bl_corners_place(bl_corners *c, size_t most, double *work) {
  double **const array[] = {&c->h, &c->k, &c->product, &c->squares, &c->excess, &c->first, &c->second};
  for (int i = 0; i < 7; i++) *array[i] = work + (size_t)i * ((most + 7) / 8 * 8);
}

/* Sets product and squares, and rho = 0. */
static inline void bl_corners_begin(bl_corners *c) {
  for (int m = c->count; m % 8 != 0; m++) c->h[m] = c->k[m] = 0; /* idle lanes */
  for (int m = 0; m < (c->count + 7) / 8 * 8; m++) {
    c->product[m] = c->h[m] * c->k[m];
    c->squares[m] = 0.5 * (c->h[m] * c->h[m] + c->k[m] * c->k[m]);
    c->excess[m] = 0;
  }
  c->theta = 0;
}

#define BL_CORNERS_MOST 0.9249
/* Moves the excess to rho, |rho| <= BL_CORNERS_MOST, and sets first and second to the derivatives of Phi2 in rho. */
BL_KERNEL(void, bl_corners_move, bl_corners *corners, double rho);
/* Sets first to Phi((k - rho h)/sqrt(1-rho^2)) and second to the same with h and k exchanged. */
BL_KERNEL(void, bl_corners_conditional, bl_corners *corners, double rho);

#endif
