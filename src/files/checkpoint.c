/* checkpoint.c - the file of a checkpoint.
 *
 *     8 bytes  "blicaCKP"
 *     u32      format version
 *     u32      0x01020304 in the byte order of the machine that wrote it; all numbers are in that order
 *     u64      size of the file
 *     u64      number of sections
 *     sections: u32 length of the name, u32 what is kept, u64 size, name, bytes
 *     u64      digest of all before */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "files/checkpoint.h"
#include "base/hash.h"
#include "files/outfile.h"

enum { VERSION = 1, ORDER = 0x01020304 };
static const char MAGIC[8] = {'b', 'l', 'i', 'c', 'a', 'C', 'K', 'P'};

typedef struct {
  char magic[8];
  uint32_t version, order;
  uint64_t size, sections;
} head;

typedef struct {
  uint32_t name, kept;
  uint64_t size;
} section_head;

static bool put(FILE *stream, uint64_t *digest, const void *bytes, size_t count) {
  *digest = bl_digest(*digest, bytes, count);
  return count == 0 || fwrite(bytes, 1, count, stream) == count;
}

/* Writes the head and all sections, then their digest; false on a failed write. */
static bool put_all(FILE *stream, const bl_checkpoint *c) {
  uint64_t digest = 0;
  head h = {.version = VERSION, .order = ORDER, .size = sizeof h + sizeof digest, .sections = c->sections};
  memcpy(h.magic, MAGIC, sizeof MAGIC);
  for (size_t i = 0; i < c->sections; i++)
    h.size += sizeof(section_head) + strlen(c->section[i].name) + c->section[i].size;
  bool fine = put(stream, &digest, &h, sizeof h);
  for (size_t i = 0; i < c->sections && fine; i++) {
    const bl_section *s = &c->section[i];
    section_head sh = {(uint32_t)strlen(s->name), (uint32_t)s->kept, s->size};
    fine = put(stream, &digest, &sh, sizeof sh) && put(stream, &digest, s->name, sh.name) &&
           put(stream, &digest, s->bytes, s->size);
  }
  return fine && fwrite(&digest, sizeof digest, 1, stream) == 1;
}

blica_status bl_checkpoint_add(blica_ctx *ctx, bl_checkpoint *c, const char *name, bl_section **out) {
  if (c->sections == c->capacity) {
    size_t capacity = c->capacity ? 2 * c->capacity : 16;
    MUST(bl_resize(ctx, c->sections, capacity, &c->section));
    c->capacity = capacity;
  }
  *out = &c->section[c->sections++];
  memset(*out, 0, sizeof **out);
  snprintf((*out)->name, sizeof(*out)->name, "%s", name);
  return BLICA_OK;
}

static void identify(const char *path, uint64_t out[3]) {
  struct stat info;
  memset(out, 0, 3 * sizeof *out);
  if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return;
  out[0] = (uint64_t)info.st_dev, out[1] = (uint64_t)info.st_ino, out[2] = (uint64_t)info.st_mtime;
}

void bl_checkpoint_mark(bl_checkpoint *c, const char *path) {
  identify(path, c->written);
}

bool bl_checkpoint_write(bl_checkpoint *c, const char *path) {
  bl_outfile file;
  uint64_t found[3];
  identify(path, found);
  if (found[1] && memcmp(found, c->written, sizeof found) != 0) {
    errno = EEXIST;
    return false;
  }
  if (!bl_outfile_open(&file, path)) return false;
  errno = 0;
  if (!put_all(file.stream, c)) {
    if (!errno) errno = EIO;
    bl_outfile_discard(&file);
    return false;
  }
  if (!bl_outfile_commit(&file)) return false;
  bl_checkpoint_mark(c, path);
  return true;
}

