/* matrix_io.h - a mixing matrix from model.json or from a table of numbers. */
#ifndef MATRIX_IO_H
#define MATRIX_IO_H

#include "byte_source.h"

typedef struct {
  int n, k;
  double *x; /* [n,k]; free() */
} matrix;

/* Text: separated by commas, semicolons, tabs or blanks. A header row and a column of row names are
 * recognised and left out. On failure message holds the reason. */
blica_status matrix_read(blica_ctx *ctx, const char *path, matrix *out, char message[SOURCE_MESSAGE]);

#endif
