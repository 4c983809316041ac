/* rows_same.c - whether all ranks are about to compute the same of the same rows under the same model. */
#include <string.h>

#include "base/digest.h"
#include "data/pack.h"
#include "likelihood/likelihood.h"
#include "ranks/facts.h"

static uint64_t digest_model(const blica_model *m) {
  const size_t n = (size_t)m->n, k = (size_t)m->k, u = (size_t)m->u;
  uint64_t digest = bl_digest(0, m->mixing, n * k * sizeof(double));
  digest = bl_digest(digest, m->variances, u * k * sizeof(double));
  digest = bl_digest(digest, m->means, u * k * sizeof(double));
  digest = bl_digest(digest, m->cuts, (size_t)m->planes * sizeof(double));
  digest = bl_digest(digest, m->samples, u * sizeof(double));
  digest = bl_digest(digest, &m->link, sizeof m->link);
  for (int i = 0; i < m->n; i++) digest = bl_digest(digest, m->variables[i], strlen(m->variables[i]));
  for (int s = 0; s < m->u; s++) digest = bl_digest(digest, m->segments[s], strlen(m->segments[s]));
  return digest;
}

static uint64_t digest_data(const blica_data *d) {
  uint64_t digest = bl_digest(0, d->row_segment, (size_t)d->rows * sizeof *d->row_segment);
  for (int i = 0; i < d->n; i++) digest = bl_digest(digest, d->variables[i], strlen(d->variables[i]));
  for (int s = 0; s < d->u; s++) {
    digest = bl_digest(digest, d->segments[s], strlen(d->segments[s]));
    digest = bl_digest_word(digest, bl_data_digest(d, s) ^ (uint64_t)d->samples[s]);
  }
  return digest;
}

static blica_status add_facts(bl_facts *f, const blica_model *model, const blica_data *data, const blica_option *table,
                              int count, const void *options) {
  static const char *const skip[] = {NULL};
  MUST(bl_facts_options(f, table, count, options, skip));
  MUST(bl_facts_machine(f));
  MUST(bl_facts_add(f, "rows", "%lld", (long long)data->rows));
  MUST(bl_facts_add(f, "sources", "%d", model->k));
  MUST(bl_facts_add(f, "model", "%s%016llx", BL_FACTS_DIGEST, (unsigned long long)digest_model(model)));
  MUST(bl_facts_add(f, "rows of data", "%s%016llx", BL_FACTS_DIGEST, (unsigned long long)digest_data(data)));
  return BLICA_OK;
}

blica_status bl_likelihood_same(blica_ctx *ctx, const blica_model *model, const blica_data *data,
                                const blica_option *table, int count, const void *options) {
  bl_facts facts = {.ctx = ctx};
  if (bl_comm(ctx)->size == 1) return BLICA_OK;
  blica_status status = bl_facts_same(ctx, &facts, add_facts(&facts, model, data, table, count, options));
  bl_facts_free(&facts);
  return status;
}
