/* model.json: bit-exact round trips, and a refusal that names the field for everything that can be wrong. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "assert_compare.h"
#include "blica.h"
#include "model/model.h"
#include "num/rng.h"

static blica_ctx *ctx;
static char folder[64], path[96];

static int setup(void **state) {
  (void)state;
  strcpy(folder, "/tmp/blica-model-XXXXXX");
  if (!mkdtemp(folder)) return 1;
  snprintf(path, sizeof path, "%s/model.json", folder);
  return blica_ctx_create(&ctx) != BLICA_OK;
}

static int teardown(void **state) {
  (void)state;
  blica_ctx_free(ctx);
  unlink(path);
  return rmdir(folder);
}

static void fill(bl_rng *rng, size_t count, double *x, bool positive) {
  for (size_t i = 0; i < count; i++) {
    double wide = exp(40 * bl_rng_normal(rng)) * bl_rng_uniform(rng);
    x[i] = positive || bl_rng_uniform(rng) < 0.5 ? wide : -wide;
  }
}

/* Everything that a model can hold, with values that are hard to write. */
static blica_model *full_model(int n, int k, int u) {
  blica_model *m;
  bl_rng rng = bl_rng_make(11, (uint64_t)n);
  assert_int_equal(blica_model_create(ctx, n, k, u, &m), BLICA_OK);
  fill(&rng, (size_t)(n * k), m->mixing, false);
  fill(&rng, (size_t)(k * u), m->variances, true);
  fill(&rng, (size_t)(k * u), m->means, false);
  fill(&rng, (size_t)n, m->cuts, false);
  fill(&rng, (size_t)(n * u), m->thresholds, false);
  fill(&rng, (size_t)u, m->samples, true);
  m->mixing[0] = 5e-324; /* the smallest number */
  m->mixing[1] = -0.0;
  m->means[0] = 1.7976931348623157e308;
  m->thresholds[0] = INFINITY;
  m->thresholds[1] = -INFINITY;
  m->thresholds[2] = NAN;
  m->link = 0.1;
  strcpy(m->method, "blica");
  assert_int_equal(
      bl_copy_text_for(ctx, m->variables, "q\"\\\n\t\x01 \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", &m->variables[0]),
      BLICA_OK);
  const char *labels[16] = {"do you \"smoke\"?", "\xc3\xa4"};
  for (int i = 2; i < n; i++) labels[i] = "";
  assert_int_equal(blica_model_set_labels(ctx, m, labels), BLICA_OK);
  m->fit = (blica_fit_report){.objective = -1.0 / 3,
                              .n_starts = 2,
                              .best_start = 1,
                              .iterations = 1234567890123,
                              .evaluations = 7,
                              .seconds = 0.1,
                              .seconds_count = 0.2,
                              .seconds_correlate = 0.3,
                              .seconds_regularise = 1e-300,
                              .seconds_optimise = 4,
                              .stop = BLICA_STOP_STALLED,
                              .seed = UINT64_MAX,
                              .condition = INFINITY,
                              .zero_cells = 5,
                              .constant_pairs = 6,
                              .empty_pairs = 8,
                              .constant_columns = 9,
                              .prior_mixing = 2.0 / 7,
                              .prior_variance = INFINITY,
                              .n_notes = 2,
                              .n_options = 2};
  assert_int_equal(bl_alloc(ctx, 2, &m->fit.starts), BLICA_OK);
  m->fit.starts[0] = (blica_start){"jointdiag", -2.0 / 3, 1e-9, 3, 4, 0.5, 0.25, BLICA_STOP_TIME};
  m->fit.starts[1] = (blica_start){"random", NAN, INFINITY, 5, 6, 0.7, 0.6, BLICA_STOP_INTERRUPTED};
  assert_int_equal(bl_alloc(ctx, 2, &m->fit.notes), BLICA_OK);
  m->fit.notes[0] = (blica_note){"loglik", 2.0 / 7};
  m->fit.notes[1] = (blica_note){"twenty-three characters", NAN};
  assert_int_equal(bl_alloc(ctx, 2, &m->fit.options), BLICA_OK);
  m->fit.options[0] = (blica_setting){"prior", "fixed"};
  m->fit.options[1] = (blica_setting){"tolerance", "1e-06"};
  assert_int_equal(bl_alloc(ctx, (size_t)u, &m->fit.shift), BLICA_OK);
  assert_int_equal(bl_alloc(ctx, (size_t)u, &m->fit.eigen_min), BLICA_OK);
  assert_int_equal(bl_alloc(ctx, (size_t)u, &m->fit.eigen_max), BLICA_OK);
  fill(&rng, (size_t)u, m->fit.shift, true);
  fill(&rng, (size_t)u, m->fit.eigen_min, false);
  fill(&rng, (size_t)u, m->fit.eigen_max, true);
  return m;
}

