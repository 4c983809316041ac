/* report_answer.c - the first screen: what was found, how sure that is, and what to do next. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "html.h"
#include "report_parts.h"
#include "words.h"

enum {
  SOURCES_DOTS = 5, /* up to this number of sources dots with intervals are drawn, beyond it shaded cells */
  MANY = 5,         /* from this number of sources, or bytes of a name, sentences are set closer */
  LONG = 30,
  SENTENCES_MOST = 12 /* sources with a sentence of their own */
};

/* ---- loadings in the scale of correlations ---- */

/* Item i and source j: correlation of the source with the latent variable of the item, mean over segments, and its
 * interval; low and high are NaN when no interval is known. */
typedef struct {
  double value, low, high;
  bool faded; /* the interval is known and meets 0 */
} effect;

static effect effect_of(const report *r, int i, int j) {
  const blica_model *m = r->in->model;
  const blica_assessment *a = r->in->assessment;
  const size_t at = (size_t)i + (size_t)j * (size_t)m->n;
  effect e = {source_correlation(m, i, j), NAN, NAN, is_doubtful(a, i, j)};
  if (!a || !isfinite(a->mixing_low[at]) || !isfinite(a->mixing_high[at])) return e;
  const double scale = m->mixing[at] != 0 ? e.value / m->mixing[at] : 0;
  e.low = fmax(-1, scale * a->mixing_low[at]), e.high = fmin(1, scale * a->mixing_high[at]);
  return e;
}

/* ---- the headline ---- */

typedef enum { NO, UNKNOWN, WEAK, YES } answer;
static const char *const word[] = {[UNKNOWN] = "unknown", [NO] = "no", [WEAK] = "weak", [YES] = "yes"};

enum { QUESTIONS = BLICA_QUESTIONS };

/* Whether the rows would be fitted otherwise: the model comes from other rows, or had not converged. */
static bool is_other_fit(const report *r) {
  const blica_assessment *a = r->in->assessment;
  return a && a->answer[BLICA_FIT] == BLICA_NO && a->distance > 0.1;
}

/* Whether this is because the model was fitted to probabilities of hidden states, not to the labels of the rows. */
static bool is_of_states(const report *r) {
  return r->in->timeline && is_other_fit(r);
}

/* By how good it is. */
static answer answer_to(const report *r, int question) {
  static const answer order[] = {[BLICA_YES] = YES, [BLICA_WEAK] = WEAK, [BLICA_NO] = NO, [BLICA_UNKNOWN] = UNKNOWN};
  return question == BLICA_FIT && is_of_states(r) ? UNKNOWN : order[r->in->assessment->answer[question]];
}

/* The least good answer decides; one that is unknown counts as worse than weak and better than no. */
static answer overall(const report *r) {
  answer worst = r->in->assessment ? YES : UNKNOWN;
  for (int i = 0; r->in->assessment && i < QUESTIONS; i++)
    if (answer_to(r, i) < worst) worst = answer_to(r, i);
  return worst;
}

/* Why the loadings should not be interpreted: the first question whose answer is no. */
static const char *reason(const report *r) {
  static const char *const reasons[QUESTIONS] = {
      "Do not interpret: this number of segments cannot determine the sources.",
      "Do not interpret: the data do not show that the variances of the sources change.",
      "Do not interpret: the model does not fit these data.",
      "Do not interpret: these data do not determine the loadings.",
  };
  for (int i = 0; i < QUESTIONS; i++)
    if (answer_to(r, i) == NO && i == BLICA_FIT && is_other_fit(r))
      return "Do not interpret yet: this model is not the fit of these rows.";
    else if (answer_to(r, i) == NO)
      return reasons[i];
  return reasons[BLICA_AXES];
}

