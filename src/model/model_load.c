/* model_load.c - reading model.json: every field is checked for type, size and range, and a refusal
 * names it. Fields that are not known are ignored, so that later versions may add some. Required are mixing, variances,
 * means, variables and segments, so that a model can be written by hand; all else has defaults. Version 1 had no cuts.
 */
#include <errno.h>
#include <math.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/json.h"
#include "model/model.h"

enum { MAX_SIDE = 10000000 };             /* variables, sources, segments, starts, notes */
static const size_t MAX_BYTES = 1u << 30; /* of the file; a parsed model takes up to twenty times as much */

/* ---- the fit record ---- */

static blica_status read_stop(const bl_json_reader *r, const char *where, const bl_json *value, blica_stop *out) {
  const char *text = bl_json_string(value);
  for (int stop = BLICA_STOP_CONVERGED; text && stop <= BLICA_STOP_DUPLICATE; stop++) {
    *out = (blica_stop)stop;
    if (strcmp(text, blica_stop_name(*out)) == 0) return BLICA_OK;
  }
  return text ? bl_json_bad(r, "%s is '%.40s', which is not a known reason to stop", where, text)
              : bl_json_bad(r, "%s is %s, not a string", where, bl_json_type(value));
}

/* Reads a value of this type to `at`. */
static blica_status read_field(const bl_json_reader *r, const char *where, const bl_json *value, bl_field_type type,
                               char *at) {
  int64_t whole = 0;
  blica_status status;
  switch (type) {
  case BL_FIELD_REAL:
    return bl_read_number(r, where, value, BL_JSON_ANY, (double *)at);
  case BL_FIELD_WIDE:
    return bl_read_whole(r, where, value, 0x1p53, (int64_t *)at);
  case BL_FIELD_SEED:
    return bl_read_seed(r, where, value, (uint64_t *)at);
  case BL_FIELD_STOP:
    return read_stop(r, where, value, (blica_stop *)at);
  case BL_FIELD_KIND:
    return bl_read_name(r, where, value, at, sizeof((blica_start *)0)->kind);
  case BL_FIELD_INT:
    status = bl_read_whole(r, where, value, INT_MAX, &whole);
    *(int *)at = (int)whole;
    return status;
  }
  return bl_fail(r->ctx, BLICA_ERR_INTERNAL, "field %s has an unknown type", where);
}

/* Reads those members of the table that the object has. */
static blica_status read_fields(const bl_json_reader *r, const char *prefix, const bl_json *object,
                                const bl_field *field, void *record) {
  if (!bl_json_is(object, BL_JSON_OBJECT))
    return bl_json_bad(r, "%s is %s, not an object", prefix, bl_json_type(object));
  blica_status status = BLICA_OK;
  for (; status == BLICA_OK && field->name; field++) {
    char where[96];
    snprintf(where, sizeof where, "%s.%s", prefix, field->name);
    const bl_json *value = bl_json_member(object, field->name);
    if (value) status = read_field(r, where, value, field->type, (char *)record + field->offset);
  }
  return status;
}

static blica_status read_starts(const bl_json_reader *r, const bl_json *starts, blica_fit_report *fit) {
  if (!bl_json_is(starts, BL_JSON_ARRAY)) return bl_json_bad(r, "fit.starts is %s, not an array", bl_json_type(starts));
  size_t count = starts->count;
  if (count == 0 || count > MAX_SIDE) return bl_json_bad(r, "fit.starts has %zu elements", count);
  MUST(bl_alloc(r->ctx, count, &fit->starts));
  fit->n_starts = (int)count;
  const bl_json *start = starts + 1;
  for (size_t i = 0; i < count; i++, start += start->span) {
    char where[64];
    snprintf(where, sizeof where, "fit.starts[%zu]", i);
    MUST(read_fields(r, where, start, bl_start_fields, &fit->starts[i]));
  }
  if (fit->best_start < fit->n_starts) return BLICA_OK;
  return bl_json_bad(r, "fit.best_start is %d, but there are %d starts", fit->best_start, fit->n_starts);
}

