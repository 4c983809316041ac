/* npz_read.c - arrays out of an untrusted .npz. A declared size is believed only when deflate could have produced it
 * from the bytes that are there; checksums are verified to the end. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "files/npy.h"
#include "files/npz.h"
#include "base/text.h"
#include "files/zip.h"

struct bl_npz_reader {
  FILE *file;
  uint64_t file_size, directory_size;
  unsigned char *directory; /* of the archive */
  char *path;
};

/* The entry of an array in the directory. */
typedef struct {
  const char *name; /* of the file in the archive, not ended by zero */
  size_t name_bytes;
  int flags, method;
  uint32_t crc;
  uint64_t size, packed, at; /* bytes of the array, of what is stored, and before it in the archive */
} member;

void bl_npz_reader_free(bl_npz_reader *npz) {
  if (!npz) return;
  if (npz->file) fclose(npz->file);
  bl_free(npz->directory);
  bl_free(npz->path);
  bl_free(npz);
}

/* ---- the directory ---- */

static blica_status not_zip(blica_ctx *ctx, const char *path, const char *why) {
  return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: cannot open as .npz: %s", path, why);
}

static bool read_at(bl_npz_reader *npz, uint64_t at, void *to, size_t count) {
  return at <= npz->file_size && count <= npz->file_size - at && fseeko(npz->file, (off_t)at, SEEK_SET) == 0 &&
         fread(to, 1, count, npz->file) == count;
}

/* 64-bit values take the place, in this order, of those that are all ones. */
static void widen(member *m, const unsigned char *extra, size_t bytes) {
  uint64_t *const wide[] = {&m->size, &m->packed, &m->at};
  for (size_t at = 0; at + 4 <= bytes; at += 4 + bl_zip_get(extra + at + 2, 2)) {
    if (bl_zip_get(extra + at, 2) != 1) continue;
    size_t p = at + 4, end = p + bl_zip_get(extra + at + 2, 2);
    for (int i = 0; i < 3; i++)
      if (*wide[i] == BL_ZIP_SMALL && p + 8 <= end && end <= bytes) *wide[i] = bl_zip_get(extra + p, 8), p += 8;
  }
}

/* Reads the entry at *at and moves on; false at the end, or at what is no entry. */
static bool next_member(const bl_npz_reader *npz, uint64_t *at, member *m) {
  enum { HEAD = 46 };
  const unsigned char *p = npz->directory + *at;
  if (npz->directory_size - *at < HEAD || bl_zip_get(p, 4) != BL_ZIP_CENTRAL) return false;
  const size_t name = bl_zip_get(p + 28, 2), extra = bl_zip_get(p + 30, 2);
  const uint64_t bytes = HEAD + name + extra + bl_zip_get(p + 32, 2);
  if (npz->directory_size - *at < bytes) return false;
  *m = (member){(const char *)p + HEAD,          name,
                (int)bl_zip_get(p + 8, 2),       (int)bl_zip_get(p + 10, 2),
                (uint32_t)bl_zip_get(p + 16, 4), bl_zip_get(p + 24, 4),
                bl_zip_get(p + 20, 4),           bl_zip_get(p + 42, 4)};
  widen(m, p + HEAD + name, extra);
  *at += bytes;
  return true;
}

