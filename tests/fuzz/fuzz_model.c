/* fuzz_model.c - model.json: what loads is a model, and saves and loads again to the same. */
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "model/model.h"

static void check_model(const blica_model *m) {
  size_t n = (size_t)m->n, k = (size_t)m->k, u = (size_t)m->u;
  CHECK(m->n >= 1 && m->k >= 1 && m->u >= 1 && m->k <= m->n);
  CHECK(fuzz_finite(m->mixing, n * k) && fuzz_finite(m->variances, k * u) && fuzz_finite(m->means, k * u));
  for (size_t i = 0; i < k * u; i++) CHECK(m->variances[i] >= 0);
  CHECK(isfinite(m->link) && m->link > 0);
  for (int i = 0; i < m->n; i++) CHECK(m->variables[i]);
  for (int s = 0; s < m->u; s++) CHECK(m->segments[s] && isfinite(m->samples[s]) && m->samples[s] >= 0);
  CHECK(memchr(m->method, 0, sizeof m->method));
  if (m->fit.n_starts) CHECK(m->fit.best_start >= 0 && m->fit.best_start < m->fit.n_starts);
}

static void check_same(const blica_model *a, const blica_model *b) {
  size_t n = (size_t)a->n, k = (size_t)a->k, u = (size_t)a->u;
  CHECK(a->n == b->n && a->k == b->k && a->u == b->u);
  CHECK(fuzz_same_numbers(a->mixing, b->mixing, n * k));
  CHECK(fuzz_same_numbers(a->variances, b->variances, k * u));
  CHECK(fuzz_same_numbers(a->means, b->means, k * u));
  CHECK(fuzz_same_numbers(a->thresholds, b->thresholds, n * u));
  CHECK(fuzz_same_numbers(a->samples, b->samples, u));
  CHECK(a->link == b->link && strcmp(a->method, b->method) == 0);
  CHECK(fuzz_same_text(a->variables, b->variables, a->n) && fuzz_same_text(a->segments, b->segments, a->u));
  CHECK(a->fit.n_starts == b->fit.n_starts && a->fit.n_notes == b->fit.n_notes && a->fit.seed == b->fit.seed);
  CHECK(fuzz_same_numbers(a->fit.shift, b->fit.shift, u));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  blica_ctx *ctx = fuzz_ctx();
  blica_model *model, *again, *third;
  blica_status status = blica_model_load(ctx, fuzz_file("in.json", data, size), &model);
  if (status != BLICA_OK) {
    fuzz_check_failure(status, model);
    return 0;
  }
  check_model(model);
  const char *first = fuzz_path("first.json"), *second = fuzz_path("second.json");
  CHECK(blica_model_save(ctx, model, first) == BLICA_OK);
  CHECK(blica_model_load(ctx, first, &again) == BLICA_OK);
  check_same(model, again);
  CHECK(blica_model_save(ctx, again, second) == BLICA_OK);
  CHECK(fuzz_same_files(first, second));
  CHECK(blica_model_load(ctx, second, &third) == BLICA_OK);
  blica_model_free(model);
  blica_model_free(again);
  blica_model_free(third);
  return 0;
}
