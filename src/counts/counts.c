/* counts.c - making, reading, checking and adding pair counts. */
#include "counts/counts.h"

#include <math.h>
#include <string.h>

#include "base/intern.h"
#include "data/coding.h"

static size_t cells_of(const blica_counts *c) {
  return bl_mul((size_t)c->pairs, (size_t)c->u);
}

static blica_status alloc_cells(blica_ctx *ctx, blica_counts *counts) {
  size_t cells = cells_of(counts);
  MUST(bl_alloc(ctx, cells, &counts->n10));
  MUST(bl_alloc(ctx, cells, &counts->n01));
  MUST(bl_alloc(ctx, cells, &counts->n00));
  return BLICA_OK;
}

blica_status blica_counts_coding(blica_ctx *ctx, const blica_counts *counts, blica_coding **out) {
  BL_NEED_OUT(ctx, out, counts);
  return bl_coding_parse(ctx, counts->n, counts->variables, out);
}

blica_status bl_counts_create(blica_ctx *ctx, int n, int u, bool complete, const char *const *variables,
                              const char *const *segments, blica_counts **out) {
  BL_AUTO(blica_counts) *counts = NULL;
  *out = NULL;
  if (n < 2 || u < 1)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                   "counts of %d variables in %d segments: at least 2 variables and 1 segment are needed", n, u);
  MUST(bl_alloc(ctx, 1, &counts));
  counts->n = n;
  counts->u = u;
  counts->pairs = (int64_t)n * (n - 1) / 2;
  size_t margins = bl_mul((size_t)n, (size_t)u);
  MUST(bl_alloc(ctx, (size_t)u, &counts->samples));
  MUST(bl_alloc(ctx, margins, &counts->ones));
  MUST(bl_alloc(ctx, margins, &counts->present));
  MUST(bl_alloc(ctx, cells_of(counts), &counts->n11));
  if (!complete) MUST(alloc_cells(ctx, counts));
  if (variables) MUST(bl_copy_texts(ctx, n, variables, &counts->variables));
  if (segments) MUST(bl_copy_texts(ctx, u, segments, &counts->segments));
  *out = bl_take(&counts);
  return BLICA_OK;
}

void blica_counts_free(blica_counts *counts) {
  if (!counts) return;
  bl_free(counts->variables);
  bl_free(counts->segments);
  bl_free(counts->samples);
  bl_free(counts->ones);
  bl_free(counts->present);
  bl_free(counts->n11);
  bl_free(counts->n10);
  bl_free(counts->n01);
  bl_free(counts->n00);
  bl_item_sets_free(counts->sets);
  bl_free(counts);
}

void blica_counts_table(const blica_counts *counts, int s, int i, int j, double cell[4]) {
  if (!counts || !cell) return;
  bool swap = i > j;
  int low = swap ? j : i, high = swap ? i : j;
  size_t at = (size_t)s * (size_t)counts->pairs + (size_t)blica_pair(low, high);
  double n11 = counts->n11[at], n10, n01, n00;
  if (counts->n10) {
    n10 = counts->n10[at];
    n01 = counts->n01[at];
    n00 = counts->n00[at];
  } else {
    const double *ones = counts->ones + (size_t)s * (size_t)counts->n;
    n10 = ones[low] - n11;
    n01 = ones[high] - n11;
    n00 = counts->samples[s] - ones[low] - ones[high] + n11;
  }
  cell[0] = n11;
  cell[1] = swap ? n01 : n10;
  cell[2] = swap ? n10 : n01;
  cell[3] = n00;
}

