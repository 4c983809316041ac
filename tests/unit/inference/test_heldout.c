/* Held-out rows: their score and the variances of a new segment against sums over the cells of plain tables. */
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
#include "num/normal/normal.h"

enum { N = 4, K = 2, SEGMENTS = 2 };
static const int levels[N] = {2, 3, 2, 4};
static double mixing[N * K] = {1.2, 0.7, -0.4, 0.9, 0.3, -0.8, 1.4, 0.5};
static const blica_model model = {.n = N, .k = K, .u = SEGMENTS, .link = 0.4, .mixing = mixing};

static double correlation(const double *v, int i, int j) {
  double m[3] = {0, 1, 1};
  for (int l = 0; l < K; l++) {
    const double a = mixing[i + N * l], b = mixing[j + N * l], scale = model.link * v[l];
    m[0] += scale * a * b, m[1] += scale * a * a, m[2] += scale * b * b;
  }
  return m[0] / sqrt(m[1] * m[2]);
}

/* Thresholds of item i; `add` rows are shared out equally among its levels. */
static void thresholds(const level_rows *y, int s, int i, double add, double *t) {
  for (int l = 1; l < levels[i]; l++) {
    double above = 0, present = 0;
    for (int64_t r = 0; r < y->rows; r++) {
      const int8_t x = y->x[r * N + i];
      if (y->segment[r] == s && x != BLICA_MISSING) present++, above += x >= l;
    }
    t[l - 1] = bl_phi_quantile((above + add * (levels[i] - l) / levels[i]) / (present + add));
  }
}

static double corner(const double *h, const double *k, int a, int b, int rows, int columns, double rho) {
  if (a == rows || b == columns) return 0;
  if (a == 0) return b ? bl_phi_cdf(k[b - 1]) : 1;
  return b ? blica_bvn(h[a - 1], k[b - 1], rho) : bl_phi_cdf(h[a - 1]);
}

/* Sum over the cells of n log P, P from the margins of `train`, and less the same at correlation 0 if wanted. */
static double plain_score(const level_rows *test, const level_rows *train, int s, double add, const double *v,
                          int beside) {
  double sum = 0;
  for (int j = 1; j < N; j++)
    for (int i = 0; i < j; i++) {
      double cell[16], h[3], k[3];
      const int rows = levels[i], columns = levels[j];
      plain_table(test, s, i, j, cell);
      thresholds(train, s, i, add, h), thresholds(train, s, j, add, k);
      for (int a = 0; a < rows; a++)
        for (int b = 0; b < columns; b++)
          for (int independent = 0; independent <= beside; independent++) {
            const double rho = independent ? 0 : correlation(v, i, j);
            const double p = corner(h, k, a, b, rows, columns, rho) - corner(h, k, a + 1, b, rows, columns, rho) -
                             corner(h, k, a, b + 1, rows, columns, rho) +
                             corner(h, k, a + 1, b + 1, rows, columns, rho);
            if (cell[a * columns + b] > 0) sum += (independent ? -1 : 1) * cell[a * columns + b] * log(p);
          }
    }
  return sum;
}

typedef struct {
  level_rows y;
  blica_data *data;
  bl_rows *rows;
  blica_counts *counts;
  bl_heldout *heldout;
} sample;

static sample draw(double missing, uint64_t seed) {
  sample x = {.y = draw_level_rows(N, SEGMENTS, 400, levels, missing, seed)};
  x.data = pack_level_rows(&x.y);
  assert_int_equal(bl_rows_of(ctx, x.data, &x.rows), BLICA_OK);
  assert_int_equal(bl_rows_counts_create(ctx, x.rows, &x.counts), BLICA_OK);
  bl_rows_count(x.rows, x.rows->weight, x.counts);
  assert_int_equal(bl_heldout_make(ctx, x.rows, K, &x.heldout), BLICA_OK);
  return x;
}

