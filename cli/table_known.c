/* table_known.c - columns whose levels are known before the first row: given by --levels, the model's, or found by
 * reading the file once (--ordinal, and pairs such as no/yes that need no option). Rows of levels become columns of
 * bits as they are packed, so such tables are streamed like any other. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "table.h"

static const char *name_of(const table *t, int variable, char buffer[24]) {
  snprintf(buffer, 24, "x%d", variable + 1);
  return t->header ? t->header[t->column_of[variable]] : buffer;
}

/* ---- which level a value is ---- */

bool table_same_level(const char *known, const char *text, size_t length) {
  double a, b;
  if (strlen(known) == length && memcmp(known, text, length) == 0) return true;
  return table_number(known, strlen(known), &a) && table_number(text, length, &b) && a == b;
}

/* Fails, naming row, variable, text and the known levels. */
static blica_status unknown_level(const table *t, int variable, const char *text, size_t length) {
  char list[400] = "";
  size_t at = 0;
  const column_levels *l = &t->levels[variable];
  for (int k = 0; k < l->count && at + 1 < sizeof list; k++)
    at += (size_t)snprintf(list + at, sizeof list - at, "%s%.40s", k ? "<" : "", l->text[k]);
  return table_fail_value(t, t->column_of[variable], "'%.*s' is not one of its levels %s%s",
                          (int)(length < 40 ? length : 40), text, list,
                          t->options.model ? ", which the model knows" : "");
}

blica_status table_level(table *t, int variable, const char *text, size_t length, int8_t *code) {
  column_levels *l = &t->levels[variable];
  *code = BLICA_MISSING;
  if (length == 0 || table_listed_missing(t, text, length)) return BLICA_OK;
  if (t->options.collect && table_is_missing(text, length)) return BLICA_OK;
  if (l->given) return BLICA_OK;
  if (l->sample || l->cut)
    return table_is_missing(text, length) ? BLICA_OK : table_number_text(t, variable, text, length, code);
  for (int k = 0; k < l->count; k++)
    if (table_same_level(l->text[k], text, length)) {
      *code = t->options.collect ? 0 : (int8_t)k;
      return BLICA_OK;
    }
  if (table_is_missing(text, length)) return BLICA_OK; /* unless it is a level: 'NA' may be one that was given */
  if (!t->options.collect) return unknown_level(t, variable, text, length);
  if (l->count > MOST_LEVELS)
    return table_fail_column(t, t->column_of[variable],
                             "it has more than %d values; if it is a number, say --numeric; if it is no item, leave it "
                             "out by --ignore, or carry it through by --id",
                             MOST_LEVELS);
  *code = 0;
  return table_add_level(l, text, length) ? BLICA_OK : table_no_memory(t);
}

bool table_add_level(column_levels *l, const char *text, size_t length) {
  char **grown = realloc(l->text, ((size_t)l->count + 1) * sizeof *grown), *copy = strndup(text, length);
  if (grown) l->text = grown;
  if (!grown || !copy) {
    free(copy);
    return false;
  }
  l->text[l->count++] = copy;
  return true;
}

/* Numbers by size, text by its bytes. */
bool table_above(const char *a, const char *b) {
  double x, y;
  if (table_number(a, strlen(a), &x) && table_number(b, strlen(b), &y)) return x > y;
  return strcmp(a, b) > 0;
}

void table_free_levels(table *t) {
  for (int i = 0; t->levels && i < t->n; i++) {
    table_free_names(t->levels[i].text, t->levels[i].count);
    table_free_sample(t->levels[i].sample);
    free(t->levels[i].cut);
  }
  free(t->levels);
  t->levels = NULL;
}

