/* blica.h - independent component analysis of binary and ordinal data. A complete program:
 *
 *     #include <blica.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *       blica_ctx *ctx;
 *       blica_data *data = NULL;
 *       blica_model *model = NULL;
 *       blica_simulate_options draw = blica_simulate_options_default();
 *       blica_fit_options how = blica_fit_options_default();
 *       draw.variables = 10, draw.sources = 2; // your own table: blica_pack
 *       how.sources = 2;
 *       if (blica_ctx_create(&ctx) != BLICA_OK) return 1;
 *       int failed = blica_simulate(ctx, &draw, NULL, &data, NULL) != BLICA_OK ||
 *                    blica_fit(ctx, &(blica_input){.data = data}, &how, &model) != BLICA_OK;
 *       if (failed) fprintf(stderr, "%s\n", blica_message(ctx));
 *       for (int i = 0; model && i < model->n; i++) // the mixing matrix, a row for each item
 *         printf("%-8s %6.2f %6.2f\n", model->variables[i], model->mixing[i], model->mixing[i + model->n]);
 *       blica_model_free(model);
 *       blica_data_free(data);
 *       blica_ctx_free(ctx);
 *       return failed;
 *     }
 *
 * The verbs, each from one object to the next:
 *
 *     rows --pack--> data --count--> counts --correlate--> cor --fit--> model --sources, loglik, assess--> results
 *
 * The model (Hyttinen, Barin-Pacela and Hyvarinen, UAI 2022). In segment s the k sources are z ~ N(mu_s, diag(v_s)),
 * and y = A z has the same mixing matrix A in all segments. A binary item is 1 with probability Phi(sqrt(c) y_i -
 * tau_i), where c is pi/8 by default and the cut tau_i of the item is the same in all segments (0 in the paper). An
 * ordinal item has a cut for each level but the lowest and reaches level l with probability Phi(sqrt(c) y_i - tau_il).
 * Because v_s changes over segments, A is identified up to the order, sign and scale of its columns.
 *
 * Conventions. N rows, n items (variables), k sources, u segments; s is a segment, i and j are items. Matrices are
 * column-major with their shape in a comment, as in [n,k]; planes are the columns of all items (blica_coding). Calls
 * return a status. On failure outputs are NULL and blica_message() names the thing, its value and what to do. Inputs
 * are borrowed for the call; the caller owns outputs and releases them with their _free function, which accepts NULL.
 * The library allocates all structs but options, blica_table and blica_input; do not change their fields. Objects do
 * not change once they are made, except counts that are added to, flipped or renamed. The library never prints, exits,
 * installs signal handlers or reads the environment. A context serves one thread at a time; contexts are independent.
 */
#ifndef BLICA_H
#define BLICA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BLICA_API __attribute__((visibility("default")))
#else
#define BLICA_API
#endif

/* ------------------------------------------------------------------ status and context */

typedef enum {
  BLICA_OK = 0,
  BLICA_ERR_MEMORY,      /* an allocation failed, or a size does not fit */
  BLICA_ERR_ARGUMENT,    /* a parameter is out of its range, or the call makes no sense */
  BLICA_ERR_DATA,        /* the data cannot be used as they are */
  BLICA_ERR_IO,          /* a file cannot be opened, read or written */
  BLICA_ERR_FORMAT,      /* a file's content is not what its format says */
  BLICA_ERR_NUMERIC,     /* a numerical method broke down */
  BLICA_ERR_INTERRUPTED, /* the poll callback asked to stop before there was anything to return */
  BLICA_ERR_INTERNAL     /* a defect of the library */
} blica_status;

/* The version of this header, for the preprocessor; blica_version() is that of the library in use. */
#define BLICA_VERSION "1.0.0"
#define BLICA_VERSION_MAJOR 1
#define BLICA_VERSION_MINOR 0
#define BLICA_VERSION_PATCH 0
typedef struct blica_ctx blica_ctx;
/* The progress of a long call. */
typedef struct {
  const char *stage; /* "count", "correlate", "fit", ... */
  double fraction;   /* finished part in [0,1]; negative: unknown */
  double objective;  /* best so far while fitting, else NaN */
  int start;         /* running start, from 0 */
  int64_t iteration;
} blica_progress;
/* Called often during long calls, from the thread that made the call. Return non-zero to stop: a fit then
 * returns the best model so far, other calls fail with BLICA_ERR_INTERRUPTED. */
typedef int (*blica_poll_fn)(const blica_progress *progress, void *user);
/* Receives each warning, one sentence without a newline. */
typedef void (*blica_warn_fn)(const char *text, void *user);
/* Allocation hook with the semantics of realloc; size 0 frees. */
typedef void *(*blica_realloc_fn)(void *old, size_t size, void *user);
/* Several processes that work as one: blica_ranks.h, and blica_mpi.h for MPI. */
typedef struct blica_comm blica_comm;
typedef enum { BLICA_SIMD_AUTO = 0, BLICA_SIMD_SCALAR, BLICA_SIMD_AVX2, BLICA_SIMD_AVX512 } blica_simd;

