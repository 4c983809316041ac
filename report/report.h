/* report.h - one self-contained page about a fitted model. */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "blica.h"
#include "draw.h"

/* States over time, as blica segment found them. */
typedef struct {
  int64_t rows;
  int states;                        /* segments of the model, in its order */
  int columns;                       /* parts of equal length that the rows are shown in */
  double *share;                     /* columns rows of states: mean probability, or share of the rows */
  bool probabilities;                /* share has probabilities */
  int64_t *rows_in, *runs, *longest; /* [states] rows, runs, rows of the longest run */
} report_timeline;

typedef struct {
  const blica_model *model;
  const blica_counts *counts;           /* of the data, or NULL: what needs them is left out */
  blica_check *check;                   /* what is in the data; NULL together with counts */
  const char *data_words;               /* the same in a few sentences, as data_words gives them */
  blica_cor *cor;                       /* regularised as for the fit; NULL together with counts */
  blica_fitted_values *fitted;          /* of the model; NULL together with counts */
  int *segment;                         /* [u] segment of counts and cor for each of the model's */
  blica_identification *identification; /* or NULL: only the count of equations is shown */
  report_timeline *timeline;            /* or NULL: rows have no order that is known */
  blica_assessment *assessment;         /* or NULL: not assessed */
  blica_reliability *reliability;       /* of the scores of the rows, or NULL */
  blica_invariance_result *invariance;  /* or NULL: items were not tested */
  int64_t surplus;                      /* statistics less unknowns, as in Table 1 */
  const char *model_path, *data_path;   /* data_path may be NULL */
  const char *data_options;             /* flags that read the data as they were read; "" */
  const char *level_options;            /* those that code items as the model, which knows their levels; "" */
  const char *version;
  bool (*stop)(void); /* or NULL; asked between sections and figures, what was written is then not complete */
} report_input;

/* The page; false when memory ran out. */
bool report_write(const report_input *in, FILE *page);
/* The figures of the page as files in folder. On failure message holds the reason. */
bool report_figures(const report_input *in, const char *folder, char *message, size_t size);

#endif
