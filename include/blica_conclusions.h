/* blica_conclusions.h - what can be said of a model: comparison, identification, fitted values, assessment, items that
 * differ between segments, and the number of sources. blica.h includes it and has the conventions. */
#ifndef BLICA_CONCLUSIONS_H
#define BLICA_CONCLUSIONS_H

#include "blica.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ comparison, identification, fitted values */

/* Mean cosine similarity of the columns of a [n,k] and b [n,k] under the best matching: matching[j] is the column of b
 * that goes with column j of a, cosine[j] its signed cosine. */
BLICA_API blica_status blica_compare(blica_ctx *ctx, int n, int k, const double *a, const double *b, double *mcs,
                                     int *matching, double *cosine);
/* Table 1 of the paper: statistics and unknowns of a model with n variables, k sources, u segments. `ordinal` of the
 * items have three or more levels (docs/identifiability.md). */
BLICA_API blica_status blica_identify_count(blica_ctx *ctx, int n, int k, int u, int ordinal, int64_t *statistics,
                                            int64_t *unknowns);

/* What to expect of a fit to data of a design, by simulated fits. */
typedef struct {
  double mcs, low, high, chance;        /* mean, least and largest over the fits; that of random rotations */
  int fits;                             /* how many */
  int64_t rows_needed, segments_needed; /* rows in each segment, or segments of these rows, that an MCS of .95 takes;
                                           -1: more than 64 times as many as there are */
} blica_plan;
/* For n variables of as many levels, k sources and u segments of `samples` rows. change: standard deviation over
 * segments of the logarithm of the sources' standard deviations. */
BLICA_API blica_status blica_identify_plan(blica_ctx *ctx, int n, int k, int u, int levels, int64_t samples,
                                           double change, blica_plan *out);

/* The answers to questions about a model. */
typedef enum { BLICA_YES = 0, BLICA_WEAK, BLICA_NO, BLICA_UNKNOWN } blica_answer;

/* A full rank with a negative surplus means that the solution is isolated, but by the paper's count it need not be the
 * only one. */
typedef struct {
  int k;
  int64_t parameters; /* n k + u k - k */
  int64_t rank;
  int64_t surplus;     /* statistics less unknowns, as in Table 1 */
  int local;           /* rank == parameters */
  blica_answer design; /* can the design determine the sources? Yes: local, and surplus >= 0; no: otherwise */
  double smallest;     /* smallest eigenvalue that counts, relative to the largest */
  double tolerance;    /* relative eigenvalues below it count as zero */
  double *looseness;   /* [k] share of each column's directions that the data do not fix, 0..1 */
} blica_identification;
/* Identifiability at a model: the rank of the information that all pair correlations hold about A and v (scales q free:
 * of an item with two levels in every segment, of one with more levels in common), against the parameters less the k
 * column scales, and the paper's count. */
BLICA_API blica_status blica_identify(blica_ctx *ctx, const blica_model *model, blica_identification **out);
BLICA_API void blica_identification_free(blica_identification *identification);

typedef struct {
  int n, u;
  int64_t pairs;
  char **variables, **segments;
  double *correlation; /* [pairs,u] of the latent q */
  double *margin;      /* [planes,u] P(x_i = 1), or the probability of being at or above a level */
  double *pair;        /* [pairs,u] P(x_i = 1, x_j = 1); NULL with items of more than two levels */
  /* Observed less fitted: NaN where nothing was observed; NULL without counts. */
  double *correlation_residual; /* [pairs,u] */
  double *margin_residual;      /* [planes,u] */
  double *pair_residual;        /* [pairs,u] */
  double *segment_srmr;         /* [u] root mean square of the residual correlations, the diagonal counted */
  double srmr;                  /* their mean over segments, weighted by rows; NaN without counts */
  int planes;                   /* n, or the planes of the model's coding */
  double srmr_unbiased;         /* srmr less what sampling alone makes of it; 0 where that is all */
} blica_fitted_values;
/* What a model implies in each segment and, with counts (which may be NULL), observed less fitted values. Variables and
 * segments are matched by name. */
BLICA_API blica_status blica_fitted(blica_ctx *ctx, const blica_model *model, const blica_counts *counts,
                                    blica_fitted_values **out);
BLICA_API void blica_fitted_free(blica_fitted_values *fitted);

/* ------------------------------------------------------------------ assessment */

enum { BLICA_DESIGN = 0, BLICA_CHANGE, BLICA_FIT, BLICA_AXES, BLICA_QUESTIONS };

