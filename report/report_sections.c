/* report_sections.c - the page's words and tables about the fit, the data and identifiability. */
#include <math.h>
#include <string.h>

#include "html.h"
#include "report_parts.h"
#include "words.h"

/* ---- the model and the optimiser ---- */

#define fact(page, name, ...)                                                                                          \
  do {                                                                                                                 \
    fprintf(page, "<div><dt>%s</dt><dd>", name);                                                                       \
    html_textf(page, __VA_ARGS__);                                                                                     \
    fputs("</dd></div>\n", page);                                                                                      \
  } while (0)

static const char *stop_words(blica_stop stop) {
  static const char *const words[] = {
      [BLICA_STOP_CONVERGED] = "converged",
      [BLICA_STOP_ITERATIONS] = "not converged: the limit of iterations was reached",
      [BLICA_STOP_TIME] = "not converged: the time was over",
      [BLICA_STOP_INTERRUPTED] = "not converged: interrupted",
      [BLICA_STOP_STALLED] = "not converged: the objective is too flat to improve further",
      [BLICA_STOP_UNBOUNDED] = "not converged: the likelihood has no maximum, parameters run to infinity",
      [BLICA_STOP_INTEGRATION] =
          "not converged: integration error, the integrals of the likelihood are not accurate enough",
      [BLICA_STOP_COMPARED] = "another start was better",
      [BLICA_STOP_DUPLICATE] = "reached the optimum of start 1"};
  return words[stop];
}

static bool is_fit(const blica_model *m) {
  return strcmp(m->method, "truth") != 0;
}

static void starts_table(const blica_fit_report *fit, FILE *page) {
  html_table(page, "Every start and where it ended",
             "#start|kind|#objective|#below the best|#relative gradient|#iterations|#evaluations|end");
  for (int i = 0; i < fit->n_starts; i++) {
    const blica_start *s = &fit->starts[i];
    const bool same = s->stop == BLICA_STOP_DUPLICATE;
    html_cells(page, "%.0f|w|%.10g|%.4g|%.2g|%.0f|%.0f|w", i + 1.0, s->kind, s->objective,
               same ? NAN : fit->starts[fit->best_start].objective - s->objective, s->gradient, (double)s->iterations,
               (double)s->evaluations,
               i == fit->best_start                     ? "the best, kept"
               : same || s->stop == BLICA_STOP_COMPARED ? stop_words(s->stop)
                                                        : blica_stop_name(s->stop));
  }
  html_table_end(page);
}

static void starts_paragraph(const blica_fit_report *fit, FILE *page) {
  char text[STARTS_TEXT];
  starts_words(fit, text);
  fputs("<p>", page);
  html_text(page, text);
  if (fit->n_starts > 0 && fabs(fit->starts[fit->best_start].objective - fit->objective) >
                               1e-6 * fmax(1, fabs(fit->starts[fit->best_start].objective)))
    html_textf(page,
               " The best of them was then fitted again under priors learned from the data, where its objective is "
               "%s%.10g.",
               fit->objective < 0 ? "\xE2\x88\x92" : "", fabs(fit->objective));
  fputs("</p>\n", page);
}

static void regularisation(const report *r, FILE *page) {
  const blica_model *m = r->in->model;
  const blica_fit_report *fit = &m->fit;
  if (!fit->shift || !fit->eigen_min || !fit->eigen_max) return;
  int shifted = 0;
  double most = 0;
  for (int s = 0; s < m->u; s++) {
    shifted += fit->shift[s] > 0;
    most = fmax(most, fit->shift[s]);
  }
  fputs("<h3>Regularisation</h3>\n<p>", page);
  if (isinf(fit->condition))
    html_text(page, "None was asked for: correlations were fitted as estimated.");
  else
    html_textf(
        page,
        "Correlation matrices were brought to a condition number of at most %.4g by C \xE2\x86\x90 (C + d I)/(1 + d): "
        "%d of %d segments needed it, with d up to %.3g. Where d > 0 all correlations shrink by 1/(1 + d); "
        "the observed correlations of this page are those after it.",
        fit->condition, shifted, m->u, most);
  fputs("</p>\n<details><summary>By segment</summary>", page);
  html_table(page, "Eigenvalues of each correlation matrix before regularisation, and the shift",
             "#number|segment|#samples|#smallest eigenvalue|#largest eigenvalue|#d");
  for (int s = 0; s < m->u; s++)
    html_cells(page, "%.0f|t|%.15g|%.4g|%.4g|%.4g", s + 1.0, m->segments[s], m->samples[s], fit->eigen_min[s],
               fit->eigen_max[s], fit->shift[s]);
  html_table_end(page);
  fputs("</details>\n", page);
}

static void notes(const blica_fit_report *fit, FILE *page) {
  const bool prior = isfinite(fit->prior_mixing) && isfinite(fit->prior_variance);
  if (fit->n_notes == 0 && !prior) return;
  html_table(page, "What the method chose or found", "name|#value");
  if (prior) html_cells(page, "t|%.8g", "prior_mixing", fit->prior_mixing);
  if (prior) html_cells(page, "t|%.8g", "prior_variance", fit->prior_variance);
  for (int i = 0; i < fit->n_notes; i++) html_cells(page, "t|%.8g", fit->notes[i].name, fit->notes[i].value);
  html_table_end(page);
}

