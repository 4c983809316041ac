/* table_known.c - columns whose levels are known before the first row: given by --levels, the model's, or found by
 * reading the file once (--ordinal, and pairs such as no/yes that need no option). Rows of levels become columns of
 * bits as they are packed, so such tables are streamed like any other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "table.h"

static const char *name_of(const table *t, int variable, char buffer[24]) {
  snprintf(buffer, 24, "x%d", variable + 1);
  return t->header ? t->header[t->column_of[variable]] : buffer;
}

/* ---- from options ---- */

static bool add_list(column_levels *l, const char *list, size_t length) {
  for (size_t at = 0; at <= length;) {
    size_t end = at;
    while (end < length && list[end] != '<') end++;
    if (!table_add_level(l, list + at, end - at)) return false;
    at = end + 1;
  }
  return true;
}

/* One list for all, or name=list,name=list. */
static blica_status take_list(table *t, const char *list, char *message) {
  char buffer[24];
  bool named = strchr(list, '=') != NULL;
  for (const char *at = list; *at;) {
    size_t length = named ? strcspn(at, ",") : strlen(at), name = named ? strcspn(at, "=") : 0;
    bool used = !named;
    if (named && name >= length)
      return table_fail(message, BLICA_ERR_ARGUMENT, "--levels: '%.*s' has no =; give name=low<...<high", (int)length,
                        at);
    for (int i = 0; i < t->n; i++) {
      const char *own = name_of(t, i, buffer);
      if (named && (strlen(own) != name || strncmp(own, at, name) != 0)) continue;
      used = true;
      const char *levels = named ? at + name + 1 : at;
      if (!add_list(&t->levels[i], levels, length - (size_t)(levels - at))) return table_no_memory(message);
    }
    if (!used)
      return table_fail(message, BLICA_ERR_DATA, "%s: there is no column '%.*s', which --levels names", t->name,
                        (int)name, at);
    at += length;
    if (*at == ',') at++;
  }
  return BLICA_OK;
}

static blica_status take_model(table *t, const blica_coding *coding, char *message) {
  char buffer[24];
  for (int i = 0; i < t->n; i++)
    for (int j = 0; j < coding->items; j++) {
      if (strcmp(coding->names[j], name_of(t, i, buffer)) != 0) continue;
      for (int l = 0; l <= coding->first[j + 1] - coding->first[j]; l++) {
        const char *label = coding->labels[coding->first[j] + j + l];
        if (!table_add_level(&t->levels[i], label, strlen(label))) return table_no_memory(message);
      }
    }
  return BLICA_OK;
}

/* ---- from the file ---- */

/* Reads every value of the file once and keeps the distinct ones of each column. */
static blica_status collect(blica_ctx *ctx, const char *path, const table_options *options, char *message,
                            table **out) {
  struct stat info;
  table_options quiet = *options;
  *out = NULL;
  quiet.note = NULL, quiet.ordinal = false, quiet.list = NULL, quiet.model = NULL, quiet.levels = true;
  quiet.segment_count = 0;
  if (strcmp(path, "-") == 0 || stat(path, &info) != 0 || !S_ISREG(info.st_mode))
    return table_fail(message, BLICA_ERR_DATA,
                      "%s: --ordinal reads a file twice, which this is not; give its levels by --levels", path);
  blica_status status = table_open(ctx, path, &quiet, message, out);
  if (status != BLICA_OK) return status;
  (*out)->collecting = (*out)->streamed = true;
  for (blica_data *piece = NULL; status == BLICA_OK; blica_data_free(piece)) {
    status = table_next(*out, 0, message, &piece);
    if (status != BLICA_OK || !piece) break;
  }
  if (status == BLICA_OK) return BLICA_OK;
  table_close(*out);
  *out = NULL;
  return status;
}

static void sort_levels(column_levels *l) {
  for (int i = 1; i < l->count; i++)
    for (int j = i; j > 0 && table_above(l->text[j - 1], l->text[j]); j--) {
      char *swap = l->text[j];
      l->text[j] = l->text[j - 1];
      l->text[j - 1] = swap;
    }
}

static blica_status take_numbers(table *t, char *message) {
  table *second;
  char buffer[32];
  double number;
  blica_status status = collect(t->ctx, t->path, &t->options, message, &second);
  for (int i = 0; status == BLICA_OK && i < t->n; i++) {
    column_levels *l = &second->levels[i];
    const char *column = table_column_name(t, t->column_of[i], buffer);
    for (int k = 0; k < l->count && status == BLICA_OK; k++)
      if (!table_number(l->text[k], strlen(l->text[k]), &number) || number != (double)(int64_t)number)
        status = table_fail(message, BLICA_ERR_DATA,
                            "%s, column %d (%s): '%.40s' is not a whole number, which --ordinal asks for; "
                            "give text levels by --levels",
                            t->name, t->column_of[i] + 1, column, l->text[k]);
    if (status == BLICA_OK && l->count < 2)
      status = table_fail(message, BLICA_ERR_DATA,
                          "%s, column %d (%s): it has %d value; an item needs at least two levels: "
                          "leave it out, or give its levels by --levels",
                          t->name, t->column_of[i] + 1, column, l->count);
    if (status != BLICA_OK) break;
    sort_levels(l);
    column_levels empty = t->levels[i];
    t->levels[i] = *l;
    *l = empty;
  }
  table_close(second);
  return status;
}