BLICA_API const char *blica_version(void);                    /* of the library, as in "1.2.0"; static */
BLICA_API const char *blica_status_name(blica_status status); /* static text; never NULL */
BLICA_API blica_status blica_ctx_create(blica_ctx **out);     /* a context with malloc and free */
/* A context whose memory comes from hook, which gets user. */
BLICA_API blica_status blica_ctx_create_with(blica_realloc_fn hook, void *user, blica_ctx **out);
BLICA_API void blica_ctx_free(blica_ctx *ctx);
BLICA_API const char *blica_message(const blica_ctx *ctx);                     /* of the last failure; never NULL */
BLICA_API void blica_set_threads(blica_ctx *ctx, int threads);                 /* 0: as many as there are cores */
BLICA_API int blica_threads(const blica_ctx *ctx);                             /* the most that a call uses */
BLICA_API void blica_set_poll(blica_ctx *ctx, blica_poll_fn poll, void *user); /* NULL: no polling */
BLICA_API void blica_set_warn(blica_ctx *ctx, blica_warn_fn warn, void *user); /* NULL: warnings are dropped */
BLICA_API void blica_set_comm(blica_ctx *ctx, const blica_comm *comm);         /* copied; NULL: one process */
BLICA_API void blica_set_simd(blica_ctx *ctx, blica_simd level);               /* at most this level; for tests */
BLICA_API blica_simd blica_simd_level(const blica_ctx *ctx);                   /* the level in use */

/* The options of the verbs: blica_options.h, which this header includes. */
typedef struct blica_fit_options blica_fit_options;
typedef struct blica_simulate_options blica_simulate_options;
typedef struct blica_loglik_options blica_loglik_options;
typedef struct blica_sources_options blica_sources_options;
typedef struct blica_segment_options blica_segment_options;
typedef struct blica_assess_options blica_assess_options;
typedef struct blica_invariance_options blica_invariance_options;
typedef struct blica_select_options blica_select_options;

/* ------------------------------------------------------------------ data: packed bits */

#define BLICA_MISSING ((int8_t)-1)

/* The levels of ordinal items. An item is a group of columns (planes), one for each level but the lowest: column l is
 * 1 where the item is at least at level l, and is named "item[low<...<high]>=l", so that files and merged counts keep
 * the coding. Item i has first[i+1] - first[i] + 1 levels, whose labels, lowest first, begin at labels[first[i] + i].
 * A pointer to a coding is NULL where all items are plain 0 and 1. */
typedef struct {
  int items;
  int *first;    /* [items+1] first plane of each item */
  char **names;  /* [items] */
  char **labels; /* [first[items] + items] */
} blica_coding;
BLICA_API void blica_coding_free(blica_coding *coding); /* for those of blica_counts_coding */
/* How many items have three or more levels. */
static inline int blica_ordinal_items(const blica_coding *coding) {
  int count = 0;
  for (int i = 0; coding && i < coding->items; i++) count += coding->first[i + 1] - coding->first[i] > 1;
  return count;
}

/* Bit-packed rows, sorted into segments. Column i of segment s has words[s] 64-bit words at ones[s] + i * words[s]:
 * bit r % 64 of word r / 64 is row r of that segment. A missing value has its bit clear in ones and in present. Bits
 * past the last row are clear. */
typedef struct {
  int n, u;
  int64_t rows;         /* in all segments */
  char **variables;     /* [n] */
  char **segments;      /* [u] labels, in order of first appearance */
  int64_t *samples;     /* [u] rows per segment */
  int64_t *words;       /* [u] */
  uint64_t **ones;      /* [u] -> [words,n] */
  uint64_t **present;   /* [u] -> [words,n]; NULL for a segment without missing values */
  int64_t missing;      /* missing values in all */
  int32_t *row_segment; /* [rows] segment of each row, in input order */
  double *weight;       /* [rows] segment by segment, scaled as blica_data_set_weights says; NULL: all are 1 */
  int32_t *cluster;     /* [rows] segment by segment, ids from 0 in that order; NULL: each row is its own cluster */
  int unordered;      /* 1: the order of rows tells nothing, as where equal rows were counted together; yours to set */
  int segments_found; /* 1: the segments were found in these rows, as by blica_segment without split; yours to set */
  int replicates;     /* sets of replicate weights; 0: none */
  double *replicate;  /* [rows,replicates] segment by segment, in the scale of weight */
  double *replicate_factor; /* [replicates] of the squared deviations that are added up to a variance */
  int32_t *stratum;         /* [rows] segment by segment, ids as given; NULL: each segment is one stratum */
} blica_data;