double bl_counts_cells(const blica_counts *c, const blica_coding *coding, int s, int i, int j, double *cell) {
  const int first = bl_plane(coding, i), second = bl_plane(coding, j);
  const int rows = bl_plane(coding, i + 1) - first + 1, columns = bl_plane(coding, j + 1) - second + 1;
  double four[4];
  blica_counts_table(c, s, first, second, four);
  const double total = four[0] + four[1] + four[2] + four[3];
  memset(cell, 0, (size_t)(rows * columns) * sizeof *cell);
  cell[0] = total;
  for (int a = 0; a < rows; a++) /* rows at or above both levels, */
    for (int b = 0; b < columns; b++) {
      if (a == 0 && b == 0) continue;
      blica_counts_table(c, s, first + (a ? a - 1 : 0), second + (b ? b - 1 : 0), four);
      cell[a * columns + b] = four[0] + (a == 0 ? four[2] : b == 0 ? four[1] : 0);
    }
  for (int a = 0; a < rows; a++) /* less those above either */
    for (int b = 0; b < columns; b++) {
      double *here = &cell[a * columns + b];
      const bool up = a + 1 < rows, right = b + 1 < columns;
      *here += (up && right ? here[columns + 1] : 0) - (up ? here[columns] : 0) - (right ? here[1] : 0);
    }
  return total;
}

/* The item sets of counts without missing values. */
static blica_status list_complete_sets(blica_ctx *ctx, blica_counts *c) {
  MUST(bl_item_sets_make(ctx, c->n, c->u, &c->sets));
  for (int s = 0; s < c->u; s++)
    if (c->samples[s] > 0) MUST(bl_item_sets_add_complete(ctx, c->sets, s, c->samples[s]));
  return BLICA_OK;
}

/* Allocates the cells n10, n01, n00 of complete counts and fills them from the margins. */
static blica_status expand(blica_ctx *ctx, blica_counts *counts) {
  BL_OWNED double *n10 = NULL, *n01 = NULL, *n00 = NULL;
  if (counts->n10) return BLICA_OK;
  MUST(list_complete_sets(ctx, counts));
  MUST(bl_alloc(ctx, cells_of(counts), &n10));
  MUST(bl_alloc(ctx, cells_of(counts), &n01));
  MUST(bl_alloc(ctx, cells_of(counts), &n00));
  for (int s = 0; s < counts->u; s++)
    for (int j = 1; j < counts->n; j++)
      for (int i = 0; i < j; i++) {
        double cell[4];
        size_t at = (size_t)s * (size_t)counts->pairs + (size_t)blica_pair(i, j);
        blica_counts_table(counts, s, i, j, cell);
        n10[at] = cell[1], n01[at] = cell[2], n00[at] = cell[3];
      }
  counts->n10 = bl_take(&n10), counts->n01 = bl_take(&n01), counts->n00 = bl_take(&n00);
  return BLICA_OK;
}

blica_status bl_counts_check(blica_ctx *ctx, const blica_counts *counts) {
  for (int s = 0; s < counts->u; s++)
    if (!counts->exact && counts->samples[s] < 2)
      return bl_fail(
          ctx, BLICA_ERR_DATA,
          "segment %d ('%s') has %g row%s: a correlation needs at least 2; use longer segments or join it to another",
          s + 1, counts->segments[s], counts->samples[s], counts->samples[s] == 1 ? "" : "s");
  return BLICA_OK;
}

/* ---- whether the numbers of a file can be counts ---- */

static blica_status check_array(blica_ctx *ctx, const char *path, const char *name, const double *x, size_t count) {
  for (size_t k = 0; x && k < count; k++)
    if (!(x[k] >= 0 && x[k] <= 0x1p1000))
      return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: %s holds %g (element %zu), which is not a count", path, name, x[k],
                     k + 1);
  return BLICA_OK;
}

static blica_status check_segment(blica_ctx *ctx, const blica_counts *c, int s, const char *path) {
  double slack = 1e-9 * c->samples[s];
  for (int i = 0; i < c->n; i++) {
    size_t at = (size_t)s * (size_t)c->n + (size_t)i;
    if (c->ones[at] > c->present[at] + slack || c->present[at] > c->samples[s] + slack)
      return bl_fail(ctx, BLICA_ERR_FORMAT,
                     "%s: segment %d ('%s'), variable %d ('%s'): %g ones in %g values of %g rows", path, s + 1,
                     c->segments[s], i + 1, c->variables[i], c->ones[at], c->present[at], c->samples[s]);
    if (!c->n10 && c->present[at] < c->samples[s] - slack)
      return bl_fail(ctx, BLICA_ERR_FORMAT,
                     "%s: segment %d ('%s'), variable %d ('%s') has missing values, but n10, n01 and n00 are not there",
                     path, s + 1, c->segments[s], i + 1, c->variables[i]);
  }
  for (int j = 1; j < c->n; j++)
    for (int i = 0; i < j; i++) {
      double cell[4];
      blica_counts_table(c, s, i, j, cell);
      if (fmin(fmin(cell[0], cell[1]), fmin(cell[2], cell[3])) < -slack ||
          cell[0] + cell[1] + cell[2] + cell[3] > c->samples[s] + 4 * slack)
        return bl_fail(
            ctx, BLICA_ERR_FORMAT,
            "%s: segment %d ('%s'), pair '%s', '%s': the table %g %g %g %g does not fit %g rows and the margins", path,
            s + 1, c->segments[s], c->variables[i], c->variables[j], cell[0], cell[1], cell[2], cell[3], c->samples[s]);
    }
  return BLICA_OK;
}