/* Whether the values are one of the usual pairs, or one of its values alone; *low and *high are as the pair has them.
 */
static bool usual(const column_levels *l, const char **low, const char **high) {
  static const char *const pairs[][2] = {{"0", "1"},        {"1", "2"}, {"no", "yes"},
                                         {"false", "true"}, {"n", "y"}, {"f", "t"}};
  for (size_t p = 0; l->count == 2 && p < sizeof pairs / sizeof *pairs; p++)
    for (int first = 0; first < 2; first++)
      if (strcasecmp(l->text[first], pairs[p][0]) == 0 && strcasecmp(l->text[1 - first], pairs[p][1]) == 0) {
        *low = l->text[first], *high = l->text[1 - first];
        return true;
      }
  return false;
}

bool table_recognise(blica_ctx *ctx, const char *path, const table_options *options, char **list) {
  char message[TABLE_MESSAGE];
  const char *low = NULL, *high = NULL, *own_low = NULL, *own_high = NULL;
  table *second;
  *list = NULL;
  if (options->levels || options->list || options->ordinal) return false;
  if (collect(ctx, path, options, message, &second) != BLICA_OK) return false;
  bool good = second->n > 0;
  for (int i = 0; good && i < second->n; i++) {
    good = usual(&second->levels[i], &own_low, &own_high) &&
           (!low || (strcmp(low, own_low) == 0 && strcmp(high, own_high) == 0));
    if (!low) low = own_low, high = own_high;
  }
  size_t size = good ? strlen(low) + strlen(high) + 2 : 0;
  if (good && (*list = malloc(size))) snprintf(*list, size, "%s<%s", low, high);
  second->options.note = options->note, second->options.note_user = options->note_user;
  if (*list) table_note(second, "in all %d columns '%s' is 0 and '%s' is 1", second->n, low, high);
  table_close(second);
  return *list != NULL;
}

/* ---- packing ---- */

/* Begins a piece of known levels; columns of which nothing was said are 0 and 1. */
blica_status table_begin_items(table *t, const char *const *names) {
  int *count = calloc((size_t)t->n + 1, sizeof *count), total = 0;
  const char **labels = NULL;
  for (int i = 0; count && i < t->n; i++) total += count[i] = t->levels[i].count;
  if (count) labels = calloc((size_t)total + 1, sizeof *labels);
  for (int i = 0, at = 0; labels && i < t->n; i++)
    for (int k = 0; k < t->levels[i].count; k++) labels[at++] = t->levels[i].text[k];
  blica_status status =
      labels ? blica_pack_begin_items(t->ctx, t->n, names, count, labels, &t->packer) : BLICA_ERR_MEMORY;
  free(labels);
  free(count);
  return status;
}

blica_status table_begin_known(table *t, char *message) {
  const table_options *o = &t->options;
  blica_status status = BLICA_OK;
  const blica_coding *model = o->model ? o->model->coding : NULL;
  if (!o->list && !o->ordinal && !model) return BLICA_OK;
  t->levels = calloc((size_t)t->n + 1, sizeof *t->levels);
  if (!t->levels) return table_no_memory(message);
  t->known = true;
  status = model        ? take_model(t, model, message)
           : o->ordinal ? take_numbers(t, message)
                        : take_list(t, o->list, message);
  for (int i = 0; status == BLICA_OK && i < t->n; i++)
    if (t->levels[i].count == 0 && (!table_add_level(&t->levels[i], "0", 1) || !table_add_level(&t->levels[i], "1", 1)))
      status = table_no_memory(message);
  return status;
}

blica_status table_unknown_level(const table *t, int variable, const char *text, size_t length, char *message) {
  char buffer[32], list[400] = "";
  size_t at = 0;
  const column_levels *l = &t->levels[variable];
  int column = t->column_of[variable];
  for (int k = 0; k < l->count && at + 1 < sizeof list; k++)
    at += (size_t)snprintf(list + at, sizeof list - at, "%s%.40s", k ? "<" : "", l->text[k]);
  return table_fail(message, BLICA_ERR_DATA, "%s, row %lld, column %d (%s): '%.*s' is not one of its levels %s%s",
                    t->name, (long long)t->row + 1, column + 1, table_column_name(t, column, buffer),
                    (int)(length < 40 ? length : 40), text, list, t->options.model ? ", which the model knows" : "");
}
