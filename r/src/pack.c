/* pack.c - matrices of R, dense or sparse by columns, to packed bits, some rows at a time. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "blica_r.h"

enum { CHUNK_VALUES = 1 << 22 };

static void free_packer(SEXP pointer) {
  blica_packer_free(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

static const char **utf8(SEXP texts) {
  if (Rf_isNull(texts)) return NULL;
  const R_xlen_t count = Rf_xlength(texts);
  const char **result = (const char **)R_alloc((size_t)count + 1, sizeof *result);
  for (R_xlen_t i = 0; i < count; i++) result[i] = Rf_translateCharUTF8(STRING_ELT(texts, i));
  return result;
}

/* levels (how many of each item) and their texts are NULL for plain 0 and 1. */
static SEXP begin(session *s, int n, SEXP names, SEXP labels, SEXP levels, SEXP texts) {
  blica_packer *packer;
  blica_status status = Rf_isNull(levels)
                            ? blica_pack_begin(s->ctx, n, utf8(names), &packer)
                            : blica_pack_begin_items(s->ctx, n, utf8(names), INTEGER_RO(levels), utf8(texts), &packer);
  SEXP held = PROTECT(R_MakeExternalPtr(packer, R_NilValue, R_NilValue));
  R_RegisterCFinalizerEx(held, free_packer, TRUE);
  finish(s, status);
  for (R_xlen_t i = 0; i < Rf_xlength(labels); i++) {
    int32_t id;
    finish(s, blica_pack_segment(s->ctx, packer, Rf_translateCharUTF8(STRING_ELT(labels, i)), &id));
  }
  UNPROTECT(1);
  return held;
}

static SEXP end(session *s, SEXP held) {
  blica_data *data;
  blica_packer *packer = R_ExternalPtrAddr(held);
  R_ClearExternalPtr(held); /* the end consumes it */
  blica_status status = blica_pack_end(s->ctx, packer, &data);
  SEXP result = PROTECT(wrap_data(data));
  finish(s, status);
  UNPROTECT(1);
  return result;
}

#if defined(__GNUC__) && !defined(__clang__)
#define VECTORISE __attribute__((optimize("O3"))) /* R builds packages with -O2, which leaves these loops scalar */
#else
#define VECTORISE
#endif

/* 0, 1 or missing for those values, 2 for any other. */
static inline int8_t code_int(int v) {
  return v == NA_INTEGER ? BLICA_MISSING : (unsigned)v <= 1 ? (int8_t)v : 2;
}
static inline int8_t code_real(double v) {
  return v == 0 ? 0 : v == 1 ? 1 : v != v ? BLICA_MISSING : 2;
}

VECTORISE static void code_ints(const int *from, int64_t count, int8_t *to) {
  for (int64_t e = 0; e < count; e++) to[e] = code_int(from[e]);
}

VECTORISE static void code_reals(const double *from, int64_t count, int8_t *to) {
  for (int64_t e = 0; e < count; e++) to[e] = code_real(from[e]);
}

/* Levels from encode_column, which are whole numbers from 0. */
VECTORISE static void code_levels(const int *from, int64_t count, int8_t *to) {
  for (int64_t e = 0; e < count; e++) to[e] = from[e] == NA_INTEGER ? BLICA_MISSING : (int8_t)from[e];
}

VECTORISE static int wrong_ints(const int *v, int64_t count) {
  int wrong = 0;
  for (int64_t e = 0; e < count; e++) wrong |= ((unsigned)v[e] > 1) & (v[e] != NA_INTEGER);
  return wrong;
}

VECTORISE static int wrong_reals(const double *v, int64_t count) {
  int64_t wrong = 0;
  for (int64_t e = 0; e < count; e++) wrong |= (v[e] != 0) & (v[e] != 1) & (v[e] == v[e]);
  return wrong != 0;
}

/* Whether a matrix of integers, logicals or doubles holds 0, 1 and NA only. */
SEXP blica_r_is_binary(SEXP x) {
  int64_t count = Rf_xlength(x);
  return Rf_ScalarLogical(!(TYPEOF(x) == REALSXP ? wrong_reals(REAL_RO(x), count) : wrong_ints(INTEGER_RO(x), count)));
}

enum { MOST_VALUES = 128, NO_VALUE = -MOST_VALUES };

