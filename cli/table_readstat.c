/* table_readstat.c - rows of SPSS (.sav, .zsav, .por), Stata (.dta) and SAS (.sas7bdat) files, by the library ReadStat.
 *
 * The dictionary is read first: names, value labels, missing codes. Codes in their order are the levels of an item, and
 * their labels are the levels' names; codes that the file declares missing are missing. Which codes occur is found by
 * reading the file once more, so that rows can be packed as they come: memory holds the packed bits and no values. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "table.h"

bool table_is_readstat(const char *path) {
  static const char *const endings[] = {".sav", ".zsav", ".por", ".dta", ".sas7bdat"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (bl_has_ending(path, endings[i])) return true;
  return false;
}

#ifndef BLICA_READSTAT

blica_status table_begin_readstat(table *t) {
  return table_fail(t, BLICA_ERR_FORMAT,
                    "this program was built without ReadStat, which reads such files; save the data as .csv");
}
blica_status table_readstat_levels(table *t) {
  return table_begin_readstat(t);
}
blica_status table_read_readstat(table *t) {
  return table_begin_readstat(t);
}
void table_free_readstat(table_survey *survey) {
  (void)survey;
}
blica_status table_list_variables(const char *path, char message[TABLE_MESSAGE], table_variable_fn take, void *user) {
  (void)take, (void)user;
  return table_begin_readstat(&(table){.name = path, .message = message});
}

#else

#include <readstat.h>

enum {
  LABEL_MOST = 200, /* bytes of a label that are kept */
  SET_NAME = 128    /* most bytes of the name of a set of labels in .dta files */
};

/* A code of a variable, and which level it is. */
typedef struct {
  double code;
  char *label; /* NULL: it has none */
  bool occurs;
  int level; /* one more than its level; 0: not looked up yet */
} known_code;

typedef struct {
  char *label_set; /* NULL: no value labels */
  char *label;     /* what it asks; NULL: the file does not say */
  bool text, date;
  readstat_measure_t measure;
  int64_t missing;   /* values, as far as the codes have been read */
  int number;        /* one more than the item whose numbers are collected; 0: its codes are levels */
  known_code *codes; /* of value labels; then also those that occur */
  int count;
  bool too_many; /* more than MOST_LEVELS codes occur */
} survey_variable;

typedef struct {
  char *set, *label;
  double code;
} value_label;

struct table_survey {
  table *t;
  blica_status status;
  bool find_codes; /* in this pass */
  survey_variable *variable;
  int capacity;
  value_label *label;
  int labels, label_capacity;
  int variable_of_column; /* position among the items while a row is read */
  char carried[ROLES][LABEL_MOST + 1];
};

void table_free_readstat(table_survey *v) {
  if (!v) return;
  for (int k = 0; k < v->capacity; k++) {
    for (int c = 0; c < v->variable[k].count; c++) free(v->variable[k].codes[c].label);
    free(v->variable[k].codes);
    free(v->variable[k].label_set);
    free(v->variable[k].label);
  }
  for (int i = 0; i < v->labels; i++) free(v->label[i].set), free(v->label[i].label);
  free(v->label);
  free(v->variable);
  free(v);
}

static int abort_with(table_survey *v, blica_status status) {
  v->status = status;
  return READSTAT_HANDLER_ABORT;
}

/* ---- the dictionary ---- */

static int on_metadata(readstat_metadata_t *metadata, void *user) {
  table_survey *v = user;
  const int columns = readstat_get_var_count(metadata), rows = readstat_get_row_count(metadata);
  if (columns < 1) return abort_with(v, table_fail(v->t, BLICA_ERR_DATA, "has no variables"));
  v->t->total = rows > 0 ? rows : 0;
  return READSTAT_HANDLER_OK;
}

/* Room for variable `index`; false when memory is out. */
static bool reserve(table_survey *v, int index) {
  if (index < v->capacity) return true;
  const int capacity = index < 32 ? 64 : 2 * index;
  survey_variable *variable = realloc(v->variable, (size_t)capacity * sizeof *variable);
  if (!variable) return false;
  v->variable = variable;
  char **header = realloc(v->t->header, (size_t)capacity * sizeof *header);
  if (!header) return false;
  v->t->header = header;
  memset(variable + v->capacity, 0, (size_t)(capacity - v->capacity) * sizeof *variable);
  v->capacity = capacity;
  return true;
}

