/* counts_io.c - pair counts in files, chosen by the name's ending.
 *
 * .npz, arrays that numpy.load opens as they are:
 *   format     text, "blica-counts"        version    1
 *   variables  [n] names                   segments   [u] labels
 *   samples    [u]                         exact      bool
 *   ones       [u,n]                       present    [u,n]
 *   n11        [u,n(n-1)/2]                n10, n01, n00 the same, only under missing values
 *   sets       [u] how many different sets of items the rows have where values are missing, -1 where they are too many;
 *              set_rows [all sets] their rows, set_items [all sets,n] bool. Absent: it is not known
 * Pair i < j (from 0) is stored at j(j-1)/2 + i, the order of `j, i = numpy.tril_indices(n, -1)`.
 * .csv: see counts_csv.c. */
#include <math.h>
#include <string.h>

#include "base/intern.h"
#include "counts/counts.h"
#include "files/npz.h"
#include "base/text.h"

static int64_t count_sets(const bl_item_sets *sets) {
  int64_t total = 0;
  for (int s = 0; s < sets->u; s++) total += sets->segment[s].count > 0 ? sets->segment[s].count : 0;
  return total;
}

/* Item sets as arrays of a file; they must live until the file is written. */
typedef struct {
  double *count, *rows; /* [u], [total] */
  uint8_t *items;       /* [n,total] */
} set_arrays;

static void free_sets(set_arrays *a) {
  bl_free(a->count);
  bl_free(a->rows);
  bl_free(a->items);
}

static blica_status add_sets(blica_ctx *ctx, bl_npz_writer *npz, const bl_item_sets *sets, set_arrays *a) {
  const size_t u = (size_t)sets->u, n = (size_t)sets->n, total = (size_t)count_sets(sets);
  MUST(bl_alloc(ctx, u, &a->count));
  MUST(bl_alloc(ctx, total + 1, &a->rows));
  MUST(bl_alloc(ctx, bl_mul(total + 1, n), &a->items));
  size_t at = 0;
  for (size_t s = 0; s < u; s++) {
    const bl_item_set_list *list = &sets->segment[s];
    a->count[s] = list->count;
    for (int k = 0; k < list->count; k++, at++) {
      const uint64_t *mask = list->mask + (size_t)k * (size_t)sets->words;
      a->rows[at] = list->rows[k];
      for (size_t i = 0; i < n; i++) a->items[at * n + i] = mask[i / 64] >> (i % 64) & 1;
    }
  }
  MUST(bl_npz_add(ctx, npz, "sets", 'f', 8, 1, &u, a->count));
  MUST(bl_npz_add(ctx, npz, "set_rows", 'f', 8, 1, &total, a->rows));
  MUST(bl_npz_add(ctx, npz, "set_items", 'b', 1, 2, (const size_t[]){total, n}, a->items));
  return BLICA_OK;
}

static blica_status save_npz(blica_ctx *ctx, const blica_counts *c, const char *path) {
  static const char *const names[] = {"n11", "n10", "n01", "n00"};
  const double *const tables[] = {c->n11, c->n10, c->n01, c->n00};
  BL_CLEAN(free_sets) set_arrays sets = {0};
  BL_AUTO(bl_npz_writer) *npz = NULL;
  const size_t u = (size_t)c->u, margin[2] = {u, (size_t)c->n}, cells[2] = {u, (size_t)c->pairs};
  MUST(bl_npz_begin_tables(ctx, path, "blica-counts", c->n, c->variables, c->u, c->segments, c->exact, c->samples,
                           &npz));
  MUST(bl_npz_add(ctx, npz, "ones", 'f', 8, 2, margin, c->ones));
  MUST(bl_npz_add(ctx, npz, "present", 'f', 8, 2, margin, c->present));
  for (int i = 0; i < (c->n10 ? 4 : 1); i++) MUST(bl_npz_add(ctx, npz, names[i], 'f', 8, 2, cells, tables[i]));
  if (c->sets) MUST(add_sets(ctx, npz, c->sets, &sets));
  return bl_npz_write(ctx, npz);
}

