/* report_pairs.c - the columns of the mixing matrix in pairs: one point per variable, with its name where there is
 * room.
 *
 * Names are placed one after the other, points far from the origin first, each at the first of four places (right,
 * left, above, below its point) that lies inside the frame and covers no point and no name. A name without such a place
 * is left out; hovering shows it, and the table below the figure lists it. */
#include <math.h>
#include <stdlib.h>

#include "axes.h"
#include "report_parts.h"

enum { PAIR_SOURCES = 4, PAIR_SIZE = 200, PAIR_GAP = 58, MOST_NAMED = 100 };
#define NAME_FONT 9.0

typedef struct {
  double left, top, right, bottom;
} box;

typedef struct {
  double x, y, far; /* in pixels; distance from the origin */
  int variable;
} point;

static int by_distance(const void *a, const void *b) {
  const point *p = a, *q = b;
  return p->far != q->far ? (p->far < q->far) - (p->far > q->far) : p->variable - q->variable;
}

static bool overlap(box a, box b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

static box around(double x, double y, double w, double h) {
  return (box){x - w / 2, y - h / 2, x + w / 2, y + h / 2};
}

static bool is_free(const axes *a, box b, const box *taken, int count) {
  if (b.left < a->x || b.right > a->x + a->w || b.top < a->y || b.bottom > a->y + a->h) return false;
  for (int i = 0; i < count; i++)
    if (overlap(b, taken[i])) return false;
  return true;
}

/* taken: [2n], first the n points. */
static void draw_names(const blica_model *m, const axes *a, const point *points, double radius, box *taken) {
  int count = m->n;
  for (int i = 0; i < m->n; i++) taken[i] = around(points[i].x, points[i].y, 2 * radius, 2 * radius);
  for (int i = 0; i < m->n; i++) {
    char name[40];
    short_label(m->variables[points[i].variable], name);
    const double w = text_width(NAME_FONT, false, name), away = w / 2 + radius + 2, up = NAME_FONT / 2 + radius + 1;
    const double place[4][2] = {{away, 0}, {-away, 0}, {0, -up}, {0, up}};
    for (int p = 0; p < 4; p++) {
      box b = around(points[i].x + place[p][0], points[i].y + place[p][1], w, NAME_FONT);
      if (!is_free(a, b, taken, count)) continue;
      draw_text(a->f, b.left, b.bottom - 0.15 * NAME_FONT, NAME_FONT, ALIGN_START, INK, 0, false, "%s", name);
      taken[count++] = b;
      break;
    }
  }
}

static void draw_pair(const blica_model *m, const axes *a, int first, int second, point *points, box *taken) {
  const double radius = m->n <= 60 ? 3 : 2.2;
  char label[2][16], tip[400];
  snprintf(label[0], sizeof label[0], "z%d", first + 1);
  snprintf(label[1], sizeof label[1], "z%d", second + 1);
  axes_ticks_y(a, label[1]);
  axes_ticks_x(a, label[0]);
  draw_line(a->f, axes_x(a, 0), a->y, axes_x(a, 0), a->y + PAIR_SIZE, PALE, 1, false);
  for (int i = 0; i < m->n; i++) {
    const double x = loading(m, i, first), y = loading(m, i, second);
    points[i] = (point){axes_x(a, x), axes_y(a, y), hypot(x, y), i};
    snprintf(tip, sizeof tip, "%.200s: z%d %.3g, z%d %.3g", m->variables[i], first + 1, x, second + 1, y);
    draw_circle(a->f, points[i].x, points[i].y, radius, with_alpha(palette(0), 0.75), CLEAR, tip);
  }
  qsort(points, (size_t)m->n, sizeof *points, by_distance);
  if (m->n <= MOST_NAMED) draw_names(m, a, points, radius, taken);
  axes_frame(a, NULL);
}

figure *figure_loadings(const report *r) {
  const blica_model *m = r->in->model;
  const int sources = m->k < PAIR_SOURCES ? m->k : PAIR_SOURCES, pairs = sources * (sources - 1) / 2;
  if (m->k < 2 || m->n < 3) return NULL;
  const int columns = pairs < 3 ? pairs : 3, rows = (pairs + 2) / 3;
  const double end = 1.08 * largest_loading(m);
  point *points = draw_alloc((size_t)m->n, sizeof *points);
  box *taken = draw_alloc(2 * (size_t)m->n, sizeof *taken);
  figure *f = points && taken ? figure_new(56 + columns * (PAIR_SIZE + PAIR_GAP), 12 + rows * (PAIR_SIZE + PAIR_GAP),
                                           "Scatter plots of the elements of the mixing matrix, pairs of the first "
                                           "sources")
                              : NULL;
  for (int first = 0, at = 0; f && first < sources; first++)
    for (int second = first + 1; second < sources; second++, at++) {
      const int row = at / 3, column = at % 3;
      const axes a = {.f = f,
                      .x = 56 + column * (PAIR_SIZE + PAIR_GAP),
                      .y = 12 + row * (PAIR_SIZE + PAIR_GAP),
                      .w = PAIR_SIZE,
                      .h = PAIR_SIZE,
                      .x_low = -end,
                      .x_high = end,
                      .y_low = -end,
                      .y_high = end};
      draw_pair(m, &a, first, second, points, taken);
    }
  free(points);
  free(taken);
  return f;
}
