/* rows.c - distinct rows in a model's order, their pair counts under any weights, and bootstrap draws of them. Levels
 * become columns of bits (coding.h) where rows are counted or packed. */
#include "inference/scores/rows.h"

#include <stdlib.h>
#include <string.h>

#include "counts/counts.h"
#include "data/patterns.h"
#include "num/rng.h"

/* ---- names ---- */

static int find(const char *name, int count, char **names) {
  for (int i = 0; i < count; i++)
    if (strcmp(name, names[i]) == 0) return i;
  return -1;
}

/* place[i] <- the place of name i of the model among the given names. Fails with BLICA_ERR_DATA, naming the first name
 * that only one of the lists has; `what` says what is named. */
static blica_status match_names(blica_ctx *ctx, const char *what, int have, char **model, int given, char **counts,
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
  TRY(match_names(ctx, "variable", model->planes, names, counts->n, counts->variables, variable));
  TRY(match_names(ctx, "segment", model->u, model->segments, counts->u, counts->segments, segment));
  TRY(bl_counts_create(ctx, model->planes, model->u, !counts->n10, (const char *const *)names,
                       (const char *const *)model->segments, &aligned));
  aligned->exact = counts->exact;
  for (int s = 0; s < model->u; s++) copy_segment(counts, segment[s], variable, aligned, s);
  *out = bl_take(&aligned);
done:
  bl_free(columns);
  return status;
}

/* ---- rows ---- */

void bl_rows_free(bl_rows *rows) {
  if (!rows) return;
  bl_free(rows->columns);
  bl_free(rows->segments);
  blica_coding_free(rows->coding);
  bl_item_sets_free(rows->sets);
  bl_free(rows);
}

/* Appends the patterns of a group; where [count] receives their places. */
static void take_group(const bl_group *g, int64_t *place, int64_t *where, bl_rows *rows) {
  for (int64_t p = 0; p < g->count; p++) {
    where[g->offset + p] = *place;
    int8_t *x = rows->x + (size_t)rows->n * (size_t)*place;
    memset(x, (unsigned char)BLICA_MISSING, (size_t)rows->n);
    for (int i = 0; i < g->n; i++) x[g->variable[i]] = (int8_t)g->x[(size_t)p * (size_t)g->n + (size_t)i];
    (*place)++;
    if (g->n < rows->n) rows->complete = false;
  }
}

/* segment[t] is the segment of the data's segment t. */
static void take_all(const bl_patterns *patterns, const int *segment, int64_t *where, bl_rows *rows) {
  int64_t place = 0;
  for (int s = 0; s < rows->u; s++) {
    rows->first[s] = place;
    for (int g = 0; g < patterns->groups; g++)
      if (segment[patterns->group[g].segment] == s) take_group(&patterns->group[g], &place, where, rows);
  }
  rows->first[rows->u] = place;
}

/* The pattern of each row with any value, rows in the order of the data, and what rows of a pattern weigh. */
static void take_order(const bl_patterns *patterns, const blica_data *data, const int *segment, const int64_t *where,
                       bl_rows *rows) {
  int64_t from = 0;
  for (int t = 0; t < data->u; t++)
    for (int64_t r = 0; r < data->samples[t]; r++, from++) rows->total[segment[t]] += patterns->row_pattern[from] >= 0;
  for (int s = 0; s < rows->u; s++) rows->row_first[s + 1] = rows->row_first[s] + rows->total[s];
  from = 0;
  for (int t = 0; t < data->u; t++) {
    int64_t to = rows->row_first[segment[t]];
    for (int64_t r = 0; r < data->samples[t]; r++, from++) {
      if (patterns->row_pattern[from] < 0) continue;
      const int64_t p = where[patterns->row_pattern[from]];
      const double w = data->weight ? data->weight[from] : 1;
      if (rows->row_weight) rows->row_weight[to] = w;
      if (rows->cluster && data->cluster) rows->cluster[to] = data->cluster[from];
      if (rows->stratum && data->stratum) rows->stratum[to] = data->stratum[from];
      rows->row[to++] = p;
      rows->weight[p] += w, rows->square[p] += w * w, rows->size[segment[t]] += w;
      for (int c = 0; c < rows->replicates; c++)
        rows->replicate[p + rows->count * c] += data->replicate[from + data->rows * c];
    }
  }
}

