/* runs.c - do rows depend on those before them while a state lasts?
 *
 * The model says no. Rows of slowly moving sources do, and a chain of states then follows the sources up and down: it
 * predicts held-out rows, though nothing changes. What is left of the dependence within the runs of a state shows it:
 * products of standardised items with themselves some rows before, in the same run. Their test and the decay of a
 * first-order autoregression are those of dependence.c, and so is the number of independent draws that a run holds. */
#include <math.h>
#include <string.h>

#include "inference/verdict.h"
#include "segment/segment.h"

enum { LAGS = 10, NEAR = 3 /* the first of them make the test */ };

/* Mean and inverse standard deviation of every column in every state, [n,S] each; 0 where it does not vary. */
static void standardise(const blica_data *d, const int32_t *state, int states, double *mean, double *scale) {
  const size_t n = (size_t)d->n, size = n * (size_t)states;
  memset(mean, 0, size * sizeof *mean), memset(scale, 0, size * sizeof *scale);
  for (size_t i = 0; i < n; i++)
    for (int64_t r = 0; r < d->rows; r++) {
      const size_t word = i * (size_t)d->words[0] + (size_t)(r / 64), at = i + n * (size_t)state[r];
      mean[at] += (double)(d->ones[0][word] >> (r % 64) & 1);
      scale[at] += !d->present[0] || (d->present[0][word] >> (r % 64) & 1);
    }
  for (size_t at = 0; at < size; at++) {
    mean[at] /= fmax(scale[at], 1);
    const double variance = mean[at] * (1 - mean[at]);
    scale[at] = variance > 0 ? 1 / sqrt(variance) : 0;
  }
}

/* x [n] <- row r less the mean of its state; missing values are 0. */
static void take_row(const blica_data *d, int64_t r, const double *mean, const double *scale, double *x) {
  for (int i = 0; i < d->n; i++) {
    const size_t word = (size_t)i * (size_t)d->words[0] + (size_t)(r / 64);
    const bool seen = !d->present[0] || (d->present[0][word] >> (r % 64) & 1);
    x[i] = seen ? ((double)(d->ones[0][word] >> (r % 64) & 1) - mean[i]) * scale[i] : 0;
  }
}

static double product(int n, const double *x, const double *y) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

/* sum [LAGS+1] of the products at every lag, pairs their number; *square the sum over rows of the squared sum of the
 * near ones. */
static void add_products(const blica_data *d, const int32_t *state, const double *mean, const double *scale,
                         double *last, double *sum, double *pairs, double *square) {
  const size_t n = (size_t)d->n;
  int64_t run = 0;
  for (int64_t r = 0; r < d->rows; r++, run++) {
    double *x = last + n * (size_t)(r % (LAGS + 1));
    if (r > 0 && state[r] != state[r - 1]) run = 0;
    take_row(d, r, mean + n * (size_t)state[r], scale + n * (size_t)state[r], x);
    double near = 0;
    for (int64_t l = 0; l <= LAGS && l <= run; l++) {
      const double one = product(d->n, x, last + n * (size_t)((r - l) % (LAGS + 1)));
      sum[l] += one, pairs[l]++;
      near += l > 0 && l <= NEAR ? one : 0;
    }
    *square += near * near;
  }
}

blica_status bl_run_dependence(blica_ctx *ctx, const blica_data *data, blica_segmentation *result) {
  const size_t size = bl_mul((size_t)data->n, (size_t)result->states);
  BL_OWNED double *mean = NULL, *scale = NULL, *last = NULL;
  double sum[LAGS + 1] = {0}, pairs[LAGS + 1] = {0}, square = 0, both = 0, squares = 0, runs = 0;
  MUST(bl_alloc(ctx, size, &mean));
  MUST(bl_alloc(ctx, size, &scale));
  MUST(bl_alloc(ctx, (size_t)data->n * (LAGS + 1), &last));
  standardise(data, result->state, result->states, mean, scale);
  add_products(data, result->state, mean, scale, last, sum, pairs, &square);
  result->lag = result->lag_z = NAN;
  for (int s = 0; s < result->states; s++) runs += (double)result->runs[s];
  result->draws_per_run = (double)data->rows / runs;
  if (!(pairs[1] > 0 && sum[0] > 0 && square > 0)) return BLICA_OK;
  result->lag = sum[1] / pairs[1] / (sum[0] / pairs[0]);
  result->lag_z = (sum[1] + sum[2] + sum[3]) / sqrt(square);
  if (!bl_verdict_dependent(result->lag_z)) return BLICA_OK;
  for (int l = 1; l < LAGS && pairs[l + 1] > 0; l++) {
    both += pairs[l + 1] * (sum[l] / pairs[l]) * (sum[l + 1] / pairs[l + 1]);
    squares += pairs[l + 1] * pow(sum[l] / pairs[l], 2);
  }
  const double decay = fmin(fmax(both / squares, 0), 0.999);
  result->draws_per_run *= (1 - decay * decay) / (1 + decay * decay);
  return BLICA_OK;
}
