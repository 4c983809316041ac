/* levels_figure.c - the figure of the experiment "levels": above, for two, three and five levels, which sizes are
 * identified; below errors from samples, Theorem 1's pair of models and the direction of an arrow. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "axes.h"
#include "levels.h"

enum { CELL_W = 44, CELL_H = 40, LEFT = 62, TOP = 92, GAP = 62, PANEL_H = 270 };

static const colour inks[SHOWN_COUNTS] = {0x777777ff, 0xd55e00ff, 0x0072b2ff};
static const colour identified = 0xdcebf7ff, recovered_not = 0xfdf0dcff;

static int columns_of(const experiment *e) {
  return e->variables.high - e->variables.low + 1;
}

static double table_width(const experiment *e) {
  double width = columns_of(e) * CELL_W;
  return width < 300 ? 300 : width;
}

/* ---- sizes ---- */

static void draw_cell(figure *f, const level_cell *c, double x, double y) {
  char tip[256];
  bool full = c->models > 0 && c->full == c->models;
  snprintf(
      tip, sizeof tip,
      "n=%d, k=%d, u=%d, %d levels: %lld statistics, %lld unknowns; full rank in %d of %d models; %d of %d recovered",
      c->n, c->k, c->u, c->levels, (long long)c->statistics, (long long)c->unknowns, c->full, c->models, c->recovered,
      c->fits);
  draw_rect(f, x + 1, y + 1, CELL_W - 2, CELL_H - 2,
            !full                        ? WHITE
            : 2 * c->recovered > c->fits ? identified
                                         : recovered_not,
            PALE, tip);
  draw_text(f, x + CELL_W / 2.0, y + 19, 14, ALIGN_MIDDLE, full ? 0x004c80ff : INK, 0, full, "%d", c->open_least);
  draw_text(f, x + CELL_W / 2.0, y + 33, 9.5, ALIGN_MIDDLE, GREY, 0, false, "%d/%d", c->recovered, c->fits);
}

static void draw_sizes(const experiment *e, figure *f, const level_cell *cells, int count, int levels, double x) {
  draw_text(f, x, 52, 13, ALIGN_START, INK, 0, true, "%d levels", levels);
  draw_text(f, x + columns_of(e) * CELL_W / 2.0, 68, 11, ALIGN_MIDDLE, INK, 0, false,
            e->sources ? "variables n" : "variables n = sources k");
  for (int n = e->variables.low; n <= e->variables.high; n++)
    draw_text(f, x + (n - e->variables.low + 0.5) * CELL_W, TOP - 7, 11, ALIGN_MIDDLE, INK, 0, true, "%d", n);
  for (int u = e->segments.low; u <= e->segments.high; u++)
    draw_text(f, x - 7, TOP + (u - e->segments.low) * CELL_H + 24, 11, ALIGN_END, INK, 0, true, "%d", u);
  draw_text(f, x - 30, TOP + (e->segments.high - e->segments.low + 1) * CELL_H / 2.0, 11, ALIGN_MIDDLE, INK, 90, false,
            "segments u");
  for (int i = 0; i < count; i++)
    if (cells[i].levels == levels)
      draw_cell(f, &cells[i], x + (cells[i].n - e->variables.low) * CELL_W,
                TOP + (cells[i].u - e->segments.low) * CELL_H);
}

static void draw_sizes_key(figure *f, double y) {
  draw_rect(f, LEFT, y, 13, 13, identified, PALE, NULL);
  draw_text(f, LEFT + 19, y + 11, 11, ALIGN_START, INK, 0, false,
            "Large: directions of A and v that margins and pairs leave open (0: the rank is full). Small: models that "
            "fits to exact probabilities recover (1 \xE2\x88\x92 MCS below 1e-6).");
  draw_rect(f, LEFT, y + 20, 13, 13, recovered_not, PALE, NULL);
  draw_text(f, LEFT + 19, y + 31, 11, ALIGN_START, INK, 0, false,
            "The rank is full, but fits recover fewer than half.");
}

/* ---- samples ---- */

static const double lowest = -4.5; /* of the scale */

static double log_error(const run *r) {
  return fmax(log10(r->error), lowest);
}

static void draw_samples(const experiment *e, figure *f, const runs *r, double x, double y, double w, double *values) {
  axes a = {f, x, y, w, PANEL_H, -0.5, SAMPLED_SIZES - 0.5, lowest, 0, false, false};
  double step = w / SAMPLED_SIZES, width = 0.8 * step / SHOWN_COUNTS;
  axes_ticks_y(&a, "log10(1 \xE2\x88\x92 MCS)");
  for (int z = 0; z < SAMPLED_SIZES; z++) {
    char text[64];
    snprintf(text, sizeof text, "n=%d, N=%lld", sampled_sizes[z].n, (long long)sampled_sizes[z].samples);
    axes_tick_x(&a, z, text);
    for (int l = 0; l < SHOWN_COUNTS; l++) {
      run like = levels_sampled_run(e, &sampled_sizes[z], level_counts[l]);
      int count = runs_select(r, &like, log_error, values);
      snprintf(text, sizeof text, "%d levels", level_counts[l]);
      axes_box(&a, axes_x(&a, z) + (l - 0.5 * (SHOWN_COUNTS - 1)) * width, 0.8 * width, values, count, inks[l], text);
    }
  }
  axes_frame(&a, NULL);
  draw_text(f, x, y - 28, 13, ALIGN_START, INK, 0, true, "Errors from samples");
  draw_text(f, x, y - 11, 11, ALIGN_START, INK, 0, false, "n = k, %d segments of N rows; the same latent data",
            SAMPLED_SEGMENTS);
}

