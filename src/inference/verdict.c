/* verdict.c - the verdict: can the design determine the sources, do the data show change, does the model fit, are the
 * axes determined? The four are different questions; axes are certified only where the other three allow it. Program,
 * report, Python and R all print these sentences. */
#include "inference/verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const double bl_verdict_distance = 0.1;

static const double SIGNIFICANT = 0.05, STRONG = 0.01; /* p */
static const double FINE = 10, ROUGH = 25, OPEN = 45;  /* degrees */
static const double ABOVE_CHANCE = 0.8, LITTLE = 0.5;  /* (MCS - chance) / (1 - chance) */
static const double CLOSE = 0.05, ADEQUATE = 0.089;    /* RMSEA2; Maydeu-Olivares and Joe (2014) */
static const double SMALL = 0.05, LARGE = 0.1;         /* SRMR less sampling noise */
static const double SHIFTED = 0.1, SHIFTED_ONE = 0.25; /* of all thresholds, less sampling noise, and of one */
enum { CLUSTERS_LEAST = 30, MUCH_FREED = 10 };         /* more than this part of all pairs of an item and a segment */
static const double ROWS_LEAST = 40;  /* of a segment, on average, for intervals of items with two levels */
static const double DRAWS_LEAST = 15; /* independent draws of the sources in a segment */

const char *blica_answer_name(blica_answer answer) {
  static const char *const names[] = {"yes", "weak", "no", "unknown"};
  return names[answer <= BLICA_UNKNOWN ? answer : BLICA_UNKNOWN];
}

const char *blica_question_name(int question) {
  static const char *const names[] = {"design", "change", "fit", "axes"};
  return question >= 0 && question < BLICA_QUESTIONS ? names[question] : NULL;
}

#define SAY(a, question, code, ...)                                                                                    \
  ((a)->answer[question] = (code), (void)snprintf((a)->verdict[question], sizeof *(a)->verdict, __VA_ARGS__))

/* A p value as in "p = 0.03", or a bound where it is tiny. */
static const char *p_text(double p, char text[24]) {
  if (p < 1e-15)
    snprintf(text, 24, "p < 1e-15");
  else
    snprintf(text, 24, "p = %.2g", p);
  return text;
}

/* Answers whether the design determines the sources. */
static void answer_design(blica_assessment *a) {
  if (a->surplus < 0)
    SAY(a, BLICA_DESIGN, BLICA_NO,
        "Design: %d segments of %d variables have %lld statistics fewer than %d sources have unknowns, so these data "
        "cannot determine the sources.",
        a->u, a->n, (long long)-a->surplus, a->k);
  else if (a->rank_parameters == 0)
    SAY(a, BLICA_DESIGN, BLICA_UNKNOWN,
        "Design: %d segments of %d variables have enough statistics for %d sources; the rank was not computed.", a->u,
        a->n, a->k);
  else if (a->rank < a->rank_parameters)
    SAY(a, BLICA_DESIGN, BLICA_NO,
        "Design: %lld of %lld parameters are left open at this estimate (rank %lld), so the sources cannot be "
        "determined with these segments.",
        (long long)(a->rank_parameters - a->rank), (long long)a->rank_parameters, (long long)a->rank);
  else
    SAY(a, BLICA_DESIGN, BLICA_YES,
        "Design: %d segments of %d variables can determine %d source%s (rank %lld of %lld).", a->u, a->n, a->k,
        a->k == 1 ? " if its variance changes" : "s if their variances change", (long long)a->rank,
        (long long)a->rank_parameters);
}

static bool too_dependent(const blica_assessment *a) {
  return a->inflation > 1 && a->draws_per_segment < DRAWS_LEAST;
}