/* A table in memory. Fields that are 0 or NULL have the defaults given here. */
typedef struct {
  int64_t rows;
  int n;
  const int8_t *x;                     /* item i of row r at x[r * row_stride + i * column_stride] */
  ptrdiff_t row_stride, column_stride; /* both 0: the rows follow one another, n values each */
  const char *const *variables;        /* [n] names; NULL: x1, x2, ... */
  const int *levels;                   /* [n] how many each item has; NULL: all hold 0, 1 or BLICA_MISSING */
  const char *const *level_labels;     /* as in blica_pack_begin_items */
  const int32_t *segment;              /* [rows] numbers in 0..u-1; NULL: all rows are one segment */
  int u;                               /* number of segments */
  const char *const *segments;         /* [u] labels; NULL: 1, 2, ... */
} blica_table;
/* Packs a table all at once. */
BLICA_API blica_status blica_pack(blica_ctx *ctx, const blica_table *table, blica_data **out);
BLICA_API void blica_data_free(blica_data *data);
/* Packing in pieces: begin, then any number of segment, rows and columns calls, then end. variables may be NULL. */
typedef struct blica_packer blica_packer;
/* For items of two levels: rows hold 0, 1 or BLICA_MISSING. */
BLICA_API blica_status blica_pack_begin(blica_ctx *ctx, int n, const char *const *variables, blica_packer **out);
/* Begins with items that have levels: rows hold 0 to levels[i] - 1, the lowest first, or BLICA_MISSING. labels has
 * those of the first item, then those of the second, and so on; NULL: 0, 1, 2, .... */
BLICA_API blica_status blica_pack_begin_items(blica_ctx *ctx, int n, const char *const *variables, const int *levels,
                                              const char *const *labels, blica_packer **out);
/* The id of a segment's label, which is added when it is new. */
BLICA_API blica_status blica_pack_segment(blica_ctx *ctx, blica_packer *packer, const char *label, int32_t *id);
BLICA_API blica_status blica_pack_rows(blica_ctx *ctx, blica_packer *packer, int64_t rows,
                                       const int8_t *x /* [rows] rows of n */, const int32_t *segment /* [rows] */);
BLICA_API blica_status blica_pack_columns(blica_ctx *ctx, blica_packer *packer, int64_t rows,
                                          const int8_t *x /* [rows,n] */, const int32_t *segment /* [rows] */);
/* Makes the data and frees the packer, also on failure. */
BLICA_API blica_status blica_pack_end(blica_ctx *ctx, blica_packer *packer, blica_data **out);
BLICA_API void blica_packer_free(blica_packer *packer);
enum { BLICA_NUMBER_LEVELS = 16, BLICA_NUMBER_SAMPLE = 1 << 20 };
/* Numbers as an item: where to cut a column into at most BLICA_NUMBER_LEVELS levels, at quantiles that keep .981 of the
 * information on the correlation of two normal variables. cut has the *cuts least numbers of all levels but the lowest,
 * in rising order. NaN is missing. With more than BLICA_NUMBER_SAMPLE values, every 2nd, 4th, ... row decides. The
 * labels of such an item are "-Inf" and the cuts, so that its coding says to which level a new number belongs. */
BLICA_API blica_status blica_cut_numbers(blica_ctx *ctx, int64_t rows, const double *x,
                                         double cut[BLICA_NUMBER_LEVELS - 1], int *cuts);
struct ArrowArrayStream;
/* Packs the table of an Arrow C stream, and releases the stream, also on failure: booleans, whole numbers (of 0 and 1,
 * of two values, or of more with ordinal) and dictionaries of text (of two values, or ordered); nulls are missing.
 * segment_column names the column that holds the segments, as text, whole numbers or a dictionary; NULL: all rows are
 * one segment. The structs are those of the Arrow C data interface; sizes of buffers cannot be checked. */
BLICA_API blica_status blica_pack_arrow(blica_ctx *ctx, struct ArrowArrayStream *stream, const char *segment_column,
                                        int ordinal, blica_data **out);

/* Gives rows sampling weights, positive and in input order. They are scaled within each segment to add up to its
 * effective number of rows, (sum w)^2 / sum w^2. */
BLICA_API blica_status blica_data_set_weights(blica_ctx *ctx, blica_data *data, const double *weight /* [rows] */);
/* Gives rows sampling weights and `count` sets of replicate weights, at least 0 and in the same scale: blica_assess
 * then takes errors from refits, variance = sum over r of factor_r (estimate_r - estimate)^2. The method says the
 * factors: "jk1" (count - 1) / count, "brr" 1 / count, "fay=RHO" 1 / count / (1 - RHO)^2, or numbers separated by
 * commas, one for all or one for each replicate, as for the stratified jackknife (n_h - 1) / n_h. */
BLICA_API blica_status blica_data_set_replicates(blica_ctx *ctx, blica_data *data, const double *weight /* [rows] */,
                                                 int count, const double *replicate /* [rows,count] */,
                                                 const char *method);
/* Says which rows belong together, such as the pupils of a class: ids of at least 0 and less than rows, in input order.
 * A cluster lies in one segment. */
