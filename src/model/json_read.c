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

const char *bl_json_type(const bl_json *value) {
  static const char *const names[] = {"null", "false", "true", "a number", "a string", "an array", "an object"};
  return value ? names[value->kind] : "missing";
}

/* ---- scalars ---- */

blica_status bl_read_number(const bl_json_reader *r, const char *where, const bl_json *value, bl_json_range allowed,
                            double *out) {
  const char *text = bl_json_string(value);
  if (bl_json_is(value, BL_JSON_NUMBER))
    *out = value->number;
  else if (text && (strcmp(text, "Infinity") == 0 || strcmp(text, "-Infinity") == 0))
    *out = text[0] == '-' ? -INFINITY : INFINITY;
  else if (bl_json_is(value, BL_JSON_NULL))
    *out = NAN;
  else
    return bl_json_bad(r, "%s is %s, not a number", where, bl_json_type(value));
  if (allowed != BL_JSON_ANY && !isfinite(*out)) return bl_json_bad(r, "%s is %g; it must be finite", where, *out);
  if (allowed == BL_JSON_POSITIVE && *out <= 0) return bl_json_bad(r, "%s is %g; it must be above 0", where, *out);
  if (allowed == BL_JSON_NOT_NEGATIVE && *out < 0)
    return bl_json_bad(r, "%s is %g; it must not be negative", where, *out);
  return BLICA_OK;
}

blica_status bl_read_whole(const bl_json_reader *r, const char *where, const bl_json *value, double limit,
                           int64_t *out) {
  double number = 0;
  MUST(bl_read_number(r, where, value, BL_JSON_NOT_NEGATIVE, &number));
  if (number != floor(number) || number > limit)
    return bl_json_bad(r, "%s is %.17g; it must be a whole number of at most %.17g", where, number, limit);
  *out = (int64_t)number;
  return BLICA_OK;
}

blica_status bl_read_seed(const bl_json_reader *r, const char *where, const bl_json *value, uint64_t *out) {
  const char *text = bl_json_string(value);
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

blica_status bl_read_name(const bl_json_reader *r, const char *where, const bl_json *value, char *out, size_t size) {
  const char *text = bl_json_string(value);
  if (!text) return bl_json_bad(r, "%s is %s, not a string", where, bl_json_type(value));
  if (strlen(text) >= size) return bl_json_bad(r, "%s is '%.40s...', longer than %zu bytes", where, text, size - 1);
  memcpy(out, text, strlen(text) + 1);
  return BLICA_OK;
}

/* ---- arrays ---- */

blica_status bl_read_array(const bl_json_reader *r, const char *where, const bl_json *value, size_t count) {
  if (!bl_json_is(value, BL_JSON_ARRAY)) return bl_json_bad(r, "%s is %s, not an array", where, bl_json_type(value));
  if (value->count != count) return bl_json_bad(r, "%s has %zu elements, not %zu", where, value->count, count);
  return BLICA_OK;
}

blica_status bl_read_shape(const bl_json_reader *r, const char *name, const bl_json *value, size_t rows,
                           size_t columns) {
  blica_status status = bl_read_array(r, name, value, rows);
  const bl_json *row = value + 1;
  for (size_t i = 0; status == BLICA_OK && i < rows; i++, row += row->span) {
    char where[64];
    snprintf(where, sizeof where, "%s[%zu]", name, i);
    status = bl_read_array(r, where, row, columns);
  }
  return status;
}

blica_status bl_read_vector(const bl_json_reader *r, const char *name, const bl_json *value, size_t count,
                            bl_json_range allowed, double *out, size_t stride) {
  blica_status status = bl_read_array(r, name, value, count);
  const bl_json *item = value + 1;
  for (size_t i = 0; status == BLICA_OK && i < count; i++, item += item->span) {
    char where[96];
    snprintf(where, sizeof where, "%s[%zu]", name, i);
    status = bl_read_number(r, where, item, allowed, &out[i * stride]);
  }
  return status;
}

blica_status bl_read_matrix(const bl_json_reader *r, const char *name, const bl_json *value, size_t rows,
                            size_t columns, bl_json_range allowed, double *out, size_t row_stride, size_t stride) {
  blica_status status = bl_read_array(r, name, value, rows);
  const bl_json *row = value + 1;
  for (size_t i = 0; status == BLICA_OK && i < rows; i++, row += row->span) {
    char where[64];
    snprintf(where, sizeof where, "%s[%zu]", name, i);
    status = bl_read_vector(r, where, row, columns, allowed, out + i * row_stride, stride);
  }
  return status;
}

blica_status bl_read_texts(const bl_json_reader *r, const char *name, const bl_json *value, int count, char **out) {
  blica_status status;
  TRY(bl_read_array(r, name, value, (size_t)count));
  const bl_json *item = value + 1;
  for (int i = 0; i < count; i++, item += item->span) {
    const char *text = bl_json_string(item);
    if (!text) {
      status = bl_json_bad(r, "%s[%d] is %s, not a string", name, i, bl_json_type(item));
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

blica_status bl_read_object(const bl_json_reader *r, const char *where, const bl_json *value, size_t most,
                            size_t *count) {
  if (!bl_json_is(value, BL_JSON_OBJECT)) return bl_json_bad(r, "%s is %s, not an object", where, bl_json_type(value));
  *count = value->count;
  return *count > most ? bl_json_bad(r, "%s has %zu elements", where, *count) : BLICA_OK;
}
