/* tables.h - blica_counts made by hand, for tests of what comes after counting. */
#ifndef TEST_TABLES_H
#define TEST_TABLES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blica.h"
#include "num/normal/normal.h"

static inline char **table_names(const char *prefix, int count) {
  char **names = calloc((size_t)count, sizeof *names);
  for (int i = 0; i < count; i++) {
    names[i] = malloc(16);
    snprintf(names[i], 16, "%s%d", prefix, i + 1);
  }
  return names;
}

static inline blica_counts *tables_new(int n, int u, double samples, int full) {
  blica_counts *c = calloc(1, sizeof *c);
  c->n = n;
  c->u = u;
  c->pairs = (int64_t)n * (n - 1) / 2;
  size_t tables = (size_t)c->pairs * (size_t)u, columns = (size_t)n * (size_t)u;
  c->variables = table_names("x", n);
  c->segments = table_names("", u);
  c->samples = calloc((size_t)u, sizeof(double));
  c->ones = calloc(columns, sizeof(double));
  c->present = calloc(columns, sizeof(double));
  c->n11 = calloc(tables, sizeof(double));
  if (full) {
    c->n10 = calloc(tables, sizeof(double));
    c->n01 = calloc(tables, sizeof(double));
    c->n00 = calloc(tables, sizeof(double));
  }
  for (int s = 0; s < u; s++) c->samples[s] = samples;
  for (size_t i = 0; i < columns; i++) c->present[i] = samples;
  return c;
}

static inline void tables_free(blica_counts *c) {
  for (int i = 0; i < c->n; i++) free(c->variables[i]);
  for (int i = 0; i < c->u; i++) free(c->segments[i]);
  free(c->variables);
  free(c->segments);
  free(c->samples);
  free(c->ones);
  free(c->present);
  free(c->n11);
  free(c->n10);
  free(c->n01);
  free(c->n00);
  free(c);
}

/* Exact counts of a population: thresholds [n,u] and correlations [pairs,u]. */
static inline blica_counts *tables_exact(int n, int u, double samples, const double *threshold, const double *rho) {
  blica_counts *c = tables_new(n, u, samples, 0);
  c->exact = 1;
  for (int s = 0; s < u; s++) {
    for (int i = 0; i < n; i++) c->ones[i + s * n] = samples * bl_phi_cdf(threshold[i + s * n]);
    for (int j = 1; j < n; j++)
      for (int i = 0; i < j; i++) {
        int64_t p = blica_pair(i, j) + s * c->pairs;
        c->n11[p] = samples * blica_bvn(threshold[i + s * n], threshold[j + s * n], rho[p]);
      }
  }
  return c;
}

#endif