BLICA_API blica_status blica_data_set_clusters(blica_ctx *ctx, blica_data *data, const int32_t *cluster /* [rows] */);
/* Says from which stratum each row was drawn, in input order; call it after blica_data_set_clusters. A cluster lies in
 * one stratum. The part of a stratum that lies in a segment needs two clusters, or without clusters two rows, which
 * verbs that take errors from the rows see to. */
BLICA_API blica_status blica_data_set_strata(blica_ctx *ctx, blica_data *data, const int32_t *stratum /* [rows] */);

/* ------------------------------------------------------------------ counts: 2x2 tables of all pairs */

/* Pair (i,j), i < j, of segment s is element blica_pair(i,j) + s * pairs. Cell n10 counts x_i=1, x_j=0. With missing
 * values each table counts the rows where both are present. */
typedef struct {
  int n, u;
  int64_t pairs; /* n(n-1)/2 */
  char **variables, **segments;
  double *samples;              /* [u] rows (or nominal N) */
  double *ones;                 /* [n,u] rows with x_i = 1 */
  double *present;              /* [n,u] rows where x_i is not missing */
  double *n11;                  /* [pairs,u] */
  double *n10, *n01, *n00;      /* [pairs,u]; NULL without missing values: they follow from n11, ones and samples */
  int exact;                    /* population probabilities times a nominal N, not a sample */
  struct blica_item_sets *sets; /* private: which columns rows have together; NULL: nothing is missing, or unknown */
  int segments_found;           /* as in blica_data; not kept in files */
} blica_counts;
static inline int64_t blica_pair(int i, int j) {
  return (int64_t)j * (j - 1) / 2 + i;
} /* i < j */
/* Counts the pairs of all segments. */
BLICA_API blica_status blica_count(blica_ctx *ctx, const blica_data *data, blica_counts **out);
/* The sum of parts with the same variables; segments are matched by label. */
BLICA_API blica_status blica_merge(blica_ctx *ctx, int parts, const blica_counts *const *part, blica_counts **out);
/* Adds the pair counts of one piece of the data to *sum, which is created when it is NULL. Segments are matched by
 * label, new ones appended. On failure *sum is freed and NULL. */
BLICA_API blica_status blica_count_add(blica_ctx *ctx, const blica_data *data, blica_counts **sum);
/* Adds counts of a piece of the data, as blica_count_add does for rows. */
BLICA_API blica_status blica_merge_add(blica_ctx *ctx, const blica_counts *part, blica_counts **sum);
/* The four cells of one table, i < j. */
BLICA_API void blica_counts_table(const blica_counts *counts, int s, int i, int j,
                                  double cell[4] /* n11 n10 n01 n00 */);
/* The levels of the items, read from the names of the columns; *out is NULL when all columns are plain 0 and 1. */
BLICA_API blica_status blica_counts_coding(blica_ctx *ctx, const blica_counts *counts, blica_coding **out);
/* Writes .npz or .csv. */
BLICA_API blica_status blica_counts_save(blica_ctx *ctx, const blica_counts *counts, const char *path);
/* Fails with BLICA_ERR_FORMAT, and a message that names the place, when the file is not valid. */
BLICA_API blica_status blica_counts_load(blica_ctx *ctx, const char *path, blica_counts **out);
BLICA_API void blica_counts_free(blica_counts *counts);

/* ------------------------------------------------------------------ what the data hold, before a fit */

/* Something about the data that matters for a fit. */
typedef struct {
  char code[24]; /* "identical-items", ...; stays the same from version to version */
  int level;     /* 0: worth knowing; 1: the fit is worse for it; 2: nothing can be fitted until it is mended */
  char *found;   /* what was found, with the first names */
  char *advice;  /* what that means for a fit, and what to do */
} blica_finding;

/* Numbers of items (variables), and of the tables that blica_correlate uses. */
typedef struct {
  int n, u;
  double rows, least, median, most;    /* in all, and of a segment */
  double *missing, missing_values;     /* [n] values that are missing, and of all items */
  int small_segments;                  /* with fewer than 50 rows */
  int empty_segments, empty_items;     /* without any value */
  int constant_items;                  /* that have one value in all rows */
  int64_t constant_columns;            /* times that an item has one value, or none, in a segment */
  int64_t absent_columns;              /* times that an item has no value in a segment where other items have */
  int64_t zero_cells;                  /* two-by-two tables with an empty cell */
  int64_t constant_pairs, empty_pairs; /* tables with a constant item; without a row that has both */
  int64_t never_together;              /* pairs without a common row in any segment */
  int64_t copies;                      /* pairs of which one item follows from the other */
  int count;
  blica_finding *findings; /* [count] */
} blica_check;
/* Looks at the tables of all pairs. */
BLICA_API blica_status blica_check_counts(blica_ctx *ctx, const blica_counts *counts, blica_check **out);
BLICA_API void blica_check_free(blica_check *check);

/* ------------------------------------------------------------------ correlations */

