/* identifiability.c - Figure 3: log10(1 - MCS) of fits to exact pair probabilities, over sizes. The paper cuts at -7;
 * here 1 - MCS is computed without cancellation, so that boxes go down to the precision of the fit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "axes.h"
#include "runs.h"

static const double lowest = -32; /* of the scale; 1 - MCS of 0 stands there */

static double log_error(const run *r) {
  return r->error > 1e-32 ? log10(r->error) : lowest;
}

static run cell_run(const experiment *e, int n, int u) {
  run r = {.n = n,
           .k = e->sources ? e->sources : n,
           .u = u,
           .samples = 0,
           .levels = 2,
           .method = "blica",
           .condition = BLICA_CONDITION_DEFAULT,
           .starts = e->starts};
  return r;
}

static blica_status plan(experiment *e, runs *r, int models) {
  for (int u = e->segments.low; u <= e->segments.high; u++)
    for (int n = e->variables.low; n <= e->variables.high; n++)
      for (int m = 1; m <= models; m++) {
        run one = cell_run(e, n, u);
        one.seed = (uint64_t)m;
        if (one.k > n) continue;
        blica_status status = runs_add(e, r, &one);
        if (status != BLICA_OK) return status;
      }
  return BLICA_OK;
}

/* ---- the figure ---- */

enum { PANEL_W = 300, PANEL_H = 210, GAP_X = 62, GAP_Y = 62, TOP = 56 };

static void draw_panel(experiment *e, const runs *r, figure *f, double x, double y, int u, double *values) {
  axes a = {f, x, y, PANEL_W, PANEL_H, e->variables.low - 0.5, e->variables.high + 0.5, lowest, 0.5, false, false};
  double step = PANEL_W / (a.x_high - a.x_low);
  char title[64], tick[16];
  for (int n = e->variables.low; n <= e->variables.high; n++) {
    int k = e->sources ? e->sources : n;
    if (surplus_of(e->ctx, n, k, u) >= 0)
      draw_rect(f, axes_x(&a, n - 0.5), y, step, PANEL_H, 0xdcebf7ff, CLEAR, NULL);
    else if (((int64_t)u * n * (n - 1) / 2) - ((int64_t)n * k + (int64_t)u * k - k) >= 0)
      draw_rect(f, axes_x(&a, n - 0.5), y, step, PANEL_H, 0xfdf0dcff, CLEAR, NULL);
  }
  axes_ticks_y(&a, "log10(1 \xE2\x88\x92 MCS)");
  draw_line(f, x, axes_y(&a, -7), x + PANEL_W, axes_y(&a, -7), GREY, 1, true);
  for (int n = e->variables.low; n <= e->variables.high; n++) {
    run like = cell_run(e, n, u);
    int count = runs_select(r, &like, log_error, values);
    bool minimal = minimal_case(e->ctx, n, like.k, u, e->sources == 0);
    snprintf(title, sizeof title, "n=%d, u=%d", n, u);
    axes_box(&a, axes_x(&a, n), 0.62 * step, values, count, minimal ? 0xd55e00ff : 0x0072b2ff, title);
    snprintf(tick, sizeof tick, "%d", n);
    axes_tick_x(&a, n, tick);
  }
  snprintf(title, sizeof title, "%d segments", u);
  axes_frame(&a, title);
  draw_text(f, x + PANEL_W / 2.0, y + PANEL_H + 31, 11, ALIGN_MIDDLE, INK, 0, false,
            e->sources ? "variables n" : "variables n = sources k");
}

static void draw_key(figure *f, double x, double y, int models) {
  draw_text(f, x, y, 12, ALIGN_START, INK, 0, true, "How to read it");
  draw_text(f, x, y + 22, 11, ALIGN_START, INK, 0, false, "A box holds %d random models, the best of", models);
  draw_text(f, x, y + 37, 11, ALIGN_START, INK, 0, false, "all starts by likelihood. Lower is better.");
  draw_rect(f, x, y + 52, 14, 12, 0xdcebf7ff, CLEAR, NULL);
  draw_text(f, x + 20, y + 62, 11, ALIGN_START, INK, 0, false, "Table 1 counts enough statistics");
  draw_rect(f, x, y + 72, 14, 12, with_alpha(0xd55e00ff, 0.35), 0xd55e00ff, NULL);
  draw_text(f, x + 20, y + 82, 11, ALIGN_START, INK, 0, false, "its minimal cases");
  draw_rect(f, x, y + 92, 14, 12, 0xfdf0dcff, CLEAR, NULL);
  draw_text(f, x + 20, y + 102, 11, ALIGN_START, INK, 0, false, "Table 1 does not, but correlations suffice");
  draw_text(f, x + 20, y + 117, 11, ALIGN_START, INK, 0, false, "once column scales are not counted");
  draw_line(f, x, y + 133, x + 14, y + 133, GREY, 1, true);
  draw_text(f, x + 20, y + 137, 11, ALIGN_START, INK, 0, false,
            "\xE2\x88\x92"
            "7, where the paper's figure ends");
}

static figure *draw(experiment *e, const runs *r, int models, double *values) {
  int panels = e->segments.high - e->segments.low + 1, rows = (panels + 1 + 2) / 3;
  figure *f = figure_new(3 * (PANEL_W + GAP_X) + 30, TOP + rows * (PANEL_H + GAP_Y),
                         "Boxes of log10(1-MCS) for each number of variables and segments");
  draw_text(f, 60, 22, 14, ALIGN_START, INK, 0, true, "What exact pair probabilities identify");
  for (int i = 0; i <= panels; i++) {
    const int row = i / 3, column = i % 3;
    const double x = 60 + column * (PANEL_W + GAP_X), y = TOP + row * (PANEL_H + GAP_Y);
    if (i < panels)
      draw_panel(e, r, f, x, y, e->segments.low + i, values);
    else
      draw_key(f, x - 20, y + 12, models);
  }
  return f;
}

/* ---- the verdict ---- */

static void note_cells(experiment *e, const runs *r, double *values) {
  char text[512];
  for (int u = e->segments.low; u <= e->segments.high; u++)
    for (int n = e->variables.low; n <= e->variables.high; n++) {
      run like = cell_run(e, n, u);
      int count = runs_select(r, &like, log_error, values), found = 0;
      for (int i = 0; values && i < count; i++) found += values[i] < -10;
      bool minimal = minimal_case(e->ctx, n, like.k, u, e->sources == 0);
      if (!minimal && found == 0) continue;
      snprintf(text, sizeof text, "n=%d, u=%d: %d of %d models recovered below -10%s%s", n, u, found, count,
               minimal ? ", a minimal case of the paper" : "",
               found && surplus_of(e->ctx, n, like.k, u) < 0 ? ", beyond the paper's count" : "");
      e->note(text);
    }
}

blica_status experiment_identifiability(experiment *e) {
  runs r = {0};
  int models = e->datasets ? e->datasets : e->quick ? 3 : 30;
  blica_status status = plan(e, &r, models);
  if (status == BLICA_OK) status = runs_do(e, &r, "identifiability.csv");
  double *values = malloc(((size_t)r.count + 1) * sizeof *values);
  if (status == BLICA_OK && !values) status = fail_experiment(e, BLICA_ERR_MEMORY, "out of memory");
  if (status == BLICA_OK) {
    note_cells(e, &r, values);
    status = experiment_figure(e, draw(e, &r, models, values), "identifiability");
  }
  free(values);
  runs_free(&r);
  return status;
}
