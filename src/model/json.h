/* json.h - reading JSON: a document (RFC 8259) as a list of values in the order of the text: what is in an array or
 * object follows it. Text is UTF-8; names within an object differ. */
#ifndef BL_JSON_H
#define BL_JSON_H

#include "base/base.h"

typedef enum {
  BL_JSON_NULL,
  BL_JSON_FALSE,
  BL_JSON_TRUE,
  BL_JSON_NUMBER,
  BL_JSON_STRING,
  BL_JSON_ARRAY,
  BL_JSON_OBJECT
} bl_json_kind;

/* The first value within v is v + 1; the one that follows v on its own level is v + v->span. */
typedef struct {
  bl_json_kind kind;
  const char *name; /* of a member of an object */
  union {
    double number;
    const char *text;
    size_t count; /* of elements or members */
  };
  size_t span; /* values: this one and all within */
} bl_json;

/* The document's outermost value; free with bl_free. Fails with BLICA_ERR_FORMAT and a message that tells the
 * document's path, line and column. */
blica_status bl_json_parse(blica_ctx *ctx, const char *path, const char *text, size_t length, bl_json **out);
/* The member of that name; NULL when the object lacks it, or `object` is no object or NULL. */
const bl_json *bl_json_member(const bl_json *object, const char *name);
/* The text of a string; NULL for any other value. */
static inline const char *bl_json_string(const bl_json *value) {
  return value && value->kind == BL_JSON_STRING ? value->text : NULL;
}
/* Whether there is a value, and of this kind. */
static inline bool bl_json_is(const bl_json *value, bl_json_kind kind) {
  return value && value->kind == kind;
}

/* ---- values: `where` names one in messages, which begin with the document's path. All fail with BLICA_ERR_FORMAT when
 * a value is not as described ---- */

typedef enum { BL_JSON_ANY, BL_JSON_FINITE, BL_JSON_POSITIVE, BL_JSON_NOT_NEGATIVE } bl_json_range;

typedef struct {
  blica_ctx *ctx;
  const char *path; /* of the document */
} bl_json_reader;

/* Fails with this message. */
blica_status bl_json_bad(const bl_json_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *bl_json_type(const bl_json *value); /* as in "an array"; static text */

/* A number, or text for an infinity, or null for NaN; the last two with BL_JSON_ANY only. */
blica_status bl_read_number(const bl_json_reader *r, const char *where, const bl_json *value, bl_json_range allowed,
                            double *out);
/* A whole number from 0 to limit. */
blica_status bl_read_whole(const bl_json_reader *r, const char *where, const bl_json *value, double limit,
                           int64_t *out);
/* A whole number below 2^64, which is text above 2^53. */
blica_status bl_read_seed(const bl_json_reader *r, const char *where, const bl_json *value, uint64_t *out);
/* Text of fewer than size bytes, into out. */
blica_status bl_read_name(const bl_json_reader *r, const char *where, const bl_json *value, char *out, size_t size);
/* Copies an array of `count` texts into out; they are owned by list. */
blica_status bl_read_texts(const bl_json_reader *r, const char *name, const bl_json *value, int count, void *list,
                           char **out);

/* Fails unless value is an array of `count` elements. */
blica_status bl_read_array(const bl_json_reader *r, const char *where, const bl_json *value, size_t count);
/* Numbers into out, `stride` apart. */
blica_status bl_read_vector(const bl_json_reader *r, const char *name, const bl_json *value, size_t count,
                            bl_json_range allowed, double *out, size_t stride);
/* Rows of numbers into out, `row_stride` apart; with out NULL the shape alone is checked. */
blica_status bl_read_matrix(const bl_json_reader *r, const char *name, const bl_json *value, size_t rows,
                            size_t columns, bl_json_range allowed, double *out, size_t row_stride, size_t stride);

#endif