/* ---- units: rows that are independent of all others ---- */

static blica_status make_units(blica_ctx *ctx, bl_rows *rows) {
  MUST(bl_alloc_for(ctx, rows, (size_t)rows->row_first[rows->u] + 1, &rows->unit_first));
  return bl_alloc_for(ctx, rows, (size_t)rows->u + 1, &rows->unit_of);
}

/* The next unit begins at `row`; the units of a segment follow those of the one before. */
static void begin_unit(bl_rows *rows, int s, int64_t row, int64_t *count) {
  rows->unit_first[(*count)++] = row;
  rows->unit_of[s + 1] = *count;
}

blica_status bl_rows_block(blica_ctx *ctx, bl_rows *rows, int64_t length) {
  int64_t count = 0;
  MUST(make_units(ctx, rows));
  for (int s = 0; s < rows->u; s++) {
    const int64_t blocks = (rows->total[s] + length / 2) / length, of = blocks > 0 ? blocks : 1;
    rows->unit_of[s + 1] = count;
    for (int64_t b = 0; b < of && rows->total[s] > 0; b++) /* of equal length, or one row longer */
      begin_unit(rows, s, rows->row_first[s] + b * rows->total[s] / of, &count);
  }
  rows->unit_first[count] = rows->row_first[rows->u];
  return BLICA_OK;
}

typedef struct {
  int32_t stratum;
  int64_t cluster, place, pattern;
  double weight;
} sampled_row;

static int by_cluster(const void *a, const void *b) {
  const sampled_row *x = a, *y = b;
  if (x->stratum != y->stratum) return x->stratum < y->stratum ? -1 : 1;
  if (x->cluster != y->cluster) return x->cluster < y->cluster ? -1 : 1;
  return (x->place > y->place) - (x->place < y->place);
}

/* Sets the peers of the units of segment s, whose rows are in list. */
static blica_status take_strata(blica_ctx *ctx, bl_rows *rows, int s, const sampled_row *list) {
  for (int64_t first = rows->unit_of[s], after; first < rows->unit_of[s + 1]; first = after) {
    const sampled_row *row = &list[rows->unit_first[first]];
    for (after = first; after < rows->unit_of[s + 1]; after++)
      if (list[rows->unit_first[after]].stratum != row->stratum) break;
    if (after == first + 1)
      return bl_fail(
          ctx, BLICA_ERR_DATA,
          "segment '%s': its row %lld is of a %s that is alone in its stratum there, so that nothing shows how "
          "such %s vary; join that stratum with one that is like it, or the segment with another",
          rows->segments[s], (long long)(row->place - rows->row_first[s]) + 1, rows->cluster ? "cluster" : "row",
          rows->cluster ? "clusters" : "rows");
    for (int64_t unit = first; unit < after; unit++) rows->peers[2 * unit] = first, rows->peers[2 * unit + 1] = after;
  }
  return BLICA_OK;
}

