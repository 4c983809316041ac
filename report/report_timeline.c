/* report_timeline.c - states that blica segment found: when each held, and for how long. */
#include <stdio.h>
#include <stdlib.h>

#include "axes.h"
#include "html.h"
#include "report_parts.h"

enum { LEFT = 90, WIDTH = 720, BAND = 26, TOP = 10, BOTTOM = 44 };

/* A band per state, the darker the more probable. */
figure *figure_timeline(const report *r) {
  const report_timeline *t = r->in->timeline;
  const blica_model *m = r->in->model;
  if (!t) return NULL;
  colour *cells = draw_alloc((size_t)t->states * (size_t)t->columns, sizeof *cells);
  figure *f = figure_new(LEFT + WIDTH + 20, TOP + t->states * BAND + BOTTOM,
                         "Bands that show when each state held, over the rows in their order");
  for (int s = 0; cells && s < t->states; s++)
    for (int c = 0; c < t->columns; c++) cells[s * t->columns + c] = shade(0, t->share[c * t->states + s]);
  if (cells) {
    heat map = {.rows = t->states, .columns = t->columns, .cells = cells};
    draw_heat(f, LEFT, TOP, WIDTH, t->states * BAND, &map);
  }
  for (int s = 0; s < t->states; s++) {
    char name[64];
    text_fit(name, sizeof name, 12, LEFT - 12, m->segments[s]);
    draw_text(f, LEFT - 6, TOP + (s + 0.65) * BAND, 12, ALIGN_END, INK, 0, false, "%s", name);
    if (s > 0) draw_line(f, LEFT, TOP + s * BAND, LEFT + WIDTH, TOP + s * BAND, FRAME, 1, false);
  }
  axes a = {f, LEFT, TOP, WIDTH, t->states * BAND, 1, (double)t->rows, 0, 1, false, false};
  axes_ticks_x(&a, "row");
  axes_frame(&a, NULL);
  free(cells);
  return f;
}

void table_durations(const report *r, FILE *page) {
  const report_timeline *t = r->in->timeline;
  const blica_model *m = r->in->model;
  if (!t) return;
  html_table(page, "How long the states last", "state|#rows|#share|#runs|#mean length|#longest");
  for (int s = 0; s < t->states; s++) {
    const double rows = (double)t->rows_in[s], runs = (double)t->runs[s];
    html_cells(page, "w|%.0f|%.3f|%.0f|%.1f|%.0f", m->segments[s], rows, rows / (double)t->rows, runs,
               runs > 0 ? rows / runs : 0, (double)t->longest[s]);
  }
  html_table_end(page);
}
