/* Items that are estimated apart in some segments: from exact counts rows of A and cuts come out as they went in, what
 * is common is untouched by them, and every verb takes a segment's own. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "estimate/estimate.h"
#include "model/model.h"

enum { N = 9, K = 2, U = 8, ROW_ITEM = 2, ROW_SEGMENT = 3, CUT_ITEM = 4, CUT_SEGMENT = 5 };

/* A model whose x3 has a reversed row and another cut in segment 4, and x5 another cut in segment 6. */
static blica_model *truth(int levels, int64_t samples) {
  blica_simulate_options o = blica_simulate_options_default();
  blica_model *m;
  uint8_t freed[N * U] = {0};
  o.variables = N, o.sources = K, o.segments = U, o.samples = samples, o.seed = 4, o.levels = levels;
  o.intercepts = 0.5, o.mixing_range = 1.5;
  assert_int_equal(blica_simulate(ctx, &o, &m, NULL, NULL), BLICA_OK);
  freed[ROW_ITEM + N * ROW_SEGMENT] = BLICA_FREED_ROW, freed[CUT_ITEM + N * CUT_SEGMENT] = BLICA_FREED_CUTS;
  assert_int_equal(bl_model_free_items(ctx, m, freed), BLICA_OK);
  assert_int_equal(bl_model_own(ctx, m), BLICA_OK);
  for (int l = 0; l < K; l++) m->own_mixing[ROW_ITEM + N * (l + K * ROW_SEGMENT)] *= l ? -1 : 0.5;
  for (int p = bl_plane(m->coding, ROW_ITEM); p < bl_plane(m->coding, ROW_ITEM + 1); p++)
    m->own_cuts[p + m->planes * ROW_SEGMENT] += 0.8;
  const int first = bl_plane(m->coding, CUT_ITEM);
  for (int p = first; p < bl_plane(m->coding, CUT_ITEM + 1); p++) /* no change of location and scale alone */
    m->own_cuts[p + m->planes * CUT_SEGMENT] += 0.5 * (p - first) * (p - first) - 0.7;
  return m;
}

static blica_model *fit(const blica_input *input, const char *free, blica_status expected) {
  blica_fit_options o = blica_fit_options_default();
  blica_model *m;
  o.sources = K, o.method = BLICA_METHOD_MATCHED, o.prior = BLICA_PRIOR_NONE, o.free = free;
  assert_int_equal(blica_fit(ctx, input, &o, &m), expected);
  return m;
}

static double furthest(size_t count, const double *a, const double *b) {
  double most = 0;
  for (size_t i = 0; i < count; i++) most = fmax(most, fabs(a[i] - b[i]));
  return most;
}

static void exact(int levels, double tolerance) {
  blica_model *t = truth(levels, 1000), *m, *common;
  blica_counts *counts;
  int matching[K];
  double cosine[K], mcs;
  assert_int_equal(blica_simulate_exact(ctx, t, &counts), BLICA_OK);
  const blica_input input = {.counts = counts};
  common = fit(&input, NULL, BLICA_OK);
  assert_int_equal(blica_compare(ctx, N, K, common->mixing, t->mixing, &mcs, matching, cosine), BLICA_OK);
  assert_compare(mcs, <, 0.998);
  assert_null(common->freed);
  m = fit(&input, "x3@4,cuts:x5@6", BLICA_OK);
  assert_compare(furthest(N * K, m->mixing, t->mixing), <, tolerance);
  assert_compare(furthest(K * U, m->means, t->means), <, tolerance);
  assert_compare(furthest((size_t)t->planes, m->cuts, t->cuts), <, tolerance);
  assert_compare(furthest(N * K * U, m->own_mixing, t->own_mixing), <, 3 * tolerance);
  assert_memory_equal(m->freed, t->freed, N * U);
  for (int s = 0; s < U; s++) {
    double here[64], there[64];
    bl_model_margins(m, s, NULL, here), bl_model_margins(t, s, NULL, there);
    assert_compare(furthest((size_t)t->planes, here, there), <, 3 * tolerance);
    assert_compare(furthest((size_t)t->planes, m->thresholds + s * t->planes, there), <, tolerance);
  }
  assert_int_equal(blica_model_parameters(m) - blica_model_parameters(common), 2 * (levels - 1) + K);
  blica_model_free(t), blica_model_free(m), blica_model_free(common), blica_counts_free(counts);
}