/* Answers whether the variances change over segments. */
static void answer_change(blica_assessment *a) {
  char rows[160] = "", p[24], beyond[24];
  if (a->inflation > 1)
    snprintf(rows, sizeof rows,
             " Rows depend on those before them (correlation %.2f): they count as %.0f of %.0f, and errors take blocks "
             "of %lld rows.",
             a->lag, a->rows / a->inflation, a->rows, (long long)a->block_length);
  else if (a->block_length > 1)
    snprintf(rows, sizeof rows, " Blocks of %lld adjacent rows count as independent.", (long long)a->block_length);
  else if (a->clusters > 0)
    snprintf(rows, sizeof rows, " %lld clusters count as independent%s%s.", (long long)a->clusters,
             a->strata > 0 ? " within their strata" : "",
             a->clusters - a->strata < CLUSTERS_LEAST ? ", which are too few for a test to rely on" : "");
  else if (a->strata > 0)
    snprintf(rows, sizeof rows, " Rows count as independent within %lld strata.", (long long)a->strata);
  if (a->k == 1 && a->segments_found)
    SAY(a, BLICA_CHANGE, BLICA_YES, "Change: one source needs no change of variances.");
  else if (a->segments_found)
    SAY(a, BLICA_CHANGE, BLICA_UNKNOWN,
        "Change: these segments were found in the same rows, which differ between them by construction, so change "
        "cannot be tested. Find segments in a half of the rows and test the others (blica segment --split auto).");
  else if (a->k == 1 && !(a->change_p <= SIGNIFICANT))
    SAY(a, BLICA_CHANGE, BLICA_YES, "Change: one source needs no change of variances, and the data do not show any.");
  else if (isnan(a->change_p))
    SAY(a, BLICA_CHANGE, BLICA_UNKNOWN, "Change: it was not tested whether the variances change over these segments.");
  else if (too_dependent(a))
    SAY(a, BLICA_CHANGE, BLICA_UNKNOWN,
        "Change: rows depend on those before them so much that a segment holds about %.0f independent draws of the "
        "sources; that is too few to tell change from chance. Use longer segments.",
        a->draws_per_segment);
  else if (a->change_p <= SIGNIFICANT && a->change_beyond_p > SIGNIFICANT)
    SAY(a, BLICA_CHANGE, BLICA_WEAK,
        "Change: correlations change over these segments (%s), but only along with the means of the sources (%s for "
        "the rest). Sources that are not normal look like that when their variances do not change.%s",
        p_text(a->change_p, p), p_text(a->change_beyond_p, beyond), rows);
  else if (a->change_p <= SIGNIFICANT)
    SAY(a, BLICA_CHANGE, a->change_p <= STRONG ? BLICA_YES : BLICA_WEAK,
        "Change: the data show%s that variances change over these segments (%s).%s",
        a->change_p <= STRONG ? "" : " weakly", p_text(a->change_p, p), rows);
  else
    SAY(a, BLICA_CHANGE, BLICA_NO,
        "Change: the data do not show that variances change over these segments (%s); without change the axes "
        "are arbitrary.%s",
        p_text(a->change_p, p), rows);
}

static bool off_optimum(const blica_assessment *a) {
  return !(a->distance <= bl_verdict_distance);
}

/* Whether thresholds change over segments in ways that no means of the sources explain. */
static bool shifted(const blica_assessment *a) {
  return a->margin_p <= STRONG && (a->margin_size > SHIFTED || fabs(a->margin_shift) > SHIFTED_ONE);
}

static bool heavy_tails(const blica_assessment *a) {
  return a->tails_p <= STRONG;
}

static bool much_freed(const blica_assessment *a) {
  return MUCH_FREED * a->freed > a->n * a->u;
}

/* Whether something was freed and the rest does not fit: freeing hides a part of the misfit. */
static bool rest_differs(const blica_assessment *a) {
  return a->freed > 0 && a->m2_p <= STRONG;
}

/* Whether pairs and margins are close to the model. */
static bool close_fit(const blica_assessment *a, bool *pairs) {
  *pairs = !isnan(a->srmr) && (!isfinite(a->m2) || a->m2_p > SIGNIFICANT || a->rmsea2 <= CLOSE) &&
           !(a->srmr_unbiased > SMALL);
  return *pairs && !shifted(a) && !much_freed(a) && !rest_differs(a);
}

/* Says what to try: names the item with the largest residuals, the threshold that is furthest off, and what heavy
 * tails or careless rows do. */
