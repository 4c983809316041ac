/* dependence.c - serial dependence of rows within segments, in the order of the data.
 *
 * Items x_i show it best: their autocovariances, summed over items, test it (z = sum of the products x_r'x_(r+1) over
 * the root of their sum of squares) and give the decay f of a first-order autoregression of the sources, by least
 * squares of each lag on the one before. Scores about correlations are quadratic in the sources, so that their
 * autocovariances fall by f^2: their size is fitted by least squares over all lags, and the variance of a sum of scores
 * grows by the inflation c = 1 + 2 sum of their autocorrelations. Centring within segments takes the long-run variance
 * over N_s from every lag; that is given back. Checked on autoregressive sources (bench/results/inference.md). */
#include "inference/scores/row_scores.h"

#include <math.h>

#include "inference/verdict.h"
#include "num/linear/blas.h"

double bl_lag_products(size_t width, int64_t count, double *x, double *lag) {
  double square = 0;
  for (size_t d = 0; d < width; d++) {
    double mean = 0;
    for (int64_t t = 0; t < count; t++) mean += x[d + width * (size_t)t] / (double)count;
    for (int64_t t = 0; t < count; t++) x[d + width * (size_t)t] -= mean;
  }
  for (int64_t l = 0; l <= BL_LAGS && l < count; l++)
    for (int64_t t = 0; t + l < count; t++) {
      const double product = bl_ddot((int)width, x + width * (size_t)t, 1, x + width * (size_t)(t + l), 1);
      lag[l] += product;
      square += l == 1 ? product * product : 0;
    }
  return square;
}

void bl_lag_items(const bl_rows *rows, int s, double *x, bl_lag_sums *sums) {
  const size_t n = (size_t)rows->n;
  const int64_t count = rows->row_first[s + 1] - rows->row_first[s], *row = rows->row + rows->row_first[s];
  for (size_t i = 0; i < n; i++) {
    double have = 0, sum = 0, squares = 0;
    for (int64_t t = 0; t < count; t++) {
      const int8_t value = rows->x[n * (size_t)row[t] + i];
      if (value != BLICA_MISSING) have++, sum += value, squares += (double)value * value;
    }
    const double mean = have > 0 ? sum / have : 0, variance = have > 0 ? squares / have - mean * mean : 0;
    for (int64_t t = 0; t < count; t++) {
      const int8_t value = rows->x[n * (size_t)row[t] + i];
      x[i + n * (size_t)t] = value == BLICA_MISSING || !(variance > 0) ? 0 : (value - mean) / sqrt(variance);
    }
  }
  sums->square = bl_lag_products(n, count, x, sums->item);
}

/* A sum over lags with what centring took from each: `variance` of the sum of all rows, per row. */
static double given_back(const double *sum, const double *lost, int l, double variance) {
  return sum[l] + variance * lost[l];
}

/* Least squares of each lag's mean on that of the lag before. */
static double decay_of(const double *item, const double *pairs, const double *lost, double variance) {
  double both = 0, square = 0;
  for (int l = 1; l < BL_LAGS && pairs[l + 1] > 0; l++) {
    const double here = given_back(item, lost, l, variance) / pairs[l], weight = pairs[l + 1];
    both += weight * here * given_back(item, lost, l + 1, variance) / pairs[l + 1];
    square += weight * here * here;
  }
  return square > 0 ? fmin(fmax(both / square, 0), 0.999) : 0;
}

/* 1 + 2 sum of the autocorrelations own * rate^l that fit the lags best. */
static double long_run(const double *sum, const double *pairs, const double *lost, double rate, double variance,
                       double own) {
  double both = 0, square = 0, power = rate;
  for (int l = 1; l <= BL_LAGS && pairs[l] > 0 && power > 1e-6; l++, power *= rate) {
    both += pairs[l] * power * given_back(sum, lost, l, variance) / pairs[l];
    square += pairs[l] * power * power;
  }
  return square > 0 ? 1 + 2 * fmax(0, both / square) / own * rate / (1 - rate) : 1;
}

bl_dependence bl_dependence_of(const bl_rows *rows, const bl_lag_sums *sums) {
  bl_dependence d = {NAN, NAN, 0, 1, NAN};
  double item[BL_LAGS + 1] = {0}, score[BL_LAGS + 1] = {0}, pairs[BL_LAGS + 1] = {0}, lost[BL_LAGS + 1] = {0};
  double square = 0, spread = 1;
  for (int s = 0; s < rows->u; s++) {
    const double count = (double)rows->total[s];
    square += sums[s].square;
    for (int l = 0; l <= BL_LAGS && l < count; l++) {
      item[l] += sums[s].item[l], score[l] += sums[s].score[l];
      pairs[l] += count - l, lost[l] += (count - l) / count;
    }
  }
  if (!(pairs[1] > 0 && item[0] > 0 && score[0] > 0 && square > 0)) return d;
  const double one = item[0] / (pairs[0] - lost[0]), own = score[0] / (pairs[0] - lost[0]);
  d.lag = (item[1] + one * lost[1]) / pairs[1] / one;
  d.z = (item[1] + one * lost[1]) / sqrt(square);
  d.draws = pairs[0] / rows->u;
  if (!bl_verdict_dependent(d.z)) return d;
  for (int round = 0; round < 50; round++) { /* what centring took depends on the answer */
    d.decay = decay_of(item, pairs, lost, spread * one);
    spread = fmin(long_run(item, pairs, lost, d.decay, spread * one, one), pairs[0] / rows->u);
    d.inflation = fmin(long_run(score, pairs, lost, d.decay * d.decay, d.inflation * own, own), pairs[0] / rows->u);
  }
  d.draws *= (1 - d.decay * d.decay) / (1 + d.decay * d.decay);
  return d;
}