static bool is_date(const char *format) {
  static const char *const dates[] = {"%t",       "%d",     "DATE",   "ADATE",  "EDATE", "JDATE", "SDATE",
                                      "DATETIME", "YYMMDD", "MMDDYY", "DDMMYY", "TIME",  "YMDHMS"};
  for (size_t i = 0; format && i < sizeof dates / sizeof *dates; i++)
    if (strncmp(format, dates[i], strlen(dates[i])) == 0) return true;
  return false;
}

static int on_variable(int index, readstat_variable_t *from, const char *label_set, void *user) {
  table_survey *v = user;
  if (index != v->t->columns || !reserve(v, index)) return abort_with(v, table_no_memory(v->t));
  survey_variable *to = &v->variable[index];
  to->text = readstat_variable_get_type_class(from) == READSTAT_TYPE_CLASS_STRING;
  to->date = is_date(readstat_variable_get_format(from));
  to->measure = readstat_variable_get_measure(from);
  to->label_set = label_set ? strndup(label_set, SET_NAME) : NULL; /* that of a damaged .dta file may have no end */
  const char *label = readstat_variable_get_label(from);
  to->label = label && *label ? strdup(label) : NULL;
  if (to->label) bl_text_clean(to->label);
  const char *name = readstat_variable_get_name(from);
  if (!name || !*name)
    return abort_with(v, table_fail(v->t, BLICA_ERR_FORMAT, "variable %d has no name; the file is damaged", index + 1));
  v->t->header[index] = strdup(name);
  if (v->t->header[index]) v->t->columns++;
  if (!v->t->header[index] || (label_set && !to->label_set)) return abort_with(v, table_no_memory(v->t));
  return READSTAT_HANDLER_OK;
}

static double number_of(readstat_value_t value) {
  switch (readstat_value_type(value)) {
  case READSTAT_TYPE_INT8:
    return readstat_int8_value(value);
  case READSTAT_TYPE_INT16:
    return readstat_int16_value(value);
  case READSTAT_TYPE_INT32:
    return readstat_int32_value(value);
  case READSTAT_TYPE_FLOAT:
    return readstat_float_value(value);
  case READSTAT_TYPE_DOUBLE:
    return readstat_double_value(value);
  default:
    return NAN;
  }
}

static int on_value_label(const char *set, readstat_value_t value, const char *label, void *user) {
  table_survey *v = user;
  const double code = number_of(value);
  if (isnan(code) || !label || !*label) return READSTAT_HANDLER_OK; /* of text, or of a tagged missing value */
  if (v->labels == v->label_capacity) {
    const int capacity = v->label_capacity ? 2 * v->label_capacity : 64;
    value_label *grown = realloc(v->label, (size_t)capacity * sizeof *grown);
    if (!grown) return abort_with(v, table_no_memory(v->t));
    v->label = grown, v->label_capacity = capacity;
  }
  value_label *to = &v->label[v->labels];
  *to = (value_label){strdup(set), strndup(label, LABEL_MOST), code};
  v->labels++;
  return to->set && to->label ? READSTAT_HANDLER_OK : abort_with(v, table_no_memory(v->t));
}

/* ---- one pass over the file ---- */

static readstat_error_t parse(readstat_parser_t *parser, const char *path, table_survey *v) {
  if (bl_has_ending(path, ".por")) return readstat_parse_por(parser, path, v);
  if (bl_has_ending(path, ".dta")) return readstat_parse_dta(parser, path, v);
  if (bl_has_ending(path, ".sas7bdat")) return readstat_parse_sas7bdat(parser, path, v);
  return readstat_parse_sav(parser, path, v);
}

/* ReadStat 1.1.8 needs a handler of variables in every pass. */
static int pass_over(int index, readstat_variable_t *from, const char *label_set, void *user) {
  (void)index, (void)from, (void)label_set, (void)user;
  return READSTAT_HANDLER_OK;
}

