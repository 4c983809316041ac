/* blica_ranks.h - several processes (ranks) that work as one. blica_mpi.h connects them by MPI.
 *
 * From blica_set_comm on, all ranks make the same calls of blica_fit, blica_loglik, blica_sources, blica_assess and
 * blica_select, with the same input and options. Every rank holds all of the input, does a part of the work, and gets
 * the whole result, with the bits of one process alone. Ranks that read different rows put them together by the two
 * calls below, which all of them make. Other calls do all of their work on the rank that makes them: let one rank save
 * results. Calls that fit inside, such as blica_segment, are made by all ranks, too. */
#ifndef BLICA_RANKS_H
#define BLICA_RANKS_H

#include "blica.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How ranks exchange messages. A callback returns 0 on success. Results are the same bits for any number of ranks,
 * because terms are gathered and added in index order. */
struct blica_comm {
  int rank, size;
  int (*sum)(double *x, size_t count, void *user); /* element-wise over ranks */
  /* In place: rank r owns x[offset[r]] to x[offset[r] + count[r] - 1]. */
  int (*gather)(double *x, const size_t *count, const size_t *offset, void *user);
  int (*broadcast)(void *bytes, size_t count, int root, void *user);
  void *user;
};

/* Each rank brings rows of its own (NULL: none); all get all rows, in the order of ranks. */
BLICA_API blica_status blica_pack_ranks(blica_ctx *ctx, const blica_data *own, blica_data **out);
/* Each rank brings the counts of its own rows (NULL: none); all get the sum. Segments are matched by label, in the
 * order of ranks. */
BLICA_API blica_status blica_merge_ranks(blica_ctx *ctx, const blica_counts *own, blica_counts **out);

#ifdef __cplusplus
}
#endif
#endif /* BLICA_RANKS_H */
