/* correlate_report.c - which tables and columns were empty or constant: warnings, and numbers in the result. */
#include <stdio.h>
#include <string.h>

#include "base/share.h"
#include "cor/cor.h"
#include "cor/correlate.h"

enum { NAMED = 3 };

/* Tables that carry a flag: how many, and the first of them. As doubles, which ranks can exchange: all are below 2^53.
 */
typedef struct {
  double found, table[NAMED];
} flagged;
enum { FLAGS = 3, FLAGGED = sizeof(flagged) / sizeof(double) };
static const int flag_of[FLAGS] = {BLICA_PAIR_ZERO_CELL, BLICA_PAIR_CONSTANT, BLICA_PAIR_EMPTY};

/* One pass over the flags of this rank. */
static void find_flagged(const blica_cor *cor, flagged f[FLAGS]) {
  const uint8_t *flags = cor->flags;
  const int64_t before = bl_cor_first(cor) * cor->pairs, end = bl_cor_last(cor) * cor->pairs - before;
  for (int64_t t = 0; t < end; t++)
    for (int k = 0; k < FLAGS && flags[t]; k++) {
      if (!(flags[t] & flag_of[k])) continue;
      if (f[k].found < NAMED) f[k].table[(int)f[k].found] = (double)(before + t);
      f[k].found++;
    }
}

/* Over all ranks: numbers are added, and of the first tables the first are kept. */
static blica_status add_flagged(blica_ctx *ctx, flagged f[FLAGS]) {
  blica_status status;
  bl_share ranks = {0};
  BL_OWNED flagged *all = NULL;
  TRY(bl_share_make(ctx, bl_comm(ctx)->size, 0, &ranks));
  TRY(bl_alloc(ctx, FLAGS * (size_t)ranks.size, &all));
  memcpy(all + FLAGS * ranks.rank, f, FLAGS * sizeof *f);
  const bl_places list = {(double *)all, FLAGS * FLAGGED};
  TRY(bl_share_exchange(ctx, &ranks, 1, &list, NULL));
  memset(f, 0, FLAGS * sizeof *f);
  for (int r = 0; r < ranks.size; r++)
    for (int k = 0; k < FLAGS; k++) {
      const flagged *other = &all[FLAGS * r + k];
      for (int i = 0; i < NAMED && i < other->found; i++)
        if (f[k].found + i < NAMED) f[k].table[(int)f[k].found + i] = other->table[i];
      f[k].found += other->found;
    }
done:
  bl_share_free(&ranks);
  return status;
}

/* "what: segment s: a and b; ...; and 17 more" for the tables that carry a flag; returns how many do. */
static int64_t report_pairs(blica_ctx *ctx, const blica_cor *cor, const flagged *f, const char *what) {
  char text[900] = "";
  size_t used = 0;
  int64_t found = (int64_t)f->found;
  for (int k = 0; k < NAMED && k < found && used < sizeof text; k++) {
    int64_t table = (int64_t)f->table[k];
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

blica_status bl_correlate_report(blica_ctx *ctx, const blica_counts *counts, bool own, blica_cor *cor) {
  blica_status status = BLICA_OK;
  flagged f[FLAGS] = {{0}};
  find_flagged(cor, f);
  if (own) TRY(add_flagged(ctx, f));
  cor->constant_columns = report_columns(ctx, counts);
  cor->zero_cells =
      report_pairs(ctx, cor, &f[0], counts->exact ? "have an empty cell" : "have an empty cell, which was filled");
  cor->constant_pairs = (int64_t)f[1].found;
  cor->empty_pairs = report_pairs(ctx, cor, &f[2], "have no row where both are present (correlation 0)");
done:
  return status;
}
