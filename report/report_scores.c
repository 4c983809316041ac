/* report_scores.c - what scores of single rows are worth, and whether items mean the same in all segments. */
#include <math.h>

#include "html.h"
#include "report_parts.h"
#include "words.h"

enum { SEGMENTS_MOST = 200, SOURCES_MOST = 12, LISTED = 40 };

/* ---- reliability ---- */

static void by_segment(const report *r, FILE *page) {
  const blica_reliability *t = r->in->reliability;
  char names[256];
  size_t at = (size_t)snprintf(names, sizeof names, "segment|#rows");
  if (t->u < 2 || t->u > SEGMENTS_MOST || t->k > SOURCES_MOST) return;
  for (int j = 0; j < t->k; j++) at += (size_t)snprintf(names + at, sizeof names - at, "|#z%d", j + 1);
  fputs("<details><summary>Reliability in each segment</summary>\n", page);
  html_table(page, "Reliability of the scores within each segment", names);
  for (int s = 0; s < t->u; s++) {
    html_row(page);
    html_cell(page, r->in->model->segments[s]);
    html_number(page, "%.0f", (double)t->rows[s]);
    for (int j = 0; j < t->k; j++) html_number(page, "%.2f", blica_reliability_of(t, j, s));
    html_row_end(page);
  }
  html_table_end(page);
  fputs("</details>\n", page);
}

void part_reliability(const report *r, FILE *page) {
  const blica_reliability *t = r->in->reliability;
  if (!t) return;
  fputs(
      "<h3>What the scores of single rows are worth</h3>\n<p>The reliability of a source is the share of its variance "
      "that the scores of <code>blica sources</code> show. Near 1, rows can be compared one by one; near 0, only "
      "means of many rows can.</p>\n",
      page);
  html_table(page, "Reliability of the scores of each source",
             "source|#all rows|#least in a segment|#most in a segment");
  for (int j = 0; j < t->k; j++) {
    double low, high;
    const bool several = reliability_range(t, j, &low, &high);
    html_cells(page, "z|%.2f|%.2f|%.2f", j + 1, blica_reliability_of(t, j, -1), several ? low : NAN,
               several ? high : NAN);
  }
  html_table_end(page);
  if (t->few)
    html_block(page, "p",
               "%lld rows have values of fewer than half of the items (%lld of none); their scores are drawn to the "
               "mean of their segment.",
               (long long)t->few, (long long)t->none);
  by_segment(r, page);
}

/* ---- items ---- */

bool items_differ(const report *r) {
  const blica_invariance_result *t = r->in->invariance;
  return t && (items_that_differ(t, BLICA_CUTS) > 0 || items_that_differ(t, BLICA_LOADINGS) > 0);
}

/* The first of the items that differ in a part, by name. */
static void name_items(const blica_invariance_result *t, blica_item_part part, const char *what, FILE *page) {
  enum { NAMED = 3 };
  int named = 0, all = items_that_differ(t, part);
  for (int i = 0; i < t->tests && all > 0; i++) {
    const blica_item_test *one = &t->test[i];
    if (one->kind != part || one->segment >= 0 || !(one->p_adjusted <= t->level) || named++ >= NAMED) continue;
    html_textf(page, "%s%s", named == 1 ? " " : named == all ? " and " : ", ", t->variables[one->item]);
  }
  if (all > NAMED) html_textf(page, " and %d more", all - NAMED);
  if (all > 0) html_textf(page, " %s other %s in some segments", all == 1 ? "has" : "have", what);
}

void line_items(const report *r, FILE *page) {
  if (!items_differ(r)) return;
  fputs("<p class=\"line\"><b>Items:</b>", page);
  name_items(r->in->invariance, BLICA_CUTS, "cuts", page);
  if (items_that_differ(r->in->invariance, BLICA_CUTS) > 0 && items_that_differ(r->in->invariance, BLICA_LOADINGS) > 0)
    fputs(";", page);
  name_items(r->in->invariance, BLICA_LOADINGS, "loadings", page);
  fputs(". <a href=\"#items\">More</a></p>\n", page);
}