static void headline(const report *r, FILE *page) {
  static const char *const icon[] = {
      [UNKNOWN] = "?", [NO] = "\xE2\x9C\x95", [WEAK] = "\xE2\x89\x88", [YES] = "\xE2\x9C\x93"};
  const blica_assessment *a = r->in->assessment;
  const answer worst = overall(r);
  fprintf(page, "<p class=\"headline %s\"><span class=\"icon\" aria-hidden=\"true\">%s</span> <span>", word[worst],
          icon[worst]);
  html_text(page, !a                  ? "Not assessed: nobody has tested yet how sure this is."
                  : worst == NO       ? reason(r)
                  : a->segments_found ? "Not assessed: these segments were found in the same rows."
                  : is_of_states(r)   ? "Not assessed: fit the labels of the hidden states to see how sure this is."
                  : worst == UNKNOWN  ? "Not everything could be assessed: see what is unknown below."
                  : worst == WEAK     ? "Roughly determined: read the large loadings, not the details."
                                      : "Determined: the loadings can be interpreted.");
  fputs("</span></p>\n", page);
}

/* The four questions, each with its answer in one word and, on demand, in a sentence. */
static void questions(const report *r, FILE *page) {
  static const struct {
    const char *name, *question;
  } asked[QUESTIONS] = {{"Design", "can it determine the sources?"},
                        {"Change", "do variances differ?"},
                        {"Fit", "does the model fit?"},
                        {"Loadings", "are they sure?"}};
  const blica_assessment *a = r->in->assessment;
  if (!a) return;
  fputs("<dl class=\"codes\">\n", page);
  for (int i = 0; i < QUESTIONS; i++) {
    fprintf(page, "<div class=\"%s\" title=\"", word[answer_to(r, i)]);
    html_text(page, a->verdict[i]);
    fputs("\"><dt>", page);
    fprintf(page, "%s<span>: %s</span></dt><dd>%s</dd></div>\n", asked[i].name, asked[i].question,
            word[answer_to(r, i)]);
  }
  fputs("</dl>\n", page);
}

/* ---- one sentence for each source ---- */

static void put_bold(const char *name, FILE *page) {
  fputs("<b>", page);
  html_text(page, name);
  fputs("</b>", page);
}

/* Between which segments the variance of source j differs most, in words. */
static void put_change(const report *r, int j, FILE *page) {
  const blica_model *m = r->in->model;
  const blica_assessment *a = r->in->assessment;
  const double *v = m->variances;
  size_t k = (size_t)m->k, low = (size_t)j, high = (size_t)j;
  for (size_t s = 0; s < (size_t)m->u; s++) {
    if (v[s * k + (size_t)j] < v[low]) low = s * k + (size_t)j;
    if (v[s * k + (size_t)j] > v[high]) high = s * k + (size_t)j;
  }
  if (m->u < 2 || low == high) return;
  if (a && isfinite(a->variance_low[high]) && a->variance_low[high] <= a->variance_high[low]) {
    fputs(" <span>No two segments differ clearly in its variance.</span>", page);
    return;
  }
  fputs(" <span>", page);
  if (m->k < MANY)
    html_textf(page, "It varies most in segment %s and least in %s (variances %.2g and %.2g).", m->segments[high / k],
               m->segments[low / k], v[high], v[low]);
  else
    html_textf(page, "Varies most in %s, least in %s.", m->segments[high / k], m->segments[low / k]);
  fputs("</span>", page);
}

static int longest_name(const blica_model *m) {
  size_t longest = 0;
  for (int i = 0; i < m->n; i++) longest = strlen(m->variables[i]) > longest ? strlen(m->variables[i]) : longest;
  return (int)longest;
}

static void source_sentences(const report *r, FILE *page) {
  const blica_model *m = r->in->model;
  fprintf(page, "<ul class=\"found%s\">\n", m->k >= MANY || longest_name(m) > LONG ? " many" : "");
  for (int j = 0; j < m->k && j < SENTENCES_MOST; j++) {
    fprintf(page, "<li><i>z%d</i> (%.0f %%%s): ", j + 1, 100 * explained_share(m, j),
            j == 0 ? " of what is explained" : "");
    write_source(m, r->in->assessment, j, put_bold, page);
    fputs(".", page);
    put_change(r, j, page);
    fputs("</li>\n", page);
  }
  if (m->k > SENTENCES_MOST) fprintf(page, "<li>%d more sources: see the picture.</li>\n", m->k - SENTENCES_MOST);
  fputs("</ul>\n", page);
}

