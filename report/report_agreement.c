/* report_agreement.c - figures of the fit: observed against fitted correlations, by segment and by pair. */
#include <math.h>
#include <stdlib.h>

#include "axes.h"
#include "report_parts.h"

enum { DOTS_MOST = 2500, BINS = 90, SIDE = 380 };

static void draw_dots(const report *r, const axes *a) {
  const agreement *g = &r->agree;
  const blica_model *m = r->in->model;
  for (int s = 0; s < g->u; s++)
    for (int j = 1; j < g->n; j++)
      for (int i = 0; i < j; i++) {
        int64_t at = blica_pair(i, j) + s * g->pairs;
        char tip[700];
        if (!g->used[at]) continue;
        snprintf(tip, sizeof tip, "%.150s and %.150s, segment %.100s: observed %.3f, fitted %.3f", m->variables[i],
                 m->variables[j], m->segments[s], g->observed[at], g->fitted[at]);
        draw_circle(a->f, axes_x(a, g->observed[at]), axes_y(a, g->fitted[at]), 2, with_alpha(palette(0), 0.5), CLEAR,
                    tip);
      }
}

/* The axes reach as far as the correlations do. */
static double reach_of(const agreement *g) {
  double reach = 0.1;
  for (int64_t at = 0; at < g->pairs * g->u; at++)
    if (g->used[at]) reach = fmax(reach, fmax(fabs(g->observed[at]), fabs(g->fitted[at])));
  return fmin(1, 1.05 * reach);
}

static int bin_of(double value, double reach) {
  int b = (int)((value / reach + 1) / 2 * BINS);
  return b < 0 ? 0 : b >= BINS ? BINS - 1 : b;
}

/* Too many points for dots: how many fall into each small square, on a logarithmic scale of colour. */
static void draw_density(const report *r, const axes *a) {
  const agreement *g = &r->agree;
  double *counts = draw_alloc(BINS * BINS, sizeof *counts), most = 1;
  colour *cells = draw_alloc(BINS * BINS, sizeof *cells);
  if (counts && cells) {
    for (int64_t at = 0; at < g->pairs * g->u; at++)
      if (g->used[at])
        counts[(BINS - 1 - bin_of(g->fitted[at], a->y_high)) * BINS + bin_of(g->observed[at], a->x_high)]++;
    for (int i = 0; i < BINS * BINS; i++) most = fmax(most, counts[i]);
    for (int i = 0; i < BINS * BINS; i++)
      cells[i] = counts[i] > 0 ? sequential(0.18 + 0.82 * log1p(counts[i]) / log1p(most)) : WHITE;
    heat map = {BINS, BINS, cells, NULL, NULL, NULL, NULL};
    draw_heat(a->f, a->x, a->y, a->w, a->h, &map);
    draw_text(a->f, a->x + 8, a->y + 18, 10.5, ALIGN_START, GREY, 0, false, "darker: more pairs, up to %.0f per square",
              most);
  }
  free(counts);
  free(cells);
}

figure *figure_agreement(const report *r) {
  if (r->agree.pairs == 0) return NULL;
  figure *f = figure_new(SIDE + 80, SIDE + 60, "Observed against fitted correlations of all pairs in all segments");
  double reach = reach_of(&r->agree);
  axes a = {f, 58, 12, SIDE, SIDE, -reach, reach, -reach, reach, false, false};
  bool dense = r->agree.pairs * r->agree.u > DOTS_MOST;
  if (dense) draw_density(r, &a);
  axes_ticks_y(&a, "fitted correlation");
  axes_ticks_x(&a, "observed correlation");
  draw_line(f, a.x, a.y + a.h, a.x + a.w, a.y, palette(1), 1, true);
  if (!dense) draw_dots(r, &a);
  axes_frame(&a, NULL);
  return f;
}

static void draw_series(const axes *a, const blica_model *m, const double *values, colour c, const char *what,
                        double *line) {
  int count = 0;
  for (int s = 0; s < m->u; s++) {
    char tip[320];
    if (isnan(values[s])) continue;
    line[2 * count] = axes_x(a, s + 1);
    line[2 * count++ + 1] = axes_y(a, values[s]);
    snprintf(tip, sizeof tip, "segment %.200s: %s %.4f", m->segments[s], what, values[s]);
    draw_circle(a->f, axes_x(a, s + 1), axes_y(a, values[s]), 2.5, c, CLEAR, tip);
  }
  draw_path(a->f, line, count, false, CLEAR, c, 1.3);
}