/* Sorts the rows of each segment by stratum and cluster; clusters are the units. */
static blica_status take_clusters(blica_ctx *ctx, bl_rows *rows) {
  BL_OWNED sampled_row *list = NULL;
  int64_t count = 0;
  if (!rows->cluster && !rows->stratum) return BLICA_OK;
  if (rows->stratum) MUST(bl_alloc_for(ctx, rows, 2 * (size_t)rows->row_first[rows->u], &rows->peers));
  MUST(bl_alloc(ctx, (size_t)rows->row_first[rows->u] + 1, &list));
  MUST(make_units(ctx, rows));
  for (int64_t r = 0; r < rows->row_first[rows->u]; r++)
    list[r] = (sampled_row){rows->stratum ? rows->stratum[r] : 0, rows->cluster ? rows->cluster[r] : r, r, rows->row[r],
                            bl_row_weight(rows, r)};
  for (int s = 0; s < rows->u; s++) {
    qsort(list + rows->row_first[s], (size_t)rows->total[s], sizeof *list, by_cluster);
    rows->unit_of[s + 1] = count;
    for (int64_t r = rows->row_first[s]; r < rows->row_first[s + 1]; r++) {
      rows->row[r] = list[r].pattern;
      if (rows->row_weight) rows->row_weight[r] = list[r].weight;
      if (r == rows->row_first[s] || list[r].cluster != list[r - 1].cluster) begin_unit(rows, s, r, &count);
    }
  }
  rows->unit_first[count] = rows->row_first[rows->u];
  for (int s = 0; rows->stratum && s < rows->u; s++) MUST(take_strata(ctx, rows, s, list));
  return BLICA_OK;
}

/* Items and segments without rows; coding is taken over, also on failure. */
static blica_status outline(blica_ctx *ctx, int n, char *const *items, blica_coding *coding, int u,
                            char *const *segments, bl_rows **out) {
  blica_status status;
  BL_AUTO(bl_rows) *rows = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &rows));
  rows->n = n, rows->u = u, rows->planes = bl_plane(coding, n), rows->complete = true;
  rows->coding = coding, coding = NULL;
  if (rows->coding)
    TRY(bl_coding_columns(ctx, rows->coding, &rows->columns));
  else
    TRY(bl_copy_texts(ctx, n, (const char *const *)items, &rows->columns));
  TRY(bl_copy_texts(ctx, u, (const char *const *)segments, &rows->segments));
  TRY(bl_alloc_for(ctx, rows, (size_t)rows->planes, &rows->item));
  TRY(bl_alloc_for(ctx, rows, (size_t)rows->planes, &rows->level));
  for (int i = 0; i < n; i++)
    for (int p = bl_plane(rows->coding, i); p < bl_plane(rows->coding, i + 1); p++)
      rows->item[p] = i, rows->level[p] = (int8_t)(p - bl_plane(rows->coding, i) + 1);
  *out = bl_take(&rows);
done:
  blica_coding_free(coding);
  return status;
}

/* Column p of a row of levels x: 0, 1 or BLICA_MISSING. */
static inline int8_t bit(const bl_rows *rows, const int8_t *x, int p) {
  const int8_t value = x[rows->item[p]];
  return value == BLICA_MISSING ? value : value >= rows->level[p];
}

/* mask [words] <- the columns that distinct row p has. */
static void read_mask(const bl_rows *rows, int64_t p, uint64_t *mask) {
  const int8_t *x = rows->x + (size_t)rows->n * (size_t)p;
  memset(mask, 0, (size_t)rows->sets->words * sizeof *mask);
  for (int c = 0; c < rows->planes; c++) mask[c / 64] |= (uint64_t)(bit(rows, x, c) != BLICA_MISSING) << (c % 64);
}

/* Lists the item sets of the distinct rows. */
static blica_status list_sets(blica_ctx *ctx, bl_rows *rows) {
  BL_OWNED uint64_t *mask = NULL;
  MUST(bl_item_sets_make(ctx, rows->planes, rows->u, &rows->sets));
  MUST(bl_alloc_for(ctx, rows, (size_t)rows->count, &rows->set));
  MUST(bl_alloc(ctx, (size_t)rows->sets->words, &mask));
  for (int s = 0; s < rows->u; s++) {
    for (int64_t p = rows->first[s]; p < rows->first[s + 1] && rows->sets->segment[s].count >= 0; p++) {
      read_mask(rows, p, mask);
      MUST(bl_item_sets_add(ctx, rows->sets, s, mask, 0));
    }
    for (int64_t p = rows->first[s]; p < rows->first[s + 1]; p++) {
      read_mask(rows, p, mask);
      rows->set[p] = bl_item_sets_find(rows->sets, s, mask);
    }
  }
  return BLICA_OK;
}

