/* rows.c - distinct rows in a model's order, their pair counts under any weights, and bootstrap draws of them. */
#include "inference/rows.h"

#include <string.h>

#include "counts/counts.h"
#include "data/patterns.h"
#include "likelihood/likelihood.h"
#include "num/rng.h"

void bl_rows_free(bl_rows *rows) {
  if (!rows) return;
  bl_free(rows->first);
  bl_free(rows->x);
  bl_free(rows->weight);
  bl_free(rows->total);
  bl_free(rows->cumulated);
  bl_free(rows);
}

static void take_group(const bl_group *g, int s, int64_t *place, bl_rows *rows) {
  for (int64_t p = 0; p < g->count; p++) {
    int8_t *x = rows->x + (size_t)rows->n * (size_t)*place;
    memset(x, (unsigned char)BLICA_MISSING, (size_t)rows->n);
    for (int i = 0; i < g->n; i++) x[g->variable[i]] = (int8_t)g->x[(size_t)p * (size_t)g->n + (size_t)i];
    rows->weight[*place] = g->weight[p];
    rows->total[s] += (int64_t)g->weight[p];
    rows->cumulated[(*place)++] = rows->total[s];
    if (g->n < rows->n) rows->complete = false;
  }
}

/* segment[t] is the model's segment of the data's segment t. */
static void take_all(const bl_merged *merged, const int *segment, bl_rows *rows) {
  int64_t place = 0;
  for (int s = 0; s < rows->u; s++) {
    rows->first[s] = place;
    for (int g = 0; g < merged->groups; g++)
      if (segment[merged->group[g].segment] == s) take_group(&merged->group[g], s, &place, rows);
  }
  rows->first[rows->u] = place;
}

/* Column variable[i] of the data is variable i, and segment[t] the segment of the data's segment t. */
static blica_status make(blica_ctx *ctx, const blica_data *data, const int *variable, const int *segment,
                         bl_rows **out) {
  blica_status status;
  bl_rows *rows = NULL;
  bl_merged *merged = NULL;
  *out = NULL;
  TRY(bl_merged_make(ctx, data, data->n, variable, false, &merged));
  TRY(bl_alloc(ctx, 1, &rows));
  rows->n = data->n, rows->u = data->u, rows->count = merged->count, rows->complete = true;
  TRY(bl_alloc(ctx, (size_t)data->u + 1, &rows->first));
  TRY(bl_alloc(ctx, (size_t)data->u, &rows->total));
  TRY(bl_alloc(ctx, bl_mul((size_t)merged->count, (size_t)data->n), &rows->x));
  TRY(bl_alloc(ctx, (size_t)merged->count, &rows->weight));
  TRY(bl_alloc(ctx, (size_t)merged->count, &rows->cumulated));
  take_all(merged, segment, rows);
  *out = rows;
  rows = NULL;
done:
  bl_rows_free(rows);
  bl_merged_free(merged);
  return status;
}

static blica_status rows_in_order(blica_ctx *ctx, const blica_model *model, const blica_data *data, bl_rows **out) {
  blica_status status;
  int *variable = NULL, *segment = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, (size_t)(model && model->n > data->n ? model->n : data->n), &variable));
  TRY(bl_alloc(ctx, (size_t)data->u, &segment));
  for (int i = 0; i < data->n; i++) variable[i] = i;
  for (int s = 0; s < data->u; s++) segment[s] = s;
  if (model) TRY(bl_likelihood_match(ctx, model, data, true, variable, segment));
  TRY(make(ctx, data, variable, segment, out));
done:
  bl_free(variable);
  bl_free(segment);
  return status;
}

blica_status bl_rows_of(blica_ctx *ctx, const blica_data *data, bl_rows **out) {
  return rows_in_order(ctx, NULL, data, out);
}

blica_status bl_rows_make(blica_ctx *ctx, const blica_model *model, const blica_data *data, bl_rows **out) {
  *out = NULL;
  if (data->u != model->u)
    return bl_fail(ctx, BLICA_ERR_DATA,
                   "the data have %d segments and the model has %d; give the data that it was fitted to", data->u,
                   model->u);
  return rows_in_order(ctx, model, data, out);
}