/* Distances from `base`, NO_VALUE for NA. Returns whether one is MOST_VALUES or more. */
VECTORISE static int int_distances(const int *from, R_xlen_t count, int base, int8_t *to) {
  unsigned wrong = 0;
  for (R_xlen_t i = 0; i < count; i++) {
    const int missing = from[i] == NA_INTEGER;
    const unsigned above = (unsigned)from[i] - (unsigned)base;
    wrong |= (above + MOST_VALUES - 1 > 2 * MOST_VALUES - 2) & !missing;
    to[i] = (int8_t)(missing ? NO_VALUE : (int)above);
  }
  return wrong != 0;
}

/* The same for doubles, which must be whole numbers. */
VECTORISE static int real_distances(const double *from, R_xlen_t count, double base, int8_t *to) {
  int wrong = 0;
  for (R_xlen_t i = 0; i < count; i++) {
    const double above = from[i] - base;
    const int near = fabs(above) < MOST_VALUES, whole = near ? (int)above : NO_VALUE;
    wrong |= (!near | (base + whole != from[i])) & (from[i] == from[i]);
    to[i] = (int8_t)whole;
  }
  return wrong;
}

/* Distances of a column's numbers from the first that is not NA, which is *base. Returns 0 when they are not whole
 * numbers near each other. */
static int distances(SEXP x, R_xlen_t first, R_xlen_t count, double *base, int8_t *to) {
  R_xlen_t i = 0;
  if (TYPEOF(x) == REALSXP) {
    const double *from = REAL_RO(x) + first;
    while (i < count && ISNAN(from[i])) i++;
    *base = i < count ? from[i] : NA_REAL;
    return fabs(*base) < 2e9 && *base == (int)*base && !real_distances(from, count, *base, to);
  }
  const int *from = INTEGER_RO(x) + first;
  while (i < count && from[i] == NA_INTEGER) i++;
  *base = i < count ? from[i] : NA_REAL;
  return fabs(*base) < 2e9 && !int_distances(from, count, (int)*base, to);
}

/* The distinct numbers of the elements of x from `first` on, in order, and in `to` for each the index of its own from
 * 0, BLICA_MISSING for NA. R's NULL when they are not whole numbers that lie within 128 of each other. */
static SEXP whole_levels(SEXP x, R_xlen_t first, R_xlen_t count, int8_t *to) {
  int8_t place[2 * MOST_VALUES] = {0}, *at = place + MOST_VALUES; /* by distance */
  int levels = 0, low = 0, high = 0;
  double base;
  if (!distances(x, first, count, &base, to)) return R_NilValue;
  for (R_xlen_t i = 0; i < count; i++) at[to[i]] = 1;
  for (int v = NO_VALUE + 1; v < MOST_VALUES; v++)
    if (at[v]) levels++, low = v < low ? v : low, high = v > high ? v : high;
  if (high - low >= MOST_VALUES) return R_NilValue;
  SEXP values = Rf_allocVector(REALSXP, levels);
  levels = 0;
  for (int v = low; v <= high; v++)
    if (at[v]) REAL(values)[levels] = base + v, at[v] = (int8_t)levels++;
  at[NO_VALUE] = BLICA_MISSING;
  for (R_xlen_t i = 0; i < count; i++) to[i] = at[to[i]];
  return values;
}

/* Whether the elements of x are plain numbers. */
static int are_numbers(SEXP x) {
  return TYPEOF(x) == REALSXP || TYPEOF(x) == INTSXP;
}

/* A data frame or a matrix of plain whole numbers, each column with at least two levels: a matrix of bytes, which
 * blica_r_pack takes as they are, and a list of the distinct numbers of each column. Else NULL. */
SEXP blica_r_whole_frame(SEXP x) {
  const int matrix = Rf_isMatrix(x), n = matrix ? Rf_ncols(x) : Rf_length(x);
  const R_xlen_t rows = matrix ? Rf_nrows(x) : n ? Rf_xlength(VECTOR_ELT(x, 0)) : 0;
  SEXP code = PROTECT(Rf_allocMatrix(RAWSXP, (int)rows, n)), levels = PROTECT(Rf_allocVector(VECSXP, n));
  int usable = n > 0;
  for (int i = 0; i < n && usable; i++) {
    SEXP column = matrix ? x : VECTOR_ELT(x, i);
    usable = are_numbers(column) && (matrix || (!OBJECT(column) && Rf_xlength(column) == rows));
    if (!usable) break;
    SET_VECTOR_ELT(levels, i, whole_levels(column, matrix ? i * rows : 0, rows, (int8_t *)RAW(code) + i * rows));
    usable = Rf_length(VECTOR_ELT(levels, i)) > 1;
  }
  list_builder b = list_begin(2);
  list_add(&b, "code", code);
  list_add(&b, "levels", levels);
  SEXP result = list_end(&b);
  UNPROTECT(2);
  return usable ? result : R_NilValue;
}