/* Flags of a pair. */
enum {
  BLICA_PAIR_ZERO_CELL = 1, /* a cell was empty: filled with e/(1+2e), e its count under independence */
  BLICA_PAIR_CONSTANT = 2,  /* one of the two is constant in the segment: correlation 0 */
  BLICA_PAIR_EMPTY = 4      /* no row has both: correlation 0 */
};

/* Correlations of the latent q per segment, in packed pairs of items as in blica_counts: tetrachoric, or polychoric
 * where an item has more than two levels. */
typedef struct {
  int n, u;
  int64_t pairs;
  char **variables, **segments;
  double *samples;      /* [u] */
  double *rho;          /* [pairs,u] */
  double *se;           /* [pairs,u] standard errors; NaN where unknown */
  blica_coding *coding; /* NULL: all items are 0 and 1 */
  int planes;           /* thresholds of a segment: n, or the planes of the coding */
  double *thresholds;   /* [planes,u] Phi^-1 of the share of ones, or at or above a level */
  /* [n,u] where items have three or more levels, whose cuts are the same in all segments: how the mean and the log of
   * the sd of q change, up to a constant per item. The error is infinite where the data do not determine it. */
  double *location, *log_scale, *log_scale_se; /* NULL: no item has three levels */
  uint8_t *flags;                              /* [pairs,u] */
  int64_t zero_cells, constant_pairs, empty_pairs, constant_columns;
  int exact;
  double condition;              /* target of the regularisation; infinite before it or with none */
  double *shift;                 /* [u] d of C <- (C + d I)/(1 + d); 0 before */
  double *eigen_min, *eigen_max; /* [u] of C before the shift; NaN before regularisation */
  double *item_rows, *pair_rows; /* [n,u], [pairs,u] rows with a value of the item, of both; NULL: nothing is missing */
  struct blica_item_sets *sets;  /* private: as in blica_counts, of items */
} blica_cor;
/* Latent correlations and thresholds of all segments. */
BLICA_API blica_status blica_correlate(blica_ctx *ctx, const blica_counts *counts, blica_cor **out);
/* A copy whose matrices have at most this condition number: what method blica makes of them by itself. blica_fit does
 * not accept it. */
BLICA_API blica_status blica_regularise(blica_ctx *ctx, const blica_cor *cor, double condition, blica_cor **out);
BLICA_API void blica_cor_matrix(const blica_cor *cor, int s, double *c /* [n,n] */);
BLICA_API blica_status blica_cor_save(blica_ctx *ctx, const blica_cor *cor, const char *path); /* .npz or .csv */
BLICA_API void blica_cor_free(blica_cor *cor);
/* One 2x2 table, n11 n10 n01 n00: the correlation, its standard error and the two thresholds. */
BLICA_API blica_status blica_tetrachoric(blica_ctx *ctx, const double cell[4], double *rho, double *se,
                                         double threshold[2], int *flags);
/* One table of two ordinal items: cells [rows,columns], row-major, levels in order. Levels without rows are left
 * out. threshold: Phi^-1 of the shares at or below each level but the last, of the rows, then of the columns (rows +
 * columns - 2). */
BLICA_API blica_status blica_polychoric(blica_ctx *ctx, int rows, int columns, const double *cell, double *rho,
                                        double *se, double *threshold, int *flags);
/* How many thresholds and correlations a segment has. */
static inline int blica_acm_size(const blica_cor *cor) {
  return cor->planes + (int)cor->pairs;
}
/* The asymptotic covariance of the thresholds and correlations of segment s, times the rows of the segment: of all
 * thresholds -cor->thresholds, item by item, then of the correlations of items (1,2), (1,3), ..., (2,3), ..., as lavaan
 * takes it (NACOV). data are the rows that cor was made of; their weights and clusters count. */
BLICA_API blica_status blica_acm(blica_ctx *ctx, const blica_data *data, const blica_cor *cor, int s,
                                 double *acm /* [size,size], size = blica_acm_size(cor) */);
/* The correlation of a number and the normal variable behind an ordinal item: maximum likelihood given the mean and the
 * standard deviation of the number and the thresholds of the item, Phi^-1 of the shares at or below each level but the
 * last. The standard error counts those too. Rows without a number (NaN) or a level are left out. */
BLICA_API blica_status blica_polyserial(blica_ctx *ctx, int64_t rows, const double *number, int levels,
                                        const int8_t *level /* 0 to levels - 1, or BLICA_MISSING */, double *rho,
                                        double *se, double *threshold /* [levels-1] */);
/* Phi2(h,k;rho) = P(X < h, Y < k) for standard normals of correlation rho, |error| < 1e-14. */
BLICA_API double blica_bvn(double h, double k, double rho);

/* ------------------------------------------------------------------ the model */

