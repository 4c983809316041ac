/* npz_write.c - the archive is made by libzip straight into the temporary file that becomes the output, so that a
 * failure leaves an old file intact and memory holds neither the archive nor arrays that can be made row by row.
 * Entries are deflated (counts as doubles shrink about fivefold) and carry a fixed date: the same content gives the
 * same bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include "base/npy.h"
#include "base/outfile.h"
#include "base/npz.h"
#include "base/text.h"

typedef struct owned {
  struct owned *next;
} owned; /* header of a block that lives as long as the writer */

struct bl_npz_writer {
  zip_t *archive;
  FILE *stream; /* where the archive goes, while it is written */
  int reason;   /* why that failed */
  zip_error_t error;
  owned *blocks;
};

void bl_npz_free(bl_npz_writer *npz) {
  if (!npz) return;
  if (npz->archive) zip_discard(npz->archive);
  for (owned *block = npz->blocks, *next; block; block = next) {
    next = block->next;
    bl_free(block);
  }
  bl_free(npz);
}

static blica_status keep(blica_ctx *ctx, bl_npz_writer *npz, size_t bytes, void *out) {
  char *raw;
  enum { HEAD = 64 };
  if (bytes > SIZE_MAX / 2) bytes = SIZE_MAX - HEAD;
  MUST(bl_alloc(ctx, bytes + HEAD, &raw));
  ((owned *)raw)->next = npz->blocks;
  npz->blocks = (owned *)raw;
  *(void **)out = raw + HEAD;
  return BLICA_OK;
}

/* ---- where the archive goes ---- */

static zip_int64_t write_failed(bl_npz_writer *npz) {
  npz->reason = errno ? errno : EIO;
  zip_error_set(&npz->error, ZIP_ER_WRITE, npz->reason);
  return -1;
}

static zip_int64_t move_write(bl_npz_writer *npz, void *data, zip_uint64_t length) {
  off_t at = ftello(npz->stream);
  if (at < 0 || fseeko(npz->stream, 0, SEEK_END) != 0) return write_failed(npz);
  zip_int64_t to =
      zip_source_seek_compute_offset((zip_uint64_t)at, (zip_uint64_t)ftello(npz->stream), data, length, &npz->error);
  return to >= 0 && fseeko(npz->stream, (off_t)to, SEEK_SET) == 0 ? 0 : write_failed(npz);
}

/* libzip's view of the stream: an archive without entries that can be written. */
static zip_int64_t serve_archive(void *user, void *data, zip_uint64_t length, zip_source_cmd_t command) {
  bl_npz_writer *npz = user;
  switch (command) {
  case ZIP_SOURCE_SUPPORTS:
    return zip_source_make_command_bitmap(
        ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE,
        ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_BEGIN_WRITE, ZIP_SOURCE_COMMIT_WRITE, ZIP_SOURCE_ROLLBACK_WRITE,
        ZIP_SOURCE_WRITE, ZIP_SOURCE_SEEK_WRITE, ZIP_SOURCE_TELL_WRITE, ZIP_SOURCE_REMOVE, -1);
  case ZIP_SOURCE_STAT:
    zip_stat_init(data);
    ((zip_stat_t *)data)->valid = ZIP_STAT_SIZE;
    ((zip_stat_t *)data)->size = 0;
    return sizeof(zip_stat_t);
  case ZIP_SOURCE_WRITE:
    errno = 0;
    return fwrite(data, 1, length, npz->stream) == length ? (zip_int64_t)length : write_failed(npz);
  case ZIP_SOURCE_SEEK_WRITE:
    return move_write(npz, data, length);
  case ZIP_SOURCE_TELL_WRITE:
    return ftello(npz->stream);
  case ZIP_SOURCE_ERROR:
    return zip_error_to_data(&npz->error, data, length);
  default:
    return 0;
  }
}

/* ---- arrays ---- */

static blica_status begin(blica_ctx *ctx, bl_npz_writer **out) {
  blica_status status;
  bl_npz_writer *npz = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &npz));
  zip_error_t error;
  zip_error_init(&error);
  zip_error_init(&npz->error);
  zip_source_t *bytes = zip_source_function_create(serve_archive, npz, &error);
  if (bytes) npz->archive = zip_open_from_source(bytes, ZIP_TRUNCATE, &error);
  if (bytes && !npz->archive) zip_source_free(bytes);
  zip_error_fini(&error);
  if (!npz->archive) FAIL(ctx, BLICA_ERR_MEMORY, "out of memory: a zip archive could not be started");
  *out = bl_take(&npz);
done:
  bl_npz_free(npz);
  return status;
}