/* The members of an object: notes with a number each, or options with a text. */
static blica_status read_members(const bl_json_reader *r, bool notes, const bl_json *object, blica_fit_report *fit) {
  const char *what = notes ? "notes" : "options";
  if (!object) return BLICA_OK;
  if (!bl_json_is(object, BL_JSON_OBJECT))
    return bl_json_bad(r, "fit.%s is %s, not an object", what, bl_json_type(object));
  MUST(notes ? bl_alloc(r->ctx, object->count, &fit->notes) : bl_alloc(r->ctx, object->count, &fit->options));
  *(notes ? &fit->n_notes : &fit->n_options) = (int)object->count;
  const bl_json *value = object + 1;
  for (size_t i = 0; i < object->count; i++, value += value->span) {
    const size_t room = notes ? sizeof fit->notes->name : sizeof fit->options->name;
    char where[96];
    snprintf(where, sizeof where, "fit.%s.%.64s", what, value->name);
    if (strlen(value->name) >= room) return bl_json_bad(r, "%s: the name is longer than %zu bytes", where, room - 1);
    strcpy(notes ? fit->notes[i].name : fit->options[i].name, value->name);
    MUST(notes ? bl_read_number(r, where, value, BL_JSON_ANY, &fit->notes[i].value)
               : bl_read_name(r, where, value, fit->options[i].value, sizeof fit->options->value));
  }
  return BLICA_OK;
}

static blica_status read_optional(const bl_json_reader *r, const char *where, const bl_json *value, size_t count,
                                  double **out) {
  if (!value) return BLICA_OK;
  blica_status status = bl_alloc(r->ctx, count, out);
  return status == BLICA_OK ? bl_read_vector(r, where, value, count, BL_JSON_ANY, *out, 1) : status;
}

static blica_status read_fit(const bl_json_reader *r, const bl_json *object, blica_model *m) {
  size_t u = (size_t)m->u;
  MUST(read_fields(r, "fit", object, bl_report_fields, &m->fit));
  if (bl_json_member(object, "starts")) MUST(read_starts(r, bl_json_member(object, "starts"), &m->fit));
  MUST(read_optional(r, "fit.shift", bl_json_member(object, "shift"), u, &m->fit.shift));
  MUST(read_optional(r, "fit.eigen_min", bl_json_member(object, "eigen_min"), u, &m->fit.eigen_min));
  MUST(read_optional(r, "fit.eigen_max", bl_json_member(object, "eigen_max"), u, &m->fit.eigen_max));
  MUST(read_members(r, true, bl_json_member(object, "notes"), &m->fit));
  MUST(read_members(r, false, bl_json_member(object, "options"), &m->fit));
  if (m->fit.prior_mixing <= 0 || m->fit.prior_variance <= 0)
    return bl_json_bad(r, "fit.prior_mixing and fit.prior_variance are %g and %g; both must be positive",
                       m->fit.prior_mixing, m->fit.prior_variance);
  return BLICA_OK;
}

/* ---- the model ---- */

/* Fails unless it is a model of a version that is known. */
static blica_status check_header(const bl_json_reader *r, const bl_json *root) {
  const char *format = bl_json_string(bl_json_member(root, "format"));
  const bl_json *version = bl_json_member(root, "version");
  if (!bl_json_is(root, BL_JSON_OBJECT)) return bl_json_bad(r, "it is %s, not an object", bl_json_type(root));
  if (bl_json_member(root, "format") && (!format || strcmp(format, "blica-model") != 0))
    return bl_json_bad(r, "format is %s, not \"blica-model\"; is this the right file?",
                       format ? format : bl_json_type(bl_json_member(root, "format")));
  if (!version) return BLICA_OK;
  if (!bl_json_is(version, BL_JSON_NUMBER)) return bl_json_bad(r, "version is %s, not a number", bl_json_type(version));
  if (version->number != 1 && version->number != 2)
    return bl_json_bad(r, "version is %g; this program reads versions 1 and 2, a newer one may read it",
                       version->number);
  return BLICA_OK;
}

