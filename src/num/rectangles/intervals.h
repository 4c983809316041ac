/* intervals.h - items with levels as intervals of normal variables.
 *
 * Item i has the edges first[i] .. first[i+1]-1, growing, the first of each being 0: its mean is counted from there. At
 * level l it lies above its l-th edge and below the next; the lowest and the highest level have one end. Two levels are
 * one edge. */
#ifndef BL_INTERVALS_H
#define BL_INTERVALS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  const int *first;   /* [n+1]; NULL: every item has one edge */
  const double *edge; /* [first[n]]; not read when first is NULL */
} bl_intervals;

/* First edge of item i; with i = n, the number of all. */
static inline int bl_edge_of(const bl_intervals *levels, int i) {
  return levels->first ? levels->first[i] : i;
}
/* The ends of level l of item i; NULL where the end is infinite. */
static inline const double *bl_edge_below(const bl_intervals *levels, int i, int l) {
  return l > 0 ? levels->edge + levels->first[i] + l - 1 : NULL;
}
static inline const double *bl_edge_above(const bl_intervals *levels, int i, int l) {
  return levels->first[i] + l < levels->first[i + 1] ? levels->edge + levels->first[i] + l : NULL;
}

/* The rows x of n levels are in lexicographic order. Returns the end of the rows from low on that have the same level
 * in item i as row low. */
static inline int64_t bl_end_of_level(const uint8_t *x, int n, int i, int64_t low, int64_t high) {
  const uint8_t level = x[low * n + i];
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (x[middle * n + i] > level)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

#endif