static void advice(const blica_assessment *a, bool close, char *text, size_t size) {
  int worst = 0;
  size_t at = 0;
  char p[24];
  for (int i = 1; i < a->n; i++)
    if (a->item_srmr && a->item_srmr[i] > a->item_srmr[worst]) worst = i;
  if (!close)
    at = (size_t)snprintf(text, size, " Try more sources; residuals are largest for '%.60s'.", a->variables[worst]);
  if (a->margin_p <= STRONG && a->margin_item >= 0)
    at += (size_t)snprintf(text + at, size - at,
                           " Cuts differ between segments (%s)%s, most for '%.40s' in '%.40s' (by %.2f).",
                           p_text(a->margin_p, p), shifted(a) ? "" : " by little", a->variables[a->margin_item],
                           a->segments[a->margin_segment], a->margin_shift);
  if (heavy_tails(a))
    snprintf(text + at, size - at,
             " Items go to extremes together more often than with normal sources (%s): heavy tails, which put loadings "
             "and their intervals on another scale, or careless rows, which bend the columns.",
             p_text(a->tails_p, p));
}

/* Answers whether the model fits. */
static void answer_fit(blica_assessment *a) {
  char numbers[160], apart[120] = "", more[480] = "", p[24];
  size_t at = (size_t)snprintf(numbers, sizeof numbers, "SRMR %.3f", a->srmr);
  if (isfinite(a->m2))
    snprintf(numbers + at, sizeof numbers - at,
             ", M2 %.1f on %lld degrees of freedom (%s), RMSEA2 %.3f (90 %% from %.3f to %.3f)", a->m2,
             (long long)a->df, p_text(a->m2_p, p), a->rmsea2, a->rmsea2_low, a->rmsea2_high);
  bool pairs;
  const bool close = close_fit(a, &pairs);
  const bool adequate = (!isfinite(a->m2) || a->rmsea2 <= ADEQUATE) && !(a->srmr_unbiased > LARGE);
  advice(a, pairs, more, sizeof more);
  if (a->freed > 0)
    snprintf(apart, sizeof apart, " %d pair%s of an item and a segment %s free, without errors of %s own%s.", a->freed,
             a->freed == 1 ? "" : "s", a->freed == 1 ? "is" : "are", a->freed == 1 ? "its" : "their",
             much_freed(a)     ? "; with so many anything fits"
             : rest_differs(a) ? "; what is left does not fit"
                               : "");
  if (isnan(a->distance))
    SAY(a, BLICA_FIT, BLICA_UNKNOWN,
        "Fit: the model could not be fitted again, so it is not known whether it is a fit of these data; %s.", numbers);
  else if (isinf(a->distance))
    SAY(a, BLICA_FIT, BLICA_NO,
        "Fit: this is not the optimum for these data: a refit has other columns (MCS %.2f with it) and gains "
        "%.3g in the log-likelihood of pairs. The fit had not converged, or it is not a fit of these data. As given: "
        "%s.",
        a->refit_mcs, a->refit_gain, numbers);
  else if (off_optimum(a))
    SAY(a, BLICA_FIT, BLICA_NO,
        "Fit: this is not the optimum for these data, but up to %.2g standard errors from a refit (MCS %.2f with it), "
        "which gains %.3g in the log-likelihood of pairs. The fit had not converged, or it is not a fit of these data. "
        "As given: %s.",
        a->distance, a->refit_mcs, a->refit_gain, numbers);
  else if (a->twin[0] >= 0)
    SAY(a, BLICA_FIT, BLICA_NO,
        "Fit: '%.60s' and '%.60s' agree in all rows, which the model cannot explain: leave one out. %s.",
        a->variables[a->twin[0]], a->variables[a->twin[1]], numbers);
  else if (isnan(a->srmr))
    SAY(a, BLICA_FIT, BLICA_UNKNOWN, "Fit: no statistic of fit could be computed.");
  else
    SAY(a, BLICA_FIT,
        close && !heavy_tails(a) ? BLICA_YES
        : close || adequate      ? BLICA_WEAK
                                 : BLICA_NO,
        "Fit: %s; %s.%s%s",
        close      ? "close"
        : adequate ? "adequate, not close"
                   : "poor",
        numbers, apart, more);
}

