/* segment.h - the parts of a call of blica_segment. */
#ifndef BL_SEGMENT_H
#define BL_SEGMENT_H

#include "segment/search.h"

typedef struct {
  const blica_data *data;
  const blica_segment_options *options;
} bl_segment;

/* States refined to single rows. */
typedef struct {
  bl_states *states;
  size_t size;
  double *log_p; /* patterns rows of S, of the last E-step */
  double score;  /* as bl_search_score, of the better of the model and of states with correlations of their own */
} bl_candidate;

/* The best result of rounds that begin at these states. */
blica_status bl_candidate_make(blica_ctx *ctx, const bl_segment *g, bl_em *em, const bl_states *from,
                               bl_candidate **out);
void bl_candidate_free(bl_candidate *candidate);

/* The model of the states' expected counts. */
blica_status bl_segment_fit(blica_ctx *ctx, const bl_segment *g, bl_em *em, const bl_states *x, blica_model **model);

/* Sequence, probabilities and moves; x gets its states in the order of their first appearance. */
blica_status bl_segment_result(blica_ctx *ctx, bl_em *em, bl_states **x, const double *log_p,
                               blica_segmentation *result);

#endif
