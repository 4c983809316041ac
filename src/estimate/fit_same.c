/* fit_same.c - see fit_same.h. Ranks take the same decisions because they compute the same numbers from the same input;
 * this is where that is made sure of. */
#include "estimate/fit_same.h"

#include <string.h>

#include "base/digest.h"
#include "base/share.h"
#include "cor/cor.h"
#include "counts/counts.h"
#include "data/pack.h"
#include "ranks/facts.h"

static uint64_t digest_texts(uint64_t digest, char *const *texts, int count) {
  for (int i = 0; i < count; i++) digest = bl_digest(digest, texts[i], strlen(texts[i]));
  return digest;
}

static blica_status add_shape(bl_facts *f, const char *kind, int n, int u, char *const *variables,
                              char *const *segments) {
  blica_status status;
  TRY(bl_facts_add(f, "input:", "%s", kind));
  TRY(bl_facts_add(f, "variables", "%d", n));
  TRY(bl_facts_add(f, "segments", "%d", u));
  TRY(bl_facts_add(f, "names of variables and segments", "%s%016llx", BL_FACTS_DIGEST,
                   (unsigned long long)digest_texts(digest_texts(0, variables, n), segments, u)));
done:
  return status;
}

static blica_status add_digest(bl_facts *f, const char *name, uint64_t digest) {
  return bl_facts_add(f, name, "%s%016llx", BL_FACTS_DIGEST, (unsigned long long)digest);
}

static blica_status add_rows(bl_facts *f, const blica_data *d) {
  blica_status status;
  uint64_t digest = 0;
  TRY(add_shape(f, "rows", d->n, d->u, d->variables, d->segments));
  for (int s = 0; s < d->u; s++) digest = bl_digest_word(digest, bl_data_digest(d, s) ^ (uint64_t)d->samples[s]);
  TRY(add_digest(f, "rows of data", digest));
done:
  return status;
}

static blica_status add_counts(bl_facts *f, const blica_counts *c) {
  blica_status status;
  const size_t margins = (size_t)c->n * (size_t)c->u * sizeof(double),
               cells = (size_t)c->pairs * (size_t)c->u * sizeof(double);
  const double *tables[] = {c->n11, c->n10, c->n01, c->n00};
  TRY(add_shape(f, c->exact ? "exact counts" : "counts", c->n, c->u, c->variables, c->segments));
  uint64_t digest = bl_digest(0, c->samples, (size_t)c->u * sizeof(double));
  digest = bl_digest(bl_digest(digest, c->ones, margins), c->present, margins);
  for (int i = 0; i < (c->n10 ? 4 : 1); i++) digest = bl_digest(digest, tables[i], cells);
  TRY(add_digest(f, "counts", digest));
done:
  return status;
}

static blica_status add_cor(bl_facts *f, const blica_cor *c) {
  blica_status status;
  const size_t u = (size_t)c->u;
  TRY(add_shape(f, c->exact ? "exact correlations" : "correlations", c->n, c->u, c->variables, c->segments));
  uint64_t digest = bl_digest(0, c->samples, u * sizeof(double));
  digest = bl_digest(digest, c->thresholds, (size_t)c->n * u * sizeof(double));
  digest = bl_digest(digest, c->rho, (size_t)c->pairs * u * sizeof(double));
  TRY(add_digest(f, "correlations", digest));
done:
  return status;
}

static blica_status add_facts(bl_facts *f, const blica_input *input, const blica_fit_options *options) {
  blica_status status;
  static const char *const skip[] = {"max_seconds", "checkpoint", "checkpoint_seconds", NULL};
  int count;
  const blica_option *table = blica_fit_option_table(&count);
  TRY(bl_facts_options(f, table, count, options, skip));
  TRY(bl_facts_add(f, "checkpoint:", "%s", options->checkpoint ? "yes" : "no"));
  TRY(bl_facts_machine(f));
  if (input->data) TRY(add_rows(f, input->data));
  if (input->counts) TRY(add_counts(f, input->counts));
  if (input->cor) TRY(add_cor(f, input->cor));
done:
  return status;
}

blica_status bl_fit_same(blica_ctx *ctx, const blica_input *input, const blica_fit_options *options) {
  bl_facts facts = {.ctx = ctx};
  if (bl_comm(ctx)->size == 1) return BLICA_OK;
  blica_status status = bl_facts_same(ctx, &facts, add_facts(&facts, input, options));
  bl_facts_free(&facts);
  return status;
}