static void same(size_t count, const double *a, const double *b) {
  for (size_t i = 0; i < count; i++)
    if (!(isnan(a[i]) && isnan(b[i]))) assert_memory_equal(&a[i], &b[i], sizeof *a);
}

static void same_model(const blica_model *a, const blica_model *b) {
  size_t n = (size_t)a->n, k = (size_t)a->k, u = (size_t)a->u;
  assert_int_equal(a->n, b->n);
  assert_int_equal(a->k, b->k);
  assert_int_equal(a->u, b->u);
  same(n * k, a->mixing, b->mixing);
  same(k * u, a->variances, b->variances);
  same(k * u, a->means, b->means);
  same(n, a->cuts, b->cuts);
  same(n * u, a->thresholds, b->thresholds);
  same(u, a->samples, b->samples);
  same(1, &a->link, &b->link);
  assert_string_equal(a->method, b->method);
  for (size_t i = 0; i < n; i++) assert_string_equal(a->variables[i], b->variables[i]);
  for (size_t i = 0; i < n; i++) assert_string_equal(a->labels[i], b->labels[i]);
  for (size_t s = 0; s < u; s++) assert_string_equal(a->segments[s], b->segments[s]);
}

static void same_report(const blica_fit_report *a, const blica_fit_report *b, size_t u) {
  assert_int_equal(a->n_starts, b->n_starts);
  assert_int_equal(a->best_start, b->best_start);
  same(1, &a->objective, &b->objective);
  assert_true(b->seconds == 0 &&
              b->seconds_optimise == 0); /* times are not in the file: the same fit is the same file */
  same(1, &a->condition, &b->condition);
  assert_true(a->iterations == b->iterations && a->evaluations == b->evaluations && a->stop == b->stop);
  assert_true(a->seed == b->seed && a->zero_cells == b->zero_cells && a->constant_pairs == b->constant_pairs);
  assert_true(a->empty_pairs == b->empty_pairs && a->constant_columns == b->constant_columns);
  same(u, a->shift, b->shift);
  same(u, a->eigen_min, b->eigen_min);
  same(u, a->eigen_max, b->eigen_max);
  for (int i = 0; i < a->n_starts; i++) {
    const blica_start *x = &a->starts[i], *y = &b->starts[i];
    assert_string_equal(x->kind, y->kind);
    same(2, &x->objective, &y->objective);
    assert_true(y->seconds == 0 && y->seconds_near == 0);
    assert_true(x->iterations == y->iterations && x->evaluations == y->evaluations && x->stop == y->stop);
  }
  same(2, &a->prior_mixing, &b->prior_mixing);
  assert_int_equal(a->n_notes, b->n_notes);
  for (int i = 0; i < a->n_notes; i++) {
    assert_string_equal(a->notes[i].name, b->notes[i].name);
    same(1, &a->notes[i].value, &b->notes[i].value);
  }
  assert_int_equal(a->n_options, b->n_options);
  for (int i = 0; i < a->n_options; i++) {
    assert_string_equal(a->options[i].name, b->options[i].name);
    assert_string_equal(a->options[i].value, b->options[i].value);
  }
}

static void round_trip(void **state) {
  (void)state;
  blica_model *a = full_model(5, 3, 4), *b;
  assert_int_equal(blica_model_save(ctx, a, path), BLICA_OK);
  assert_int_equal(blica_model_load(ctx, path, &b), BLICA_OK);
  same_model(a, b);
  same_report(&a->fit, &b->fit, 4);
  blica_model_free(a);
  blica_model_free(b);
}

/* A simulated model has no fit; names from a Latin-1 file become UTF-8. */
static void plain_model(void **state) {
  (void)state;
  blica_model *a, *b;
  assert_int_equal(blica_model_create(ctx, 2, 1, 1, &a), BLICA_OK);
  assert_int_equal(bl_copy_text_for(ctx, a->variables, "M\xfcller", &a->variables[1]), BLICA_OK);
  assert_int_equal(blica_model_save(ctx, a, path), BLICA_OK);
  assert_int_equal(blica_model_load(ctx, path, &b), BLICA_OK);
  assert_int_equal(b->fit.n_starts, 0);
  assert_null(b->labels);
  assert_string_equal(b->variables[1], "M\xc3\xbcller");
  blica_model_free(a);
  blica_model_free(b);
}