blica_status blica_counts_save(blica_ctx *ctx, const blica_counts *c, const char *path) {
  BL_NEED(ctx, c, path);
  if (bl_has_ending(path, ".csv")) return bl_counts_save_csv(ctx, c, path);
  if (bl_has_ending(path, ".npz")) return save_npz(ctx, c, path);
  return bl_fail(ctx, BLICA_ERR_ARGUMENT, "%s: counts are saved as .npz or .csv; end the name in one of them", path);
}

/* ---- loading ---- */

static blica_status check_names(blica_ctx *ctx, const char *path, const char *what, int count, char *const *names) {
  BL_CLEAN(bl_intern_clear) bl_intern seen = {0};
  for (int i = 0; i < count; i++) {
    int32_t id;
    if (!*names[i] && strcmp(what, "variables") == 0)
      return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: the name of variable %d is empty; give it a name", path, i + 1);
    MUST(bl_intern_add(ctx, &seen, names[i], strlen(names[i]), &id));
    if (id < i)
      return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: %s %d and %d are both named '%s'", path, what, id + 1, i + 1,
                     names[i]);
  }
  return BLICA_OK;
}

static blica_status check_format(blica_ctx *ctx, bl_npz_reader *npz, const char *path) {
  BL_OWNED char **format = NULL;
  int count = 0;
  double version;
  if (!bl_npz_has(npz, "format"))
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: not a file of pair counts (it has no array named format)", path);
  MUST(bl_npz_texts(ctx, npz, "format", &count, &format));
  if (count != 1 || strcmp(format[0], "blica-counts") != 0)
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: not a file of pair counts (its format is '%s')", path,
                   count ? format[0] : "");
  MUST(bl_npz_numbers(ctx, npz, "version", 0, NULL, &version));
  if (version != 1)
    return bl_fail(ctx, BLICA_ERR_FORMAT,
                   "%s: version %g of the format of counts is not known to this version of blica", path, version);
  return BLICA_OK;
}

static blica_status load_arrays(blica_ctx *ctx, bl_npz_reader *npz, blica_counts *c) {
  const size_t u = (size_t)c->u, margin[2] = {u, (size_t)c->n}, cells[2] = {u, (size_t)c->pairs};
  double exact;
  MUST(bl_npz_numbers(ctx, npz, "exact", 0, NULL, &exact));
  c->exact = exact != 0;
  MUST(bl_npz_numbers(ctx, npz, "samples", 1, &u, c->samples));
  MUST(bl_npz_numbers(ctx, npz, "ones", 2, margin, c->ones));
  MUST(bl_npz_numbers(ctx, npz, "present", 2, margin, c->present));
  MUST(bl_npz_numbers(ctx, npz, "n11", 2, cells, c->n11));
  if (!c->n10) return BLICA_OK;
  MUST(bl_npz_numbers(ctx, npz, "n10", 2, cells, c->n10));
  MUST(bl_npz_numbers(ctx, npz, "n01", 2, cells, c->n01));
  MUST(bl_npz_numbers(ctx, npz, "n00", 2, cells, c->n00));
  return BLICA_OK;
}