typedef struct {
  int n, k, u;
  char **variables, **segments;
  double level;
  /* Standard errors in the model's canonical scale: the larger of the asymptotic (sandwich) error, which includes the
   * bias of shrinkage by a prior, and the bootstrap error; NaN where there is neither. */
  double *mixing_se;       /* [n,k] */
  double *log_variance_se; /* [k,u] */
  double *threshold_se;    /* [planes,u] */
  int64_t parameters;      /* nk + uk */
  double *covariance;      /* [parameters,parameters] asymptotic, of A and log v; NULL where unknown */
  /* Bootstrap errors alone; NULL without a bootstrap. */
  int draws;
  double *mixing_se_bootstrap;                           /* [n,k] */
  double *log_variance_se_bootstrap, *mean_se_bootstrap; /* [k,u] */
  double *stability; /* [k] share of draws in which the column stays within 30 degrees */
  /* Intervals from these standard errors. */
  double *mixing_low, *mixing_high;     /* [n,k] */
  double *variance_low, *variance_high; /* [k,u] */
  /* By how many degrees the columns may be off, and the accuracy to expect from it. */
  double *angle, *angle_bound; /* [k] one standard deviation; 90 % of errors are smaller */
  double expected_mcs;
  double change_p, *source_change_p; /* p values of no change, of all and [k]; NaN where there is one segment */
  /* Do rows depend on those before them in the segment? The mean correlation of an item with itself in the row before,
   * its z value, by how much it falls with every further row, by which factor it multiplies the variance of sums over
   * rows (1: not at all), and how many independent draws of the sources a segment holds. NaN without the test. */
  double lag, lag_z, decay, inflation, draws_per_segment;
  /* Does the model fit? NaN where it could not be computed. */
  double srmr, m2, m2_p, rmsea2, rmsea2_low, rmsea2_high; /* 90 % interval */
  int64_t df;
  double *segment_srmr, *segment_m2;      /* [u] */
  double *item_srmr;                      /* [n] root mean square of the residual correlations of an item */
  int64_t surplus, rank, rank_parameters; /* what the design can identify */
  blica_answer answer[BLICA_QUESTIONS];   /* can the design determine the sources, do the data show change, does the */
  char verdict[BLICA_QUESTIONS][700];     /* model fit, are the axes determined; and a sentence for each */
  int planes;                             /* n, or the planes of the model's coding */
  double *mean_se;                        /* [k,u] of the sources' means; the larger of both, as above */
  double *cut_se;                         /* [planes] of the items' cuts; asymptotic */
  /* Is the model what its method finds for these data? Its largest difference from a refit in standard errors, and the
   * MCS between them. Beyond 0.1 errors there are no errors and angles, and M2 is that of given parameters. */
  double distance, refit_mcs;
  double chance_mcs; /* of random rotations of the columns of A: what their space alone scores */
  double srmr_unbiased, srmr_low, srmr_high; /* SRMR less its sampling noise, with a 90 % interval */
  int twin[2];                               /* two items that agree in all rows, or -1 */
  int64_t block_length;                      /* adjacent rows that were taken as one unit; 0: none */
  int64_t clusters;                          /* of the data; 0: they name none */
  double rows;                               /* with any value; of weighted rows their effective number */
  /* Are the cuts the same in all segments? NaN and -1 where the model has none. The root mean square of the thresholds'
   * residuals less their noise, and the item and the segment that are furthest off, by how much. */
  double margin_p, margin_size, margin_shift;
  int margin_item, margin_segment;
  int segments_found; /* 1: the segments were found in these rows, so that change cannot be tested */
  int draws_planned;  /* more than draws after an interrupt */
  double refit_gain;  /* log-likelihood of all pairs of values under the refit less that under the model */
  /* p of no change but what follows the means of the sources over the segments, as it does without change where sources
   * are not normal; NaN with fewer than k + 3 segments. */
  double change_beyond_p;
  int replicates; /* sets of replicate weights, which take the place of draws and give all errors; 0: none */
  int64_t strata; /* of the segments of the data together; 0: they name none */
  int freed; /* pairs of an item and a segment that the fit set free, but for items that are free in all segments; what
                they have of their own has no errors */
  double tails_p; /* of sources with no heavier tails than the normal distribution; NaN without four items */
} blica_assessment;
BLICA_API const char *blica_answer_name(blica_answer answer); /* "yes", "weak", "no", "unknown"; static text */
BLICA_API const char *blica_question_name(int question);      /* "design", ...; static text, NULL for other numbers */
/* How far an estimate can be trusted: standard errors, by which angle each column may be off, whether the variances
 * change over segments at all, and whether the model fits. The rows are those that the model was fitted to. An
 * interrupt of the bootstrap keeps the draws that are finished, or if they are fewer than 20 none. */
