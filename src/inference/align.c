/* align.c - counts in the order of a model's variables and segments; both are matched by name. */
#include "inference/align.h"

#include <string.h>

#include "counts/counts.h"

static int find(const char *name, int count, char **names) {
  for (int i = 0; i < count; i++)
    if (strcmp(name, names[i]) == 0) return i;
  return -1;
}

/* place[i] is where the model's name i stands among the counts' names. */
static blica_status match(blica_ctx *ctx, const char *what, int have, char **model, int given, char **counts,
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
      const bool swap = place[i] > place[j];
      double cell[4];
      blica_counts_table(from, t, swap ? place[j] : place[i], swap ? place[i] : place[j], cell);
      to->n11[at] = cell[0];
      if (!to->n10) continue;
      to->n10[at] = cell[swap ? 2 : 1];
      to->n01[at] = cell[swap ? 1 : 2];
      to->n00[at] = cell[3];
    }
}

blica_status bl_align_counts(blica_ctx *ctx, const blica_model *model, const blica_counts *counts, blica_counts **out) {
  blica_status status;
  blica_counts *aligned = NULL;
  int *variable = NULL, *segment = NULL;
  *out = NULL;
  TRY(bl_counts_need_whole(ctx, counts));
  TRY(bl_alloc(ctx, (size_t)model->n, &variable));
  TRY(bl_alloc(ctx, (size_t)model->u, &segment));
  TRY(match(ctx, "variable", model->n, model->variables, counts->n, counts->variables, variable));
  TRY(match(ctx, "segment", model->u, model->segments, counts->u, counts->segments, segment));
  TRY(bl_counts_create(ctx, model->n, model->u, !counts->n10, (const char *const *)model->variables,
                       (const char *const *)model->segments, &aligned));
  aligned->exact = counts->exact;
  for (int s = 0; s < model->u; s++) copy_segment(counts, segment[s], variable, aligned, s);
  *out = aligned;
  aligned = NULL;
done:
  bl_free(variable);
  bl_free(segment);
  blica_counts_free(aligned);
  return status;
}
