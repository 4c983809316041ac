/* table1.c - Table 1 of the paper for any sizes: statistics less unknowns per cell, the minimal identifiable cases
 * marked; and, beyond the paper, in how many random models the information of all pair correlations has full rank. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/outfile.h"
#include "draw.h"
#include "experiment.h"

typedef struct {
  int n, k, u;
  int64_t statistics, unknowns;
  int64_t corrected; /* u n(n-1)/2 - (nk + uk - k): correlations less what they must fix, column scales left out */
  bool minimal;
  int models, full; /* drawn, and of those with a full rank */
} cell;

static blica_status rank_of(experiment *e, cell *c, uint64_t seed) {
  blica_simulate_options options = blica_simulate_options_default();
  blica_model *model = NULL;
  blica_identification *verdict = NULL;
  options.variables = c->n;
  options.sources = c->k;
  options.segments = c->u;
  options.seed = seed;
  blica_status status = blica_simulate(e->ctx, &options, &model, NULL, NULL);
  if (status == BLICA_OK) status = blica_identify(e->ctx, model, &verdict);
  if (status == BLICA_OK) {
    c->models++;
    c->full += verdict->local != 0;
  }
  blica_identification_free(verdict);
  blica_model_free(model);
  return status == BLICA_OK ? status : fail_experiment(e, status, "%s", blica_message(e->ctx));
}

static blica_status fill(experiment *e, cell *c, int models) {
  blica_status status = blica_identify_count(e->ctx, c->n, c->k, c->u, 0, &c->statistics, &c->unknowns);
  if (status != BLICA_OK) return fail_experiment(e, status, "%s", blica_message(e->ctx));
  int64_t n = c->n, k = c->k, u = c->u;
  c->corrected = u * n * (n - 1) / 2 - (n * k + u * k - k);
  c->minimal = minimal_case(e->ctx, c->n, c->k, c->u, e->sources == 0);
  for (int m = 0; m < models; m++) {
    if (e->stop()) return fail_experiment(e, BLICA_ERR_INTERRUPTED, "interrupted");
    if ((status = rank_of(e, c, (uint64_t)m + 1)) != BLICA_OK) return status;
  }
  return BLICA_OK;
}

