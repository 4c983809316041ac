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
static blica_status entry_size(blica_ctx *ctx, bl_npz_reader *npz, const char *name, size_t *size) {
  zip_stat_t info;
  const zip_uint64_t wanted = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
  const zip_int64_t index = locate(npz, name);
  if (index < 0) return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: array %s is missing", npz->path, name);
  if (zip_stat_index(npz->archive, (zip_uint64_t)index, 0, &info) != 0 || (info.valid & wanted) != wanted)
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: the size of array %s is not known", npz->path, name);
  if (info.comp_size > npz->file_size || info.size / 1100 > info.comp_size + 1)
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: array %s claims %llu bytes, more than the file can hold", npz->path,
                   name, (unsigned long long)info.size);
  *size = (size_t)info.size;
  return BLICA_OK;
}

blica_status bl_npz_expect(blica_ctx *ctx, bl_npz_reader *npz, const char *name, size_t count) {
  size_t size = 0;
  blica_status status = entry_size(ctx, npz, name, &size);
  if (status == BLICA_OK && size < count)
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: array %s has %zu bytes, too few for %zu elements", npz->path, name, size,
                   count);
  return status;
}

/* ---- an array: its header, then its elements from the first to the last ---- */

enum { SLAB = 1 << 18, HEAD_MAX = 1 << 17 }; /* bytes that are held at a time */

typedef struct {
  const char *path, *name;
  zip_file_t *file;
  size_t size, have; /* bytes of the entry, and of them read */
  bl_npy array;
} entry;

/* The next count bytes; the checksum is verified once the last were read. */
static blica_status read_bytes(blica_ctx *ctx, entry *e, char *to, size_t count) {
  zip_int64_t got = e->file ? 1 : -1;
  char extra;
  if (e->file) errno = 0; /* else it says why the entry could not be opened */
  for (size_t end = e->have + count; e->have < end && got > 0; to += got) {
    got = zip_fread(e->file, to, end - e->have);
    if (got > 0) e->have += (size_t)got, count -= (size_t)got;
  }
  if (count == 0 && e->have == e->size) got = zip_fread(e->file, &extra, 1) == 0 ? 1 : -1;
  if (count == 0 && got > 0) return BLICA_OK;
  return bl_fail_outside(ctx, BLICA_ERR_FORMAT, "%s: array %s is damaged or cut off (%zu of %zu bytes could be read)",
                         e->path, e->name, e->have, e->size);
}

/* Reads the header, and checks that as many bytes follow as it announces. */
static blica_status open_entry(blica_ctx *ctx, bl_npz_reader *npz, const char *name, entry *e) {
  enum { FIRST = 12 }; /* bytes with the length of the header, of every version */
  BL_OWNED char *head = NULL;
  *e = (entry){.path = npz->path, .name = name};
  MUST(entry_size(ctx, npz, name, &e->size));
  MUST(bl_alloc(ctx, HEAD_MAX, &head));
  errno = 0;
  e->file = zip_fopen_index(npz->archive, (zip_uint64_t)locate(npz, name), 0);
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
  blica_status status;
  entry e;
  BL_OWNED char *slab = NULL;
  TRY(open_entry(ctx, npz, name, &e));
  const bl_npy *array = &e.array;
  if (array->kind == 'U' || array->kind == 'S')
    FAIL(ctx, BLICA_ERR_FORMAT, "%s: array %s holds text, not numbers", npz->path, name);
  bool same = array->ndim == ndim;
  size_t expected = 1;
  for (int d = 0; d < ndim; d++) {
    same = same && array->shape[d] == shape[d];
    expected = bl_mul(expected, shape[d]);
  }
  if (!same)
    FAIL(ctx, BLICA_ERR_FORMAT,
         "%s: array %s has %d dimensions and %zu elements; %d dimensions and %zu elements are expected", npz->path,
         name, array->ndim, array->count, ndim, expected);
  TRY(bl_alloc(ctx, SLAB, &slab));
  const bool transpose = array->fortran && ndim == 2;
  for (size_t first = 0, step = SLAB / array->size; first < array->count; first += step) {
    const size_t count = array->count - first < step ? array->count - first : step;
    TRY(read_bytes(ctx, &e, slab, count * array->size));
    for (size_t k = 0; k < count; k++) {
      const size_t at = transpose ? (first + k) % shape[0] * shape[1] + (first + k) / shape[0] : first + k;
      out[at] = bl_npy_number(array, slab + k * array->size);
    }
  }
done:
  if (e.file) zip_fclose(e.file);
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
  entry e;
  BL_OWNED char *bytes = NULL, *text = NULL;
  *out = NULL;
  *count = 0;
  TRY(open_entry(ctx, npz, name, &e));
  const bl_npy *array = &e.array;
  if (array->kind != 'U' && array->kind != 'S')
    FAIL(ctx, BLICA_ERR_FORMAT, "%s: array %s does not hold text", npz->path, name);
  if (array->ndim > 1 || array->count > INT32_MAX)
    FAIL(ctx, BLICA_ERR_FORMAT, "%s: array %s has %d dimensions and %zu elements; a list of names is expected",
         npz->path, name, array->ndim, array->count);
  if (array->size == 0 && array->count > 1) /* any number of them would fit into no bytes */
    FAIL(ctx, BLICA_ERR_FORMAT, "%s: array %s announces %zu names of no length", npz->path, name, array->count);
  TRY(bl_alloc(ctx, array->size, &bytes));
  TRY(bl_alloc(ctx, array->size + 1, &text));
  TRY(bl_alloc(ctx, array->count, out));
  *count = (int)array->count;
  for (size_t k = 0; k < array->count; k++) {
    TRY(read_bytes(ctx, &e, bytes, array->size));
    get_text(array, bytes, text);
    TRY(bl_copy_text(ctx, text, &(*out)[k]));
  }
done:
  if (e.file) zip_fclose(e.file);
  if (status != BLICA_OK) {
    bl_free_texts(*out, *count);
    *out = NULL;
  }
  return status;
}