/* Values of items with a row of A of their own in a segment say nothing there of what is common. */
static void leave_out_freed(const blica_model *m, bl_rows *rows) {
  for (int s = 0; s < rows->u; s++)
    for (int i = 0; i < rows->n; i++) {
      if (bl_freed(m, i, s) < BLICA_FREED_ROW) continue;
      rows->complete = false;
      for (int64_t p = rows->first[s]; p < rows->first[s + 1]; p++) rows->x[i + rows->n * p] = BLICA_MISSING;
    }
}

/* Column column[p] of the data is column p, and segment[t] the segment of the data's segment t. model may be NULL. */
static blica_status fill(blica_ctx *ctx, const blica_model *model, const blica_data *data, const int *column,
                         const int *segment, bl_rows *rows) {
  BL_AUTO(bl_patterns) *patterns = NULL;
  BL_OWNED int64_t *where = NULL;
  MUST(bl_patterns_make(ctx, data, rows->n, rows->coding, column, false, &patterns));
  MUST(bl_alloc(ctx, (size_t)patterns->count, &where));
  MUST(bl_alloc_for(ctx, rows, (size_t)patterns->rows, &rows->row));
  MUST(bl_alloc_for(ctx, rows, (size_t)rows->u + 1, &rows->row_first));
  rows->count = patterns->count;
  rows->unordered = data->unordered != 0;
  MUST(bl_alloc_for(ctx, rows, (size_t)rows->u + 1, &rows->first));
  MUST(bl_alloc_for(ctx, rows, (size_t)rows->u, &rows->total));
  MUST(bl_alloc_for(ctx, rows, bl_mul((size_t)patterns->count, (size_t)rows->n), &rows->x));
  MUST(bl_alloc_for(ctx, rows, (size_t)patterns->count, &rows->weight));
  MUST(bl_alloc_for(ctx, rows, (size_t)patterns->count, &rows->square));
  MUST(bl_alloc_for(ctx, rows, (size_t)rows->u, &rows->size));
  if (data->weight) MUST(bl_alloc_for(ctx, rows, (size_t)patterns->rows, &rows->row_weight));
  if (data->cluster) MUST(bl_alloc_for(ctx, rows, (size_t)patterns->rows, &rows->cluster));
  if (data->stratum) MUST(bl_alloc_for(ctx, rows, (size_t)patterns->rows, &rows->stratum));
  rows->replicates = data->replicates, rows->replicate_factor = data->replicate_factor;
  if (data->replicates)
    MUST(bl_alloc_for(ctx, rows, bl_mul((size_t)patterns->count, (size_t)data->replicates), &rows->replicate));
  take_all(patterns, segment, where, rows);
  take_order(patterns, data, segment, where, rows);
  MUST(take_clusters(ctx, rows));
  if (model) leave_out_freed(model, rows);
  return rows->complete ? BLICA_OK : list_sets(ctx, rows);
}

/* Columns and segments of the data are matched with those of the rows by name. */
static blica_status match_and_fill(blica_ctx *ctx, const blica_model *model, const blica_data *data, bl_rows *rows) {
  BL_OWNED int *column = NULL, *place = NULL, *segment = NULL;
  MUST(bl_alloc(ctx, (size_t)rows->planes, &column));
  MUST(bl_alloc(ctx, (size_t)rows->u, &place));
  MUST(bl_alloc(ctx, (size_t)rows->u, &segment));
  MUST(match_names(ctx, "variable", rows->planes, rows->columns, data->n, data->variables, column));
  MUST(match_names(ctx, "segment", rows->u, rows->segments, data->u, data->segments, place));
  for (int s = 0; s < rows->u; s++) segment[place[s]] = s;
  MUST(fill(ctx, model, data, column, segment, rows));
  return BLICA_OK;
}

