/* report_parts.h - what the parts of the report share. */
#ifndef REPORT_PARTS_H
#define REPORT_PARTS_H

#include "report.h"

/* How the fitted model and the data agree, computed once. Pairs as in blica_cor. */
typedef struct {
  int n, u;
  int64_t pairs;
  double *observed, *fitted; /* [pairs,u] correlations, segments as in the model */
  double *pair_mean;         /* [pairs] mean over segments of fitted less observed; NaN where nothing was observed */
  double *pair_se;           /* [pairs] its standard error by sampling; NaN where none is known */
  double *segment_rms;       /* [u] root mean square of fitted less observed */
  double *segment_se;        /* [u] root mean square of the standard errors; NaN if none is known */
  double rms;
  bool *used; /* [pairs,u] false where a variable is constant or no row has both */
} agreement;

#define RESIDUAL_WORTH 3.0 /* standard errors; smaller residuals are not worth showing */
/* Mean residual of a pair over its standard error. */
double residual_in_errors(const agreement *a, int64_t pair);

/* False when memory is out; without correlations *out is empty. */
bool agreement_make(const report_input *in, agreement *out);
void agreement_free(agreement *a);

double largest_loading(const blica_model *m); /* in absolute value; 1 when all are 0 */

typedef struct {
  const report_input *in;
  agreement agree; /* pairs is 0 without data */
} report;

/* Each gives NULL when it has nothing to show (or no memory). */
figure *figure_mixing(const report *r);
figure *figure_variances(const report *r); /* by source and segment */
figure *figure_means(const report *r);     /* by source and segment */
figure *figure_timeline(const report *r);  /* segments along the rows */
figure *figure_agreement(const report *r); /* observed against fitted correlations */
figure *figure_segments(const report *r);  /* residuals by segment */
figure *figure_residuals(const report *r); /* residuals by pair, if any is worth showing */

/* The variances with their intervals, folded; nothing without an assessment. */
void table_variances(const report *r, FILE *page);

/* Nothing where the scores of the rows were not computed. */
void part_reliability(const report *r, FILE *page);
bool items_differ(const report *r); /* whether some item is shown to differ between segments */
/* A line of the first screen where they do; else nothing. */
void line_items(const report *r, FILE *page);

/* Nothing when there is no timeline. */
void table_durations(const report *r, FILE *page);

/* A word as a POSIX shell reads it back. */
void put_word(FILE *page, const char *word);

/* Parts of the page. */
void section_answer(const report *r, FILE *page);          /* the first screen */
void section_summary(const report *r, FILE *page);         /* the model and its sizes */
void section_fit(const report *r, FILE *page);             /* starts and how they ended */
void section_mixing(const report *r, FILE *page);          /* the matrix and its figures */
void section_sources(const report *r, FILE *page);         /* variances and means by segment */
void section_items(const report *r, FILE *page);           /* whether they work alike in all segments */
void section_data(const report *r, FILE *page);            /* what was fitted */
void section_assessment(const report *r, FILE *page);      /* how far it can be trusted */
void section_identifiability(const report *r, FILE *page); /* counting and rank */
void section_reproduce(const report *r, FILE *page);       /* the command that repeats the fit */

extern const char page_style[], page_script[];

#endif