void section_summary(const report *r, FILE *page) {
  const blica_model *m = r->in->model;
  double rows = 0;
  for (int s = 0; s < m->u; s++) rows += m->samples[s];
  fputs("<dl class=\"facts\">\n", page);
  fact(page, "variables", "%d", m->n);
  fact(page, "sources", "%d", m->k);
  fact(page, "segments", "%d", m->u);
  fact(page, "rows", "%.15g", rows);
  fact(page, "method", "%s", is_fit(m) ? m->method : "none: a simulated model");
  if (is_fit(m)) {
    fact(page, "objective", "%s%.10g", m->fit.objective < 0 ? "\xE2\x88\x92" : "", fabs(m->fit.objective));
    fact(page, "optimiser", "%s", stop_words(m->fit.stop));
  }
  if (r->agree.pairs) fact(page, "residual correlation (rms)", "%.3g", r->agree.rms);
  fputs("</dl>\n", page);
  fputs("<p>In segment <i>s</i> the sources are normal with means and variances of their own; the mixing matrix "
        "<i>A</i> is the same in every segment; variable <i>i</i> is ",
        page);
  const bool ordinal = blica_ordinal_items(m->coding) > 0;
  fputs(ordinal ? "at level <i>l</i> or above with probability " : "1 with probability ", page);
  html_textf(page, "\xCE\xA6(\xE2\x88\x9A%.6g \xC2\xB7 ", m->link);
  fputs(
      ordinal
          ? "(<i>Az</i>)<sub><i>i</i></sub> \xE2\x88\x92 \xCF\x84<sub><i>il</i></sub>), \xCF\x84 the item's "
            "thresholds. "
          : "(<i>Az</i>)<sub><i>i</i></sub> \xE2\x88\x92 \xCF\x84<sub><i>i</i></sub>), \xCF\x84 the item's threshold. ",
      page);
  fputs("Columns of <i>A</i> are determined up to order, sign and scale: here sources are ordered by explained "
        "variance, the entry of largest absolute value in each column is positive, and the mean over segments of each "
        "source's log-variance is 0.</p>\n",
        page);
  if (!is_fit(m)) return;
  starts_paragraph(&m->fit, page);
  starts_table(&m->fit, page);
  notes(&m->fit, page);
  regularisation(r, page);
}

/* ---- how well it fits ---- */

typedef struct {
  double size;
  int i, j;
} worst_pair;

enum { WORST = 15 };

/* Pairs whose residual is worth showing, the largest first. */
static int worst_pairs(const agreement *g, worst_pair worst[WORST]) {
  int count = 0;
  for (int j = 1; j < g->n; j++)
    for (int i = 0; i < j; i++) {
      double size = fabs(residual_in_errors(g, blica_pair(i, j)));
      if (!(size > RESIDUAL_WORTH) || (count == WORST && size <= worst[WORST - 1].size)) continue;
      int at = count < WORST ? count++ : WORST - 1;
      for (; at > 0 && worst[at - 1].size < size; at--) worst[at] = worst[at - 1];
      worst[at] = (worst_pair){size, i, j};
    }
  return count;
}

static void residual_table(const report *r, FILE *page) {
  const blica_model *m = r->in->model;
  const agreement *g = &r->agree;
  worst_pair worst[WORST];
  int count = worst_pairs(g, worst);
  if (count == 0) {
    fputs("<p>No pair is off by more than three standard errors.</p>\n", page);
    return;
  }
  html_table(page, "Pairs with the largest residuals, means over segments",
             "item|with|#fitted less observed|#standard error|#in standard errors");
  for (int w = 0; w < count; w++) {
    int64_t p = blica_pair(worst[w].i, worst[w].j);
    html_cells(page, "t|t|%.3f|%.3f|%.1f", m->variables[worst[w].i], m->variables[worst[w].j], g->pair_mean[p],
               g->pair_se[p], residual_in_errors(g, p));
  }
  html_table_end(page);
}

static void put_figure(FILE *page, figure *f, const char *caption) {
  if (!f) return;
  fputs("<figure><div class=\"wide\" tabindex=\"0\">", page);
  if (!figure_inline(f, page)) fputs("<p>There was no memory for this figure.</p>", page);
  fputs("</div><figcaption>", page);
  html_text(page, caption);
  fputs("</figcaption></figure>\n", page);
  figure_free(f);
}

void section_fit(const report *r, FILE *page) {
  if (r->agree.pairs == 0) {
    fputs("<p class=\"note\">The report was made without the data: <code>blica report MODEL DATA</code> adds observed "
          "against fitted correlations, residuals, and what was corrected by name.</p>\n",
          page);
    return;
  }
  fputs("<h3>Observed and fitted correlations</h3>\n<div class=\"side\">", page);
  put_figure(page, figure_agreement(r),
             "Latent correlations of all pairs in all segments. A model that fits has its points along the line.");
  put_figure(page, figure_segments(r),
             "How far the fitted correlations of each segment are from the observed ones, over the standard error. "
             "About 1 is what sampling alone gives.");
  fputs("</div>\n", page);
  put_figure(page, figure_residuals(r),
             "Fitted less observed correlation of each pair, mean over segments, in standard errors; pairs below 3 "
             "are left blank. Blocks of one colour are structure that the sources do not explain.");
  residual_table(r, page);
}

/* ---- the sources ---- */

void section_sources(const report *r, FILE *page) {
  put_figure(page, figure_timeline(r),
             r->in->timeline && r->in->timeline->probabilities
                 ? "When each state held, over the rows in their order; the darker, the more probable."
                 : "When each state held, over the rows in their order.");
  table_durations(r, page);
  put_figure(page, figure_variances(r),
             "Variance of each source in each segment, with its interval where it is known, all on one logarithmic "
             "scale; orange points lie beyond it. These changes are what makes the mixing matrix identifiable.");
  table_variances(r, page);
  put_figure(page, figure_means(r), "Mean of each source in each segment, with its interval where it is known.");
  part_reliability(r, page);
}
