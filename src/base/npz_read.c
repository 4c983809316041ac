/* npz_read.c - arrays out of an untrusted .npz. A declared size is believed only when
 * deflate could have produced it from the bytes that are there; checksums are verified to the end. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <zip.h>

#include "base/npy.h"
#include "base/npz.h"

struct bl_npz_reader {
  zip_t *archive;
  uint64_t file_size;
  char *path;
};

void bl_npz_close(bl_npz_reader *npz) {
  if (!npz) return;
  if (npz->archive) zip_discard(npz->archive);
  bl_free(npz->path);
  bl_free(npz);
}

blica_status bl_npz_open(blica_ctx *ctx, const char *path, bl_npz_reader **out) {
  blica_status status;
  bl_npz_reader *npz = NULL;
  struct stat info;
  int code = 0;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &npz));
  TRY(bl_copy_text(ctx, path, &npz->path));
  if (stat(path, &info) == 0) npz->file_size = (uint64_t)info.st_size;
  errno = 0;
  npz->archive = zip_open(path, ZIP_RDONLY, &code);
  if (!npz->archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    bool format = code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS;
    status = bl_fail_outside(ctx, format ? BLICA_ERR_FORMAT : BLICA_ERR_IO, "%s: cannot open as .npz: %s", path,
                             zip_error_strerror(&error));
    zip_error_fini(&error);
    goto done;
  }
  *out = bl_take(&npz);
done:
  bl_npz_close(npz);
  return status;
}

static zip_int64_t locate(const bl_npz_reader *npz, const char *name) {
  char file[64];
  snprintf(file, sizeof file, "%s.npy", name);
  return zip_name_locate(npz->archive, file, 0);
}

bool bl_npz_has(const bl_npz_reader *npz, const char *name) {
  return locate(npz, name) >= 0;
}

/* The size of an entry, once it is credible: deflate expands at most 1032 times. */
static blica_status entry_size(blica_ctx *ctx, bl_npz_reader *npz, zip_uint64_t index, const char *name, size_t *size) {
  zip_stat_t info;
  const zip_uint64_t wanted = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
  if (zip_stat_index(npz->archive, index, 0, &info) != 0 || (info.valid & wanted) != wanted)
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: the size of array %s is not known", npz->path, name);
  if (info.comp_size > npz->file_size || info.size / 1100 > info.comp_size + 1)
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: array %s claims %llu bytes, more than the file can hold", npz->path,
                   name, (unsigned long long)info.size);
  *size = (size_t)info.size;
  return BLICA_OK;
}

blica_status bl_npz_expect(blica_ctx *ctx, bl_npz_reader *npz, const char *name, size_t count) {
  zip_int64_t index = locate(npz, name);
  size_t size = 0;
  if (index < 0) return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: array %s is missing", npz->path, name);
  blica_status status = entry_size(ctx, npz, (zip_uint64_t)index, name, &size);
  if (status == BLICA_OK && size < count)
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: array %s has %zu bytes, too few for %zu elements", npz->path, name, size,
                   count);
  return status;
}

