/* fuzz_fit.c - every method on tiny random data with random options, for a few iterations. */
#include <math.h>
#include <string.h>

#include "base/option.h"
#include "random_model.h"
#include "set_word.h"

static void choose(fuzz_bytes *b, const blica_data *d, blica_fit_options *o) {
  int methods;
  const blica_method *list = blica_methods(&methods);
  static const char *const priors[] = {"default", "none", "auto", "fixed"};
  static const double conditions[] = {0, 1.5, 10, 1e6, INFINITY};
  o->method = blica_method_find(list[fuzz_byte(b) % methods].name);
  o->sources = fuzz_int(b, 1, d->n);
  o->starts = fuzz_int(b, 1, 2);
  o->seed = fuzz_byte(b);
  o->condition = conditions[fuzz_byte(b) % 5];
  o->max_iterations = fuzz_int(b, 1, 4);
  o->max_seconds = 2;
  set_word(blica_fit_option_table, o, "prior", priors[fuzz_byte(b) & 3]);
  o->likelihood_power = fuzz_byte(b) & 1 ? 1 : 0.3;
  o->contrast = fuzz_byte(b) & 1 ? BLICA_CONTRAST_LOGCOSH : BLICA_CONTRAST_CUBE;
  int count;
  const blica_option *table = blica_fit_option_table(&count);
  for (int i = 0; i < count; i++) /* what has no effect would be refused */
    if (table[i].initial && !bl_option_works(&table[i], table, count, o))
      CHECK(blica_option_set(fuzz_ctx(), &table[i], o, table[i].initial) == BLICA_OK);
}

static void check_model(const blica_model *m) {
  size_t nk = (size_t)m->n * (size_t)m->k, ku = (size_t)m->k * (size_t)m->u;
  CHECK(fuzz_finite(m->mixing, nk) && fuzz_finite(m->variances, ku) && fuzz_finite(m->means, ku));
  CHECK(fuzz_finite(m->thresholds, (size_t)m->n * (size_t)m->u) && fuzz_finite(m->samples, (size_t)m->u));
  for (size_t i = 0; i < ku; i++) CHECK(m->variances[i] >= 0);
  CHECK(isfinite(m->fit.objective));
  for (int i = 0; i < m->fit.n_notes; i++) CHECK(!isnan(m->fit.notes[i].value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_bytes b = {data, size};
  blica_ctx *ctx = fuzz_ctx();
  int n = fuzz_int(&b, 2, 5), u = fuzz_int(&b, 1, 4);
  blica_data *d = random_data(&b, n, u, 40);
  if (!d) return 0;
  blica_fit_options o = blica_fit_options_default();
  choose(&b, d, &o);
  blica_model *m, *again;
  blica_status status = blica_fit(ctx, &(blica_input){.data = d}, &o, &m);
  if (status == BLICA_OK) {
    check_model(m);
    const char *path = fuzz_path("fit.json");
    CHECK(blica_model_save(ctx, m, path) == BLICA_OK);
    CHECK(blica_model_load(ctx, path, &again) == BLICA_OK);
    CHECK(fuzz_same_numbers(m->mixing, again->mixing, (size_t)n * (size_t)m->k));
    blica_model_free(again);
  } else {
    fuzz_check_failure(status, m);
  }
  blica_model_free(m);
  blica_data_free(d);
  return 0;
}
