/* json_read.c - values of a JSON document, each checked for type, size and range. See json_read.h. */
#include "model/json_read.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

blica_status bl_json_bad(const bl_json_reader *r, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return bl_fail(r->ctx, BLICA_ERR_FORMAT, "model '%s': %s", r->path, text);
}

const char *bl_json_type(const json_t *value) {
  static const char *const names[] = {"an object", "an array", "a string", "a number",
                                      "a number",  "true",     "false",    "null"};
  return value ? names[json_typeof(value)] : "missing";
}

/* ---- scalars ---- */

blica_status bl_read_number(const bl_json_reader *r, const char *where, const json_t *value, bl_json_range allowed,
                            double *out) {
  const char *text = json_string_value(value);
  if (json_is_number(value))
    *out = json_number_value(value);
  else if (text && (strcmp(text, "Infinity") == 0 || strcmp(text, "-Infinity") == 0))
    *out = text[0] == '-' ? -INFINITY : INFINITY;
  else if (value && json_is_null(value))
    *out = NAN;
  else
    return bl_json_bad(r, "%s is %s, not a number", where, bl_json_type(value));
  if (allowed != BL_JSON_ANY && !isfinite(*out)) return bl_json_bad(r, "%s is %g; it must be finite", where, *out);
  if (allowed == BL_JSON_POSITIVE && *out <= 0) return bl_json_bad(r, "%s is %g; it must be above 0", where, *out);
  if (allowed == BL_JSON_NOT_NEGATIVE && *out < 0)
    return bl_json_bad(r, "%s is %g; it must not be negative", where, *out);
  return BLICA_OK;
}

blica_status bl_read_whole(const bl_json_reader *r, const char *where, const json_t *value, double limit,
                           int64_t *out) {
  double number = 0;
  MUST(bl_read_number(r, where, value, BL_JSON_NOT_NEGATIVE, &number));
  if (number != floor(number) || number > limit)
    return bl_json_bad(r, "%s is %.17g; it must be a whole number of at most %.17g", where, number, limit);
  *out = (int64_t)number;
  return BLICA_OK;
}

blica_status bl_read_seed(const bl_json_reader *r, const char *where, const json_t *value, uint64_t *out) {
  const char *text = json_string_value(value);
  if (!text) {
    int64_t seed = 0;
    blica_status status = bl_read_whole(r, where, value, 0x1p53, &seed);
    if (status == BLICA_OK) *out = (uint64_t)seed;
    return status;
  }
  errno = 0;
  if (!*text || strspn(text, "0123456789") != strlen(text))
    return bl_json_bad(r, "%s is '%.40s', not a seed", where, text);
  *out = strtoull(text, NULL, 10);
  return errno ? bl_json_bad(r, "%s is '%.40s', above 2^64-1", where, text) : BLICA_OK;
}

blica_status bl_read_name(const bl_json_reader *r, const char *where, const json_t *value, char *out, size_t size) {
  const char *text = json_string_value(value);
  if (!text) return bl_json_bad(r, "%s is %s, not a string", where, bl_json_type(value));
  if (strlen(text) >= size) return bl_json_bad(r, "%s is '%.40s...', longer than %zu bytes", where, text, size - 1);
  memcpy(out, text, strlen(text) + 1);
  return BLICA_OK;
}

/* ---- arrays ---- */

blica_status bl_read_array(const bl_json_reader *r, const char *where, const json_t *value, size_t count) {
  if (!json_is_array(value)) return bl_json_bad(r, "%s is %s, not an array", where, bl_json_type(value));
  if (json_array_size(value) != count)
    return bl_json_bad(r, "%s has %zu elements, not %zu", where, json_array_size(value), count);
  return BLICA_OK;
}

blica_status bl_read_shape(const bl_json_reader *r, const char *name, const json_t *value, size_t rows,
                           size_t columns) {
  blica_status status = bl_read_array(r, name, value, rows);
  for (size_t i = 0; status == BLICA_OK && i < rows; i++) {
    char where[64];
    snprintf(where, sizeof where, "%s[%zu]", name, i);
    status = bl_read_array(r, where, json_array_get(value, i), columns);
  }
  return status;
}

blica_status bl_read_vector(const bl_json_reader *r, const char *name, const json_t *value, size_t count,
                            bl_json_range allowed, double *out, size_t stride) {
  blica_status status = bl_read_array(r, name, value, count);
  for (size_t i = 0; status == BLICA_OK && i < count; i++) {
    char where[96];
    snprintf(where, sizeof where, "%s[%zu]", name, i);
    status = bl_read_number(r, where, json_array_get(value, i), allowed, &out[i * stride]);
  }
  return status;
}

blica_status bl_read_matrix(const bl_json_reader *r, const char *name, const json_t *value, size_t rows, size_t columns,
                            bl_json_range allowed, double *out, size_t row_stride, size_t stride) {
  blica_status status = bl_read_array(r, name, value, rows);
  for (size_t i = 0; status == BLICA_OK && i < rows; i++) {
    char where[64];
    snprintf(where, sizeof where, "%s[%zu]", name, i);
    status = bl_read_vector(r, where, json_array_get(value, i), columns, allowed, out + i * row_stride, stride);
  }
  return status;
}

blica_status bl_read_texts(const bl_json_reader *r, const char *name, const json_t *value, int count, char **out) {
  blica_status status;
  TRY(bl_read_array(r, name, value, (size_t)count));
  for (int i = 0; i < count; i++) {
    const char *text = json_string_value(json_array_get(value, (size_t)i));
    if (!text) {
      status = bl_json_bad(r, "%s[%d] is %s, not a string", name, i, bl_json_type(json_array_get(value, (size_t)i)));
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

blica_status bl_read_object(const bl_json_reader *r, const char *where, const json_t *value, size_t most,
                            size_t *count) {
  *count = json_object_size(value);
  if (!json_is_object(value)) return bl_json_bad(r, "%s is %s, not an object", where, bl_json_type(value));
  return *count > most ? bl_json_bad(r, "%s has %zu elements", where, *count) : BLICA_OK;
}
