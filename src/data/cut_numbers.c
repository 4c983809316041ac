/* cut_numbers.c - columns of numbers as items: cut at quantiles into levels, each labelled by its least number.
 *
 * Method: the cuts are order statistics at the shares Phi(c_l), c_1 < ... < c_15 being the cuts of the best quantizer
 * of a normal variable with 16 levels (Max 1960, IEEE Trans. Inf. Theory 6; iterated here to 1e-12). For such a
 * variable the levels keep .9905 of the variance of its normal score, and .981 of the information on the correlation of
 * two; levels of equal shares would keep .978 and .956. docs/data.md has what is lost in samples. */
#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/number.h"

/* Phi(c_l) */
static const double share[BLICA_NUMBER_LEVELS - 1] = {.008180, .032626, .075339, .135822, .211986, .300695, .398118, .5,
                                                      .601882, .699305, .788014, .864178, .924661, .967374, .991820};

/* The values that are not missing, of rows 0, step, 2 step, ...; where to put them may be NULL. */
static int64_t gather(const double *x, int64_t rows, int64_t step, double *to) {
  int64_t count = 0;
  for (int64_t r = 0; r < rows; r += step)
    if (!isnan(x[r])) {
      if (to) to[count] = x[r];
      count++;
    }
  return count;
}

blica_status blica_cut_numbers(blica_ctx *ctx, int64_t rows, const double *x, double cut[BLICA_NUMBER_LEVELS - 1],
                               int *cuts) {
  BL_NEED(ctx, x, cut, cuts);
  BL_OWNED double *sorted = NULL;
  int64_t step = 1;
  *cuts = 0;
  while (gather(x, rows, step, NULL) > BLICA_NUMBER_SAMPLE) step *= 2;
  const int64_t count = gather(x, rows, step, NULL);
  MUST(bl_alloc(ctx, (size_t)count + 1, &sorted));
  gather(x, rows, step, sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, bl_rising);
  int64_t distinct = count > 0;
  for (int64_t r = 1; r < count; r++) distinct += sorted[r] > sorted[r - 1];
  if (distinct < 2)
    return bl_fail(ctx, BLICA_ERR_DATA, "it has %lld different numbers; an item needs at least two levels",
                   (long long)distinct);
  double last = sorted[0];
  const int64_t most = distinct <= BLICA_NUMBER_LEVELS ? count : BLICA_NUMBER_LEVELS - 1;
  for (int64_t l = 0; l < most; l++) {
    const double value = sorted[most == count ? l : (int64_t)(share[l] * (double)count)];
    if (value > last && isfinite(value)) cut[(*cuts)++] = last = value;
  }
  if (*cuts > 0) return BLICA_OK;
  /* most rows have the lowest number: the cut is the next one */
  for (int64_t r = 1; r < count && *cuts == 0; r++)
    if (sorted[r] > sorted[0] && isfinite(sorted[r])) cut[(*cuts)++] = sorted[r];
  return *cuts ? BLICA_OK : bl_fail(ctx, BLICA_ERR_DATA, "it has no finite numbers to cut it at");
}