/* Sets are put in one by one, so that their order and number are right whatever the file says. */
static blica_status load_sets(blica_ctx *ctx, bl_npz_reader *npz, const char *path, blica_counts *c) {
  BL_CLEAN(free_sets) set_arrays a = {0};
  BL_OWNED double *items = NULL;
  BL_OWNED uint64_t *mask = NULL;
  const size_t u = (size_t)c->u, n = (size_t)c->n;
  size_t total = 0, at = 0;
  MUST(bl_alloc(ctx, u, &a.count));
  MUST(bl_npz_numbers(ctx, npz, "sets", 1, &u, a.count));
  for (size_t s = 0; s < u; s++) {
    if (!(a.count[s] >= -1 && a.count[s] < 1e9))
      return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: sets of segment %zu is %g, which is no number of item sets", path,
                     s + 1, a.count[s]);
    if (a.count[s] > 0) total += (size_t)a.count[s];
  }
  MUST(bl_npz_expect(ctx, npz, "set_items", bl_mul(total, n)));
  MUST(bl_alloc(ctx, total + 1, &a.rows));
  MUST(bl_npz_numbers(ctx, npz, "set_rows", 1, &total, a.rows));
  MUST(bl_alloc(ctx, bl_mul(total + 1, n), &items));
  MUST(bl_npz_numbers(ctx, npz, "set_items", 2, (const size_t[]){total, n}, items));
  MUST(bl_item_sets_make(ctx, c->n, c->u, &c->sets));
  MUST(bl_alloc(ctx, (size_t)c->sets->words, &mask));
  for (size_t s = 0; s < u; s++) {
    if (a.count[s] < 0) bl_item_sets_give_up(c->sets, (int)s);
    for (int k = 0; k < a.count[s]; k++, at++) {
      if (!(a.rows[at] >= 0 && a.rows[at] <= c->samples[s]))
        return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: an item set of segment '%s' has %g rows of %g", path, c->segments[s],
                       a.rows[at], c->samples[s]);
      memset(mask, 0, (size_t)c->sets->words * sizeof *mask);
      for (size_t i = 0; i < n; i++) mask[i / 64] |= (uint64_t)(items[at * n + i] != 0) << (i % 64);
      MUST(bl_item_sets_add(ctx, c->sets, (int)s, mask, a.rows[at]));
    }
  }
  return BLICA_OK;
}

static blica_status load_npz(blica_ctx *ctx, const char *path, blica_counts **out) {
  BL_AUTO(bl_npz_reader) *npz = NULL;
  BL_AUTO(blica_counts) *c = NULL;
  BL_OWNED char **variables = NULL, **segments = NULL;
  int n = 0, u = 0;
  MUST(bl_npz_open(ctx, path, &npz));
  MUST(check_format(ctx, npz, path));
  MUST(bl_npz_texts(ctx, npz, "variables", &n, &variables));
  MUST(bl_npz_texts(ctx, npz, "segments", &u, &segments));
  if (n < 2 || u < 1)
    return bl_fail(ctx, BLICA_ERR_FORMAT,
                   "%s: %d variables in %d segments: at least 2 variables and 1 segment are needed", path, n, u);
  MUST(check_names(ctx, path, "variables", n, variables));
  MUST(check_names(ctx, path, "segments", u, segments));
  MUST(bl_npz_expect(ctx, npz, "n11", bl_mul((size_t)u, (size_t)((int64_t)n * (n - 1) / 2))));
  bool complete = !bl_npz_has(npz, "n10") && !bl_npz_has(npz, "n01") && !bl_npz_has(npz, "n00");
  MUST(bl_counts_create(ctx, n, u, complete, (const char *const *)variables, (const char *const *)segments, &c));
  MUST(load_arrays(ctx, npz, c));
  MUST(bl_counts_validate(ctx, c, path));
  if (!complete && bl_npz_has(npz, "sets")) MUST(load_sets(ctx, npz, path, c));
  *out = bl_take(&c);
  return BLICA_OK;
}

blica_status blica_counts_load(blica_ctx *ctx, const char *path, blica_counts **out) {
  BL_NEED_OUT(ctx, out, path);
  if (bl_has_ending(path, ".npz")) return load_npz(ctx, path, out);
  if (bl_has_ending(path, ".csv")) return bl_counts_load_csv(ctx, path, out);
  return bl_fail(ctx, BLICA_ERR_ARGUMENT, "%s: counts are read from .npz or .csv; the name ends in neither", path);
}