/* The scales of a prior are unknown where the file does not say them. */
static void test_prior(void **state) {
  (void)state;
  static const struct {
    const char *fit;
    double mixing, variance;
    int notes; /* -1: the file is refused */
  } cases[] = {
      {"{\"notes\":{\"loglik\":-3}}", NAN, NAN, 1},
      {"{\"objective\":1}", NAN, NAN, 0},
      {"{\"prior_mixing\":3,\"prior_variance\":\"Infinity\",\"notes\":{}}", 3, INFINITY, 0},
      {"{\"prior_mixing\":0}", 0, 0, -1},
      {"{\"prior_mixing\":1,\"prior_variance\":-1}", 0, 0, -1},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    char text[512];
    blica_model *m;
    snprintf(text, sizeof text,
             "{\"mixing\":[[1],[2]],\"variances\":[[1],[4]],\"means\":[[0],[1]],\"variables\":[\"a\",\"b\"],"
             "\"segments\":[\"p\",\"q\"],\"fit\":%s}",
             cases[c].fit);
    const blica_status status = blica_model_parse(ctx, text, strlen(text), "a file", &m);
    assert_int_equal(status, cases[c].notes < 0 ? BLICA_ERR_FORMAT : BLICA_OK);
    if (status != BLICA_OK) continue;
    same(1, &m->fit.prior_mixing, &cases[c].mixing);
    same(1, &m->fit.prior_variance, &cases[c].variance);
    assert_int_equal(m->fit.n_notes, cases[c].notes);
    blica_model_free(m);
  }
}

/* What somebody writes by hand: all else has defaults. Cuts of version 1 are 0. */
static void a_minimal_model(void **state) {
  (void)state;
  blica_model *m;
  FILE *f = fopen(path, "wb");
  fputs("{\"mixing\":[[1],[2]],\"variances\":[[1],[4]],\"means\":[[0],[1]],\"variables\":[\"a\",\"b\"],"
        "\"segments\":[\"p\",\"q\"]}",
        f);
  fclose(f);
  assert_int_equal(blica_model_load(ctx, path, &m), BLICA_OK);
  assert_true(m->n == 2 && m->k == 1 && m->u == 2 && m->cuts[0] == 0 && m->cuts[1] == 0 && m->samples[1] == 1);
  assert_compare(fabs(m->link - acos(-1) / 8), <, 1e-16);
  double expected = sqrt(m->link) * 2 / sqrt(1 + m->link * 16); /* of b in q */
  assert_true(m->thresholds[0] == 0 && fabs(m->thresholds[3] - expected) < 1e-15);
  assert_string_equal(m->method, "given");
  assert_int_equal(m->fit.n_starts, 0);
  blica_model_free(m);
}

/* ---- corruption ---- */

static void expect_refusal(const json_t *root, const char *field) {
  blica_model *m = (blica_model *)1;
  assert_int_equal(json_dump_file(root, path, JSON_REAL_PRECISION(17)), 0);
  blica_status status = blica_model_load(ctx, path, &m);
  if (status != BLICA_ERR_FORMAT || !strstr(blica_message(ctx), field))
    fail_msg("field %s: status %s, message %s", field, blica_status_name(status), blica_message(ctx));
  assert_null(m);
}

static bool optional(const char *name) {
  static const char *const names[] = {"mixing", "variances", "means", "variables", "segments"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], name) == 0) return false;
  return true;
}

static bool free_form(const char *parent, const char *name) {
  return strcmp(parent, "notes") == 0 || strcmp(parent, "options") == 0 || strcmp(name, "inputs") == 0;
}