blica_status bl_counts_validate(blica_ctx *ctx, const blica_counts *c, const char *path) {
  const size_t cells = cells_of(c), margins = (size_t)c->n * (size_t)c->u;
  MUST(check_array(ctx, path, "samples", c->samples, (size_t)c->u));
  MUST(check_array(ctx, path, "ones", c->ones, margins));
  MUST(check_array(ctx, path, "present", c->present, margins));
  MUST(check_array(ctx, path, "n11", c->n11, cells));
  MUST(check_array(ctx, path, "n10", c->n10, cells));
  MUST(check_array(ctx, path, "n01", c->n01, cells));
  MUST(check_array(ctx, path, "n00", c->n00, cells));
  for (int s = 0; s < c->u; s++) MUST(check_segment(ctx, c, s, path));
  return BLICA_OK;
}

/* ---- merge ---- */

static blica_status check_same_variables(blica_ctx *ctx, int n, char *const *names, int other_n, char *const *others,
                                         int part) {
  if (n != other_n)
    return bl_fail(ctx, BLICA_ERR_DATA,
                   "part %d has %d variables, part 1 has %d: only counts of the same variables add up", part + 1,
                   other_n, n);
  for (int i = 0; i < n; i++)
    if (strcmp(names[i], others[i]) != 0)
      return bl_fail(ctx, BLICA_ERR_DATA,
                     "variable %d is '%s' in part %d but '%s' in part 1: only counts of the same "
                     "variables in the same order add up",
                     i + 1, others[i], part + 1, names[i]);
  return BLICA_OK;
}

/* Room for u segments with these labels. */
static blica_status grow(blica_ctx *ctx, blica_counts *c, int u, char *const *labels) {
  const size_t n = (size_t)c->n, pairs = (size_t)c->pairs, old = (size_t)c->u, now = (size_t)u;
  double **const arrays[] = {&c->samples, &c->ones, &c->present, &c->n11, &c->n10, &c->n01, &c->n00};
  const size_t each[] = {1, n, n, pairs, pairs, pairs, pairs};
  for (int i = 0; i < 7; i++) {
    if (!*arrays[i]) continue;
    MUST(bl_resize(ctx, each[i] * old, bl_mul(each[i], now), arrays[i]));
    memset(*arrays[i] + each[i] * old, 0, each[i] * (now - old) * sizeof(double));
  }
  if (c->sets) MUST(bl_item_sets_grow(ctx, c->sets, u));
  char **segments;
  MUST(bl_copy_texts(ctx, u, (const char *const *)labels, &segments));
  bl_free(c->segments);
  c->segments = segments, c->u = u;
  return BLICA_OK;
}

blica_status bl_counts_extend(blica_ctx *ctx, const bl_counts_outline *added, blica_counts **sum, int32_t *target) {
  BL_CLEAN(bl_intern_clear) bl_intern labels = {0};
  blica_counts *c = *sum;
  int known = c ? c->u : 0;
  int32_t id;
  if (c) MUST(check_same_variables(ctx, c->n, c->variables, added->n, added->variables, 1));
  for (int s = 0; s < known; s++) MUST(bl_intern_add(ctx, &labels, c->segments[s], strlen(c->segments[s]), &id));
  for (int s = 0; s < added->u; s++)
    MUST(bl_intern_add(ctx, &labels, added->segments[s], strlen(added->segments[s]), &target[s]));
  if (!c)
    MUST(bl_counts_create(ctx, added->n, labels.count, added->complete, (const char *const *)added->variables,
                          (const char *const *)labels.texts, sum));
  if (!c && !added->complete) MUST(bl_item_sets_make(ctx, added->n, labels.count, &(*sum)->sets));
  if (c && !added->complete) MUST(expand(ctx, c));
  if (c && labels.count > known) MUST(grow(ctx, c, labels.count, labels.texts));
  return BLICA_OK;
}

