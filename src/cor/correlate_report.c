/* correlate_report.c - which tables and columns were empty or constant: warnings, and numbers in the result. */
#include <stdio.h>
#include <string.h>

#include "cor/cor.h"
#include "cor/correlate.h"

enum { NAMED = 3 };

/* Tables that carry a flag: how many, and the first of them. */
typedef struct {
  int64_t found, table[NAMED];
} flagged;
enum { FLAGS = 3 };
static const int flag_of[FLAGS] = {BLICA_PAIR_ZERO_CELL, BLICA_PAIR_CONSTANT, BLICA_PAIR_EMPTY};

static void find_flagged(const blica_cor *cor, flagged f[FLAGS]) {
  const uint8_t *flags = cor->flags;
  for (int64_t t = 0; t < cor->u * cor->pairs; t++)
    for (int k = 0; k < FLAGS && flags[t]; k++) {
      if (!(flags[t] & flag_of[k])) continue;
      if (f[k].found < NAMED) f[k].table[f[k].found] = t;
      f[k].found++;
    }
}

/* "what: segment s: a and b; ...; and 17 more" for the tables that carry a flag; returns how many do. */
static int64_t report_pairs(blica_ctx *ctx, const blica_cor *cor, const flagged *f, const char *what) {
  char text[900] = "";
  size_t used = 0;
  int64_t found = f->found;
  for (int k = 0; k < NAMED && k < found && used < sizeof text; k++) {
    int64_t table = f->table[k];
    int i, j;
    bl_unpack_pair(table % cor->pairs, &i, &j);
    used +=
        (size_t)snprintf(text + used, sizeof text - used, "%ssegment '%.40s': '%.40s' and '%.40s'", k > 0 ? "; " : "",
                         cor->segments[table / cor->pairs], cor->variables[i], cor->variables[j]);
  }
  if (found > NAMED)
    bl_warn(ctx, "%lld of %lld tables %s: %s; and %lld more", (long long)found, (long long)(cor->pairs * cor->u), what,
            text, (long long)(found - NAMED));
  else if (found > 0)
    bl_warn(ctx, "%lld of %lld tables %s: %s", (long long)found, (long long)(cor->pairs * cor->u), what, text);
  return found;
}

/* Warns of constant columns, naming the first; returns how many they are. */
static int64_t report_columns(blica_ctx *ctx, const blica_counts *c) {
  char text[900] = "";
  size_t used = 0;
  int64_t found = 0;
  for (int64_t column = 0, all = (int64_t)c->n * c->u; column < all; column++) {
    double ones = c->ones[column], present = c->present[column];
    if (ones > 0.0 && ones < present) continue;
    if (found++ >= NAMED || used >= sizeof text) continue;
    used += (size_t)snprintf(text + used, sizeof text - used, "%ssegment '%.40s': '%.40s' %s", found > 1 ? "; " : "",
                             c->segments[column / c->n], c->variables[column % c->n],
                             present <= 0.0 ? "has no value"
                             : ones > 0.0   ? "is always 1"
                                            : "is always 0");
  }
  int variables = 0;
  for (int i = 0; found && i < c->n; i++) {
    bool constant = false;
    for (int s = 0; s < c->u && !constant; s++) {
      double ones = c->ones[(size_t)s * (size_t)c->n + (size_t)i],
             present = c->present[(size_t)s * (size_t)c->n + (size_t)i];
      constant = !(ones > 0.0 && ones < present);
    }
    variables += constant;
  }
  char more[48] = "";
  if (found > NAMED) snprintf(more, sizeof more, "; and %lld more", (long long)(found - NAMED));
  if (found > 0)
    bl_warn(ctx,
            "%d of %d variables %s constant within a segment, %lld times in all (their correlations are set to 0 "
            "there): %s%s",
            variables, c->n, variables == 1 ? "is" : "are", (long long)found, text, more);
  return found;
}

void bl_correlate_report(blica_ctx *ctx, const blica_counts *counts, blica_cor *cor) {
  flagged f[FLAGS] = {{0}};
  find_flagged(cor, f);
  cor->constant_columns = report_columns(ctx, counts);
  cor->zero_cells =
      report_pairs(ctx, cor, &f[0], counts->exact ? "have an empty cell" : "have an empty cell, which was filled");
  cor->constant_pairs = f[1].found;
  cor->empty_pairs = report_pairs(ctx, cor, &f[2], "have no row where both are present (correlation 0)");
}
