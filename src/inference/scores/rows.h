/* rows.h - the distinct rows of the data in the order of a model's items and segments. */
#ifndef BL_ROWS_H
#define BL_ROWS_H

#include "counts/item_sets.h"
#include "data/coding.h"
#include "model/model.h"

typedef struct {
  int n, u;
  blica_coding *coding; /* levels of the items; NULL: 0 and 1 */
  char **columns;       /* [planes] names of the counts' columns: the items, or one for each level but the lowest */
  char **segments;      /* [u] */
  int planes;
  int *item;          /* [planes] of each column, */
  int8_t *level;      /* [planes] and the level from which on it is 1 */
  int64_t count;      /* distinct rows, counted in each segment */
  int64_t *first;     /* [u+1] segment s has the patterns first[s] .. first[s+1]-1 */
  int8_t *x;          /* [n,count] levels from 0, or BLICA_MISSING */
  double *weight;     /* [count] sum of the weights of the rows that have the pattern: their number without weights */
  double *square;     /* [count] sum of the squares of these weights */
  int64_t *total;     /* [u] rows with any value */
  double *size;       /* [u] sum of their weights */
  bool complete;      /* no value is missing */
  bool unordered;     /* the order of rows tells nothing */
  bl_item_sets *sets; /* the columns that distinct rows have, without rows; NULL: no value is missing */
  int *set;           /* [count] which of its segment's a row has; -1: they are not listed */
  int64_t *row; /* [row_first[u]] pattern of each row, segment by segment; in the order of the data, or by cluster */
  int64_t *row_first;  /* [u+1] segment s has the rows row_first[s] .. row_first[s+1]-1 */
  double *row_weight;  /* [row_first[u]] NULL: all are 1 */
  int32_t *cluster;    /* [row_first[u]] NULL: the data have no clusters */
  int32_t *stratum;    /* [row_first[u]] as they are read; NULL: each segment is one stratum */
  int64_t *unit_first; /* [unit_of[u]+1] units are runs of rows, such as clusters, that are independent of each other;
                          NULL: each row is one */
  int64_t *unit_of;    /* [u+1] segment s has the units unit_of[s] .. unit_of[s+1]-1 */
  int64_t *peers;      /* [2,units] the first unit of the stratum of a unit, and the first after it, at least two; units
                          of a stratum follow one another. NULL: each segment is one stratum */
  int replicates;      /* sets of replicate weights; 0: none */
  double *replicate;   /* [count,replicates] sums of them, as weight */
  const double *replicate_factor; /* [replicates] the data's */
} bl_rows;

static inline double bl_row_weight(const bl_rows *rows, int64_t r) {
  return rows->row_weight ? rows->row_weight[r] : 1;
}

/* The rows *from .. *to-1 of a unit. */
static inline void bl_unit_rows(const bl_rows *rows, int64_t unit, int64_t *from, int64_t *to) {
  *from = rows->unit_first ? rows->unit_first[unit] : unit;
  *to = rows->unit_first ? rows->unit_first[unit + 1] : unit + 1;
}

/* Levels of item i. */
static inline int bl_levels(const blica_coding *coding, int i) {
  return bl_plane(coding, i + 1) - bl_plane(coding, i) + 1;
}

/* The number of statistics in the margins of ordinal items beside their thresholds: changes of their scales over u
 * segments. */
static inline int64_t bl_scale_statistics(const blica_coding *coding, int n, int u) {
  int64_t count = 0;
  for (int i = 0; i < n; i++) count += bl_levels(coding, i) > 2 ? u - 1 : 0;
  return count;
}

/* All items and segments of the data, in their order. */
blica_status bl_rows_of(blica_ctx *ctx, const blica_data *data, bl_rows **out);
/* In the order of a model; values of an item with a row of A of its own in the segment are missing. Fails with
 * BLICA_ERR_DATA when model and data do not have the same items, levels and segments. */
blica_status bl_rows_make(blica_ctx *ctx, const blica_model *model, const blica_data *data, bl_rows **out);
void bl_rows_free(bl_rows *rows);
BL_AUTO_FREE(bl_rows)

/* Pair counts of all columns when weight[p] rows have pattern p. counts comes from bl_rows_counts_create. */
void bl_rows_count(const bl_rows *rows, const double *weight, blica_counts *counts);
/* Counts of the shape that bl_rows_count fills; zeros. */
blica_status bl_rows_counts_create(blica_ctx *ctx, const bl_rows *rows, blica_counts **out);
/* The rows themselves, for methods that need them. */
blica_status bl_rows_data(blica_ctx *ctx, const bl_rows *rows, const double *weight, blica_data **out);

/* Adds w rows of levels x [n] to segment s. */
void bl_rows_add(const bl_rows *rows, const int8_t *x, double w, int s, blica_counts *counts);

/* Counts of one segment, "all", with the rows of all. */
blica_status bl_rows_pool(blica_ctx *ctx, const blica_counts *counts, blica_counts **out);

/* Makes runs of about `length` adjacent rows of a segment the units; the rows have neither clusters nor strata. */
blica_status bl_rows_block(blica_ctx *ctx, bl_rows *rows, int64_t length);
/* The number of units of segment s, which begin at *first. */
int64_t bl_units(const bl_rows *rows, int s, int64_t *first);
/* The number of strata of segment s. */
int64_t bl_strata(const bl_rows *rows, int s);

/* Bootstrap draw number `draw`: each segment's units drawn with replacement. Of a stratum with m units m - 1 are drawn,
 * which weigh m / (m - 1) times as much (Rao and Wu, JASA 83, 1988). Stream (seed, draw, segment). */
void bl_rows_draw(const bl_rows *rows, uint64_t seed, int64_t draw, double *weight);

/* A copy of the counts with columns and segments in the order of the model. Fails with BLICA_ERR_DATA, naming the
 * first name that is missing, when the two do not have the same columns and the same segments. */
blica_status bl_align_counts(blica_ctx *ctx, const blica_model *model, const blica_counts *counts, blica_counts **out);

#endif