static void sentence(const blica_invariance_result *t, blica_item_part part, const char *name, FILE *page) {
  const int differ = items_that_differ(t, part);
  if (differ < 0)
    html_block(page, "li", "%s: cannot be tested here, as this many sources fit any.", name);
  else if (differ)
    html_block(page, "li", "%s: %d of %d items differ between segments.", name, differ, t->n);
  else
    html_block(page, "li", "%s: no item is shown to differ between segments.", name);
}

/* Cells of what is estimated apart, and of what it is elsewhere. */
static void own_and_common(int count, const double *here, const double *common, int stride, FILE *page) {
  char text[2][256];
  for (int side = 0; side < 2; side++) {
    size_t at = 0;
    for (int c = 0; c < count && at < sizeof text[side]; c++)
      at += (size_t)snprintf(text[side] + at, sizeof text[side] - at, "%s%.2f", c ? ", " : "",
                             (side ? common : here)[c * stride]);
  }
  html_word(page, text[0]), html_word(page, text[1]);
}

/* What the fit has freed. */
static void freed_items(const blica_model *m, FILE *page) {
  int listed = 0;
  for (int c = 0; m->freed && c < m->n * m->u; c++) {
    const int i = c % m->n, s = c / m->n, first = m->coding ? m->coding->first[i] : i;
    const int cuts = m->coding ? m->coding->first[i + 1] - first : 1;
    for (int row = 0; row < m->freed[c] && listed < LISTED; row++) {
      if (listed++ == 0)
        html_table(page, "Estimated apart: what items have of their own in a segment",
                   "item|segment|what|here|in common");
      html_row(page);
      html_cell(page, m->variables[i]), html_cell(page, m->segments[s]);
      html_word(page, blica_item_part_name(row ? BLICA_LOADINGS : BLICA_CUTS));
      if (row)
        own_and_common(m->k, m->own_mixing + i + (size_t)m->n * (size_t)m->k * (size_t)s, m->mixing + i, m->n, page);
      else
        own_and_common(cuts, m->own_cuts + first + (size_t)m->planes * (size_t)s, m->cuts + first, 1, page);
      html_row_end(page);
    }
  }
  if (listed) html_table_end(page);
}

void section_items(const report *r, FILE *page) {
  const blica_invariance_result *t = r->in->invariance;
  int listed = 0;
  freed_items(r->in->model, page);
  if (!t) {
    fputs("<p>Not tested: that needs the rows of the data, and takes long for many items, sources and segments. "
          "<code>blica invariance</code> tests it.</p>\n",
          page);
    return;
  }
  const blica_assessment *a = r->in->assessment;
  html_block(page, "p", "The model holds that every item has the same cuts and the same loadings in all segments.%s",
             a && a->answer[BLICA_FIT] == BLICA_NO
                 ? " This model does not fit, and where a model does not fit, these tests find differences that need "
                   "not be the items'."
                 : "");
  fputs("<ul>\n", page);
  sentence(t, BLICA_CUTS, "Cuts", page);
  sentence(t, BLICA_LOADINGS, "Loadings", page);
  fputs("</ul>\n", page);
  for (int i = 0; i < t->tests && listed < LISTED; i++) {
    const blica_item_test *one = &t->test[i];
    if (!one->found || !(one->p_adjusted <= t->level)) continue;
    if (listed++ == 0)
      html_table(page, "Items that differ in a segment (p adjusted for the number of tests)",
                 "item|segment|what|#effect|#adjusted p");
    html_cells(page, "t|t|w|%+.2f|%.2g", t->variables[one->item], one->segment < 0 ? "all" : t->segments[one->segment],
               blica_item_part_name(one->kind), one->effect, one->p_adjusted);
  }
  if (listed == 0) return;
  html_table_end(page);
  fputs("<p>Effect of cuts: by how many standard deviations of the item's latent response they are higher, so that "
        "fewer rows reach the level. Effect of loadings: the largest change of a standardised loading.</p>\n",
        page);
}