/* ---- two variables ---- */

static void draw_twins(figure *f, const twin_table *tables, double x, double y, double w) {
  axes a = {f, x, y, w, PANEL_H, 0, 0.6, 0, 0.6, false, false};
  axes_ticks_y(&a, "with the rows of A exchanged");
  axes_ticks_x(&a, "probability of a pair of levels");
  draw_line(f, axes_x(&a, 0), axes_y(&a, 0), axes_x(&a, 0.6), axes_y(&a, 0.6), GREY, 1, true);
  for (int l = SHOWN_COUNTS - 1; l >= 0; l--)
    for (int s = 0; s < TWIN_SEGMENTS; s++)
      for (int c = 0; c < tables[l].levels * tables[l].levels; c++) {
        char tip[128];
        double p = tables[l].p[0][s][c], q = tables[l].p[1][s][c];
        snprintf(tip, sizeof tip, "%d levels, segment %d, levels %d and %d: %.4f and %.4f", tables[l].levels, s + 1,
                 c / tables[l].levels, c % tables[l].levels, p, q);
        draw_circle(f, axes_x(&a, p), axes_y(&a, q), 3.5, with_alpha(inks[l], 0.55), inks[l], tip);
      }
  axes_frame(&a, NULL);
  draw_text(f, x, y - 28, 13, ALIGN_START, INK, 0, true, "Theorem 1: rows of A exchanged");
  draw_text(f, x, y - 11, 11, ALIGN_START, INK, 0, false,
            "means and cuts as close as can be: differences up to %.2g, %.2g, %.2g", tables[0].difference,
            tables[1].difference, tables[2].difference);
}

static void draw_arrows(figure *f, const two_variables *two, double x, double y, double w) {
  axes a = {f, x, y, w, PANEL_H, -0.5, ARROW_SAMPLES - 0.5, 0, 1.08, false, false};
  double step = w / ARROW_SAMPLES, width = 0.66 * step / SHOWN_COUNTS;
  axes_ticks_y(&a, "share of data sets");
  draw_line(f, x, axes_y(&a, 0.5), x + w, axes_y(&a, 0.5), GREY, 1, true);
  for (int z = 0; z < ARROW_SAMPLES; z++) {
    char text[64];
    snprintf(text, sizeof text, "N = %lld", (long long)two->arrows[z][0].samples);
    axes_tick_x(&a, z, text);
    for (int l = 0; l < SHOWN_COUNTS; l++) {
      const arrow_score *score = &two->arrows[z][l];
      double share = score->sets ? (double)score->right / score->sets : 0,
             centre = axes_x(&a, z) + (l - 0.5 * (SHOWN_COUNTS - 1)) * width;
      snprintf(text, sizeof text, "%d levels: %d of %d", score->levels, score->right, score->sets);
      draw_rect(f, centre - 0.42 * width, axes_y(&a, share), 0.84 * width, y + PANEL_H - axes_y(&a, share),
                with_alpha(inks[l], 0.55), inks[l], text);
      draw_text(f, centre, axes_y(&a, share) - 5, 10, ALIGN_MIDDLE, INK, 0, false, "%d/%d", score->right, score->sets);
    }
  }
  axes_frame(&a, NULL);
  draw_text(f, x, y - 28, 13, ALIGN_START, INK, 0, true, "Which of two variables is the cause");
  draw_text(f, x, y - 11, 11, ALIGN_START, INK, 0, false, "direction found; without levels a guess (dashed)");
}

figure *levels_figure(const experiment *e, const level_cell *cells, int count, const runs *r, const two_variables *two,
                      double *values) {
  static const char *const names[SHOWN_COUNTS] = {"2 levels", "3 levels", "5 levels"};
  const double w = table_width(e), step = w + GAP,
               below = TOP + (e->segments.high - e->segments.low + 1) * CELL_H + 118;
  figure *f = figure_new(LEFT + SHOWN_COUNTS * step - GAP + 30, below + PANEL_H + 46,
                         "What two, three and five levels identify: sizes, errors from samples, two variables");
  draw_text(f, LEFT, 24, 15, ALIGN_START, INK, 0, true, "Three levels identify what two cannot");
  for (int l = 0; l < SHOWN_COUNTS; l++) draw_sizes(e, f, cells, count, level_counts[l], LEFT + l * step);
  draw_sizes_key(f, below - 106);
  draw_legend(f, LEFT, below - 58, SHOWN_COUNTS * step, names, inks, SHOWN_COUNTS);
  draw_samples(e, f, r, LEFT, below, w, values);
  draw_twins(f, two->twins[0], LEFT + step, below, w);
  draw_arrows(f, two, LEFT + 2 * step, below, w);
  return f;
}