/* The whole entry, parsed. bytes belongs to the caller. */
static blica_status load(blica_ctx *ctx, bl_npz_reader *npz, const char *name, bl_npy *array, char **bytes) {
  blica_status status;
  zip_file_t *entry = NULL;
  zip_int64_t index = locate(npz, name);
  size_t size = 0, have = 0;
  char extra;
  *bytes = NULL;
  if (index < 0) FAIL(ctx, BLICA_ERR_FORMAT, "%s: array %s is missing", npz->path, name);
  TRY(entry_size(ctx, npz, (zip_uint64_t)index, name, &size));
  TRY(bl_alloc(ctx, size, bytes));
  errno = 0;
  entry = zip_fopen_index(npz->archive, (zip_uint64_t)index, 0);
  zip_int64_t got = entry ? 0 : -1;
  while (entry && have < size && (got = zip_fread(entry, *bytes + have, size - have)) > 0) have += (size_t)got;
  if (entry && have == size) got = zip_fread(entry, &extra, 1); /* the checksum is verified at the end */
  if (got != 0 || have != size)
    FAIL_OUTSIDE(ctx, BLICA_ERR_FORMAT, "%s: array %s is damaged or cut off (%zu of %zu bytes could be read)",
                 npz->path, name, have, size);
  const char *reason = bl_npy_parse(*bytes, size, array);
  if (reason) FAIL(ctx, BLICA_ERR_FORMAT, "%s: array %s: %s", npz->path, name, reason);
  if (size - array->offset != array->count * array->size)
    FAIL(ctx, BLICA_ERR_FORMAT, "%s: array %s holds %zu bytes where its shape asks for %zu", npz->path, name,
         size - array->offset, array->count * array->size);
done:
  if (entry) zip_fclose(entry);
  if (status != BLICA_OK) bl_free(bl_take(bytes));
  return status;
}

blica_status bl_npz_numbers(blica_ctx *ctx, bl_npz_reader *npz, const char *name, int ndim, const size_t *shape,
                            double *out) {
  blica_status status;
  bl_npy array;
  char *bytes;
  TRY(load(ctx, npz, name, &array, &bytes));
  if (array.kind == 'U' || array.kind == 'S')
    FAIL(ctx, BLICA_ERR_FORMAT, "%s: array %s holds text, not numbers", npz->path, name);
  bool same = array.ndim == ndim;
  for (int d = 0; same && d < ndim; d++) same = array.shape[d] == shape[d];
  if (!same || ndim > 2)
    FAIL(ctx, BLICA_ERR_FORMAT,
         "%s: array %s has %d dimensions and %zu elements; %d dimensions and %zu elements are expected", npz->path,
         name, array.ndim, array.count, ndim,
         ndim == 2 ? bl_mul(shape[0], shape[1])
         : ndim    ? shape[0]
                   : 1);
  const char *data = bytes + array.offset;
  bool transpose = array.fortran && ndim == 2;
  for (size_t k = 0; k < array.count; k++)
    out[transpose ? k % shape[0] * shape[1] + k / shape[0] : k] = bl_npy_number(&array, data + k * array.size);
done:
  bl_free(bytes);
  return status;
}

/* ---- some rows of a matrix ---- */

enum { SLAB = 1 << 18, HEAD_MAX = 1 << 16 };

/* The header at the start of an entry, whose other bytes stay to be read; false: not one of the usual kind. */
static bool read_head(zip_file_t *entry, char *bytes, bl_npy *array) {
  if (zip_fread(entry, bytes, 10) != 10) return false;
  size_t length = (size_t)(unsigned char)bytes[8] | (size_t)(unsigned char)bytes[9] << 8;
  if (memcmp(bytes, "\x93NUMPY\1", 7) != 0 || length + 10 > HEAD_MAX) return false;
  for (size_t have = 0; have < length;) {
    zip_int64_t got = zip_fread(entry, bytes + 10 + have, length - have);
    if (got <= 0) return false;
    have += (size_t)got;
  }
  return !bl_npy_parse(bytes, length + 10, array) && array->offset == length + 10;
}

/* All elements pass; those from..to-1 are kept. False: the entry is cut off, or longer, or damaged. */
static bool read_slabs(zip_file_t *entry, const bl_npy *array, size_t from, size_t to, char *slab, double *out) {
  size_t at = 0, part = 0;
  zip_int64_t got;
  while ((got = zip_fread(entry, slab + part, SLAB - part)) > 0) {
    size_t have = part + (size_t)got, whole = have / array->size;
    for (size_t k = from > at ? from - at : 0; k < whole && at + k < to; k++)
      out[at + k - from] = bl_npy_number(array, slab + k * array->size);
    at += whole;
    part = have - whole * array->size;
    memmove(slab, slab + whole * array->size, part);
  }
  return got == 0 && at == array->count && part == 0;
}

