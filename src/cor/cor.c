/* cor.c - the object that holds correlations: create, copy, unpack, free. */
#include "cor/cor.h"

#include <math.h>
#include <string.h>

#include "counts/counts.h"
#include "data/coding.h"

blica_status bl_cor_create(blica_ctx *ctx, int n, int u, char **variables, char **segments, const double *samples,
                           bool errors, blica_cor **out) {
  BL_AUTO(blica_cor) *cor = NULL;
  *out = NULL;
  MUST(bl_alloc(ctx, 1, &cor));
  cor->n = cor->planes = n;
  cor->u = u;
  cor->pairs = (int64_t)n * (n - 1) / 2;
  cor->condition = INFINITY;
  size_t tables = bl_mul((size_t)u, (size_t)cor->pairs), columns = bl_mul((size_t)n, (size_t)u);
  MUST(bl_copy_texts(ctx, n, (const char *const *)variables, &cor->variables));
  MUST(bl_copy_texts(ctx, u, (const char *const *)segments, &cor->segments));
  MUST(bl_alloc_for(ctx, cor, (size_t)u, &cor->samples));
  MUST(bl_alloc_for(ctx, cor, tables, &cor->rho));
  if (errors) MUST(bl_alloc_for(ctx, cor, tables, &cor->se));
  MUST(bl_alloc_for(ctx, cor, tables, &cor->flags));
  MUST(bl_alloc(ctx, columns, &cor->thresholds));
  MUST(bl_alloc_for(ctx, cor, (size_t)u, &cor->shift));
  MUST(bl_alloc_for(ctx, cor, (size_t)u, &cor->eigen_min));
  MUST(bl_alloc_for(ctx, cor, (size_t)u, &cor->eigen_max));
  memcpy(cor->samples, samples, (size_t)u * sizeof *samples);
  for (int s = 0; s < u; s++) cor->eigen_min[s] = cor->eigen_max[s] = NAN;
  *out = bl_take(&cor);
  return BLICA_OK;
}

blica_status bl_cor_set_coding(blica_ctx *ctx, blica_cor *cor, blica_coding *coding) {
  double *thresholds;
  const int planes = bl_plane(coding, cor->n);
  MUST(bl_alloc(ctx, bl_mul((size_t)planes, (size_t)cor->u), &thresholds));
  bl_free(cor->thresholds);
  cor->thresholds = thresholds, cor->planes = planes, cor->coding = coding;
  return BLICA_OK;
}

static blica_status copy_doubles(blica_ctx *ctx, void *owner, const double *from, size_t count, double **out) {
  if (!from) return BLICA_OK;
  blica_status status = bl_alloc_for(ctx, owner, count, out);
  if (status == BLICA_OK) memcpy(*out, from, count * sizeof(double));
  return status;
}

blica_status bl_cor_copy(blica_ctx *ctx, const blica_cor *cor, blica_cor **out) {
  BL_AUTO(blica_cor) *copy = NULL;
  blica_coding *coding = NULL;
  *out = NULL;
  MUST(bl_cor_create(ctx, cor->n, cor->u, cor->variables, cor->segments, cor->samples, cor->se, &copy));
  MUST(bl_coding_copy(ctx, cor->coding, &coding));
  if (coding) MUST(bl_cor_set_coding(ctx, copy, coding));
  size_t tables = (size_t)cor->u * (size_t)cor->pairs, items = (size_t)cor->n * (size_t)cor->u;
  MUST(copy_doubles(ctx, copy, cor->location, items, &copy->location));
  MUST(copy_doubles(ctx, copy, cor->log_scale, items, &copy->log_scale));
  MUST(copy_doubles(ctx, copy, cor->log_scale_se, items, &copy->log_scale_se));
  size_t columns = (size_t)cor->planes * (size_t)cor->u;
  size_t segments = (size_t)cor->u * sizeof(double);
  memcpy(copy->rho, cor->rho, tables * sizeof(double));
  if (cor->se) memcpy(copy->se, cor->se, tables * sizeof(double));
  memcpy(copy->flags, cor->flags, tables);
  memcpy(copy->thresholds, cor->thresholds, columns * sizeof(double));
  memcpy(copy->shift, cor->shift, segments);
  memcpy(copy->eigen_min, cor->eigen_min, segments);
  memcpy(copy->eigen_max, cor->eigen_max, segments);
  MUST(copy_doubles(ctx, copy, cor->item_rows, items, &copy->item_rows));
  MUST(copy_doubles(ctx, copy, cor->pair_rows, tables, &copy->pair_rows));
  if (cor->sets) MUST(bl_item_sets_copy(ctx, cor->sets, &copy->sets));
  copy->zero_cells = cor->zero_cells;
  copy->constant_pairs = cor->constant_pairs;
  copy->empty_pairs = cor->empty_pairs;
  copy->constant_columns = cor->constant_columns;
  copy->exact = cor->exact;
  copy->condition = cor->condition;
  *out = bl_take(&copy);
  return BLICA_OK;
}