static void corrupt_array(const json_t *root, json_t *array, const char *name) {
  size_t last = json_array_size(array) - 1;
  json_t *keep = json_incref(json_array_get(array, last));
  json_array_set(array, last, json_true());
  expect_refusal(root, name);
  json_array_remove(array, last);
  bool counts = strcmp(name, "starts") != 0; /* one start fewer is a fit with one start fewer, if it is not the best */
  /* These two tell the sizes: when one is too short it is the next field that does not fit. */
  bool leads = (strcmp(name, "mixing") == 0 || strcmp(name, "variances") == 0) && json_is_array(keep);
  if (counts) expect_refusal(root, leads ? "elements, not" : name);
  json_array_append(array, keep);
  json_array_append(array, keep);
  if (counts) expect_refusal(root, leads ? "elements, not" : name);
  json_array_remove(array, last + 1);
  json_decref(keep);
}

/* Each member in turn: missing, of a wrong type, too short, too long; then what is inside it. */
static int corrupt_object(const json_t *root, json_t *object, const char *parent) {
  int tried = 0;
  const char *keys[64];
  int count = 0;
  const char *key;
  json_t *value;
  json_object_foreach(object, key, value) keys[count++] = strdup(key);
  for (int i = 0; i < count; i++) {
    const char *name = keys[i];
    json_t *keep = json_incref(json_object_get(object, name));
    if (!optional(name) && !free_form(parent, name)) {
      json_object_del(object, name);
      expect_refusal(root, name);
    }
    if (strcmp(name, "inputs") != 0) {
      json_object_set_new(object, name, json_true());
      expect_refusal(root, name);
    }
    json_object_set(object, name, keep);
    if (json_is_array(keep)) {
      corrupt_array(root, keep, name);
      if (json_is_array(json_array_get(keep, 0))) corrupt_array(root, json_array_get(keep, 0), name);
      if (json_is_object(json_array_get(keep, 0))) tried += corrupt_object(root, json_array_get(keep, 0), name);
    }
    if (json_is_object(keep)) tried += corrupt_object(root, keep, name);
    json_decref(keep);
    free((void *)name);
    tried++;
  }
  return tried;
}

static json_t *saved(const blica_model *m) {
  json_error_t error;
  assert_int_equal(blica_model_save(ctx, m, path), BLICA_OK);
  json_t *root = json_load_file(path, 0, &error);
  assert_non_null(root);
  return root;
}

static void every_field_corrupted(void **state) {
  (void)state;
  blica_model *m = full_model(4, 2, 3);
  m->mixing[0] = 1; /* jansson itself refuses numbers that underflow */
  json_t *root = saved(m);
  assert_compare(corrupt_object(root, root, ""), >, 40);
  json_decref(root);
  blica_model_free(m);
}

static void with_value(blica_model *m, const char *name, json_t *value, const char *field) {
  json_t *root = saved(m);
  json_object_set_new(root, name, value);
  expect_refusal(root, field);
  json_decref(root);
}

static void values_out_of_range(void **state) {
  (void)state;
  blica_model *m = full_model(3, 1, 3);
  m->mixing[0] = 1;
  with_value(m, "format", json_string("blica-counts"), "format");
  with_value(m, "version", json_integer(3), "version");
  with_value(m, "link", json_real(0), "link");
  with_value(m, "link", json_real(-1), "link");
  with_value(m, "link", json_string("Infinity"), "link");
  with_value(m, "samples", json_pack("[f,f,f]", 1.0, -1.0, 1.0), "samples[1]");
  with_value(m, "variances", json_pack("[[f],[f],[f]]", 1.0, 1.0, -1e-9), "variances[2][0]");
  with_value(m, "mixing", json_pack("[[f],[n],[f]]", 1.0, 1.0), "mixing[1][0]");
  with_value(m, "mixing", json_array(), "mixing");
  with_value(m, "mixing", json_pack("[[],[],[]]"), "mixing[0]");
  with_value(m, "mixing", json_pack("[[f,f]]", 1.0, 2.0), "more sources than variables");
  with_value(m, "method", json_string("a method of sixteen bytes"), "method");
  blica_model_free(m);
}

static void unknown_fields_are_ignored(void **state) {
  (void)state;
  blica_model *m = full_model(3, 2, 3), *again;
  m->mixing[0] = m->mixing[1] = 1; /* jansson reads -0 as 0 when it takes it for a whole number */
  json_t *root = saved(m);
  json_object_set_new(root, "later", json_pack("{s:[i]}", "a", 1));
  json_object_set_new(json_object_get(root, "fit"), "later", json_true());
  assert_int_equal(json_dump_file(root, path, JSON_REAL_PRECISION(17)), 0);
  assert_int_equal(blica_model_load(ctx, path, &again), BLICA_OK);
  same_model(m, again);
  json_decref(root);
  blica_model_free(m);
  blica_model_free(again);
}