blica_status bl_npz_rows(blica_ctx *ctx, bl_npz_reader *npz, const char *name, size_t rows, size_t columns,
                         size_t first, size_t last, double *out) {
  blica_status status;
  const size_t shape[2] = {rows, columns};
  zip_int64_t index = locate(npz, name);
  zip_file_t *entry = NULL;
  BL_OWNED double *all = NULL;
  BL_OWNED char *bytes = NULL;
  bl_npy array;
  bool read = false;
  TRY(bl_alloc(ctx, SLAB > HEAD_MAX ? SLAB : HEAD_MAX, &bytes));
  entry = index < 0 ? NULL : zip_fopen_index(npz->archive, (zip_uint64_t)index, 0);
  if (entry && read_head(entry, bytes, &array) && !array.fortran && array.kind != 'U' && array.kind != 'S' &&
      array.ndim == 2 && array.shape[0] == rows && array.shape[1] == columns)
    read = read_slabs(entry, &array, first * columns, last * columns, bytes, out);
  if (read) goto done;
  TRY(bl_alloc(ctx, bl_mul(rows, columns),
               &all)); /* a layout that must be held whole; or the reason why it cannot be read */
  TRY(bl_npz_numbers(ctx, npz, name, 2, shape, all));
  memcpy(out, all + first * columns, (last - first) * columns * sizeof *out);
done:
  if (entry) zip_fclose(entry);
  return status;
}

static size_t put_character(uint32_t code, char *to) {
  if (code >= 0xdc80 && code <= 0xdcff) return to[0] = (char)(code - 0xdc00), 1; /* a byte that was not UTF-8 */
  if (code < 0x80) return to[0] = (char)code, 1;
  if (code < 0x800) return to[0] = (char)(0xc0 | code >> 6), to[1] = (char)(0x80 | (code & 63)), 2;
  if (code < 0x10000) {
    to[0] = (char)(0xe0 | code >> 12);
    to[1] = (char)(0x80 | (code >> 6 & 63));
    to[2] = (char)(0x80 | (code & 63));
    return 3;
  }
  to[0] = (char)(0xf0 | (code >> 18 & 7));
  to[1] = (char)(0x80 | (code >> 12 & 63));
  to[2] = (char)(0x80 | (code >> 6 & 63));
  to[3] = (char)(0x80 | (code & 63));
  return 4;
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
    if (code == 0) break;
    to += put_character(code, to);
  }
  *to = 0;
}

blica_status bl_npz_texts(blica_ctx *ctx, bl_npz_reader *npz, const char *name, int *count, char ***out) {
  blica_status status;
  bl_npy array;
  char *bytes, *text = NULL;
  *out = NULL;
  *count = 0;
  TRY(load(ctx, npz, name, &array, &bytes));
  if (array.kind != 'U' && array.kind != 'S')
    FAIL(ctx, BLICA_ERR_FORMAT, "%s: array %s does not hold text", npz->path, name);
  if (array.ndim > 1 || array.count > INT32_MAX)
    FAIL(ctx, BLICA_ERR_FORMAT, "%s: array %s has %d dimensions and %zu elements; a list of names is expected",
         npz->path, name, array.ndim, array.count);
  if (array.size == 0 && array.count > 1) /* any number of them would fit into no bytes */
    FAIL(ctx, BLICA_ERR_FORMAT, "%s: array %s announces %zu names of no length", npz->path, name, array.count);
  TRY(bl_alloc(ctx, array.size + 1, &text));
  TRY(bl_alloc(ctx, array.count, out));
  *count = (int)array.count;
  for (size_t k = 0; k < array.count; k++) {
    get_text(&array, bytes + array.offset + k * array.size, text);
    TRY(bl_copy_text(ctx, text, &(*out)[k]));
  }
done:
  bl_free(text);
  bl_free(bytes);
  if (status != BLICA_OK) {
    bl_free_texts(*out, *count);
    *out = NULL;
  }
  return status;
}