/* Takes the source over; it may be NULL. */
static blica_status add_source(blica_ctx *ctx, bl_npz_writer *npz, const char *name, zip_source_t *source) {
  char file[64];
  snprintf(file, sizeof file, "%s.npy", name);
  zip_int64_t index = source ? zip_file_add(npz->archive, file, source, ZIP_FL_ENC_UTF_8) : -1;
  if (index < 0 || zip_set_file_compression(npz->archive, (zip_uint64_t)index, ZIP_CM_DEFLATE, 1) != 0 ||
      zip_file_set_dostime(npz->archive, (zip_uint64_t)index, 0, 0x21, 0) != 0) {
    if (index < 0 && source) zip_source_free(source);
    return bl_fail_outside(ctx, BLICA_ERR_INTERNAL, "array %s could not be added to the archive: %s", name,
                           zip_strerror(npz->archive));
  }
  return BLICA_OK;
}

/* An array whose rows are made while it is written, or one in memory, which is a single row. */
typedef struct {
  const void *data; /* NULL: rows are made */
  bl_npz_row make;
  const void *user;
  char *head, *buffer; /* the header; a row, or NULL */
  size_t head_bytes, row_bytes, rows;
  const char *part;      /* the header, then one row after the other */
  size_t have, used, at; /* bytes of part, of them read, rows made */
} row_source;

static zip_int64_t read_rows(row_source *r, char *to, zip_uint64_t length) {
  zip_uint64_t done = 0;
  while (done < length) {
    if (r->used == r->have) {
      if (r->at == r->rows) break;
      if (!r->data) r->make(r->user, r->at, r->buffer);
      r->part = r->data ? r->data : r->buffer;
      r->at++;
      r->used = 0, r->have = r->row_bytes;
    }
    size_t now = r->have - r->used < length - done ? r->have - r->used : (size_t)(length - done);
    memcpy(to + done, r->part + r->used, now);
    r->used += now, done += now;
  }
  return (zip_int64_t)done;
}

static zip_int64_t serve_rows(void *user, void *data, zip_uint64_t length, zip_source_cmd_t command) {
  row_source *r = user;
  switch (command) {
  case ZIP_SOURCE_SUPPORTS:
    return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
                                          ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, -1);
  case ZIP_SOURCE_OPEN:
    r->used = r->at = 0, r->have = r->head_bytes, r->part = r->head;
    return 0;
  case ZIP_SOURCE_READ:
    return read_rows(r, data, length);
  case ZIP_SOURCE_STAT:
    zip_stat_init(data);
    ((zip_stat_t *)data)->valid = ZIP_STAT_SIZE;
    ((zip_stat_t *)data)->size = r->head_bytes + r->rows * r->row_bytes;
    return sizeof(zip_stat_t);
  case ZIP_SOURCE_ERROR: {
    zip_error_t error;
    zip_error_init(&error);
    zip_error_set(&error, ZIP_ER_READ, 0);
    return zip_error_to_data(&error, data, length);
  }
  default:
    return 0;
  }
}

/* made has make and user, or data; a buffer for one row if it is wanted. */
static blica_status add(blica_ctx *ctx, bl_npz_writer *npz, const char *name, char kind, size_t size, int ndim,
                        const size_t *shape, row_source made) {
  bl_npy array = {.kind = kind, .size = size, .ndim = ndim, .count = 1};
  for (int d = 0; d < ndim; d++) {
    array.shape[d] = shape[d];
    array.count = bl_mul(array.count, shape[d]);
  }
  row_source *r;
  MUST(keep(ctx, npz, sizeof *r, &r));
  *r = made;
  r->rows = made.data || array.count == 0 ? array.count > 0 : array.count / shape[ndim - 1];
  r->row_bytes = r->rows ? bl_mul(array.count / r->rows, size) : 0;
  MUST(keep(ctx, npz, BL_NPY_HEADER_MAX, &r->head));
  if (!made.data) MUST(keep(ctx, npz, r->row_bytes, &r->buffer));
  r->head_bytes = bl_npy_header(&array, r->head);
  zip_error_t error;
  zip_error_init(&error);
  errno = 0;
  zip_source_t *source = zip_source_function_create(serve_rows, r, &error);
  zip_error_fini(&error);
  return add_source(ctx, npz, name, source);
}

blica_status bl_npz_add(blica_ctx *ctx, bl_npz_writer *npz, const char *name, char kind, size_t size, int ndim,
                        const size_t *shape, const void *data) {
  return add(ctx, npz, name, kind, size, ndim, shape, (row_source){.data = data});
}

blica_status bl_npz_add_rows(blica_ctx *ctx, bl_npz_writer *npz, const char *name, char kind, size_t size, int ndim,
                             const size_t *shape, bl_npz_row make, const void *user) {
  return add(ctx, npz, name, kind, size, ndim, shape, (row_source){.make = make, .user = user});
}

blica_status bl_npz_add_scalar(blica_ctx *ctx, bl_npz_writer *npz, const char *name, char kind, double value) {
  char *p;
  MUST(keep(ctx, npz, 8, &p));
  int64_t integer = (int64_t)(kind == 'f' ? 0 : value);
  uint8_t truth = value != 0;
  memcpy(p, kind == 'f' ? (void *)&value : kind == 'b' ? (void *)&truth : (void *)&integer, kind == 'b' ? 1 : 8);
  MUST(bl_npz_add(ctx, npz, name, kind, kind == 'b' ? 1 : 8, 0, NULL, p));
  return BLICA_OK;
}

