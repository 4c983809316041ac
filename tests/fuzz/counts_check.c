/* counts_check.c - see counts_check.h. */
#include "counts_check.h"

#include <math.h>

void cor_check(const blica_cor *cor) {
  size_t pairs = (size_t)cor->pairs * (size_t)cor->u, margins = (size_t)cor->n * (size_t)cor->u;
  for (size_t p = 0; p < pairs; p++) {
    CHECK(cor->rho[p] >= -1 && cor->rho[p] <= 1);
    CHECK(isnan(cor->se[p]) || (cor->se[p] >= 0 && isfinite(cor->se[p])));
    if (cor->flags[p] & (BLICA_PAIR_CONSTANT | BLICA_PAIR_EMPTY)) CHECK(cor->rho[p] == 0 && isnan(cor->se[p]));
  }
  CHECK(fuzz_finite(cor->thresholds, margins));
}

/* Within the rounding that cells made from margins have. */
static void check_near(const double *a, const double *b, size_t count, double size) {
  for (size_t i = 0; i < count; i++) CHECK(fabs(a[i] - b[i]) <= 1e-8 * size);
}

static void check_again(const blica_counts *c, const char *path, bool bits) {
  blica_ctx *ctx = fuzz_ctx();
  blica_counts *again;
  CHECK(blica_counts_save(ctx, c, path) == BLICA_OK);
  CHECK(blica_counts_load(ctx, path, &again) == BLICA_OK);
  CHECK(again->n == c->n && again->u == c->u && again->exact == c->exact);
  CHECK(fuzz_same_text(again->variables, c->variables, c->n) && fuzz_same_text(again->segments, c->segments, c->u));
  double size = 0;
  for (int s = 0; s < c->u; s++) size = fmax(size, c->samples[s]);
  size_t pairs = (size_t)c->pairs * (size_t)c->u, margins = (size_t)c->n * (size_t)c->u;
  if (bits) {
    CHECK(fuzz_same_numbers(again->n11, c->n11, pairs) && fuzz_same_numbers(again->ones, c->ones, margins));
    CHECK(fuzz_same_numbers(again->present, c->present, margins) &&
          fuzz_same_numbers(again->samples, c->samples, (size_t)c->u));
    CHECK(fuzz_same_numbers(again->n10, c->n10, pairs) && fuzz_same_numbers(again->n00, c->n00, pairs));
  } else {
    check_near(again->samples, c->samples, (size_t)c->u, size);
    check_near(again->n11, c->n11, pairs, size);
    check_near(again->ones, c->ones, margins, size);
    check_near(again->present, c->present, margins, size);
  }
  blica_counts_free(again);
}

void counts_check(const blica_counts *c) {
  blica_ctx *ctx = fuzz_ctx();
  CHECK(c->n >= 2 && c->u >= 1 && c->pairs == (int64_t)c->n * (c->n - 1) / 2);
  CHECK(!c->n10 == !c->n01 && !c->n10 == !c->n00);
  for (int s = 0; s < c->u; s++) CHECK(c->samples[s] >= 0 && isfinite(c->samples[s]));
  check_again(c, fuzz_path("again.npz"), true);
  check_again(c, fuzz_path("again.csv"), false);
  blica_cor *cor;
  blica_status status = blica_correlate(ctx, c, &cor);
  if (status == BLICA_OK)
    cor_check(cor);
  else
    fuzz_check_failure(status, cor);
  blica_cor_free(cor);
}
