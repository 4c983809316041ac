/* model.h - what the library knows about a model beyond its public fields. */
#ifndef BL_MODEL_H
#define BL_MODEL_H

#include "data/coding.h"

/* Brings the model to the canonical form of blica.h in place: scale, order and sign of the sources,
 * in mixing, variances and means. A source whose variances are not all positive and
 * finite keeps its scale. */
blica_status bl_model_canonical(blica_ctx *ctx, blica_model *model);

/* Gives the items these levels; the coding is taken over, and cuts and thresholds begin as zeros, one for each of its
 * columns. */
blica_status bl_model_set_coding(blica_ctx *ctx, blica_model *model, blica_coding *coding);

/* A model of the same shape, with the coding, link, samples and thresholds of another; all else is zero. */
blica_status bl_model_like(blica_ctx *ctx, const blica_model *shape, blica_model **out);

/* Moves the sources' average mean over segments, weighted by samples, into the cuts; no probability changes. */
void bl_model_center(blica_model *model);

/* Means, and with cuts the cuts, that fit the thresholds (solve_means.c). */
blica_status bl_solve_means(blica_ctx *ctx, blica_model *model, bool cuts);

/* A and the cuts of segment s. */
static inline const double *bl_mixing_in(const blica_model *m, int s) {
  return m->own_mixing ? m->own_mixing + (size_t)m->n * (size_t)m->k * (size_t)s : m->mixing;
}
static inline const double *bl_cuts_in(const blica_model *m, int s) {
  return m->own_cuts ? m->own_cuts + (size_t)m->planes * (size_t)s : m->cuts;
}
/* What item i has of its own in segment s: 0, BLICA_FREED_CUTS or BLICA_FREED_ROW. */
static inline int bl_freed(const blica_model *m, int i, int s) {
  return m->freed ? m->freed[i + m->n * s] : 0;
}
/* Marks items as freed [n,u]; NULL: none. */
blica_status bl_model_free_items(blica_ctx *ctx, blica_model *model, const uint8_t *freed);
/* Gives each segment A and cuts of its own, those of all segments. */
blica_status bl_model_own(blica_ctx *ctx, blica_model *model);

/* For a model whose mixing and variances are known: solves the means, and with cuts the cuts, from the thresholds
 * unless they are done, and brings it to canonical form. */
blica_status bl_model_fill_means(blica_ctx *ctx, blica_model *model, bool cuts, bool means_done);
/* The note of a model whose segments were found in the rows that it was fitted to. */
#define BL_SEGMENTS_FOUND "segments_found"
/* Appends a note to the record of a fit; a long name is truncated. */
blica_status bl_report_note(blica_ctx *ctx, blica_fit_report *report, const char *name, double value);

/* Implied margins of segment s: the diagonal of M = I + c A V A' and the thresholds
 * (sqrt(c) (A mu)_i - cut_il) / sqrt(M_ii). Either output may be NULL. */
void bl_model_margins(const blica_model *model, int s, double *diagonal /* [n] */, double *threshold /* [planes] */);

/* The standard deviations of the priors of the fit; one that is infinite or unknown leaves its argument as it is. */
void bl_model_prior(const blica_model *model, double *sd_mixing, double *sd_variance);

/* The scalar fields of a fit record in model.json, listed once for writing and reading. Times are not among them: the
 * same fit is the same file. */
typedef enum { BL_FIELD_REAL, BL_FIELD_INT, BL_FIELD_WIDE, BL_FIELD_SEED, BL_FIELD_STOP, BL_FIELD_KIND } bl_field_type;

typedef struct {
  const char *name;
  bl_field_type type; /* double, int, int64_t, uint64_t, blica_stop, char[16] */
  size_t offset;
} bl_field;

extern const bl_field bl_report_fields[]; /* of blica_fit_report; the last name is NULL */
extern const bl_field bl_start_fields[];  /* of blica_start */

#endif
