/* zip.h - what writer and reader of zip archives share: little-endian numbers, checksums, and zlib where it is. */
#ifndef BL_ZIP_H
#define BL_ZIP_H

#include <stddef.h>
#include <stdint.h>
#ifdef BLICA_ZLIB
#define ZLIB_CONST /* input is const */
#include <zlib.h>
#endif

enum { BL_ZIP_STORED = 0, BL_ZIP_DEFLATED = 8, BL_ZIP_BUFFER = 1 << 16 };
enum { BL_ZIP_LOCAL = 0x04034b50, BL_ZIP_CENTRAL = 0x02014b50, BL_ZIP_DESCRIPTOR = 0x08074b50 }; /* signatures */
enum { BL_ZIP_END = 0x06054b50, BL_ZIP_END64 = 0x06064b50, BL_ZIP_LOCATOR64 = 0x07064b50 };
#define BL_ZIP_SMALL 0xffffffffu /* sizes and places from here on are in 64-bit fields */

/* The number in the first `bytes` bytes at p, low byte first. */
static inline uint64_t bl_zip_get(const unsigned char *p, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; i++) value |= (uint64_t)p[i] << 8 * i;
  return value;
}

/* The checksum of zip (CRC-32 of ISO 3309, four bits at a time) after these bytes; it begins as 0. */
static inline uint32_t bl_zip_crc(uint32_t crc, const void *bytes, size_t count) {
  static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                     0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                     0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  const unsigned char *p = bytes;
  crc = ~crc;
  for (size_t i = 0; i < count; i++) {
    crc = table[(crc ^ p[i]) & 15] ^ crc >> 4;
    crc = table[(crc ^ p[i] >> 4) & 15] ^ crc >> 4;
  }
  return ~crc;
}

#endif
