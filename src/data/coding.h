/* coding.h - the levels of items, and how columns of bits carry them.
 *
 * An item with levels l_0 < l_1 < ... is kept as columns of bits, one for each level but the lowest: column l is 1
 * where the item is at least l_l. Such a column is named "item[l_0<l_1<...]>=l", so that the coding goes wherever names
 * go: through counts, files, merges and ranks, and columns of different codings never add up. An item of plain 0 and 1
 * is one column under its own name. */
#ifndef BL_CODING_H
#define BL_CODING_H

#include "base/base.h"

enum { BL_MOST_LEVELS = 100 };

/* Derives the items from the names of the columns. *out is NULL when all items have two levels. Fails, naming the item,
 * when columns of an item are missing or out of order. */
blica_status bl_coding_parse(blica_ctx *ctx, int columns, char *const *names, blica_coding **out);
blica_status bl_coding_copy(blica_ctx *ctx, const blica_coding *coding, blica_coding **out); /* a deep copy */
/* Items called names[i], of levels[i] levels, labels one item after another. NULL labels: 0, 1, 2, .... */
blica_status bl_coding_make(blica_ctx *ctx, int items, const char *const *names, const int *levels,
                            const char *const *labels, blica_coding **out);
/* The names of all its columns. */
blica_status bl_coding_columns(blica_ctx *ctx, const blica_coding *coding, char ***out);

/* First column of item i, of n items; one past the last for i = n. NULL: all are plain. */
static inline int bl_plane(const blica_coding *coding, int i) {
  return coding ? coding->first[i] : i;
}
/* Whether some item has more than two levels. */
static inline bool bl_coding_ordinal(const blica_coding *coding) {
  return coding && coding->first[coding->items] > coding->items;
}

/* Cuts of n items as parameters that may have any value: of each item the first cut, then the logarithms of the steps
 * from cut to cut, so that cuts grow whatever an optimiser does. An item of two levels has its cut alone. */
void bl_cuts_of(const blica_coding *coding, int n, const double *own, double *cut);  /* from parameters to cuts */
void bl_cuts_set(const blica_coding *coding, int n, const double *cut, double *own); /* and back */
/* The gradient in the cuts becomes that in their parameters, in place. */
void bl_cuts_chain(const blica_coding *coding, int n, const double *own, double *gradient);
/* A small change of the parameters becomes that of the cuts, in place. */
void bl_cuts_move(const blica_coding *coding, int n, const double *own, double *change);

#endif
