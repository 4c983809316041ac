/* same.c - facts about a computation, and whether those of all ranks are the same. See same.h. */
#include "ranks/same.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/option.h"
#include "base/share.h"
#include "data/pack.h"
#include "num/arithmetic.h"

/* ---- facts ---- */

void bl_facts_free(bl_facts *f) {
  for (size_t i = 0; f->text && i < 2 * f->count; i++) bl_free(f->text[i]);
  bl_free(f->text);
  *f = (bl_facts){.ctx = f->ctx};
}

blica_status bl_facts_reserve(bl_facts *f, size_t capacity) {
  blica_status status = bl_resize(f->ctx, 2 * f->count, 2 * capacity, &f->text);
  if (status == BLICA_OK) f->capacity = capacity;
  return status;
}

blica_status bl_facts_add(bl_facts *f, const char *name, const char *format, ...) {
  blica_status status = BLICA_OK;
  char value[512];
  va_list args;
  va_start(args, format);
  vsnprintf(value, sizeof value, format, args);
  va_end(args);
  if (f->count == f->capacity) TRY(bl_facts_reserve(f, 2 * f->capacity + 32));
  char **pair = f->text + 2 * f->count;
  pair[0] = pair[1] = NULL;
  f->count++;
  TRY(bl_copy_text(f->ctx, name, &pair[0]));
  TRY(bl_copy_text(f->ctx, value, &pair[1]));
done:
  return status;
}

/* ---- options ---- */

blica_status bl_facts_options(bl_facts *f, const blica_option *table, int count, const void *options) {
  blica_status status;
  TRY(bl_facts_add(f, "blica", "%s", blica_version()));
  for (int i = 0; i < count; i++) {
    char value[64];
    if (!bl_option_decides(table[i].name)) continue;
    bl_option_spell(&table[i], options, value, sizeof value);
    TRY(bl_facts_add(f, table[i].name, "%s", value));
  }
done:
  return status;
}

/* ---- the machine ---- */

/* The instruction set, the kernels of BLAS, and a digest of what they compute. */
static blica_status add_machine(bl_facts *f) {
  static const char *const level[] = {"auto", "scalar", "AVX2", "AVX-512"};
  blica_status status;
  TRY(bl_facts_add(f, "SIMD level", "%s", level[blica_simd_level(f->ctx)]));
  TRY(bl_facts_add(f, "BLAS kernels", "%s", bl_blas_name()));
  TRY(bl_facts_add(f, "results of BLAS and the mathematical library", "%s%016llx", BL_FACTS_DIGEST,
                   (unsigned long long)bl_arithmetic_digest()));
done:
  return status;
}

/* ---- ranks ---- */

static blica_status differ(blica_ctx *ctx, const char *name, const char *here, const char *there) {
  static const char advice[] = "all processes must have the same program, kind of processor, options and data";
  const int rank = bl_comm(ctx)->rank, size = bl_comm(ctx)->size;
  if (here && there && *here == *BL_FACTS_DIGEST)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "process %d of %d differs from the first in its %s; %s", rank, size, name,
                   advice);
  return bl_fail(ctx, BLICA_ERR_ARGUMENT, "process %d of %d has %s %s, the first has %s; %s", rank, size, name,
                 here ? here : "(none)", there ? there : "(none)", advice);
}

static blica_status compare(blica_ctx *ctx, const bl_facts *own, int count, const char *const *first) {
  for (int i = 0; i < count; i += 2) {
    const bool here = i < 2 * (int)own->count && strcmp(own->text[i], first[i]) == 0;
    if (!here || strcmp(own->text[i + 1], first[i + 1]) != 0)
      return differ(ctx, first[i], here ? own->text[i + 1] : NULL, first[i + 1]);
  }
  if (2 * (int)own->count > count) return differ(ctx, own->text[count], own->text[count + 1], NULL);
  return BLICA_OK;
}

/* ---- digests ---- */

uint64_t bl_counts_digest(const blica_counts *c, int s) {
  const size_t n = (size_t)c->n, pairs = (size_t)c->pairs, at = pairs * (size_t)s;
  const double *cells[] = {c->n11, c->n10, c->n01, c->n00};
  uint64_t digest = bl_digest(0, c->ones + n * (size_t)s, n * sizeof(double));
  digest = bl_digest(digest, c->present + n * (size_t)s, n * sizeof(double));
  for (int i = 0; i < (c->n10 ? 4 : 1); i++) digest = bl_digest(digest, cells[i] + at, pairs * sizeof(double));
  return digest;
}

uint64_t bl_cor_digest(const blica_cor *c, int s) {
  const size_t planes = (size_t)c->planes, pairs = (size_t)c->pairs;
  const uint64_t digest = bl_digest(0, c->thresholds + planes * (size_t)s, planes * sizeof(double));
  return bl_digest(digest, c->rho + pairs * (size_t)s, pairs * sizeof(double));
}

