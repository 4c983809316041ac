/* report_assess.c - what the estimate is worth: the verdict, angles, intervals, fit by item and segment. */
#include <math.h>
#include <stdlib.h>

#include "html.h"
#include "report_parts.h"

enum { ITEMS_MOST = 10, SEGMENTS_MOST = 200, VARIANCES_MOST = 6 };

static void sentences(const blica_assessment *a, FILE *page) {
  fputs("<ul class=\"verdict\">\n", page);
  for (int i = 0; i < BLICA_QUESTIONS; i++) html_block(page, "li", "%s", a->verdict[i]);
  fputs("</ul>\n", page);
}

static void columns(const blica_assessment *a, FILE *page) {
  html_table(page, "How far the column of each source may be off, and whether its variance changes",
             "source|#angle (standard deviation, degrees)|#90 % bound (degrees)|#p of no change");
  for (int j = 0; j < a->k; j++) {
    const double p = a->source_change_p[j] < 1e-99 ? 1e-99 : a->source_change_p[j]; /* no p is 0 */
    html_cells(page, p < 0.0005 ? "z|%.1f|%.1f|%.1g" : "z|%.1f|%.1f|%.3f", j + 1, a->angle[j], a->angle_bound[j], p);
  }
  html_table_end(page);
}

static void interval(FILE *page, double low, double high) {
  char text[64];
  const char *minus = "\xE2\x88\x92"; /* as in the numbers beside it */
  snprintf(text, sizeof text, "%s%.2f to %s%.2f", low < 0 ? minus : "", fabs(low), high < 0 ? minus : "", fabs(high));
  html_word(page, isnan(low) ? "\xE2\x80\x93" : text);
}

/* A table of values with their intervals (NULL: none are known), k sources to a row; element of row i and source j at
 * i row_step + j source_step. */
static void intervals_table(FILE *page, const char *caption, const char *what, char *const *names, int rows, int k,
                            const double *const value[3], size_t row_step, size_t source_step) {
  char columns[4096];
  size_t wide = (size_t)snprintf(columns, sizeof columns, "%s", what);
  for (int j = 0; j < k && wide < sizeof columns; j++)
    wide += (size_t)snprintf(columns + wide, sizeof columns - wide, "|#z%d%s", j + 1, value[1] ? "|interval" : "");
  html_table(page, caption, columns);
  for (int i = 0; i < rows; i++) {
    html_row(page);
    html_cell(page, names[i]);
    for (int j = 0; j < k; j++) {
      const size_t at = (size_t)i * row_step + (size_t)j * source_step;
      html_number(page, "%.2f", value[0][at]);
      if (value[1]) interval(page, value[1][at], value[2][at]);
    }
    html_row_end(page);
  }
  html_table_end(page);
}

void section_mixing(const report *r, FILE *page) {
  const blica_model *m = r->in->model;
  const blica_assessment *a = r->in->assessment;
  char caption[96] = "The mixing matrix";
  if (a) snprintf(caption, sizeof caption, "Loadings with their %.0f %% intervals", 100 * a->level);
  intervals_table(page, caption, "item", m->variables, m->n, m->k,
                  (const double *const[]){m->mixing, a ? a->mixing_low : NULL, a ? a->mixing_high : NULL}, 1,
                  (size_t)m->n);
}

void table_variances(const report *r, FILE *page) {
  const blica_model *m = r->in->model;
  const blica_assessment *a = r->in->assessment;
  if (!a || a->k > VARIANCES_MOST || a->u > SEGMENTS_MOST) return;
  fputs("<details><summary>The variances in numbers</summary>\n", page);
  intervals_table(page, "Variances of the sources with their intervals", "segment", m->segments, m->u, m->k,
                  (const double *const[]){m->variances, a->variance_low, a->variance_high}, (size_t)m->k, 1);
  fputs("</details>\n", page);
}

static const blica_assessment *ranked_by; /* the one whose items are being sorted */

static int worse_first(const void *x, const void *y) {
  const int i = *(const int *)x, j = *(const int *)y;
  const double *size = ranked_by->item_srmr;
  return size[i] != size[j] ? (size[i] < size[j]) - (size[i] > size[j]) : i - j;
}

static void fit(const blica_assessment *a, FILE *page) {
  int *order = draw_alloc((size_t)a->n, sizeof *order);
  if (!isnan(a->m2)) fputs("<p>RMSEA2 below .05 is a close fit, below .089 an adequate one.</p>\n", page);
  if (!order) return;
  for (int i = 0; i < a->n; i++) order[i] = i;
  ranked_by = a;
  qsort(order, (size_t)a->n, sizeof *order, worse_first);
  html_table(page,
             a->n > ITEMS_MOST ? "The ten items that fit worst: root mean square of their residual correlations"
                               : "How items fit: root mean square of their residual correlations",
             "item|#residual");
  for (int i = 0; i < a->n && i < ITEMS_MOST; i++)
    html_cells(page, "t|%.3f", a->variables[order[i]], a->item_srmr[order[i]]);
  html_table_end(page);
  free(order);
}

void section_assessment(const report *r, FILE *page) {
  const blica_assessment *a = r->in->assessment;
  if (!a) {
    fputs("<p>Not assessed: that needs the rows of the data, and not too many of them. <code>blica assess</code> gives "
          "errors, angles and a test of change.</p>\n",
          page);
    return;
  }
  sentences(a, page);
  columns(a, page);
  fit(a, page);
}
