/* byte_source.h - bytes of a file or of stdin, gzip and zstd undone on the way. */
#ifndef BYTE_SOURCE_H
#define BYTE_SOURCE_H

#include <stdlib.h>
#include <string.h>

#include "files/records.h"

typedef struct byte_source byte_source;

enum { SOURCE_MESSAGE = BL_RECORDS_MESSAGE };

/* For readers: returns the status of a failed call, whose message is already stored. */
#define MUST(call)                                                                                                     \
  do {                                                                                                                 \
    const blica_status status_ = (call);                                                                               \
    if (status_ != BLICA_OK) return status_;                                                                           \
  } while (0)

/* OWNED double *x = NULL; is given to free when the function returns. */
#define OWNED __attribute__((cleanup(free_owned)))
static inline void free_owned(void *variable) {
  void *block;
  memcpy(&block, variable, sizeof block);
  free(block);
}

/* Makes a file the source of r; path `-` is stdin. Compression is recognised by its first bytes, whatever the name. */
blica_status records_open(const char *path, char message[SOURCE_MESSAGE], bl_records *r);
void records_close(bl_records *r); /* frees the buffers and closes the source; zeros are fine */
/* Up to size bytes into buffer; *got is 0 only at the end. */
blica_status byte_source_read(void *source, char *buffer, size_t size, char message[SOURCE_MESSAGE], size_t *got);
/* The size of a plain file that can be read at any place; -1 for anything else. */
int64_t byte_source_size(const byte_source *source);
/* Offset of the first line that begins at `from` or later; the size if no line does. */
blica_status byte_source_line(byte_source *source, int64_t from, char message[SOURCE_MESSAGE], int64_t *out);
/* Limits reading to the bytes from..to-1. */
blica_status byte_source_window(byte_source *source, int64_t from, int64_t to, char message[SOURCE_MESSAGE]);

#endif
