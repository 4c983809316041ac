/* Items that differ between segments: found where they are, with their effects; none where there are none; and results
 * that do not depend on small errors of the model. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "num/rng.h"

static blica_model *truth(int n, int k, int u, int levels, uint64_t seed) {
  blica_simulate_options o = blica_simulate_options_default();
  blica_model *m;
  o.variables = n, o.sources = k, o.segments = u, o.samples = 700, o.seed = seed, o.levels = levels;
  o.mean_range = 0.6, o.intercepts = 0.5;
  assert_int_equal(blica_simulate(ctx, &o, &m, NULL, NULL), BLICA_OK);
  return m;
}

static blica_data *rows_of(const blica_model *m, uint64_t seed) {
  blica_data *d;
  assert_int_equal(blica_simulate_rows(ctx, m, seed, &d), BLICA_OK);
  return d;
}

/* The values of segment s of `to` become those of `from`, which has the same shape. */
static void replace_segment(blica_data *to, const blica_data *from, int s) {
  memcpy(to->ones[s], from->ones[s], (size_t)to->words[s] * (size_t)to->n * sizeof(uint64_t));
}

static blica_invariance_result *tests_of(const blica_model *m, const blica_data *d) {
  blica_invariance_result *r;
  const blica_invariance_options o = blica_invariance_options_default();
  if (blica_invariance(ctx, m, d, &o, &r) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  return r;
}

static const blica_item_test *find(const blica_invariance_result *r, blica_item_part kind, int item, int segment) {
  for (int i = 0; i < r->tests; i++)
    if (r->test[i].kind == kind && r->test[i].item == item && r->test[i].segment == segment) return &r->test[i];
  return NULL;
}

/* A cut that is .7 standard deviations higher in segment 3. */
static void shifted_cut(int levels, uint64_t seed) {
  blica_model *m = truth(8, 2, 6, levels, seed);
  blica_data *d = rows_of(m, seed), *other;
  const int s = 2, item = 4, first = m->coding ? m->coding->first[item] : item;
  const int last = m->coding ? m->coding->first[item + 1] : item + 1;
  double variance = 1;
  for (int l = 0; l < m->k; l++)
    variance += m->link * m->variances[l + m->k * s] * m->mixing[item + l * m->n] * m->mixing[item + l * m->n];
  blica_invariance_result *r = tests_of(m, d);
  assert_int_equal(r->found, 0);
  for (int i = 0; i < r->tests; i++) assert_true(r->test[i].p >= 0 && r->test[i].p <= r->test[i].p_adjusted);
  blica_invariance_free(r);
  for (int p = first; p < last; p++) m->cuts[p] += 0.7 * sqrt(variance);
  other = rows_of(m, seed + 1);
  for (int p = first; p < last; p++) m->cuts[p] -= 0.7 * sqrt(variance);
  replace_segment(d, other, s);
  r = tests_of(m, d);
  const blica_item_test *t = find(r, BLICA_CUTS, item, s), *all = find(r, BLICA_CUTS, item, -1);
  assert_int_equal(t->found, 1);
  assert_int_equal(r->found, 1);
  assert_compare(fabs(t->effect - 0.7), <, 0.25);
  assert_compare(all->p_adjusted, <, 0.001);
  double sum = 0;
  for (int l = 0; l <= last - first; l++) sum += r->share[first + item + l + (r->planes + r->n) * s];
  assert_compare(fabs(sum), <, 1e-12);
  assert_compare(r->share[first + item + (r->planes + r->n) * s], >, 0.05); /* the lowest level is more frequent */
  assert_true(r->test[0].item == item && r->test[0].segment == -1 && r->test[0].kind == BLICA_CUTS);
  blica_invariance_free(r);
  blica_data_free(d), blica_data_free(other), blica_model_free(m);
}

static void a_shifted_cut_is_found(void **state) {
  (void)state;
  shifted_cut(2, 11);
  shifted_cut(4, 12);
}

/* A row of A with the opposite sign in segment 5. */
static void a_reversed_loading_is_found(void **state) {
  (void)state;
  blica_model *m = truth(8, 2, 6, 2, 21);
  blica_data *d = rows_of(m, 21), *other;
  const int s = 4, item = 3;
  for (int l = 0; l < m->k; l++) m->mixing[item + l * m->n] *= -1;
  other = rows_of(m, 22);
  for (int l = 0; l < m->k; l++) m->mixing[item + l * m->n] *= -1;
  replace_segment(d, other, s);
  blica_invariance_result *r = tests_of(m, d);
  const blica_item_test *t = find(r, BLICA_LOADINGS, item, s);
  assert_true(t->found > 0);
  assert_compare(t->p_adjusted, <, 0.001);
  assert_compare(fabs(t->effect), >, 0.3);
  blica_invariance_free(r);
  blica_data_free(d), blica_data_free(other), blica_model_free(m);
}

/* Scores are insensitive to the model's parameters to first order: errors of 1 % move chi-squares by far less than
 * scores that were not projected, which would move with N times the error. */
static void errors_of_the_model_hardly_matter(void **state) {
  (void)state;
  blica_model *m = truth(8, 2, 6, 3, 31);
  blica_data *d = rows_of(m, 31);
  blica_invariance_result *r = tests_of(m, d);
  bl_rng rng = bl_rng_make(5, 0);
  for (int i = 0; i < m->n * m->k; i++) m->mixing[i] += 0.01 * bl_rng_normal(&rng);
  for (int i = 0; i < m->k * m->u; i++) {
    m->variances[i] *= exp(0.01 * bl_rng_normal(&rng));
    m->means[i] += 0.01 * bl_rng_normal(&rng);
  }
  for (int p = 0; p < m->planes; p++) m->cuts[p] += 0.01 * bl_rng_normal(&rng);
  blica_invariance_result *moved = tests_of(m, d);
  for (int i = 0; i < r->tests; i++) {
    const blica_item_test *a = &r->test[i], *b = find(moved, a->kind, a->item, a->segment);
    assert_compare(fabs(log(a->p) - log(b->p)), <, 0.25);
    assert_compare(fabs(a->effect - b->effect), <, 0.05);
  }
  blica_invariance_free(r), blica_invariance_free(moved);
  blica_data_free(d), blica_model_free(m);
}

/* As many sources as items fit any thresholds; one segment compares with nothing. */
static void what_cannot_be_tested(void **state) {
  (void)state;
  blica_model *m = truth(3, 3, 4, 2, 41);
  blica_data *d = rows_of(m, 41);
  blica_invariance_result *r = tests_of(m, d);
  for (int i = 0; i < r->tests; i++) assert_int_equal(r->test[i].kind, BLICA_LOADINGS);
  blica_invariance_free(r);
  blica_data_free(d), blica_model_free(m);
  m = truth(5, 2, 1, 2, 42);
  d = rows_of(m, 42);
  assert_int_equal(blica_invariance(ctx, m, d, NULL, &r), BLICA_ERR_DATA);
  assert_null(r);
  assert_non_null(strstr(blica_message(ctx), "one segment"));
  blica_data_free(d), blica_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_shifted_cut_is_found),
      cmocka_unit_test(a_reversed_loading_is_found),
      cmocka_unit_test(errors_of_the_model_hardly_matter),
      cmocka_unit_test(what_cannot_be_tested),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