/* coding is taken over, also on failure; model may be NULL. */
static blica_status make(blica_ctx *ctx, int n, char *const *items, blica_coding *coding, int u, char *const *segments,
                         const blica_model *model, const blica_data *data, bl_rows **out) {
  blica_status status;
  TRY(outline(ctx, n, items, coding, u, segments, out));
  TRY(match_and_fill(ctx, model, data, *out));
done:
  if (status != BLICA_OK) bl_rows_free(bl_take(out));
  return status;
}

blica_status bl_rows_of(blica_ctx *ctx, const blica_data *data, bl_rows **out) {
  blica_coding *coding = NULL;
  *out = NULL;
  MUST(bl_coding_parse(ctx, data->n, data->variables, &coding));
  return make(ctx, coding ? coding->items : data->n, data->variables, coding, data->u, data->segments, NULL, data, out);
}

blica_status bl_rows_make(blica_ctx *ctx, const blica_model *model, const blica_data *data, bl_rows **out) {
  blica_coding *coding = NULL;
  *out = NULL;
  if (data->u != model->u)
    return bl_fail(ctx, BLICA_ERR_DATA,
                   "the data have %d segments and the model has %d; give the data that it was fitted to", data->u,
                   model->u);
  MUST(bl_coding_copy(ctx, model->coding, &coding));
  return make(ctx, model->n, model->variables, coding, model->u, model->segments, model, data, out);
}

blica_status bl_rows_counts_create(blica_ctx *ctx, const bl_rows *rows, blica_counts **out) {
  BL_AUTO(blica_counts) *counts = NULL;
  *out = NULL;
  MUST(bl_counts_create(ctx, rows->planes, rows->u, rows->complete, (const char *const *)rows->columns,
                        (const char *const *)rows->segments, &counts));
  if (rows->sets) MUST(bl_item_sets_copy(ctx, rows->sets, &counts->sets));
  *out = bl_take(&counts);
  return BLICA_OK;
}

blica_status bl_rows_data(blica_ctx *ctx, const bl_rows *rows, const double *weight, blica_data **out) {
  blica_status status;
  blica_packer *packer = NULL;
  BL_OWNED int8_t *bits = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, (size_t)rows->planes, &bits));
  TRY(blica_pack_begin(ctx, rows->planes, (const char *const *)rows->columns, &packer));
  for (int s = 0; s < rows->u; s++) {
    int32_t id;
    TRY(blica_pack_segment(ctx, packer, rows->segments[s], &id));
    for (int64_t p = rows->first[s]; p < rows->first[s + 1]; p++) {
      if (weight[p] != (double)(int64_t)weight[p])
        FAIL(ctx, BLICA_ERR_ARGUMENT,
             "a method that needs rows cannot be fitted again to weighted rows; take method matched");
      for (int c = 0; c < rows->planes; c++) bits[c] = bit(rows, rows->x + (size_t)rows->n * (size_t)p, c);
      for (int64_t copy = 0; copy < (int64_t)weight[p]; copy++) TRY(blica_pack_rows(ctx, packer, 1, bits, &id));
    }
  }
  status = blica_pack_end(ctx, packer, out);
  packer = NULL;
done:
  blica_packer_free(packer);
  return status;
}

static void add(int count, const double *x, double *sum) {
  for (int i = 0; i < count; i++) sum[i] += x[i];
}

/* Columns are taken in blocks, so that a column j adds to the tables of all columns i of a block in one loop over
 * neighbours in memory. one[i] and zero[i] are w where column i is 1, or 0, and else 0. */
void bl_rows_add(const bl_rows *rows, const int8_t *x, double w, int s, blica_counts *c) {
  enum { BLOCK = 128 };
  double one[BLOCK], zero[BLOCK];
  const int n = c->n;
  c->samples[s] += w;
  for (int first = 0; first < n; first += BLOCK) {
    const int count = n - first < BLOCK ? n - first : BLOCK;
    for (int i = 0; i < count; i++) {
      const int8_t z = bit(rows, x, first + i);
      one[i] = z == 1 ? w : 0, zero[i] = z == 0 ? w : 0;
    }
    add(count, one, c->ones + (size_t)s * n + first);
    add(count, one, c->present + (size_t)s * n + first);
    add(count, zero, c->present + (size_t)s * n + first);
    for (int j = first + 1; j < n; j++) {
      const int8_t y = bit(rows, x, j);
      const int before = j - first < count ? j - first : count;
      const size_t at = (size_t)(s * c->pairs + blica_pair(first, j));
      if (y == BLICA_MISSING || (y == 0 && !c->n10)) continue;
      add(before, one, (y ? c->n11 : c->n10) + at);
      if (c->n10) add(before, zero, (y ? c->n01 : c->n00) + at);
    }
  }
}

