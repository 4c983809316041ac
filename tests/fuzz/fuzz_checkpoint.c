/* fuzz_checkpoint.c - checkpoints. With an odd first byte the rest is a file. Else a fit is stopped after some
 * iterations, its checkpoint is changed as the rest of the input says and its checksum made right again, and the fit
 * resumes from it: it ends with a whole model or an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "files/checkpoint.h"
#include "fuzz.h"

enum { KINDS = 8, STOPS = 8 };

static void release(bl_checkpoint *c) {
  for (size_t i = 0; i < c->sections; i++) bl_free(c->section[i].bytes);
  bl_free(c->section);
}

/* The size in the head is made right when that is wanted: nearly all inputs would end there. */
static void parse(const uint8_t *data, size_t size, bool right) {
  enum { AT = 16 };
  bl_checkpoint c = {.path = NULL};
  uint64_t total = size;
  unsigned char *bytes = malloc(size + 1);
  CHECK(bytes);
  if (size) memcpy(bytes, data, size);
  if (right && size >= AT + sizeof total) memcpy(bytes + AT, &total, sizeof total);
  blica_status status = bl_checkpoint_parse(fuzz_ctx(), "in", bytes, size, &c);
  if (status != BLICA_OK) fuzz_check_failure(status, NULL);
  free(bytes);
  release(&c);
}

/* ---- checkpoints as fits leave them ---- */

static const blica_data *some_data(void) {
  static const int8_t x[] = {1, 0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0};
  static const int32_t segment[] = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
  static blica_data *d;
  if (!d)
    CHECK(blica_pack(fuzz_ctx(), &(blica_table){.rows = 10, .n = 3, .x = x, .segment = segment, .u = 2}, &d) ==
          BLICA_OK);
  return d;
}

static blica_fit_options options_of(int kind) {
  static const char *const methods[KINDS] = {"blica", "matched", "pairwise", "mle",
                                             "ivae",  "fastica", "fastica",  "blica"};
  blica_fit_options o = blica_fit_options_default();
  o.method = blica_method_find(methods[kind]);
  if (kind == 6) o.contrast = BLICA_CONTRAST_CUBE;
  if (kind == 7) o.prior = BLICA_PRIOR_AUTO;
  o.sources = 2;
  o.starts = 2;
  o.max_iterations = 4;
  o.checkpoint_seconds = 1e9;
  return o;
}

static int stop_after(const blica_progress *progress, void *user) {
  if (strcmp(progress->stage, "count") == 0 || strcmp(progress->stage, "correlate") == 0) return 0;
  return (*(int *)user)-- <= 0;
}

typedef struct {
  unsigned char *bytes;
  uint64_t size;
} file;

/* The checkpoint of a fit that was stopped; made once. */
static const file *left_by(int kind, int stop) {
  static file files[KINDS][STOPS];
  static const int polls[STOPS] = {0, 1, 2, 4, 8, 16, 32, -1}; /* -1: it comes to its end */
  int left = polls[stop];
  file *f = &files[kind][stop];
  bool found;
  if (f->bytes) return f;
  blica_fit_options o = options_of(kind);
  blica_model *m;
  o.checkpoint = fuzz_path("made");
  remove(o.checkpoint);
  if (left >= 0) blica_set_poll(fuzz_ctx(), stop_after, &left);
  (void)blica_fit(fuzz_ctx(), &(blica_input){.data = some_data()}, &o, &m);
  blica_set_poll(fuzz_ctx(), NULL, NULL);
  blica_model_free(m);
  CHECK(bl_checkpoint_bytes(fuzz_ctx(), o.checkpoint, &f->bytes, &f->size, &found) == BLICA_OK && found);
  return f;
}

/* ---- changing and resuming ---- */

/* Options and data are changed on demand only: other ones are refused at once. */
static bl_section *choose(bl_checkpoint *c, fuzz_bytes *b) {
  uint8_t which = fuzz_byte(b);
  size_t first = which < 248 && c->sections > 2 ? 2 : 0;
  return &c->section[first + which % (c->sections - first)];
}

static void change_section(bl_section *s, fuzz_bytes *b) {
  uint8_t how = fuzz_byte(b);
  size_t at = s->size ? (size_t)fuzz_int(b, 0, 65535) % s->size : 0;
  double value;
  if (how < 4)
    s->kept = (bl_stage_kept)how;
  else if (how < 8)
    s->size = at;
  else if (how < 12)
    snprintf(s->name, sizeof s->name, "start %d/round %d", fuzz_byte(b) & 1, fuzz_byte(b));
  else if (!s->size)
    return;
  else if (how < 128)
    s->bytes[at] = fuzz_byte(b);
  else if (how < 192)
    s->bytes[at] ^= fuzz_byte(b);
  else if (s->size >= sizeof value) { /* one number for another */
    value = fuzz_any(b);
    at = at / sizeof value * sizeof value;
    if (at + sizeof value <= s->size) memcpy(s->bytes + at, &value, sizeof value);
  }
}

static void change(const file *f, const char *path, fuzz_bytes *b) {
  bl_checkpoint c = {.path = NULL};
  CHECK(bl_checkpoint_parse(fuzz_ctx(), path, f->bytes, f->size, &c) == BLICA_OK);
  CHECK(c.sections > 0);
  while (b->left) change_section(choose(&c, b), b);
  bl_checkpoint_mark(&c, path); /* the file is replaced, not one that another process wrote */
  CHECK(bl_checkpoint_write(&c, path));
  release(&c);
}

static void check_model(const blica_model *m) {
  size_t n = (size_t)m->n, k = (size_t)m->k, u = (size_t)m->u;
  CHECK(fuzz_finite(m->mixing, n * k) && fuzz_finite(m->variances, k * u) && fuzz_finite(m->means, k * u));
  for (int i = 0; i < m->fit.n_starts; i++) CHECK(memchr(m->fit.starts[i].kind, 0, sizeof m->fit.starts[i].kind));
  blica_model *again;
  const char *path = fuzz_path("resumed.json");
  CHECK(blica_model_save(fuzz_ctx(), m, path) == BLICA_OK);
  CHECK(blica_model_load(fuzz_ctx(), path, &again) == BLICA_OK);
  blica_model_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_bytes b = {data, size};
  uint8_t how = fuzz_byte(&b);
  if (how & 1) {
    parse(b.at, b.left, how & 2);
    return 0;
  }
  int kind = (how >> 1) % KINDS, stop = (how >> 4) % STOPS;
  const file *f = left_by(kind, stop);
  blica_fit_options o = options_of(kind);
  blica_model *m;
  o.checkpoint = fuzz_path("fit");
  o.resume = 1;
  o.max_seconds = 5;
  change(f, o.checkpoint, &b);
  blica_status status = blica_fit(fuzz_ctx(), &(blica_input){.data = some_data()}, &o, &m);
  if (status == BLICA_OK)
    check_model(m);
  else
    fuzz_check_failure(status, m);
  blica_model_free(m);
  return 0;
}