/* One character of UTF-8 text; a byte that does not fit becomes U+DC00 + byte. */
static uint32_t next_character(const char **at) {
  const unsigned char *p = (const unsigned char *)*at;
  const int length = bl_utf8_length(*at);
  uint32_t code = length == 0 ? 0xdc00u + p[0] : length == 1 ? p[0] : p[0] & (0x7fu >> length);
  for (int k = 1; k < length; k++) code = code << 6 | (p[k] & 63);
  *at += length ? length : 1;
  return code;
}

/* ndim 0 is a single text. Bytes that are not UTF-8 are kept as lone surrogates, as Python does. */
static blica_status add_texts(blica_ctx *ctx, bl_npz_writer *npz, const char *name, int ndim, int count,
                              const char *const *texts) {
  size_t longest = 1, shape = (size_t)count;
  for (int i = 0; i < count; i++) {
    size_t length = 0;
    for (const char *p = texts[i]; *p; length++) next_character(&p);
    if (length > longest) longest = length;
  }
  uint32_t *codes;
  MUST(keep(ctx, npz, bl_mul(bl_mul((size_t)count, longest), sizeof *codes), &codes));
  for (int i = 0; i < count; i++) {
    uint32_t *to = codes + (size_t)i * longest;
    for (const char *p = texts[i]; *p;) *to++ = next_character(&p);
  }
  MUST(bl_npz_add(ctx, npz, name, 'U', 4 * longest, ndim, &shape, codes));
  return BLICA_OK;
}

blica_status bl_npz_begin_tables(blica_ctx *ctx, const char *format, int n, char *const *variables, int u,
                                 char *const *segments, int exact, const double *samples, bl_npz_writer **out) {
  const size_t count = (size_t)u;
  MUST(begin(ctx, out));
  MUST(add_texts(ctx, *out, "format", 0, 1, &format));
  MUST(bl_npz_add_scalar(ctx, *out, "version", 'i', 1));
  MUST(add_texts(ctx, *out, "variables", 1, n, (const char *const *)variables));
  MUST(add_texts(ctx, *out, "segments", 1, u, (const char *const *)segments));
  MUST(bl_npz_add_scalar(ctx, *out, "exact", 'b', exact));
  MUST(bl_npz_add(ctx, *out, "samples", 'f', 8, 1, &count, samples));
  return BLICA_OK;
}

/* ---- the file ---- */

/* A pipe cannot be written at any place: the archive is made in a temporary file and copied. */
static blica_status copy_out(blica_ctx *ctx, FILE *from, FILE *to, const char *path) {
  enum { CHUNK = 1 << 16 };
  char buffer[CHUNK];
  size_t got;
  errno = 0;
  if (fseeko(from, 0, SEEK_SET) != 0) return bl_fail(ctx, BLICA_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
  while ((got = fread(buffer, 1, sizeof buffer, from)) > 0)
    if (fwrite(buffer, 1, got, to) != got) break;
  if (got == 0 && !ferror(from)) return BLICA_OK;
  return bl_fail(ctx, BLICA_ERR_IO, "%s: cannot write: %s", path, strerror(errno ? errno : EIO));
}

static blica_status make_archive(blica_ctx *ctx, bl_npz_writer *npz, const char *path) {
  errno = 0;
  bool closed = zip_close(npz->archive) == 0;
  if (closed) npz->archive = NULL; /* it is gone, whatever the last flush says */
  if (closed && fflush(npz->stream) == 0) return BLICA_OK;
  if (closed || npz->reason || errno == ENOSPC)
    return bl_fail(ctx, BLICA_ERR_IO, "%s: cannot write: %s", path, strerror(npz->reason ? npz->reason : errno));
  return bl_fail_outside(ctx, BLICA_ERR_INTERNAL, "%s: the archive could not be made: %s", path,
                         zip_strerror(npz->archive));
}

/* A file without a name. */
static FILE *open_buffer(void) {
  char name[] = "/tmp/blica-XXXXXX";
  int descriptor = mkstemp(name);
  if (descriptor < 0) return NULL;
  unlink(name);
  FILE *buffer = fdopen(descriptor, "wb+");
  if (!buffer) close(descriptor);
  return buffer;
}

blica_status bl_npz_write(blica_ctx *ctx, bl_npz_writer *npz, const char *path) {
  blica_status status;
  bl_outfile file = {0};
  FILE *buffer = NULL;
  if (!bl_outfile_open(&file, path)) FAIL(ctx, BLICA_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
  if (file.special && !(buffer = open_buffer()))
    FAIL(ctx, BLICA_ERR_IO, "%s: no temporary file for it: %s", path, strerror(errno));
  npz->stream = buffer ? buffer : file.stream;
  TRY(make_archive(ctx, npz, path));
  if (buffer) TRY(copy_out(ctx, buffer, file.stream, path));
  if (!bl_outfile_commit(&file)) FAIL(ctx, BLICA_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
done:
  if (buffer) fclose(buffer);
  bl_outfile_discard(&file);
  return status;
}
