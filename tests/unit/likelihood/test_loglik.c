/* Log-likelihoods with their stated errors: the lattice at its coarsest against the grid, over several seeds, on rows
 * of which many are equal, with missing values; and the sum over rows of single rows' log-likelihoods. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assert_compare.h"
#include "context.h"
#include "level_rows.h"
#include "set_word.h"

enum { N = 5, K = 2, SEGMENTS = 2, ROWS = 300 };
static const int two[N] = {2, 2, 2, 2, 2};

static blica_model *model_of(const blica_data *data) {
  blica_fit_options o = blica_fit_options_default();
  blica_model *m;
  o.sources = K;
  assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &m), BLICA_OK);
  return m;
}

static blica_loglik_result *evaluate(const blica_model *m, const blica_data *data, const char *engine, double error,
                                     uint64_t seed) {
  blica_loglik_options o = blica_loglik_options_default();
  blica_loglik_result *r;
  set_word(blica_loglik_option_table, &o, "engine", engine);
  if (strcmp(engine, "ep") != 0) o.error = error; /* which expectation propagation cannot choose */
  if (strcmp(engine, "lattice") == 0) o.seed = seed;
  if (blica_loglik(ctx, m, data, &o, &r) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  return r;
}

static void stated_errors_hold(void **state) {
  (void)state;
  level_rows y = draw_level_rows(N, SEGMENTS, ROWS, two, 0.1, 3);
  blica_data *data = pack_level_rows(&y);
  blica_model *m = model_of(data);
  blica_loglik_result *grid = evaluate(m, data, "grid", 1e-7, 1);
  double largest = 0;
  assert_compare(grid->total_error, <, 1e-7);
  assert_compare((double)grid->patterns, <, 0.7 * ROWS);
  for (uint64_t seed = 1; seed <= 8; seed++) {
    blica_loglik_result *r = evaluate(m, data, "lattice", 1e6, seed);
    double squares = 0;
    for (int s = 0; s < SEGMENTS; s++) {
      assert_compare(fabs(r->loglik[s] - grid->loglik[s]), <=, r->error[s]);
      squares += r->error[s] * r->error[s];
      largest = fmax(largest, fabs(r->loglik[s] - grid->loglik[s]) / r->error[s]);
    }
    assert_compare(fabs(r->total_error - sqrt(squares)), <, 1e-12);
    assert_compare(fabs(r->total - r->loglik[0] - r->loglik[1]), <, 1e-9);
    assert_compare(r->total_error, <, 2);
    blica_loglik_result_free(r);
  }
  assert_compare(largest, >, 0.02); /* nor are they larger than need be: five standard errors, 16 times */
  blica_loglik_result_free(grid);
  blica_model_free(m);
  blica_data_free(data);
  drop_level_rows(&y);
}

/* The log-likelihood of all rows is the sum of those of each row alone. */
static void rows_add_up(void **state) {
  (void)state;
  enum { FEW = 40 };
  level_rows y = draw_level_rows(N, SEGMENTS, ROWS, two, 0.2, 4);
  blica_data *data = pack_level_rows(&y);
  blica_model *m = model_of(data);
  double sum[3] = {0}, error[3] = {1e-6, 0, 1e-6}; /* the lattice differs by what it states */
  static const char *const engines[3] = {"grid", "lattice", "ep"};
  for (int e = 0; e < 3; e++) {
    level_rows part = y;
    part.rows = FEW;
    blica_data *few = pack_level_rows(&part);
    blica_loglik_result *all = evaluate(m, few, engines[e], 1e-6, 1);
    assert_string_equal(blica_engine_name(all->engine), engines[e]);
    for (int r = 0; r < FEW; r++) {
      level_rows one = {N, SEGMENTS, 1, two, y.x + r * N, y.segment + r};
      int values = 0;
      for (int i = 0; i < N; i++) values += one.x[i] != BLICA_MISSING;
      if (!values) continue;
      blica_data *single = pack_level_rows(&one);
      blica_loglik_result *own = evaluate(m, single, engines[e], 1e-8, 1);
      sum[e] += own->total;
      if (e == 1) error[e] += own->total_error;
      blica_loglik_result_free(own);
      blica_data_free(single);
    }
    if (e == 1) error[e] += all->total_error;
    assert_compare(fabs(sum[e] - all->total), <, error[e]);
    blica_loglik_result_free(all);
    blica_data_free(few);
  }
  assert_compare(fabs(sum[0] - sum[1]), <, error[1]); /* two engines that share no code */
  assert_compare(error[1], <, 0.05);
  assert_compare(fabs(sum[0] - sum[2]), <, 0.05 * FEW);
  blica_model_free(m);
  blica_data_free(data);
  drop_level_rows(&y);
}

static char announced[1024];
static void keep_warning(const char *text, void *user) {
  (void)user;
  snprintf(announced, sizeof announced, "%s", text);
}
static int stop_at_once(const blica_progress *progress, void *user) {
  (void)progress, (void)user;
  return 1;
}

/* Work of many minutes is announced before it begins: here the first poll stops it. Short work is not announced. */
static void long_work_is_announced(void **state) {
  (void)state;
  blica_simulate_options simulate = blica_simulate_options_default();
  blica_model *m;
  blica_data *data;
  simulate.variables = 12, simulate.sources = 3, simulate.segments = 400, simulate.samples = 20;
  simulate.mixing_range = 9; /* the nodes of a grid grow with loadings */
  assert_int_equal(blica_simulate(ctx, &simulate, &m, &data, NULL), BLICA_OK);
  blica_set_threads(ctx, 1);
  blica_set_warn(ctx, keep_warning, NULL);
  blica_loglik_result_free(evaluate(m, data, "lattice", 1e6, 1));
  blica_loglik_result_free(evaluate(m, data, "ep", 0, 1));
  assert_string_equal(announced, "");
  blica_loglik_options o = blica_loglik_options_default();
  blica_loglik_result *r;
  o.engine = BLICA_ENGINE_GRID;
  blica_set_poll(ctx, stop_at_once, NULL);
  assert_int_equal(blica_loglik(ctx, m, data, &o, &r), BLICA_ERR_INTERRUPTED);
  assert_non_null(strstr(announced, "by engine grid will take about "));
  assert_non_null(strstr(announced, "minutes or more"));
  assert_non_null(strstr(announced, "engine ep is faster"));
  blica_set_poll(ctx, NULL, NULL);
  blica_set_warn(ctx, NULL, NULL);
  blica_set_threads(ctx, 0);
  blica_model_free(m);
  blica_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(stated_errors_hold), cmocka_unit_test(rows_add_up),
                                     cmocka_unit_test(long_work_is_announced)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
