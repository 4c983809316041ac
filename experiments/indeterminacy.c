/* indeterminacy.c - different models, same binary data: the scales of q (Figure 2), the row order of a 2 x 2 mixing
 * matrix (Theorem 1), and with it the direction of an arrow between two variables (section 4.2).
 *
 * Row order: with the rows of A exchanged and the variances kept, M is M with rows and columns exchanged, so the one
 * correlation is the same; the means then solve sqrt(c) (A mu)_i = t_i sqrt(M_ii) for the old thresholds t. All
 * probabilities are those of the library, none is copied from one model to the other. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "axes.h"
#include "files/outfile.h"
#include "experiment.h"

enum { SEGMENTS = 3 };

/* One model of the pair: elements of A by column, and per segment means, variances and the four probabilities. */
typedef struct {
  double a[4], mean[SEGMENTS][2], variance[SEGMENTS][2], cell[SEGMENTS][4];
} twin;

typedef struct {
  const char *name, *title, *label[2];
  twin twins[2];
  double mcs, difference; /* between the matrices; largest between probabilities */
} example;

static double latent(const twin *t, int s, int i, int j, double link) {
  const double *v = t->variance[s];
  return (i == j) + link * (t->a[i] * t->a[j] * v[0] + t->a[i + 2] * t->a[j + 2] * v[1]);
}

/* P(x = 11, 10, 01, 00) of each segment, through the library. */
static blica_status probabilities(experiment *e, twin *t) {
  blica_model *m = NULL;
  blica_counts *counts = NULL;
  blica_status status = blica_model_create(e->ctx, 2, 2, SEGMENTS, &m);
  if (status == BLICA_OK) {
    memcpy(m->mixing, t->a, sizeof t->a);
    memcpy(m->means, t->mean, sizeof t->mean);
    memcpy(m->variances, t->variance, sizeof t->variance);
    for (int s = 0; s < SEGMENTS; s++) m->samples[s] = 1;
    status = blica_simulate_exact(e->ctx, m, &counts);
  }
  for (int s = 0; s < SEGMENTS && status == BLICA_OK; s++) blica_counts_table(counts, s, 0, 1, t->cell[s]);
  blica_counts_free(counts);
  blica_model_free(m);
  return status == BLICA_OK ? status : fail_experiment(e, status, "%s", blica_message(e->ctx));
}

/* The second twin: matrix and variances given, means such that the thresholds are those of the first. */
static void adjust_means(example *x, double link) {
  const twin *first = &x->twins[0];
  twin *second = &x->twins[1];
  for (int s = 0; s < SEGMENTS; s++) {
    double y[2];
    for (int i = 0; i < 2; i++) {
      double mean = first->a[i] * first->mean[s][0] + first->a[i + 2] * first->mean[s][1];
      y[i] = mean * sqrt(latent(second, s, i, i, link) / latent(first, s, i, i, link));
    }
    const double *a = second->a;
    double det = a[0] * a[3] - a[2] * a[1];
    second->mean[s][0] = (a[3] * y[0] - a[2] * y[1]) / det;
    second->mean[s][1] = (a[0] * y[1] - a[1] * y[0]) / det;
  }
}

static blica_status finish(experiment *e, example *x, double link) {
  int matching[2];
  double cosine[2];
  adjust_means(x, link);
  blica_status status = probabilities(e, &x->twins[0]);
  if (status == BLICA_OK) status = probabilities(e, &x->twins[1]);
  if (status != BLICA_OK) return status;
  for (int s = 0; s < SEGMENTS; s++)
    for (int c = 0; c < 4; c++)
      x->difference = fmax(x->difference, fabs(x->twins[0].cell[s][c] - x->twins[1].cell[s][c]));
  status = blica_compare(e->ctx, 2, 2, x->twins[0].a, x->twins[1].a, &x->mcs, matching, cosine);
  return status == BLICA_OK ? status : fail_experiment(e, status, "%s", blica_message(e->ctx));
}

/* Rows exchanged, variances kept. */
static example row_order(void) {
  example x = {.name = "row order", .title = "Theorem 1: rows of A exchanged", .label = {"A", "rows exchanged"}};
  twin t = {.a = {2.1, -0.6, 0.8, 1.7},
            .mean = {{0.4, -0.3}, {-0.2, 0.5}, {0.1, 0.3}},
            .variance = {{0.5, 3}, {2, 1}, {5, 0.4}}};
  x.twins[0] = x.twins[1] = t;
  const double exchanged[4] = {t.a[1], t.a[0], t.a[3], t.a[2]};
  memcpy(x.twins[1].a, exchanged, sizeof exchanged);
  return x;
}