/* Finds the record at the end of the archive, behind which there may be a comment, and reads the directory. */
static blica_status read_directory(blica_ctx *ctx, bl_npz_reader *npz) {
  enum { END = 22, LOCATOR = 20, END64 = 56, TAIL = END + 0xffff };
  BL_OWNED unsigned char *tail = NULL;
  const size_t bytes = npz->file_size < TAIL ? (size_t)npz->file_size : TAIL;
  MUST(bl_alloc(ctx, bytes + 1, &tail));
  if (!read_at(npz, npz->file_size - bytes, tail, bytes)) return not_zip(ctx, npz->path, "it cannot be read");
  size_t e = bytes < END ? 0 : bytes - END;
  while (e > 0 && bl_zip_get(tail + e, 4) != BL_ZIP_END) e--;
  if (bytes < END || bl_zip_get(tail + e, 4) != BL_ZIP_END)
    return not_zip(ctx, npz->path, "it is not a zip archive, or cut off");
  uint64_t count = bl_zip_get(tail + e + 10, 2), at = bl_zip_get(tail + e + 16, 4);
  npz->directory_size = bl_zip_get(tail + e + 12, 4);
  if (e >= LOCATOR && bl_zip_get(tail + e - LOCATOR, 4) == BL_ZIP_LOCATOR64) {
    unsigned char end64[END64];
    if (!read_at(npz, bl_zip_get(tail + e - LOCATOR + 8, 8), end64, END64) || bl_zip_get(end64, 4) != BL_ZIP_END64)
      return not_zip(ctx, npz->path, "its directory is damaged");
    count = bl_zip_get(end64 + 32, 8), npz->directory_size = bl_zip_get(end64 + 40, 8), at = bl_zip_get(end64 + 48, 8);
  }
  if (npz->directory_size > npz->file_size) return not_zip(ctx, npz->path, "its directory is damaged");
  MUST(bl_alloc(ctx, (size_t)npz->directory_size + 1, &npz->directory));
  if (!read_at(npz, at, npz->directory, (size_t)npz->directory_size))
    return not_zip(ctx, npz->path, "its directory is damaged");
  member m;
  uint64_t seen = 0, place = 0;
  while (next_member(npz, &place, &m)) seen++;
  return seen == count && place == npz->directory_size ? BLICA_OK : not_zip(ctx, npz->path, "its directory is damaged");
}

blica_status bl_npz_open(blica_ctx *ctx, const char *path, bl_npz_reader **out) {
  BL_AUTO(bl_npz_reader) *npz = NULL;
  *out = NULL;
  MUST(bl_alloc(ctx, 1, &npz));
  MUST(bl_copy_text(ctx, path, &npz->path));
  errno = 0;
  npz->file = fopen(path, "rb");
  const off_t size = npz->file && fseeko(npz->file, 0, SEEK_END) == 0 ? ftello(npz->file) : -1;
  if (size < 0) return bl_fail_outside(ctx, BLICA_ERR_IO, "%s: cannot open as .npz: %s", path, strerror(errno));
  npz->file_size = (uint64_t)size;
  MUST(read_directory(ctx, npz));
  *out = bl_take(&npz);
  return BLICA_OK;
}

static bool locate(const bl_npz_reader *npz, const char *name, member *m) {
  char file[64];
  const size_t bytes = (size_t)snprintf(file, sizeof file, "%s.npy", name);
  for (uint64_t at = 0; next_member(npz, &at, m);)
    if (m->name_bytes == bytes && memcmp(m->name, file, bytes) == 0) return true;
  return false;
}

bool bl_npz_has(const bl_npz_reader *npz, const char *name) {
  member m;
  return locate(npz, name, &m);
}

/* The entry of an array, once its size is credible: deflate expands at most 1032 times. */
static blica_status find(blica_ctx *ctx, bl_npz_reader *npz, const char *name, member *m) {
  if (!locate(npz, name, m)) return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: array %s is missing", npz->path, name);
  if (m->packed > npz->file_size || m->size / 1100 > m->packed + 1)
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: array %s claims %llu bytes, more than the file can hold", npz->path,
                   name, (unsigned long long)m->size);
  if (m->flags & 1 || (m->method != BL_ZIP_STORED && m->method != BL_ZIP_DEFLATED))
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: array %s is encrypted, or packed by method %d; deflate can be read",
                   npz->path, name, m->method);
#ifndef BLICA_ZLIB
  if (m->method == BL_ZIP_DEFLATED)
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: array %s is compressed, and this build has no zlib; save it as .csv",
                   npz->path, name);
#endif
  return BLICA_OK;
}

blica_status bl_npz_expect(blica_ctx *ctx, bl_npz_reader *npz, const char *name, size_t count) {
  member m;
  MUST(find(ctx, npz, name, &m));
  if (m.size >= count) return BLICA_OK;
  return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: array %s has %zu bytes, too few for %zu elements", npz->path, name,
                 (size_t)m.size, count);
}

/* ---- an array: its header, then its elements from the first to the last ---- */

enum { SLAB = 1 << 18, HEAD_MAX = 1 << 17 }; /* bytes that are held at a time */

