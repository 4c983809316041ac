/* blica_ranks.h - several processes (ranks) that work as one. blica_mpi.h connects them by MPI.
 *
 * From blica_set_comm on every rank makes the same calls with the same input and options. Each does its share of the
 * work, all get the same result (the bits of one process alone), and rank 0 writes files. The calls below are for ranks
 * that have different rows. Counts of many variables are distributed: each rank holds the tables of its own segments.
 * Distributed counts give distributed correlations; blica_fit, blica_correlate, blica_regularise and the calls that
 * save take both. Unless said otherwise, a call is made by all ranks together. */
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
  /* Bytes from each rank to each other: send holds to[0] bytes for rank 0, then to[1] for rank 1, ...; receive gets
   * from[0] bytes of rank 0, then from[1], .... NULL: broadcasts are used instead. */
  int (*all_to_all)(const void *send, const size_t *to, void *receive, const size_t *from, void *user);
};

/* Each rank brings rows of its own (NULL: none); all get all rows, in the order of ranks. */
BLICA_API blica_status blica_pack_ranks(blica_ctx *ctx, const blica_data *own, blica_data **out);
/* Each rank brings the counts of its own rows (NULL: none); all get the sum. Segments are matched by label, in the
 * order of ranks. */
BLICA_API blica_status blica_merge_ranks(blica_ctx *ctx, const blica_counts *own, blica_counts **out);

/* Rows that come in pieces: every rank gives its pieces, NULL when it has none this time, until no rank has any; then
 * all end. blica_count_piece consumes the piece. With the options of the fit that is to follow, a rank holds the tables
 * that the fit needs there; with fit NULL, the counts of more than 100 variables are distributed. blica_count_begin is
 * the only one of these calls that a rank makes by itself. */
typedef struct blica_counter blica_counter;
/* Made by each rank for itself; fit may be NULL. */
BLICA_API blica_status blica_count_begin(blica_ctx *ctx, const blica_fit_options *fit, blica_counter **out);
/* A call of all ranks; consumes the piece. */
BLICA_API blica_status blica_count_piece(blica_ctx *ctx, blica_counter *counter, blica_data *piece);
/* The counts, by a call of all ranks. The counter stays to be freed. */
BLICA_API blica_status blica_count_end(blica_ctx *ctx, blica_counter *counter, blica_counts **out);
BLICA_API void blica_counter_free(blica_counter *counter); /* NULL is fine */
/* Counts of a file: those of an .npz are distributed in the same way, a .csv is read whole by every rank. */
BLICA_API blica_status blica_counts_load_ranks(blica_ctx *ctx, const char *path, const blica_fit_options *fit,
                                               blica_counts **out);

#ifdef __cplusplus
}
#endif
#endif /* BLICA_RANKS_H */
