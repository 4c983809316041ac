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
  double *segment_rms;       /* [u] root mean square of fitted less observed */
  double *segment_se;        /* [u] root mean square of the standard errors; NaN when there are none */
  double rms;
  bool *used; /* [pairs,u] false where a variable is constant or no row has both */
} agreement;

bool agreement_make(const report_input *in, agreement *out);
void agreement_free(agreement *a);

/* Variables so that those with the same strongest source stand together; in their own order when there are few. */
typedef struct {
  int *order; /* [n] */
  bool sorted;
} row_order;
bool row_order_make(const blica_model *m, row_order *out);

/* Element of the mixing matrix, and the largest absolute one (1 when all are 0). */
double loading(const blica_model *m, int i, int j);
double largest_loading(const blica_model *m);

/* At most eight characters of a label; bytes that continue a character stay with it. */
void short_label(const char *label, char text[40]);

/* Mean over segments of the correlation between source j and the latent variable behind x_i. */
double source_correlation(const blica_model *m, int i, int j);

typedef struct {
  const report_input *in;
  agreement agree; /* pairs is 0 without data */
  row_order rows;
} report;

/* Each gives NULL when it has nothing to show (or no memory). */
figure *figure_mixing(const report *r);
figure *figure_variances(const report *r);
figure *figure_means(const report *r);
figure *figure_timeline(const report *r);
figure *figure_loadings(const report *r);
figure *figure_agreement(const report *r);
figure *figure_segments(const report *r);
figure *figure_residuals(const report *r);

/* Nothing when there is no timeline. */
void table_durations(const report *r, FILE *page);

/* Sections of the page, in order. */
void section_summary(const report *r, FILE *page);
void section_fit(const report *r, FILE *page);
void section_mixing(const report *r, FILE *page);
void section_sources(const report *r, FILE *page);
void section_data(const report *r, FILE *page);
void section_assessment(const report *r, FILE *page);
void section_identifiability(const report *r, FILE *page);
void section_reproduce(const report *r, FILE *page);

extern const char page_style[], page_script[];

#endif