blica_status bl_checkpoint_bytes(blica_ctx *ctx, const char *path, unsigned char **bytes, uint64_t *size, bool *found) {
  blica_status status = BLICA_OK;
  struct stat info;
  *bytes = NULL, *size = 0;
  FILE *stream = fopen(path, "rb");
  *found = stream || errno != ENOENT;
  if (!*found) return BLICA_OK;
  if (!stream || fstat(fileno(stream), &info) != 0)
    FAIL(ctx, BLICA_ERR_IO, "checkpoint '%s' cannot be read: %s", path, strerror(errno));
  if (!S_ISREG(info.st_mode)) FAIL(ctx, BLICA_ERR_IO, "checkpoint '%s' is not a regular file; name another", path);
  *size = (uint64_t)info.st_size;
  TRY(bl_alloc(ctx, *size + 1, bytes));
  if (fread(*bytes, 1, *size, stream) != *size)
    FAIL(ctx, BLICA_ERR_IO, "checkpoint '%s' cannot be read: %s", path,
         ferror(stream) ? strerror(errno) : "it changes");
done:
  if (stream) fclose(stream);
  if (status != BLICA_OK) bl_free(bl_take(bytes));
  return status;
}

/* The checks that need no trust in the content, so that they can say what is wrong. */
static blica_status check_head(blica_ctx *ctx, const char *path, const unsigned char *bytes, uint64_t size, head *h) {
  if (size >= sizeof MAGIC && memcmp(bytes, MAGIC, sizeof MAGIC) != 0)
    return bl_fail(ctx, BLICA_ERR_FORMAT, "'%s' is not a checkpoint of blica", path);
  if (size < sizeof *h + sizeof(uint64_t))
    return bl_fail(ctx, BLICA_ERR_FORMAT, "checkpoint '%s' is cut short: it has %llu bytes", path,
                   (unsigned long long)size);
  memcpy(h, bytes, sizeof *h);
  if (h->order != ORDER)
    return bl_fail(ctx, BLICA_ERR_FORMAT, "checkpoint '%s' is damaged, or was made by a machine of another byte order",
                   path);
  if (h->version != VERSION)
    return bl_fail(ctx, BLICA_ERR_FORMAT, "checkpoint '%s' has format version %u; this program reads version %d", path,
                   (unsigned)h->version, VERSION);
  if (h->size != size)
    return bl_fail(ctx, BLICA_ERR_FORMAT, "checkpoint '%s' is damaged: it has %llu bytes and should have %llu", path,
                   (unsigned long long)size, (unsigned long long)h->size);
  return BLICA_OK;
}

/* The digest is taken as it was written: piece by piece. */
blica_status bl_checkpoint_parse(blica_ctx *ctx, const char *path, const unsigned char *bytes, uint64_t size,
                                 bl_checkpoint *c) {
  head h;
  uint64_t stored;
  MUST(check_head(ctx, path, bytes, size, &h));
  const unsigned char *at = bytes + sizeof h, *end = bytes + size - sizeof stored;
  uint64_t digest = bl_digest(0, bytes, sizeof h), left = h.sections;
  for (section_head sh; left > 0 && (size_t)(end - at) >= sizeof sh; left--) {
    bl_section *s;
    char name[BL_STAGE_NAME] = "";
    memcpy(&sh, at, sizeof sh);
    digest = bl_digest(digest, at, sizeof sh);
    at += sizeof sh;
    if (sh.name >= BL_STAGE_NAME || sh.name > (size_t)(end - at) || sh.size > (size_t)(end - at) - sh.name) break;
    memcpy(name, at, sh.name);
    MUST(bl_checkpoint_add(ctx, c, name, &s));
    MUST(bl_alloc(ctx, sh.size, &s->bytes));
    memcpy(s->bytes, at + sh.name, sh.size);
    s->size = sh.size;
    s->kept = (bl_stage_kept)sh.kept;
    digest = bl_digest(bl_digest(digest, at, sh.name), s->bytes, sh.size);
    at += sh.name + sh.size;
  }
  memcpy(&stored, end, sizeof stored);
  if (left == 0 && at == end && stored == digest) return BLICA_OK;
  while (c->sections > 0) bl_free(c->section[--c->sections].bytes);
  bl_free(bl_take(&c->section));
  c->capacity = 0;
  return bl_fail(ctx, BLICA_ERR_FORMAT, "checkpoint '%s' is damaged: its checksum does not agree", path);
}
