/* Row scores: their sums over a segment are the scores of its tables, whatever is missing; lags of rows by hand and of
 * an autoregression. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "context.h"
#include "inference/scores/pooled.h"
#include "inference/scores/row_scores.h"
#include "num/rng.h"

static void near(double found, double wanted, double tolerance) {
  if (!(fabs(found - wanted) <= tolerance)) fail_msg("found %.12g, wanted %.12g", found, wanted);
}

enum { N = 4, U = 3, ROWS = 60, PAIRS = 6 };

/* Random levels, a fifth of them missing; with strata of 13, 22 and 25 rows in each segment, each of three clusters if
 * so wanted. */
static bl_rows *random_rows(bool strata, bool clusters) {
  const int levels[N] = {2, 3, 4, 2};
  blica_packer *packer;
  blica_data *data;
  bl_rows *rows;
  bl_rng rng = bl_rng_make(5, 0);
  assert_int_equal(blica_pack_begin_items(ctx, N, NULL, levels, NULL, &packer), BLICA_OK);
  for (int r = 0; r < U * ROWS; r++) {
    int8_t x[N];
    int32_t id;
    const char *label[U] = {"a", "b", "c"};
    const double common = bl_rng_normal(&rng);
    for (int i = 0; i < N; i++) {
      const double value = 1.2 * (common + bl_rng_normal(&rng)) + 0.5 * levels[i];
      x[i] = (int8_t)fmin(fmax(floor(value), 0), levels[i] - 1);
      if (bl_rng_uniform(&rng) < 0.2) x[i] = BLICA_MISSING;
    }
    x[r % N] = (int8_t)(r / N % levels[r % N]);
    assert_int_equal(blica_pack_segment(ctx, packer, label[r % U], &id), BLICA_OK);
    assert_int_equal(blica_pack_rows(ctx, packer, 1, x, &id), BLICA_OK);
  }
  assert_int_equal(blica_pack_end(ctx, packer, &data), BLICA_OK);
  int32_t stratum[U * ROWS], cluster[U * ROWS];
  for (int r = 0; r < U * ROWS; r++) {
    const int place = r / U, h = place * 7 % ROWS;
    stratum[r] = h < 13 ? 5 : h < 35 ? -2 : 9;
    cluster[r] = ROWS * (r % U) + (stratum[r] + 2) * 2 + h % 3;
  }
  if (clusters) assert_int_equal(blica_data_set_clusters(ctx, data, cluster), BLICA_OK);
  if (strata) assert_int_equal(blica_data_set_strata(ctx, data, stratum), BLICA_OK);
  assert_int_equal(bl_rows_of(ctx, data, &rows), BLICA_OK);
  blica_data_free(data);
  return rows;
}

/* The influences on a pair, times N I, add up over rows to the corrected score of the pair's table; blocks of rows are
 * units with the sums of their rows; weights of rows multiply them. */
static void sums_are_scores_of_tables(void **state) {
  (void)state;
  for (int way = 0; way < 3; way++) { /* rows, weighted rows, blocks */
    bl_rows *rows = random_rows(false, false);
    blica_counts *counts;
    bl_pooled *pooled;
    bl_influence *influence;
    bl_units_reader units;
    bl_score_sums sums;
    assert_false(rows->complete);
    for (int64_t p = 0; way == 1 && p < rows->count; p++) rows->weight[p] *= 0.5, rows->square[p] *= 0.25;
    for (int s = 0; way == 1 && s < U; s++) rows->size[s] *= 0.5;
    if (way == 2) assert_int_equal(bl_rows_block(ctx, rows, 7), BLICA_OK);
    assert_int_equal(bl_rows_counts_create(ctx, rows, &counts), BLICA_OK);
    bl_rows_count(rows, rows->weight, counts);
    assert_int_equal(bl_pooled_make(ctx, N, U, rows->coding, true, &pooled), BLICA_OK);
    bl_pooled_fit(counts, pooled);
    assert_int_equal(bl_influence_make(ctx, N, rows->coding, BL_SCALES, &influence), BLICA_OK);
    assert_int_equal(bl_units_make(ctx, influence, influence, rows, &units), BLICA_OK);
    assert_int_equal(bl_score_sums_make(ctx, influence, units.q, &sums), BLICA_OK);
    double total[PAIRS] = {0}, squares = 0;
    for (int s = 0; s < U; s++) {
      int64_t at = 0, first;
      bl_influence_describe(counts, s, pooled->rho, pooled->t + rows->planes * s, NULL, influence);
      bl_score_sums_clear(units.q, &sums);
      for (int count; (count = bl_units_read(&units, s, &at)) > 0;)
        bl_score_sums_add(&units, count, units.q, units.psi, &sums);
      const double length = (double)rows->total[s] / (double)bl_units(rows, s, &first);
      near(sums.units, way == 2 ? length * length * (double)bl_units(rows, s, &first) : rows->size[s] * (way ? 0.5 : 1),
           way == 2 ? 40 : 1e-9);
      for (size_t c = 0; c < PAIRS; c++) {
        const double size = influence->both[c] * influence->information[c];
        near(size * sums.sum[c], pooled->score[c + PAIRS * (size_t)s], 2e-3); /* the tables' rho is within 1e-5 */
        total[c] += size * sums.sum[c];
        squares += sums.product[c * (units.q + 1)];
      }
    }
    assert_true(squares > 0);
    for (int c = 0; c < PAIRS; c++) near(total[c], 0, 5e-3); /* the common correlations solve that */
    bl_free(influence), bl_free(pooled);
    blica_counts_free(counts);
    bl_rows_free(rows);
  }
}