/* y2 = b y1 + z2 against y1 = b y2 + z1: rows and columns exchanged, so the variances change places too. */
static example causal(void) {
  const double b = 1.5;
  example x = {
      .name = "causal direction", .title = "Section 4.2: the arrow turned", .label = {"x1 causes x2", "x2 causes x1"}};
  x.twins[0] =
      (twin){.a = {1, b, 0, 1}, .mean = {{0.3, -0.4}, {-0.5, 0.2}, {0.2, 0.4}}, .variance = {{1, 2}, {4, 0.5}, {2, 6}}};
  x.twins[1] = (twin){.a = {1, 0, b, 1}};
  for (int s = 0; s < SEGMENTS; s++)
    for (int j = 0; j < 2; j++) x.twins[1].variance[s][j] = x.twins[0].variance[s][1 - j];
  return x;
}

/* ---- Figure 2: a Gaussian q and the same with its axes scaled ---- */

typedef struct {
  double mean[2], sd[2], rho;
} gaussian;

static const gaussian blue = {{0.55, 0.35}, {0.9, 0.8}, 0.6};
static const double scale[2] = {2.1, 0.55};

static gaussian scaled(void) {
  gaussian g = blue;
  for (int i = 0; i < 2; i++) {
    g.mean[i] *= scale[i];
    g.sd[i] *= scale[i];
  }
  return g;
}

/* Mass of the quadrants: both below 0, first below, second below, none. */
static void quadrants(const gaussian *g, double p[4]) {
  double h = -g->mean[0] / g->sd[0], k = -g->mean[1] / g->sd[1];
  double first = blica_bvn(h, 1e3, g->rho), second = blica_bvn(1e3, k, g->rho);
  p[0] = blica_bvn(h, k, g->rho);
  p[1] = first - p[0];
  p[2] = second - p[0];
  p[3] = 1 - first - second + p[0];
}

static void draw_gaussian(const axes *a, const gaussian *g, colour c) {
  enum { POINTS = 120 };
  double line[2 * POINTS];
  for (double r = 0.6; r < 2.1; r += 0.7) {
    for (int i = 0; i < POINTS; i++) {
      double t = 2 * acos(-1) * i / POINTS, x = cos(t), y = g->rho * cos(t) + sqrt(1 - g->rho * g->rho) * sin(t);
      line[2 * i] = axes_x(a, g->mean[0] + r * g->sd[0] * x);
      line[2 * i + 1] = axes_y(a, g->mean[1] + r * g->sd[1] * y);
    }
    draw_path(a->f, line, POINTS, true, with_alpha(c, 0.06), c, 1.6);
  }
}

enum { PANEL = 300, TOP = 100, LEFT = 60, GAP = 78 };

static void draw_scales(figure *f) {
  axes a = {f, LEFT, TOP, PANEL, PANEL, -3.6, 5.6, -3.6, 5.6, false, false};
  gaussian red = scaled();
  double p[2][4];
  const double at[4][2] = {{-2.9, -2.9}, {-2.9, 4.8}, {3.3, -2.9}, {3.3, 4.8}};
  quadrants(&blue, p[0]);
  quadrants(&red, p[1]);
  axes_ticks_y(&a, "q2");
  axes_ticks_x(&a, "q1");
  draw_gaussian(&a, &red, 0xd55e00ff);
  draw_gaussian(&a, &blue, 0x0072b2ff);
  draw_line(f, axes_x(&a, 0), TOP, axes_x(&a, 0), TOP + PANEL, INK, 1, false);
  draw_line(f, LEFT, axes_y(&a, 0), LEFT + PANEL, axes_y(&a, 0), INK, 1, false);
  for (int c = 0; c < 4; c++) {
    draw_text(f, axes_x(&a, at[c][0]), axes_y(&a, at[c][1]), 11, ALIGN_START, 0x0072b2ff, 0, true, "%.4f", p[0][c]);
    draw_text(f, axes_x(&a, at[c][0]), axes_y(&a, at[c][1]) + 14, 11, ALIGN_START, 0xb34700ff, 0, true, "%.4f",
              p[1][c]);
  }
  axes_frame(&a, NULL);
  draw_text(f, LEFT, 52, 12, ALIGN_START, INK, 0, true, "Figure 2: q scaled axis by axis");
  draw_text(f, LEFT, 70, 11, ALIGN_START, INK, 0, false, "two Gaussians, the same mass");
  draw_text(f, LEFT, 85, 11, ALIGN_START, INK, 0, false, "in each of the four quadrants");
}

static void draw_matrix(figure *f, double x, double y, const double a[4], const char *name, colour c) {
  draw_text(f, x, y, 11, ALIGN_START, c, 0, true, "%s", name);
  for (int i = 0; i < 2; i++)
    draw_text(f, x, y + 15 + 14 * i, 11, ALIGN_START, c, 0, false, "[ %5.2f  %5.2f ]", a[i], a[i + 2]);
}

