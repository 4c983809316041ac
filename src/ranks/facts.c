/* facts.c - facts about a computation, compared between ranks and with those of a checkpoint. See facts.h. */
#include "ranks/facts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/number.h"
#include "base/option.h"
#include "base/split.h"
#include "cor/cor.h"
#include "counts/counts.h"
#include "data/pack.h"

/* ---- a list of facts ---- */

typedef struct {
  blica_ctx *ctx;
  uint64_t size, capacity;
  char *text; /* name and value by turns, each with its final 0 */
} facts;

#define DIGEST "#" /* first letter of values that mean nothing to a reader */

/* Appends a text with its terminating zero. */
static blica_status append_text(facts *f, const char *text) {
  const size_t length = strlen(text) + 1;
  if (f->size + length > f->capacity) {
    const size_t capacity = 2 * f->capacity + length;
    MUST(bl_resize(f->ctx, f->capacity, capacity, &f->text));
    f->capacity = capacity;
  }
  memcpy(f->text + f->size, text, length);
  f->size += length;
  return BLICA_OK;
}

/* Values of more than 511 bytes are truncated. */
__attribute__((format(printf, 3, 4))) static blica_status add(facts *f, const char *name, const char *format, ...) {
  char value[512];
  va_list args;
  va_start(args, format);
  vsnprintf(value, sizeof value, format, args);
  va_end(args);
  MUST(append_text(f, name));
  return append_text(f, value);
}

static blica_status add_digest(facts *f, const char *name, uint64_t digest) {
  return add(f, name, DIGEST "%016llx", (unsigned long long)digest);
}

typedef struct {
  const char *name, *value; /* "nothing" and "more" where the list has ended */
} fact;

static fact take_fact(const facts *f, uint64_t *at) {
  fact out = {"nothing", "more"};
  if (*at >= f->size) return out;
  out.name = f->text + *at;
  out.value = out.name + strlen(out.name) + 1;
  if (out.value >= f->text + f->size) out.value = "";
  *at = (uint64_t)(out.value - f->text) + strlen(out.value) + 1;
  return out;
}

/* The first facts in which two lists differ; false: they are the same. */
static bool differ(const facts *a, const facts *b, fact *in_a, fact *in_b) {
  for (uint64_t x = 0, y = 0; x < a->size || y < b->size;) {
    *in_a = take_fact(a, &x), *in_b = take_fact(b, &y);
    if (strcmp(in_a->name, in_b->name) != 0 || strcmp(in_a->value, in_b->value) != 0) return true;
  }
  return false;
}

/* ---- program, options, machine, model ---- */

static blica_status add_options(facts *f, const blica_option *table, int count, const void *options) {
  MUST(add(f, "blica", "%s", blica_version()));
  for (int i = 0; i < count; i++) {
    char value[64];
    if (!bl_option_decides(table[i].name)) continue;
    bl_option_spell(&table[i], options, value, sizeof value);
    MUST(add(f, table[i].name, "%s", value));
  }
  return BLICA_OK;
}

/* The field of an option; NULL where the table does not have it. */
static const void *field(const blica_option *table, int count, const void *options, const char *name) {
  for (int i = 0; i < count; i++)
    if (strcmp(table[i].name, name) == 0) return (const char *)options + table[i].offset;
  return NULL;
}

/* Whether a state is kept and read: nothing that decides the result, but all ranks must do it together. */
static blica_status add_checkpoint(facts *f, const blica_option *table, int count, const void *options) {
  const char *const *path = field(table, count, options, "checkpoint");
  const int *resume = field(table, count, options, "resume");
  if (path) MUST(add(f, "checkpoint:", "%s", *path ? "yes" : "no"));
  return resume ? add(f, "resume", "%s", *resume ? "yes" : "no") : BLICA_OK;
}

/* The instruction set and the kernels of BLAS: those that differ round differently. */
static blica_status add_machine(facts *f) {
  static const char *const level[] = {"auto", "scalar", "AVX2", "AVX-512"};
  MUST(add(f, "SIMD level", "%s", level[blica_simd_level(f->ctx)]));
  return add(f, "BLAS kernels", "%s", bl_blas_name());
}

static uint64_t digest_texts(uint64_t digest, char *const *texts, int count) {
  for (int i = 0; i < count; i++) digest = bl_digest(digest, texts[i], strlen(texts[i]));
  return digest;
}