void table_free_names(char **names, int count) {
  for (int i = 0; names && i < count; i++) free(names[i]);
  free(names);
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

/* The length of the longest name of a column that an entry name=list begins with; without any, what is before its =. A
 * name may itself have = or a comma. */
static size_t name_length(const table *t, const char *entry) {
  char buffer[24];
  size_t longest = 0;
  for (int i = 0; i < t->n; i++) {
    const char *own = name_of(t, i, buffer);
    const size_t length = strlen(own);
    if (length > longest && strncmp(own, entry, length) == 0 && entry[length] == '=') longest = length;
  }
  return longest ? longest : strcspn(entry, "=,");
}

/* One list for all columns, or name=list,name=list. */
static blica_status take_list(table *t, const char *list) {
  char buffer[24];
  const bool named = strchr(list, '=') != NULL;
  for (const char *at = list; *at;) {
    const size_t name = named ? name_length(t, at) : 0;
    const char *levels = named ? at + name + 1 : at;
    if (named && at[name] != '=')
      return table_refuse(t, "--levels: '%.*s' has no =; give name=low<...<high", (int)name, at);
    const size_t length = named ? strcspn(levels, ",") : strlen(levels);
    bool used = !named;
    for (int i = 0; i < t->n; i++) {
      const char *own = name_of(t, i, buffer);
      if (named && (strlen(own) != name || strncmp(own, at, name) != 0)) continue;
      used = true;
      if (!add_list(&t->levels[i], levels, length)) return table_no_memory(t);
    }
    if (!used) return table_fail(t, BLICA_ERR_DATA, "there is no column '%.*s', which --levels names", (int)name, at);
    at = levels + length;
    if (*at == ',') at++;
  }
  return BLICA_OK;
}

static blica_status take_model(table *t, const blica_coding *coding) {
  char buffer[24];
  for (int i = 0; i < t->n; i++)
    for (int j = 0; j < coding->items; j++) {
      if (strcmp(coding->names[j], name_of(t, i, buffer)) != 0) continue;
      for (int l = 0; l <= coding->first[j + 1] - coding->first[j]; l++) {
        const char *label = coding->labels[coding->first[j] + j + l];
        if (!table_add_level(&t->levels[i], label, strlen(label))) return table_no_memory(t);
      }
    }
  return BLICA_OK;
}

/* ---- from the file ---- */

/* Opens the file for a reading before that of its rows, of which the user is told nothing. Whether the first row is a
 * header has been decided. */
static blica_status open_before(blica_ctx *ctx, const char *path, const table_options *options, bool header,
                                bool collect, char *message, table **out) {
  table_options quiet = *options;
  quiet.note = NULL, quiet.ids = NULL, quiet.collect = collect;
  quiet.header = header ? TABLE_HEADER_YES : TABLE_HEADER_NO;
  if (options->segment_count || options->segment_file) /* which cannot be said yet, or was read */
    quiet.segment_count = 0, quiet.segment_file = NULL, quiet.segment_length = INT64_MAX;
  return table_open(ctx, path, &quiet, message, out);
}

static blica_status pass_rows(table *t) {
  blica_status status = BLICA_OK;
  for (blica_data *piece = NULL; status == BLICA_OK; blica_data_free(piece)) {
    status = table_next(t, 0, &piece);
    if (status != BLICA_OK || !piece) break;
  }
  return status;
}

/* Reads every value of the file once and keeps the distinct ones of each column. given: the levels [n] that are known,
 * whose columns are passed over; NULL: none are. */
static blica_status collect(blica_ctx *ctx, const char *path, const table_options *options, bool header,
                            const column_levels *given, char *message, table **out) {
  AUTO_TABLE *t = NULL;
  *out = NULL;
  MUST(open_before(ctx, path, options, header, true, message, &t));
  for (int i = 0; given && i < t->n; i++) t->levels[i].given = given[i].count > 0;
  MUST(table_sample_numbers(t, options->numeric));
  MUST(pass_rows(t));
  *out = t, t = NULL;
  return BLICA_OK;
}

blica_status table_find_total(table *t) {
  const long long segments = (long long)t->options.segment_count;
  AUTO_TABLE *second = NULL;
  if (!t->total) {
    MUST(open_before(t->ctx, t->path, &t->options, t->header != NULL, t->levels != NULL, t->message, &second));
    for (int i = 0; second->levels && i < t->n; i++) second->levels[i].given = true;
    const blica_status status = pass_rows(second);
    t->total = second->row;
    t->odd = second->odd;
    MUST(status);
  }
  if (segments <= t->total) return BLICA_OK;
  return table_fail(t, BLICA_ERR_DATA, "has %lld rows, too few for --segment-count %lld", (long long)t->total,
                    segments);
}

static void sort_levels(column_levels *l) {
  for (int i = 1; i < l->count; i++)
    for (int j = i; j > 0 && table_above(l->text[j - 1], l->text[j]); j--) {
      char *swap = l->text[j];
      l->text[j] = l->text[j - 1];
      l->text[j - 1] = swap;
    }
}

/* Pairs of values that need no option, lowest first; those of words from WORDS on. */
static const char *const pairs[][2] = {{"0", "1"},        {"1", "2"}, {"no", "yes"},
                                       {"false", "true"}, {"n", "y"}, {"f", "t"}};
enum { PAIRS = sizeof pairs / sizeof *pairs, WORDS = 2 };

/* Which of the pairs from `first` on the two values of a column are; they are put into its order. -1: none. */
static int usual_pair(column_levels *l, int first) {
  for (int p = first; l->count == 2 && p < PAIRS; p++)
    for (int low = 0; low < 2; low++)
      if (strcasecmp(l->text[low], pairs[p][0]) == 0 && strcasecmp(l->text[1 - low], pairs[p][1]) == 0) {
        char *lowest = l->text[low];
        l->text[low] = l->text[0];
        l->text[0] = lowest;
        return p;
      }
  return -1;
}

/* Puts the levels of a column with --ordinal in order: whole numbers, or a usual pair of words. */
static blica_status order_levels(const table *t, int variable, column_levels *l) {
  double number;
  if (l->count < 2)
    return table_fail_column(
        t, t->column_of[variable],
        "it has %d value; an item needs at least two levels: leave it out, or give its levels by --levels", l->count);
  if (usual_pair(l, WORDS) >= 0) return BLICA_OK;
  for (int k = 0; k < l->count; k++)
    if (!table_number(l->text[k], strlen(l->text[k]), &number) || number != floor(number) || fabs(number) > 0x1p53)
      return table_fail_column(t, t->column_of[variable],
                               "'%.40s' is not a whole number, which --ordinal asks for; give the levels of such a "
                               "column beside it, as in --levels 'NAME=low<middle<high'",
                               l->text[k]);
  sort_levels(l);
  return BLICA_OK;
}

blica_status table_given_twice(const table *t, int variable) {
  char buffer[24];
  return table_fail(t, BLICA_ERR_ARGUMENT,
                    "--levels gives the levels of '%s', which --numeric names too; give one of them",
                    name_of(t, variable, buffer));
}

/* Says how the columns of one pair are read: all that have the texts of column `first`. */
static void note_pair(const table *t, int first) {
  char names[200] = "", buffer[24];
  const column_levels *own = &t->levels[first];
  int count = 0;
  size_t at = 0;
  for (int i = 0; i < t->n; i++) {
    const column_levels *l = &t->levels[i];
    if (l->count != 2 || strcmp(l->text[0], own->text[0]) != 0 || strcmp(l->text[1], own->text[1]) != 0) continue;
    if (i < first) return; /* said already */
    if (++count <= 5)
      at += (size_t)snprintf(names + at, sizeof names - at, "%s%.28s", count > 1 ? ", " : "", name_of(t, i, buffer));
  }
  if (count == t->n)
    table_note(t, "in all %d columns '%s' is 0 and '%s' is 1", t->n, own->text[0], own->text[1]);
  else
    table_note(t, "'%s' is 0 and '%s' is 1 in %s%s (%d of %d columns)", own->text[0], own->text[1], names,
               count > 5 ? ", ..." : "", count, t->n);
}

/* The levels of all columns that --levels does not name. */
static blica_status take_numbers(table *t) {
  AUTO_TABLE *second = NULL;
  MUST(collect(t->ctx, t->path, &t->options, t->header != NULL, t->levels, t->message, &second));
  t->total = second->row;
  for (int i = 0; i < t->n; i++) {
    column_levels *own = &second->levels[i];
    if (own->sample) {
      if (t->levels[i].count > 0) return table_given_twice(t, i);
      MUST(table_cut(t, i, own->sample, &t->levels[i]));
      continue;
    }
    if (t->levels[i].count > 0 || (!t->options.ordinal && usual_pair(own, 0) < 0)) continue;
    if (t->options.ordinal) MUST(order_levels(t, i, own));
    column_levels empty = t->levels[i];
    t->levels[i] = *own;
    *own = empty;
  }
  return BLICA_OK;
}

/* Completes a column that has one value, or none, by the pair of the others; where that pair does not have the value,
 * it must be 0 or 1. */
static bool complete_pair(column_levels *l, const column_levels *other) {
  char *const *pair = other ? other->text : NULL;
  bool among = pair != NULL;
  for (int k = 0; among && k < l->count; k++)
    among = strcmp(l->text[k], pair[0]) == 0 || strcmp(l->text[k], pair[1]) == 0;
  for (int k = 0; !among && l->text && k < l->count; k++)
    if (!table_same_level("0", l->text[k], strlen(l->text[k])) &&
        !table_same_level("1", l->text[k], strlen(l->text[k])))
      return false;
  table_free_names(l->text, l->count);
  *l = (column_levels){0};
  return !among || (table_add_level(l, pair[0], strlen(pair[0])) && table_add_level(l, pair[1], strlen(pair[1])));
}

static bool is_zero_one(const column_levels *l) {
  return l->count == 2 && strcmp(l->text[0], "0") == 0 && strcmp(l->text[1], "1") == 0;
}

/* Whether each column of the collected values holds a usual pair, which its levels are then. */
static bool recognise_columns(table *t) {
  int common = -1; /* the pair of all columns that have two values */
  const column_levels *other = NULL;
  for (int i = 0; i < t->n; i++) {
    const int pair = usual_pair(&t->levels[i], 0);
    if (t->levels[i].count < 2) continue;
    if (pair < 0) return false;
    common = common == -1 || common == pair ? pair : PAIRS;
    other = &t->levels[i];
  }
  if (common == PAIRS) other = NULL;
  for (int i = 0; i < t->n; i++)
    if (t->levels[i].count < 2 && !complete_pair(&t->levels[i], other)) return false;
  return t->n > 0;
}

bool table_recognise(blica_ctx *ctx, const char *path, const table_options *options, bool header, table **found) {
  char message[TABLE_MESSAGE];
  AUTO_TABLE *t = NULL;
  *found = NULL;
  if (options->list || options->ordinal || options->found || !table_is_file(path)) return false;
  if (collect(ctx, path, options, header, NULL, message, &t) != BLICA_OK || !recognise_columns(t)) return false;
  t->options.note = options->note, t->options.note_user = options->note_user;
  for (int i = 0; i < t->n; i++)
    if (t->levels[i].count == 2 && !is_zero_one(&t->levels[i])) note_pair(t, i);
  *found = t, t = NULL;
  return true;
}

/* The levels of a table whose columns were recognised. */
static blica_status take_found(table *t, const table *found) {
  for (int i = 0; i < t->n && i < found->n; i++)
    for (int k = 0; k < found->levels[i].count; k++)
      if (!table_add_level(&t->levels[i], found->levels[i].text[k], strlen(found->levels[i].text[k])))
        return table_no_memory(t);
  return BLICA_OK;
}

/* ---- packing ---- */

/* Begins a piece of known levels; columns of which nothing was said are 0 and 1. */
blica_status table_begin_items(table *t, const char *const *names) {
  OWNED int *count = calloc((size_t)t->n + 1, sizeof *count);
  int total = 0;
  for (int i = 0; count && i < t->n; i++) total += count[i] = t->levels[i].count;
  OWNED const char **labels = count ? calloc((size_t)total + 1, sizeof *labels) : NULL;
  if (!labels) return BLICA_ERR_MEMORY;
  for (int i = 0, at = 0; i < t->n; i++) {
    const column_levels *l = &t->levels[i];
    for (int k = 0; k < l->count; k++) labels[at++] = l->text[k];
  }
  return blica_pack_begin_items(t->ctx, t->n, names, count, labels, &t->packer);
}

blica_status table_begin_known(table *t) {
  const table_options *o = &t->options;
  const blica_coding *model = o->model ? o->model->coding : NULL;
  if (!o->list && !o->ordinal && !o->numeric && !o->collect && !o->found && !model && !t->survey) return BLICA_OK;
  if (o->list && o->ordinal && !strchr(o->list, '='))
    return table_refuse(t, "--levels gives one list for all columns, which leaves nothing to --ordinal; give one of "
                           "them, or name single columns as in --levels 'NAME=low<middle<high'");
  t->levels = calloc((size_t)t->n + 1, sizeof *t->levels);
  if (!t->levels) return table_no_memory(t);
  if (o->collect) return BLICA_OK;
  if (model)
    MUST(take_model(t, model));
  else if (o->found)
    MUST(take_found(t, o->found));
  else if (o->list)
    MUST(take_list(t, o->list));
  if (t->survey && !model)
    MUST(table_readstat_levels(t));
  else if ((o->ordinal || o->numeric) && !model)
    MUST(take_numbers(t));
  for (int i = 0; i < t->n; i++)
    if (t->levels[i].count == 0 && (!table_add_level(&t->levels[i], "0", 1) || !table_add_level(&t->levels[i], "1", 1)))
      return table_no_memory(t);
  return table_find_cuts(t);
}