/* ---- the picture: items in blocks, loading and interval together ---- */

/* A number without the zero before its point, as correlations are printed. */
static void put_correlation(FILE *page, double value) {
  char text[16];
  snprintf(text, sizeof text, "%.2f", fabs(value));
  fprintf(page, "%s%s", value < 0 && strcmp(text, "0.00") != 0 ? "\xE2\x88\x92" : "", *text == '0' ? text + 1 : text);
}

/* A dot at the loading on an axis from -1 to 1, with a line for its interval, or a cell whose shade is the loading. The
 * number is there too, for those who cannot see the dot. */
static void put_effect(const effect *e, bool dots, FILE *page) {
  fprintf(page, "<td class=\"%s%s\"", dots ? "dot" : e->value < 0 ? "cell down" : "cell up", e->faded ? " faded" : "");
  if (!dots) fprintf(page, " style=\"--s:%.0f%%\"", 100 * fmin(1, fabs(e->value)));
  fputs(">", page);
  if (dots && !isnan(e->low))
    fprintf(page, "<i style=\"left:%.1f%%;width:%.1f%%\"></i>", 50 * (e->low + 1), 50 * (e->high - e->low));
  if (dots) fprintf(page, "<b style=\"left:%.1f%%\"></b>", 50 * (e->value + 1));
  fprintf(page, "<span%s>", dots ? " class=\"read\"" : "");
  put_correlation(page, e->value);
  fputs("</span>", page);
  if (!isnan(e->low)) {
    fputs("<span class=\"read\">, from ", page);
    put_correlation(page, e->low);
    fputs(" to ", page);
    put_correlation(page, e->high);
    fputs("</span>", page);
  }
  fputs("</td>", page);
}

static bool errors_known(const blica_assessment *a) {
  return a && isfinite(a->mixing_low[0]);
}

static void picture(const report *r, FILE *page) {
  const blica_model *m = r->in->model;
  const bool dots = m->k <= SOURCES_DOTS;
  int *order = sorted_items(m, draw_alloc), home = -1;
  if (!order) return;
  fprintf(page,
          "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Loadings\"><table id=\"picture\" "
          "style=\"--w:%dch\"><caption>",
          longest_name(m) + 2);
  html_textf(page, "Correlation of each item with each source (mean over segments)%s",
             !errors_known(r->in->assessment) ? ". Their errors are not known"
             : dots                           ? ": dots, from \xE2\x88\x92"
                                                "1 to 1, with intervals; pale where the interval meets 0"
                                              : "; pale where the interval meets 0");
  fputs("</caption><thead><tr><th scope=\"col\">item</th>", page);
  for (int j = 0; j < m->k; j++) fprintf(page, "<th scope=\"col\">z%d</th>", j + 1);
  fputs("</tr></thead><tbody>\n", page);
  for (int at = 0; at < m->n; at++) {
    const int source = source_of_item(m, order[at]);
    fprintf(page, "<tr%s><th scope=\"row\">", at && source != home ? " class=\"block\"" : "");
    home = source;
    html_text(page, m->variables[order[at]]);
    if (m->labels && *m->labels[order[at]]) html_textf(page, " \xC2\xB7 %s", m->labels[order[at]]);
    fputs("</th>", page);
    for (int j = 0; j < m->k; j++) {
      const effect e = effect_of(r, order[at], j);
      put_effect(&e, dots, page);
    }
    fputs("</tr>\n", page);
  }
  fputs("</tbody></table></div>\n", page);
  free(order);
}

/* ---- data and next step ---- */

