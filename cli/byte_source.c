/* byte_source.c - plain, gzip (zlib) and zstd input behind one read function. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* F_SETPIPE_SZ */
#endif
#include "byte_source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "messages.h"

#ifdef BLICA_SMALL_BUFFERS
enum { CHUNK = 512 };
#else
enum { CHUNK = 1 << 18 };
#endif

struct byte_source {
  const char *name;
  int descriptor;
  enum { PLAIN, GZIP, ZSTD } kind;
  bool at_end;     /* of the raw bytes */
  bool in_frame;   /* a compressed stream has begun and not ended */
  int64_t left;    /* raw bytes of the window not yet read; -1: no window */
  size_t at, have; /* raw bytes in buffer */
  z_stream gzip;
  ZSTD_DStream *zstd;
  unsigned char buffer[CHUNK];
};

__attribute__((format(printf, 3, 4))) static blica_status fail(char *message, blica_status status, const char *format,
                                                               ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(message, SOURCE_MESSAGE, format, args);
  va_end(args);
  return status;
}

static void close_source(byte_source *source) {
  if (!source) return;
  if (source->kind == GZIP) inflateEnd(&source->gzip);
  ZSTD_freeDStream(source->zstd);
  if (source->descriptor > 0) close(source->descriptor);
  free(source);
}