typedef struct {
  const char *path, *name;
  FILE *file;
  size_t size, have; /* bytes of the entry, and of them read */
  uint64_t left;     /* bytes of the archive that are not read */
  uint32_t crc;
  member of;
  bl_npy array;
#ifdef BLICA_ZLIB
  z_stream stream;
  unsigned char *buffer; /* NULL: there is no stream */
#endif
} entry;

static void close_entry(entry *e) {
#ifdef BLICA_ZLIB
  if (e->buffer) inflateEnd(&e->stream);
  bl_free(e->buffer);
#else
  (void)e;
#endif
}

/* The next `count` bytes of the array, or fewer when it is damaged or at its end. */
static size_t unpack(entry *e, char *to, size_t count) {
#ifdef BLICA_ZLIB
  z_stream *z = &e->stream;
  if (e->of.method == BL_ZIP_DEFLATED) {
    z->next_out = (unsigned char *)to, z->avail_out = (unsigned)count;
    while (z->avail_out > 0) {
      if (z->avail_in == 0 && e->left > 0) {
        z->next_in = e->buffer;
        z->avail_in = (unsigned)fread(e->buffer, 1, e->left < BL_ZIP_BUFFER ? (size_t)e->left : BL_ZIP_BUFFER, e->file);
        e->left = z->avail_in > 0 ? e->left - z->avail_in : 0;
      }
      if (inflate(z, Z_NO_FLUSH) != Z_OK) break;
    }
    return count - z->avail_out;
  }
#endif
  const size_t got = fread(to, 1, e->left < count ? (size_t)e->left : count, e->file);
  e->left -= got;
  return got;
}

/* The next count bytes; the checksum is verified once the last were read. */
static blica_status read_bytes(blica_ctx *ctx, entry *e, char *to, size_t count) {
  char extra;
  errno = 0;
  const size_t got = unpack(e, to, count);
  e->have += got;
  e->crc = bl_zip_crc(e->crc, to, got);
  if (got == count && (e->have < e->size || (unpack(e, &extra, 1) == 0 && e->crc == e->of.crc))) return BLICA_OK;
  return bl_fail_outside(ctx, BLICA_ERR_FORMAT, "%s: array %s is damaged or cut off (%zu of %zu bytes could be read)",
                         e->path, e->name, e->have, e->size);
}

/* Goes to where the array is stored. */
static blica_status begin_entry(blica_ctx *ctx, bl_npz_reader *npz, entry *e) {
  enum { LOCAL = 30 };
  unsigned char local[LOCAL];
  errno = 0;
  if (!read_at(npz, e->of.at, local, LOCAL) || bl_zip_get(local, 4) != BL_ZIP_LOCAL ||
      fseeko(npz->file, (off_t)(bl_zip_get(local + 26, 2) + bl_zip_get(local + 28, 2)), SEEK_CUR) != 0)
    return bl_fail_outside(ctx, BLICA_ERR_FORMAT, "%s: array %s is damaged or cut off", npz->path, e->name);
  e->file = npz->file, e->left = e->of.packed, e->size = (size_t)e->of.size;
#ifdef BLICA_ZLIB
  if (e->of.method != BL_ZIP_DEFLATED) return BLICA_OK;
  MUST(bl_alloc(ctx, BL_ZIP_BUFFER, &e->buffer));
  if (inflateInit2(&e->stream, -15) != Z_OK)
    return bl_fail(ctx, BLICA_ERR_MEMORY, "out of memory: %s: array %s", npz->path, e->name);
#endif
  return BLICA_OK;
}

/* Reads the header, and checks that as many bytes follow as it announces. */
static blica_status open_entry(blica_ctx *ctx, bl_npz_reader *npz, const char *name, entry *e) {
  enum { FIRST = 12 }; /* bytes with the length of the header, of every version */
  BL_OWNED char *head = NULL;
  *e = (entry){.path = npz->path, .name = name};
  MUST(find(ctx, npz, name, &e->of));
  MUST(bl_alloc(ctx, HEAD_MAX, &head));
  MUST(begin_entry(ctx, npz, e));
  MUST(read_bytes(ctx, e, head, e->size < FIRST ? e->size : FIRST));
  size_t length = bl_npy_header_length(head);
  if (length > e->size) length = e->size;
  if (length > HEAD_MAX) length = HEAD_MAX;
  if (length > e->have) MUST(read_bytes(ctx, e, head + e->have, length - e->have));
  const char *reason = bl_npy_parse(head, e->have, &e->array);
  if (reason) return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: array %s: %s", e->path, name, reason);
  if (e->size - e->have != e->array.count * e->array.size)
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: array %s holds %zu bytes where its shape asks for %zu", e->path, name,
                   e->size - e->have, e->array.count * e->array.size);
  return BLICA_OK;
}

