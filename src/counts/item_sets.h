/* item_sets.h - which items the rows of a segment have, where values are missing.
 *
 * An item set is a set of columns that are present together in some rows; a questionnaire with two forms has two. The
 * sets of a segment are listed with their numbers of rows as long as they are few: the squares of their sizes may add
 * up to BL_ITEM_SETS_MOST times the square of all columns, or BL_ITEM_SETS_SMALL. Beyond that the list is given up,
 * whatever the order in which rows came. */
#ifndef BL_ITEM_SETS_H
#define BL_ITEM_SETS_H

#include "base/base.h"

enum { BL_ITEM_SETS_MOST = 8, BL_ITEM_SETS_SMALL = 3200 };

typedef struct {
  int count;      /* -1: there are too many to list */
  int room;       /* sets that mask and rows have memory for */
  int64_t size;   /* sum of the squares of the sizes */
  uint64_t *mask; /* [words,count] bit i: the set has column i; in ascending order */
  double *rows;   /* [count] numbers of rows, which may be 0 */
} bl_item_set_list;

typedef struct blica_item_sets {
  int n, words, u;           /* columns, 64-bit words of a mask, segments */
  bl_item_set_list *segment; /* [u] */
} bl_item_sets;

/* Makes the sets of n columns in u segments, all without rows. */
blica_status bl_item_sets_make(blica_ctx *ctx, int n, int u, bl_item_sets **out);
void bl_item_sets_free(bl_item_sets *sets);
BL_AUTO_FREE(bl_item_sets)
blica_status bl_item_sets_copy(blica_ctx *ctx, const bl_item_sets *sets, bl_item_sets **out); /* a deep copy */
/* Appends segments without rows, up to u in all. */
blica_status bl_item_sets_grow(blica_ctx *ctx, bl_item_sets *sets, int u);

/* Adds rows with the set `mask` [words] to segment s. */
blica_status bl_item_sets_add(blica_ctx *ctx, bl_item_sets *sets, int s, const uint64_t *mask, double rows);
/* Adds rows without missing values. */
blica_status bl_item_sets_add_complete(blica_ctx *ctx, bl_item_sets *sets, int s, double rows);
/* Adds the rows of segment t of the data. */
blica_status bl_item_sets_add_data(blica_ctx *ctx, bl_item_sets *sets, int s, const blica_data *data, int t);
/* Adds the rows of segment t of other. */
blica_status bl_item_sets_merge(blica_ctx *ctx, bl_item_sets *sets, int s, const bl_item_sets *other, int t);
/* There are too many sets in segment s to list them. */
void bl_item_sets_give_up(bl_item_sets *sets, int s);
/* Where `mask` is in the list of segment s; -1: it is not. */
int bl_item_sets_find(const bl_item_sets *sets, int s, const uint64_t *mask);

#endif