static void from_exact_counts(void **state) {
  (void)state;
  exact(2, 2e-3);
}

static void from_exact_counts_of_levels(void **state) {
  (void)state;
  exact(4, 1e-5);
}

/* An item that nobody was asked in half of the segments says nothing there of means and cuts. */
static void not_asked(void **state) {
  (void)state;
  blica_model *t, *m;
  blica_counts *counts, *less;
  uint8_t unasked[N * U] = {0};
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = N, o.sources = K, o.segments = U, o.seed = 4, o.intercepts = 1.5, o.mixing_range = 1.5, o.exact = 1;
  assert_int_equal(blica_simulate(ctx, &o, &t, NULL, &counts), BLICA_OK);
  for (int s = 0; s < U / 2; s++) unasked[ROW_ITEM + N * s] = BLICA_FREED_ROW;
  assert_int_equal(bl_free_mask(ctx, t, counts, unasked, &less), BLICA_OK);
  m = fit(&(blica_input){.counts = less}, NULL, BLICA_OK);
  assert_compare(fabs(t->cuts[ROW_ITEM]), >, 0.5);
  assert_compare(furthest(N, m->cuts, t->cuts), <, 5e-3);
  assert_compare(furthest(K * U, m->means, t->means), <, 5e-3);
  assert_compare(furthest(N * U, m->thresholds, t->thresholds), <, 5e-3);
  blica_model_free(t), blica_model_free(m), blica_counts_free(counts), blica_counts_free(less);
}

/* A model of which one segment is left, with its own A and cuts as the common ones. */
static blica_model *one_segment(const blica_model *t, int s) {
  blica_model *m;
  assert_int_equal(blica_model_create(ctx, N, K, 1, &m), BLICA_OK);
  memcpy(m->mixing, bl_mixing_in(t, s), N * K * sizeof(double));
  memcpy(m->cuts, bl_cuts_in(t, s), N * sizeof(double));
  memcpy(m->variances, t->variances + K * s, K * sizeof(double));
  memcpy(m->means, t->means + K * s, K * sizeof(double));
  m->samples[0] = t->samples[s];
  return m;
}

/* Likelihood and sources of the rows of the segment, by engine, are those of a model that has nothing but the segment.
 */
static void verbs_take_the_own(void **state) {
  (void)state;
  static const blica_engine engines[] = {BLICA_ENGINE_GRID, BLICA_ENGINE_LATTICE, BLICA_ENGINE_EP};
  blica_model *t = truth(2, 300), *alone = one_segment(t, ROW_SEGMENT), *back;
  blica_data *all, *rows;
  blica_posterior *a, *b;
  char *text;
  size_t length;
  assert_int_equal(blica_simulate_rows(ctx, t, 7, &all), BLICA_OK);
  blica_packer *packer;
  assert_int_equal(blica_pack_begin(ctx, N, (const char *const *)t->variables, &packer), BLICA_OK);
  int32_t id;
  assert_int_equal(blica_pack_segment(ctx, packer, alone->segments[0], &id), BLICA_OK);
  for (int64_t r = 0; r < all->samples[ROW_SEGMENT]; r++) {
    int8_t x[N];
    for (int i = 0; i < N; i++)
      x[i] = (int8_t)(all->ones[ROW_SEGMENT][i * all->words[ROW_SEGMENT] + r / 64] >> r % 64 & 1);
    assert_int_equal(blica_pack_rows(ctx, packer, 1, x, &id), BLICA_OK);
  }
  assert_int_equal(blica_pack_end(ctx, packer, &rows), BLICA_OK);
  for (int e = 0; e < 3; e++) {
    blica_loglik_options o = blica_loglik_options_default();
    blica_loglik_result *x, *y;
    o.engine = engines[e];
    if (o.engine == BLICA_ENGINE_LATTICE) o.error = 0.002;
    assert_int_equal(blica_loglik(ctx, t, all, &o, &x), BLICA_OK);
    assert_int_equal(blica_loglik(ctx, alone, rows, &o, &y), BLICA_OK);
    assert_compare(fabs(x->loglik[ROW_SEGMENT] - y->total), <, 0.01);
    blica_loglik_result_free(x), blica_loglik_result_free(y);
  }
  assert_int_equal(blica_sources(ctx, t, all, NULL, &a), BLICA_OK);
  assert_int_equal(blica_sources(ctx, alone, rows, NULL, &b), BLICA_OK);
  assert_compare(furthest((size_t)(K * rows->rows), a->mean + K * 300 * ROW_SEGMENT, b->mean), <, 1e-9);
  assert_int_equal(blica_model_write(ctx, t, &text, &length), BLICA_OK);
  assert_int_equal(blica_model_parse(ctx, text, length, "text", &back), BLICA_OK);
  assert_memory_equal(back->freed, t->freed, N * U);
  assert_memory_equal(back->own_mixing, t->own_mixing, N * K * U * sizeof(double));
  assert_memory_equal(back->own_cuts, t->own_cuts, N * U * sizeof(double));
  blica_text_free(text), blica_posterior_free(a), blica_posterior_free(b), blica_data_free(all), blica_data_free(rows);
  blica_model_free(t), blica_model_free(alone), blica_model_free(back);
}

