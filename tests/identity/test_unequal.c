/* Segments count with their own number of rows: a segment whose rows occur twice counts as two segments of those
 * rows. And a fit that was stopped says so, whichever start was the best. */
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

enum { N = 5, K = 2, U = 5, ROWS = 500, COPIES = 8 };

typedef enum { AS_DRAWN, REPEATED, SEVERAL } version;

/* The rows of a simulation; those of the last segment are there COPIES times, in one segment or in several. */
static blica_data *make_data(version v) {
  blica_simulate_options o = blica_simulate_options_default();
  blica_data *drawn, *data;
  static int8_t x[(U + COPIES) * ROWS * N];
  static int32_t segment[(U + COPIES) * ROWS];
  int rows = 0, u = v == SEVERAL ? U - 1 + COPIES : U;
  o.variables = N, o.sources = K, o.segments = U, o.samples = ROWS, o.seed = 5;
  assert_int_equal(blica_simulate(ctx, &o, NULL, &drawn, NULL), BLICA_OK);
  for (int s = 0; s < U; s++)
    for (int copy = 0; copy < (s == U - 1 && v != AS_DRAWN ? COPIES : 1); copy++)
      for (int r = 0; r < ROWS; r++, rows++) {
        segment[rows] = v == SEVERAL ? s + copy : s;
        for (int i = 0; i < N; i++)
          x[rows * N + i] = (int8_t)(drawn->ones[s][i * drawn->words[s] + r / 64] >> (r % 64) & 1);
      }
  assert_int_equal(blica_pack(ctx, &(blica_table){.rows = rows, .n = N, .x = x, .segment = segment, .u = u}, &data),
                   BLICA_OK);
  blica_data_free(drawn);
  return data;
}

static blica_model *fit(version v, const char *method) {
  blica_data *data = make_data(v);
  blica_fit_options o = blica_fit_options_default();
  blica_input input = {.data = data};
  blica_model *model;
  o.method = blica_method_find(method);
  o.prior = BLICA_PRIOR_NONE;
  o.sources = K, o.starts = 10;
  assert_int_equal(blica_fit(ctx, &input, &o, &model), BLICA_OK);
  blica_data_free(data);
  return model;
}

static double dissimilarity(const blica_model *a, const blica_model *b) {
  double mcs, cosine[K];
  int matching[K];
  assert_int_equal(blica_compare(ctx, N, K, a->mixing, b->mixing, &mcs, matching, cosine), BLICA_OK);
  return 1 - mcs;
}

static void segments_count_with_their_rows(void **state) {
  (void)state;
  blica_model *drawn = fit(AS_DRAWN, "blica"), *repeated = fit(REPEATED, "blica"), *several = fit(SEVERAL, "blica");
  print_message("repeated against several %.1e, against one %.1e\n", dissimilarity(repeated, several),
                dissimilarity(repeated, drawn));
  assert_compare(dissimilarity(repeated, several), <, 1e-5); /* a flat direction, stopped by its gradient */
  assert_compare(fabs(repeated->fit.objective - several->fit.objective), <, 1e-6 * fabs(several->fit.objective));
  assert_compare(dissimilarity(repeated, drawn), >, 1e-2);
  assert_true(repeated->samples[U - 1] == COPIES * ROWS && repeated->samples[0] == ROWS);
  blica_model_free(drawn), blica_model_free(repeated), blica_model_free(several);
}

static int stop_later(const blica_progress *progress, void *user) {
  (void)user;
  return progress->start >= 2;
}

static void a_stopped_fit_says_so(void **state) {
  (void)state;
  blica_data *data = make_data(AS_DRAWN);
  blica_fit_options o = blica_fit_options_default();
  blica_input input = {.data = data};
  blica_model *model;
  o.method = BLICA_METHOD_BLICA;
  o.sources = K, o.starts = 50;
  blica_set_poll(ctx, stop_later, NULL);
  assert_int_equal(blica_fit(ctx, &input, &o, &model), BLICA_OK);
  blica_set_poll(ctx, NULL, NULL);
  assert_int_equal(model->fit.starts[0].stop, BLICA_STOP_CONVERGED);
  assert_int_equal(model->fit.stop, BLICA_STOP_INTERRUPTED);
  blica_model_free(model);
  blica_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(segments_count_with_their_rows),
                                     cmocka_unit_test(a_stopped_fit_says_so)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