figure *figure_segments(const report *r) {
  const agreement *g = &r->agree;
  if (g->pairs == 0) return NULL;
  double *line = draw_alloc(2 * (size_t)g->u, sizeof *line), highest = 1e-12;
  if (!line) return NULL;
  for (int s = 0; s < g->u; s++) highest = fmax(highest, fmax(g->segment_rms[s], g->segment_se[s]));
  figure *f = figure_new(700, 250, "Root mean square of the residual correlations in each segment");
  axes a = {f, 64, 34, 620, 166, 0.5, g->u + 0.5, 0, 1.1 * highest, false, false};
  axes_ticks_y(&a, "correlation");
  axes_ticks_x(&a, "segment");
  axes_frame(&a, NULL);
  draw_series(&a, r->in->model, g->segment_se, palette(1), "standard error", line);
  draw_series(&a, r->in->model, g->segment_rms, palette(0), "residual", line);
  const char *names[] = {"residual, root mean square over pairs", "standard error of the observed correlations"};
  const colour colours[] = {palette(0), palette(1)};
  draw_legend(f, 64, 20, 620, names, colours, 2);
  free(line);
  return f;
}

/* ---- residuals by pair ---- */

static void label_pairs(figure *f, const report *r, double left, double top, double side, double font) {
  const blica_model *m = r->in->model;
  for (int i = 0; i < m->n; i++) {
    char name[256];
    text_fit(name, sizeof name, font, 112, m->variables[r->rows.order[i]]);
    draw_text(f, left - 6, top + (i + 0.5) * side + 0.36 * font, font, ALIGN_END, INK, 0, false, "%s", name);
    draw_text(f, left + (i + 0.5) * side + 0.36 * font, top - 6, font, ALIGN_START, INK, 90, false, "%s", name);
  }
}

static double fill_residuals(const report *r, double *values) {
  const int *order = r->rows.order;
  int n = r->in->model->n;
  double largest = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      int x = order[i] < order[j] ? order[i] : order[j], y = order[i] < order[j] ? order[j] : order[i];
      double value = x == y ? NAN : r->agree.pair_mean[blica_pair(x, y)];
      values[(size_t)i * (size_t)n + (size_t)j] = value;
      if (isfinite(value)) largest = fmax(largest, fabs(value));
    }
  return fmax(largest, 0.05); /* so that what is negligible looks so */
}

figure *figure_residuals(const report *r) {
  const blica_model *m = r->in->model;
  if (r->agree.pairs == 0) return NULL;
  size_t cells = (size_t)m->n * (size_t)m->n;
  double side = m->n <= 20 ? 24 : m->n <= 60 ? 12 : fmax(1, 720.0 / m->n), font = side >= 10 ? fmin(10.5, side - 1) : 0;
  double widest = 0;
  for (int i = 0; i < m->n && font > 0; i++) widest = fmax(widest, text_width(font, false, m->variables[i]));
  double left = fmin(widest, 112) + 20, top = fmin(widest, 112) + 16;
  double *values = draw_alloc(cells, sizeof *values);
  colour *colours = draw_alloc(cells, sizeof *colours);
  const char **names = draw_alloc((size_t)m->n, sizeof *names);
  figure *f = NULL;
  if (values && colours && names) {
    double largest = fill_residuals(r, values);
    for (size_t i = 0; i < cells; i++) colours[i] = isnan(values[i]) ? 0xccccccff : diverging(values[i] / largest);
    for (int i = 0; i < m->n; i++) names[i] = m->variables[r->rows.order[i]];
    f = figure_new(fmax(left + m->n * side + 20, left + 380), top + m->n * side + 48,
                   "Heat map of mean residual correlations by pair");
    heat map = {m->n, m->n, colours, values, names, names, "fitted less observed"};
    draw_heat(f, left, top, m->n * side, m->n * side, &map);
    draw_rect(f, left, top, m->n * side, m->n * side, CLEAR, PALE, NULL);
    if (font > 0) label_pairs(f, r, left, top, side, font);
    for (int i = 0; i < 60; i++)
      draw_rect(f, left + i * 160 / 60.0, top + m->n * side + 14, 160 / 60.0 + 0.5, 10, diverging(2.0 * i / 59 - 1),
                CLEAR, NULL);
    draw_text(f, left, top + m->n * side + 37, 10, ALIGN_START, INK, 0, false, "\xE2\x88\x92%.2g", largest);
    draw_text(f, left + 160, top + m->n * side + 37, 10, ALIGN_END, INK, 0, false, "%.2g", largest);
    draw_text(f, left + 172, top + m->n * side + 23, 11, ALIGN_START, INK, 0, false, "fitted less observed");
  }
  free(values);
  free(colours);
  free(names);
  return f;
}
