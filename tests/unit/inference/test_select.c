/* The number of sources: every choice follows from the numbers beside it, BIC is that of a fit of all rows, and the
 * held-out score is a little below that of the rows that a model was fitted to. */
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
#include "inference/select/select.h"
#include "level_rows.h"

enum { N = 6, SEGMENTS = 6, MOST = 4 };

static blica_data *draw(int k) {
  blica_simulate_options o = blica_simulate_options_default();
  blica_data *data;
  o.variables = N, o.sources = k, o.segments = SEGMENTS, o.samples = 300, o.seed = 5;
  assert_int_equal(blica_simulate(ctx, &o, NULL, &data, NULL), BLICA_OK);
  return data;
}

static blica_selection *choose(const blica_data *data, int most) {
  blica_select_options o = blica_select_options_default();
  blica_selection *r;
  o.sources[1] = most, o.references = 20;
  if (blica_select(ctx, data, &o, &r) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  return r;
}

/* The fewest sources, or none, within one standard error of the best. */
static int within_one_error(const blica_selection *r, const double *score, const double *se) {
  int best = 0, fewest;
  for (int k = r->lowest; k <= r->highest; k++)
    if (score[k] > score[best]) best = k;
  assert_compare(se[best], ==, 0);
  fewest = best;
  for (int k = best; k >= 0; k--)
    if ((k == 0 || k >= r->lowest) && score[best] - score[k] <= se[k]) fewest = k;
  return fewest;
}

static int least(const double *x, int low, int high) {
  int best = -1;
  for (int k = low; k <= high; k++)
    if (!isnan(x[k]) && (best < 0 || x[k] < x[best])) best = k;
  return best;
}

/* The score of all rows under a model that was fitted to them, per row and pair. */
static double score_of_own_rows(const blica_model *m, const blica_data *data) {
  bl_rows *rows;
  blica_counts *counts;
  bl_heldout *h;
  double sum = 0, held = 0;
  assert_int_equal(bl_rows_of(ctx, data, &rows), BLICA_OK);
  assert_int_equal(bl_rows_counts_create(ctx, rows, &counts), BLICA_OK);
  bl_rows_count(rows, rows->weight, counts);
  assert_int_equal(bl_heldout_make(ctx, rows, m->k, &h), BLICA_OK);
  for (int s = 0; s < m->u; s++)
    sum += bl_heldout_score(h, counts, counts, s, m, m->variances + m->k * s), held += (double)rows->total[s];
  bl_heldout_free(h);
  blica_counts_free(counts);
  bl_rows_free(rows);
  return sum / (held * N * (N - 1) / 2);
}

static void choices_follow_from_the_numbers(void **state) {
  (void)state;
  for (int k = 1; k <= 2; k++) {
    blica_data *data = draw(k);
    blica_selection *r = choose(data, 4);
    int leading = 0;
    assert_true(r->lowest == 1 && r->highest == MOST);
    assert_compare(r->heldout[0], ==, 0);
    assert_int_equal(r->by_heldout, within_one_error(r, r->heldout, r->heldout_se));
    assert_int_equal(r->by_segments, within_one_error(r, r->heldout_segments, r->heldout_segments_se));
    assert_int_equal(r->by_map, least(r->map, 0, MOST));
    assert_int_equal(r->by_bic, least(r->bic, 1, MOST));
    while (leading < N && r->eigenvalue[leading] > r->reference[leading]) leading++;
    assert_int_equal(r->by_parallel, leading);
    assert_int_equal(r->sources, k);
    for (int sources = 1; sources <= MOST; sources++) {
      blica_fit_options o = blica_fit_options_default();
      blica_loglik_options how = blica_loglik_options_default();
      blica_loglik_result *value;
      blica_model *m;
      o.sources = sources, how.error = 10, o.method = r->method;
      assert_int_equal(blica_fit(ctx, &(blica_input){.data = data}, &o, &m), BLICA_OK);
      assert_int_equal(blica_loglik(ctx, m, data, &how, &value), BLICA_OK);
      const double bic = -2 * value->total + (double)blica_model_parameters(m) * log((double)data->rows);
      assert_compare(fabs(r->bic[sources] - bic), <, 4 * how.error);
      const double own = score_of_own_rows(m, data);
      assert_compare(r->heldout[sources], <, own);
      assert_compare(r->heldout[sources], >, 0.7 * own);
      if (sources <= k) assert_compare(r->heldout_segments[sources], >, 0.6 * own);
      /* a segment that A has not seen is predicted less well than rows of segments that it has seen */
      if (sources <= k) assert_compare(r->heldout_segments[sources], <, r->heldout[sources]);
      blica_loglik_result_free(value);
      blica_model_free(m);
    }
    blica_selection_free(r);
    blica_data_free(data);
  }
}

/* Items that have nothing in common have no sources, and whenever parallel analysis finds nothing none are recommended,
 * whatever held-out rows say by chance. */
static void independent_items_have_none(void **state) {
  (void)state;
  static const int two[N] = {2, 2, 2, 2, 2, 2};
  int none = 0;
  for (uint64_t seed = 1; seed <= 12; seed++) {
    level_rows y = draw_level_rows(N, SEGMENTS, 300, two, 0, seed);
    bl_rng rng = bl_rng_make(seed, 1);
    for (int64_t i = 0; i < y.rows * N; i++) y.x[i] = bl_rng_uniform(&rng) < 0.4;
    blica_data *data = pack_level_rows(&y);
    blica_selection *r = choose(data, 2);
    assert_int_equal(r->sources, r->by_parallel ? r->by_heldout : 0);
    none += r->sources == 0;
    blica_selection_free(r);
    blica_data_free(data);
    drop_level_rows(&y);
  }
  assert_compare(none, >=, 10);
}

/* Four items in two segments have 12 correlations, which determine two sources (10 parameters) and not three (15). */
static void more_than_can_be_determined(void **state) {
  (void)state;
  static const int two[4] = {2, 2, 2, 2};
  level_rows y = draw_level_rows(4, 2, 400, two, 0, 3);
  blica_data *data = pack_level_rows(&y);
  blica_selection *r = choose(data, 4);
  assert_int_equal(r->highest, 2);
  blica_selection_free(r);
  blica_data_free(data);
  drop_level_rows(&y);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(choices_follow_from_the_numbers),
                                     cmocka_unit_test(independent_items_have_none),
                                     cmocka_unit_test(more_than_can_be_determined)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