blica_status bl_npz_numbers(blica_ctx *ctx, bl_npz_reader *npz, const char *name, int ndim, const size_t *shape,
                            double *out) {
  BL_CLEAN(close_entry) entry e = {0};
  BL_OWNED char *slab = NULL;
  MUST(open_entry(ctx, npz, name, &e));
  const bl_npy *array = &e.array;
  if (array->kind == 'U' || array->kind == 'S')
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: array %s holds text, not numbers", npz->path, name);
  bool same = array->ndim == ndim;
  size_t expected = 1;
  for (int d = 0; d < ndim; d++) {
    same = same && array->shape[d] == shape[d];
    expected = bl_mul(expected, shape[d]);
  }
  if (!same)
    return bl_fail(ctx, BLICA_ERR_FORMAT,
                   "%s: array %s has %d dimensions and %zu elements; %d dimensions and %zu elements are expected",
                   npz->path, name, array->ndim, array->count, ndim, expected);
  MUST(bl_alloc(ctx, SLAB, &slab));
  const bool transpose = array->fortran && ndim == 2;
  for (size_t first = 0, step = SLAB / array->size; first < array->count; first += step) {
    const size_t count = array->count - first < step ? array->count - first : step;
    MUST(read_bytes(ctx, &e, slab, count * array->size));
    for (size_t k = 0; k < count; k++) {
      const size_t at = transpose ? (first + k) % shape[0] * shape[1] + (first + k) / shape[0] : first + k;
      out[at] = bl_npy_number(array, slab + k * array->size);
    }
  }
  return BLICA_OK;
}

/* Element p of a text array into to, which has room for size + 1 bytes (UTF-8 never needs more than UCS-4). */
static void get_text(const bl_npy *array, const char *p, char *to) {
  if (array->kind == 'S') {
    memcpy(to, p, array->size);
    to[array->size] = 0;
    return;
  }
  for (size_t c = 0; c < array->size / 4; c++) {
    uint32_t code;
    memcpy(&code, p + 4 * c, 4);
    if (array->swapped) code = __builtin_bswap32(code);
    if (code == 0) break;
    to = bl_utf8_put(code, to);
  }
  *to = 0;
}

blica_status bl_npz_texts(blica_ctx *ctx, bl_npz_reader *npz, const char *name, int *count, char ***out) {
  BL_CLEAN(close_entry) entry e = {0};
  BL_OWNED char *bytes = NULL, *text = NULL, **list = NULL;
  *out = NULL;
  *count = 0;
  MUST(open_entry(ctx, npz, name, &e));
  const bl_npy *array = &e.array;
  if (array->kind != 'U' && array->kind != 'S')
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: array %s does not hold text", npz->path, name);
  if (array->ndim > 1 || array->count > INT32_MAX)
    return bl_fail(ctx, BLICA_ERR_FORMAT,
                   "%s: array %s has %d dimensions and %zu elements; a list of names is expected", npz->path, name,
                   array->ndim, array->count);
  if (array->size == 0 && array->count > 1) /* any number of them would fit into no bytes */
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: array %s announces %zu names of no length", npz->path, name,
                   array->count);
  MUST(bl_alloc(ctx, array->size, &bytes));
  MUST(bl_alloc(ctx, array->size + 1, &text));
  MUST(bl_alloc(ctx, array->count, &list));
  for (size_t k = 0; k < array->count; k++) {
    MUST(read_bytes(ctx, &e, bytes, array->size));
    get_text(array, bytes, text);
    MUST(bl_copy_text_for(ctx, list, text, &list[k]));
  }
  *count = (int)array->count, *out = bl_take(&list);
  return BLICA_OK;
}
