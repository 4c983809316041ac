/* patterns.h - the distinct rows of a data set, grouped by segment (or not) and by which variables are
 * present. */
#ifndef BL_PATTERNS_H
#define BL_PATTERNS_H

#include "data/coding.h"

/* The distinct rows of some segments as bits, in the order of their first appearance. */
typedef struct {
  int bits, words;     /* of a row; words per half of a key */
  const int *column;   /* [bits] of the data; NULL: all in their order */
  int64_t rows, count; /* count: distinct ones */
  uint64_t *key;       /* [2 words, count] presence, then values */
  double *weight;      /* [count] rows that have it, or their weights' sum */
  int64_t *id;         /* [rows] key of each row, segment by segment */
} bl_row_keys;

/* Makes the keys of segments first..last-1 together; borrows column. Call bl_row_keys_free after a failure, too. */
blica_status bl_row_keys_make(blica_ctx *ctx, const blica_data *data, int first, int last, int bits, const int *column,
                              bl_row_keys *out);
void bl_row_keys_free(bl_row_keys *keys);
/* Bit i of words. */
static inline int bl_bit(const uint64_t *words, int i) {
  return (int)(words[i / 64] >> (i % 64) & 1);
}

/* Distinct rows of one segment that have the same variables present. */
typedef struct {
  int segment;    /* of the data; 0 when pooled */
  int n;          /* variables present, at least 1 */
  int *variable;  /* [n] which */
  int *cut;       /* [n] the variable's first cut among those of all variables */
  int *first;     /* [n+1] variable i has the cuts first[i]..first[i+1]-1 of the group; NULL: all have one */
  int64_t count;  /* distinct patterns */
  int64_t offset; /* of its first pattern among all */
  uint8_t *x;     /* count rows of n: levels, from 0 */
  double *weight; /* [count] rows that have the pattern, or their weights' sum */
} bl_group;

typedef struct {
  int groups;
  int cuts;        /* of all variables */
  bool ordinal;    /* some variable has more than two levels */
  bl_group *group; /* by segment */
  int64_t count;   /* patterns in all groups */
  int64_t rows;
  int64_t *row_pattern; /* [rows] pattern of each row, segment by segment; -1: nothing present */
} bl_patterns;

/* Finds the patterns of n variables; a coding gives their levels (NULL: two each). column[p] is the data's column for
 * bit p of the coding, or for variable p without a coding (NULL: column p); a group numbers its variables likewise.
 * pooled: merges equal rows of different segments, too. */
blica_status bl_patterns_make(blica_ctx *ctx, const blica_data *data, int n, const blica_coding *coding,
                              const int *column, bool pooled, bl_patterns **out);
void bl_patterns_free(bl_patterns *patterns);
BL_AUTO_FREE(bl_patterns)

#endif
