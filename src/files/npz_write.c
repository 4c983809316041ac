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

void bl_npz_writer_free(bl_npz_writer *npz) {
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

/* On failure *out is left for the caller to free. */
static blica_status open_archive(blica_ctx *ctx, const char *path, bl_npz_writer **out) {
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

/* Values of a record of the archive, low byte first; each digit of widths is the number of bytes of a value. */
static bool put_record(bl_npz_writer *npz, const char *widths, const uint64_t *value) {
  unsigned char record[128], *to = record;
  for (; *widths; widths++, value++)
    for (int i = 0; i < *widths - '0'; i++) *to++ = (unsigned char)(*value >> 8 * i);
  return put(npz, record, (size_t)(to - record));
}
#define PUT_RECORD(npz, widths, ...) put_record(npz, widths, (const uint64_t[]){__VA_ARGS__})

/* Adds bytes to an entry, compressed where zlib is there; `last` ends the stream. False on a failed write. */
static bool put_bytes(bl_npz_writer *npz, entry *e, const void *bytes, size_t count, bool last) {
  e->crc = bl_zip_crc(e->crc, bytes, count);
#ifdef BLICA_ZLIB
  z_stream *z = &npz->stream;
  z->next_in = bytes;
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

#ifdef BLICA_ZLIB
enum { METHOD = BL_ZIP_DEFLATED };
#else
enum { METHOD = BL_ZIP_STORED };
#endif
enum { DATE = 0x210000 }; /* the first of 1980 */

/* Without make, user is the one row that there is. */
static bool put_array(bl_npz_writer *npz, entry *e, const char *head, size_t head_bytes, size_t rows, size_t row_bytes,
                      bl_npz_row make, const void *user, char *row) {
  const bool large = e->size >= LARGE;
  const size_t name = strlen(e->name);
  const uint64_t unknown = large ? BL_ZIP_SMALL : 0;
  bool fine = PUT_RECORD(npz, "4222444422", BL_ZIP_LOCAL, large ? 45 : 20, FLAGS, METHOD, DATE, 0, unknown, unknown,
                         name, large ? 20 : 0) &&
              put(npz, e->name, name) && (!large || PUT_RECORD(npz, "2288", 1, 16, 0, 0));
  const uint64_t begun = npz->at;
#ifdef BLICA_ZLIB
  deflateReset(&npz->stream);
#endif
  fine = fine && put_bytes(npz, e, head, head_bytes, rows == 0);
  for (size_t r = 0; fine && r < rows; r++) {
    if (make) make(user, r, row);
    fine = put_bytes(npz, e, make ? row : user, row_bytes, r + 1 == rows);
  }
  e->packed = npz->at - begun;
  return fine && PUT_RECORD(npz, large ? "4488" : "4444", BL_ZIP_DESCRIPTOR, e->crc, e->packed, e->size);
}

blica_status bl_npz_add_rows(blica_ctx *ctx, bl_npz_writer *npz, const char *name, char kind, size_t size, int ndim,
                             const size_t *shape, bl_npz_row make, const void *user) {
  bl_npy array = {.kind = kind, .size = size, .ndim = ndim, .count = 1};
  char head[BL_NPY_HEADER_MAX];
  BL_OWNED char *row = NULL;
  for (int d = 0; d < ndim; d++) {
    array.shape[d] = shape[d];
    array.count = bl_mul(array.count, shape[d]);
  }
  if (npz->count == MOST_ARRAYS)
    return bl_fail(ctx, BLICA_ERR_INTERNAL, "%s: more than %d arrays", npz->path, MOST_ARRAYS);
  const size_t rows = !make || array.count == 0 ? array.count > 0 : array.count / shape[ndim - 1];
  const size_t row_bytes = rows ? bl_mul(array.count / rows, size) : 0, head_bytes = bl_npy_header(&array, head);
  if (make) MUST(bl_alloc(ctx, row_bytes, &row));
  entry *e = &npz->array[npz->count++];
  snprintf(e->name, sizeof e->name, "%s.npy", name);
  e->at = npz->at;
  e->size = head_bytes + rows * row_bytes;
  errno = 0;
  if (put_array(npz, e, head, head_bytes, rows, row_bytes, make, user, row)) return BLICA_OK;
  return write_failed(ctx, npz->path);
}

blica_status bl_npz_add(blica_ctx *ctx, bl_npz_writer *npz, const char *name, char kind, size_t size, int ndim,
                        const size_t *shape, const void *data) {
  return bl_npz_add_rows(ctx, npz, name, kind, size, ndim, shape, NULL, data);
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
  MUST(open_archive(ctx, path, out));
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
  const size_t name = strlen(e->name);
  return PUT_RECORD(npz, "4222244442222244", BL_ZIP_CENTRAL, 45, large ? 45 : 20, FLAGS, METHOD, DATE, e->crc,
                    large ? BL_ZIP_SMALL : e->packed, large ? BL_ZIP_SMALL : e->size, name, large ? 28 : 0, 0, 0, 0, 0,
                    large ? BL_ZIP_SMALL : e->at) &&
         put(npz, e->name, name) && (!large || PUT_RECORD(npz, "22888", 1, 24, e->size, e->packed, e->at));
}

static bool put_directory(bl_npz_writer *npz) {
  const uint64_t at = npz->at, count = (uint64_t)npz->count;
  for (int i = 0; i < npz->count; i++)
    if (!put_entry(npz, &npz->array[i])) return false;
  const uint64_t size = npz->at - at, end = npz->at;
  const bool large = at >= LARGE;
  if (large && !PUT_RECORD(npz, "48224488884484", BL_ZIP_END64, 44, 45, 45, 0, 0, count, count, size, at,
                           BL_ZIP_LOCATOR64, 0, end, 1))
    return false;
  return PUT_RECORD(npz, "42222442", BL_ZIP_END, 0, 0, count, count, size, large ? BL_ZIP_SMALL : at, 0);
}

blica_status bl_npz_write(blica_ctx *ctx, bl_npz_writer *npz) {
  errno = 0;
  return put_directory(npz) && bl_outfile_commit(&npz->file) ? BLICA_OK : write_failed(ctx, npz->path);
}
