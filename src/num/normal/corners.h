/* corners.h - bivariate normal probabilities at the corners of one table, as functions of its correlation. */
#ifndef BL_CORNERS_H
#define BL_CORNERS_H

#include "blica.h"
#include "num/simd.h"

/* Corners (h_m, k_m), all finite, and what the kernels compute there. Arrays hold `count` elements and are read and
 * written up to the next multiple of eight. */
typedef struct {
  int count;
  double *h, *k;
  double *excess, *density;      /* 2 pi (Phi2(h,k;rho) - Phi(h) Phi(k)); the derivative of Phi2 in rho */
  double *k_given_h, *h_given_k; /* Phi((k - rho h)/sqrt(1-rho^2)), and with h and k exchanged */
} bl_corners;

/* Doubles that the arrays of up to `most` corners take. */
static inline size_t bl_corners_size(size_t most) {
  return 6 * ((most + 7) / 8 * 8);
}

/* Places the arrays for up to `most` corners in work [bl_corners_size(most)], which is all zero. */
static inline void bl_corners_place(bl_corners *c, size_t most, double *work) {
  double **const array[] = {&c->h, &c->k, &c->excess, &c->density, &c->k_given_h, &c->h_given_k};
  for (int i = 0; i < 6; i++) *array[i] = work + (size_t)i * ((most + 7) / 8 * 8);
}

#define BL_CORNERS_MOST 0.9249
/* Sets excess and density at rho, |rho| <= BL_CORNERS_MOST. */
BL_KERNEL(void, bl_corners_at, bl_corners *corners, double rho);
/* Sets k_given_h and h_given_k at rho. */
BL_KERNEL(void, bl_corners_conditional, bl_corners *corners, double rho);

#endif
