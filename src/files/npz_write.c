/* npz_write.c - arrays go straight into the temporary file that becomes the output, so that a failure leaves an old
 * file intact, and memory holds neither the archive nor arrays that can be made row by row. Each size and checksum
 * follows its array (a "data descriptor"), so that pipes can be written. Arrays are deflated where the build has zlib
 * (counts as doubles shrink about fivefold) and carry a fixed date: the same content gives the same bytes. Reference:
 * PKWARE, APPNOTE.TXT - .ZIP File Format Specification 6.3.10, sections 4.3 and 4.5.3. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "files/npy.h"
#include "files/npz.h"
#include "files/outfile.h"
#include "base/text.h"
#include "files/zip.h"

enum { MOST_ARRAYS = 32, MOST_NAME = 64, FLAGS = 1 << 3 | 1 << 11 /* a descriptor follows; names are UTF-8 */ };
#define LARGE 0xf0000000u /* an array from here on might grow beyond 32 bits when it is packed */

typedef struct {
  char name[MOST_NAME]; /* of the file in the archive */
  uint32_t crc;
  uint64_t size, packed, at; /* bytes as they are and as they are stored; of the archive before this */
} entry;

struct bl_npz_writer {
  bl_outfile file;
  const char *path;
  uint64_t at; /* bytes written */
  int count;
  entry array[MOST_ARRAYS];
#ifdef BLICA_ZLIB
  z_stream stream;
#endif
  unsigned char buffer[BL_ZIP_BUFFER];
};

void bl_npz_free(bl_npz_writer *npz) {
  if (!npz) return;
#ifdef BLICA_ZLIB
  deflateEnd(&npz->stream);
#endif
  bl_outfile_discard(&npz->file);
  bl_free(npz);
}

static blica_status write_failed(blica_ctx *ctx, const char *path) {
  return bl_fail(ctx, BLICA_ERR_IO, "%s: cannot write: %s", path, strerror(errno ? errno : EIO));
}