/* auto frees what differs; from then on that is not tested, and the same call with the list gives the same model. */
static void found_by_tests(void **state) {
  (void)state;
  blica_model *t = truth(2, 1500), *m, *same;
  blica_data *d;
  blica_invariance_result *r;
  assert_int_equal(blica_simulate_rows(ctx, t, 3, &d), BLICA_OK);
  const blica_input input = {.data = d};
  m = fit(&input, "auto", BLICA_OK);
  for (int c = 0; c < N * U; c++) assert_int_equal(m->freed[c] > 0, t->freed[c] > 0);
  assert_int_equal(m->freed[ROW_ITEM + N * ROW_SEGMENT], BLICA_FREED_ROW);
  const bool row = m->freed[CUT_ITEM + N * CUT_SEGMENT] == BLICA_FREED_ROW;
  same = fit(&input, row ? "x3@4,x5@6" : "cuts:x5@6,x3@4", BLICA_OK);
  assert_memory_equal(m->mixing, same->mixing, N * K * sizeof(double));
  assert_memory_equal(m->own_mixing, same->own_mixing, N * K * U * sizeof(double));
  assert_int_equal(blica_invariance(ctx, m, d, NULL, &r), BLICA_OK);
  assert_int_equal(r->found, 0);
  for (int i = 0; i < r->tests; i++) assert_false(r->test[i].segment == ROW_SEGMENT && r->test[i].item == ROW_ITEM);
  blica_invariance_free(r), blica_data_free(d);
  blica_model_free(t), blica_model_free(m), blica_model_free(same);
}

static void refused(void **state) {
  (void)state;
  blica_model *t = truth(2, 100);
  blica_counts *counts;
  assert_int_equal(blica_simulate_exact(ctx, t, &counts), BLICA_OK);
  const blica_input input = {.counts = counts};
  static const char *const lists[] = {"x99@1",
                                      "x1@99",
                                      "x1",
                                      "",
                                      "x1@1,",
                                      "auto",
                                      "cuts:y",
                                      "x1@1,x1@2,x1@3,x1@4,x1@5,x1@6,x1@7,x1@8",
                                      "x1@1,x2@1,x3@1,x4@1,x5@1,x6@1,x7@1",
                                      "cuts:x1,cuts:x2,cuts:x3,cuts:x4,cuts:x5,cuts:x6,cuts:x7"};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) assert_null(fit(&input, lists[i], BLICA_ERR_ARGUMENT));
  blica_model *most = fit(&input, "x1@1,x2@1,x3@1,x4@1,x5@1,x6@1", BLICA_OK);
  blica_model_free(most), blica_model_free(t), blica_counts_free(counts);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(from_exact_counts),
      cmocka_unit_test(from_exact_counts_of_levels),
      cmocka_unit_test(verbs_take_the_own),
      cmocka_unit_test(found_by_tests),
      cmocka_unit_test(refused),
      cmocka_unit_test(not_asked),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
