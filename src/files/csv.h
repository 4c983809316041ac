/* csv.h - records of comma-separated text with quotes (RFC 4180), inside the library. */
#ifndef BL_CSV_H
#define BL_CSV_H

#include <stdio.h>

#include "base/base.h"

typedef struct {
  FILE *stream;
  const char *path; /* for messages */
  int64_t line;     /* of the record last read, from 1 */
  int64_t next_line;
  char *text; /* the fields one after the other, each ended by a zero byte */
  size_t capacity, length;
  int fields, field_capacity;
  size_t *starts; /* [fields] into text */
} bl_csv;

/* Reads the next record, skipping empty lines; *more is false at the end of the file. */
blica_status bl_csv_next(blica_ctx *ctx, bl_csv *csv, bool *more);
const char *bl_csv_field(const bl_csv *csv, int index); /* of the record read last; valid until the next */
void bl_csv_clear(bl_csv *csv);                         /* frees the buffers, leaves the stream alone */

/* Writing: a field, quoted when it must be; a number with as few digits as read back exactly. */
void bl_csv_put_text(FILE *stream, const char *text);
void bl_csv_put_number(FILE *stream, double value); /* in as few digits as read back exactly */

#endif
