/* The posterior of rows of unknown segment: a mixture over the model's segments, whose moments are known in closed form
 * for a row without any value. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"

/* One source and two variables in two segments. */
static blica_model *make_model(double m0, double v0, double n0, double m1, double v1, double n1) {
  blica_model *m;
  const double mean[] = {m0, m1}, variance[] = {v0, v1}, samples[] = {n0, n1};
  assert_int_equal(blica_model_create(ctx, 2, 1, 2, &m), BLICA_OK);
  memcpy(m->means, mean, sizeof mean);
  memcpy(m->variances, variance, sizeof variance);
  memcpy(m->samples, samples, sizeof samples);
  m->mixing[0] = 1, m->mixing[1] = 0.5;
  m->link = 0.39269908169872414;
  return m;
}

static void posterior_of(const blica_model *m, const int8_t x[2], double *mean, double *sd) {
  const int32_t segment = 0;
  blica_data *data;
  blica_posterior *p;
  blica_sources_options o = blica_sources_options_default();
  o.segment = BLICA_SEGMENTS_UNKNOWN;
  assert_int_equal(
      blica_pack(
          ctx,
          &(blica_table){
              .rows = 1, .n = 2, .x = x, .variables = (const char *const *)m->variables, .segment = &segment, .u = 1},
          &data),
      BLICA_OK);
  assert_int_equal(blica_sources(ctx, m, data, &o, &p), BLICA_OK);
  *mean = p->mean[0], *sd = p->sd[0];
  blica_posterior_free(p);
  blica_data_free(data);
}

static const int8_t nothing[2] = {BLICA_MISSING, BLICA_MISSING}, both[2] = {1, 1};

/* Segments count with their samples. */
static void test_weights(void **state) {
  (void)state;
  double mean, sd;
  blica_model *m = make_model(-1, 0.25, 30, 2, 4, 10);
  posterior_of(m, nothing, &mean, &sd);
  assert_compare(fabs(mean - (0.75 * -1 + 0.25 * 2)), <, 1e-15);
  assert_compare(fabs(sd - sqrt(0.75 * (0.25 + 0.75 * 0.75) + 0.25 * (4 + 2.25 * 2.25))), <, 1e-15);
  blica_model_free(m);
}

/* The same moments when the segment with the larger weight comes second. */
static void test_weights_grow(void **state) {
  (void)state;
  double mean, sd;
  blica_model *m = make_model(2, 4, 10, -1, 0.25, 30);
  posterior_of(m, nothing, &mean, &sd);
  assert_compare(fabs(mean - (0.75 * -1 + 0.25 * 2)), <, 1e-15);
  assert_compare(fabs(sd - sqrt(0.75 * (0.25 + 0.75 * 0.75) + 0.25 * (4 + 2.25 * 2.25))), <, 1e-15);
  blica_model_free(m);
}

/* A standard deviation keeps its digits beside a mean of any size. */
static void test_large_means(void **state) {
  (void)state;
  double mean, sd;
  blica_model *m = make_model(1e8, 3.5891, 30, 1e8, 3.5891, 10);
  posterior_of(m, nothing, &mean, &sd);
  assert_true(mean == 1e8);
  assert_compare(fabs(sd - sqrt(3.5891)), <, 1e-14);
  posterior_of(m, both, &mean, &sd); /* certain under the model: the row says nothing */
  assert_compare(fabs(mean - 1e8), <, 1e-6);
  assert_compare(fabs(sd - sqrt(3.5891)), <, 1e-6);
  blica_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_weights), cmocka_unit_test(test_weights_grow),
                                     cmocka_unit_test(test_large_means)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
