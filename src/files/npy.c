/* npy.c - a strict reader and a writer of .npy headers. A header is the magic, a version, a length
 * and a Python dictionary of three known keys; anything else is refused by name. */
#include "files/npy.h"

#include <stdio.h>
#include <string.h>

static const char magic[6] = {(char)0x93, 'N', 'U', 'M', 'P', 'Y'};

enum { BIG_ENDIAN_HOST = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ };

typedef struct {
  const char *at, *end;
} cursor;

static void skip_blank(cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t')) c->at++;
}

static bool accept(cursor *c, char wanted) {
  skip_blank(c);
  if (c->at >= c->end || *c->at != wanted) return false;
  c->at++;
  return true;
}

/* Reads a quoted Python string without escapes; false when the text is not one or does not fit. */
static bool quoted(cursor *c, char *out, size_t capacity) {
  skip_blank(c);
  if (c->at >= c->end || (*c->at != '\'' && *c->at != '"')) return false;
  char quote = *c->at++;
  size_t length = 0;
  while (c->at < c->end && *c->at != quote) {
    if (*c->at == '\\' || length + 1 >= capacity) return false;
    out[length++] = *c->at++;
  }
  out[length] = 0;
  return accept(c, quote);
}

/* Reads a whole number; false when there are no digits or it is too large. */
static bool parse_whole(cursor *c, size_t *out) {
  skip_blank(c);
  const char *start = c->at;
  size_t value = 0;
  while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
    if (__builtin_mul_overflow(value, (size_t)10, &value) ||
        __builtin_add_overflow(value, (size_t)(*c->at - '0'), &value))
      return false;
    c->at++;
  }
  *out = value;
  return c->at > start;
}

/* Reads the type of the elements. Returns NULL, or what is wrong. */
static const char *parse_descr(cursor *c, bl_npy *out) {
  char text[32];
  if (!quoted(c, text, sizeof text)) return "its element type is not a simple one (a record array?)";
  char order = text[0];
  if (!order || !strchr("<>|=", order)) return "its element type is unknown";
  out->swapped = order == (BIG_ENDIAN_HOST ? '<' : '>');
  out->kind = text[1];
  cursor digits = {text + 2, text + strlen(text)};
  if (!text[1] || !parse_whole(&digits, &out->size) || digits.at != digits.end) return "its element type is unknown";
  size_t s = out->size;
  bool integer = s == 1 || s == 2 || s == 4 || s == 8;
  switch (out->kind) {
  case 'b':
    return s == 1 ? NULL : "its element type is unknown";
  case 'i':
  case 'u':
    return integer ? NULL : "its integers have an unknown size";
  case 'f':
    return s == 2 || s == 4 || s == 8 ? NULL : "its floats are not of 2, 4 or 8 bytes";
  case 'U':
    return __builtin_mul_overflow(s, (size_t)4, &out->size) ? "its text is too long" : NULL;
  case 'S':
    return NULL;
  default:
    return "its elements are not numbers, booleans or text; save it with a plain dtype such as int8";
  }
}

/* Reads the tuple of sizes. Returns NULL, or what is wrong. */
static const char *parse_shape(cursor *c, bl_npy *out) {
  if (!accept(c, '(')) return "its shape is not a tuple";
  out->count = 1;
  while (!accept(c, ')')) {
    if (out->ndim == BL_NPY_DIMENSIONS) return "it has more than 8 dimensions";
    if (!parse_whole(c, &out->shape[out->ndim])) return "its shape is not a tuple of sizes";
    if (__builtin_mul_overflow(out->count, out->shape[out->ndim++], &out->count)) return "its shape overflows";
    if (!accept(c, ',')) {
      if (!accept(c, ')')) return "its shape is not a tuple of sizes";
      break;
    }
  }
  return NULL;
}

/* Reads the header, whose keys may come in any order. Returns NULL, or what is wrong. */
static const char *parse_dictionary(cursor *c, bl_npy *out) {
  int seen = 0;
  if (!accept(c, '{')) return "its header is not a dictionary";
  while (!accept(c, '}')) {
    char key[16];
    const char *reason = NULL;
    if (!quoted(c, key, sizeof key) || !accept(c, ':')) return "its header is damaged";
    if (strcmp(key, "descr") == 0) {
      reason = parse_descr(c, out);
      seen |= 1;
    } else if (strcmp(key, "fortran_order") == 0) {
      skip_blank(c);
      size_t left = (size_t)(c->end - c->at);
      out->fortran = left >= 4 && memcmp(c->at, "True", 4) == 0;
      if (!out->fortran && !(left >= 5 && memcmp(c->at, "False", 5) == 0)) return "its header is damaged";
      c->at += out->fortran ? 4 : 5;
      seen |= 2;
    } else if (strcmp(key, "shape") == 0 && !(seen & 4)) {
      reason = parse_shape(c, out);
      seen |= 4;
    } else {
      return "its header has an unknown key";
    }
    if (reason) return reason;
    if (!accept(c, ',')) {
      if (!accept(c, '}')) return "its header is damaged";
      break;
    }
  }
  return seen == 7 ? NULL : "its header lacks descr, fortran_order or shape";
}