static uint64_t digest_texts(uint64_t digest, char *const *texts, int count) {
  for (int i = 0; i < count; i++) digest = bl_digest(digest, texts[i], strlen(texts[i]));
  return digest;
}

static uint64_t digest_model(const blica_model *m) {
  const size_t n = (size_t)m->n, k = (size_t)m->k, u = (size_t)m->u;
  uint64_t digest = bl_digest(0, m->mixing, n * k * sizeof(double));
  digest = bl_digest(digest, m->variances, u * k * sizeof(double));
  digest = bl_digest(digest, m->means, u * k * sizeof(double));
  digest = bl_digest(digest, m->cuts, (size_t)m->planes * sizeof(double));
  digest = bl_digest(digest, m->samples, u * sizeof(double));
  digest = bl_digest(digest, &m->link, sizeof m->link);
  return digest_texts(digest_texts(digest, m->variables, m->n), m->segments, m->u);
}

/* ---- what is compared ---- */

static blica_status add_digest(bl_facts *f, const char *name, uint64_t digest) {
  return bl_facts_add(f, name, "%s%016llx", BL_FACTS_DIGEST, (unsigned long long)digest);
}

static blica_status add_shape(bl_facts *f, const char *kind, int n, int u, char *const *variables,
                              char *const *segments) {
  MUST(bl_facts_add(f, "input:", "%s", kind));
  MUST(bl_facts_add(f, "variables", "%d", n));
  MUST(bl_facts_add(f, "segments", "%d", u));
  return add_digest(f, "names of variables and segments", digest_texts(digest_texts(0, variables, n), segments, u));
}

static blica_status add_rows(bl_facts *f, const blica_data *d) {
  uint64_t digest = bl_digest(0, d->row_segment, (size_t)d->rows * sizeof *d->row_segment);
  for (int s = 0; s < d->u; s++) digest = bl_digest_word(digest, bl_data_digest(d, s) ^ (uint64_t)d->samples[s]);
  MUST(add_shape(f, "rows", d->n, d->u, d->variables, d->segments));
  return add_digest(f, "rows of data", digest);
}

static blica_status add_counts(bl_facts *f, const blica_counts *c) {
  uint64_t digest = bl_digest(0, c->samples, (size_t)c->u * sizeof(double));
  for (int s = 0; s < c->u; s++) digest = bl_digest_word(digest, bl_counts_digest(c, s));
  MUST(add_shape(f, c->exact ? "exact counts" : "counts", c->n, c->u, c->variables, c->segments));
  return add_digest(f, "counts", digest);
}

static blica_status add_cor(bl_facts *f, const blica_cor *c) {
  uint64_t digest = bl_digest(0, c->samples, (size_t)c->u * sizeof(double));
  for (int s = 0; s < c->u; s++) digest = bl_digest_word(digest, bl_cor_digest(c, s));
  MUST(add_shape(f, c->exact ? "exact correlations" : "correlations", c->n, c->u, c->variables, c->segments));
  return add_digest(f, "correlations", digest);
}

/* Whether a state is kept and read: nothing that decides the result, but all ranks must do it together. */
static blica_status add_checkpoint(bl_facts *f, const blica_option *table, int count, const void *options) {
  for (int i = 0; i < count; i++) {
    const void *value = (const char *)options + table[i].offset;
    if (strcmp(table[i].name, "checkpoint") == 0)
      MUST(bl_facts_add(f, "checkpoint:", "%s", *(const char *const *)value ? "yes" : "no"));
    if (strcmp(table[i].name, "resume") == 0) MUST(bl_facts_add(f, "resume", "%s", *(const int *)value ? "yes" : "no"));
  }
  return BLICA_OK;
}

static blica_status add_facts(bl_facts *f, const blica_input *input, const blica_model *model,
                              const blica_option *table, int count, const void *options) {
  MUST(bl_facts_options(f, table, count, options));
  MUST(add_checkpoint(f, table, count, options));
  MUST(add_machine(f));
  if (model) MUST(bl_facts_add(f, "sources", "%d", model->k));
  if (model) MUST(add_digest(f, "model", digest_model(model)));
  if (input->data) MUST(add_rows(f, input->data));
  if (input->counts) MUST(add_counts(f, input->counts));
  if (input->cor) MUST(add_cor(f, input->cor));
  return BLICA_OK;
}

blica_status bl_same(blica_ctx *ctx, const blica_input *input, const blica_model *model, const blica_option *table,
                     int count, const void *options) {
  blica_status status;
  bl_facts own = {.ctx = ctx};
  BL_OWNED const char **first = NULL;
  if (bl_comm(ctx)->size == 1) return BLICA_OK;
  TRY(bl_agree(ctx, add_facts(&own, input, model, table, count, options)));
  int texts = 2 * (int)own.count; /* here; then on the first rank */
  TRY(bl_broadcast_texts(ctx, own.text, &texts, 0, &first));
  TRY(bl_agree(ctx, compare(ctx, &own, texts, first)));
done:
  bl_facts_free(&own);
  return status;
}
