/* verdict.c - the verdict in words: what the design can identify, whether the data show change, how well the axes are
 * determined. The three are different questions, and a yes to the first says nothing about the others. */
#include "inference/verdict.h"

#include <math.h>
#include <stdio.h>

static const double SIGNIFICANT = 0.05;               /* p */
static const double FINE = 10, ROUGH = 25, OPEN = 45; /* degrees */

static void design(const blica_assessment *a, char *text, size_t size) {
  if (a->surplus < 0)
    snprintf(
        text, size,
        "Design: %d segments of %d variables have %lld statistics fewer than %d sources have unknowns, so these data "
        "cannot determine the sources.",
        a->u, a->n, (long long)-a->surplus, a->k);
  else if (a->rank < a->rank_parameters)
    snprintf(text, size,
             "Design: %lld of %lld parameters are left open at this estimate (rank %lld), so the sources cannot be "
             "determined with these segments.",
             (long long)(a->rank_parameters - a->rank), (long long)a->rank_parameters, (long long)a->rank);
  else
    snprintf(
        text, size,
        "Design: %d segments of %d variables can determine %d sources if their variances change (rank %lld of %lld).",
        a->u, a->n, a->k, (long long)a->rank, (long long)a->rank_parameters);
}

static void change(const blica_assessment *a, char *text, size_t size) {
  if (isnan(a->change_p))
    snprintf(text, size, "Change: it was not tested whether the variances change over these segments.");
  else if (a->change_p <= SIGNIFICANT)
    snprintf(text, size, "Change: the data show that variances change over these segments (p = %.2g).", a->change_p);
  else
    snprintf(
        text, size,
        "Change: the data do not show that variances change over these segments (p = %.2g); without change the axes "
        "are arbitrary.",
        a->change_p);
}

static void axes(const blica_assessment *a, char *text, size_t size) {
  double worst = 0;
  int at = 0;
  for (int j = 0; j < a->k; j++)
    if (a->angle[j] > worst) worst = a->angle[j], at = j;
  if (isnan(a->expected_mcs))
    snprintf(text, size, "Axes: no errors could be computed, so it is not known how well the axes are determined.");
  else if (a->surplus < 0 || a->rank < a->rank_parameters || (a->k > 1 && a->change_p > SIGNIFICANT))
    snprintf(text, size, "Axes: undetermined; the angles below describe this estimate only, not its truth.");
  else if (worst > OPEN)
    snprintf(
        text, size,
        "Axes: undetermined; refits rotate the columns by up to %.0f degrees (source z%d, one standard deviation), "
        "expected MCS %.3f.",
        worst, at + 1, a->expected_mcs);
  else
    snprintf(
        text, size,
        "Axes: %s; the columns may be off by up to %.0f degrees (source z%d, one standard deviation), expected MCS "
        "%.3f.",
        worst < FINE    ? "well determined"
        : worst < ROUGH ? "roughly determined"
                        : "poorly determined",
        worst, at + 1, a->expected_mcs);
}

void bl_verdict(blica_assessment *a) {
  design(a, a->verdict[0], sizeof a->verdict[0]);
  change(a, a->verdict[1], sizeof a->verdict[1]);
  axes(a, a->verdict[2], sizeof a->verdict[2]);
}
