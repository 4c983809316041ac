/* series.h - the methods that an experiment compares, each with its colour. */
#ifndef SERIES_H
#define SERIES_H

#include "draw.h"
#include "runs.h"

enum { MOST_SERIES = 16 };

typedef struct {
  char name[48], method[16];
  double condition;
  colour ink;
} series;

/* All methods of the library that e->methods lets through (usual when it is NULL; NULL: all); blica once for each of
 * its condition numbers. */
int series_list(const experiment *e, const char *usual, const double *conditions, int count, series list[MOST_SERIES]);

double run_mcs(const run *r);       /* of a finished run */
double run_log_error(const run *r); /* log10 of its error, at least -32 */

/* Boxes of all series side by side at each place; like gives the rest of what identifies the runs. */
struct axes_place {
  const char *text;
  run like;
};
/* One panel of errors, 1 - MCS, on a logarithmic scale up to that of MCS `lowest`; values has room for all runs. */
void draw_boxes(figure *f, double x, double y, double w, double h, const char *title, const char *label, const runs *r,
                const struct axes_place *places, int count, const series *list, int listed, double lowest,
                double *values);

#endif