static blica_status add_model(facts *f, const blica_model *m) {
  const size_t n = (size_t)m->n, k = (size_t)m->k, u = (size_t)m->u;
  uint64_t digest = bl_digest(0, m->mixing, n * k * sizeof(double));
  digest = bl_digest(digest, m->variances, u * k * sizeof(double));
  digest = bl_digest(digest, m->means, u * k * sizeof(double));
  digest = bl_digest(digest, m->cuts, (size_t)m->planes * sizeof(double));
  if (m->own_mixing) digest = bl_digest(digest, m->own_mixing, n * k * u * sizeof(double));
  if (m->own_cuts) digest = bl_digest(digest, m->own_cuts, (size_t)m->planes * u * sizeof(double));
  digest = bl_digest(digest, m->samples, u * sizeof(double));
  digest = bl_digest(digest, &m->link, sizeof m->link);
  MUST(add(f, "sources", "%d", m->k));
  return add_digest(f, "model", digest_texts(digest_texts(digest, m->variables, m->n), m->segments, m->u));
}

/* ---- input ---- */

static uint64_t digest_counts(const blica_counts *c, int s) {
  const size_t n = (size_t)c->n, pairs = (size_t)c->pairs, at = pairs * (size_t)s;
  const double *cells[] = {c->n11, c->n10, c->n01, c->n00};
  uint64_t digest = bl_digest(0, c->ones + n * (size_t)s, n * sizeof(double));
  digest = bl_digest(digest, c->present + n * (size_t)s, n * sizeof(double));
  for (int i = 0; i < (c->n10 ? 4 : 1); i++) digest = bl_digest(digest, cells[i] + at, pairs * sizeof(double));
  return digest;
}

static uint64_t digest_cor(const blica_cor *c, int s) {
  const size_t planes = (size_t)c->planes, pairs = (size_t)c->pairs;
  const uint64_t digest = bl_digest(0, c->thresholds + planes * (size_t)s, planes * sizeof(double));
  return bl_digest(digest, c->rho + pairs * (size_t)s, pairs * sizeof(double));
}

static blica_status add_shape(facts *f, int n, int u, char *const *variables, char *const *segments) {
  char name[64];
  MUST(add(f, "variables", "%d", n));
  MUST(add(f, "segments", "%d", u));
  for (int i = 0; i < n + u; i++) {
    snprintf(name, sizeof name, i < n ? "variable %d" : "segment %d", i < n ? i + 1 : i - n + 1);
    MUST(add(f, name, "'%s'", i < n ? variables[i] : segments[i - n]));
  }
  return BLICA_OK;
}

static blica_status add_segment(facts *f, const char *kind, const char *segment, double samples, uint64_t digest) {
  char name[512], value[BL_NUMBER_TEXT];
  snprintf(name, sizeof name, "samples of segment '%s':", segment);
  bl_number_text(samples, value);
  MUST(add(f, name, "%s", value));
  snprintf(name, sizeof name, "%s of segment '%s'", kind, segment);
  return add_digest(f, name, digest);
}

static blica_status add_input(facts *f, const blica_input *input) {
  const blica_data *d = input->data;
  const blica_counts *c = input->counts;
  const blica_cor *r = input->cor;
  if (d) MUST(add_shape(f, d->n, d->u, d->variables, d->segments));
  for (int s = 0; d && s < d->u; s++)
    MUST(add_segment(f, "rows", d->segments[s], (double)d->samples[s], bl_data_digest(d, s)));
  if (c) MUST(add_shape(f, c->n, c->u, c->variables, c->segments));
  if (c) MUST(add(f, "exact counts:", "%s", c->exact ? "yes" : "no"));
  for (int s = 0; c && s < c->u; s++)
    MUST(add_segment(f, "counts", c->segments[s], c->samples[s], digest_counts(c, s)));
  if (r) MUST(add_shape(f, r->n, r->u, r->variables, r->segments));
  if (r) MUST(add(f, "exact counts:", "%s", r->exact ? "yes" : "no"));
  for (int s = 0; r && s < r->u; s++)
    MUST(add_segment(f, "correlations", r->segments[s], r->samples[s], digest_cor(r, s)));
  return BLICA_OK;
}

/* The order in which rows of all segments came. */
static blica_status add_order(facts *f, const blica_data *d) {
  return add_digest(f, "order of rows", bl_digest(0, d->row_segment, (size_t)d->rows * sizeof *d->row_segment));
}

/* ---- ranks ---- */

static blica_status refuse_rank(blica_ctx *ctx, fact here, fact first) {
  static const char advice[] = "all processes must have the same program, kind of processor, options and data";
  const int rank = bl_comm(ctx)->rank, size = bl_comm(ctx)->size;
  const bool alike = strcmp(here.name, first.name) == 0;
  if (alike && *here.value == *DIGEST)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "process %d of %d differs from the first in its %s; %s", rank, size,
                   here.name, advice);
  return bl_fail(ctx, BLICA_ERR_ARGUMENT, "process %d of %d has %s %s, the first has %s%s%s; %s", rank, size, here.name,
                 here.value, alike ? "" : first.name, alike ? "" : " ", first.value, advice);
}

