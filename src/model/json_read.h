/* json_read.h - values of a JSON document. `where` names a value in messages, which begin with the document's path. All
 * fail with BLICA_ERR_FORMAT when a value is not as described. */
#ifndef BL_JSON_READ_H
#define BL_JSON_READ_H

#include "model/json_parse.h"

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
/* Text copies of an array of so many; those that were in out are freed. */
blica_status bl_read_texts(const bl_json_reader *r, const char *name, const bl_json *value, int count, char **out);

/* Fails unless it is an array of so many elements. */
blica_status bl_read_array(const bl_json_reader *r, const char *where, const bl_json *value, size_t count);
/* Fails unless it is an array of rows, each of so many columns. */
blica_status bl_read_shape(const bl_json_reader *r, const char *name, const bl_json *value, size_t rows,
                           size_t columns);
/* Fails unless it is an object of at most so many members; *count is their number. */
blica_status bl_read_object(const bl_json_reader *r, const char *where, const bl_json *value, size_t most,
                            size_t *count);
/* Numbers into out, `stride` apart. */
blica_status bl_read_vector(const bl_json_reader *r, const char *name, const bl_json *value, size_t count,
                            bl_json_range allowed, double *out, size_t stride);
/* Rows of numbers into out, `row_stride` apart. */
blica_status bl_read_matrix(const bl_json_reader *r, const char *name, const bl_json *value, size_t rows,
                            size_t columns, bl_json_range allowed, double *out, size_t row_stride, size_t stride);

#endif