static void write_bytes(const char *bytes, size_t count) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_true(fwrite(bytes, 1, count, f) == count);
  fclose(f);
}

static void cut_short_anywhere(void **state) {
  (void)state;
  blica_model *m = full_model(3, 2, 3), *out;
  char *text = malloc(1 << 16);
  assert_int_equal(blica_model_save(ctx, m, path), BLICA_OK);
  FILE *f = fopen(path, "rb");
  size_t length = fread(text, 1, 1 << 16, f);
  fclose(f);
  for (size_t cut = 0; cut + 2 < length; cut += 7) { /* the last two are a brace and a newline */
    write_bytes(text, cut);
    assert_int_equal(blica_model_load(ctx, path, &out), BLICA_ERR_FORMAT);
    assert_null(out);
  }
  free(text);
  blica_model_free(m);
}

static void hostile_nesting(void **state) {
  (void)state;
  blica_model *out;
  char *text = malloc(1 << 20);
  memset(text, '[', 1 << 20);
  write_bytes(text, 1 << 20);
  assert_int_equal(blica_model_load(ctx, path, &out), BLICA_ERR_FORMAT);
  assert_non_null(strstr(blica_message(ctx), "deeper than 32"));
  memset(text, ']', 64);
  memset(text, '[', 32); /* just allowed: then it is no object */
  write_bytes(text, 64);
  assert_int_equal(blica_model_load(ctx, path, &out), BLICA_ERR_FORMAT);
  assert_non_null(strstr(blica_message(ctx), "not an object"));
  write_bytes("\0\0\0\0", 4);
  assert_int_equal(blica_model_load(ctx, path, &out), BLICA_ERR_FORMAT);
  write_bytes("[1]", 3);
  assert_int_equal(blica_model_load(ctx, path, &out), BLICA_ERR_FORMAT);
  free(text);
}

static void *modest(void *old, size_t size, void *user) {
  (void)user;
  assert_true(size < (size_t)64 << 20);
  if (size) return realloc(old, size);
  free(old);
  return NULL;
}

/* 20 000 variables and as many segments would make 400 million thresholds, which such a file cannot hold. */
static void promises_take_no_memory(void **state) {
  (void)state;
  blica_model *out;
  blica_ctx *small;
  assert_int_equal(blica_ctx_create_with(modest, NULL, &small), BLICA_OK);
  FILE *f = fopen(path, "wb");
  fputs("{\"format\":\"blica-model\",\"version\":1,\"thresholds\":[[0]]", f);
  for (int part = 0; part < 3; part++) {
    fprintf(f, ",\"%s\":[", part == 0 ? "mixing" : part == 1 ? "variances" : "means");
    for (int i = 0; i < 20000; i++) fputs(i ? ",[1]" : "[1]", f);
    fputs("]", f);
  }
  fputs("}", f);
  fclose(f);
  assert_int_equal(blica_model_load(small, path, &out), BLICA_ERR_FORMAT);
  assert_non_null(strstr(blica_message(small), "thresholds has 1 elements"));
  blica_ctx_free(small);
}

static void files_that_cannot_be(void **state) {
  (void)state;
  blica_model *m, *out;
  char missing[128];
  snprintf(missing, sizeof missing, "%s/none/model.json", folder);
  assert_int_equal(blica_model_load(ctx, missing, &out), BLICA_ERR_IO);
  assert_non_null(strstr(blica_message(ctx), missing));
  assert_int_equal(blica_model_load(ctx, folder, &out), BLICA_ERR_IO);
  assert_int_equal(blica_model_create(ctx, 2, 1, 1, &m), BLICA_OK);
  assert_int_equal(blica_model_save(ctx, m, missing), BLICA_ERR_IO);
  assert_int_equal(blica_model_save(ctx, m, folder), BLICA_ERR_IO);
  assert_int_equal(blica_model_save(ctx, m, "/dev/full"), BLICA_ERR_IO);
  assert_int_equal(blica_model_create(ctx, 0, 1, 1, &out), BLICA_ERR_ARGUMENT);
  blica_model_free(m);
}

/* ---- every allocation failing once ---- */

typedef struct {
  int left; /* allocations until one fails */
  int live;
} budget;