static void data_line(const report *r, FILE *page) {
  const blica_model *m = r->in->model;
  fputs("<p class=\"line\"><b>Data:</b> ", page);
  if (r->in->data_words) {
    html_text(page, r->in->data_words);
  } else {
    double rows = 0;
    for (int s = 0; s < m->u; s++) rows += m->samples[s];
    html_textf(page,
               "%.15g rows, %d items, %d segments. This page was made without the data, so what is missing is not "
               "shown.",
               rows, m->n, m->u);
  }
  fputs(" <a href=\"#data\">More</a></p>\n", page);
}

/* A command on the data, to be pasted, with the model, which knows the levels, or without. */
static void put_command(const report *r, const char *verb, bool model, const char *flags, FILE *page) {
  fprintf(page, "<code>blica %s", verb);
  if (model) html_text(page, " "), put_word(page, r->in->model_path);
  html_text(page, " ");
  put_word(page, r->in->data_path ? r->in->data_path : "DATA");
  html_text(page, r->in->data_options);
  if (!model) html_text(page, r->in->level_options);
  html_text(page, flags);
  fputs("</code>", page);
}

static void next_step(const report *r, FILE *page) {
  const blica_assessment *a = r->in->assessment;
  const blica_model *m = r->in->model;
  char numbers[64];
  snprintf(numbers, sizeof numbers, " --sources 1:%d", m->k + 3 < m->n ? m->k + 3 : m->n);
  fputs("<p class=\"line\"><b>Next:</b> ", page);
  if (!a) {
    put_command(r, "assess", true, "", page);
    html_text(page, " tells how sure this is.");
  } else if (answer_to(r, BLICA_DESIGN) == NO) {
    html_text(page, "take fewer sources, or rows from more segments.");
  } else if (a->segments_found) {
    fputs("<code>blica segment ", page);
    put_word(page, r->in->data_path ? r->in->data_path : "DATA");
    fprintf(page, " --sources %d --split auto --out split.csv</code>", m->k);
    html_text(page, " finds segments in half of the rows; fit and assess the others (--segment-file split.csv).");
  } else if (answer_to(r, BLICA_CHANGE) == NO) {
    html_text(page, "find segments between which the variances of the sources differ; without them the loadings are "
                    "arbitrary.");
  } else if (is_other_fit(r)) {
    snprintf(numbers, sizeof numbers, " --sources %d --out refit.json", m->k);
    put_command(r, "fit", false, numbers, page);
    html_textf(page, " fits these %s; then make the report of that model.", is_of_states(r) ? "labels" : "rows");
  } else if (answer_to(r, BLICA_FIT) == NO || answer_to(r, BLICA_FIT) == WEAK) {
    html_text(page, "see whether more sources fit better: ");
    put_command(r, "select", false, numbers, page);
    html_text(page, items_differ(r) ? ". If not, look at the items that differ between segments." : "");
  } else if (overall(r) != YES) {
    double rows = 0;
    for (int s = 0; s < m->u; s++) rows += m->samples[s] / m->u;
    html_textf(page, "collect more rows, or more segments that differ. What twice the segments would give: ");
    fprintf(page, "<code>blica identify --variables %d --sources %d --segments %d --samples %.0f</code>", m->n, m->k,
            2 * m->u, rows);
  } else {
    put_command(r, "sources", true, " --out sources.csv", page);
    html_text(page, " writes the sources of every row.");
  }
  fputs(" <a href=\"#reproduce\">How to repeat this fit</a></p>\n", page);
}

void section_answer(const report *r, FILE *page) {
  const bool withheld = r->in->assessment && overall(r) == NO;
  headline(r, page);
  questions(r, page);
  if (!withheld) source_sentences(r, page);
  if (!withheld) line_items(r, page);
  data_line(r, page);
  next_step(r, page);
  if (withheld) {
    fputs("<details class=\"withheld\"><summary>Show the loadings anyway</summary>\n", page);
    source_sentences(r, page);
  }
  picture(r, page);
  if (withheld) fputs("</details>\n", page);
}
