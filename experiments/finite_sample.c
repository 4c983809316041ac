/* finite_sample.c - Figure 4: MCS against samples per segment, in three settings, for all methods. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "axes.h"
#include "series.h"

enum { SEGMENTS = 40, SETTINGS = 3, MOST_SIZES = 6 };

static const struct {
  int n, k;
  const char *title;
} settings[SETTINGS] = {
    {10, 10, "10 variables, 10 sources"}, {6, 6, "6 variables, 6 sources"}, {6, 2, "6 variables, 2 sources"}};

static const double conditions[] = {10, 3, 100};
static const int64_t full_sizes[] = {50, 100, 300, 1000, 3000, 10000}, quick_sizes[] = {50, 300, 1000};

typedef struct {
  series list[MOST_SERIES];
  int listed, datasets, sizes;
  const int64_t *size;
} design;

static design design_of(const experiment *e) {
  design d = {.datasets = e->datasets ? e->datasets
                          : e->quick  ? 2
                                      : 30,
              .sizes = e->quick ? 3 : 6,
              .size = e->quick ? quick_sizes : full_sizes};
  while (d.sizes && d.size[d.sizes - 1] > e->samples.high) d.sizes--;
  while (d.sizes && d.size[0] < e->samples.low) d.sizes--, d.size++;
  d.listed = series_list(e, NULL, conditions, 3, d.list);
  return d;
}

/* Data sets outermost: a run that is cut short has whole sets. */
static blica_status plan(experiment *e, const design *d, runs *r) {
  for (int set = 1; set <= d->datasets; set++)
    for (int p = 0; p < SETTINGS; p++)
      for (int z = 0; z < d->sizes; z++)
        for (int s = 0; s < d->listed; s++) {
          run one = {.seed = (uint64_t)set,
                     .levels = 2,
                     .n = settings[p].n,
                     .k = settings[p].k,
                     .u = SEGMENTS,
                     .samples = d->size[z],
                     .condition = d->list[s].condition,
                     .starts = e->starts};
          snprintf(one.method, sizeof one.method, "%s", d->list[s].method);
          blica_status status = runs_add(e, r, &one);
          if (status != BLICA_OK) return status;
        }
  return BLICA_OK;
}

static figure *draw(const experiment *e, const design *d, const runs *r, double *values) {
  enum { W = 900, H = 220, STEP = H + 70, LEFT = 66 };
  const char *names[MOST_SERIES];
  colour inks[MOST_SERIES];
  for (int s = 0; s < d->listed; s++) {
    names[s] = strcmp(d->list[s].method, "matched") == 0 ? "matched (default)" : d->list[s].name;
    inks[s] = d->list[s].ink;
  }
  figure *f = figure_new(LEFT + W + 20, 76 + SETTINGS * STEP,
                         "Boxes of 1 - MCS for each method against samples per segment, on a logarithmic scale");
  draw_text(f, LEFT, 22, 14, ALIGN_START, INK, 0, true, "Error from samples (lower is better): %d segments", SEGMENTS);
  draw_legend(f, LEFT, 46, W, names, inks, d->listed);
  for (int p = 0; p < SETTINGS; p++) {
    struct axes_place places[MOST_SIZES];
    char text[MOST_SIZES][16];
    for (int z = 0; z < d->sizes; z++) {
      snprintf(text[z], sizeof text[z], "%lld", (long long)d->size[z]);
      places[z] = (struct axes_place){text[z],
                                      {.n = settings[p].n,
                                       .k = settings[p].k,
                                       .u = SEGMENTS,
                                       .samples = d->size[z],
                                       .levels = 2,
                                       .starts = e->starts}};
    }
    draw_boxes(f, LEFT, 84 + p * STEP, W, H, settings[p].title, "samples per segment", r, places, d->sizes, d->list,
               d->listed, settings[p].k == 2 ? 0.8 : 0.3, values);
  }
  return f;
}

blica_status experiment_finite_sample(experiment *e) {
  runs r = {0};
  design d = design_of(e);
  if (d.listed == 0)
    return fail_experiment(e, BLICA_ERR_ARGUMENT, "no method is left; --methods names none that is there");
  if (d.sizes == 0)
    return fail_experiment(
        e, BLICA_ERR_ARGUMENT,
        "--samples %d:%d holds none of the sizes 50, 100, 300, 1000, 3000, 10000 (with --quick 50, 300, 1000)",
        e->samples.low, e->samples.high);
  if (e->quick && !(e->max_seconds <= 5)) e->max_seconds = 5;
  blica_status status = plan(e, &d, &r);
  if (status == BLICA_OK) status = runs_do(e, &r, "finite-sample.csv");
  double *values = malloc(((size_t)r.count + 1) * sizeof *values);
  if (status == BLICA_OK && !values) status = fail_experiment(e, BLICA_ERR_MEMORY, "out of memory");
  if (status == BLICA_OK) status = experiment_figure(e, draw(e, &d, &r, values), "finite-sample");
  free(values);
  runs_free(&r);
  return status;
}