typedef enum {
  BLICA_STOP_CONVERGED = 0, /* relative gradient (blica_start) at most the tolerance, under the priors learned */
  BLICA_STOP_ITERATIONS,    /* iteration limit */
  BLICA_STOP_TIME,          /* time limit */
  BLICA_STOP_INTERRUPTED,   /* the poll callback said so */
  BLICA_STOP_STALLED,       /* the objective is too flat to improve further: by less than 1e-7 of it in 50 steps */
  BLICA_STOP_UNBOUNDED,     /* no maximum: without a prior, signals grew to a hundred times the noise of the link */
  BLICA_STOP_INTEGRATION,   /* mle: the error of the integrals is unknown or too large; note integration_shift */
  BLICA_STOP_COMPARED,      /* of a start only: it reached the rough tolerance at which starts are compared */
  BLICA_STOP_DUPLICATE      /* of a start only: it reached the optimum of the first start */
} blica_stop;
BLICA_API const char *blica_stop_name(blica_stop stop); /* static text, as in model.json */

typedef struct {
  char kind[16];    /* "jointdiag" (of all segments), "half" (of a random half of them), "random", ... */
  double objective; /* higher is better */
  /* max |df/dtheta| / max(1, |f|) in the scale where the mean variance of each source is 1, evaluated anew at the end;
   * fastica: the last change of a direction. docs/trust.md has what the methods put in their notes beside it. */
  double gradient;
  int64_t iterations, evaluations;
  double seconds, seconds_near; /* in all; until within 1 of its final objective */
  blica_stop stop;
} blica_start;

typedef struct {
  char name[24];
  double value;
} blica_note; /* something that a method chose or found: penalties, errors of integrals, ... */
typedef struct {
  char name[24], value[64];
} blica_setting; /* an option and its value, as blica_option_set takes it */

/* How a fit went. */
typedef struct {
  double objective; /* of the returned model; starts are compared before priors are learned */
  int n_starts, best_start;
  blica_start *starts;             /* [n_starts] */
  int64_t iterations, evaluations; /* of the best start */
  double seconds, seconds_count, seconds_correlate, seconds_regularise, seconds_optimise;
  blica_stop stop; /* of the best start; interrupted or time if that ended any start early */
  uint64_t seed;
  double condition;
  /* The standard deviations of the priors of the elements of A and of log v, given or learned. Infinity: there was no
   * prior; NaN: unknown, as where a file does not say. */
  double prior_mixing, prior_variance;
  double *shift, *eigen_min, *eigen_max; /* [u] or NULL: what regularisation did, as in blica_cor */
  int64_t zero_cells, constant_pairs, empty_pairs, constant_columns;
  int n_notes;
  blica_note *notes; /* [n_notes] */
  int n_options;
  blica_setting *options; /* [n_options] options that differ from their defaults; not sources, method, starts, seed */
} blica_fit_report;

/* What an item has of its own in a segment: its cuts, or its cuts and its row of A. */
enum { BLICA_FREED_CUTS = 1, BLICA_FREED_ROW = 2 };

/* Canonical form: the mean over segments of log v_j is 0 for every source j; sources are ordered by explained variance,
 * sum_i A_ij^2 times the mean over segments of v_j, largest first; the entry of largest absolute value in each column
 * of A is positive. Unless all cuts are 0 (the paper's model), the means of each source average to 0 over segments,
 * weighted by their samples. */
typedef struct {
  int n, k, u;
  double *mixing;       /* [n,k] A */
  double *variances;    /* [k,u] v */
  double *means;        /* [k,u] mu */
  blica_coding *coding; /* levels of the items; NULL: all are 0 and 1 */
  int planes;           /* cuts of all items: n, or the planes of the coding */
  double *cuts;         /* [planes] tau: x_i >= l with probability Phi(sqrt(c) (A z)_i - tau_il), in all segments */
  double *thresholds;   /* [planes,u] as observed: Phi^-1 of the share of ones, or at or above a level */
  double link;          /* c */
  char **variables, **segments;
  double *samples; /* [u] */
  char method[16]; /* a name as text, because a file can hold any: "truth" for a simulated model */
  blica_fit_report fit;
  /* Items that were estimated apart in some segments (option free); NULL: none. */
  uint8_t *freed;     /* [n,u] 0, or BLICA_FREED_CUTS or BLICA_FREED_ROW: what the item has of its own there */
  double *own_mixing; /* [n,k,u] A with the rows of each segment */
  double *own_cuts;   /* [planes,u] cuts of each segment */
  char **labels; /* [n] what each variable asks or measures, "" where that is not known; NULL: of none is it known */
} blica_model;

/* What a fit uses. One is enough: counts are made from data, cor from counts. If several are given, they must have the
 * same variables and segments. A method that needs rows fails when data is NULL. */
typedef struct {
  const blica_data *data;
  const blica_counts *counts;
  const blica_cor *cor; /* as blica_correlate makes it: a regularised one is refused */
} blica_input;

/* Fits a model. With a checkpoint, the state of the fit is written to that file every checkpoint_seconds, when the fit
 * is interrupted and when it ends, each time whole or not at all. A later call with resume and the same options and
 * data continues from there and gives the same bits as a fit without the break, except for times; a checkpoint of other
 * options or data is an error. A failed write is a warning. Remove the file once the model is saved. */
