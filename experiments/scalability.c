/* scalability.c - Figure 5: MCS and the time of each step of Algorithm 1 against the number of variables; past the
 * paper's 100 variables to 1000 with 10 sources. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "axes.h"
#include "series.h"

enum { SEGMENTS = 40, SAMPLES = 1000, FEW_SOURCES = 10, PAPER_LARGEST = 100 };

static const int square_sizes[] = {10, 20, 30, 50, 100}, few_sizes[] = {10, 20, 50, 100, 200, 500, 1000};
static const double usual_condition[] = {BLICA_CONDITION_DEFAULT};

typedef struct {
  series list[MOST_SERIES];
  int listed, datasets, squares, fews;
} design;

static design design_of(const experiment *e) {
  design d = {.datasets = e->datasets ? e->datasets
                          : e->quick  ? 2
                                      : 30,
              .squares = e->quick ? 2 : 5,
              .fews = e->quick ? 3 : 7};
  d.listed = series_list(e, "blica,ivae,fastica", usual_condition, 1, d.list); /* those of the paper */
  return d;
}

static run run_of(const experiment *e, int n, int k, const series *s) {
  run r = {.n = n,
           .k = k,
           .u = SEGMENTS,
           .samples = SAMPLES,
           .levels = 2,
           .starts = e->starts,
           .condition = usual_condition[0]};
  snprintf(r.method, sizeof r.method, "%s", s ? s->method : "blica");
  return r;
}

/* Past the paper's sizes blica alone goes on. */
static blica_status plan_size(experiment *e, const design *d, runs *r, int set, int n, int k) {
  for (int s = 0; s < d->listed; s++) {
    run one = run_of(e, n, k, &d->list[s]);
    one.seed = (uint64_t)set;
    if (n > PAPER_LARGEST && strcmp(one.method, "blica") != 0) continue;
    blica_status status = runs_add(e, r, &one);
    if (status != BLICA_OK) return status;
  }
  return BLICA_OK;
}

/* By size, both settings at each, so that a run that is cut short has some of both; n = k = 10 is common to them. */
static blica_status plan(experiment *e, const design *d, runs *r) {
  blica_status status = BLICA_OK;
  for (int set = 1; set <= d->datasets; set++)
    for (int i = 0; i < d->squares || i < d->fews; i++) {
      if (i > 0 && i < d->fews) status = plan_size(e, d, r, set, few_sizes[i], FEW_SOURCES);
      if (i < d->squares && status == BLICA_OK) status = plan_size(e, d, r, set, square_sizes[i], square_sizes[i]);
      if (status != BLICA_OK) return status;
    }
  return status;
}

/* ---- the figure ---- */

enum { W = 420, H = 260, LEFT = 66, TOP = 84 };

static void draw_errors(const experiment *e, const design *d, const runs *r, figure *f, bool square, double *values) {
  struct axes_place places[8];
  char text[8][16];
  int count = square ? d->squares : d->fews;
  const int *sizes = square ? square_sizes : few_sizes;
  for (int i = 0; i < count; i++) {
    snprintf(text[i], sizeof text[i], "%d", sizes[i]);
    places[i] = (struct axes_place){text[i], run_of(e, sizes[i], square ? sizes[i] : FEW_SOURCES, NULL)};
  }
  draw_boxes(f, LEFT + (square ? 0 : W + 70), TOP, W, H, square ? "as many sources as variables" : "10 sources",
             "variables", r, places, count, d->list, d->listed, 0.2, values);
}

static double seconds_count(const run *r) {
  return r->seconds_count;
}
static double seconds_correlate(const run *r) {
  return r->seconds_correlate;
}
static double seconds_regularise(const run *r) {
  return r->seconds_regularise;
}
static double seconds_near(const run *r) {
  return r->seconds_near;
}
static double seconds_optimise(const run *r) {
  return r->seconds_optimise;
}