/* Reads once there is something to read. A signal ends the wait, also one that comes just before it begins. */
static blica_status read_some(byte_source *source, void *buffer, size_t size, char *message, size_t *got) {
  enum { MILLISECONDS = 100 }; /* between two questions whether the user wants to stop */
  struct pollfd input = {.fd = source->descriptor, .events = POLLIN};
  ssize_t count;
  *got = 0;
  do {
    while (!interrupted() && poll(&input, 1, MILLISECONDS) == 0) {
    }
    if (interrupted()) return fail(message, BLICA_ERR_INTERRUPTED, "%s: reading was interrupted", source->name);
    count = read(source->descriptor, buffer, size);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return fail(message, BLICA_ERR_IO, "%s: cannot read: %s", source->name, strerror(errno));
  *got = (size_t)count;
  return BLICA_OK;
}

/* More raw bytes behind those that are left. */
static blica_status fill(byte_source *source, char *message) {
  if (source->at > 0) {
    memmove(source->buffer, source->buffer + source->at, source->have - source->at);
    source->have -= source->at;
    source->at = 0;
  }
  if (source->at_end || source->have == CHUNK) return BLICA_OK;
  size_t got;
  MUST(read_some(source, source->buffer + source->have, CHUNK - source->have, message, &got));
  source->at_end = got == 0;
  source->have += got;
  return BLICA_OK;
}

/* Reads the first bytes and starts the decompression that they ask for. */
static blica_status start_decoder(byte_source *source, char *message) {
  while (source->have < 4 && !source->at_end) {
    MUST(fill(source, message));
  }
  const unsigned char *b = source->buffer;
  if (source->have >= 2 && b[0] == 0x1f && b[1] == 0x8b) {
    if (inflateInit2(&source->gzip, 15 + 16) != Z_OK) return fail(message, BLICA_ERR_MEMORY, "out of memory");
    source->kind = GZIP;
  } else if (source->have >= 4 && b[0] == 0x28 && b[1] == 0xb5 && b[2] == 0x2f && b[3] == 0xfd) {
    source->zstd = ZSTD_createDStream();
    if (!source->zstd) return fail(message, BLICA_ERR_MEMORY, "out of memory");
    source->kind = ZSTD;
  }
  return BLICA_OK;
}

static blica_status open_source(const char *path, char *message, byte_source **out) {
  *out = NULL;
  byte_source *source = calloc(1, sizeof *source);
  if (!source) return fail(message, BLICA_ERR_MEMORY, "out of memory");
  source->left = -1;
  bool standard = strcmp(path, "-") == 0;
  source->name = standard ? "the standard input" : path;
  source->descriptor = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
#ifdef F_SETPIPE_SZ
  if (source->descriptor >= 0)
    (void)fcntl(source->descriptor, F_SETPIPE_SZ, 1 << 20); /* fewer switches; no matter if refused */
#endif
  struct stat info;
  blica_status status = BLICA_OK;
  if (source->descriptor < 0)
    status = fail(message, BLICA_ERR_IO, "%s: cannot read: %s", path, strerror(errno));
  else if (fstat(source->descriptor, &info) == 0 && S_ISDIR(info.st_mode))
    status = fail(message, BLICA_ERR_IO, "%s: is a directory; name a file of data", path);
  else
    status = start_decoder(source, message);
  if (status == BLICA_OK)
    *out = source;
  else
    close_source(source);
  return status;
}

/* One step of decompression: consumes raw bytes, gives *got bytes. */
static blica_status inflate_some(byte_source *source, char *buffer, size_t size, char *message, size_t *got) {
  z_stream *z = &source->gzip;
  if (!source->in_frame) inflateReset(z); /* the next member of a concatenation */
  source->in_frame = true;
  z->next_in = source->buffer + source->at;
  z->avail_in = (uInt)(source->have - source->at);
  z->next_out = (unsigned char *)buffer;
  z->avail_out = (uInt)(size < CHUNK ? size : CHUNK);
  size_t capacity = z->avail_out;
  int code = inflate(z, Z_NO_FLUSH);
  if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
    return fail(message, BLICA_ERR_FORMAT, "%s: damaged gzip data: %s", source->name,
                z->msg ? z->msg : "unknown error");
  source->at = source->have - z->avail_in;
  *got = capacity - z->avail_out;
  if (code == Z_STREAM_END) source->in_frame = false;
  return BLICA_OK;
}

static blica_status unzstd_some(byte_source *source, char *buffer, size_t size, char *message, size_t *got) {
  ZSTD_inBuffer in = {source->buffer, source->have, source->at};
  ZSTD_outBuffer out = {buffer, size, 0};
  size_t left = ZSTD_decompressStream(source->zstd, &out, &in);
  if (ZSTD_isError(left))
    return fail(message, BLICA_ERR_FORMAT, "%s: damaged zstd data: %s", source->name, ZSTD_getErrorName(left));
  source->in_frame = left != 0;
  source->at = in.pos;
  *got = out.pos;
  return BLICA_OK;
}

static blica_status read_compressed(byte_source *source, char *buffer, size_t size, char *message, size_t *got) {
  while (*got == 0) {
    blica_status status = BLICA_OK;
    if (source->at == source->have) status = fill(source, message);
    if (status != BLICA_OK) return status;
    bool empty = source->at == source->have;
    if (empty && !source->in_frame) return BLICA_OK;
    MUST(source->kind == GZIP ? inflate_some(source, buffer, size, message, got)
                              : unzstd_some(source, buffer, size, message, got));
    if (empty && *got == 0 && source->in_frame)
      return fail(message, BLICA_ERR_FORMAT, "%s: the %s data are cut off; the file is incomplete", source->name,
                  source->kind == GZIP ? "gzip" : "zstd");
  }
  return BLICA_OK;
}

blica_status byte_source_read(void *from, char *buffer, size_t size, char message[SOURCE_MESSAGE], size_t *got) {
  byte_source *source = from;
  *got = 0;
  if (source->kind != PLAIN) return read_compressed(source, buffer, size, message, got);
  if (source->at == source->have) {
    if (source->left >= 0 && (int64_t)size > source->left) size = (size_t)source->left;
    blica_status status = source->at_end || size == 0 ? BLICA_OK : read_some(source, buffer, size, message, got);
    source->at_end = source->at_end || *got == 0;
    if (source->left >= 0) source->left -= (int64_t)*got;
    return status;
  }
  *got = source->have - source->at < size ? source->have - source->at : size;
  memcpy(buffer, source->buffer + source->at, *got);
  source->at += *got;
  return BLICA_OK;
}

int64_t byte_source_size(const byte_source *source) {
  struct stat info;
  if (source->kind != PLAIN || source->descriptor == STDIN_FILENO || fstat(source->descriptor, &info) != 0) return -1;
  return S_ISREG(info.st_mode) ? (int64_t)info.st_size : -1;
}

blica_status byte_source_line(byte_source *source, int64_t from, char message[SOURCE_MESSAGE], int64_t *out) {
  int64_t size = byte_source_size(source);
  *out = from <= 0 ? 0 : size;
  for (int64_t at = from - 1; from > 0 && at < size;) {
    ssize_t got = pread(source->descriptor, source->buffer, CHUNK, (off_t)at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(message, BLICA_ERR_IO, "%s: cannot read: %s", source->name, strerror(errno));
    const unsigned char *end = got ? memchr(source->buffer, '\n', (size_t)got) : NULL;
    if (end) *out = at + (end - source->buffer) + 1;
    if (end || got == 0) break;
    at += got;
  }
  return BLICA_OK;
}

blica_status byte_source_window(byte_source *source, int64_t from, int64_t to, char message[SOURCE_MESSAGE]) {
  if (lseek(source->descriptor, (off_t)from, SEEK_SET) < 0)
    return fail(message, BLICA_ERR_IO, "%s: cannot read at byte %lld: %s", source->name, (long long)from,
                strerror(errno));
  source->at = source->have = 0;
  source->at_end = false;
  source->left = to - from;
  return BLICA_OK;
}

static void *resize(void *old, size_t size, void *user) {
  (void)user;
  if (size > 0) return realloc(old, size);
  free(old);
  return NULL;
}

blica_status records_open(const char *path, char message[SOURCE_MESSAGE], bl_records *r) {
  byte_source *source;
  const blica_status status = open_source(path, message, &source);
  if (!source) return status;
  r->read = byte_source_read, r->source = source, r->name = source->name, r->resize = resize;
  return BLICA_OK;
}

void records_close(bl_records *r) {
  close_source(r->source);
  bl_records_clear(r);
}
