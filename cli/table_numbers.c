/* table_numbers.c - columns of numbers (--numeric), cut into levels at quantiles of all rows. The labels of the levels
 * are their least numbers, the lowest "-Inf", so that a model, counts and --levels carry the cuts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "table.h"

/* Values of a column, of every step-th row. */
struct number_sample {
  int64_t step, count, capacity;
  int64_t *row;
  double *value;
};

void table_free_sample(number_sample *sample) {
  if (!sample) return;
  free(sample->row);
  free(sample->value);
  free(sample);
}

/* Thins the sample as blica_cut_numbers does when it is full. */
static void thin(number_sample *s) {
  int64_t kept = 0;
  s->step *= 2;
  for (int64_t k = 0; k < s->count; k++)
    if (s->row[k] % s->step == 0) s->row[kept] = s->row[k], s->value[kept++] = s->value[k];
  s->count = kept;
}

/* False when memory is out. */
static bool add(number_sample *s, int64_t row, double value) {
  while (s->count == BLICA_NUMBER_SAMPLE && row % s->step == 0) thin(s);
  if (row % s->step != 0) return true;
  if (s->count == s->capacity) {
    const int64_t capacity = s->capacity ? 2 * s->capacity : 1024;
    int64_t *rows = realloc(s->row, (size_t)capacity * sizeof *rows);
    if (rows) s->row = rows;
    double *values = realloc(s->value, (size_t)capacity * sizeof *values);
    if (values) s->value = values;
    if (!rows || !values) return false;
    s->capacity = capacity;
  }
  s->row[s->count] = row;
  s->value[s->count++] = value;
  return true;
}

blica_status table_sample_numbers(table *t, const char *list) {
  char buffer[32];
  if (!list) return BLICA_OK;
  OWNED bool *chosen = malloc((size_t)t->columns + 1);
  if (!chosen) return table_no_memory(t);
  MUST(table_mark_columns(t, "numeric", list, chosen));
  for (int k = 0; k < t->columns; k++)
    if (chosen[k] && t->role[k] != ROLE_VALUE)
      return table_fail(t, BLICA_ERR_ARGUMENT, "--numeric names column %d (%s), which is not an item", k + 1,
                        table_column_name(t, k, buffer));
  for (int i = 0; i < t->n; i++) {
    if (!chosen[t->column_of[i]]) continue;
    t->levels[i].sample = calloc(1, sizeof *t->levels[i].sample);
    if (!t->levels[i].sample) return table_no_memory(t);
    t->levels[i].sample->step = 1;
  }
  return BLICA_OK;
}

blica_status table_cut(const table *t, int variable, const number_sample *sample, column_levels *levels) {
  double cut[BLICA_NUMBER_LEVELS - 1];
  char text[BL_NUMBER_TEXT];
  int cuts;
  static const double none = 0;
  const blica_status status =
      blica_cut_numbers(t->ctx, sample->count, sample->value ? sample->value : &none, cut, &cuts);
  if (status != BLICA_OK) return table_fail_column(t, t->column_of[variable], "%s", blica_message(t->ctx)), status;
  bool enough = table_add_level(levels, "-Inf", 4);
  for (int l = 0; l < cuts && enough; l++) {
    bl_number_text(cut[l], text);
    enough = table_add_level(levels, text, strlen(text));
  }
  return enough ? BLICA_OK : table_no_memory(t);
}

blica_status table_find_cuts(table *t) {
  double value;
  for (int i = 0; i < t->n; i++) {
    column_levels *l = &t->levels[i];
    if (l->count < 2 || !table_number(l->text[0], strlen(l->text[0]), &value) || value != -INFINITY) continue;
    l->cut = malloc((size_t)l->count * sizeof *l->cut);
    if (!l->cut) return table_no_memory(t);
    l->cut[0] = -INFINITY;
    for (int k = 1; k < l->count; k++)
      if (!table_number(l->text[k], strlen(l->text[k]), &l->cut[k]) || !(l->cut[k] > l->cut[k - 1]))
        return table_fail(t, BLICA_ERR_DATA,
                          "the levels of item %d begin with -Inf, which says that numbers are cut into levels, but "
                          "'%.40s' is not a number above '%.40s'",
                          i + 1, l->text[k], l->text[k - 1]);
  }
  return BLICA_OK;
}

blica_status table_take_number(table *t, int variable, double value, int8_t *code) {
  const column_levels *l = &t->levels[variable];
  *code = 0;
  if (l->sample) return add(l->sample, t->row, value) ? BLICA_OK : table_no_memory(t);
  int low = 0, high = l->count; /* the level is in low..high - 1 */
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    if (value >= l->cut[middle])
      low = middle;
    else
      high = middle;
  }
  *code = (int8_t)low;
  return BLICA_OK;
}

blica_status table_number_text(table *t, int variable, const char *text, size_t length, int8_t *code) {
  double value;
  if (!table_number(text, length, &value) || isnan(value))
    return table_fail_value(t, t->column_of[variable], "'%.*s' is not a number, and the column is cut at numbers",
                            (int)(length < 40 ? length : 40), text);
  return table_take_number(t, variable, value, code);
}