/* Bars of the four probabilities in each segment, the two models side by side. */
static void draw_example(figure *f, int index, const example *x) {
  static const char *const cells[] = {"11", "10", "01", "00"};
  double left = LEFT + index * (PANEL + GAP), step = PANEL / (SEGMENTS * 5.0);
  axes a = {f, left, TOP, PANEL, PANEL, 0, SEGMENTS * 5, 0, 0.62, false, false};
  axes_ticks_y(&a, "probability");
  for (int s = 0; s < SEGMENTS; s++) {
    for (int c = 0; c < 4; c++)
      for (int t = 0; t < 2; t++) {
        double p = x->twins[t].cell[s][c], at = left + (5 * s + c + 0.55 + 0.42 * t) * step;
        char tip[128];
        snprintf(tip, sizeof tip, "%s, segment %d: P(x = %s) = %.6f", x->label[t], s + 1, cells[c], p);
        draw_rect(f, at, axes_y(&a, p), 0.4 * step, TOP + PANEL - axes_y(&a, p), t ? 0xd55e00ff : 0x0072b2ff, CLEAR,
                  tip);
        if (t == 0) draw_text(f, at + 0.4 * step, TOP + PANEL + 13, 9, ALIGN_MIDDLE, INK, 0, false, "%s", cells[c]);
      }
    draw_text(f, left + (5 * s + 2.5) * step, TOP + PANEL + 29, 11, ALIGN_MIDDLE, INK, 0, false, "segment %d", s + 1);
  }
  axes_frame(&a, NULL);
  draw_text(f, left, 52, 12, ALIGN_START, INK, 0, true, "%s", x->title);
  draw_text(f, left, 70, 11, ALIGN_START, INK, 0, false, "MCS of the two matrices %.3f,", x->mcs);
  if (x->difference > 0)
    draw_text(f, left, 85, 11, ALIGN_START, INK, 0, false, "largest difference of probabilities %.0e", x->difference);
  else
    draw_text(f, left, 85, 11, ALIGN_START, INK, 0, false, "probabilities equal to the last bit");
  draw_matrix(f, left + 14, TOP + 22, x->twins[0].a, x->label[0], 0x0072b2ff);
  draw_matrix(f, left + 150, TOP + 22, x->twins[1].a, x->label[1], 0xb34700ff);
}

/* ---- the numbers ---- */

static void write_rows(FILE *f, const example *x) {
  for (int s = 0; s < SEGMENTS; s++)
    for (int t = 0; t < 2; t++) {
      const twin *w = &x->twins[t];
      fprintf(f, "%s,%s,%d,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", x->name,
              x->label[t], s + 1, w->a[0], w->a[2], w->a[1], w->a[3], w->mean[s][0], w->mean[s][1], w->variance[s][0],
              w->variance[s][1], w->cell[s][0], w->cell[s][1], w->cell[s][2], w->cell[s][3]);
    }
}

static blica_status save(experiment *e, const example *list, int count) {
  char path[4096];
  bl_outfile file;
  blica_status status = experiment_path(e, "indeterminacy.csv", path, sizeof path);
  if (status != BLICA_OK) return status;
  if (!bl_outfile_open(&file, path))
    return fail_experiment(e, BLICA_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
  fputs("example,model,segment,a11,a12,a21,a22,mean1,mean2,variance1,variance2,p11,p10,p01,p00\n", file.stream);
  for (int i = 0; i < count; i++) write_rows(file.stream, &list[i]);
  if (!bl_outfile_commit(&file))
    return fail_experiment(e, BLICA_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
  return BLICA_OK;
}

blica_status experiment_indeterminacy(experiment *e) {
  example list[2] = {row_order(), causal()};
  double link = blica_fit_options_default().link;
  blica_status status = BLICA_OK;
  for (int i = 0; i < 2 && status == BLICA_OK; i++) {
    char text[256];
    status = finish(e, &list[i], link);
    snprintf(text, sizeof text, "%s: MCS %.4f between the matrices, probabilities differ by at most %.1e", list[i].name,
             list[i].mcs, list[i].difference);
    if (status == BLICA_OK) e->note(text);
  }
  if (status == BLICA_OK) status = save(e, list, 2);
  if (status != BLICA_OK) return status;
  figure *f =
      figure_new(LEFT + 3 * (PANEL + GAP), TOP + PANEL + 50, "Different models with the same binary distribution");
  draw_text(f, LEFT, 24, 14, ALIGN_START, INK, 0, true, "Different models, same binary data");
  draw_scales(f);
  for (int i = 0; i < 2; i++) draw_example(f, i + 1, &list[i]);
  return experiment_figure(e, f, "indeterminacy");
}