/* Reads all units of a segment: their influences [q,count] with sizes; returns how many. */
static int read_all(const bl_units_reader *units, int s, double *psi, double *size, double *adds, double *times) {
  int all = 0;
  int64_t at = 0;
  for (int count; (count = bl_units_read(units, s, &at)) > 0; all += count) {
    memcpy(psi + units->q * (size_t)all, units->psi, units->q * (size_t)count * sizeof *psi);
    for (int c = 0; c < count; c++)
      size[all + c] = units->size[c], adds[all + c] = units->adds[c], times[all + c] = units->times[c];
  }
  return all;
}

/* What is read of strata has the sums of their units, and the squares around the means of the strata times
 * m / (m - 1), of sizes too; of every second unit there are half as many. */
static void strata_are_centred(void **state) {
  (void)state;
  static double psi[2][64 * ROWS], size[2][ROWS], adds[2][ROWS], times[2][ROWS];
  for (int clusters = 0; clusters < 2; clusters++) {
    bl_rows *rows = random_rows(true, clusters);
    blica_counts *counts;
    bl_pooled *pooled;
    bl_influence *influence;
    bl_units_reader units;
    assert_int_equal(bl_rows_counts_create(ctx, rows, &counts), BLICA_OK);
    bl_rows_count(rows, rows->weight, counts);
    assert_int_equal(bl_pooled_make(ctx, N, U, rows->coding, true, &pooled), BLICA_OK);
    bl_pooled_fit(counts, pooled);
    assert_int_equal(bl_influence_make(ctx, N, rows->coding, BL_SCALES, &influence), BLICA_OK);
    assert_int_equal(bl_units_make(ctx, influence, influence, rows, &units), BLICA_OK);
    assert_true(units.q <= 64);
    for (int s = 0; s < U; s++) {
      int64_t first;
      bl_influence_describe(counts, s, pooled->rho, pooled->t + rows->planes * s, NULL, influence);
      const int all = read_all(&units, s, psi[0], size[0], adds[0], times[0]);
      int64_t *peers = rows->peers;
      rows->peers = NULL; /* the units themselves */
      const int plain = read_all(&units, s, psi[1], size[1], adds[1], times[1]);
      rows->peers = peers;
      assert_int_equal(all, plain);
      assert_int_equal(all, bl_units(rows, s, &first));
      assert_int_equal(bl_strata(rows, s), 3);
      for (size_t i = 0; i <= units.q; i++) { /* the last are the sizes */
#define VALUE(w, c) (i < units.q ? psi[w][i + units.q * (size_t)(c)] : size[w][c])
        double sum = 0, square = 0, wanted_sum = 0, wanted = 0;
        for (int c = 0; c < all; c++) {
          sum += adds[0][c] * VALUE(0, c), square += times[0][c] * VALUE(0, c) * VALUE(0, c);
          wanted_sum += VALUE(1, c);
        }
        for (int64_t h = first; h < first + all; h = peers[2 * h + 1]) {
          const double m = (double)(peers[2 * h + 1] - h);
          double mean = 0;
          for (int64_t c = h; c < peers[2 * h + 1]; c++) mean += VALUE(1, c - first) / m;
          for (int64_t c = h; c < peers[2 * h + 1]; c++) wanted += pow(VALUE(1, c - first) - mean, 2) * m / (m - 1);
        }
#undef VALUE
        near(sum, wanted_sum, 1e-9 * (1 + fabs(wanted_sum)));
        near(square, wanted, 1e-9 * (1 + wanted));
      }
      units.step = 2;
      const int half = read_all(&units, s, psi[1], size[1], adds[1], times[1]);
      double taken = 0;
      for (int c = 0; c < half; c++) taken += times[1][c];
      units.step = 1;
      assert_true(fabs(taken - (all - 3) / 2.0) <= 1.5);
    }
    bl_free(influence), bl_free(pooled);
    blica_counts_free(counts);
    bl_rows_free(rows);
  }
}

/* Of the m clusters of a stratum m - 1 are drawn, which weigh m / (m - 1): each counts once on average, with the
 * variance of that. */
