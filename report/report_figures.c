/* report_figures.c - figures of the model: loadings, sources over segments. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "axes.h"
#include "report_parts.h"

/* ---- sources over segments ---- */

enum { PANELS = 3, PANEL_W = 240, PANEL_H = 84, GAP_X = 60, GAP_Y = 46, NAMED_W = 190, NAMES_OF_THREE = 165 };

/* The scale of all panels. A few vanishing variances must not flatten the rest: the logarithmic scale starts where 3 %
 * of the values are below, and those are drawn on its edge. */
static void limits(const double *values, size_t count, bool log_scale, double *scratch, double *low, double *high) {
  int used = 0;
  for (size_t i = 0; i < count; i++)
    if (isfinite(values[i]) && (!log_scale || values[i] > 0)) scratch[used++] = values[i];
  if (used == 0) scratch[used++] = 1;
  (void)median(scratch, used); /* sorts */
  *low = scratch[0];
  *high = scratch[used - 1];
  if (log_scale) {
    *low = fmax(*low, quantile(scratch, used, 0.03) / 3);
    *low /= 1.3;
    *high *= 1.3;
  } else {
    double margin = fmax(0.06 * (*high - *low), 1e-9);
    *low -= margin;
    *high += margin;
  }
}

/* What a figure over segments shows: values [k,u] with their intervals, which may be NULL. */
typedef struct {
  const blica_model *model;
  const double *values, *low, *high;
  const char *what, *alt;
  bool joined; /* segments follow one another in time: a line joins them */
} over_segments;

static void draw_dot(const over_segments *o, const axes *a, int s, size_t at) {
  char tip[320], interval[64] = "";
  const double x = axes_x(a, s + 1), y = axes_y(a, fmin(fmax(o->values[at], a->y_low), a->y_high));
  if (o->low && isfinite(o->low[at]) && isfinite(o->high[at])) {
    const double bottom = fmin(fmax(o->low[at], a->y_low), a->y_high),
                 top = fmin(fmax(o->high[at], a->y_low), a->y_high);
    draw_line(a->f, x, axes_y(a, bottom), x, axes_y(a, top), with_alpha(palette(0), 0.55), 1.2, false);
    snprintf(interval, sizeof interval, ", from %.3g to %.3g", o->low[at], o->high[at]);
  }
  snprintf(tip, sizeof tip, "z%d, segment %.200s: %s %.4g%s", (int)(at % (size_t)o->model->k) + 1,
           o->model->segments[s], o->what, o->values[at], interval);
  draw_circle(a->f, x, y, o->model->u <= 60 ? 2.6 : 1.4, o->values[at] < a->y_low ? palette(1) : palette(0), CLEAR,
              tip);
}

/* Dots with their intervals; line is scratch of 2 u. */
static void draw_source(const over_segments *o, const axes *a, int j, double *line) {
  const blica_model *m = o->model;
  int count = 0;
  for (int s = 0; s < m->u; s++) {
    const double value = o->values[(size_t)s * (size_t)m->k + (size_t)j];
    if (!isfinite(value)) continue;
    line[2 * count] = axes_x(a, s + 1);
    line[2 * count + 1] = axes_y(a, fmin(fmax(value, a->y_low), a->y_high));
    count++;
  }
  if (o->joined) draw_path(a->f, line, count, false, CLEAR, with_alpha(palette(0), 0.5), 1.1);
  for (int s = 0; s < m->u && (int64_t)m->u * m->k <= 20000; s++) {
    const size_t at = (size_t)s * (size_t)m->k + (size_t)j;
    if (isfinite(o->values[at])) draw_dot(o, a, s, at);
  }
}

/* One panel per source, all on one scale, segments in the order of time. */
static figure *figure_over_time(const over_segments *o, bool log_scale, double low, double high) {
  const blica_model *m = o->model;
  const int rows = (m->k + PANELS - 1) / PANELS, columns = m->k < PANELS ? m->k : PANELS;
  double *line = draw_alloc(2 * (size_t)m->u, sizeof *line);
  figure *f =
      line ? figure_new(54 + columns * (PANEL_W + GAP_X) - GAP_X + 16, 26 + rows * (PANEL_H + GAP_Y) + 14, o->alt)
           : NULL;
  for (int j = 0; j < m->k && f; j++) {
    char title[32];
    const int row = j / PANELS;
    axes a = {.f = f, .x = 54 + j % PANELS * (PANEL_W + GAP_X), .y = 26 + row * (PANEL_H + GAP_Y)};
    a.w = PANEL_W, a.h = PANEL_H, a.x_low = 0.5, a.x_high = m->u + 0.5, a.y_low = low, a.y_high = high;
    a.log_y = log_scale;
    axes_ticks_y(&a, j % PANELS == 0 ? o->what : NULL);
    axes_ticks_x(&a, j + PANELS >= m->k ? "segment, in the order of time" : NULL);
    if (!log_scale) draw_line(f, a.x, axes_y(&a, 0), a.x + a.w, axes_y(&a, 0), GREY, 1, true);
    draw_source(o, &a, j, line);
    snprintf(title, sizeof title, "z%d", j + 1);
    axes_frame(&a, title);
  }
  free(line);
  return f;
}