/* Rows from..from+count of x as columns of bytes [count,n]. */
static void code_columns(SEXP x, int plain, int64_t from, int64_t count, int n, int64_t rows, int8_t *chunk) {
  for (int i = 0; i < n; i++)
    if (!plain)
      code_levels(INTEGER_RO(x) + from + i * rows, count, chunk + i * count);
    else if (TYPEOF(x) == REALSXP)
      code_reals(REAL_RO(x) + from + i * rows, count, chunk + i * count);
    else
      code_ints(INTEGER_RO(x) + from + i * rows, count, chunk + i * count);
}

/* x is a matrix of 0, 1, NA, of integers, logicals or doubles, or with levels a matrix of integers or bytes that are
 * levels from 0; segment holds ids from 0. */
SEXP blica_r_pack(SEXP context, SEXP x, SEXP segment, SEXP labels, SEXP names, SEXP levels, SEXP texts) {
  session *s = session_of(context);
  const int n = Rf_ncols(x);
  const int64_t rows = Rf_nrows(x), step = n > CHUNK_VALUES ? 1 : CHUNK_VALUES / (n > 0 ? n : 1);
  SEXP held = PROTECT(begin(s, n, names, labels, levels, texts));
  const int coded = TYPEOF(x) == RAWSXP;
  int8_t *chunk = coded ? NULL : (int8_t *)R_alloc((size_t)(step < rows ? step : rows) * (size_t)n, 1);
  if (coded)
    finish(s, blica_pack_columns(s->ctx, R_ExternalPtrAddr(held), rows, (const int8_t *)RAW_RO(x), INTEGER(segment)));
  for (int64_t from = 0; from < rows && !coded; from += step) {
    int64_t count = rows - from < step ? rows - from : step;
    code_columns(x, Rf_isNull(levels), from, count, n, rows, chunk);
    finish(s, blica_pack_columns(s->ctx, R_ExternalPtrAddr(held), count, chunk, INTEGER(segment) + from));
  }
  SEXP result = end(s, held);
  UNPROTECT(1);
  return result;
}

/* The slots of a dgCMatrix of zeros and ones, rows sorted within columns; NA is missing. */
SEXP blica_r_pack_sparse(SEXP context, SEXP dim, SEXP row, SEXP column, SEXP x, SEXP segment, SEXP labels, SEXP names) {
  session *s = session_of(context);
  const int n = INTEGER(dim)[1], *at_row = INTEGER(row), *first = INTEGER(column);
  const int64_t rows = INTEGER(dim)[0], step = n > CHUNK_VALUES ? 1 : CHUNK_VALUES / (n > 0 ? n : 1);
  SEXP held = PROTECT(begin(s, n, names, labels, R_NilValue, R_NilValue));
  int8_t *chunk = (int8_t *)R_alloc((size_t)(step < rows ? step : rows) * (size_t)n, 1);
  int *next = (int *)R_alloc((size_t)n, sizeof *next); /* per column, the first element not yet used */
  for (int i = 0; i < n; i++) next[i] = first[i];
  for (int64_t from = 0; from < rows; from += step) {
    int64_t count = rows - from < step ? rows - from : step;
    for (int64_t e = 0; e < count * n; e++) chunk[e] = 0;
    for (int i = 0; i < n; i++)
      for (; next[i] < first[i + 1] && at_row[next[i]] < from + count; next[i]++) {
        double v = REAL(x)[next[i]];
        if (!ISNAN(v) && v != 0 && v != 1) {
          const char *name = Rf_isNull(names) ? "" : Rf_translateCharUTF8(STRING_ELT(names, i));
          Rf_error("row %d, variable %d ('%s'): value %g is not 0, 1 or NA", at_row[next[i]] + 1, i + 1, name, v);
        }
        chunk[(at_row[next[i]] - from) * n + i] = ISNAN(v) ? BLICA_MISSING : (int8_t)v;
      }
    finish(s, blica_pack_rows(s->ctx, R_ExternalPtrAddr(held), count, chunk, INTEGER(segment) + from));
  }
  SEXP result = end(s, held);
  UNPROTECT(1);
  return result;
}

