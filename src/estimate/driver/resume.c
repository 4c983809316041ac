/* resume.c - facts about a fit, kept in its checkpoint and compared on resume. See resume.h. */
#include "estimate/driver/resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/share.h"
#include "cor/cor.h"
#include "counts/counts.h"
#include "data/pack.h"
#include "ranks/same.h"

/* ---- facts in a checkpoint ---- */

static void pass_text(bl_state *state, blica_ctx *ctx, char **text) {
  uint64_t length = state->reading ? 0 : strlen(*text);
  BL_PASS(state, length);
  if (state->reading && state->status == BLICA_OK)
    state->status = length > state->size - state->at ? BLICA_ERR_FORMAT : bl_alloc(ctx, length + 1, text);
  if (state->status == BLICA_OK) bl_pass(state, *text, length);
}

static void pass_facts(bl_state *state, void *user) {
  bl_facts *f = user;
  uint64_t count = f->count;
  BL_PASS(state, count);
  if (state->reading && state->status == BLICA_OK) {
    if (count > state->size / (2 * sizeof count)) state->status = BLICA_ERR_FORMAT;
    if (state->status == BLICA_OK) state->status = bl_facts_reserve(f, count);
    if (state->status != BLICA_OK) return;
    memset(f->text, 0, 2 * count * sizeof *f->text);
    f->count = count;
  }
  for (size_t i = 0; i < 2 * f->count; i++) pass_text(state, f->ctx, &f->text[i]);
}

/* ---- comparing ---- */

static blica_status differ(blica_ctx *ctx, const char *path, char **then, char **now) {
  if (strcmp(then[0], now[0]) == 0 && now[1][0] == *BL_FACTS_DIGEST)
    return bl_fail(ctx, BLICA_ERR_DATA, "checkpoint '%s' was made with other data: the %s differ", path, now[0]);
  return bl_fail(
      ctx, BLICA_ERR_DATA,
      "checkpoint '%s' was made with %s %s, this fit has %s %s; resume with the same program, options and data, "
      "or name another checkpoint",
      path, then[0], then[1], now[0], now[1]);
}

/* Keeps the facts in a new checkpoint; in one that was read, compares. */
static blica_status settle(blica_ctx *ctx, bl_checkpoint *checkpoint, const char *name, bl_facts *now) {
  blica_status status = BLICA_OK;
  bl_facts then = {.ctx = ctx};
  char end[] = "nothing", more[] = "more", *none[] = {end, more};
  bl_stage root = {.checkpoint = checkpoint}, stage = bl_stage_below(&root, "%s", name);
  if (bl_stage_find(&stage) == BL_STAGE_NONE) {
    status = bl_stage_fact(ctx, &stage, pass_facts, now); /* a checkpoint without its facts would fit any fit */
    goto done;
  }
  TRY(bl_stage_load(ctx, &stage, pass_facts, &then));
  for (size_t i = 0; i < now->count || i < then.count; i++) {
    char **a = i < then.count ? then.text + 2 * i : none, **b = i < now->count ? now->text + 2 * i : none;
    if (strcmp(a[0], b[0]) == 0 && strcmp(a[1], b[1]) == 0) continue;
    status = differ(ctx, bl_checkpoint_path(checkpoint), a, b);
    goto done;
  }
done:
  bl_facts_free(&then);
  return status;
}

/* ---- program and options ---- */

blica_status bl_resume_begin(blica_ctx *ctx, const bl_resume_options *o, double deadline, bl_checkpoint **out) {
  blica_status status = BLICA_OK;
  bl_facts own = {.ctx = ctx};
  *out = NULL;
  if (!o->checkpoint) return BLICA_OK;
  if (!o->checkpoint[0]) return bl_fail(ctx, BLICA_ERR_ARGUMENT, "checkpoint is empty; give it the name of a file");
  TRY(bl_checkpoint_open(ctx, o->checkpoint, o->seconds, o->resume, deadline, out));
  TRY(bl_facts_options(&own, o->table, o->count, o->options));
  TRY(settle(ctx, *out, "options", &own));
done:
  bl_facts_free(&own);
  return status;
}

blica_status bl_resume_open(blica_ctx *ctx, const blica_fit_options *resolved, double deadline, bl_checkpoint **out) {
  bl_resume_options o = {.options = resolved,
                         .checkpoint = resolved->checkpoint,
                         .seconds = resolved->checkpoint_seconds,
                         .resume = resolved->resume != 0};
  o.table = blica_fit_option_table(&o.count);
  return bl_resume_begin(ctx, &o, deadline, out);
}

