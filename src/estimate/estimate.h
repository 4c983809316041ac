/* estimate.h - what an estimator gets and gives, and the table of estimators (method.c).
 * To add one: write a file with a bl_estimate_fn, add a row to the table in method.c. */
#ifndef BL_ESTIMATE_H
#define BL_ESTIMATE_H

#include "counts/counts.h"
#include "files/stage.h"

typedef struct {
  const blica_data *data;           /* NULL when only counts or correlations were given */
  const blica_counts *counts;       /* NULL when only correlations were given, or the method does not use them */
  const blica_cor *cor;             /* unregularised; NULL for methods that do not ask for it */
  const blica_fit_options *options; /* defaults resolved */
  double deadline;                  /* bl_seconds() at which the time is over; infinity for none */
  const uint8_t *freed;             /* [n,u] what items have of their own in single segments (model.h); NULL: nothing */
  bl_stage stage;                   /* parent of the stages in which a checkpoint stores the estimate */
} bl_problem;

/* Fills mixing, variances, and fit (objective, starts, counts of work, stop, notes) of a model whose
 * sizes, names, thresholds and samples are set. Any order, sign and scale will do: fit.c brings the
 * model to canonical form. Sets *means_done when it filled the means too; else fit.c solves them. */
typedef blica_status (*bl_estimate_fn)(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done);

/* The source of the standard errors of an estimate. */
typedef enum {
  BL_COVARIANCE_NONE,         /* unknown: the method does not fit what the rows say of A and v */
  BL_COVARIANCE_REGULARISED,  /* a sandwich of the regularised correlations, scales of the items free */
  BL_COVARIANCE_CORRELATIONS, /* a sandwich of the correlations */
  BL_COVARIANCE_TABLES,       /* a sandwich of the tables of all pairs */
  BL_COVARIANCE_INFORMATION   /* the information of the full likelihood; where it is too large, of the correlations */
} bl_covariance;

typedef struct {
  const blica_method *method;
  bl_estimate_fn estimate;
  bool (*keeps_counts)(const blica_cor *cor); /* whether it uses counts beside these correlations; NULL: never */
  bool wants_counts, wants_cor;               /* what it uses: fit.c prepares that, and frees what only led there */
  int64_t max_iterations;                     /* defaults of these options; 0: as for most methods */
  double tolerance;
  blica_prior prior;        /* the value of prior=default; 0: none */
  bl_covariance covariance; /* 0: none */
  bool levels;              /* takes items with more than two levels */
  bool frees;               /* lets items have cuts and rows of A of their own in single segments */
  bool no_cuts;             /* its models have no cuts: the means of the sources determine all base rates */
} bl_estimator;

/* Method matched. */
blica_status bl_estimate_matched(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done);
/* Method pairwise. */
blica_status bl_estimate_pairwise(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done);
/* Method blica. */
blica_status bl_estimate_blica(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done);

/* Method mle. */
blica_status bl_estimate_mle(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done);
/* Method ivae. */
blica_status bl_estimate_ivae(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done);
/* Method fastica. */
blica_status bl_estimate_fastica(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done);

/* Standard deviation of the prior of the sources' means. */
#define BL_MEAN_SD 3.0

/* blica_fit without option free=auto. freed [n,u] is what items have of their own in single segments; NULL: what option
 * free says. consumed: as in blica_fit_consume, or NULL. */
blica_status bl_fit(blica_ctx *ctx, const blica_input *input, blica_counts **consumed, const blica_fit_options *options,
                    const uint8_t *freed, blica_model **out);

/* ---- items that are estimated apart in some segments (free.c) ---- */

/* Whether a fit with these options can free items. */
blica_status bl_free_possible(blica_ctx *ctx, const bl_estimator *estimator, const blica_fit_options *options);
/* Reads a list of items, "x3@4,cuts:x5", into freed [n,u]. The model has names, sizes and levels. */
blica_status bl_free_read(blica_ctx *ctx, const char *text, const blica_model *model, uint8_t *freed);
/* Fails, saying why, when these items cannot be freed. */
blica_status bl_free_check(blica_ctx *ctx, const blica_model *model, const blica_counts *counts, const uint8_t *freed);
/* A copy of the counts in which items with a row of A of their own are missing in that segment. */
blica_status bl_free_mask(blica_ctx *ctx, const blica_model *model, const blica_counts *counts, const uint8_t *freed,
                          blica_counts **out);
/* Finds the scales of ordinal items (cor/correlate.h) anew without the segments where the item is free. */
blica_status bl_free_scales(blica_ctx *ctx, const blica_model *model, const blica_counts *counts, const uint8_t *freed,
                            blica_cor *cor);
/* Sets what the freed items of a model have of their own: rows of A, from the correlations with items that have none,
 * and cuts, from the thresholds. cor are the correlations of all items. */
blica_status bl_free_estimate(blica_ctx *ctx, const blica_cor *cor, blica_model *model);

/* ---- the table ---- */

/* auto, and the methods that select and segment may use: the words of their options. */
extern const char bl_select_methods[], bl_segment_methods[];

/* The estimator of that name; NULL when no estimator has it, as for a model that was not fitted. */
const bl_estimator *bl_method_named(const char *name);
/* The source of the errors of a model. A model that was not fitted has errors from its correlations. */
bl_covariance bl_method_covariance(const blica_model *model);
/* The estimator of that number; the condition and whether counts are exact resolve `auto`. NULL when no estimator has
 * that number. */
const bl_estimator *bl_method_of(int method, double condition, bool exact);
/* The number of an estimator of the table, as in blica_fit_options. */
int bl_method_number(const bl_estimator *estimator);
/* Records the options that are not at their defaults. */
blica_status bl_report_options(blica_ctx *ctx, blica_fit_report *report, const blica_fit_options *options);

#endif