static void drop(sample *x) {
  bl_heldout_free(x->heldout);
  blica_counts_free(x->counts);
  bl_rows_free(x->rows);
  blica_data_free(x->data);
  drop_level_rows(&x->y);
}

static void scores_are_sums_over_cells(void **state) {
  (void)state;
  for (int holes = 0; holes < 2; holes++) {
    sample test = draw(holes ? 0.2 : 0, 1), train = draw(holes ? 0.2 : 0, 2);
    for (int s = 0; s < SEGMENTS; s++) {
      const double v[K] = {0.5 + s, 2.5};
      const double found = bl_heldout_score(test.heldout, test.counts, train.counts, s, &model, v);
      const double wanted = plain_score(&test.y, &train.y, s, 1, v, 1);
      if (fabs(found - wanted) > 1e-8 * (1 + fabs(wanted))) fail_msg("score %.12g, not %.12g", found, wanted);
    }
    drop(&test), drop(&train);
  }
}

/* A level that training rows lack keeps some probability. */
static void a_level_that_training_rows_lack(void **state) {
  (void)state;
  sample test = draw(0, 3), train = draw(0, 4);
  const double v[K] = {1, 1};
  drop(&train);
  train.y = draw_level_rows(N, SEGMENTS, 400, levels, 0, 4);
  for (int64_t r = 0; r < train.y.rows; r++)
    if (train.y.x[N * r + 3] == 3) train.y.x[N * r + 3] = 2;
  train.data = pack_level_rows(&train.y);
  assert_int_equal(bl_rows_of(ctx, train.data, &train.rows), BLICA_OK);
  assert_int_equal(bl_rows_counts_create(ctx, train.rows, &train.counts), BLICA_OK);
  bl_rows_count(train.rows, train.rows->weight, train.counts);
  assert_int_equal(bl_heldout_make(ctx, train.rows, K, &train.heldout), BLICA_OK);
  const double found = bl_heldout_score(test.heldout, test.counts, train.counts, 0, &model, v);
  assert_true(isfinite(found));
  assert_compare(fabs(found - plain_score(&test.y, &train.y, 0, 1, v, 1)), <, 1e-7);
  drop(&test), drop(&train);
}

/* The variances maximise half the log-likelihood of the tables, at the margins of the rows themselves, and the prior:
 * the derivative there is small beside the curvature, and no other point is higher. */
static double objective(const sample *x, int s, double sd, const double *log_v) {
  double v[K], sum = 0;
  for (int l = 0; l < K; l++) v[l] = exp(log_v[l]), sum -= 0.5 * log_v[l] * log_v[l] / (sd * sd);
  return sum + 0.5 * plain_score(&x->y, &x->y, s, 0, v, 0);
}

static void variances_are_at_the_maximum(void **state) {
  (void)state;
  sample x = draw(0, 5);
  for (int tight = 0; tight < 2; tight++)
    for (int s = 0; s < SEGMENTS; s++) {
      const double sd = tight ? 0.3 : 2, h = 1e-3;
      double v[K], log_v[K];
      bl_heldout_variances(x.heldout, x.counts, s, &model, sd, v);
      for (int l = 0; l < K; l++) log_v[l] = log(v[l]);
      const double middle = objective(&x, s, sd, log_v);
      for (int l = 0; l < K; l++) {
        const double keep = log_v[l];
        log_v[l] = keep + h;
        const double up = objective(&x, s, sd, log_v);
        log_v[l] = keep - h;
        const double down = objective(&x, s, sd, log_v);
        log_v[l] = keep;
        const double step = (up - down) / (2 * h) / ((2 * middle - up - down) / (h * h));
        assert_compare(2 * middle - up - down, >, 0);
        assert_compare(fabs(step), <, 1e-3); /* of log v */
      }
    }
  drop(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(scores_are_sums_over_cells),
                                     cmocka_unit_test(a_level_that_training_rows_lack),
                                     cmocka_unit_test(variances_are_at_the_maximum)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
