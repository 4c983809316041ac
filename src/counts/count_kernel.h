/* count_kernel.h - the inner loop of counting: popcounts of a small tile of column pairs. */
#ifndef BL_COUNT_KERNEL_H
#define BL_COUNT_KERNEL_H

#include "base/base.h"

enum { BL_TILE = 4 }; /* a kernel call counts a tile of BL_TILE x BL_TILE pairs */

/* Adds to sum[p + BL_TILE * q] the number of bits that a[p] and b[q] have in common in the words
 * from..to-1. */
typedef void (*bl_count_kernel)(const uint64_t *const a[BL_TILE], const uint64_t *const b[BL_TILE], size_t from,
                                size_t to, int64_t sum[BL_TILE * BL_TILE]);

/* The fastest kernel of this machine at that level. All give the same numbers. */
bl_count_kernel bl_count_kernel_for(blica_simd level);

/* All kernels that this machine can run, for tests and benchmarks; NULL past the end. */
bl_count_kernel bl_count_kernel_at(int index, const char **name);

#endif