/* One panel per source with its rows, largest value first; those of source j begin `apart` after those of j - 1. */
static figure *figure_by_name(const blica_model *m, named_rows rows, size_t apart, const char *what, const char *alt,
                              bool log_scale, double low, double high) {
  const double names = rows_names_width(rows.count, rows.names), height = rows_height(rows.count),
               wide = names + NAMED_W + 24;
  const int panels = names > NAMES_OF_THREE ? 2 : PANELS;
  const int across = m->k < panels ? m->k : panels, down = (m->k + panels - 1) / panels;
  figure *f = figure_new(across * wide + 16, down * (height + GAP_Y + 24) + 8, alt);
  for (int j = 0; j < m->k; j++) {
    char title[32];
    const int row = j / panels;
    snprintf(title, sizeof title, "z%d", j + 1);
    axes a = {.f = f, .x = names + j % panels * wide + 8, .y = 26 + row * (height + GAP_Y + 24)};
    a.w = NAMED_W, a.h = height, a.x_low = low, a.x_high = high, a.log_x = log_scale;
    axes_rows(&a, &rows);
    axes_ticks_x(&a, what);
    axes_frame(&a, title);
    rows.value += apart;
    if (rows.low) rows.low += apart, rows.high += apart;
  }
  return f;
}

figure *figure_mixing(const report *r) {
  const blica_model *m = r->in->model;
  const blica_assessment *a = r->in->assessment;
  const double end = 1.2 * largest_loading(m);
  const named_rows rows = {.count = m->n,
                           .step = 1,
                           .names = m->variables,
                           .value = m->mixing,
                           .low = a ? a->mixing_low : NULL,
                           .high = a ? a->mixing_high : NULL};
  return figure_by_name(m, rows, (size_t)m->n, "loading", "The loadings of the items on each source", false, -end, end);
}

static figure *figure_over_segments(const over_segments *o, bool log_scale) {
  const size_t count = (size_t)o->model->k * (size_t)o->model->u;
  double low, high, *scratch = draw_alloc(count + 1, sizeof *scratch);
  if (!scratch) return NULL;
  limits(o->values, count, log_scale, scratch, &low, &high);
  free(scratch);
  const double bottom = log_scale ? low / 2 : -INFINITY, top = log_scale ? 2 * high : INFINITY;
  for (size_t i = 0; o->low && i < count; i++) /* with the intervals, where they are not too long */
    low = fmin(low, fmax(o->low[i], bottom)), high = fmax(high, fmin(o->high[i], top));
  if (o->low && !log_scale) low -= 0.02 * (high - low), high += 0.02 * (high - low);
  if (o->joined) return figure_over_time(o, log_scale, low, high);
  const blica_model *m = o->model;
  const named_rows rows = {.count = m->u,
                           .step = m->k,
                           .names = m->segments,
                           .value = o->values,
                           .low = o->low,
                           .high = o->high,
                           .reference = log_scale};
  return figure_by_name(m, rows, 1, o->what, o->alt, log_scale, low, high);
}

/* Whether the segments follow one another: they were cut from rows in time order. */
static bool in_time_order(const report *r) {
  return strstr(r->in->data_options, "--segment-length") || strstr(r->in->data_options, "--segment-count");
}

figure *figure_variances(const report *r) {
  const blica_assessment *a = r->in->assessment;
  const over_segments o = {r->in->model,
                           r->in->model->variances,
                           a ? a->variance_low : NULL,
                           a ? a->variance_high : NULL,
                           "variance",
                           "The variance of each source in each segment",
                           in_time_order(r)};
  return figure_over_segments(&o, true);
}

/* How many standard errors an interval reaches to each side. */
static double reach(double level) {
  double low = 0, high = 10;
  for (int i = 0; i < 60; i++) {
    const double middle = (low + high) / 2;
    erf(middle / sqrt(2)) < level ? (low = middle) : (high = middle);
  }
  return low;
}

figure *figure_means(const report *r) {
  const blica_model *m = r->in->model;
  const blica_assessment *a = r->in->assessment;
  const size_t count = (size_t)m->k * (size_t)m->u;
  double *ends = a ? draw_alloc(2 * count, sizeof *ends) : NULL;
  for (size_t i = 0; ends && i < count; i++) {
    const double half = reach(a->level) * a->mean_se[i];
    ends[i] = m->means[i] - half, ends[count + i] = m->means[i] + half;
  }
  const over_segments o = {m,
                           m->means,
                           ends,
                           ends ? ends + count : NULL,
                           "mean",
                           "The mean of each source in each segment",
                           in_time_order(r)};
  figure *f = figure_over_segments(&o, false);
  free(ends);
  return f;
}
