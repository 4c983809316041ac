/* arithmetic.h - whether two processes compute alike. */
#ifndef BL_ARITHMETIC_H
#define BL_ARITHMETIC_H

#include <stdint.h>

/* A digest of the bits of products, factors and eigenvalues by BLAS and LAPACK and of functions of the mathematical
 * library at a few hundred places: it differs between kernels that round differently. */
uint64_t bl_arithmetic_digest(void);

#endif
