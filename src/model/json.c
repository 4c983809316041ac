/* json.c - see json.h. Room for the values is taken once, before the first is read: there are at most one more than
 * commas and opening brackets. */
#include "model/json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"

enum { MOST_DEPTH = 32, MOST_MEMBERS = 1000 }; /* brackets within brackets; of an object, whose names are compared */

typedef struct {
  char *at; /* in a copy of the text, in which strings are decoded where they are */
  bl_json *next;
  const char *reason; /* why the text is refused, at `at` */
} parser;

const bl_json *bl_json_member(const bl_json *object, const char *name) {
  if (!bl_json_is(object, BL_JSON_OBJECT)) return NULL;
  const bl_json *v = object + 1;
  for (size_t i = 0; i < object->count; i++, v += v->span)
    if (strcmp(v->name, name) == 0) return v;
  return NULL;
}

static bool refuse(parser *p, const char *reason) {
  p->reason = reason;
  return false;
}

static char skip_blank(parser *p) {
  p->at += strspn(p->at, " \t\n\r");
  return *p->at;
}

/* The four digits of \uXXXX at s; 0, which is refused, when they are none. */
static uint32_t code_unit(const char *s) {
  uint32_t code = 0;
  for (int i = 0; i < 4; i++) {
    const char c = s[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return 0;
    code = code << 4 | (uint32_t)digit;
  }
  return code;
}

/* Decodes what follows a backslash; moves on and returns the place behind what was written, NULL when it is wrong. */
static char *decode_escape(parser *p, char *to) {
  static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
  const char *simple = *p->at ? strchr(from, *p->at) : NULL;
  if (simple) return p->at++, *to = into[simple - from], to + 1;
  if (*p->at != 'u') return NULL;
  uint32_t code = code_unit(p->at + 1);
  p->at += 5;
  if (code >= 0xd800 && code < 0xdc00 && p->at[0] == '\\' && p->at[1] == 'u') { /* the first of two surrogates */
    const uint32_t low = code_unit(p->at + 2);
    if (low < 0xdc00 || low > 0xdfff) return NULL;
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    p->at += 6;
  }
  if (code == 0 || (code >= 0xd800 && code <= 0xdfff)) return NULL;
  return bl_utf8_put(code, to);
}

/* A string from its opening quote; NULL when it is wrong. */
static const char *parse_string(parser *p) {
  char *start = ++p->at, *to = start;
  while (*p->at != '"') {
    const int length = bl_utf8_length(p->at);
    if ((unsigned char)*p->at < 0x20) return p->reason = "a string does not end, or holds a control character", NULL;
    if (length == 0) return p->reason = "a string is not UTF-8", NULL;
    if (*p->at == '\\') {
      char *begun = p->at++;
      to = decode_escape(p, to);
      if (!to) return p->at = begun, p->reason = "a string has an escape that is not known", NULL;
      continue;
    }
    memmove(to, p->at, (size_t)length);
    to += length, p->at += length;
  }
  p->at++;
  *to = 0;
  return start;
}

/* Reads a number as JSON allows it, which is narrower than strtod. */
static bool parse_number(parser *p, bl_json *v) {
  const char *s = p->at + (*p->at == '-');
  size_t digits = strspn(s, "0123456789");
  if (digits == 0) return refuse(p, "a value is expected");
  if (digits > 1 && *s == '0') return refuse(p, "a number begins with 0");
  s += digits;
  if (*s == '.') {
    s += 1 + (digits = strspn(s + 1, "0123456789"));
    if (digits == 0) return refuse(p, "a number has no digits behind its point");
  }
  if (*s == 'e' || *s == 'E') {
    s += 1 + (s[1] == '+' || s[1] == '-');
    s += (digits = strspn(s, "0123456789"));
    if (digits == 0) return refuse(p, "a number has no digits in its exponent");
  }
  v->kind = BL_JSON_NUMBER;
  v->number = bl_strtod(p->at, NULL);
  if (isinf(v->number)) return refuse(p, "a number is too large");
  p->at += s - p->at;
  return true;
}

static bool parse_value(parser *p, bl_json *v);

/* The name of a member and the colon. */
static bool parse_name(parser *p, const bl_json *object, bl_json *v) {
  if (skip_blank(p) != '"') return refuse(p, "the name of a member is expected");
  if (object->count == MOST_MEMBERS) return refuse(p, "an object has more than 1000 members");
  v->name = parse_string(p);
  if (!v->name) return false;
  const bl_json *other = object + 1;
  for (size_t i = 0; i < object->count; i++, other += other->span)
    if (strcmp(other->name, v->name) == 0) return refuse(p, "a name occurs twice");
  if (skip_blank(p) != ':') return refuse(p, "a colon is expected");
  p->at++;
  return true;
}

/* Reads an array or an object, which ends with this character. */
static bool parse_list(parser *p, bl_json *v, char end) {
  v->kind = end == '}' ? BL_JSON_OBJECT : BL_JSON_ARRAY;
  p->at++;
  if (skip_blank(p) == end) return p->at++, true;
  for (;; p->at++) {
    bl_json *item = p->next++;
    if (v->kind == BL_JSON_OBJECT && !parse_name(p, v, item)) return false;
    if (!parse_value(p, item)) return false;
    v->count++;
    const char c = skip_blank(p);
    if (c == end) return p->at++, true;
    if (c != ',') return refuse(p, "a comma or a closing bracket is expected");
  }
}

static bool parse_word(parser *p, bl_json *v) {
  static const char *const words[] = {[BL_JSON_NULL] = "null", [BL_JSON_FALSE] = "false", [BL_JSON_TRUE] = "true"};
  for (int kind = BL_JSON_NULL; kind <= BL_JSON_TRUE; kind++) {
    const size_t length = strlen(words[kind]);
    if (strncmp(p->at, words[kind], length) != 0) continue;
    v->kind = (bl_json_kind)kind;
    p->at += length;
    return true;
  }
  return parse_number(p, v);
}

static bool parse_value(parser *p, bl_json *v) {
  const char c = skip_blank(p);
  bool fine;
  if (c == '{' || c == '[')
    fine = parse_list(p, v, c == '{' ? '}' : ']');
  else if (c == '"') {
    v->kind = BL_JSON_STRING;
    v->text = parse_string(p);
    fine = v->text != NULL;
  } else
    fine = parse_word(p, v);
  v->span = (size_t)(p->next - v);
  return fine;
}

/* How many values there may be; fails when brackets nest too deep. */
static blica_status count_values(blica_ctx *ctx, const char *path, const char *text, size_t length, size_t *values) {
  bool inside = false;
  int depth = 0;
  *values = 1;
  for (size_t i = 0; i < length; i++) {
    const char c = text[i];
    const bool opens = !inside && (c == '[' || c == '{');
    if (inside && c == '\\') i++;
    if (c == '"') inside = !inside;
    depth += opens - (!inside && (c == ']' || c == '}'));
    *values += opens || (!inside && c == ',');
    if (depth > MOST_DEPTH)
      return bl_fail(ctx, BLICA_ERR_FORMAT, "model '%s': byte %zu: brackets nest deeper than %d; no model does", path,
                     i + 1, MOST_DEPTH);
  }
  return BLICA_OK;
}

blica_status bl_json_parse(blica_ctx *ctx, const char *path, const char *text, size_t length, bl_json **out) {
  BL_OWNED bl_json *values = NULL;
  char *copy;
  size_t count;
  *out = NULL;
  MUST(count_values(ctx, path, text, length, &count));
  MUST(bl_alloc(ctx, count, &values));
  MUST(bl_alloc_for(ctx, values, length + 1, &copy));
  memcpy(copy, text, length);
  parser p = {.at = copy, .next = values + 1};
  if (parse_value(&p, values) && (skip_blank(&p) || p.at != copy + length)) refuse(&p, "text follows the document");
  if (p.reason) {
    int line = 1, column = 1;
    for (const char *c = text; c < text + (p.at - copy); c++) {
      line += *c == '\n';
      column = *c == '\n' ? 1 : column + 1;
    }
    return bl_fail(ctx, BLICA_ERR_FORMAT, "model '%s': line %d, column %d: %s", path, line, column, p.reason);
  }
  *out = bl_take(&values);
  return BLICA_OK;
}

/* ---- values, each checked for type, size and range ---- */

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
    MUST(bl_read_whole(r, where, value, 0x1p53, &seed));
    *out = (uint64_t)seed;
    return BLICA_OK;
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

blica_status bl_read_vector(const bl_json_reader *r, const char *name, const bl_json *value, size_t count,
                            bl_json_range allowed, double *out, size_t stride) {
  MUST(bl_read_array(r, name, value, count));
  const bl_json *item = value + 1;
  for (size_t i = 0; out && i < count; i++, item += item->span) {
    char where[96];
    snprintf(where, sizeof where, "%s[%zu]", name, i);
    MUST(bl_read_number(r, where, item, allowed, &out[i * stride]));
  }
  return BLICA_OK;
}

blica_status bl_read_matrix(const bl_json_reader *r, const char *name, const bl_json *value, size_t rows,
                            size_t columns, bl_json_range allowed, double *out, size_t row_stride, size_t stride) {
  MUST(bl_read_array(r, name, value, rows));
  const bl_json *row = value + 1;
  for (size_t i = 0; i < rows; i++, row += row->span) {
    char where[64];
    snprintf(where, sizeof where, "%s[%zu]", name, i);
    MUST(bl_read_vector(r, where, row, columns, allowed, out ? out + i * row_stride : NULL, stride));
  }
  return BLICA_OK;
}

blica_status bl_read_texts(const bl_json_reader *r, const char *name, const bl_json *value, int count, void *list,
                           char **out) {
  MUST(bl_read_array(r, name, value, (size_t)count));
  const bl_json *item = value + 1;
  for (int i = 0; i < count; i++, item += item->span) {
    const char *text = bl_json_string(item);
    if (!text) return bl_json_bad(r, "%s[%d] is %s, not a string", name, i, bl_json_type(item));
    MUST(bl_copy_text_for(r->ctx, list, text, &out[i]));
  }
  return BLICA_OK;
}
