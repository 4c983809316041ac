/* records.h - records of fields in delimited text, fields quoted where needed (RFC 4180): the one reader of such text,
 * and a writer. Linked into the library and the program. */
#ifndef BL_RECORDS_H
#define BL_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "blica.h"

/* Size of the first buffer. Fuzzing uses small ones, so that lines cross their ends. */
#ifdef BLICA_SMALL_BUFFERS
enum { BL_RECORDS_CAPACITY = 512 };
#else
enum { BL_RECORDS_CAPACITY = 1 << 20 };
#endif
enum { BL_RECORDS_LONGEST = 1 << 28 }; /* bytes of a record: more can be no table, and would take all memory */
enum { BL_RECORDS_MESSAGE = 1024 };    /* size of messages */

typedef struct {
  const char *text; /* of a field that bl_records_split found, a zero byte follows */
  size_t length;
} bl_record_field;

/* Reads up to size bytes into buffer; *got is 0 only at the end. Writes a message when it fails. */
typedef blica_status (*bl_read_bytes)(void *source, char *buffer, size_t size, char *message, size_t *got);

/* Set by the caller: read, source, name, resize and, unless it is guessed, separator; zeros for the rest. */
typedef struct {
  bl_read_bytes read;
  void *source;
  const char *name; /* of the source, for messages */
  blica_realloc_fn resize;
  void *resize_user;
  char separator; /* ',', tab, ';', or ' ' for runs of blanks */
  char *buffer;   /* text not yet consumed: at..have, and space for a byte more than capacity */
  size_t capacity, at, have;
  bool ended;              /* the source has no more */
  int64_t dropped;         /* bytes that the buffer held before */
  int64_t line;            /* number of the line at `at`, from 1 */
  int64_t record_line;     /* first line of the record last split */
  int64_t record_byte;     /* where it begins in the text */
  bool quotes;             /* a record with quotes was met */
  bl_record_field *fields; /* of the record last split */
  int field_count, field_capacity;
} bl_records;

void bl_records_clear(bl_records *r); /* frees the buffers and forgets the source, which is the caller's */

/* Reads more text behind what is there, or sets r->ended; a line longer than the buffer makes it grow. */
blica_status bl_records_more(bl_records *r, char *message);
/* Makes the next line complete in the buffer, skipping empty ones (and a byte order mark at the start);
 * *more is false at the end. The line is at..at+*length, without its end. */
blica_status bl_records_peek(bl_records *r, char *message, bool *more, size_t *length);
/* Chooses the separator from that line. */
void bl_records_guess_separator(bl_records *r, size_t length);
/* Splits the record that begins with that line and moves past it. Fields live until the next peek. */
blica_status bl_records_split(bl_records *r, size_t length, char *message);

/* Writes a field, quoted when it must be. */
void bl_put_field(FILE *stream, const char *text);
void bl_put_number(FILE *stream, double value); /* in as few digits as read back exactly */

#endif