/* Sizes come from the first two matrices; all other fields must agree with them. */
static blica_status read_sizes(const bl_json_reader *r, const bl_json *root, size_t size[3]) {
  static const char *const what[] = {"mixing", "mixing[0]", "variances"};
  const bl_json *mixing = bl_json_member(root, "mixing"), *array[3];
  array[0] = mixing;
  array[1] = bl_json_is(mixing, BL_JSON_ARRAY) && mixing->count > 0 ? mixing + 1 : NULL;
  array[2] = bl_json_member(root, "variances");
  for (int i = 0; i < 3; i++) {
    if (!bl_json_is(array[i], BL_JSON_ARRAY))
      return bl_json_bad(r, "%s is %s, not an array", what[i], bl_json_type(array[i]));
    size[i] = array[i]->count;
    if (size[i] == 0 || size[i] > MAX_SIDE)
      return bl_json_bad(r, "%s has %zu elements; 1 to %d can be read", what[i], size[i], MAX_SIDE);
  }
  if (size[1] > size[0])
    return bl_json_bad(r, "mixing has %zu rows and %zu columns; there cannot be more sources than variables", size[0],
                       size[1]);
  return BLICA_OK;
}

/* Two sides may promise more than there is: memory is taken only once all elements are seen to be there. */
static blica_status check_shapes(const bl_json_reader *r, const bl_json *root, size_t n, size_t k, size_t u) {
  MUST(bl_read_matrix(r, "mixing", bl_json_member(root, "mixing"), n, k, BL_JSON_ANY, NULL, 0, 0));
  MUST(bl_read_matrix(r, "variances", bl_json_member(root, "variances"), u, k, BL_JSON_ANY, NULL, 0, 0));
  MUST(bl_read_matrix(r, "means", bl_json_member(root, "means"), u, k, BL_JSON_ANY, NULL, 0, 0));
  if (bl_json_member(root, "thresholds")) MUST(bl_read_array(r, "thresholds", bl_json_member(root, "thresholds"), u));
  return BLICA_OK;
}

static blica_status read_labels(const bl_json_reader *r, const bl_json *value, blica_model *m) {
  MUST(bl_read_array(r, "labels", value, (size_t)m->n));
  MUST(bl_alloc(r->ctx, (size_t)m->n, &m->labels));
  return bl_read_texts(r, "labels", value, m->n, m->labels, m->labels);
}

/* The items' levels: what they are called, lowest first. All 0 and 1 is no coding. */
static blica_status read_levels(const bl_json_reader *r, const bl_json *value, blica_model *m) {
  BL_OWNED int *levels = NULL;
  BL_OWNED char **labels = NULL;
  blica_coding *coding = NULL;
  bool plain = true;
  MUST(bl_read_array(r, "levels", value, (size_t)m->n));
  MUST(bl_alloc(r->ctx, (size_t)m->n, &levels));
  MUST(bl_alloc(r->ctx, value->span, &labels)); /* the values in it, of which the labels are a part */
  const bl_json *own = value + 1;
  char **at = labels;
  for (int i = 0; i < m->n; at += levels[i++], own += own->span) {
    const size_t count = own->kind == BL_JSON_ARRAY ? own->count : 0;
    char where[64];
    if (own->kind != BL_JSON_ARRAY || count < 2 || count > BL_MOST_LEVELS)
      return bl_json_bad(r, "levels[%d] is %s of %zu elements; an item has from 2 to %d levels", i, bl_json_type(own),
                         count, BL_MOST_LEVELS);
    snprintf(where, sizeof where, "levels[%d]", i);
    levels[i] = (int)count;
    MUST(bl_read_texts(r, where, own, levels[i], labels, at));
    plain &= count == 2 && strcmp(at[0], "0") == 0 && strcmp(at[1], "1") == 0;
  }
  if (plain) return BLICA_OK;
  const blica_status status =
      bl_coding_make(r->ctx, m->n, (const char *const *)m->variables, levels, (const char *const *)labels, &coding);
  if (status == BLICA_ERR_DATA) return bl_fail(r->ctx, BLICA_ERR_FORMAT, "model '%s': levels cannot be used", r->path);
  return status == BLICA_OK ? bl_model_set_coding(r->ctx, m, coding) : status;
}

