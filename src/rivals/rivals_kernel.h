/* rivals_kernel.h - elementary functions of many numbers, in SIMD lanes (rivals_kernel.c), with the same bits at every
 * level. Arrays are read and written up to the next multiple of BL_LANES. */
#ifndef BL_RIVALS_KERNEL_H
#define BL_RIVALS_KERNEL_H

#include "blica.h"
#include "num/simd.h"

/* x <- e^x; above 709 as at 709. */
BL_KERNEL(void, bl_exponentials, size_t count, double *x);
/* value <- log(1 + e^x) and x <- its derivative 1/(1 + e^-x). */
BL_KERNEL(void, bl_softplus, size_t count, double *x, double *value);
/* y <- g(y) and second <- g'(y), g the derivative of the contrast function of fastICA. */
BL_KERNEL(void, bl_contrast_slopes, blica_contrast contrast, size_t count, double *y, double *second);

#endif
