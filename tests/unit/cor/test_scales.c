/* Location and scale of ordinal items, from their margins in the segments.
 *
 * With two segments and two cuts the parameters are as many as the margins, so that the maximum of the likelihood is
 * known: sigma_s is in proportion to 1 / (t_1s - t_2s), t the thresholds of segment s, and the locations follow. The
 * standard error is that of log sigma when the cuts are known and the location is not, by sums over the levels. */
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
#include "level_rows.h"
#include "num/normal/normal.h"

static void near(const char *what, int s, double found, double wanted, double tolerance) {
  if (!(fabs(found - wanted) <= tolerance)) fail_msg("%s of segment %d: %.12g, not %.12g", what, s, found, wanted);
}

static blica_cor *correlate(const level_rows *y) {
  blica_counts *counts = count_level_rows(y);
  blica_cor *cor = NULL;
  if (blica_correlate(ctx, counts, &cor) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  blica_counts_free(counts);
  return cor;
}

/* 1 / sqrt of the information about log sigma in `rows` rows, the location being free: with t the thresholds,
 * d P(x >= l) / d (a / sigma) = phi(t_l), d P(x >= l) / d log sigma = -t_l phi(t_l). */
static double error_of_scale(const double *t, int cuts, double rows) {
  double aa = 0, al = 0, ll = 0;
  for (int l = 0; l <= cuts; l++) {
    const double from = l ? bl_phi_cdf(t[l - 1]) : 1, to = l < cuts ? bl_phi_cdf(t[l]) : 0, p = from - to;
    const double up = l ? bl_phi_density(t[l - 1]) : 0, down = l < cuts ? bl_phi_density(t[l]) : 0;
    const double a = up - down, scale = -(l ? t[l - 1] * up : 0) + (l < cuts ? t[l] * down : 0);
    aa += a * a / p, al += a * scale / p, ll += scale * scale / p;
  }
  return 1 / sqrt(rows * (ll - al * al / aa));
}

/* Rows of a segment where item i is present, and thresholds of its levels by counting. */
static double count_margin(const level_rows *y, int s, int i, double *t) {
  double present = 0;
  for (int l = 1; l < y->levels[i]; l++) {
    double above = 0;
    present = 0;
    for (int64_t r = 0; r < y->rows; r++) {
      if (y->segment[r] != s || y->x[r * y->n + i] == BLICA_MISSING) continue;
      present++, above += y->x[r * y->n + i] >= l;
    }
    t[l - 1] = bl_phi_quantile(above / present);
  }
  return present;
}

static void two_segments_with_two_cuts_are_met_exactly(void **state) {
  (void)state;
  for (int holes = 0; holes < 2; holes++) {
    level_rows y = draw_level_rows(3, 2, 4000, (const int[]){3, 2, 3}, holes ? 0.3 : 0, 4);
    blica_cor *cor = correlate(&y);
    for (int i = 0; i < 3; i += 2) {
      double t[2][2], rows[2], *scale = cor->log_scale + i;
      for (int s = 0; s < 2; s++) rows[s] = count_margin(&y, s, i, t[s]);
      /* sigma_s (t_1s - t_2s) is the distance of the cuts, the same in both */
      near("log scale", 1, scale[3] - scale[0], log((t[0][0] - t[0][1]) / (t[1][0] - t[1][1])), 1e-3);
      /* a_s = tau_1 + sigma_s t_1s */
      const double wanted = exp(scale[3]) * t[1][0] - exp(scale[0]) * t[0][0];
      near("location", 1, cor->location[i + 3] - cor->location[i], wanted, 1e-3);
      for (int s = 0; s < 2; s++)
        near("error", s, cor->log_scale_se[i + 3 * s] / error_of_scale(t[s], 2, rows[s]), 1, 1e-3);
    }
    for (int s = 0; s < 2; s++) assert_true(isinf(cor->log_scale_se[1 + 3 * s])); /* two levels show no scale */
    blica_cor_free(cor);
    drop_level_rows(&y);
  }
}

/* With more margins than parameters the maximum has the derivative 0 in every location and scale. The cuts are found by
 * the condition that theirs is 0, too: sums over segments, solved here by Newton steps on differences. */
static double loglik_of(const level_rows *y, int i, const blica_cor *cor, const double *tau) {
  double sum = 0;
  for (int s = 0; s < y->u; s++) {
    const double a = cor->location[i + y->n * s], sigma = exp(cor->log_scale[i + y->n * s]);
    for (int64_t r = 0; r < y->rows; r++) {
      const int8_t x = y->x[r * y->n + i];
      if (y->segment[r] != s || x == BLICA_MISSING) continue;
      const double above = x ? bl_phi_cdf((a - tau[x - 1]) / sigma) : 1;
      sum += log(above - (x + 1 < y->levels[i] ? bl_phi_cdf((a - tau[x]) / sigma) : 0));
    }
  }
  return sum;
}

static void climb_in_cuts(const level_rows *y, int i, const blica_cor *cor, int cuts, double *tau) {
  for (int round = 0; round < 60; round++)
    for (int l = 0; l < cuts; l++) {
      const double h = 1e-4, keep = tau[l], middle = loglik_of(y, i, cor, tau);
      tau[l] = keep + h;
      const double up = loglik_of(y, i, cor, tau);
      tau[l] = keep - h;
      const double down = loglik_of(y, i, cor, tau);
      tau[l] = keep - (up - down) / 2 * h / (up - 2 * middle + down);
    }
}

static void four_segments_are_at_the_maximum(void **state) {
  (void)state;
  level_rows y = draw_level_rows(2, 4, 600, (const int[]){4, 5}, 0.2, 8);
  blica_cor *cor = correlate(&y);
  for (int i = 0; i < 2; i++) {
    double tau[4], t[4];
    const int cuts = y.levels[i] - 1;
    count_margin(&y, 0, i, t);
    for (int l = 0; l < cuts; l++) tau[l] = cor->location[i] - exp(cor->log_scale[i]) * t[l];
    climb_in_cuts(&y, i, cor, cuts, tau);
    for (int s = 0; s < 4; s++)
      for (int which = 0; which < 2; which++) {
        double *x = (which ? cor->log_scale : cor->location) + i + 2 * s, keep = *x, side[2];
        for (int up = 0; up < 2; up++) {
          *x = keep + (up ? 1e-4 : -1e-4);
          side[up] = loglik_of(&y, i, cor, tau);
        }
        *x = keep;
        /* in units of a standard error: the weak prior, which is taken out of the scales alone, moves the maximum by
         * less than 0.01 of one */
        const double slope = (side[1] - side[0]) / 2e-4;
        near("derivative", s, slope * cor->log_scale_se[i + 2 * s], 0, 1e-2);
      }
  }
  blica_cor_free(cor);
  drop_level_rows(&y);
}

/* A level that nobody has is no cut; one that somebody has in one segment alone is; and a segment where the item has no
 * value has no scale. */
static void levels_and_segments_without_rows(void **state) {
  (void)state;
  level_rows y = draw_level_rows(2, 3, 3000, (const int[]){3, 3}, 0, 2);
  level_rows z = draw_level_rows(2, 3, 3000, (const int[]){5, 3}, 0, 2);
  static const int8_t wider[3] = {0, 2, 3}; /* of five: nobody has the second and the last */
  for (int64_t r = 0; r < y.rows; r++) {
    if (y.segment[r] == 2) y.x[2 * r] = BLICA_MISSING;
    z.x[2 * r] = y.x[2 * r] == BLICA_MISSING ? BLICA_MISSING : wider[y.x[2 * r]];
    z.x[2 * r + 1] = y.x[2 * r + 1];
  }
  blica_cor *three = correlate(&y), *five = correlate(&z);
  assert_true(isinf(three->log_scale_se[0 + 2 * 2]) && isfinite(three->log_scale_se[1 + 2 * 2]));
  near("location", 2, three->location[4], 0, 0);
  near("log scale", 2, three->log_scale[4], 0, 0);
  for (int at = 0; at < 6; at++) {
    if (at != 4) near("log scale", at / 2, five->log_scale[at], three->log_scale[at], 1e-9);
    if (at != 4) near("error", at / 2, five->log_scale_se[at], three->log_scale_se[at], 1e-9);
  }
  blica_cor_free(three), blica_cor_free(five);
  drop_level_rows(&y), drop_level_rows(&z);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(two_segments_with_two_cuts_are_met_exactly),
                                     cmocka_unit_test(four_segments_are_at_the_maximum),
                                     cmocka_unit_test(levels_and_segments_without_rows)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
