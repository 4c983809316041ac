/* report_figures.c - figures of the model: the mixing matrix, sources over segments. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "axes.h"
#include "report_parts.h"

/* ---- the mixing matrix ---- */

typedef struct {
  double left, top, w, h, font; /* of the cells; font of row names, 0: no room for them */
} grid;

static grid mixing_grid(const blica_model *m) {
  grid g = {.top = 30};
  g.h = m->n <= 30 ? 20 : m->n <= 80 ? 14 : m->n <= 400 ? 11 : fmax(2, 4400.0 / m->n);
  g.w = m->k <= 12 ? 48 : m->k <= 20 ? 34 : m->k <= 40 ? 24 : fmax(3, 900.0 / m->k);
  g.font = g.h >= 11 ? fmin(11, g.h - 2) : 0;
  double widest = 0;
  for (int i = 0; i < m->n && g.font > 0; i++) widest = fmax(widest, text_width(g.font, false, m->variables[i]));
  g.left = fmin(widest, 180) + 16;
  return g;
}

static void draw_scale(figure *f, double x, double y, double w, double largest, const char *label) {
  enum { STEPS = 60 };
  for (int i = 0; i < STEPS; i++)
    draw_rect(f, x + i * w / STEPS, y, w / STEPS + 0.5, 10, diverging(2.0 * i / (STEPS - 1) - 1), CLEAR, NULL);
  draw_text(f, x, y + 23, 10, ALIGN_START, INK, 0, false, "\xE2\x88\x92%.3g", largest);
  draw_text(f, x + w / 2, y + 23, 10, ALIGN_MIDDLE, INK, 0, false, "0");
  draw_text(f, x + w, y + 23, 10, ALIGN_END, INK, 0, false, "%.3g", largest);
  draw_text(f, x + w + 12, y + 9, 11, ALIGN_START, INK, 0, false, "%s", label);
}

static void label_grid(figure *f, const report *r, const grid *g) {
  const blica_model *m = r->in->model;
  int every = (int)ceil(14 / g->w);
  for (int j = 0; j < m->k; j += every)
    draw_text(f, g->left + (j + 0.5) * g->w, g->top - 6, 10, ALIGN_MIDDLE, INK, 0, false, "%s%d", g->w >= 24 ? "z" : "",
              j + 1);
  for (int i = 0; i < m->n && g->font > 0; i++) {
    char name[256];
    text_fit(name, sizeof name, g->font, 182, m->variables[r->rows.order[i]]);
    draw_text(f, g->left - 6, g->top + (i + 0.5) * g->h + 0.36 * g->font, g->font, ALIGN_END, INK, 0, false, "%s",
              name);
  }
}

enum { ON_CELL = 0x212121ff }; /* text on a cell, dark on a dark page too */

static void write_values(figure *f, const report *r, const grid *g, double largest) {
  const blica_model *m = r->in->model;
  if (g->h < 18 || g->w < 40) return;
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->k; j++) {
      double value = loading(m, r->rows.order[i], j);
      draw_text(f, g->left + (j + 0.5) * g->w, g->top + (i + 0.5) * g->h + 3.5, 9.5, ALIGN_MIDDLE,
                fabs(value) > 0.62 * largest ? WHITE : ON_CELL, 0, false, "%s%.2f", value < 0 ? "\xE2\x88\x92" : "",
                fabs(value));
    }
}

/* Names "z1", "z2", ... in one block that is freed with the list. */
static const char **source_names(int k) {
  const char **names = draw_alloc((size_t)k, sizeof *names + 16);
  char *text = names ? (char *)(names + k) : NULL;
  for (int j = 0; j < k && names; j++) {
    names[j] = text + 16 * (size_t)j;
    snprintf(text + 16 * (size_t)j, 16, "z%d", j + 1);
  }
  return names;
}