/* Reads the dictionary, or with on_value all values. */
static blica_status pass(table_survey *v, readstat_value_handler on_value) {
  readstat_parser_t *parser = readstat_parser_init();
  if (!parser) return table_no_memory(v->t);
  v->status = BLICA_OK;
  if (on_value) {
    readstat_set_variable_handler(parser, pass_over);
    readstat_set_value_handler(parser, on_value);
  } else {
    readstat_set_metadata_handler(parser, on_metadata);
    readstat_set_variable_handler(parser, on_variable);
    readstat_set_value_label_handler(parser, on_value_label);
  }
  const readstat_error_t error = parse(parser, v->t->path, v);
  readstat_parser_free(parser);
  if (v->status != BLICA_OK) return v->status;
  if (error == READSTAT_ERROR_MALLOC)
    return table_fail(v->t, BLICA_ERR_MEMORY,
                      "there is no memory for what the file says that it holds; it may be damaged");
  if (error == READSTAT_ERROR_OPEN || error == READSTAT_ERROR_READ)
    return table_fail(v->t, BLICA_ERR_IO, "%s", readstat_error_message(error));
  if (error != READSTAT_OK)
    return table_fail(v->t, BLICA_ERR_FORMAT, "is damaged or not what its name says: %s",
                      readstat_error_message(error));
  return BLICA_OK;
}

/* The label of a code in a set, or NULL. */
static const char *label_of(const table_survey *v, const char *set, double code) {
  for (int i = 0; set && i < v->labels; i++)
    if (v->label[i].code == code && strcmp(v->label[i].set, set) == 0) return v->label[i].label;
  return NULL;
}

blica_status table_begin_readstat(table *t) {
  t->survey = calloc(1, sizeof *t->survey);
  if (!t->survey) return table_no_memory(t);
  t->survey->t = t;
  MUST(pass(t->survey, NULL));
  if (t->columns < 1) return table_fail(t, BLICA_ERR_DATA, "has no variables");
  return BLICA_OK;
}

/* ---- codes ---- */

static bool listed_missing(const table *t, double code) {
  char text[40];
  if (!t->options.missing) return false; /* the usual case, for every value of a file */
  snprintf(text, sizeof text, "%.15g", code);
  return table_listed_missing(t, text, strlen(text));
}

/* The place of a code among those of a variable, where it is or would be. */
static int place_of(const survey_variable *variable, double code) {
  int at = 0;
  while (at < variable->count && variable->codes[at].code < code) at++;
  return at;
}

static bool add_code(table_survey *v, survey_variable *variable, double code) {
  const int at = place_of(variable, code);
  if (at < variable->count && variable->codes[at].code == code) return true;
  known_code *grown = realloc(variable->codes, ((size_t)variable->count + 1) * sizeof *grown);
  if (!grown) return false;
  variable->codes = grown;
  memmove(grown + at + 1, grown + at, (size_t)(variable->count - at) * sizeof *grown);
  const char *label = label_of(v, variable->label_set, code);
  grown[at] = (known_code){code, label ? strdup(label) : NULL, false, 0};
  variable->count++;
  return !label || grown[at].label;
}

static int on_code(int row, readstat_variable_t *from, readstat_value_t value, void *user) {
  table_survey *v = user;
  const int column = readstat_variable_get_index(from);
  if (column < 0 || column >= v->t->columns) return READSTAT_HANDLER_OK;
  survey_variable *variable = &v->variable[column];
  if (v->t->role[column] != ROLE_VALUE || variable->text) return READSTAT_HANDLER_OK;
  const double code = readstat_value_is_missing(value, from) ? NAN : number_of(value);
  variable->missing += isnan(code) != 0;
  if (isnan(code) || variable->too_many || listed_missing(v->t, code)) return READSTAT_HANDLER_OK;
  if (variable->number) {
    int8_t level;
    v->t->row = row; /* which row a number is of */
    const blica_status status = table_take_number(v->t, variable->number - 1, code, &level);
    return status == BLICA_OK ? READSTAT_HANDLER_OK : abort_with(v, status);
  }
  if (!add_code(v, variable, code)) return abort_with(v, table_no_memory(v->t));
  variable->codes[place_of(variable, code)].occurs = true;
  variable->too_many = variable->count > MOST_LEVELS;
  return READSTAT_HANDLER_OK;
}

static blica_status check_variable(const table *t, int i) {
  const int column = t->column_of[i];
  const survey_variable *variable = &t->survey->variable[column];
  const char *name = t->header[column], *wrong = NULL;
  int occur = 0;
  for (int c = 0; c < variable->count; c++) occur += variable->codes[c].occurs;
  if (variable->text)
    wrong = "holds text; give its levels by --levels, or leave it out by --ignore";
  else if (variable->date)
    wrong = "holds dates or times; leave it out by --ignore, or name the items by --columns";
  else if (variable->too_many)
    wrong = "has more than 100 values; leave it out by --ignore, or name the items by --columns";
  else if (occur < 2)
    wrong = "has fewer than two values; leave it out by --ignore";
  else if (variable->measure == READSTAT_MEASURE_NOMINAL && occur > 2 && !t->options.ordinal)
    wrong = "is declared nominal and has more than two values; leave it out by --ignore, or say by --ordinal that the "
            "codes of all items are in order";
  return wrong ? table_fail(t, BLICA_ERR_DATA, "variable '%.60s' %s", name, wrong) : BLICA_OK;
}

