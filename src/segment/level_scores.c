/* level_scores.c - log P of rows from the pair counts of a state: one ordered probit after the other.
 *
 * In a state the latent variable Y_i of an item is standard normal with cuts from the shares of its levels. A level has
 * the score u = E[Y | level] / sd. P(x) is the product of P(x_i | x_1 .. x_i-1), where Y_i given the items before it is
 * taken as normal with a mean that is linear in their scores: so the probabilities of all patterns sum to 1. The
 * regression needs R, the correlations of the scores, which follow from the pair counts, and Cov(Y_i, u_j) = rho_ij g_j
 * with g_j = sd(E[Y_j | level]). The latent correlation is rho = sin(a R) / sin(a) with sin(a) / a = g_i g_j: exact for
 * two items cut at their medians (a = pi/2), for many levels (a = 0), and to first order in R for all.
 * An approximation that costs n^2 operations and 2 n values of Phi for a row; it is only used to find states, a model
 * decides in the end (emission.c). */
#include "segment/series.h"

#include <math.h>
#include <string.h>

#include "num/linear/blas.h"
#include "num/normal/normal.h"

#define LEAST_SHARE 1e-6 /* of a level */
#define LEAST_P 1e-9     /* of a level given the items before */
#define LEAST_NOISE 0.02 /* variance of Y_i given the items before */
#define NO_CUT 1e3
#define MOST_THRESHOLD 5.0
#define LEAST_GAP 1e-6 /* between cuts, in standard deviations */
#define CONDITION 100.0

/* ---- normal variables behind items ---- */

void bl_latent_cuts(int count, const double *threshold, double sd, double *cut) {
  for (int c = 0; c < count; c++) {
    double at = -sd * fmax(-MOST_THRESHOLD, fmin(MOST_THRESHOLD, threshold[c]));
    cut[c] = c > 0 ? fmax(at, cut[c - 1] + LEAST_GAP * sd) : at;
  }
}

/* Phi^-1, with shares next to 0 and 1 moved to 1e-6 from them. */
static double quantile(double share) {
  return bl_phi_quantile(share < 1e-6 ? 1e-6 : share > 1 - 1e-6 ? 1 - 1e-6 : share);
}

/* Shrinks the correlations [n,n] until their condition number is at most CONDITION: C <- (C + d I)/(1 + d), as
 * blica_regularise. scratch: n n + n doubles. */
static void shrink(int n, double *cor, double *scratch) {
  double *values = scratch + n * n;
  memcpy(scratch, cor, sizeof(double) * (size_t)(n * n));
  if (bl_dsyev('N', 'L', n, scratch, n, values) != 0) return;
  const double low = values[0], high = values[n - 1];
  double shift = (high - CONDITION * low) / (CONDITION - 1);
  if (shift <= 0) return;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      if (i != j) cor[i + j * n] /= 1 + shift;
}

/* ---- a state ---- */

/* Arrays by level hold the levels of one item after another, planes + items in all. */
typedef struct {
  const bl_series *series;
  int n, states, s;
  const double *stat;
  double prior;
  double *cor, *latent;     /* [n,n] R, rho */
  double *spread;           /* [n] g */
  double *score;            /* by level: u */
  double *low, *high;       /* by level: cuts of Y */
  double *factor, *predict; /* rows of the items present: Cholesky's factor of R, 1 over its diagonal; coefficients of
                               the whitened scores */
  double *root;             /* [n] 1 / sd of Y_i given the items before */
  double *white;            /* [n] a row's whitened scores */
  double *scratch;
} state;

size_t bl_level_scores_work(const bl_series *series) {
  const size_t n = (size_t)series->items, places = (size_t)series->n + n;
  return 5 * n * n + 3 * places + 4 * n;
}

static int levels_of(const state *t, int i) {
  return bl_plane(t->series->coding, i + 1) - bl_plane(t->series->coding, i) + 1;
}
/* Where the levels of item i begin. */
static int place_of(const state *t, int i) {
  return bl_plane(t->series->coding, i) + i;
}

/* Sets the cuts and the scores of all levels from their shares, and the standard deviations of the scores. */
static void set_cuts_and_scores(state *t) {
  const bl_series *x = t->series;
  for (int i = 0; i < t->n; i++) {
    const int at = place_of(t, i), count = levels_of(t, i);
    double above = 1, variance = 0; /* share of the level and those above */
    for (int l = 0; l < count; l++) {
      const bool last = l == count - 1;
      double next = last ? 0 : bl_series_share(x, t->states, t->stat, t->s, t->prior, bl_plane(x->coding, i) + l);
      if (!last) next = fmin(next, above - LEAST_SHARE);
      t->low[at + l] = l > 0 ? t->high[at + l - 1] : -NO_CUT;
      t->high[at + l] = last ? NO_CUT : fmax(-quantile(next), t->low[at + l] + LEAST_SHARE);
      double share = fmax(above - next, LEAST_SHARE);
      t->score[at + l] = (bl_phi_density(t->low[at + l]) - bl_phi_density(t->high[at + l])) / share;
      variance += share * t->score[at + l] * t->score[at + l];
      above = next;
    }
    t->spread[i] = sqrt(fmin(fmax(variance, 1e-3), 1));
    for (int l = 0; l < count; l++) t->score[at + l] /= t->spread[i];
  }
}

