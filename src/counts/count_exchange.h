/* count_exchange.h - rows and tables on their way to the rank that keeps their segment. */
#ifndef BL_COUNT_EXCHANGE_H
#define BL_COUNT_EXCHANGE_H

#include "base/base.h"

/* What one rank has of one segment. */
typedef struct {
  int32_t id;                      /* of the segment, the same on all ranks */
  int32_t keeper;                  /* rank that it goes to */
  int64_t samples, words, present; /* present: 1 when masks come along */
} bl_load;

/* Adds the rows of all ranks' pieces to the counts of those who keep their segments. piece: this rank's rows, NULL for
 * none; load: first[r]..first[r+1]-1 are the segments of rank r's piece in their order; labels by id. n and variables
 * are everybody's, though this rank may have no rows. A call of all ranks. */
blica_status bl_exchange_rows(blica_ctx *ctx, const blica_data *piece, int n, char **variables, const bl_load *load,
                              const int *first, char **labels, blica_counts **kept);

/* Tables of whole segments from those who kept them so far (keeper [u], kept [NULL: none] by label) to those who own
 * them; kept is taken over. A call of all ranks. */
blica_status bl_exchange_tables(blica_ctx *ctx, blica_counts *kept, int n, int u, char **variables, char **segments,
                                const int32_t *keeper, blica_counts **own);

#endif
