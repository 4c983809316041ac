/* report_agreement.c - figures of the fit: observed against fitted correlations, by segment and by pair. */
#include <math.h>
#include <stdlib.h>

#include "axes.h"
#include "report_parts.h"
#include "words.h"

enum { DOTS_MOST = 2500, BINS = 90, SIDE = 380, NAMES_WIDEST = 420, TIPS_MOST = 100 };
static const double RESIDUAL_MOST = 8; /* standard errors at the end of the scale of colours */

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
      cells[i] = counts[i] > 0 ? shade(0, 0.15 + 0.85 * log1p(counts[i]) / log1p(most)) : CLEAR;
    heat map = {BINS, BINS, cells};
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

/* The residual of each segment over the standard error of its correlations. */
figure *figure_segments(const report *r) {
  const agreement *g = &r->agree;
  const blica_model *m = r->in->model;
  double *ratio = draw_alloc((size_t)m->u, sizeof *ratio), highest = 0;
  figure *f = NULL;
  for (int s = 0; s < m->u && g->pairs && ratio; s++) {
    ratio[s] = g->segment_rms[s] / g->segment_se[s];
    if (isfinite(ratio[s])) highest = fmax(highest, ratio[s]);
  }
  if (highest > 0) {
    const double names = rows_names_width(m->u, m->segments), height = rows_height(m->u);
    f = figure_new(names + 340, height + 60, "Residual correlations of each segment over their standard errors");
    const axes a = {.f = f, .x = names + 8, .y = 16, .w = 300, .h = height, .x_high = 1.08 * fmax(highest, 1.2)};
    const named_rows rows = {.count = m->u, .step = 1, .names = m->segments, .value = ratio, .reference = 1};
    axes_rows(&a, &rows);
    axes_ticks_x(&a, "residual over standard error (root mean squares)");
    axes_frame(&a, NULL);
  }
  free(ratio);
  return f;
}

/* ---- residuals by pair ---- */

static void label_pairs(figure *f, const blica_model *m, const int *order, double left, double top, double side,
                        double font) {
  for (int i = 0; i < m->n; i++) {
    char name[256];
    text_fit(name, sizeof name, font, NAMES_WIDEST, m->variables[order[i]]);
    draw_text(f, left - 6, top + (i + 0.5) * side + 0.36 * font, font, ALIGN_END, INK, 0, false, "%s  %d", name, i + 1);
    draw_text(f, left + (i + 0.5) * side, top - 6, font - 2, ALIGN_MIDDLE, INK, 0, false, "%d", i + 1);
  }
}

/* The further from 0, the more opaque: strong on a white page and on a dark one. */
static colour residual_colour(double errors) {
  return shade(errors > 0, fabs(errors) / RESIDUAL_MOST);
}

/* The pairs that are off, each with what it is: as cells of one picture where there are too many items for tips. */
static void draw_residuals(const report *r, const int *order, figure *f, double left, double top, double side) {
  const blica_model *m = r->in->model;
  const int n = m->n;
  colour *cells = n > TIPS_MOST ? draw_alloc((size_t)n * (size_t)n, sizeof *cells) : NULL;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      const int x = order[i], y = order[j];
      const double errors = x == y ? 0 : residual_in_errors(&r->agree, blica_pair(x < y ? x : y, x < y ? y : x));
      char tip[600];
      if (!(fabs(errors) > RESIDUAL_WORTH)) continue;
      if (cells) {
        cells[(size_t)i * (size_t)n + (size_t)j] = residual_colour(errors);
        continue;
      }
      snprintf(tip, sizeof tip, "%.250s, %.250s: fitted less observed %.1f standard errors", m->variables[x],
               m->variables[y], errors);
      draw_rect(f, left + j * side, top + i * side, side, side, residual_colour(errors), CLEAR, tip);
    }
  const heat map = {n, n, cells};
  if (cells) draw_heat(f, left, top, n * side, n * side, &map);
  free(cells);
}

static bool any_worth_showing(const agreement *g) {
  for (int64_t p = 0; p < g->pairs; p++)
    if (fabs(residual_in_errors(g, p)) > RESIDUAL_WORTH) return true;
  return false;
}

figure *figure_residuals(const report *r) {
  const blica_model *m = r->in->model;
  int *order = any_worth_showing(&r->agree) ? sorted_items(m, draw_alloc) : NULL;
  if (!order) return NULL;
  const double side = m->n <= 20   ? 24
                      : m->n <= 60 ? 12
                                   : fmax(1, 720.0 / m->n),
               font = side >= 10 ? fmin(10.5, side - 1) : 0;
  double widest = 0;
  for (int i = 0; i < m->n && font > 0; i++) widest = fmax(widest, text_width(font, false, m->variables[i]));
  const double left = fmin(widest, NAMES_WIDEST) + 36, top = 20, all = m->n * side;
  figure *f =
      figure_new(left + fmax(all + 20, 380), top + all + 48, "Residual correlations by pair, in standard errors");
  draw_residuals(r, order, f, left, top, side);
  draw_rect(f, left, top, all, all, CLEAR, PALE, NULL);
  if (font > 0) label_pairs(f, m, order, left, top, side, font);
  for (int i = 0; i < 60; i++) {
    const double value = RESIDUAL_MOST * (2.0 * i / 59 - 1);
    if (fabs(value) > RESIDUAL_WORTH)
      draw_rect(f, left + i * 160 / 60.0, top + all + 14, 160 / 60.0, 10, residual_colour(value), CLEAR, NULL);
  }
  draw_text(f, left, top + all + 37, 10, ALIGN_START, INK, 0, false, "\xE2\x88\x92%.0f", RESIDUAL_MOST);
  draw_text(f, left + 80, top + all + 37, 10, ALIGN_MIDDLE, INK, 0, false, "0");
  draw_text(f, left + 160, top + all + 37, 10, ALIGN_END, INK, 0, false, "%.0f", RESIDUAL_MOST);
  draw_text(f, left + 172, top + all + 23, 11, ALIGN_START, INK, 0, false, "standard errors");
  free(order);
  return f;
}