/* The cuts of item i, into cuts [planes]. */
static blica_status read_item_cuts(const bl_json_reader *r, const char *where, const bl_json *value,
                                   const blica_model *m, int i, double *cuts) {
  const int first = bl_plane(m->coding, i), last = bl_plane(m->coding, i + 1);
  MUST(bl_read_vector(r, where, value, (size_t)(last - first), BL_JSON_FINITE, cuts + first, 1));
  for (int p = first + 1; p < last; p++)
    if (!(cuts[p] > cuts[p - 1])) return bl_json_bad(r, "%s: cuts must grow from level to level", where);
  return BLICA_OK;
}

static blica_status read_cuts(const bl_json_reader *r, const bl_json *value, blica_model *m) {
  blica_status status = bl_read_array(r, "cuts", value, (size_t)m->n);
  const bl_json *own = value + 1;
  for (int i = 0; status == BLICA_OK && i < m->n; i++, own += own->span) {
    char where[64];
    snprintf(where, sizeof where, "cuts[%d]", i);
    status = read_item_cuts(r, where, own, m, i, m->cuts);
  }
  return status;
}

/* Which of the names a text is. */
static blica_status read_choice(const bl_json_reader *r, const char *where, const bl_json *value, int count,
                                char *const *names, int *out) {
  const char *text = bl_json_string(value);
  for (*out = 0; text && *out < count; ++*out)
    if (strcmp(text, names[*out]) == 0) return BLICA_OK;
  return bl_json_bad(r, "%s is %s%.60s, not a name of the model's", where, text ? "" : bl_json_type(value),
                     text ? text : "");
}

/* Reads the cuts and rows of A that items have of their own in single segments. */
static blica_status read_freed(const bl_json_reader *r, const bl_json *value, blica_model *m) {
  if (!bl_json_is(value, BL_JSON_ARRAY)) return bl_json_bad(r, "free is %s, not an array", bl_json_type(value));
  MUST(bl_alloc_for(r->ctx, m, (size_t)m->n * (size_t)m->u, &m->freed));
  MUST(bl_model_own(r->ctx, m));
  const bl_json *one = value + 1;
  for (size_t e = 0; e < value->count; e++, one += one->span) {
    char where[64];
    int i, s;
    snprintf(where, sizeof where, "free[%zu]", e);
    const bl_json *row = bl_json_member(one, "mixing"), *cuts = bl_json_member(one, "cuts");
    MUST(read_choice(r, where, bl_json_member(one, "item"), m->n, m->variables, &i));
    MUST(read_choice(r, where, bl_json_member(one, "segment"), m->u, m->segments, &s));
    if (!cuts) return bl_json_bad(r, "%s has no cuts", where);
    MUST(read_item_cuts(r, where, cuts, m, i, m->own_cuts + (size_t)m->planes * (size_t)s));
    double *own = m->own_mixing + (size_t)m->n * (size_t)m->k * (size_t)s + i;
    if (row) MUST(bl_read_vector(r, where, row, (size_t)m->k, BL_JSON_FINITE, own, (size_t)m->n));
    m->freed[i + m->n * s] = row ? BLICA_FREED_ROW : BLICA_FREED_CUTS;
  }
  return BLICA_OK;
}

/* Reads members that may be missing: then every segment has as many rows, cuts are 0, and thresholds are those that the
 * model implies. */
static blica_status read_defaulted(const bl_json_reader *r, const bl_json *root, blica_model *m) {
  size_t u = (size_t)m->u, planes = (size_t)m->planes;
  const bl_json *link = bl_json_member(root, "link"), *samples = bl_json_member(root, "samples"),
                *cuts = bl_json_member(root, "cuts"), *thresholds = bl_json_member(root, "thresholds"),
                *method = bl_json_member(root, "method");
  strcpy(m->method, "given");
  for (size_t s = 0; s < u; s++) m->samples[s] = 1;
  if (link) MUST(bl_read_number(r, "link", link, BL_JSON_POSITIVE, &m->link));
  if (samples) MUST(bl_read_vector(r, "samples", samples, u, BL_JSON_NOT_NEGATIVE, m->samples, 1));
  if (cuts) MUST(read_cuts(r, cuts, m));
  if (bl_json_member(root, "free")) MUST(read_freed(r, bl_json_member(root, "free"), m));
  if (method) MUST(bl_read_name(r, "method", method, m->method, sizeof m->method));
  if (thresholds)
    MUST(bl_read_matrix(r, "thresholds", thresholds, u, planes, BL_JSON_ANY, m->thresholds, planes, 1));
  else
    for (int s = 0; s < m->u; s++) bl_model_margins(m, s, NULL, m->thresholds + (size_t)s * planes);
  return BLICA_OK;
}