/* ---- data ---- */

typedef enum { ROWS, COUNTS, CORRELATIONS } what;

typedef struct {
  const bl_problem *problem;
  what kind;
  uint64_t *digest; /* [u] */
} digests;

blica_status bl_resume_rows(blica_ctx *ctx, bl_checkpoint *checkpoint, const blica_data *data) {
  blica_status status = BLICA_OK;
  bl_facts own = {.ctx = ctx};
  char name[64];
  if (!checkpoint) return BLICA_OK;
  TRY(bl_facts_add(&own, "variables", "%d", data->n));
  TRY(bl_facts_add(&own, "rows:", "%lld", (long long)data->rows));
  for (int i = 0; i < data->n; i++) {
    snprintf(name, sizeof name, "variable %d", i + 1);
    TRY(bl_facts_add(&own, name, "'%s'", data->variables[i]));
  }
  for (int s = 0; s < data->u; s++)
    TRY(bl_facts_add(&own, "rows", "%s%016llx", BL_FACTS_DIGEST, (unsigned long long)bl_data_digest(data, s)));
  TRY(settle(ctx, checkpoint, "data", &own));
done:
  bl_facts_free(&own);
  return status;
}

static void digest_segment(int64_t s, int thread, void *user) {
  digests *d = user;
  const bl_problem *p = d->problem;
  (void)thread;
  d->digest[s] = d->kind == ROWS     ? bl_data_digest(p->data, (int)s)
                 : d->kind == COUNTS ? bl_counts_digest(p->counts, (int)s)
                                     : bl_cor_digest(p->cor, (int)s);
}

static blica_status add_data(bl_facts *f, const digests *d) {
  blica_status status;
  const bl_problem *p = d->problem;
  const blica_counts *c = p->cor ? NULL : p->counts;
  if (!p->cor && !c) return BLICA_OK; /* nothing to compare: a problem has one of them */
  const int n = c ? c->n : p->cor->n, u = c ? c->u : p->cor->u;
  char *const *variables = c ? c->variables : p->cor->variables, *const *segments = c ? c->segments : p->cor->segments;
  const double *samples = c ? c->samples : p->cor->samples;
  static const char *const names[] = {"rows", "counts", "correlations"};
  char name[512], value[BL_NUMBER_TEXT];
  TRY(bl_facts_add(f, "variables", "%d", n));
  TRY(bl_facts_add(f, "segments", "%d", u));
  TRY(bl_facts_add(f, "exact counts:", "%s", (c ? c->exact : p->cor->exact) ? "yes" : "no"));
  for (int i = 0; i < n; i++) {
    snprintf(name, sizeof name, "variable %d", i + 1);
    TRY(bl_facts_add(f, name, "'%s'", variables[i]));
  }
  for (int s = 0; s < u; s++) {
    snprintf(name, sizeof name, "segment %d", s + 1);
    TRY(bl_facts_add(f, name, "'%s'", segments[s]));
    snprintf(name, sizeof name, "samples of segment '%s':", segments[s]);
    bl_number_text(samples[s], value);
    TRY(bl_facts_add(f, name, "%s", value));
    snprintf(name, sizeof name, "%s of segment '%s'", names[d->kind], segments[s]);
    TRY(bl_facts_add(f, name, "%s%016llx", BL_FACTS_DIGEST, (unsigned long long)d->digest[s]));
  }
done:
  return status;
}

blica_status bl_resume_data(blica_ctx *ctx, bl_checkpoint *checkpoint, const bl_problem *problem,
                            const bl_estimator *method) {
  blica_status status;
  bl_facts own = {.ctx = ctx};
  bl_share share = {0}; /* of the segments as correlations are owned */
  digests d = {.problem = problem,
               .kind = method->method->needs_rows ? ROWS
                       : method->wants_counts     ? COUNTS
                                                  : CORRELATIONS};
  if (!checkpoint) return BLICA_OK;
  int u = problem->cor ? problem->cor->u : problem->counts->u;
  TRY(bl_alloc(ctx, (size_t)u, &d.digest));
  TRY(bl_share_make(ctx, u, &share));
  bl_share_run(ctx, &share, digest_segment, &d);
  TRY(bl_share_bytes(ctx, &share, d.digest, sizeof *d.digest));
  TRY(add_data(&own, &d));
  TRY(settle(ctx, checkpoint, "data", &own));
done:
  bl_share_free(&share);
  bl_free(d.digest);
  bl_facts_free(&own);
  return status;
}