/* The name of level `c`: its label, with the code where another level has the same label; or the code. */
static void name_level(const survey_variable *variable, int c, char *text, size_t size) {
  const known_code *own = &variable->codes[c];
  bool same = false;
  for (int other = 0; other < variable->count && own->label; other++)
    same =
        same || (other != c && variable->codes[other].label && strcmp(variable->codes[other].label, own->label) == 0);
  if (!own->label)
    snprintf(text, size, "%.15g", own->code);
  else if (same)
    snprintf(text, size, "%s (%.15g)", own->label, own->code);
  else
    snprintf(text, size, "%s", own->label);
}

static blica_status give_labels(const table *t, table_labels *labels) {
  bool any = false;
  table_labels_free(labels);
  for (int i = 0; i < t->n; i++) any = any || t->survey->variable[t->column_of[i]].label;
  if (!any) return BLICA_OK;
  labels->text = calloc((size_t)t->n, sizeof *labels->text);
  if (!labels->text) return table_no_memory(t);
  for (; labels->count < t->n; labels->count++) {
    const char *label = t->survey->variable[t->column_of[labels->count]].label;
    labels->text[labels->count] = strdup(label ? label : "");
    if (!labels->text[labels->count]) return table_no_memory(t);
  }
  return BLICA_OK;
}

blica_status table_readstat_levels(table *t) {
  table_survey *v = t->survey;
  if (t->options.labels) MUST(give_labels(t, t->options.labels));
  MUST(table_sample_numbers(t, t->options.numeric));
  for (int i = 0; i < t->n; i++)
    if (t->levels[i].sample) v->variable[t->column_of[i]].number = i + 1;
  MUST(pass(v, on_code));
  t->row = 0;
  for (int i = 0; i < t->n; i++) {
    const survey_variable *variable = &v->variable[t->column_of[i]];
    number_sample *sample = t->levels[i].sample;
    if (sample && t->levels[i].count) return table_given_twice(t, i);
    if (t->levels[i].count) continue; /* given by --levels */
    if (sample && !variable->text) {
      MUST(table_cut(t, i, sample, &t->levels[i]));
      table_free_sample(sample);
      t->levels[i].sample = NULL;
      continue;
    }
    MUST(check_variable(t, i));
    for (int c = 0; c < variable->count; c++) {
      char text[LABEL_MOST + 40];
      name_level(variable, c, text, sizeof text);
      if (!table_add_level(&t->levels[i], text, strlen(text))) return table_no_memory(t);
    }
  }
  return BLICA_OK;
}

/* ---- the variables, to choose from ---- */

static const char *kind_of(const survey_variable *variable) {
  static const char *const measures[] = {[READSTAT_MEASURE_UNKNOWN] = "codes",
                                         [READSTAT_MEASURE_NOMINAL] = "nominal",
                                         [READSTAT_MEASURE_ORDINAL] = "ordinal",
                                         [READSTAT_MEASURE_SCALE] = "scale"};
  return variable->text ? "text" : variable->date ? "date" : measures[variable->measure];
}

static blica_status hand_over(const table *t, int column, table_variable_fn take, void *user) {
  const survey_variable *variable = &t->survey->variable[column];
  const bool levels = !variable->text && !variable->date && !variable->too_many;
  table_variable out = {
      .name = t->header[column], .label = variable->label ? variable->label : "", .kind = kind_of(variable)};
  OWNED char *text = calloc((size_t)variable->count + 1, LABEL_MOST + 40);
  char *at = text;
  if (!text) return table_no_memory(t);
  for (int c = 0; levels && c < variable->count; c++) {
    if (c) *at++ = '<';
    name_level(variable, c, at, LABEL_MOST + 40);
    at += strlen(at);
  }
  out.levels = text, out.count = levels ? variable->count : variable->too_many ? -1 : 0;
  out.missing = variable->missing;
  take(&out, user);
  return BLICA_OK;
}

