/* npz_write.c - the archive is made in memory by libzip, then written like any other output file, so
 * that a failure leaves an old file intact. Entries are deflated (counts as doubles shrink about
 * fivefold) and carry a fixed date: the same content gives the same bytes. */
#include <errno.h>
#include <string.h>
#include <zip.h>

#include "base/npy.h"
#include "base/outfile.h"
#include "npz.h"

typedef struct owned {
  struct owned *next;
} owned; /* header of a block that lives as long as the writer */

struct bl_npz_writer {
  zip_t *archive;
  zip_source_t *bytes; /* the archive's own bytes */
  owned *blocks;
};

void bl_npz_free(bl_npz_writer *npz) {
  if (!npz) return;
  if (npz->archive) zip_discard(npz->archive);
  if (npz->bytes) zip_source_free(npz->bytes);
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
  blica_status status = bl_alloc(ctx, bytes + HEAD, &raw);
  if (status != BLICA_OK) return status;
  ((owned *)raw)->next = npz->blocks;
  npz->blocks = (owned *)raw;
  *(void **)out = raw + HEAD;
  return BLICA_OK;
}

blica_status bl_npz_begin(blica_ctx *ctx, bl_npz_writer **out) {
  blica_status status;
  bl_npz_writer *npz = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &npz));
  zip_error_t error;
  zip_error_init(&error);
  npz->bytes = zip_source_buffer_create(NULL, 0, 0, &error);
  if (npz->bytes) {
    npz->archive = zip_open_from_source(npz->bytes, ZIP_TRUNCATE, &error);
    if (npz->archive) zip_source_keep(npz->bytes);
  }
  zip_error_fini(&error);
  if (!npz->archive) FAIL(ctx, BLICA_ERR_MEMORY, "out of memory: a zip archive could not be started");
  *out = npz;
  npz = NULL;
done:
  bl_npz_free(npz);
  return status;
}

blica_status bl_npz_add(blica_ctx *ctx, bl_npz_writer *npz, const char *name, char kind, size_t size, int ndim,
                        const size_t *shape, const void *data) {
  blica_status status;
  bl_npy array = {.kind = kind, .size = size, .ndim = ndim, .count = 1};
  for (int d = 0; d < ndim; d++) {
    array.shape[d] = shape[d];
    array.count = bl_mul(array.count, shape[d]);
  }
  char *header, file[64];
  TRY(keep(ctx, npz, BL_NPY_HEADER_MAX, &header));
  zip_buffer_fragment_t part[2] = {{(zip_uint8_t *)header, bl_npy_header(&array, header)},
                                   {(zip_uint8_t *)data, bl_mul(array.count, size)}};
  zip_error_t error;
  zip_error_init(&error);
  errno = 0;
  zip_source_t *source = zip_source_buffer_fragment_create(part, array.count ? 2 : 1, 0, &error);
  zip_error_fini(&error);
  snprintf(file, sizeof file, "%s.npy", name);
  zip_int64_t index = source ? zip_file_add(npz->archive, file, source, ZIP_FL_ENC_UTF_8) : -1;
  if (index < 0 || zip_set_file_compression(npz->archive, (zip_uint64_t)index, ZIP_CM_DEFLATE, 1) != 0 ||
      zip_file_set_dostime(npz->archive, (zip_uint64_t)index, 0, 0x21, 0) != 0) {
    if (index < 0 && source) zip_source_free(source);
    FAIL_OUTSIDE(ctx, BLICA_ERR_INTERNAL, "array %s could not be added to the archive: %s", name, zip_strerror(npz->archive));
  }
done:
  return status;
}

blica_status bl_npz_add_scalar(blica_ctx *ctx, bl_npz_writer *npz, const char *name, char kind, double value) {
  blica_status status;
  char *p;
  TRY(keep(ctx, npz, 8, &p));
  int64_t integer = (int64_t)(kind == 'f' ? 0 : value);
  uint8_t truth = value != 0;
  memcpy(p, kind == 'f' ? (void *)&value : kind == 'b' ? (void *)&truth : (void *)&integer, kind == 'b' ? 1 : 8);
  TRY(bl_npz_add(ctx, npz, name, kind, kind == 'b' ? 1 : 8, 0, NULL, p));
done:
  return status;
}

/* One character of UTF-8 text; a byte that does not fit becomes U+DC00 + byte. */
static uint32_t next_character(const unsigned char **at) {
  static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
  const unsigned char *p = *at;
  int extra = p[0] < 0x80 ? 0 : p[0] >> 5 == 6 ? 1 : p[0] >> 4 == 14 ? 2 : p[0] >> 3 == 30 ? 3 : -1;
  uint32_t code = extra <= 0 ? p[0] : p[0] & (0x3fu >> extra);
  for (int k = 1; k <= extra; k++) {
    if (p[k] >> 6 != 2) extra = -1;
    else code = code << 6 | (p[k] & 63);
  }
  if (extra < 0 || code < least[extra] || code > 0x10ffff || code >> 11 == 27) { /* 27: surrogates */
    ++*at;
    return 0xdc00u + p[0];
  }
  *at += extra + 1;
  return code;
}

blica_status bl_npz_add_texts(blica_ctx *ctx, bl_npz_writer *npz, const char *name, int ndim, int count,
                              const char *const *texts) {
  blica_status status;
  size_t longest = 1, shape = (size_t)count;
  for (int i = 0; i < count; i++) {
    size_t length = 0;
    for (const unsigned char *p = (const unsigned char *)texts[i]; *p; length++) next_character(&p);
    if (length > longest) longest = length;
  }
  uint32_t *codes;
  TRY(keep(ctx, npz, bl_mul(bl_mul((size_t)count, longest), sizeof *codes), &codes));
  for (int i = 0; i < count; i++) {
    uint32_t *to = codes + (size_t)i * longest;
    for (const unsigned char *p = (const unsigned char *)texts[i]; *p;) *to++ = next_character(&p);
  }
  TRY(bl_npz_add(ctx, npz, name, 'U', 4 * longest, ndim, &shape, codes));
done:
  return status;
}

static blica_status copy_out(blica_ctx *ctx, zip_source_t *bytes, FILE *stream, const char *path) {
  enum { CHUNK = 1 << 16 };
  char buffer[CHUNK];
  zip_int64_t got = -1;
  errno = 0;
  if (zip_source_open(bytes) != 0) return bl_fail_outside(ctx, BLICA_ERR_INTERNAL, "%s: the archive cannot be read back", path);
  while ((got = zip_source_read(bytes, buffer, sizeof buffer)) > 0)
    if (fwrite(buffer, 1, (size_t)got, stream) != (size_t)got) break;
  zip_source_close(bytes);
  return got == 0 ? BLICA_OK : bl_fail_outside(ctx, BLICA_ERR_IO, "%s: cannot write: %s", path, strerror(errno ? errno : EIO));
}

blica_status bl_npz_write(blica_ctx *ctx, bl_npz_writer *npz, const char *path) {
  blica_status status;
  bl_outfile file = {0};
  errno = 0;
  if (zip_close(npz->archive) != 0)
    FAIL_OUTSIDE(ctx, BLICA_ERR_INTERNAL, "%s: the archive could not be made: %s", path, zip_strerror(npz->archive));
  npz->archive = NULL;
  if (!bl_outfile_open(&file, path)) FAIL(ctx, BLICA_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
  TRY(copy_out(ctx, npz->bytes, file.stream, path));
  if (!bl_outfile_commit(&file)) FAIL(ctx, BLICA_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
done:
  bl_outfile_discard(&file);
  return status;
}