static void *limited(void *old, size_t size, void *user) {
  budget *b = user;
  if (size == 0) {
    b->live -= old != NULL;
    free(old);
    return NULL;
  }
  if (b->left-- == 0) return NULL;
  b->live += old == NULL;
  return realloc(old, size);
}

static void every_allocation_fails_once(void **state) {
  (void)state;
  blica_model *m = full_model(3, 2, 3), *out;
  assert_int_equal(blica_model_save(ctx, m, path), BLICA_OK);
  int failures = 0;
  for (int at = 1;; at++) {
    budget b = {.left = at};
    blica_ctx *small;
    assert_int_equal(blica_ctx_create_with(limited, &b, &small), BLICA_OK);
    blica_status status = blica_model_load(small, path, &out);
    if (status == BLICA_OK) {
      blica_model_free(out);
    } else {
      assert_int_equal(status, BLICA_ERR_MEMORY);
      assert_null(out);
      failures++;
    }
    blica_ctx_free(small);
    assert_int_equal(b.live, 0);
    if (status == BLICA_OK) break;
  }
  assert_compare(failures, >, 20);
  blica_model_free(m);
}

/* ---- canonical form ---- */

static void canonical_form(void **state) {
  (void)state;
  enum { N = 4, K = 3, U = 5 };
  blica_model *m;
  bl_rng rng = bl_rng_make(3, 3);
  double before[N * N * U], mean_before[N * U];
  assert_int_equal(blica_model_create(ctx, N, K, U, &m), BLICA_OK);
  for (int i = 0; i < N * K; i++) m->mixing[i] = bl_rng_normal(&rng);
  for (int i = 0; i < K * U; i++) m->variances[i] = exp(3 * bl_rng_normal(&rng));
  for (int i = 0; i < K * U; i++) m->means[i] = bl_rng_normal(&rng);
  for (int pass = 0; pass < 3; pass++) {
    for (int s = 0; s < U; s++)
      for (int i = 0; i < N; i++) {
        double mean = 0;
        for (int l = 0; l < K; l++) mean += m->mixing[i + l * N] * m->means[l + s * K];
        if (pass == 0) mean_before[i + s * N] = mean;
        assert_compare(fabs(mean - mean_before[i + s * N]), <, 1e-13 * (1 + fabs(mean)));
        for (int j = 0; j < N; j++) { /* A V A' does not change */
          double sum = 0, size = 0;
          for (int l = 0; l < K; l++) {
            double term = m->mixing[i + l * N] * m->mixing[j + l * N] * m->variances[l + s * K];
            sum += term;
            size += fabs(term);
          }
          if (pass == 0) before[i + N * (j + N * s)] = sum;
          assert_compare(fabs(sum - before[i + N * (j + N * s)]), <, 1e-14 * size);
        }
      }
    double copy[N * K];
    memcpy(copy, m->mixing, sizeof copy);
    assert_int_equal(bl_model_canonical(ctx, m), BLICA_OK);
    if (pass) assert_memory_equal(copy, m->mixing, sizeof copy); /* the form of a canonical model is itself */
  }
  double last = INFINITY;
  for (int l = 0; l < K; l++) {
    double logs = 0, mean = 0, square = 0, largest = 0;
    for (int s = 0; s < U; s++) logs += log(m->variances[l + s * K]) / U;
    for (int s = 0; s < U; s++) mean += m->variances[l + s * K] / U;
    for (int i = 0; i < N; i++) square += m->mixing[i + l * N] * m->mixing[i + l * N];
    for (int i = 0; i < N; i++)
      if (fabs(m->mixing[i + l * N]) > fabs(largest)) largest = m->mixing[i + l * N];
    assert_compare(fabs(logs), <, 1e-14);
    assert_compare(largest, >, 0);
    assert_compare(square * mean, <=, last);
    last = square * mean;
  }
  blica_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(round_trip),
      cmocka_unit_test(plain_model),
      cmocka_unit_test(a_minimal_model),
      cmocka_unit_test(test_prior),
      cmocka_unit_test(every_field_corrupted),
      cmocka_unit_test(values_out_of_range),
      cmocka_unit_test(unknown_fields_are_ignored),
      cmocka_unit_test(cut_short_anywhere),
      cmocka_unit_test(hostile_nesting),
      cmocka_unit_test(files_that_cannot_be),
      cmocka_unit_test(promises_take_no_memory),
      cmocka_unit_test(every_allocation_fails_once),
      cmocka_unit_test(canonical_form),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