static blica_status read_model(const bl_json_reader *r, const bl_json *root, blica_model **out) {
  size_t size[3] = {0};
  MUST(check_header(r, root));
  MUST(read_sizes(r, root, size));
  size_t n = size[0], k = size[1], u = size[2];
  MUST(check_shapes(r, root, n, k, u));
  MUST(blica_model_create(r->ctx, (int)n, (int)k, (int)u, out));
  blica_model *m = *out;
  MUST(bl_read_matrix(r, "mixing", bl_json_member(root, "mixing"), n, k, BL_JSON_FINITE, m->mixing, 1, n));
  MUST(bl_read_matrix(r, "variances", bl_json_member(root, "variances"), u, k, BL_JSON_NOT_NEGATIVE, m->variances, k,
                      1));
  MUST(bl_read_matrix(r, "means", bl_json_member(root, "means"), u, k, BL_JSON_FINITE, m->means, k, 1));
  MUST(bl_read_texts(r, "variables", bl_json_member(root, "variables"), m->n, m->variables, m->variables));
  MUST(bl_read_texts(r, "segments", bl_json_member(root, "segments"), m->u, m->segments, m->segments));
  if (bl_json_member(root, "labels")) MUST(read_labels(r, bl_json_member(root, "labels"), m));
  if (bl_json_member(root, "levels")) MUST(read_levels(r, bl_json_member(root, "levels"), m));
  MUST(read_defaulted(r, root, m));
  if (bl_json_member(root, "fit")) MUST(read_fit(r, bl_json_member(root, "fit"), m));
  return BLICA_OK;
}

/* The whole file, through a stream so that pipes work too. */
static blica_status read_file(const bl_json_reader *r, FILE *stream, char **text, size_t *length) {
  size_t capacity = 1 << 15;
  for (*length = 0; !feof(stream);) {
    if (*length > MAX_BYTES) return bl_json_bad(r, "it is longer than %zu bytes", MAX_BYTES);
    if (*length == capacity || !*text) MUST(bl_resize(r->ctx, *length, capacity *= 2, text));
    *length += fread(*text + *length, 1, capacity - *length, stream);
    if (ferror(stream))
      return bl_fail(r->ctx, BLICA_ERR_IO, "cannot read the model '%s': %s", r->path, strerror(errno));
  }
  return BLICA_OK;
}

blica_status blica_model_parse(blica_ctx *ctx, const char *text, size_t length, const char *path, blica_model **out) {
  BL_NEED_OUT(ctx, out, text, path);
  BL_OWNED bl_json *root = NULL;
  BL_AUTO(blica_model) *model = NULL;
  MUST(bl_json_parse(ctx, path, text, length, &root));
  MUST(read_model(&(bl_json_reader){ctx, path}, root, &model));
  *out = bl_take(&model);
  return BLICA_OK;
}

blica_status blica_model_load(blica_ctx *ctx, const char *path, blica_model **out) {
  BL_NEED_OUT(ctx, out, path);
  blica_status status;
  BL_OWNED char *text = NULL;
  size_t length;
  FILE *stream = fopen(path, "rb");
  if (!stream) FAIL(ctx, BLICA_ERR_IO, "cannot open the model '%s': %s", path, strerror(errno));
  TRY(read_file(&(bl_json_reader){ctx, path}, stream, &text, &length));
  TRY(blica_model_parse(ctx, text, length, path, out));
done:
  if (stream) fclose(stream);
  return status;
}