static const struct {
  const char *name;
  run_value value;
} steps[] = {{"count", seconds_count},
             {"correlate", seconds_correlate},
             {"regularise", seconds_regularise},
             {"best start, to within 1 of its likelihood", seconds_near},
             {"all starts, to convergence", seconds_optimise}};
enum { STEPS = sizeof steps / sizeof *steps };

static void draw_step(const experiment *e, const axes *a, const runs *r, int step, bool square, int count,
                      double *values) {
  double line[16];
  int used = 0;
  for (int i = 0; i < count; i++) {
    int n = square ? square_sizes[i] : few_sizes[i];
    run like = run_of(e, n, square ? n : FEW_SOURCES, NULL);
    int found = runs_select(r, &like, steps[step].value, values);
    double middle = median(values, found);
    char tip[160];
    if (!(middle > 0)) continue;
    line[2 * used] = axes_x(a, n);
    line[2 * used++ + 1] = axes_y(a, fmax(middle, a->y_low));
    snprintf(tip, sizeof tip, "%s, n=%d: %.3g s", steps[step].name, n, middle);
    draw_circle(a->f, line[2 * used - 2], line[2 * used - 1], 3, palette(step), CLEAR, tip);
  }
  draw_path(a->f, line, used, false, CLEAR, palette(step), 1.6);
}

static void draw_times(const experiment *e, const design *d, const runs *r, figure *f, bool square, double *values) {
  axes a = {f, LEFT + (square ? 0 : W + 70), TOP + H + 110, W, H, 8, square ? 130 : 1300, 1e-5, 1e3, true, true};
  axes_ticks_y(&a, "seconds (median)");
  axes_ticks_x(&a, "variables");
  axes_frame(&a, square ? "time of each step, as many sources as variables" : "time of each step, 10 sources");
  for (int s = 0; s < STEPS; s++) draw_step(e, &a, r, s, square, square ? d->squares : d->fews, values);
}

static figure *draw(const experiment *e, const design *d, const runs *r, double *values) {
  const char *names[MOST_SERIES], *step_names[STEPS];
  colour inks[MOST_SERIES], step_inks[STEPS];
  for (int s = 0; s < d->listed; s++) {
    names[s] = d->list[s].name;
    inks[s] = d->list[s].ink;
  }
  for (int s = 0; s < STEPS; s++) {
    step_names[s] = steps[s].name;
    step_inks[s] = palette(s);
  }
  figure *f = figure_new(LEFT + 2 * W + 90, TOP + 2 * H + 160, "MCS and running time against the number of variables");
  draw_text(f, LEFT, 22, 14, ALIGN_START, INK, 0, true, "More variables: %d segments of %d samples", SEGMENTS, SAMPLES);
  draw_legend(f, LEFT, 46, 2 * W, names, inks, d->listed);
  draw_legend(f, LEFT, TOP + H + 72, 2 * W, step_names, step_inks, STEPS);
  for (int square = 0; square < 2; square++) {
    draw_errors(e, d, r, f, square, values);
    draw_times(e, d, r, f, square, values);
  }
  return f;
}

blica_status experiment_scalability(experiment *e) {
  runs r = {0};
  design d = design_of(e);
  if (d.listed == 0)
    return fail_experiment(e, BLICA_ERR_ARGUMENT, "no method is left; --methods names none that is there");
  if (e->quick && !(e->max_seconds <= 10)) e->max_seconds = 10;
  blica_status status = plan(e, &d, &r);
  if (status == BLICA_OK) status = runs_do(e, &r, "scalability.csv");
  double *values = malloc(((size_t)r.count + 1) * sizeof *values);
  if (status == BLICA_OK && !values) status = fail_experiment(e, BLICA_ERR_MEMORY, "out of memory");
  if (status == BLICA_OK) status = experiment_figure(e, draw(e, &d, &r, values), "scalability");
  free(values);
  runs_free(&r);
  return status;
}