figure *figure_mixing(const report *r) {
  const blica_model *m = r->in->model;
  size_t cells = (size_t)m->n * (size_t)m->k;
  colour *colours = draw_alloc(cells, sizeof *colours);
  double *values = draw_alloc(cells, sizeof *values), largest = largest_loading(m);
  const char **rows = draw_alloc((size_t)m->n, sizeof *rows), **columns = source_names(m->k);
  grid g = mixing_grid(m);
  figure *f = NULL;
  if (colours && values && rows && columns) {
    for (int i = 0; i < m->n; i++) {
      rows[i] = m->variables[r->rows.order[i]];
      for (int j = 0; j < m->k; j++) {
        size_t at = (size_t)i * (size_t)m->k + (size_t)j;
        values[at] = loading(m, r->rows.order[i], j);
        colours[at] = diverging(values[at] / largest);
      }
    }
    double width = g.left + m->k * g.w + 20;
    f = figure_new(fmax(width, g.left + 320), g.top + m->n * g.h + 54,
                   "Heat map of the mixing matrix, variables by sources");
    heat map = {m->n, m->k, colours, values, rows, columns, "mixing"};
    draw_heat(f, g.left, g.top, m->k * g.w, m->n * g.h, &map);
    draw_rect(f, g.left, g.top, m->k * g.w, m->n * g.h, CLEAR, PALE, NULL);
    label_grid(f, r, &g);
    write_values(f, r, &g, largest);
    draw_scale(f, g.left, g.top + m->n * g.h + 16, 160, largest, "element of A");
  }
  free(colours);
  free(values);
  free(rows);
  free(columns);
  return f;
}

/* ---- sources over segments ---- */

enum { PANELS = 3, PANEL_W = 240, PANEL_H = 84, GAP_X = 60, GAP_Y = 46, NAMED_W = 190 };

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
    axes a = {.f = f, .x = 54 + j % PANELS * (PANEL_W + GAP_X), .y = 26 + j / PANELS * (PANEL_H + GAP_Y)};
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

/* One panel per source, its segments as named rows, largest value first. */
static figure *figure_by_name(const over_segments *o, bool log_scale, double low, double high) {
  const blica_model *m = o->model;
  const int across = m->k < PANELS ? m->k : PANELS, down = (m->k + PANELS - 1) / PANELS;
  const double names = rows_names_width(m->u, m->segments), height = rows_height(m->u), wide = names + NAMED_W + 24;
  figure *f = figure_new(across * wide + 16, down * (height + GAP_Y + 24) + 8, o->alt);
  for (int j = 0; j < m->k; j++) {
    char title[32];
    snprintf(title, sizeof title, "z%d", j + 1);
    axes a = {.f = f, .x = names + j % PANELS * wide + 8, .y = 26 + j / PANELS * (height + GAP_Y + 24)};
    a.w = NAMED_W, a.h = height, a.x_low = low, a.x_high = high, a.log_x = log_scale;
    const named_rows rows = {.count = m->u,
                             .step = m->k,
                             .names = m->segments,
                             .value = o->values + j,
                             .low = o->low ? o->low + j : NULL,
                             .high = o->high ? o->high + j : NULL,
                             .reference = log_scale};
    axes_rows(&a, &rows);
    axes_ticks_x(&a, o->what);
    axes_frame(&a, title);
  }
  return f;
}

static figure *figure_over_segments(const over_segments *o, bool log_scale) {
  const size_t count = (size_t)o->model->k * (size_t)o->model->u;
  double low, high, *scratch = draw_alloc(count + 1, sizeof *scratch);
  if (!scratch) return NULL;
  limits(o->values, count, log_scale, scratch, &low, &high);
  free(scratch);
  return (o->joined ? figure_over_time : figure_by_name)(o, log_scale, low, high);
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

figure *figure_means(const report *r) {
  const over_segments o = {
      r->in->model,    r->in->model->means, NULL, NULL, "mean", "The mean of each source in each segment",
      in_time_order(r)};
  return figure_over_segments(&o, false);
}
