/* json_parse.h - a JSON document (RFC 8259) as a list of values in the order of the text: what is in an array or object
 * follows it. Text is UTF-8; names within an object differ. */
#ifndef BL_JSON_PARSE_H
#define BL_JSON_PARSE_H

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
/* The member of that name; NULL when there is none, or `object` is no object or NULL. */
const bl_json *bl_json_member(const bl_json *object, const char *name);
/* What a string says; NULL for all else. */
static inline const char *bl_json_string(const bl_json *value) {
  return value && value->kind == BL_JSON_STRING ? value->text : NULL;
}
/* Whether there is a value, and of this kind. */
static inline bool bl_json_is(const bl_json *value, bl_json_kind kind) {
  return value && value->kind == kind;
}

#endif
