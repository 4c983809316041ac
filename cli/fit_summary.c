/* fit_summary.c - the console after a fit: which items belong to which source, and what is known so far. */
#include "fit_summary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "table_io.h"

enum { VARIABLES_MOST = 40, SOURCES_MOST = 8, RANK_MOST = 400 };
static const double BELONGS = 0.3; /* correlation with a source from which an item is listed */

/* Correlation of item i's latent variable with source j, averaged over segments. */
static double correlation(const blica_model *m, int i, int j) {
  double sum = 0;
  for (int s = 0; s < m->u; s++) {
    const double *v = m->variances + (size_t)m->k * s;
    double all = 1;
    for (int l = 0; l < m->k; l++) all += m->link * v[l] * pow(m->mixing[i + (size_t)l * m->n], 2);
    sum += m->mixing[i + (size_t)j * m->n] * sqrt(m->link * v[j] / all) / m->u;
  }
  return sum;
}

static int strongest(const blica_model *m, int i) {
  int best = 0;
  for (int j = 1; j < m->k; j++)
    if (fabs(correlation(m, i, j)) > fabs(correlation(m, i, best))) best = j;
  return best;
}

static void note_loadings(const blica_model *m, const int *order) {
  char line[512];
  int at = snprintf(line, sizeof line, "%-20s", "loadings");
  for (int j = 0; j < m->k; j++) at += snprintf(line + at, sizeof line - (size_t)at, " %6s%d", "z", j + 1);
  say_note("%s", line);
  for (int i = 0; i < m->n; i++) {
    at = snprintf(line, sizeof line, "  %-18.18s", m->variables[order[i]]);
    for (int j = 0; j < m->k; j++)
      at += snprintf(line + at, sizeof line - (size_t)at, " %7.2f", m->mixing[order[i] + (size_t)j * m->n]);
    say_note("%s", line);
  }
}

static void note_members(const blica_model *m, const int *order) {
  for (int j = 0; j < m->k; j++) {
    char line[900];
    int at = snprintf(line, sizeof line, "z%d:", j + 1);
    bool any = false;
    for (int i = 0; i < m->n && at < 800; i++) {
      const double c = correlation(m, order[i], j);
      if (strongest(m, order[i]) != j || fabs(c) < BELONGS) continue;
      at += snprintf(line + at, sizeof line - (size_t)at, " %s%.40s", c < 0 ? "-" : "", m->variables[order[i]]);
      any = true;
    }
    say_note("%s%s", line, any ? "" : " no item belongs to this source most");
  }
}

/* Items of the same strongest source together, the strongest first. */
static void sort_items(const blica_model *m, int *order) {
  for (int i = 0; i < m->n; i++) {
    const int mine = strongest(m, i);
    const double strength = fabs(correlation(m, i, mine));
    int at = i;
    while (at > 0) {
      const int other = strongest(m, order[at - 1]);
      if (other < mine || (other == mine && fabs(correlation(m, order[at - 1], other)) >= strength)) break;
      order[at] = order[at - 1];
      at--;
    }
    order[at] = i;
  }
}

static void note_design(program *p, const blica_model *m) {
  int64_t statistics, unknowns;
  blica_identification *found = NULL;
  if (blica_identify_count(p->ctx, m->n, m->k, m->u, blica_ordinal_items(m->coding), &statistics, &unknowns) !=
      BLICA_OK)
    return;
  if (statistics < unknowns) {
    say_note("Design: %lld more unknowns than statistics, so these data cannot determine %d sources.",
             (long long)(unknowns - statistics), m->k);
    return;
  }
  if ((int64_t)m->k * (m->n + m->u) > RANK_MOST || blica_identify(p->ctx, m, &found) != BLICA_OK) return;
  say_note(found->local
               ? "Design: these segments can determine %d sources if their variances change (rank %lld of %lld)."
               : "Design: these segments cannot determine %d sources (rank %lld of %lld).",
           m->k, (long long)found->rank, (long long)found->parameters);
  blica_identification_free(found);
}

void note_summary(program *p, const blica_model *m, const char *out, const char *data, const char *data_options) {
  int order[VARIABLES_MOST];
  if (m->n <= VARIABLES_MOST && m->k <= SOURCES_MOST) {
    sort_items(m, order);
    note_loadings(m, order);
    note_members(m, order);
  }
  note_design(p, m);
  if (strcmp(data, "-") != 0 && !table_is_counts(data))
    say_note("Whether the variances change here and how well the axes are determined: blica assess %s %s%s", out, data,
             data_options);
}