/* The sets of columns of segment s to sets of items; none when they do not hold all rows. */
static blica_status items_of_sets(blica_ctx *ctx, const blica_counts *counts, int s, blica_cor *cor) {
  const bl_item_set_list *from = &counts->sets->segment[s];
  BL_OWNED uint64_t *mask = NULL;
  double rows = 0;
  for (int i = 0; i < from->count; i++) rows += from->rows[i];
  if (from->count < 0 || fabs(rows - counts->samples[s]) > 1e-6 * counts->samples[s]) {
    cor->sets->segment[s].count = -1;
    return BLICA_OK;
  }
  MUST(bl_alloc(ctx, (size_t)cor->sets->words, &mask));
  for (int l = 0; l < from->count; l++) {
    const uint64_t *columns = from->mask + (size_t)l * (size_t)counts->sets->words;
    memset(mask, 0, (size_t)cor->sets->words * sizeof *mask);
    for (int i = 0; i < cor->n; i++) {
      const int column = bl_plane(cor->coding, i);
      mask[i / 64] |= (columns[column / 64] >> (column % 64) & 1) << (i % 64);
    }
    if (from->rows[l] > 0) MUST(bl_item_sets_add(ctx, cor->sets, s, mask, from->rows[l]));
  }
  return BLICA_OK;
}

/* Rows of items and pairs of segment s; returns whether any value is missing. */
static bool read_rows(const blica_counts *counts, int s, const blica_cor *cor, double *items, double *pairs) {
  bool missing = false;
  for (int i = 0; i < cor->n; i++) {
    items[i] = counts->present[(size_t)bl_plane(cor->coding, i) + (size_t)counts->n * (size_t)s];
    missing |= items[i] < counts->samples[s];
  }
  for (int j = 1; j < cor->n && pairs; j++)
    for (int i = 0; i < j; i++) {
      double cell[4];
      blica_counts_table(counts, s, bl_plane(cor->coding, i), bl_plane(cor->coding, j), cell);
      *pairs++ = cell[0] + cell[1] + cell[2] + cell[3];
    }
  return missing;
}

blica_status bl_cor_keep_rows(blica_ctx *ctx, const blica_counts *counts, blica_cor *cor) {
  const size_t n = (size_t)cor->n, pairs = (size_t)cor->pairs;
  bool missing = false;
  double *items;
  if (!counts->n10) return BLICA_OK;
  MUST(bl_alloc_for(ctx, cor, n * (size_t)cor->u, &items));
  for (int s = 0; s < cor->u; s++) missing |= read_rows(counts, s, cor, items + n * (size_t)s, NULL);
  if (!missing) return BLICA_OK;
  cor->item_rows = items;
  MUST(bl_alloc_for(ctx, cor, bl_mul(pairs, (size_t)cor->u), &cor->pair_rows));
  for (int s = 0; s < cor->u; s++) read_rows(counts, s, cor, items + n * (size_t)s, cor->pair_rows + pairs * (size_t)s);
  if (!counts->sets) return BLICA_OK;
  MUST(bl_item_sets_make(ctx, cor->n, cor->u, &cor->sets));
  for (int s = 0; s < cor->u; s++) MUST(items_of_sets(ctx, counts, s, cor));
  return BLICA_OK;
}

bl_symmetric bl_cor_view(const blica_cor *cor, int s) {
  return (bl_symmetric){.n = cor->n, .pairs = cor->rho + s * cor->pairs, .scale = 1};
}

void blica_cor_matrix(const blica_cor *cor, int s, double *c) {
  if (!cor || !c) return;
  size_t n = (size_t)cor->n;
  const double *rho = cor->rho + (size_t)s * (size_t)cor->pairs;
  for (size_t j = 0; j < n; j++) {
    c[j + j * n] = 1.0;
    for (size_t i = 0; i < j; i++) c[i + j * n] = c[j + i * n] = *rho++;
  }
}

void blica_cor_free(blica_cor *cor) {
  if (!cor) return;
  bl_free(cor->variables);
  bl_free(cor->segments);
  bl_free(cor->thresholds);
  blica_coding_free(cor->coding);
  bl_item_sets_free(cor->sets);
  bl_free(cor);
}
