/* search.h - the best states for every number of them, and the number that the data ask for. */
#ifndef BL_SEARCH_H
#define BL_SEARCH_H

#include "segment/em.h"

typedef struct {
  int most;         /* best[S] for S from 1 to most */
  bl_states **best; /* [most+1]; NULL where there is none */
  int64_t bin;      /* rows per step */
} bl_search;

/* From more states than `most` down to one, by starts clusterings; keeps the best of each number. `least`: the smallest
 * number of states that is wanted. */
blica_status bl_search_run(blica_ctx *ctx, bl_em *em, const blica_segment_options *options, int least, int most,
                           bl_search *search);
void bl_search_free(bl_search *search);

/* Log-likelihood less half of (parameters x log rows). parameters: of all states' emissions together. */
double bl_search_score(const bl_series *series, const bl_states *states, double loglik, double parameters);

#endif