static blica_status save_csv(experiment *e, const cell *cells, int count) {
  char path[4096];
  bl_outfile file;
  blica_status status = experiment_path(e, "table1.csv", path, sizeof path);
  if (status != BLICA_OK) return status;
  if (!bl_outfile_open(&file, path))
    return fail_experiment(e, BLICA_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
  fputs("variables,sources,segments,statistics,unknowns,surplus,minimal,corrected,models,full_rank\n", file.stream);
  for (int i = 0; i < count; i++) {
    const cell *c = &cells[i];
    fprintf(file.stream, "%d,%d,%d,%lld,%lld,%lld,%d,%lld,%d,%d\n", c->n, c->k, c->u, (long long)c->statistics,
            (long long)c->unknowns, (long long)(c->statistics - c->unknowns), c->minimal, (long long)c->corrected,
            c->models, c->full);
  }
  if (!bl_outfile_commit(&file))
    return fail_experiment(e, BLICA_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
  return BLICA_OK;
}

/* ---- the picture ---- */

enum { CELL_W = 62, CELL_H = 46, LEFT = 96, TOP = 76 };

static void draw_cell(figure *f, const cell *c, double x, double y) {
  char tip[200];
  int64_t surplus = c->statistics - c->unknowns;
  bool full = c->models > 0 && c->full == c->models, none = c->full == 0;
  snprintf(tip, sizeof tip, "n=%d, k=%d, u=%d: %lld statistics, %lld unknowns; full rank in %d of %d models", c->n,
           c->k, c->u, (long long)c->statistics, (long long)c->unknowns, c->full, c->models);
  draw_rect(f, x + 1, y + 1, CELL_W - 2, CELL_H - 2,
            surplus >= 0 ? 0xdcebf7ff
            : full       ? 0xfdf0dcff
                         : WHITE,
            c->minimal ? 0xd55e00ff : PALE, tip);
  if (c->minimal) draw_rect(f, x + 2, y + 2, CELL_W - 4, CELL_H - 4, CLEAR, 0xd55e00ff, NULL);
  draw_text(f, x + CELL_W / 2.0, y + 21, 15, ALIGN_MIDDLE, c->minimal ? 0xb34700ff : INK, 0, c->minimal, "%s%lld",
            surplus < 0 ? "\xE2\x88\x92" : "", (long long)llabs((long long)surplus));
  if (c->models == 0) return;
  draw_circle(f, x + CELL_W / 2.0 - 17, y + 34, 4, full ? 0x0072b2ff : none ? WHITE : 0x9cc6e4ff, 0x0072b2ff, NULL);
  draw_text(f, x + CELL_W / 2.0 - 9, y + 37.5, 10, ALIGN_START, GREY, 0, false, "%d/%d", c->full, c->models);
}

static void draw_key(figure *f, double y) {
  draw_rect(f, LEFT, y, 14, 14, 0xdcebf7ff, 0xd55e00ff, NULL);
  draw_text(f, LEFT + 20, y + 11, 11, ALIGN_START, INK, 0, false,
            "the paper's minimal identifiable cases: the number of statistics reaches that of the unknowns");
  draw_circle(f, LEFT + 7, y + 27, 4, 0x0072b2ff, 0x0072b2ff, NULL);
  draw_text(f, LEFT + 20, y + 31, 11, ALIGN_START, INK, 0, false,
            "full rank in all random models: the solution is locally unique (m/M: in m of M models)");
  draw_rect(f, LEFT, y + 40, 14, 14, 0xfdf0dcff, PALE, NULL);
  draw_text(f, LEFT + 20, y + 51, 11, ALIGN_START, INK, 0, false, "full rank although the paper's count is negative");
}

static figure *draw_table(const experiment *e, const cell *cells) {
  int columns = e->variables.high - e->variables.low + 1, rows = e->segments.high - e->segments.low + 1;
  double width = LEFT + columns * CELL_W + 20;
  if (width < 640) width = 640;
  figure *f =
      figure_new(width, TOP + rows * CELL_H + 84, "Statistics less unknowns for each number of variables and segments");
  if (e->sources)
    draw_text(f, LEFT, 22, 14, ALIGN_START, INK, 0, true, "Statistics less unknowns, k = %d sources", e->sources);
  else
    draw_text(f, LEFT, 22, 14, ALIGN_START, INK, 0, true, "Statistics less unknowns, as many sources as variables");
  draw_text(f, LEFT + columns * CELL_W / 2.0, 46, 12, ALIGN_MIDDLE, INK, 0, false, "variables n");
  draw_text(f, 26, TOP + rows * CELL_H / 2.0, 12, ALIGN_MIDDLE, INK, 90, false, "segments u");
  for (int j = 0; j < columns; j++)
    draw_text(f, LEFT + (j + 0.5) * CELL_W, TOP - 10, 12, ALIGN_MIDDLE, INK, 0, true, "%d", e->variables.low + j);
  for (int i = 0; i < rows; i++) {
    draw_text(f, LEFT - 14, TOP + i * CELL_H + 27, 12, ALIGN_END, INK, 0, true, "%d", e->segments.low + i);
    for (int j = 0; j < columns; j++) {
      const cell *c = &cells[i * columns + j];
      if (c->n) draw_cell(f, c, LEFT + j * CELL_W, TOP + i * CELL_H);
    }
  }
  draw_key(f, TOP + rows * CELL_H + 16);
  return f;
}

blica_status experiment_table1(experiment *e) {
  int columns = e->variables.high - e->variables.low + 1, rows = e->segments.high - e->segments.low + 1;
  int count = columns * rows, used = 0, models = e->datasets ? e->datasets : e->quick ? 2 : 10;
  cell *cells = calloc((size_t)count, sizeof *cells), *list = calloc((size_t)count, sizeof *list);
  blica_status status = cells && list ? BLICA_OK : fail_experiment(e, BLICA_ERR_MEMORY, "out of memory");
  for (int i = 0; i < count && status == BLICA_OK && cells && list; i++) {
    int n = e->variables.low + i % columns, k = e->sources ? e->sources : n;
    if (k > n) continue; /* the cell stays empty */
    cells[i] = (cell){.n = n, .k = k, .u = e->segments.low + i / columns};
    status = fill(e, &cells[i], models);
    list[used++] = cells[i];
    e->progress("table1", (i + 1.0) / count);
  }
  if (status == BLICA_OK) status = save_csv(e, list, used);
  if (status == BLICA_OK && cells) status = experiment_figure(e, draw_table(e, cells), "table1");
  free(cells);
  free(list);
  return status;
}
