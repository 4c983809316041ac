/* model_load.c - reading model.json: every field is checked for type, size and range, and a refusal
 * names it. Fields that are not known are ignored, so that later versions may add some. Required are mixing, variances,
 * means, variables and segments, so that a model can be written by hand; all else has defaults. Version 1 had no cuts.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "model/model.h"
#include "model/model_fields.h"

enum { MAX_SIDE = 10000000 };             /* variables, sources, segments, starts, notes */
enum { MAX_DEPTH = 32 };                  /* of nesting; the parser recurses */
static const size_t MAX_BYTES = 1u << 30; /* of the file; a parsed model takes about ten times as much */

typedef enum { ANY, FINITE, POSITIVE, NOT_NEGATIVE } range; /* ANY: infinities, and null for NaN */

typedef struct {
  blica_ctx *ctx;
  const char *path;
} reader;

#define BAD(r, ...) bad((r), __VA_ARGS__)
static blica_status bad(const reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static blica_status bad(const reader *r, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return bl_fail(r->ctx, BLICA_ERR_FORMAT, "model '%s': %s", r->path, text);
}

static const char *type_name(const json_t *value) {
  static const char *const names[] = {"an object", "an array", "a string", "a number",
                                      "a number",  "true",     "false",    "null"};
  return value ? names[json_typeof(value)] : "missing";
}

/* ---- scalars ---- */

static blica_status read_number(const reader *r, const char *where, const json_t *value, range allowed, double *out) {
  const char *text = json_string_value(value);
  if (json_is_number(value))
    *out = json_number_value(value);
  else if (text && (strcmp(text, "Infinity") == 0 || strcmp(text, "-Infinity") == 0))
    *out = text[0] == '-' ? -INFINITY : INFINITY;
  else if (value && json_is_null(value))
    *out = NAN;
  else
    return BAD(r, "%s is %s, not a number", where, type_name(value));
  if (allowed != ANY && !isfinite(*out)) return BAD(r, "%s is %g; it must be finite", where, *out);
  if (allowed == POSITIVE && *out <= 0) return BAD(r, "%s is %g; it must be above 0", where, *out);
  if (allowed == NOT_NEGATIVE && *out < 0) return BAD(r, "%s is %g; it must not be negative", where, *out);
  return BLICA_OK;
}

static blica_status read_whole(const reader *r, const char *where, const json_t *value, double limit, int64_t *out) {
  double number = 0;
  blica_status status = read_number(r, where, value, NOT_NEGATIVE, &number);
  if (status != BLICA_OK) return status;
  if (number != floor(number) || number > limit)
    return BAD(r, "%s is %.17g; it must be a whole number of at most %.17g", where, number, limit);
  *out = (int64_t)number;
  return BLICA_OK;
}

static blica_status read_seed(const reader *r, const char *where, const json_t *value, uint64_t *out) {
  const char *text = json_string_value(value);
  if (!text) {
    int64_t seed = 0;
    blica_status status = read_whole(r, where, value, 0x1p53, &seed);
    if (status == BLICA_OK) *out = (uint64_t)seed;
    return status;
  }
  errno = 0;
  if (!*text || strspn(text, "0123456789") != strlen(text)) return BAD(r, "%s is '%.40s', not a seed", where, text);
  *out = strtoull(text, NULL, 10);
  return errno ? BAD(r, "%s is '%.40s', above 2^64-1", where, text) : BLICA_OK;
}

static blica_status read_stop(const reader *r, const char *where, const json_t *value, blica_stop *out) {
  const char *text = json_string_value(value);
  for (int stop = BLICA_STOP_CONVERGED; text && stop <= BLICA_STOP_COMPARED; stop++) {
    *out = (blica_stop)stop;
    if (strcmp(text, blica_stop_name(*out)) == 0) return BLICA_OK;
  }
  return text ? BAD(r, "%s is '%.40s', which is no way for a fit to end", where, text)
              : BAD(r, "%s is %s, not a string", where, type_name(value));
}

static blica_status read_name(const reader *r, const char *where, const json_t *value, char *out, size_t size) {
  const char *text = json_string_value(value);
  if (!text) return BAD(r, "%s is %s, not a string", where, type_name(value));
  if (strlen(text) >= size) return BAD(r, "%s is '%.40s...', longer than %zu bytes", where, text, size - 1);
  memcpy(out, text, strlen(text) + 1);
  return BLICA_OK;
}

/* ---- arrays ---- */

static blica_status expect_array(const reader *r, const char *where, const json_t *value, size_t count) {
  if (!json_is_array(value)) return BAD(r, "%s is %s, not an array", where, type_name(value));
  if (json_array_size(value) != count)
    return BAD(r, "%s has %zu elements, not %zu", where, json_array_size(value), count);
  return BLICA_OK;
}

static blica_status expect_shape(const reader *r, const char *name, const json_t *value, size_t rows, size_t columns) {
  blica_status status = expect_array(r, name, value, rows);
  for (size_t i = 0; status == BLICA_OK && i < rows; i++) {
    char where[64];
    snprintf(where, sizeof where, "%s[%zu]", name, i);
    status = expect_array(r, where, json_array_get(value, i), columns);
  }
  return status;
}

static blica_status read_vector(const reader *r, const char *name, const json_t *value, size_t count, range allowed,
                                double *out, size_t stride) {
  blica_status status = expect_array(r, name, value, count);
  for (size_t i = 0; status == BLICA_OK && i < count; i++) {
    char where[96];
    snprintf(where, sizeof where, "%s[%zu]", name, i);
    status = read_number(r, where, json_array_get(value, i), allowed, &out[i * stride]);
  }
  return status;
}

static blica_status read_matrix(const reader *r, const char *name, const json_t *value, size_t rows, size_t columns,
                                range allowed, double *out, size_t row_stride, size_t stride) {
  blica_status status = expect_array(r, name, value, rows);
  for (size_t i = 0; status == BLICA_OK && i < rows; i++) {
    char where[64];
    snprintf(where, sizeof where, "%s[%zu]", name, i);
    status = read_vector(r, where, json_array_get(value, i), columns, allowed, out + i * row_stride, stride);
  }
  return status;
}

static blica_status read_texts(const reader *r, const char *name, const json_t *value, int count, char **out) {
  blica_status status;
  TRY(expect_array(r, name, value, (size_t)count));
  for (int i = 0; i < count; i++) {
    const char *text = json_string_value(json_array_get(value, (size_t)i));
    if (!text) {
      status = BAD(r, "%s[%d] is %s, not a string", name, i, type_name(json_array_get(value, (size_t)i)));
      goto done;
    }
    char *copy;
    TRY(bl_copy_text(r->ctx, text, &copy));
    bl_free(out[i]);
    out[i] = copy;
  }
done:
  return status;
}

/* ---- the fit record ---- */

static blica_status read_field(const reader *r, const char *where, const json_t *value, bl_field_type type, char *at) {
  int64_t whole = 0;
  blica_status status;
  switch (type) {
  case BL_FIELD_SECONDS:
    if (!value) return BLICA_OK;
    return read_number(r, where, value, ANY, (double *)at);
  case BL_FIELD_REAL:
    return read_number(r, where, value, ANY, (double *)at);
  case BL_FIELD_WIDE:
    return read_whole(r, where, value, 0x1p53, (int64_t *)at);
  case BL_FIELD_SEED:
    return read_seed(r, where, value, (uint64_t *)at);
  case BL_FIELD_STOP:
    return read_stop(r, where, value, (blica_stop *)at);
  case BL_FIELD_KIND:
    return read_name(r, where, value, at, sizeof((blica_start *)0)->kind);
  case BL_FIELD_INT:
    status = read_whole(r, where, value, INT_MAX, &whole);
    *(int *)at = (int)whole;
    return status;
  }
  return bl_fail(r->ctx, BLICA_ERR_INTERNAL, "field %s has an unknown type", where);
}

static blica_status read_fields(const reader *r, const char *prefix, const json_t *object, const bl_field *field,
                                void *record) {
  if (!json_is_object(object)) return BAD(r, "%s is %s, not an object", prefix, type_name(object));
  blica_status status = BLICA_OK;
  for (; status == BLICA_OK && field->name; field++) {
    char where[96];
    snprintf(where, sizeof where, "%s.%s", prefix, field->name);
    const json_t *value = json_object_get(object, field->name);
    if (value) status = read_field(r, where, value, field->type, (char *)record + field->offset);
  }
  return status;
}

static blica_status read_starts(const reader *r, const json_t *starts, blica_fit_report *fit) {
  blica_status status = BLICA_OK;
  if (!json_is_array(starts)) return BAD(r, "fit.starts is %s, not an array", type_name(starts));
  size_t count = json_array_size(starts);
  if (count == 0 || count > MAX_SIDE) return BAD(r, "fit.starts has %zu elements", count);
  TRY(bl_alloc(r->ctx, count, &fit->starts));
  fit->n_starts = (int)count;
  for (size_t i = 0; i < count; i++) {
    char where[64];
    snprintf(where, sizeof where, "fit.starts[%zu]", i);
    TRY(read_fields(r, where, json_array_get(starts, i), bl_start_fields, &fit->starts[i]));
  }
  if (fit->best_start >= fit->n_starts)
    status = BAD(r, "fit.best_start is %d, but there are %d starts", fit->best_start, fit->n_starts);
done:
  return status;
}

static blica_status read_notes(const reader *r, json_t *notes, blica_fit_report *fit) {
  blica_status status = BLICA_OK;
  if (!json_is_object(notes)) return BAD(r, "fit.notes is %s, not an object", type_name(notes));
  if (json_object_size(notes) == 0) return BLICA_OK;
  if (json_object_size(notes) > MAX_SIDE) return BAD(r, "fit.notes has %zu elements", json_object_size(notes));
  TRY(bl_alloc(r->ctx, json_object_size(notes), &fit->notes));
  const char *name;
  json_t *value;
  json_object_foreach(notes, name, value) {
    blica_note *note = &fit->notes[fit->n_notes++];
    char where[64];
    snprintf(where, sizeof where, "fit.notes.%.30s", name);
    if (strlen(name) >= sizeof note->name) {
      status = BAD(r, "%s: the name is longer than %zu bytes", where, sizeof note->name - 1);
      goto done;
    }
    memcpy(note->name, name, strlen(name) + 1);
    TRY(read_number(r, where, value, ANY, &note->value));
  }
done:
  return status;
}

static blica_status read_optional(const reader *r, const char *where, const json_t *value, size_t count, double **out) {
  if (!value) return BLICA_OK;
  blica_status status = bl_alloc(r->ctx, count, out);
  return status == BLICA_OK ? read_vector(r, where, value, count, ANY, *out, 1) : status;
}

static blica_status read_settings(const reader *r, json_t *settings, blica_fit_report *fit) {
  blica_status status = BLICA_OK;
  if (!json_is_object(settings)) return BAD(r, "fit.options is %s, not an object", type_name(settings));
  size_t count = json_object_size(settings);
  if (count == 0) return BLICA_OK;
  if (count > MAX_SIDE) return BAD(r, "fit.options has %zu elements", count);
  TRY(bl_alloc(r->ctx, count, &fit->options));
  const char *name;
  json_t *value;
  json_object_foreach(settings, name, value) {
    blica_setting *setting = &fit->options[fit->n_options++];
    char where[96];
    snprintf(where, sizeof where, "fit.options.%.64s", name);
    if (strlen(name) >= sizeof setting->name) {
      status = BAD(r, "fit.options has the name '%.64s', which is too long", name);
      goto done;
    }
    memcpy(setting->name, name, strlen(name) + 1);
    TRY(read_name(r, where, value, setting->value, sizeof setting->value));
  }
done:
  return status;
}

static blica_status read_fit(const reader *r, const json_t *object, blica_model *m) {
  blica_status status;
  size_t u = (size_t)m->u;
  TRY(read_fields(r, "fit", object, bl_report_fields, &m->fit));
  if (json_object_get(object, "starts")) TRY(read_starts(r, json_object_get(object, "starts"), &m->fit));
  TRY(read_optional(r, "fit.shift", json_object_get(object, "shift"), u, &m->fit.shift));
  TRY(read_optional(r, "fit.eigen_min", json_object_get(object, "eigen_min"), u, &m->fit.eigen_min));
  TRY(read_optional(r, "fit.eigen_max", json_object_get(object, "eigen_max"), u, &m->fit.eigen_max));
  if (json_object_get(object, "notes")) TRY(read_notes(r, json_object_get(object, "notes"), &m->fit));
  if (json_object_get(object, "options")) TRY(read_settings(r, json_object_get(object, "options"), &m->fit));
done:
  return status;
}

static blica_status read_encoder(const reader *r, const json_t *object, blica_model *m) {
  blica_status status;
  size_t k = (size_t)m->k, inputs = (size_t)m->n + (size_t)m->u;
  if (!json_is_object(object)) return BAD(r, "encoder is %s, not an object", type_name(object));
  TRY(expect_shape(r, "encoder.mean_weight", json_object_get(object, "mean_weight"), k, inputs));
  TRY(bl_encoder_create(r->ctx, m->n, m->k, m->u, &m->encoder));
  TRY(read_matrix(r, "encoder.mean_weight", json_object_get(object, "mean_weight"), k, inputs, FINITE,
                  m->encoder->mean_weight, 1, k));
  TRY(read_vector(r, "encoder.mean_bias", json_object_get(object, "mean_bias"), k, FINITE, m->encoder->mean_bias, 1));
  TRY(read_matrix(r, "encoder.logvar_weight", json_object_get(object, "logvar_weight"), k, inputs, FINITE,
                  m->encoder->logvar_weight, 1, k));
  TRY(read_vector(r, "encoder.logvar_bias", json_object_get(object, "logvar_bias"), k, FINITE, m->encoder->logvar_bias,
                  1));
done:
  return status;
}

/* ---- the model ---- */

static blica_status check_depth(const reader *r, const char *text, size_t length) {
  bool inside = false;
  int depth = 0;
  for (size_t i = 0; i < length; i++) {
    char c = text[i];
    if (inside) {
      if (c == '\\') i++;
      inside = c != '"';
    } else {
      inside = c == '"';
      depth += (c == '[' || c == '{') - (c == ']' || c == '}');
      if (depth > MAX_DEPTH) return BAD(r, "byte %zu: brackets nest deeper than %d; no model does", i + 1, MAX_DEPTH);
    }
  }
  return BLICA_OK;
}

static blica_status check_header(const reader *r, const json_t *root) {
  const char *format = json_string_value(json_object_get(root, "format"));
  const json_t *version = json_object_get(root, "version");
  if (!json_is_object(root)) return BAD(r, "it is %s, not an object", type_name(root));
  if (json_object_get(root, "format") && (!format || strcmp(format, "blica-model") != 0))
    return BAD(r, "format is %s, not \"blica-model\"; is this the right file?",
               format ? format : type_name(json_object_get(root, "format")));
  if (!version) return BLICA_OK;
  if (!json_is_number(version)) return BAD(r, "version is %s, not a number", type_name(version));
  if (json_number_value(version) != 1 && json_number_value(version) != 2)
    return BAD(r, "version is %g; this program reads versions 1 and 2, a newer one may read it",
               json_number_value(version));
  return BLICA_OK;
}

/* Sizes come from the first two matrices; all other fields must agree with them. */
static blica_status read_sizes(const reader *r, const json_t *root, size_t size[3]) {
  static const char *const what[] = {"mixing", "mixing[0]", "variances"};
  const json_t *mixing = json_object_get(root, "mixing"), *array[3];
  array[0] = mixing;
  array[1] = json_array_get(mixing, 0);
  array[2] = json_object_get(root, "variances");
  for (int i = 0; i < 3; i++) {
    if (!json_is_array(array[i])) return BAD(r, "%s is %s, not an array", what[i], type_name(array[i]));
    size[i] = json_array_size(array[i]);
    if (size[i] == 0 || size[i] > MAX_SIDE)
      return BAD(r, "%s has %zu elements; 1 to %d can be read", what[i], size[i], MAX_SIDE);
  }
  if (size[1] > size[0])
    return BAD(r, "mixing has %zu rows and %zu columns; there cannot be more sources than variables", size[0], size[1]);
  return BLICA_OK;
}

/* Two sides may promise more than there is: memory is taken only once all elements are seen to be there. */
static blica_status check_shapes(const reader *r, const json_t *root, size_t n, size_t k, size_t u) {
  blica_status status;
  TRY(expect_shape(r, "mixing", json_object_get(root, "mixing"), n, k));
  TRY(expect_shape(r, "variances", json_object_get(root, "variances"), u, k));
  TRY(expect_shape(r, "means", json_object_get(root, "means"), u, k));
  if (json_object_get(root, "thresholds")) TRY(expect_array(r, "thresholds", json_object_get(root, "thresholds"), u));
done:
  return status;
}

/* The items' levels: what they are called, lowest first. All 0 and 1 is no coding. */
static blica_status read_levels(const reader *r, const json_t *value, blica_model *m) {
  blica_status status;
  int *levels = NULL, total = 0;
  char **labels = NULL;
  blica_coding *coding = NULL;
  bool plain = true;
  TRY(expect_array(r, "levels", value, (size_t)m->n));
  TRY(bl_alloc(r->ctx, (size_t)m->n, &levels));
  for (int i = 0; i < m->n; i++) {
    const json_t *own = json_array_get(value, (size_t)i);
    size_t count = json_array_size(own);
    if (!json_is_array(own) || count < 2 || count > BL_MOST_LEVELS) {
      status = BAD(r, "levels[%d] is %s of %zu elements; an item has from 2 to %d levels", i, type_name(own), count,
                   BL_MOST_LEVELS);
      goto done;
    }
    TRY(bl_resize(r->ctx, (size_t)total, (size_t)total + count, &labels));
    memset(labels + total, 0, count * sizeof *labels);
    levels[i] = (int)count;
    char where[64];
    snprintf(where, sizeof where, "levels[%d]", i);
    char **at = labels + total;
    total += (int)count;
    TRY(read_texts(r, where, own, (int)count, at));
    plain &= count == 2 && strcmp(at[0], "0") == 0 && strcmp(at[1], "1") == 0;
  }
  if (plain) goto done;
  status =
      bl_coding_make(r->ctx, m->n, (const char *const *)m->variables, levels, (const char *const *)labels, &coding);
  if (status == BLICA_ERR_DATA)
    status = bl_fail(r->ctx, BLICA_ERR_FORMAT, "model '%s': levels cannot be used", r->path);
  TRY(status);
  TRY(bl_model_set_coding(r->ctx, m, coding));
done:
  bl_free_texts(labels, total);
  bl_free(levels);
  return status;
}

static blica_status read_cuts(const reader *r, const json_t *value, blica_model *m) {
  blica_status status = expect_array(r, "cuts", value, (size_t)m->n);
  for (int i = 0; status == BLICA_OK && i < m->n; i++) {
    char where[64];
    int first = bl_plane(m->coding, i);
    snprintf(where, sizeof where, "cuts[%d]", i);
    status = read_vector(r, where, json_array_get(value, (size_t)i), (size_t)(bl_plane(m->coding, i + 1) - first),
                         FINITE, m->cuts + first, 1);
    for (int p = first + 1; status == BLICA_OK && p < bl_plane(m->coding, i + 1); p++)
      if (!(m->cuts[p] > m->cuts[p - 1])) status = BAD(r, "%s: cuts must grow from level to level", where);
  }
  return status;
}

/* What may be missing: rows count the same in every segment, cuts are 0, thresholds are what the model says. */
static blica_status read_defaulted(const reader *r, const json_t *root, blica_model *m) {
  blica_status status = BLICA_OK;
  size_t u = (size_t)m->u, planes = (size_t)m->planes;
  const json_t *link = json_object_get(root, "link"), *samples = json_object_get(root, "samples"),
               *cuts = json_object_get(root, "cuts"), *thresholds = json_object_get(root, "thresholds"),
               *method = json_object_get(root, "method");
  strcpy(m->method, "given");
  for (size_t s = 0; s < u; s++) m->samples[s] = 1;
  if (link) TRY(read_number(r, "link", link, POSITIVE, &m->link));
  if (samples) TRY(read_vector(r, "samples", samples, u, NOT_NEGATIVE, m->samples, 1));
  if (cuts) TRY(read_cuts(r, cuts, m));
  if (method) TRY(read_name(r, "method", method, m->method, sizeof m->method));
  if (thresholds)
    TRY(read_matrix(r, "thresholds", thresholds, u, planes, ANY, m->thresholds, planes, 1));
  else
    for (int s = 0; s < m->u; s++) bl_model_margins(m, s, NULL, m->thresholds + (size_t)s * planes);
done:
  return status;
}

static blica_status read_model(const reader *r, const json_t *root, blica_model **out) {
  blica_status status;
  size_t size[3];
  TRY(check_header(r, root));
  TRY(read_sizes(r, root, size));
  size_t n = size[0], k = size[1], u = size[2];
  TRY(check_shapes(r, root, n, k, u));
  TRY(blica_model_create(r->ctx, (int)n, (int)k, (int)u, out));
  blica_model *m = *out;
  TRY(read_matrix(r, "mixing", json_object_get(root, "mixing"), n, k, FINITE, m->mixing, 1, n));
  TRY(read_matrix(r, "variances", json_object_get(root, "variances"), u, k, NOT_NEGATIVE, m->variances, k, 1));
  TRY(read_matrix(r, "means", json_object_get(root, "means"), u, k, FINITE, m->means, k, 1));
  TRY(read_texts(r, "variables", json_object_get(root, "variables"), m->n, m->variables));
  TRY(read_texts(r, "segments", json_object_get(root, "segments"), m->u, m->segments));
  if (json_object_get(root, "levels")) TRY(read_levels(r, json_object_get(root, "levels"), m));
  TRY(read_defaulted(r, root, m));
  if (json_object_get(root, "fit")) TRY(read_fit(r, json_object_get(root, "fit"), m));
  if (json_object_get(root, "encoder")) TRY(read_encoder(r, json_object_get(root, "encoder"), m));
done:
  return status;
}

/* The whole file, through a stream so that pipes work too. */
static blica_status read_file(const reader *r, FILE *stream, char **text, size_t *length) {
  blica_status status = BLICA_OK;
  size_t room = 0;
  *length = 0;
  for (;;) {
    if (*length == room) {
      TRY(bl_resize(r->ctx, room, room ? 2 * room : 65536, text));
      room = room ? 2 * room : 65536;
    }
    *length += fread(*text + *length, 1, room - *length, stream);
    if (ferror(stream)) FAIL(r->ctx, BLICA_ERR_IO, "cannot read the model '%s': %s", r->path, strerror(errno));
    if (feof(stream)) break;
    if (*length > MAX_BYTES) {
      status = BAD(r, "it is longer than %zu bytes", MAX_BYTES);
      goto done;
    }
  }
done:
  return status;
}

blica_status blica_model_parse(blica_ctx *ctx, const char *text, size_t length, const char *path, blica_model **out) {
  BL_NEED_OUT(ctx, out, text, path);
  blica_status status;
  const reader r = {ctx, path};
  json_t *root = NULL;
  TRY(check_depth(&r, text, length));
  json_error_t error;
  errno = 0;
  root = json_loadb(text, length, JSON_DECODE_INT_AS_REAL | JSON_REJECT_DUPLICATES, &error);
  if (!root)
    FAIL_OUTSIDE(ctx, BLICA_ERR_FORMAT, "model '%s': line %d, column %d: %s", path, error.line, error.column,
                 error.text);
  TRY(read_model(&r, root, out));
done:
  if (status != BLICA_OK) {
    blica_model_free(*out);
    *out = NULL;
  }
  json_decref(root);
  return status;
}

blica_status blica_model_load(blica_ctx *ctx, const char *path, blica_model **out) {
  BL_NEED_OUT(ctx, out, path);
  blica_status status;
  char *text = NULL;
  size_t length;
  FILE *stream = fopen(path, "rb");
  if (!stream) FAIL(ctx, BLICA_ERR_IO, "cannot open the model '%s': %s", path, strerror(errno));
  TRY(read_file(&(reader){ctx, path}, stream, &text, &length));
  TRY(blica_model_parse(ctx, text, length, path, out));
done:
  bl_free(text);
  if (stream) fclose(stream);
  return status;
}
