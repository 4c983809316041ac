/* fuzz_loglik.c - log-likelihood and posterior sources of random rows under random models. */
#include <math.h>
#include <string.h>

#include "random_model.h"
#include "set_word.h"

static const char *const engines[] = {"auto", "grid", "lattice", "ep"};

static void check_loglik(blica_ctx *ctx, const blica_model *m, const blica_data *d, const char *engine) {
  blica_loglik_options o = blica_loglik_options_default();
  blica_loglik_result *r;
  set_word(blica_loglik_option_table, &o, "engine", engine);
  o.error = 1;
  blica_status status = blica_loglik(ctx, m, d, &o, &r);
  if (status != BLICA_OK) {
    fuzz_check_failure(status, r);
    return;
  }
  CHECK(r->rows == d->rows && r->patterns <= d->rows && r->patterns >= 0);
  double sum = 0;
  for (int s = 0; s < r->u; s++) {
    CHECK(isfinite(r->loglik[s]) && r->loglik[s] <= fmax(1e-9, r->error[s]));
    CHECK(r->error[s] >= 0 && !isnan(r->error[s]));
    sum += r->loglik[s];
  }
  CHECK(fabs(sum - r->total) <= 1e-9 * fmax(1, fabs(sum)));
  blica_loglik_result_free(r);
}

static void check_sources(blica_ctx *ctx, const blica_model *m, const blica_data *d, int draws, bool known) {
  blica_sources_options o = blica_sources_options_default();
  blica_posterior *p;
  o.draws = draws;
  o.segment = known ? BLICA_SEGMENTS_KNOWN : BLICA_SEGMENTS_UNKNOWN;
  blica_status status = blica_sources(ctx, m, d, &o, &p);
  if (status != BLICA_OK) {
    fuzz_check_failure(status, p);
    return;
  }
  size_t count = (size_t)p->k * (size_t)p->rows;
  CHECK(p->rows == d->rows && p->k == m->k);
  CHECK(fuzz_finite(p->mean, count) && fuzz_finite(p->sd, count));
  CHECK(!draws || fuzz_finite(p->draws, count * (size_t)draws));
  for (size_t i = 0; i < count; i++) CHECK(p->sd[i] >= 0);
  blica_posterior_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_bytes b = {data, size};
  uint8_t how = fuzz_byte(&b);
  blica_model *m = random_model(&b, how & 4);
  int engine = (how >> 5) % 4;
  if (m->k > 2 && engine == 1) engine = 0; /* a grid takes a minute for three steep sources */
  blica_data *d = random_data(&b, m->n, m->u, 3);
  if (d && (how & 8))
    check_loglik(fuzz_ctx(), m, d, engines[engine]);
  else if (d)
    check_sources(fuzz_ctx(), m, d, (how >> 5) % 3, how & 16);
  blica_data_free(d);
  blica_model_free(m);
  return 0;
}
