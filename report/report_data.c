/* report_data.c - what is in the data, what can be identified, and how to get the result again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "html.h"
#include "report_parts.h"
#include "words.h"

enum { LISTED = 40 };

/* ---- data ---- */

static void constants_table(const report *r, FILE *page) {
  const blica_model *m = r->in->model;
  const blica_counts *c = r->in->counts;
  int listed = 0;
  int64_t all = 0;
  for (int s = 0; s < m->u; s++)
    for (int i = 0; i < m->n; i++) {
      const int level = constant_level(c, m->coding, r->in->segment[s], i), first = m->coding ? m->coding->first[i] : i;
      if (level == -2) continue;
      all++;
      if (listed == LISTED) continue;
      if (listed++ == 0)
        html_table(page, "Variables that are constant in a segment: their correlations there are taken as 0",
                   "variable|segment|value|#rows");
      html_cells(page, "t|t|t|%.15g", m->variables[i], m->segments[s],
                 level < 0 ? "all missing" : level_label(m->coding, i, level),
                 c->present[(size_t)r->in->segment[s] * (size_t)c->n + (size_t)first]);
    }
  if (listed) html_table_end(page);
  if (all > listed) html_block(page, "p", "\xE2\x80\xA6 and %lld more.", (long long)(all - listed));
}

/* Items with missing values. */
static void missing_table(const report *r, FILE *page) {
  const blica_check *d = r->in->check;
  if (!(d->missing_values > 0)) return;
  html_table(page, "Missing values", "item|#missing|#% of the rows");
  for (int i = 0; i < d->n; i++)
    if (d->missing[i] > 0)
      html_cells(page, "t|%.15g|%.1f", r->in->model->variables[i], d->missing[i], 100 * d->missing[i] / d->rows);
  html_table_end(page);
}

void section_data(const report *r, FILE *page) {
  const blica_check *d = r->in->check;
  if (!d) {
    fputs(
        "<p>The report was made without the data: <code>blica report MODEL DATA</code> shows what is missing, constant "
        "or rare in them.</p>\n",
        page);
    return;
  }
  html_block(page, "p", "%s", r->in->data_words);
  if (d->count) fputs("<ul>\n", page);
  for (int i = 0; i < d->count; i++)
    html_block(page, d->findings[i].level > 0 ? "li class=\"note\"" : "li", "%s: %s.", d->findings[i].found,
               d->findings[i].advice);
  if (d->count) fputs("</ul>\n", page);
  missing_table(r, page);
  if (d->constant_columns) constants_table(r, page);
}

/* ---- identifiability ---- */

void put_word(FILE *page, const char *word) {
  char text[WORD_TEXT];
  shell_word(word, text);
  html_text(page, text);
}

static void verdict(const report *r, FILE *page) {
  const blica_identification *id = r->in->identification;
  const blica_model *m = r->in->model;
  fputs("<p class=\"verdict\">", page);
  if (id->design == BLICA_YES)
    html_text(
        page,
        "Design: at the fitted values the correlations would fix the mixing matrix up to order, sign and scale of its "
        "columns: the rank is full, and the paper's count of statistics and unknowns agrees. This says nothing about "
        "noise: whether the segments differ enough to estimate it, `blica assess` tests.");
  else if (id->local)
    html_text(page,
              "Design: no small change of the mixing matrix gives the same correlations. But the paper's count of "
              "statistics is below that of the unknowns, so a different matrix far away may fit as well; compare "
              "several seeds.");
  else
    html_text(page, "Design: the mixing matrix can be changed without any change of the correlations. Do not interpret "
                    "the loose columns; take fewer sources or more segments.");
  fputs("</p>\n", page);
  html_block(
      page, "p",
      "%d variables, %d sources, %d segments: statistics less unknowns, as in Table 1 of the paper: %lld. Rank of the "
      "information of all pair correlations: %lld of %lld parameters; the smallest eigenvalue that counts is %.2g of "
      "the largest (zero is below %.2g).",
      m->n, m->k, m->u, (long long)id->surplus, (long long)id->rank, (long long)id->parameters, id->smallest,
      id->tolerance);
}

static void count_alone(const report *r, FILE *page) {
  const report_input *in = r->in;
  html_block(
      page, "p class=\"verdict\"",
      in->surplus >= 0
          ? "Design: the paper's count does not rule out identification: there are %lld more statistics than unknowns."
          : "Design: by the paper's count such data cannot determine the mixing matrix: statistics less unknowns are "
            "%lld.",
      (long long)in->surplus);
  fputs("<p>The rank of the information was not computed for a model of this size; <code>blica identify ", page);
  put_word(page, in->model_path);
  fputs("</code> does.</p>\n", page);
}

void section_identifiability(const report *r, FILE *page) {
  const blica_identification *id = r->in->identification;
  if (!id) {
    count_alone(r, page);
    return;
  }
  verdict(r, page);
  bool loose = false;
  for (int j = 0; j < id->k; j++) loose = loose || id->looseness[j] > 1e-6;
  if (!loose) return;
  html_table(page, "Share of each column's directions that the data do not fix", "#source|#looseness");
  for (int j = 0; j < id->k; j++) html_cells(page, "z%.0f|%.3f", j + 1.0, id->looseness[j]);
  html_table_end(page);
}

/* ---- the command ---- */

/* An option that the line does not have yet, as a flag. */
static void put_setting(FILE *page, const blica_setting *setting) {
  char flag[sizeof setting->name + 3];
  if (strcmp(setting->name, "condition") == 0 || strcmp(setting->name, "link") == 0) return;
  snprintf(flag, sizeof flag, "--%s", setting->name);
  for (char *c = flag; *c; c++)
    if (*c == '_') *c = '-';
  html_text(page, " ");
  put_word(page, flag);                           /* a file can name any */
  if (strcmp(setting->value, "yes") == 0) return; /* a flag */
  html_text(page, " ");
  put_word(page, setting->value);
}

void section_reproduce(const report *r, FILE *page) {
  const blica_model *m = r->in->model;
  if (strcmp(m->method, "truth") == 0) {
    fputs("<p>This model was drawn by <code>blica simulate</code>, not fitted.</p>\n", page);
    return;
  }
  blica_fit_options usual = blica_fit_options_default();
  fputs("<pre>blica fit ", page);
  put_word(page, r->in->data_path ? r->in->data_path : "DATA");
  html_text(page, r->in->data_options);
  html_text(page, r->in->level_options);
  html_textf(page, " --sources %d --method ", m->k);
  put_word(page, m->method); /* a file can name any */
  html_textf(page, " --starts %d --seed %llu", m->fit.n_starts, (unsigned long long)m->fit.seed);
  bool regularised = strcmp(m->method, "blica") == 0; /* no other method takes the condition */
  if (regularised && isinf(m->fit.condition))
    html_text(page, " --condition none");
  else if (regularised && m->fit.condition > 0)
    html_textf(page, " --condition %.17g", m->fit.condition);
  if (m->link != usual.link) html_textf(page, " --link %.17g", m->link);
  for (int i = 0; i < m->fit.n_options; i++) put_setting(page, &m->fit.options[i]);
  html_text(page, " --out ");
  put_word(page, r->in->model_path);
  fputs("</pre>\n", page);
  html_block(page, "p",
             "With blica %s; all other options are at their defaults, and the result is the same for any number of "
             "threads. Seed %llu.%s",
             r->in->version, (unsigned long long)m->fit.seed,
             r->in->timeline ? " A model of hidden states comes from blica segment --model; this command, which fits "
                               "the labels of its states, gives nearly the same."
                             : "");
}