static blica_status add_all(facts *f, const blica_input *input, const blica_model *model, const blica_option *table,
                            int count, const void *options) {
  MUST(add_options(f, table, count, options));
  MUST(add_checkpoint(f, table, count, options));
  MUST(add_machine(f));
  if (model) MUST(add_model(f, model));
  MUST(add_input(f, input));
  return input->data ? add_order(f, input->data) : BLICA_OK;
}

blica_status bl_same(blica_ctx *ctx, const blica_input *input, const blica_model *model, const blica_option *table,
                     int count, const void *options) {
  blica_status status;
  facts own = {.ctx = ctx}, first = {.ctx = ctx};
  fact here, there;
  if (bl_comm(ctx)->size == 1) return BLICA_OK;
  TRY(bl_agree(ctx, add_all(&own, input, model, table, count, options)));
  first.size = own.size;
  TRY(bl_broadcast(ctx, &first.size, sizeof first.size, 0));
  TRY(bl_agree(ctx, bl_alloc(ctx, first.size, &first.text)));
  if (bl_comm(ctx)->rank == 0) memcpy(first.text, own.text, own.size);
  TRY(bl_broadcast(ctx, first.text, first.size, 0));
  TRY(bl_agree(ctx, differ(&own, &first, &here, &there) ? refuse_rank(ctx, here, there) : BLICA_OK));
done:
  bl_free(own.text);
  bl_free(first.text);
  return status;
}

/* ---- checkpoints ---- */

static void pass_facts(bl_serializer *io, void *user) {
  facts *f = user;
  BL_PASS(io, f->size);
  if (io->reading && io->status == BLICA_OK) {
    const bool fits = f->size > 0 && f->size <= io->size - io->at;
    io->status = fits ? bl_alloc(f->ctx, f->size, &f->text) : BLICA_ERR_FORMAT;
  }
  if (io->status != BLICA_OK) return;
  bl_pass(io, f->text, f->size);
  if (f->text[f->size - 1]) io->status = BLICA_ERR_FORMAT;
}

static blica_status refuse_checkpoint(blica_ctx *ctx, const char *path, fact then, fact now) {
  if (strcmp(then.name, now.name) == 0 && *now.value == *DIGEST)
    return bl_fail(ctx, BLICA_ERR_DATA, "checkpoint '%s' was made with other data: the %s differ", path, now.name);
  return bl_fail(
      ctx, BLICA_ERR_DATA,
      "checkpoint '%s' was made with %s %s, this fit has %s %s; resume with the same program, options and data, "
      "or name another checkpoint",
      path, then.name, then.value, now.name, now.value);
}

/* Keeps the facts in a new checkpoint; compares them with those of one that was read. */
static blica_status keep_or_compare(blica_ctx *ctx, bl_checkpoint *checkpoint, const char *name, facts *now) {
  blica_status status;
  facts then = {.ctx = ctx};
  fact a, b;
  bl_stage root = {.checkpoint = checkpoint}, stage = bl_stage_below(&root, "%s", name);
  if (bl_stage_find(&stage) == BL_STAGE_NONE)
    return bl_stage_fact(ctx, &stage, pass_facts, now); /* a checkpoint without its facts would fit any fit */
  TRY(bl_stage_load(ctx, &stage, pass_facts, &then));
  if (differ(&then, now, &a, &b)) status = refuse_checkpoint(ctx, bl_checkpoint_path(checkpoint), a, b);
done:
  bl_free(then.text);
  return status;
}

blica_status bl_resume_open(blica_ctx *ctx, const blica_option *table, int count, const void *options, double deadline,
                            bl_checkpoint **out) {
  blica_status status;
  facts own = {.ctx = ctx};
  const char *path = *(const char *const *)field(table, count, options, "checkpoint");
  const double seconds = *(const double *)field(table, count, options, "checkpoint_seconds");
  const bool resume = *(const int *)field(table, count, options, "resume") != 0;
  *out = NULL;
  if (!path) return BLICA_OK;
  if (!path[0]) return bl_fail(ctx, BLICA_ERR_ARGUMENT, "checkpoint is empty; give it the name of a file");
  TRY(bl_checkpoint_open(ctx, path, seconds, resume, deadline, out));
  TRY(add_options(&own, table, count, options));
  TRY(keep_or_compare(ctx, *out, "options", &own));
done:
  bl_free(own.text);
  return status;
}

blica_status bl_resume_input(blica_ctx *ctx, bl_checkpoint *checkpoint, const blica_input *input) {
  blica_status status = BLICA_OK;
  facts own = {.ctx = ctx};
  if (!checkpoint) return BLICA_OK;
  TRY(add_input(&own, input));
  TRY(keep_or_compare(ctx, checkpoint, "data", &own));
done:
  bl_free(own.text);
  return status;
}