/* Rows in the order of the input, as an integer matrix with NA, and their segments from 1. */
SEXP blica_r_unpack(SEXP pointer) {
  const blica_data *data = data_of(pointer);
  const int n = data->n;
  SEXP x = PROTECT(Rf_allocMatrix(INTSXP, (int)data->rows, n)),
       segment = PROTECT(Rf_allocVector(INTSXP, (R_xlen_t)data->rows));
  int64_t *seen = (int64_t *)R_alloc((size_t)data->u, sizeof *seen);
  for (int s = 0; s < data->u; s++) seen[s] = 0;
  for (int64_t r = 0; r < data->rows; r++) {
    int s = data->row_segment[r];
    int64_t at = seen[s]++;
    INTEGER(segment)[r] = s + 1;
    for (int i = 0; i < n; i++) {
      int64_t word = i * data->words[s] + at / 64;
      int present = !data->present[s] || (data->present[s][word] >> (at % 64) & 1);
      INTEGER(x)[r + i * data->rows] = present ? (int)(data->ones[s][word] >> (at % 64) & 1) : NA_INTEGER;
    }
  }
  list_builder b = list_begin(4);
  list_add(&b, "x", x);
  list_add(&b, "segment", segment);
  list_add(&b, "variables", r_texts(data->variables, n));
  list_add(&b, "segments", r_texts(data->segments, data->u));
  SEXP result = list_end(&b);
  UNPROTECT(2);
  return result;
}

/* The cuts of a column of numbers at quantiles, for the labels of its levels. */
SEXP blica_r_cut_numbers(SEXP context, SEXP x) {
  session *s = session_of(context);
  double cut[BLICA_NUMBER_LEVELS];
  int cuts;
  finish(s, blica_cut_numbers(s->ctx, Rf_xlength(x), REAL_RO(x), cut, &cuts));
  SEXP result = Rf_allocVector(REALSXP, cuts);
  for (int l = 0; l < cuts; l++) REAL(result)[l] = cut[l];
  return result;
}

/* One round of a digest by splitmix64. */
static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) + UINT64_C(0x9e3779b97f4a7c15);
  hash = (hash ^ (hash >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  hash = (hash ^ (hash >> 27)) * UINT64_C(0x94d049bb133111eb);
  return hash ^ (hash >> 31);
}

static uint64_t mix_words(uint64_t hash, const uint64_t *words, int64_t count) {
  hash = mix(hash, words ? (uint64_t)count : UINT64_MAX);
  for (int64_t i = 0; words && i < count; i++) hash = mix(hash, words[i]);
  return hash;
}

static uint64_t mix_doubles(uint64_t hash, const double *x, int64_t count) {
  hash = mix(hash, x ? (uint64_t)count : UINT64_MAX);
  for (int64_t i = 0; x && i < count; i++) {
    uint64_t word;
    memcpy(&word, x + i, sizeof word);
    hash = mix(hash, word);
  }
  return hash;
}

static uint64_t mix_texts(uint64_t hash, char **texts, int count) {
  for (int i = 0; i < count; i++)
    for (const char *c = texts[i];; c++) {
      hash = mix(hash, (unsigned char)*c);
      if (!*c) break;
    }
  return hash;
}

/* A digest as text: equal for the same values in the same order, with the same segments, weights, replicates,
 * clusters and strata. */
SEXP blica_r_data_digest(SEXP pointer) {
  const blica_data *data = data_of(pointer);
  uint64_t hash = mix_texts(mix_texts(0, data->variables, data->n), data->segments, data->u);
  for (int s = 0; s < data->u; s++) {
    hash = mix(hash, (uint64_t)data->samples[s]);
    hash = mix_words(hash, data->ones[s], data->words[s] * data->n);
    hash = mix_words(hash, data->present[s], data->words[s] * data->n);
  }
  hash = mix_doubles(hash, data->weight, data->rows);
  hash = mix_doubles(hash, data->replicate, data->rows * data->replicates);
  hash = mix_doubles(hash, data->replicate_factor, data->replicates);
  for (int64_t r = 0; r < data->rows; r++) hash = mix(hash, data->cluster ? (uint64_t)data->cluster[r] : UINT64_MAX);
  for (int64_t r = 0; r < data->rows; r++) hash = mix(hash, data->stratum ? (uint64_t)data->stratum[r] : UINT64_MAX);
  char text[17];
  snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
  return Rf_mkString(text);
}
