/* row_scores.c - influences of units in batches, which a matrix product takes at once, and sums of their scores.
 *
 * The influence of a cluster is the sum over its rows. Without clusters equal rows are one unit that is there several
 * times: with weights w of its rows the unit has size sum w^2 / sum w and is there (sum w)^2 / sum w^2 times, so that
 * sums and products are those of the single rows. Sums run in a fixed order: the same bits for any number of threads.
 *
 * Strata: with z_j what the units of a stratum of m have, sum (z_j - mean z)(z_j - mean z)' m / (m - 1), as in survey's
 * svyrecvar. In place of the units the m - 1 contrasts c_j = (z_j - mean of z_1 .. z_j-1) ((j - 1) / j m / (m - 1))^1/2
 * (Helmert's) are read, which have that sum of squares and add nothing to sums, and their total, which adds no
 * squares. */
#include "inference/scores/row_scores.h"

#include <math.h>
#include <string.h>

#include "num/linear/blas.h"
#include "num/normal/normal.h"

blica_status bl_units_make(blica_ctx *ctx, void *owner, const bl_influence *influence, const bl_rows *rows,
                           bl_units_reader *r) {
  *r = (bl_units_reader){.influence = influence, .rows = rows, .q = influence->statistics, .step = 1};
  MUST(bl_alloc_for(ctx, owner, bl_mul(BL_BATCH + 2, r->q), &r->psi));
  MUST(bl_alloc_for(ctx, owner, BL_BATCH, &r->times));
  MUST(bl_alloc_for(ctx, owner, BL_BATCH, &r->adds));
  return bl_alloc_for(ctx, owner, BL_BATCH + 1, &r->size);
}

static const int8_t *levels_of(const bl_rows *rows, int64_t pattern) {
  return rows->x + (size_t)rows->n * (size_t)pattern;
}

/* psi [q] <- the sum over the rows of a unit. Returns their size. */
static double read_unit(const bl_units_reader *r, int64_t unit, double *psi) {
  double size = 0, *one = r->psi + BL_BATCH * r->q;
  int64_t from, to;
  memset(psi, 0, r->q * sizeof *psi);
  bl_unit_rows(r->rows, unit, &from, &to);
  for (int64_t row = from; row < to; row++) {
    const double w = bl_row_weight(r->rows, row);
    bl_influence_row(r->influence, levels_of(r->rows, r->rows->row[row]), one);
    bl_daxpy((int)r->q, w, one, 1, psi, 1);
    size += w;
  }
  return size;
}

/* bl_units_read with strata: reads units until the batch has no room for two more. The sum of the stratum so far is
 * behind psi and size. */
static int read_contrasts(const bl_units_reader *r, int s, int64_t *at) {
  const bl_rows *rows = r->rows;
  const int q = (int)r->q;
  double *sum = r->psi + r->q * (BL_BATCH + 1), *size = r->size + BL_BATCH;
  int64_t first;
  int count = 0;
  for (const int64_t all = bl_units(rows, s, &first); *at < all && count < BL_BATCH - 1; ++*at) {
    const int64_t unit = first + *at, *peers = rows->peers + 2 * unit;
    const double j = (double)(unit - peers[0]), m = (double)(peers[1] - peers[0]),
                 own = sqrt(j / (j + 1) * m / (m - 1));
    double *psi = r->psi + r->q * (size_t)count;
    const double rows_of = read_unit(r, unit, psi);
    if (j == 0) {
      memcpy(sum, psi, r->q * sizeof *sum);
      *size = rows_of;
      continue;
    }
    for (int i = 0; i < q; i++) {
      const double z = psi[i];
      psi[i] = own * (z - sum[i] / j), sum[i] += z;
    }
    r->size[count] = own * (rows_of - *size / j), *size += rows_of;
    r->adds[count] = 0, r->times[count] = 1;
    count += *at % r->step == 0;
    if (unit + 1 < peers[1]) continue;
    memcpy(r->psi + r->q * (size_t)count, sum, r->q * sizeof *sum);
    r->size[count] = *size, r->adds[count] = 1, r->times[count] = 0;
    count++;
  }
  return count;
}

int bl_units_read(const bl_units_reader *r, int s, int64_t *at) {
  const bl_rows *rows = r->rows;
  int64_t first = rows->first[s], last = rows->first[s + 1];
  if (rows->peers) return read_contrasts(r, s, at);
  if (rows->unit_first) last = bl_units(rows, s, &first) + first;
  const int64_t left = (last - first - *at + r->step - 1) / r->step;
  const int count = left < BL_BATCH ? (int)left : BL_BATCH;
  for (int c = 0; c < count; c++) {
    const int64_t unit = first + *at + c * r->step;
    double *psi = r->psi + r->q * (size_t)c;
    if (rows->unit_first) {
      r->adds[c] = r->times[c] = 1, r->size[c] = read_unit(r, unit, psi);
      continue;
    }
    const double weight = rows->weight[unit], square = rows->square[unit];
    bl_influence_row(r->influence, levels_of(rows, unit), psi);
    r->size[c] = weight > 0 ? square / weight : 0;
    r->adds[c] = r->times[c] = square > 0 ? weight * weight / square : 0;
    if (r->size[c] != 1) bl_dscal((int)r->q, r->size[c], psi, 1);
  }
  *at += count * r->step;
  return count;
}

