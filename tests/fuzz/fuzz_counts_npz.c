/* fuzz_counts_npz.c - pair counts as .npz. After a first byte that is odd the rest is the file; else it lists arrays,
 * each one byte for its name, two for its length, and its bytes, which are put into a valid archive: a checksum keeps
 * mutations of the file itself from coming far. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "counts_check.h"

enum { LONGEST = 1 << 16, ENTRIES = 16 };
static const char *const names[] = {"format", "version", "variables", "segments", "samples", "exact",
                                    "ones",   "present", "n11",       "n10",      "n01",     "n00"};
static uint8_t out[LONGEST];
static size_t used;

static void put(uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) out[used++] = (uint8_t)(value >> 8 * i);
}

static void put_bytes(const void *bytes, size_t count) {
  if (count) memcpy(out + used, bytes, count);
  used += count;
}

/* The part that the local header and the directory share: versions, method (stored), sizes, lengths. */
static void put_entry(const char *name, uint32_t crc, size_t size) {
  put(20, 2), put(0, 2), put(0, 2), put(0, 4);
  put(crc, 4), put(size, 4), put(size, 4), put(strlen(name), 2), put(0, 2);
}

static size_t archive(fuzz_bytes *b) {
  struct {
    char name[32];
    uint32_t crc;
    size_t size, offset;
  } entry[ENTRIES];
  int count = 0;
  for (used = 0; b->left && count < ENTRIES; count++) {
    const char *name = names[fuzz_byte(b) % (sizeof names / sizeof *names)];
    size_t size = (size_t)fuzz_byte(b) << 8;
    size |= fuzz_byte(b);
    if (size > b->left) size = b->left;
    if (used + size + 4096 > LONGEST) break;
    strcpy(entry[count].name, name);
    strcat(entry[count].name, ".npy");
    entry[count].crc = (uint32_t)crc32(0, b->at, (uInt)size);
    entry[count].size = size;
    entry[count].offset = used;
    put(0x04034b50, 4), put_entry(entry[count].name, entry[count].crc, size);
    put_bytes(entry[count].name, strlen(entry[count].name));
    put_bytes(b->at, size);
    b->at += size;
    b->left -= size;
  }
  size_t start = used;
  for (int i = 0; i < count; i++) {
    put(0x02014b50, 4), put(20, 2), put_entry(entry[i].name, entry[i].crc, entry[i].size);
    put(0, 2), put(0, 2), put(0, 2), put(0, 4), put(entry[i].offset, 4);
    put_bytes(entry[i].name, strlen(entry[i].name));
  }
  size_t length = used - start;
  put(0x06054b50, 4), put(0, 4), put((uint64_t)count, 2), put((uint64_t)count, 2), put(length, 4), put(start, 4),
      put(0, 2);
  return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_bytes b = {data, size};
  blica_counts *counts;
  bool whole = fuzz_byte(&b) & 1;
  const char *path = whole ? fuzz_file("in.npz", b.at, b.left) : fuzz_file("in.npz", out, archive(&b));
  blica_status status = blica_counts_load(fuzz_ctx(), path, &counts);
  if (status == BLICA_OK)
    counts_check(counts);
  else
    fuzz_check_failure(status, counts);
  blica_counts_free(counts);
  return 0;
}
