/* report_select.c - how many sources: the curve of held-out likelihood and what each criterion chooses. */
#include <math.h>
#include <stdio.h>

#include "axes.h"
#include "html.h"
#include "report_parts.h"

static bool compared(const blica_selection *s, int k) {
  return k == 0 || k >= s->lowest;
}

/* One curve with its errors; NaN is left out. */
static void curve(const axes *a, const blica_selection *s, const double *mean, const double *se, colour c,
                  const char *what) {
  double before_x = NAN, before_y = NAN;
  for (int k = 0; k <= s->highest; k++) {
    char tip[160];
    if (!compared(s, k) || isnan(mean[k])) continue;
    const double x = axes_x(a, k), y = axes_y(a, mean[k]);
    if (!isnan(before_x)) draw_line(a->f, before_x, before_y, x, y, c, 1.5, false);
    draw_line(a->f, x, axes_y(a, fmin(mean[k] + se[k], a->y_high)), x, axes_y(a, fmax(mean[k] - se[k], a->y_low)), c, 1,
              false);
    snprintf(tip, sizeof tip, "%d sources, %s: %.5f, error %.5f", k, what, mean[k], se[k]);
    draw_circle(a->f, x, y, k == s->sources ? 5 : 3, c, CLEAR, tip);
    before_x = x, before_y = y;
  }
}

figure *figure_selection(const report *r) {
  const blica_selection *s = r->in->selection;
  if (!s) return NULL;
  double low = 0, high = 1e-9;
  for (int k = 0; k <= s->highest; k++)
    for (int part = 0; part < 2; part++) {
      const double value = part ? s->heldout_segments[k] : s->heldout[k];
      if (!compared(s, k) || isnan(value)) continue;
      low = fmin(low, value), high = fmax(high, value);
    }
  figure *f = figure_new(420, 260, "Log-likelihood of held-out rows and segments by the number of sources");
  const axes a = {.f = f,
                  .x = 70,
                  .y = 40,
                  .w = 330,
                  .h = 160,
                  .x_low = -0.3,
                  .x_high = s->highest + 0.3,
                  .y_low = low - 0.08 * (high - low),
                  .y_high = high + 0.08 * (high - low)};
  const char *const names[] = {"held-out rows", "held-out segments"};
  const colour colours[] = {palette(0), palette(1)};
  axes_frame(&a, "");
  axes_ticks_y(&a, "gain per row and pair");
  for (int k = 0; k <= s->highest; k++) {
    char text[16];
    snprintf(text, sizeof text, "%d", k);
    if (compared(s, k)) axes_tick_x(&a, k, text);
  }
  draw_text(f, a.x + a.w / 2, a.y + a.h + 36, 12, ALIGN_MIDDLE, INK, 0, false, "number of sources");
  if (s->by_segments >= 0) curve(&a, s, s->heldout_segments, s->heldout_segments_se, colours[1], names[1]);
  curve(&a, s, s->heldout, s->heldout_se, colours[0], names[0]);
  draw_legend(f, a.x, 16, a.w, names, colours, s->by_segments >= 0 ? 2 : 1);
  return f;
}

void part_selection(const report *r, FILE *page) {
  const blica_selection *s = r->in->selection;
  if (!s) return;
  fputs("<h3>How many sources</h3>\n", page);
  html_block(page, "p", "%s", s->reason);
  figure *f = figure_selection(r);
  if (f) figure_inline(f, page);
  figure_free(f);
  html_table(page, "Numbers of sources compared (held-out: log-likelihood less that of independent items)",
             "sources|#held-out rows|#error|#held-out segments|#BIC|#MAP");
  for (int k = 0; k <= s->highest; k++) {
    char name[16];
    if (!compared(s, k)) continue;
    snprintf(name, sizeof name, "%d", k);
    html_cells(page, "w|%.5f|%.5f|%.5f|%.1f|%.5f", name, s->heldout[k], s->heldout_se[k], s->heldout_segments[k],
               s->bic[k], s->map[k]);
  }
  html_table_end(page);
}