static void add_to(double *sum, const double *x, size_t count) {
  for (size_t i = 0; i < count; i++) sum[i] += x[i];
}

void bl_counts_add(blica_counts *sum, int t, const blica_counts *part, int s) {
  size_t n = (size_t)sum->n, pairs = (size_t)sum->pairs, to = (size_t)t * pairs, from = (size_t)s * pairs;
  sum->samples[t] += part->samples[s];
  add_to(sum->ones + (size_t)t * n, part->ones + (size_t)s * n, n);
  add_to(sum->present + (size_t)t * n, part->present + (size_t)s * n, n);
  add_to(sum->n11 + to, part->n11 + from, pairs);
  if (!sum->n10) return;
  if (part->n10) {
    add_to(sum->n10 + to, part->n10 + from, pairs);
    add_to(sum->n01 + to, part->n01 + from, pairs);
    add_to(sum->n00 + to, part->n00 + from, pairs);
    return;
  }
  for (int j = 1; j < part->n; j++)
    for (int i = 0; i < j; i++) {
      double cell[4];
      size_t at = to + (size_t)blica_pair(i, j);
      blica_counts_table(part, s, i, j, cell);
      sum->n10[at] += cell[1];
      sum->n01[at] += cell[2];
      sum->n00[at] += cell[3];
    }
}

blica_status bl_counts_add_sets(blica_ctx *ctx, blica_counts *sum, int t, const blica_counts *part, int s) {
  if (!sum->sets) return BLICA_OK;
  if (part->sets) return bl_item_sets_merge(ctx, sum->sets, t, part->sets, s);
  if (!part->n10) return bl_item_sets_add_complete(ctx, sum->sets, t, part->samples[s]);
  bl_item_sets_free(sum->sets);
  sum->sets = NULL;
  return BLICA_OK;
}

blica_status blica_merge_add(blica_ctx *ctx, const blica_counts *part, blica_counts **sum) {
  BL_NEED(ctx, part, sum);
  blica_status status;
  const bl_counts_outline added = {part->n, part->u, !part->n10, part->variables, part->segments};
  bool first = !*sum;
  BL_OWNED int32_t *target = NULL;
  TRY(bl_alloc(ctx, (size_t)part->u, &target));
  TRY(bl_counts_extend(ctx, &added, sum, target));
  (*sum)->exact = part->exact && (first || (*sum)->exact);
  (*sum)->segments_found |= part->segments_found;
  for (int s = 0; s < part->u; s++) {
    bl_counts_add(*sum, target[s], part, s);
    TRY(bl_counts_add_sets(ctx, *sum, target[s], part, s));
  }
done:
  if (status != BLICA_OK) {
    blica_counts_free(*sum);
    *sum = NULL;
  }
  return status;
}

blica_status blica_merge(blica_ctx *ctx, int parts, const blica_counts *const *part, blica_counts **out) {
  if (out) *out = NULL;
  BL_NEED(ctx, out);
  blica_status status = BLICA_OK;
  if (parts < 1) return bl_fail(ctx, BLICA_ERR_ARGUMENT, "%d parts to merge: at least 1 is needed", parts);
  BL_NEED(ctx, part);
  for (int p = 0; p < parts; p++)
    if (!part[p]) return bl_fail(ctx, BLICA_ERR_ARGUMENT, "part %d to merge is NULL", p + 1);
  for (int p = 1; p < parts; p++) {
    status = check_same_variables(ctx, part[0]->n, part[0]->variables, part[p]->n, part[p]->variables, p);
    if (status != BLICA_OK) return status;
  }
  for (int p = 0; p < parts && status == BLICA_OK; p++) status = blica_merge_add(ctx, part[p], out);
  return status;
}
