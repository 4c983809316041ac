/* npy.h - headers of NumPy's .npy format, versions 1 to 3 (NEP 1). Linked into the library and the
 * program; works on bytes in memory, allocates nothing. */
#ifndef BL_NPY_H
#define BL_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BL_NPY_DIMENSIONS = 8, BL_NPY_HEADER_MAX = 512 };

typedef struct {
  char kind;    /* 'b' bool, 'i' integer, 'u' unsigned, 'f' float, 'U' UCS-4 text, 'S' bytes */
  size_t size;  /* bytes per element; of 'U' four times the characters */
  bool fortran; /* first index fastest */
  bool swapped; /* the bytes of an element are in the other order than this machine's */
  int ndim;
  size_t shape[BL_NPY_DIMENSIONS];
  size_t count;  /* product of the shape */
  size_t offset; /* of the first element, from the start of the file */
} bl_npy;

/* Bytes of the header that begins with these 12, the start of an array of any version. */
size_t bl_npy_header_length(const void *bytes);
/* Reads the header at the start of bytes. Returns NULL, or the reason why not. Sizes are checked
 * against overflow, not against length: the elements need not be there yet. */
const char *bl_npy_parse(const void *bytes, size_t length, bl_npy *out);

/* Writes a header (version 1.0, padded to 64 bytes) for the kind, size, fortran, ndim and shape of
 * array. Returns its length. */
size_t bl_npy_header(const bl_npy *array, char out[BL_NPY_HEADER_MAX]);

/* Element at byte address p as a number; kinds b, i, u, f only. */
double bl_npy_number(const bl_npy *array, const void *p);

#endif