blica_status bl_rows_counts_create(blica_ctx *ctx, const bl_rows *rows, char *const *variables, char *const *segments,
                                   blica_counts **out) {
  return bl_counts_create(ctx, rows->n, rows->u, rows->complete, (const char *const *)variables,
                          (const char *const *)segments, out);
}

blica_status bl_rows_data(blica_ctx *ctx, const bl_rows *rows, const double *weight, char *const *variables,
                          char *const *segments, blica_data **out) {
  blica_status status;
  blica_packer *packer = NULL;
  *out = NULL;
  TRY(blica_pack_begin(ctx, rows->n, (const char *const *)variables, &packer));
  for (int s = 0; s < rows->u; s++) {
    int32_t id;
    TRY(blica_pack_segment(ctx, packer, segments[s], &id));
    for (int64_t p = rows->first[s]; p < rows->first[s + 1]; p++)
      for (int64_t copy = 0; copy < (int64_t)weight[p]; copy++)
        TRY(blica_pack_rows(ctx, packer, 1, rows->x + (size_t)rows->n * (size_t)p, &id));
  }
  status = blica_pack_end(ctx, packer, out);
  packer = NULL;
done:
  blica_packer_free(packer);
  return status;
}

void bl_rows_clear(blica_counts *c) {
  const size_t tables = (size_t)c->pairs * (size_t)c->u, margins = (size_t)c->n * (size_t)c->u;
  memset(c->samples, 0, (size_t)c->u * sizeof(double));
  memset(c->ones, 0, margins * sizeof(double));
  memset(c->present, 0, margins * sizeof(double));
  double *const cells[] = {c->n11, c->n10, c->n01, c->n00};
  for (int i = 0; i < 4; i++)
    if (cells[i]) memset(cells[i], 0, tables * sizeof(double));
}

void bl_rows_add(const int8_t *x, double w, int s, blica_counts *c) {
  const int n = c->n;
  double *ones = c->ones + (size_t)s * n, *present = c->present + (size_t)s * n;
  const int64_t at = s * c->pairs;
  c->samples[s] += w;
  for (int j = 0; j < n; j++) {
    if (x[j] == BLICA_MISSING) continue;
    present[j] += w;
    if (x[j]) ones[j] += w;
    if (!c->n10 && !x[j]) continue;
    for (int i = 0; i < j; i++) {
      const int64_t pair = at + blica_pair(i, j);
      if (x[i] == BLICA_MISSING) continue;
      if (x[i] && x[j])
        c->n11[pair] += w;
      else if (c->n10)
        *(x[i] ? &c->n10[pair] : x[j] ? &c->n01[pair] : &c->n00[pair]) += w;
    }
  }
}

void bl_rows_count(const bl_rows *rows, const double *weight, blica_counts *counts) {
  bl_rows_clear(counts);
  for (int s = 0; s < rows->u; s++)
    for (int64_t p = rows->first[s]; p < rows->first[s + 1]; p++)
      if (weight[p] > 0) bl_rows_add(rows->x + (size_t)rows->n * (size_t)p, weight[p], s, counts);
}

blica_status bl_rows_pool(blica_ctx *ctx, const blica_counts *counts, char *const *label, blica_counts **out) {
  blica_status status = bl_counts_create(ctx, counts->n, 1, !counts->n10, (const char *const *)counts->variables,
                                         (const char *const *)label, out);
  for (int s = 0; status == BLICA_OK && s < counts->u; s++) bl_counts_add(*out, 0, counts, s);
  return status;
}

/* The pattern of a segment that holds row number `row`, counted from 0. */
static int64_t pattern_of(const bl_rows *rows, int s, int64_t row) {
  int64_t low = rows->first[s], high = rows->first[s + 1] - 1;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (rows->cumulated[middle] > row)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

void bl_rows_draw(const bl_rows *rows, uint64_t seed, int64_t draw, double *weight) {
  memset(weight, 0, (size_t)rows->count * sizeof *weight);
  for (int s = 0; s < rows->u; s++) {
    bl_rng rng = bl_rng_make(seed, ((uint64_t)draw << 32) + (uint64_t)s);
    for (int64_t r = 0; r < rows->total[s]; r++) {
      const int64_t row = (int64_t)(bl_rng_uniform(&rng) * (double)rows->total[s]);
      weight[pattern_of(rows, s, row < rows->total[s] ? row : rows->total[s] - 1)]++;
    }
  }
}