/* Why nothing can be said of the axes, or NULL. */
static const char *uncertified(const blica_assessment *a) {
  if (off_optimum(a)) return "not assessed, since the model is not at the optimum for these data";
  if (isnan(a->expected_mcs)) return "no errors could be computed, so it is not known how well they are determined";
  if (too_dependent(a)) return "not known, since errors of rows that depend on each other so much are not";
  if (a->segments_found && a->k > 1)
    return "not certified, since change cannot be tested; angles below hold if there is";
  return NULL;
}

/* Answers how well the directions of the sources are known. */
static void answer_axes(blica_assessment *a) {
  double worst = 0;
  int at = 0;
  char chance[64] = "";
  for (int j = 0; j < a->k; j++)
    if (a->angle[j] > worst) worst = a->angle[j], at = j;
  const bool compared = a->k > 1 && a->chance_mcs < 1;
  const double gain = compared ? (a->expected_mcs - a->chance_mcs) / (1 - a->chance_mcs) : 1;
  if (compared) snprintf(chance, sizeof chance, " where %.3f is chance", a->chance_mcs);
  const char *why = uncertified(a);
  const bool arbitrary = a->answer[BLICA_DESIGN] == BLICA_NO || (a->k > 1 && a->answer[BLICA_CHANGE] == BLICA_NO);
  blica_answer answer = worst < FINE && gain > ABOVE_CHANCE ? BLICA_YES
                        : worst < ROUGH && gain > LITTLE    ? BLICA_WEAK
                                                            : BLICA_NO;
  if (why)
    SAY(a, BLICA_AXES, BLICA_UNKNOWN, "Axes: %s.", why);
  else if (arbitrary)
    SAY(a, BLICA_AXES, BLICA_NO, "Axes: undetermined; the angles below describe this estimate only, not its truth.");
  else if (worst > OPEN)
    SAY(a, BLICA_AXES, BLICA_NO,
        "Axes: undetermined; refits rotate the columns by up to %.0f degrees (source z%d, one standard deviation), "
        "expected MCS %.3f%s.",
        worst, at + 1, a->expected_mcs, chance);
  else if (a->answer[BLICA_FIT] == BLICA_NO)
    SAY(a, BLICA_AXES, BLICA_NO,
        "Axes: not to be trusted, since the model does not fit; if it did, columns might be off by up to %.0f degrees "
        "(source z%d), expected MCS %.3f%s.",
        worst, at + 1, a->expected_mcs, chance);
  else {
    if (answer == BLICA_YES && (a->answer[BLICA_FIT] != BLICA_YES || a->answer[BLICA_CHANGE] == BLICA_WEAK))
      answer = BLICA_WEAK;
    SAY(a, BLICA_AXES, answer,
        "Axes: %s; the columns may be off by up to %.0f degrees (source z%d, one standard deviation), expected MCS "
        "%.3f%s.",
        answer == BLICA_YES    ? "well determined"
        : answer == BLICA_WEAK ? "roughly determined"
                               : "poorly determined",
        worst, at + 1, a->expected_mcs, chance);
  }
}

void bl_verdict(blica_assessment *a) {
  answer_design(a);
  answer_change(a);
  answer_fit(a);
  answer_axes(a);
  size_t at = strlen(a->verdict[BLICA_AXES]);
  if (a->answer[BLICA_AXES] != BLICA_UNKNOWN && a->planes == a->n && a->rows < ROWS_LEAST * a->u)
    at += (size_t)snprintf(
        a->verdict[BLICA_AXES] + at, sizeof *a->verdict - at,
        " Segments have %.0f rows on average: below %.0f, loadings come out too small and their intervals too short; "
        "merge segments if you can.",
        a->rows / a->u, ROWS_LEAST);
  if (a->draws < a->draws_planned && a->mixing_se)
    snprintf(a->verdict[BLICA_AXES] + at, sizeof *a->verdict - at, " Refits were interrupted after %d of %d%s.",
             a->draws, a->draws_planned, a->draws ? "" : ", which are too few to count");
}
