/* records.h - records of fields out of delimited text, with quoted fields. */
#ifndef RECORDS_H
#define RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "byte_source.h"

/* Size of the first buffer. Fuzzing uses small ones, so that lines cross their ends. */
#ifdef BLICA_SMALL_BUFFERS
enum { RECORDS_CAPACITY = 512 };
#else
enum { RECORDS_CAPACITY = 1 << 20 };
#endif
enum { RECORDS_LONGEST = 1 << 28 }; /* bytes of a record: more can be no table, and would take all memory */

typedef struct {
  const char *text; /* not ended by a zero byte */
  size_t length;
} field;

typedef struct {
  byte_source *source;
  char separator; /* ',', tab, ';', or ' ' for runs of blanks */
  char *buffer;   /* text not yet consumed: at..have */
  size_t capacity, at, have;
  bool ended;          /* the source has no more */
  int64_t dropped;     /* bytes that the buffer held before */
  int64_t line;        /* number of the line at `at`, from 1 */
  int64_t record_line; /* first line of the record last split */
  int64_t record_byte; /* where it begins in the text */
  bool quotes;         /* a record with quotes was met */
  field *fields;       /* of the record last split */
  int field_count, field_capacity;
} records;

void records_close(records *r); /* frees the buffers and closes the source */

/* Reads more text behind what is there, or sets r->ended; a line longer than the buffer makes it grow. */
blica_status records_more(records *r, char *message);
/* Makes the next line complete in the buffer, skipping empty ones (and a byte order mark at the start);
 * *more is false at the end. The line is at..at+*length, without its end. */
blica_status records_peek(records *r, char *message, bool *more, size_t *length);
/* Chooses the separator from that line. */
void records_guess_separator(records *r, size_t length);
/* Goes on with other bytes of the source. */
void records_restart(records *r);
/* Splits the record that begins with that line and moves past it. Fields live until the next peek. */
blica_status records_split(records *r, size_t length, char *message);

#endif
