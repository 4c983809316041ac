/* estimate.h - what an estimator gets and gives, and what its row in the table of method.c says.
 * To add one: write a file with a bl_estimate_fn, add a row to the table in method.c. */
#ifndef BL_ESTIMATE_H
#define BL_ESTIMATE_H

#include "files/stage.h"

typedef struct {
  const blica_data *data;           /* NULL when only counts or correlations were given */
  const blica_counts *counts;       /* NULL when only correlations were given, or the method does not use them */
  const blica_cor *cor;             /* unregularised; NULL for methods that do not ask for it */
  const blica_fit_options *options; /* defaults resolved */
  double deadline;                  /* bl_seconds() at which the time is over; infinity for none */
  bl_stage stage;                   /* what a checkpoint keeps of the estimate stands below it */
} bl_problem;

/* Fills mixing, variances, and fit (objective, starts, counts of work, stop, notes) of a model whose
 * sizes, names, thresholds and samples are set. Any order, sign and scale will do: fit.c brings the
 * model to canonical form. Sets *means_done when it filled the means too; else fit.c solves them. */
typedef blica_status (*bl_estimate_fn)(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done);

/* What the errors of an estimate come from. */
typedef enum {
  BL_COVARIANCE_NONE,         /* there are none: the method does not fit what the rows say of A and v */
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
  blica_prior prior;        /* what prior=default stands for; 0: none */
  bl_covariance covariance; /* 0: none */
  bool levels;              /* takes items with more than two levels */
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

/* Helpers for estimators. */
/* Of the prior of the sources' means. */
#define BL_MEAN_SD 3.0
/* Norm of a row of sqrt(c) A V^1/2 that stands for infinity: the noise of the link is 1e-4 of the signal. */
#define BL_INFINITE_ROW 100.0
/* The largest norm of a row of sqrt(c) A V^1/2 over all segments: how far signals exceed the noise of the link. The
 * log-variances [k] of segment s stand at log_v + s stride. */
double bl_largest_row(int n, int k, int u, double link, const double *mixing, const double *log_v, size_t stride);
/* The mean over segments of one source's variances; its log-variances stand at log_v + s stride. */
double bl_mean_variance(int u, const double *log_v, size_t stride);
/* Cuts of n items as parameters that may have any value: of each item the first cut, then the logarithms of the steps
 * from cut to cut, so that cuts grow whatever an optimiser does. An item of two levels has its cut alone. */
void bl_cuts_of(const blica_coding *coding, int n, const double *own, double *cut);  /* from parameters to cuts */
void bl_cuts_set(const blica_coding *coding, int n, const double *cut, double *own); /* and back */
/* The gradient in the cuts becomes that in their parameters, in place. */
void bl_cuts_chain(const blica_coding *coding, int n, const double *own, double *gradient);
/* A small change of the parameters becomes that of the cuts, in place. */
void bl_cuts_move(const blica_coding *coding, int n, const double *own, double *change);
/* A start that is over, for a checkpoint: its record and its end. */
typedef struct {
  blica_start *record;
  double *theta; /* [size] */
  size_t size;
} bl_start_end;
void bl_pass_start(bl_state *state, void *user /* bl_start_end */);
/* Solves the means (and with cuts the cuts, model/solve_means.c) from the thresholds unless they are done, and brings
 * the model to canonical form. */
blica_status bl_complete_model(blica_ctx *ctx, blica_model *model, bool cuts, bool means_done);
blica_status bl_report_starts(blica_ctx *ctx, blica_fit_report *report, int count); /* allocates starts */
/* Records the options that are not at their defaults. */
blica_status bl_report_options(blica_ctx *ctx, blica_fit_report *report, const blica_fit_options *options);
/* Appends a note; a long name is truncated. */
blica_status bl_report_note(blica_ctx *ctx, blica_fit_report *report, const char *name, double value);

#endif