BLICA_API blica_status blica_fit(blica_ctx *ctx, const blica_input *input, const blica_fit_options *options,
                                 blica_model **out);
/* blica_fit of counts that the caller no longer needs: frees *counts as soon as the method can do without them, and
 * sets it to NULL, also on failure. This saves memory with thousands of variables. */
BLICA_API blica_status blica_fit_consume(blica_ctx *ctx, blica_counts **counts, const blica_fit_options *options,
                                         blica_model **out);
BLICA_API blica_status blica_model_create(blica_ctx *ctx, int n, int k, int u, blica_model **out); /* zeros */
/* Free parameters, for AIC and BIC: A, means and variances less one scale per source; with cuts also the cuts less one
 * mean per source. 0 for NULL. */
BLICA_API int64_t blica_model_parameters(const blica_model *model);
/* Says what each variable asks or measures, for files and reports; labels [n] are copied, NULL takes them away. */
BLICA_API blica_status blica_model_set_labels(blica_ctx *ctx, blica_model *model, const char *const *labels);
/* Writes model.json, whole or not at all. */
BLICA_API blica_status blica_model_save(blica_ctx *ctx, const blica_model *model, const char *path);
/* Fails with BLICA_ERR_FORMAT, and a message that names the place, when the file is not a model. */
BLICA_API blica_status blica_model_load(blica_ctx *ctx, const char *path, blica_model **out);
/* Reads a model from the text of a file; path names it in messages. */
BLICA_API blica_status blica_model_parse(blica_ctx *ctx, const char *text, size_t length, const char *path,
                                         blica_model **out);
/* Makes the text of such a file; blica_text_free frees it. */
BLICA_API blica_status blica_model_write(blica_ctx *ctx, const blica_model *model, char **text, size_t *length);
BLICA_API void blica_text_free(char *text);
BLICA_API void blica_model_free(blica_model *model);

/* ------------------------------------------------------------------ simulation */

/* Draws a model as in section 6 of the paper and either data or, with the option exact, counts; the other output is
 * NULL. Pass NULL for outputs that are not wanted. */
BLICA_API blica_status blica_simulate(blica_ctx *ctx, const blica_simulate_options *options, blica_model **model,
                                      blica_data **data, blica_counts **counts);
/* Rows of a given model, samples[s] in segment s. */
BLICA_API blica_status blica_simulate_rows(blica_ctx *ctx, const blica_model *model, uint64_t seed, blica_data **out);
/* The exact counts of a given model: pair probabilities times samples[s]. */
BLICA_API blica_status blica_simulate_exact(blica_ctx *ctx, const blica_model *model, blica_counts **out);

/* ------------------------------------------------------------------ likelihood and sources of rows */

/* How probabilities of rows are computed. */
typedef enum {
  BLICA_ENGINE_AUTO = 0, /* by size */
  BLICA_ENGINE_GRID,     /* trapezoidal rule over at most 3 sources */
  BLICA_ENGINE_LATTICE,  /* separation of variables, up to 128 columns */
  BLICA_ENGINE_EP        /* expectation propagation: approximate, any size */
} blica_engine;
BLICA_API const char *blica_engine_name(blica_engine engine); /* as in "grid"; static text, "unknown" for others */

typedef struct {
  int u;                  /* segments of the data */
  char **segments;        /* [u] */
  int64_t *samples;       /* [u] */
  double *loglik, *error; /* [u] of each segment, and its numerical error */
  double *row_loglik;     /* [rows] log-probability of each row of the input; 0 for a row without values */
  double total, total_error;
  int64_t rows, patterns; /* distinct patterns, counted in each segment */
  blica_engine engine;    /* the one used */
} blica_loglik_result;
/* The full log-likelihood of rows under a model. Variables and segments are matched by name; missing values are
 * integrated out. options may be NULL. */
BLICA_API blica_status blica_loglik(blica_ctx *ctx, const blica_model *model, const blica_data *data,
                                    const blica_loglik_options *options, blica_loglik_result **out);
BLICA_API void blica_loglik_result_free(blica_loglik_result *result);

typedef struct {
  int64_t rows;
  int k, n_draws;
  double *mean, *sd; /* [k,rows] in the order of the input */
  double *draws;     /* [k,n_draws,rows]; NULL without draws */
  int64_t patterns;  /* distinct patterns that were computed: of each segment, or of all when those are unknown */
  int32_t *answers;  /* [rows] items that have a value */
} blica_posterior;
/* Posterior mean and standard deviation of every source for every row. Segments are matched by label. A row of unknown
 * segment (one whose label is empty, or all of them by an option) is averaged over the model's segments, weighted by
 * their samples and the likelihood of the row in them. A row without any value has the segment's (or mixture's) prior.
 * options may be NULL. */
BLICA_API blica_status blica_sources(blica_ctx *ctx, const blica_model *model, const blica_data *data,
                                     const blica_sources_options *options, blica_posterior **out);
BLICA_API void blica_posterior_free(blica_posterior *posterior);