blica_status bl_score_sums_make(blica_ctx *ctx, void *owner, size_t m, bl_score_sums *sums) {
  MUST(bl_alloc_for(ctx, owner, bl_mul(m, m + 2), &sums->sum));
  sums->sized = sums->sum + m, sums->product = sums->sized + m;
  return BLICA_OK;
}

void bl_score_sums_clear(size_t m, bl_score_sums *sums) {
  memset(sums->sum, 0, m * sizeof *sums->sum);
  memset(sums->sized, 0, m * sizeof *sums->sized);
  memset(sums->product, 0, m * m * sizeof *sums->product);
  sums->units = 0;
}

void bl_score_sums_add(const bl_units_reader *r, int count, size_t m, double *score, bl_score_sums *sums) {
  for (int c = 0; c < count; c++) {
    double *one = score + m * (size_t)c;
    bl_daxpy((int)m, r->adds[c], one, 1, sums->sum, 1);
    bl_daxpy((int)m, r->times[c] * r->size[c], one, 1, sums->sized, 1);
    sums->units += r->times[c] * r->size[c] * r->size[c];
    if (r->times[c] != 1) bl_dscal((int)m, sqrt(r->times[c]), one, 1);
  }
  bl_dsyrk('L', 'N', (int)m, count, 1, score, (int)m, 1, sums->product, (int)m);
}

void bl_score_sums_centre(const double *mean, size_t m, bl_score_sums *sums) {
  for (size_t c = 0; c < m; c++)
    for (size_t r = c; r < m; r++)
      sums->product[r + m * c] += sums->units * mean[r] * mean[c] - sums->sized[r] * mean[c] - mean[r] * sums->sized[c];
}

double bl_units_few(const bl_rows *rows, int s) {
  int64_t first;
  const double units = (double)bl_units(rows, s, &first);
  if (rows->peers) return 1;
  return units > 1 ? units / (units - 1) : 1;
}

blica_status bl_threshold_covariance(blica_ctx *ctx, const bl_rows *rows, const blica_counts *counts, const double *t,
                                     double *covariance) {
  const size_t q = (size_t)rows->planes;
  bl_units_reader units;
  bl_score_sums sums;
  BL_OWNED bl_influence *influence = NULL;
  MUST(bl_influence_make(ctx, rows->n, rows->coding, BL_MARGINS, &influence));
  MUST(bl_units_make(ctx, influence, influence, rows, &units));
  MUST(bl_score_sums_make(ctx, influence, q, &sums));
  bl_blas_hold();
  for (int s = 0; s < rows->u; s++) {
    const double *own = t + q * (size_t)s, few = bl_units_few(rows, s);
    double *to = covariance + q * q * (size_t)s;
    bl_influence_describe(counts, s, NULL, NULL, own, influence);
    bl_score_sums_clear(q, &sums);
    int64_t at = 0;
    for (int count; (count = bl_units_read(&units, s, &at)) > 0;) bl_score_sums_add(&units, count, q, units.psi, &sums);
    for (size_t c = 0; c < q; c++) {
      for (size_t r = c; r < q; r++) to[r + q * c] = to[c + q * r] = few * sums.product[r + q * c];
      const double ones = counts->ones[c + q * s], present = counts->present[c + q * s], share = bl_phi_cdf(own[c]);
      if (ones <= 0 || ones >= present)
        to[c * (q + 1)] = share * (1 - share) / pow(bl_phi_density(own[c]), 2) / fmax(1, present);
    }
  }
  bl_blas_release();
  return BLICA_OK;
}

void bl_row_scores_lags(const bl_units_reader *r, int s, const double *weight, size_t used, const double *scale,
                        double *score, double *z, double *lag) {
  const bl_rows *rows = r->rows;
  const int64_t count = rows->row_first[s + 1] - rows->row_first[s];
  const int64_t *row = rows->row + rows->row_first[s];
  for (int64_t first = 0; first < count; first += BL_BATCH) {
    const int some = count - first < BL_BATCH ? (int)(count - first) : BL_BATCH;
    for (int c = 0; c < some; c++)
      bl_influence_row(r->influence, levels_of(rows, row[first + c]), r->psi + r->q * (size_t)c);
    bl_dgemm('T', 'N', (int)used, some, (int)r->q, 1, weight, (int)r->q, r->psi, (int)r->q, 0, score, (int)used);
    for (int c = 0; c < some; c++)
      for (size_t d = 0; d < used; d++) z[d + used * (size_t)(first + c)] = scale[d] * score[d + used * (size_t)c];
  }
  bl_lag_products(used, count, z, lag);
}