static blica_status begin(blica_ctx *ctx, const char *path, bl_npz_writer **out) {
  *out = NULL;
  MUST(bl_alloc(ctx, 1, out));
  (*out)->path = path;
  errno = 0;
  if (!bl_outfile_open(&(*out)->file, path)) return write_failed(ctx, path);
#ifdef BLICA_ZLIB
  if (deflateInit2(&(*out)->stream, 1, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return bl_fail(ctx, BLICA_ERR_MEMORY, "out of memory: a zip archive could not be started");
#endif
  return BLICA_OK;
}

/* ---- an array: its head, its bytes, its sizes ---- */

static bool put(bl_npz_writer *npz, const void *bytes, size_t count) {
  npz->at += count;
  return fwrite(bytes, 1, count, npz->file.stream) == count;
}

/* Fields of a record of the archive: pairs of bytes and value, up to bytes 0. */
typedef struct {
  int bytes;
  uint64_t value;
} field;

static bool put_fields(bl_npz_writer *npz, const field *f) {
  unsigned char record[128], *to = record;
  for (; f->bytes; f++)
    for (int i = 0; i < f->bytes; i++) *to++ = (unsigned char)(f->value >> 8 * i);
  return put(npz, record, (size_t)(to - record));
}

static bool put_packed(bl_npz_writer *npz, const void *bytes, size_t count, bool last) {
#ifdef BLICA_ZLIB
  z_stream *z = &npz->stream;
  z->next_in = (unsigned char *)(uintptr_t)bytes;
  do {
    const size_t now = count < BL_ZIP_BUFFER ? count : BL_ZIP_BUFFER; /* zlib counts in 32 bits */
    z->avail_in = (unsigned)now;
    count -= now;
    do {
      z->next_out = npz->buffer, z->avail_out = sizeof npz->buffer;
      deflate(z, last && count == 0 ? Z_FINISH : Z_NO_FLUSH);
      if (!put(npz, npz->buffer, sizeof npz->buffer - z->avail_out)) return false;
    } while (z->avail_out == 0);
  } while (count > 0);
  return true;
#else
  (void)last;
  return put(npz, bytes, count);
#endif
}

static bool put_bytes(bl_npz_writer *npz, entry *e, const void *bytes, size_t count, bool last) {
  e->crc = bl_zip_crc(e->crc, bytes, count);
  return put_packed(npz, bytes, count, last);
}

#ifdef BLICA_ZLIB
enum { METHOD = BL_ZIP_DEFLATED };
#else
enum { METHOD = BL_ZIP_STORED };
#endif

/* With data NULL, rows are made into `row`. */
static bool put_array(bl_npz_writer *npz, entry *e, const char *head, size_t head_bytes, const char *data, size_t rows,
                      size_t row_bytes, bl_npz_row make, const void *user, char *row) {
  const bool large = e->size >= LARGE;
  const size_t name = strlen(e->name);
  const field local[] = {{4, BL_ZIP_LOCAL},
                         {2, large ? 45 : 20},
                         {2, FLAGS},
                         {2, METHOD},
                         {4, 0x210000},
                         {4, 0},
                         {4, large ? BL_ZIP_SMALL : 0},
                         {4, large ? BL_ZIP_SMALL : 0},
                         {2, name},
                         {2, large ? 20 : 0},
                         {0, 0}};
  const field extra[] = {{2, 1}, {2, 16}, {8, 0}, {8, 0}, {0, 0}};
  if (!put_fields(npz, local) || !put(npz, e->name, name) || (large && !put_fields(npz, extra))) return false;
  const uint64_t begun = npz->at;
#ifdef BLICA_ZLIB
  deflateReset(&npz->stream);
#endif
  bool fine = put_bytes(npz, e, head, head_bytes, rows == 0);
  for (size_t r = 0; fine && r < rows; r++) {
    if (!data) make(user, r, row);
    fine = put_bytes(npz, e, data ? data : row, row_bytes, r + 1 == rows);
  }
  e->packed = npz->at - begun;
  const field sizes[] = {
      {4, BL_ZIP_DESCRIPTOR}, {4, e->crc}, {large ? 8 : 4, e->packed}, {large ? 8 : 4, e->size}, {0, 0}};
  return fine && put_fields(npz, sizes);
}

/* data, or rows that are made. */
static blica_status add(blica_ctx *ctx, bl_npz_writer *npz, const char *name, char kind, size_t size, int ndim,
                        const size_t *shape, const void *data, bl_npz_row make, const void *user) {
  bl_npy array = {.kind = kind, .size = size, .ndim = ndim, .count = 1};
  char head[BL_NPY_HEADER_MAX];
  BL_OWNED char *row = NULL;
  for (int d = 0; d < ndim; d++) {
    array.shape[d] = shape[d];
    array.count = bl_mul(array.count, shape[d]);
  }
  if (npz->count == MOST_ARRAYS)
    return bl_fail(ctx, BLICA_ERR_INTERNAL, "%s: more than %d arrays", npz->path, MOST_ARRAYS);
  const size_t rows = data || array.count == 0 ? array.count > 0 : array.count / shape[ndim - 1];
  const size_t row_bytes = rows ? bl_mul(array.count / rows, size) : 0, head_bytes = bl_npy_header(&array, head);
  if (!data) MUST(bl_alloc(ctx, row_bytes, &row));
  entry *e = &npz->array[npz->count++];
  snprintf(e->name, sizeof e->name, "%s.npy", name);
  e->at = npz->at;
  e->size = head_bytes + rows * row_bytes;
  errno = 0;
  return put_array(npz, e, head, head_bytes, data, rows, row_bytes, make, user, row) ? BLICA_OK
                                                                                     : write_failed(ctx, npz->path);
}

blica_status bl_npz_add(blica_ctx *ctx, bl_npz_writer *npz, const char *name, char kind, size_t size, int ndim,
                        const size_t *shape, const void *data) {
  return add(ctx, npz, name, kind, size, ndim, shape, data, NULL, NULL);
}

blica_status bl_npz_add_rows(blica_ctx *ctx, bl_npz_writer *npz, const char *name, char kind, size_t size, int ndim,
                             const size_t *shape, bl_npz_row make, const void *user) {
  return add(ctx, npz, name, kind, size, ndim, shape, NULL, make, user);
}

blica_status bl_npz_add_scalar(blica_ctx *ctx, bl_npz_writer *npz, const char *name, char kind, double value) {
  const int64_t integer = (int64_t)(kind == 'f' ? 0 : value);
  const uint8_t truth = value != 0;
  if (kind == 'b') return bl_npz_add(ctx, npz, name, kind, 1, 0, NULL, &truth);
  return bl_npz_add(ctx, npz, name, kind, 8, 0, NULL, kind == 'f' ? (const void *)&value : &integer);
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
  BL_OWNED uint32_t *codes = NULL;
  for (int i = 0; i < count; i++) {
    size_t length = 0;
    for (const char *p = texts[i]; *p; length++) next_character(&p);
    if (length > longest) longest = length;
  }
  MUST(bl_alloc(ctx, bl_mul((size_t)count, longest), &codes));
  for (int i = 0; i < count; i++) {
    uint32_t *to = codes + (size_t)i * longest;
    for (const char *p = texts[i]; *p;) *to++ = next_character(&p);
  }
  return bl_npz_add(ctx, npz, name, 'U', 4 * longest, ndim, &shape, codes);
}

blica_status bl_npz_begin_tables(blica_ctx *ctx, const char *path, const char *format, int n, char *const *variables,
                                 int u, char *const *segments, int exact, const double *samples, bl_npz_writer **out) {
  const size_t count = (size_t)u;
  MUST(begin(ctx, path, out));
  MUST(add_texts(ctx, *out, "format", 0, 1, &format));
  MUST(bl_npz_add_scalar(ctx, *out, "version", 'i', 1));
  MUST(add_texts(ctx, *out, "variables", 1, n, (const char *const *)variables));
  MUST(add_texts(ctx, *out, "segments", 1, u, (const char *const *)segments));
  MUST(bl_npz_add_scalar(ctx, *out, "exact", 'b', exact));
  return bl_npz_add(ctx, *out, "samples", 'f', 8, 1, &count, samples);
}

/* ---- the directory at the end ---- */

static bool put_entry(bl_npz_writer *npz, const entry *e) {
  const bool large = e->size >= LARGE || e->at >= LARGE;
  const uint64_t limit = large ? BL_ZIP_SMALL : 0;
  const size_t name = strlen(e->name);
  const field central[] = {{4, BL_ZIP_CENTRAL},
                           {2, 45},
                           {2, large ? 45 : 20},
                           {2, FLAGS},
                           {2, METHOD},
                           {4, 0x210000},
                           {4, e->crc},
                           {4, large ? limit : e->packed},
                           {4, large ? limit : e->size},
                           {2, name},
                           {2, large ? 28 : 0},
                           {2, 0},
                           {2, 0},
                           {2, 0},
                           {4, 0},
                           {4, large ? limit : e->at},
                           {0, 0}};
  const field extra[] = {{2, 1}, {2, 24}, {8, e->size}, {8, e->packed}, {8, e->at}, {0, 0}};
  return put_fields(npz, central) && put(npz, e->name, name) && (!large || put_fields(npz, extra));
}

static bool put_directory(bl_npz_writer *npz) {
  const uint64_t at = npz->at, count = (uint64_t)npz->count;
  for (int i = 0; i < npz->count; i++)
    if (!put_entry(npz, &npz->array[i])) return false;
  const uint64_t size = npz->at - at, end = npz->at;
  const bool large = at >= LARGE;
  const field end64[] = {
      {4, BL_ZIP_END64},     {8, 44}, {2, 45},  {2, 45}, {4, 0}, {4, 0}, {8, count}, {8, count}, {8, size}, {8, at},
      {4, BL_ZIP_LOCATOR64}, {4, 0},  {8, end}, {4, 1},  {0, 0}};
  const field last[] = {
      {4, BL_ZIP_END}, {2, 0}, {2, 0}, {2, count}, {2, count}, {4, size}, {4, large ? BL_ZIP_SMALL : at},
      {2, 0},          {0, 0}};
  return (!large || put_fields(npz, end64)) && put_fields(npz, last);
}

blica_status bl_npz_write(blica_ctx *ctx, bl_npz_writer *npz) {
  errno = 0;
  return put_directory(npz) && bl_outfile_commit(&npz->file) ? BLICA_OK : write_failed(ctx, npz->path);
}