static void strata_are_drawn_apart(void **state) {
  (void)state;
  enum { DRAWS = 4000 };
  bl_rows *rows = random_rows(true, true), *plain = random_rows(false, true);
  double weight[U * ROWS], mean = 0, square = 0;
  const double m = (double)(rows->peers[1] - rows->peers[0]);
  int64_t own = -1; /* a pattern that the first cluster has once, and no other */
  assert_int_equal(m, 3);
  for (int64_t r = 0; r < rows->unit_first[1]; r++)
    if (rows->weight[rows->row[r]] == 1) own = rows->row[r];
  assert_true(own >= 0 && rows->count <= U * ROWS);
  for (int d = 0; d < DRAWS; d++) {
    bl_rows_draw(rows, 3, d, weight);
    const double one = weight[own];
    near(one * (m - 1) / m, round(one * (m - 1) / m), 1e-12);
    mean += one / DRAWS, square += one * one / DRAWS;
  }
  near(mean, 1, 0.06);
  near(square - mean * mean, m * m / (m - 1) * (1 / m) * (1 - 1 / m), 0.1);
  assert_null(plain->peers);
  bl_rows_free(rows), bl_rows_free(plain);
}

static void centring_is_that_of_single_scores(void **state) {
  (void)state;
  double numbers[8] = {0}; /* two units of sizes 1 and 2 with scores (1,2) and (3,-1) */
  bl_score_sums sums = {.units = 5, .sum = numbers, .sized = numbers + 2, .product = numbers + 4};
  const double mean[2] = {0.5, -1};
  sums.sized[0] = 7, sums.sized[1] = 0;
  sums.product[0] = 10, sums.product[1] = -1, sums.product[3] = 5;
  bl_score_sums_centre(mean, 2, &sums);
  near(sums.product[0], 0.25 + 4, 1e-12);
  near(sums.product[1], 0.5 * 3 + 2 * 1, 1e-12);
  near(sums.product[3], 9 + 1, 1e-12);
}

static void lags_by_hand(void **state) {
  (void)state;
  double x[4] = {1, 2, 4, 5}, lag[BL_LAGS + 1] = {0}; /* centred: -2 -1 1 2 */
  const double square = bl_lag_products(1, 4, x, lag);
  near(lag[0], 10, 1e-12), near(lag[1], 3, 1e-12), near(lag[2], -4, 1e-12), near(lag[3], -4, 1e-12);
  near(square, 9, 1e-12);
}

/* Sums of an autoregression z_t = f z_(t-1) + e observed with noise: decay f, scores z^2 have inflation 1 + 2 g f^2 /
 * (1 - f^2), g the share of the variance that is not noise. Independent rows: none. */
static void autoregressions_are_found(void **state) {
  (void)state;
  enum { LENGTH = 400, SEGMENTS = 40 };
  const double decays[3] = {0, 0.6, 0.9};
  int64_t rows_of[SEGMENTS];
  for (int s = 0; s < SEGMENTS; s++) rows_of[s] = LENGTH;
  const bl_rows rows = {.u = SEGMENTS, .total = rows_of};
  for (int d = 0; d < 3; d++) {
    static bl_lag_sums sums[SEGMENTS];
    memset(sums, 0, sizeof sums);
    const double f = decays[d];
    for (int s = 0; s < SEGMENTS; s++) {
      bl_rng rng = bl_rng_make(9, (uint64_t)s);
      double z = bl_rng_normal(&rng), item[LENGTH], score[LENGTH];
      for (int t = 0; t < LENGTH; t++) {
        z = f * z + sqrt(1 - f * f) * bl_rng_normal(&rng);
        item[t] = z + bl_rng_normal(&rng), score[t] = z * z + sqrt(2) * bl_rng_normal(&rng);
      }
      sums[s].square = bl_lag_products(1, LENGTH, item, sums[s].item);
      bl_lag_products(1, LENGTH, score, sums[s].score);
    }
    const bl_dependence found = bl_dependence_of(&rows, sums);
    near(found.lag, 0.5 * f, 0.03);
    if (d == 0) near(found.inflation, 1, 0), near(found.decay, 0, 0), near(found.draws, LENGTH, 0);
    if (d > 0)
      near(found.decay, f, 0.03), near(found.inflation, 1 + f * f / (1 - f * f), 0.15 * (1 + f * f / (1 - f * f)));
    if (d > 0) assert_true(found.z > 20);
  }
}

/* Sums with room for three directions begin from zero for two, too. */
static void fewer_directions_begin_from_zero(void **state) {
  (void)state;
  bl_score_sums sums;
  BL_OWNED double *owner = NULL;
  assert_int_equal(bl_alloc(ctx, 1, &owner), BLICA_OK);
  assert_int_equal(bl_score_sums_make(ctx, owner, 3, &sums), BLICA_OK);
  sums.units = 7;
  for (int i = 0; i < 15; i++) sums.sum[i] = 7;
  bl_score_sums_clear(2, &sums);
  near(sums.units, 0, 0);
  for (int i = 0; i < 2; i++) near(sums.sum[i], 0, 0), near(sums.sized[i], 0, 0);
  for (int i = 0; i < 4; i++) near(sums.product[i], 0, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_are_scores_of_tables),        cmocka_unit_test(strata_are_centred),
      cmocka_unit_test(strata_are_drawn_apart),           cmocka_unit_test(centring_is_that_of_single_scores),
      cmocka_unit_test(fewer_directions_begin_from_zero), cmocka_unit_test(lags_by_hand),
      cmocka_unit_test(autoregressions_are_found)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