static void clear(blica_counts *c) {
  const size_t tables = (size_t)c->pairs * (size_t)c->u, margins = (size_t)c->n * (size_t)c->u;
  memset(c->samples, 0, (size_t)c->u * sizeof(double));
  memset(c->ones, 0, margins * sizeof(double));
  memset(c->present, 0, margins * sizeof(double));
  double *const cells[] = {c->n11, c->n10, c->n01, c->n00};
  for (int i = 0; i < 4; i++)
    if (cells[i]) memset(cells[i], 0, tables * sizeof(double));
  for (int s = 0; c->sets && s < c->u; s++)
    for (int i = 0; i < c->sets->segment[s].count; i++) c->sets->segment[s].rows[i] = 0;
}

void bl_rows_count(const bl_rows *rows, const double *weight, blica_counts *counts) {
  clear(counts);
  for (int s = 0; s < rows->u; s++)
    for (int64_t p = rows->first[s]; p < rows->first[s + 1]; p++) {
      if (!(weight[p] > 0)) continue;
      bl_rows_add(rows, rows->x + (size_t)rows->n * (size_t)p, weight[p], s, counts);
      if (counts->sets && rows->set[p] >= 0) counts->sets->segment[s].rows[rows->set[p]] += weight[p];
    }
}

blica_status bl_rows_pool(blica_ctx *ctx, const blica_counts *counts, blica_counts **out) {
  const char *const label = "all";
  blica_status status =
      bl_counts_create(ctx, counts->n, 1, !counts->n10, (const char *const *)counts->variables, &label, out);
  for (int s = 0; status == BLICA_OK && s < counts->u; s++) bl_counts_add(*out, 0, counts, s);
  return status;
}

int64_t bl_units(const bl_rows *rows, int s, int64_t *first) {
  *first = rows->unit_first ? rows->unit_of[s] : rows->row_first[s];
  return rows->unit_first ? rows->unit_of[s + 1] - *first : rows->total[s];
}

int64_t bl_strata(const bl_rows *rows, int s) {
  int64_t first, strata = 0;
  const int64_t after = bl_units(rows, s, &first) + first;
  if (!rows->peers) return after > first;
  for (int64_t unit = first; unit < after; unit = rows->peers[2 * unit + 1]) strata++;
  return strata;
}

void bl_rows_draw(const bl_rows *rows, uint64_t seed, int64_t draw, double *weight) {
  memset(weight, 0, (size_t)rows->count * sizeof *weight);
  for (int s = 0; s < rows->u; s++) {
    bl_rng rng = bl_rng_make(seed, ((uint64_t)draw << 32) + (uint64_t)s);
    int64_t first, from, to;
    const int64_t count = bl_units(rows, s, &first);
    for (int64_t i = 0; i < count; i++) {
      const int64_t *peers = rows->peers ? rows->peers + 2 * (first + i) : (int64_t[]){first, first + count};
      const int64_t of = peers[1] - peers[0], drawn = (int64_t)(bl_rng_uniform(&rng) * (double)of);
      if (rows->peers && first + i == peers[0]) continue; /* one is drawn less */
      const double more = rows->peers ? (double)of / (double)(of - 1) : 1;
      bl_unit_rows(rows, peers[0] + (drawn < of ? drawn : of - 1), &from, &to);
      for (int64_t r = from; r < to; r++) weight[rows->row[r]] += more * bl_row_weight(rows, r);
    }
  }
}