blica_status table_list_variables(const char *path, char message[TABLE_MESSAGE], table_variable_fn take, void *user) {
  table *t = calloc(1, sizeof *t);
  if (!t) return table_say(message, BLICA_ERR_MEMORY, "out of memory");
  t->path = t->name = path, t->message = message;
  blica_status status = table_begin_readstat(t);
  if (status == BLICA_OK) t->role = calloc((size_t)t->columns + 1, sizeof *t->role); /* all are values */
  if (status == BLICA_OK) status = t->role ? pass(t->survey, on_code) : table_no_memory(t);
  for (int k = 0; status == BLICA_OK && k < t->columns; k++) status = hand_over(t, k, take, user);
  table_close(t);
  return status;
}

/* ---- rows ---- */

/* The level of a code of item i: by the name that this file gives it, which a model has too, or by the number. */
static blica_status level_of(table *t, int i, const survey_variable *variable, double code, int8_t *x) {
  char text[LABEL_MOST + 40];
  const int at = place_of(variable, code);
  known_code *known = at < variable->count && variable->codes[at].code == code ? &variable->codes[at] : NULL;
  const char *label = known ? NULL : label_of(t->survey, variable->label_set, code);
  char *const *names = t->levels[i].text;
  const int levels = t->levels[i].count;
  int level = -1;
  if (t->levels[i].cut) return table_take_number(t, i, code, x);
  if (known && known->level > 0) {
    level = known->level - 1;
  } else if (known) {
    name_level(variable, at, text, sizeof text);
    level = table_place(names, levels, text, strlen(text));
    known->level = level + 1;
  } else if (label) {
    snprintf(text, sizeof text, "%s (%.15g)", label, code);
    level = table_place(names, levels, text, strlen(text));
    if (level < 0) level = table_place(names, levels, label, strlen(label));
  }
  if (level >= 0) {
    *x = (int8_t)level;
    return BLICA_OK;
  }
  snprintf(text, sizeof text, "%.15g", code);
  return table_level(t, i, text, strlen(text), x);
}

/* Segments go by the labels of their codes. */
static void keep_carried(table_survey *v, column_role role, const survey_variable *variable, readstat_value_t value,
                         bool missing) {
  const char *label = missing ? "" : variable->text ? readstat_string_value(value) : NULL;
  if (!label && role == ROLE_SEGMENT) label = label_of(v, variable->label_set, number_of(value));
  if (label)
    snprintf(v->carried[role], sizeof v->carried[role], "%s", label);
  else
    snprintf(v->carried[role], sizeof v->carried[role], role == ROLE_SEGMENT ? "%.15g" : "%.17g", number_of(value));
}

static blica_status finish_row(table_survey *v) {
  bl_record_field carried[ROLES];
  for (int role = 0; role < ROLES; role++)
    carried[role] = (bl_record_field){v->carried[role], strlen(v->carried[role])};
  return table_finish_row(v->t, carried);
}

static int on_value(int row, readstat_variable_t *from, readstat_value_t value, void *user) {
  table_survey *v = user;
  table *t = v->t;
  const int column = readstat_variable_get_index(from);
  blica_status status = BLICA_OK;
  (void)row;
  if (column < 0 || column >= t->columns) return READSTAT_HANDLER_OK;
  if (column == 0) v->variable_of_column = 0, memset(v->carried, 0, sizeof v->carried);
  const survey_variable *variable = &v->variable[column];
  const bool missing = readstat_value_is_missing(value, from) || (!variable->text && isnan(number_of(value)));
  if (t->role[column] != ROLE_VALUE) {
    keep_carried(v, t->role[column], variable, value, missing);
    const char *text = v->carried[t->role[column]];
    table_take_replicate(t, column, text, strlen(text));
  } else {
    const int i = v->variable_of_column++;
    int8_t *x = t->x + t->filled * t->n + i;
    const char *text = missing ? NULL : variable->text ? readstat_string_value(value) : NULL;
    *x = BLICA_MISSING;
    if (text)
      status = table_level(t, i, text, strlen(text), x);
    else if (!missing && !variable->text && !listed_missing(t, number_of(value)))
      status = level_of(t, i, variable, number_of(value), x);
  }
  if (status == BLICA_OK && column == t->columns - 1) status = finish_row(v);
  return status == BLICA_OK ? READSTAT_HANDLER_OK : abort_with(v, status);
}

blica_status table_read_readstat(table *t) {
  const int64_t before = t->row;
  MUST(pass(t->survey, on_value));
  t->ended = true;
  if (t->row == before) return table_fail(t, BLICA_ERR_DATA, "has no rows");
  return BLICA_OK;
}

#endif