/* Correlation of the scores of items i < j: scores are sums of steps over the columns. */
static double score_correlation(const state *t, int i, int j) {
  const bl_series *x = t->series;
  const double *u = t->score + place_of(t, i), *v = t->score + place_of(t, j);
  double sum = 0;
  for (int a = 1; a < levels_of(t, i); a++)
    for (int b = 1; b < levels_of(t, j); b++) {
      double four[4];
      bl_series_table(x, t->states, t->stat, t->s, t->prior, bl_plane(x->coding, i) + a - 1,
                      bl_plane(x->coding, j) + b - 1, four);
      double both = four[0] - (four[0] + four[1]) * (four[0] + four[2]);
      sum += (u[a] - u[a - 1]) * (v[b] - v[b - 1]) * both;
    }
  return fmax(-0.99, fmin(0.99, sum));
}

/* sin(a R) / sin(a) with sin(a) / a = g, by two terms of the series of sin(a) / a. */
static double latent_correlation(double r, double g) {
  double square = 10 - sqrt(fmax(100 - 120 * (1 - g), 0)), a = fmin(sqrt(square), 1.5707963267948966);
  return a < 1e-4 ? r : sin(a * r) / sin(a);
}

/* Sets the correlations of the scores, shrunk, and those of the latent variables. */
static void set_correlations(state *t) {
  const int n = t->n;
  for (int j = 0; j < n; j++) {
    t->cor[j + j * n] = 1;
    for (int i = 0; i < j; i++) t->cor[i + j * n] = t->cor[j + i * n] = score_correlation(t, i, j);
  }
  shrink(n, t->cor, t->scratch);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      t->latent[i + j * n] = i == j ? 1 : latent_correlation(t->cor[i + j * n], t->spread[i] * t->spread[j]);
}

/* ---- rows ---- */

/* The regressions of the items present in a group. */
static void regress(state *t, const bl_group *g) {
  const int n = g->n;
  for (int i = 0; i < n; i++) {
    double *row = t->factor + i * n, *to = t->predict + i * n, left = 1, noise = 1;
    const double *cor = t->cor + g->variable[i] * t->n, *latent = t->latent + g->variable[i] * t->n;
    for (int j = 0; j < i; j++) {
      const double *other = t->factor + j * n;
      row[j] = cor[g->variable[j]];
      to[j] = latent[g->variable[j]] * t->spread[g->variable[j]];
      for (int m = 0; m < j; m++) row[j] -= row[m] * other[m], to[j] -= to[m] * other[m];
      row[j] *= other[j], to[j] *= other[j];
      left -= row[j] * row[j], noise -= to[j] * to[j];
    }
    row[i] = 1 / sqrt(fmax(left, 1e-12));
    double shrink = noise < LEAST_NOISE ? sqrt((1 - LEAST_NOISE) / (1 - noise)) : 1;
    for (int j = 0; j < i; j++) to[j] *= shrink;
    t->root[i] = 1 / sqrt(fmax(noise, LEAST_NOISE));
  }
}

/* log P of the patterns of a group, item by item. */
static void run_group(state *t, const bl_group *g, double *log_p) {
  const int n = g->n;
  regress(t, g);
  for (int64_t p = 0; p < g->count; p++) {
    double value = 0;
    for (int i = 0; i < n; i++) {
      const double *row = t->factor + i * n, *to = t->predict + i * n;
      const int at = place_of(t, g->variable[i]) + g->x[p * n + i];
      double sum = t->score[at], mean = 0;
      for (int m = 0; m < i; m++) sum -= row[m] * t->white[m], mean += to[m] * t->white[m];
      t->white[i] = sum * row[i];
      double low = (t->low[at] - mean) * t->root[i], high = (t->high[at] - mean) * t->root[i];
      value += log(fmax(low > 0 ? bl_phi_cdf(-low) - bl_phi_cdf(-high) : bl_phi_cdf(high) - bl_phi_cdf(low), LEAST_P));
    }
    log_p[(g->offset + p) * t->states + t->s] = value;
  }
}

void bl_level_scores(const bl_series *series, const bl_patterns *levels, int states, const double *stat, int s,
                     double prior, double *work, double *log_p) {
  const int n = series->items, places = series->n + n;
  state t = {.series = series, .n = n, .states = states, .s = s, .stat = stat, .prior = prior, .cor = work};
  t.latent = t.cor + n * n;
  t.factor = t.latent + n * n;
  t.predict = t.factor + n * n;
  t.spread = t.predict + n * n;
  t.root = t.spread + n;
  t.white = t.root + n;
  t.score = t.white + n;
  t.low = t.score + places;
  t.high = t.low + places;
  t.scratch = t.high + places;
  set_cuts_and_scores(&t);
  set_correlations(&t);
  for (int g = 0; g < levels->groups; g++) run_group(&t, &levels->group[g], log_p);
}