/* Sums for the reliability of scores, over rows that may come in pieces. */
typedef struct {
  int k, u;          /* of the model */
  int64_t *rows;     /* [u+1] of each segment; last, those whose segment is unknown */
  double *mean;      /* [k,u+1] of the posterior means */
  double *squares;   /* [k,u+1] sums of their squared deviations from that */
  double *variance;  /* [k,u+1] sums of the posterior variances */
  int64_t few, none; /* rows that have values of fewer than half of the items; of none */
} blica_reliability;
/* Adds rows and their posterior; *sum is NULL before the first. Labels that the model lacks are unknown segments. */
BLICA_API blica_status blica_reliability_add(blica_ctx *ctx, const blica_model *model, const blica_data *data,
                                             const blica_posterior *posterior, blica_reliability **sum);
/* The share of the variance of a source that its posterior means show, in a segment (u: unknown) or over all rows
 * (segment -1); NaN with fewer than two rows. */
BLICA_API double blica_reliability_of(const blica_reliability *reliability, int source, int segment);
BLICA_API void blica_reliability_free(blica_reliability *reliability);

/* ------------------------------------------------------------------ normal probabilities */

/* A rectangle lower < Y < upper of Y ~ N(mean, cov), of up to 128 dimensions. The covariance is given whole (cov), or
 * as loading loading' + diag(unique) with k columns; up to three of them are integrated without sampling. */
typedef struct {
  int n, k;                    /* k = 0: cov is given */
  const double *lower, *upper; /* [n], -infinity and infinity where there is no end; NULL: none has one */
  const double *mean;          /* [n]; NULL: 0 */
  const double *cov;           /* [n,n] */
  const double *loading;       /* [n,k] */
  const double *unique;        /* [n] */
  double error;                /* that is small enough; 0: 1e-6 */
  uint64_t seed;               /* of the shifts of lattices */
} blica_rectangle;
/* Derivatives of its probability: d p = sum lower_i d lower_i + ... + sum_ij cov_ij d cov_ij. */
typedef struct {
  double *lower, *upper, *mean; /* [n] */
  double *cov;                  /* [n,n] symmetric */
} blica_rectangle_gradient;
/* The probability and a bound of its error, which is larger than wanted where integration cannot do better. gradient
 * NULL: not wanted; its arrays are the caller's. Fails with BLICA_ERR_NUMERIC when cov is not positive definite. */
BLICA_API blica_status blica_mvn(blica_ctx *ctx, const blica_rectangle *rectangle, double *value, double *error,
                                 blica_rectangle_gradient *gradient);

/* ------------------------------------------------------------------ segments found in the rows */

/* One number of states that was tried. */
typedef struct {
  int states;
  double loglik;     /* of a chain whose states have their own correlations and last several rows */
  double score;      /* log-likelihood less half the parameters times log rows (BIC / -2) */
  double heldout;    /* log P of held-out rows given the others; NaN where it was not in question */
  double heldout_se; /* of its difference from the largest */
} blica_segment_trial;

typedef struct {
  int64_t rows;
  int states;            /* S, numbered by their first appearance */
  int32_t *state;        /* [rows] from 0: the most probable sequence in which each run has min_length rows */
  double *probability;   /* [S,rows] of each state given all rows; runs of any length are possible in them */
  double *transition;    /* S rows of S: from row to column */
  double *expected_rows; /* [S] */
  int64_t *runs;         /* [S] how often the state begins in the sequence */
  double loglik;         /* of the rows, by the engine below */
  blica_engine engine;   /* grid or ep: what gave the probability of a row */
  int n_trials;
  blica_segment_trial *trials; /* [n_trials] by number of states */
  int64_t rounds;              /* of expectation-maximisation, in all */
  blica_stop stop;             /* converged, or what ended it early: the result is the best so far */
  double seconds;
  blica_model *model; /* one segment per state, labelled 1, 2, ...; NULL: interrupted before there was one */
  int64_t split;      /* rows of a block: those of the blocks 2, 4, ... were held out of the search; 0: none were */
  /* Do rows depend on those before them while a state lasts? The mean correlation of a column with itself in the row
   * before, the z value of those with the three rows before, and how many independent draws of the sources a run of a
   * state holds on average. */
  double lag, lag_z, draws_per_run;
} blica_segmentation;
/* Finds segments in rows that are in time order, all of one segment: a hidden Markov chain of states, in each of which
 * the sources have means and variances of their own; A is common to all. Needs two variables, and at least 50 and
 * min_length * states rows. */
BLICA_API blica_status blica_segment(blica_ctx *ctx, const blica_data *data, const blica_segment_options *options,
                                     blica_segmentation **out);
BLICA_API void blica_segmentation_free(blica_segmentation *segmentation);

#ifdef __cplusplus
}
#endif

#include "blica_conclusions.h" /* what can be said of a model: compare, identify, assess, select, ... */
#include "blica_options.h"     /* the options of the verbs: structs, defaults and tables */
#endif                         /* BLICA_H */