size_t bl_npy_header_length(const void *bytes) {
  const unsigned char *b = bytes;
  const size_t length = b[8] + ((size_t)b[9] << 8);
  return b[6] == 1 ? 10 + length : 12 + length + ((size_t)b[10] << 16) + ((size_t)b[11] << 24);
}

const char *bl_npy_parse(const void *bytes, size_t length, bl_npy *out) {
  const unsigned char *b = bytes;
  memset(out, 0, sizeof *out);
  if (length < 10 || memcmp(b, magic, sizeof magic) != 0) return "it is not a .npy file (no magic at its start)";
  if (b[6] < 1 || b[6] > 3) return "its format version is not 1, 2 or 3";
  out->offset = length < 12 ? length + 1 : bl_npy_header_length(b);
  if (out->offset > length) return "its header is cut off";
  cursor c = {(const char *)b + (b[6] == 1 ? 10 : 12), (const char *)b + out->offset};
  const char *reason = parse_dictionary(&c, out);
  if (reason) return reason;
  skip_blank(&c);
  if (c.at != c.end) return "its header is damaged";
  size_t total;
  if (__builtin_mul_overflow(out->count, out->size, &total) || total > SIZE_MAX / 2) return "its shape overflows";
  return NULL;
}

size_t bl_npy_header(const bl_npy *array, char out[BL_NPY_HEADER_MAX]) {
  char shape[24 * BL_NPY_DIMENSIONS + 4] = "";
  size_t at = 0;
  for (int d = 0; d < array->ndim; d++)
    at += (size_t)snprintf(shape + at, sizeof shape - at, d ? " %zu," : "%zu,", array->shape[d]);
  if (array->ndim > 1) shape[at - 1] = 0; /* only a tuple of one keeps its comma */
  size_t size = array->kind == 'U' ? array->size / 4 : array->size;
  char order = array->size == 1 || array->kind == 'S' ? '|' : BIG_ENDIAN_HOST ? '>' : '<';
  memset(out, ' ', BL_NPY_HEADER_MAX);
  memcpy(out, magic, sizeof magic);
  out[6] = 1;
  out[7] = 0;
  int text = snprintf(out + 10, BL_NPY_HEADER_MAX - 10, "{'descr': '%c%c%zu', 'fortran_order': %s, 'shape': (%s), }",
                      order, array->kind, size, array->fortran ? "True" : "False", shape);
  out[10 + text] = ' ';
  size_t total = (10 + (size_t)text + 1 + 63) / 64 * 64;
  out[total - 1] = '\n';
  out[8] = (char)((total - 10) & 255);
  out[9] = (char)((total - 10) >> 8);
  return total;
}

/* The value of a number of 16 bits (IEEE 754). */
static double from_half(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits >> 15) << 31, exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 0) return (sign ? -1.0 : 1.0) * (double)fraction * 0x1p-24;
  uint32_t word = sign | (exponent == 31 ? 255u : exponent + 112) << 23 | fraction << 13;
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

#define READ(type)                                                                                                     \
  do {                                                                                                                 \
    type value;                                                                                                        \
    memcpy(&value, p, sizeof value);                                                                                   \
    return (double)value;                                                                                              \
  } while (0)

double bl_npy_number(const bl_npy *array, const void *p) {
  char turned[8];
  if (array->swapped) {
    for (size_t i = 0; i < array->size; i++) turned[i] = ((const char *)p)[array->size - 1 - i];
    p = turned;
  }
  switch (array->kind) {
  case 'f':
    if (array->size == 8) READ(double);
    if (array->size == 4) READ(float);
    uint16_t bits;
    memcpy(&bits, p, sizeof bits);
    return from_half(bits);
  case 'i':
    if (array->size == 8) READ(int64_t);
    if (array->size == 4) READ(int32_t);
    if (array->size == 2) READ(int16_t);
    READ(int8_t);
  default:
    if (array->size == 8) READ(uint64_t);
    if (array->size == 4) READ(uint32_t);
    if (array->size == 2) READ(uint16_t);
    READ(uint8_t);
  }
}
