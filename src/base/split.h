/* split.h - loops whose items are split among the ranks of a communicator.
 *
 * Every rank computes a contiguous range of items into their places, then all exchange what they made, so that
 * results are the same bits for any number of ranks. A sum over items runs over one fixed binary tree (item i is
 * added to item i - 2^l for growing l): a rank adds up the branches that are wholly its own and sends only those. */
#ifndef BL_SPLIT_H
#define BL_SPLIT_H

#include "base/base.h"

typedef struct {
  int rank, size;
  int64_t count;       /* items in all */
  int64_t first, last; /* this rank computes first..last-1 */
  int64_t *bound;      /* [size+1] rank r has bound[r]..bound[r+1]-1 */
  double *buffer;      /* messages */
  size_t buffer_size;
} bl_split;

/* Splits count items into a range for each rank, of equal sizes. */
blica_status bl_split_make(blica_ctx *ctx, int64_t count, bl_split *split);
void bl_split_free(bl_split *split); /* its memory; the struct is the caller's */

/* Runs the task for every item of this rank. */
void bl_split_run(blica_ctx *ctx, const bl_split *split, bl_task task, void *user);

/* An array with a place of `each` doubles for every item. */
typedef struct {
  double *x;
  size_t each;
} bl_places;

/* Exchanges: every rank gets all items of all `lists`; and of `sum`, when it is not NULL, the sum over items into the
 * place of item 0 (the other places are overwritten). One message per rank. */
blica_status bl_split_exchange(blica_ctx *ctx, bl_split *split, int lists, const bl_places *list, const bl_places *sum);

/* Runs count items in child contexts (bl_parallel_children), each on one rank, and brings the places of all items in
 * the lists to every rank. Fails on all ranks as the first item that failed does. After an interrupt, too, every rank
 * has the places of the items that were finished. */
blica_status bl_split_children(blica_ctx *ctx, int64_t count, const char *stage, bl_child_task task, void *user,
                               int lists, const bl_places *list);

/* Copies bytes of the root into the memory of all ranks. */
blica_status bl_broadcast(blica_ctx *ctx, void *bytes, size_t count, int root);
/* root's texts, *count of them, in a new list on every rank, which also gets their number; free with bl_free. */
blica_status bl_broadcast_texts(blica_ctx *ctx, char *const *texts, int *count, int root, const char ***out);
/* Element-wise sum over ranks, of numbers whose sum is exact in any order: whole ones, or not zero on one rank only. */
blica_status bl_sum_disjoint(blica_ctx *ctx, double *x, size_t count);

/* True when any rank says so: to be called by all ranks at the same place. */
bool bl_any(blica_ctx *ctx, bool here);
/* The failure of the first rank that has one becomes everybody's. To be called by all ranks at the same place. */
blica_status bl_agree(blica_ctx *ctx, blica_status status);
/* Polls; 1: the user wants to stop, 2: the deadline has passed. The same on all ranks. */
int bl_poll_agreed(blica_ctx *ctx, const blica_progress *progress, double deadline);

#endif
