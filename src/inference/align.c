/* align.c - counts in the order of a model's columns and segments; both are matched by name. */
#include "inference/align.h"

#include <string.h>

#include "counts/counts.h"
#include "data/coding.h"
#include "model/model.h"

static int find(const char *name, int count, char **names) {
  for (int i = 0; i < count; i++)
    if (strcmp(name, names[i]) == 0) return i;
  return -1;
}

blica_status bl_align_names(blica_ctx *ctx, const char *what, int have, char **model, int given, char **counts,
                            int *place) {
  for (int i = 0; i < have; i++) {
    place[i] = find(model[i], given, counts);
    if (place[i] < 0)
      return bl_fail(ctx, BLICA_ERR_DATA,
                     "%s '%s' of the model is not in the data; give the data that the model was fitted to", what,
                     model[i]);
  }
  for (int i = 0; i < given; i++)
    if (find(counts[i], have, model) < 0)
      return bl_fail(ctx, BLICA_ERR_DATA,
                     "%s '%s' of the data is not in the model; give the data that the model was fitted to", what,
                     counts[i]);
  return BLICA_OK;
}

/* Segment s of the model from segment t of the counts. */
static void copy_segment(const blica_counts *from, int t, const int *place, blica_counts *to, int s) {
  const int n = to->n;
  to->samples[s] = from->samples[t];
  for (int i = 0; i < n; i++) {
    to->ones[i + (size_t)s * n] = from->ones[place[i] + (size_t)t * n];
    to->present[i + (size_t)s * n] = from->present[place[i] + (size_t)t * n];
  }
  for (int j = 1; j < n; j++)
    for (int i = 0; i < j; i++) {
      const int64_t at = blica_pair(i, j) + s * to->pairs;
      double cell[4];
      blica_counts_table(from, t, place[i], place[j], cell);
      to->n11[at] = cell[0];
      if (!to->n10) continue;
      to->n10[at] = cell[1];
      to->n01[at] = cell[2];
      to->n00[at] = cell[3];
    }
}

blica_status bl_align_counts(blica_ctx *ctx, const blica_model *model, const blica_counts *counts, blica_counts **out) {
  blica_status status;
  BL_AUTO(blica_counts) *aligned = NULL;
  BL_OWNED int *variable = NULL, *segment = NULL;
  char **columns = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, (size_t)model->planes, &variable));
  TRY(bl_alloc(ctx, (size_t)model->u, &segment));
  if (model->coding) TRY(bl_coding_columns(ctx, model->coding, &columns));
  char **names = columns ? columns : model->variables;
  TRY(bl_align_names(ctx, "variable", model->planes, names, counts->n, counts->variables, variable));
  TRY(bl_align_names(ctx, "segment", model->u, model->segments, counts->u, counts->segments, segment));
  TRY(bl_counts_create(ctx, model->planes, model->u, !counts->n10, (const char *const *)names,
                       (const char *const *)model->segments, &aligned));
  aligned->exact = counts->exact;
  for (int s = 0; s < model->u; s++) copy_segment(counts, segment[s], variable, aligned, s);
  *out = bl_take(&aligned);
done:
  bl_free_texts(columns, model->planes);
  return status;
}
