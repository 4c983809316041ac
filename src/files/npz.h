/* npz.h - writing and reading .npz files (a zip of .npy arrays). */
#ifndef BL_NPZ_H
#define BL_NPZ_H

#include "base/base.h"

/* ---- writing: begin, add arrays, write; the file appears whole or not at all ---- */

typedef struct bl_npz_writer bl_npz_writer;

/* Begins the file with what counts and correlations have in common: format and version, names, exact, samples. */
blica_status bl_npz_begin_tables(blica_ctx *ctx, const char *path, const char *format, int n, char *const *variables,
                                 int u, char *const *segments, int exact, const double *samples, bl_npz_writer **out);
/* Row-major array of kind ('f', 'i', 'u', 'b') and bytes per element. */
blica_status bl_npz_add(blica_ctx *ctx, bl_npz_writer *npz, const char *name, char kind, size_t size, int ndim,
                        const size_t *shape, const void *data);
/* Fills row r of an array, all indices but the last counted through. */
typedef void (*bl_npz_row)(const void *user, size_t r, void *row);
/* An array whose rows are made while the file is written, so that it is never held in memory; without make, user is the
 * whole array. */
blica_status bl_npz_add_rows(blica_ctx *ctx, bl_npz_writer *npz, const char *name, char kind, size_t size, int ndim,
                             const size_t *shape, bl_npz_row make, const void *user);
/* An array without dimensions. */
blica_status bl_npz_add_scalar(blica_ctx *ctx, bl_npz_writer *npz, const char *name, char kind, double value);
/* The file appears whole or not at all. */
blica_status bl_npz_write(blica_ctx *ctx, bl_npz_writer *npz);
void bl_npz_writer_free(bl_npz_writer *npz);
BL_AUTO_FREE(bl_npz_writer)

/* ---- reading: declared sizes are checked before anything is allocated for them ---- */

typedef struct bl_npz_reader bl_npz_reader;

/* Reads the directory of the archive. */
blica_status bl_npz_open(blica_ctx *ctx, const char *path, bl_npz_reader **out);
bool bl_npz_has(const bl_npz_reader *npz, const char *name); /* whether there is an array of that name */
/* Numbers of any type and order as doubles in row-major order; fails unless the shape is this one. */
blica_status bl_npz_numbers(blica_ctx *ctx, bl_npz_reader *npz, const char *name, int ndim, const size_t *shape,
                            double *out);
/* Fails unless the entry is large enough to hold that many elements of one byte. */
blica_status bl_npz_expect(blica_ctx *ctx, bl_npz_reader *npz, const char *name, size_t count);
/* An array of strings as UTF-8; free with bl_free. */
blica_status bl_npz_texts(blica_ctx *ctx, bl_npz_reader *npz, const char *name, int *count, char ***out);
void bl_npz_reader_free(bl_npz_reader *npz);
BL_AUTO_FREE(bl_npz_reader)

#endif