BLICA_API blica_status blica_assess(blica_ctx *ctx, const blica_model *model, const blica_data *data,
                                    const blica_assess_options *options, blica_assessment **out);
BLICA_API void blica_assessment_free(blica_assessment *assessment);
/* The mean MCS of random rotations of the columns of A against them: what their space alone scores. */
BLICA_API blica_status blica_chance_mcs(blica_ctx *ctx, const blica_model *model, uint64_t seed, double *mcs);

/* ------------------------------------------------------------------ items that differ between segments */

/* A model holds that every item has the same cuts and the same row of A in all segments. Tests of that, item by item,
 * overall and in each segment, from the rows that the model was fitted to. An item that differs most is set apart in
 * the segment where it does before the others are tested again, as long as one differs. */
typedef enum { BLICA_CUTS = 0, BLICA_LOADINGS, BLICA_ITEM_PARTS } blica_item_part;

typedef struct {
  int item, segment; /* segment -1: over all segments */
  blica_item_part kind;
  double effect; /* cuts: how much higher they are here, in standard deviations of the item's latent response, on
                    average over its cuts. loadings: the change of the standardised loading, where it is largest.
                    Over all segments: that of the segment where it is largest */
  double p,
      p_adjusted; /* after Benjamini and Hochberg, over the items, or over items and segments; NaN: not testable */
  int found;      /* 1, 2, ...: set apart as the first, second, ...; 0: not */
} blica_item_test;

typedef struct {
  int n, k, u, planes;
  char **variables, **segments;
  double level;
  int found; /* how many items were set apart in some segment, cuts and loadings */
  int tests;
  blica_item_test *test; /* [tests] over all segments first, then by segment; each in order of p_adjusted, then of p */
  double *shift;         /* [planes,u] of each cut, in standard deviations; NaN without a test */
  double *share;         /* [planes + n,u] by how much that changes the probability of each level, lowest first */
  double *loading;       /* [n,k,u] change of the standardised loadings */
} blica_invariance_result;

/* As in "cuts", "loadings"; static text. */
BLICA_API const char *blica_item_part_name(blica_item_part part);
/* The tests of a model, by the rows that it was fitted to. NULL for options: their defaults. */
BLICA_API blica_status blica_invariance(blica_ctx *ctx, const blica_model *model, const blica_data *data,
                                        const blica_invariance_options *options, blica_invariance_result **out);
BLICA_API void blica_invariance_free(blica_invariance_result *result);

/* ------------------------------------------------------------------ number of sources */

/* Arrays over k have highest + 1 elements; NaN where k was not fitted. */
typedef struct {
  int n, lowest, highest; /* highest is lowered where degrees of freedom would be negative */
  int sources;            /* recommended; 0: no structure */
  char reason[400];
  int method;         /* the one used */
  double *heldout;    /* log-likelihood of a held-out pair of values per row, less that of k = 0 */
  double *heldout_se; /* standard error of its difference from the best */
  double *bic;
  double *map;                    /* average squared partial correlation of the pooled rows */
  double *eigenvalue, *reference; /* [n] of the correlations common to all segments, largest first; their 95 %
                                     quantiles when items are independent */
  int by_heldout, by_parallel, by_map, by_bic;
  /* As heldout, for rows of whole segments that were held out, A being that of the others; NaN, and by_segments -1,
   * with fewer than four segments or a method that needs rows. */
  double *heldout_segments, *heldout_segments_se;
  int by_segments;
  double *halves; /* [highest+1] MCS between fits to two halves of the rows */
} blica_selection;
/* Compares numbers of sources by the likelihood of pairs in held-out rows. Parallel analysis with the data's own
 * margins, Velicer's minimum average partial and BIC are given for comparison. */
BLICA_API blica_status blica_select(blica_ctx *ctx, const blica_data *data, const blica_select_options *options,
                                    blica_selection **out);
BLICA_API void blica_selection_free(blica_selection *selection);

#ifdef __cplusplus
}
#endif
#endif /* BLICA_CONCLUSIONS_H */
