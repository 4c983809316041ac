/* levels.h - what the parts of the experiment "levels" share. */
#ifndef LEVELS_H
#define LEVELS_H

#include "runs.h"

enum { LEVEL_COUNTS = 4, SHOWN_COUNTS = 3, EXACT_LEAST = 2 };
extern const int level_counts[LEVEL_COUNTS]; /* 2, 3, 5 are shown; 4 stands in the CSV only */

/* One size: the count, the rank of random models, and how many of them fits to exact probabilities recover. */
typedef struct {
  int n, k, u, levels;
  int64_t statistics, unknowns;
  int models, full;          /* drawn, and of those with a full rank */
  int open_least, open_most; /* directions of A and v that are not fixed, over the models */
  int fits, recovered;       /* fits with 1 - MCS below 1e-6 */
} level_cell;

/* Two models of two variables with the same probabilities at two levels: the first, and one with its rows exchanged
 * whose means and cuts are as close as they can be. */
enum { TWIN_SEGMENTS = 3, MOST_SHOWN_LEVELS = 5 };
typedef struct {
  const char *name;
  int levels;
  double p[2][TWIN_SEGMENTS][MOST_SHOWN_LEVELS * MOST_SHOWN_LEVELS]; /* of each pair of levels */
  double difference;                                                 /* the largest between the two */
} twin_table;

/* Data sets of two variables, one the cause of the other: how often the fit has the arrow right. */
typedef struct {
  int levels;
  int64_t samples;
  int sets, right;
} arrow_score;

enum { TWIN_EXAMPLES = 2, ARROW_SAMPLES = 2 };
typedef struct {
  twin_table twins[TWIN_EXAMPLES][SHOWN_COUNTS];
  arrow_score arrows[ARROW_SAMPLES][SHOWN_COUNTS];
} two_variables;

/* Runs both parts of two variables and writes levels-twins.csv and levels-arrows.csv. */
blica_status levels_two_variables(experiment *e, int sets, two_variables *out);

/* Runs from samples: sizes and rows per segment. */
typedef struct {
  int n;
  int64_t samples;
} sampled_size;
enum { SAMPLED_SIZES = 4, SAMPLED_SEGMENTS = 40 };
extern const sampled_size sampled_sizes[SAMPLED_SIZES];
/* The run of one size and number of levels. */
run levels_sampled_run(const experiment *e, const sampled_size *size, int levels);

struct figure;
/* The figure of the experiment; NULL when memory is out. The caller frees it. */
struct figure *levels_figure(const experiment *e, const level_cell *cells, int count, const runs *r,
                             const two_variables *two, double *values);

#endif
