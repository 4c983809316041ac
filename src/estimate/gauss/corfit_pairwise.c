/* corfit_pairwise.c - one segment of the pairwise likelihood, straight from its 2x2 tables.
 *
 * F = -w sum over pairs and cells of n log P, P11 = Phi2(t_i, t_j; rho), the other cells by subtraction, thresholds
 * fixed at the margins, rho = R_ij. A variable takes part in n - 1 tables, so the terms are not independent: w
 * (1/2 by default, times the option `weight`) keeps them from being counted as if they were. Tables of one variable
 * with all before it are computed eight at a time (num/bvn_kernel.c). */
#include <math.h>

#include "estimate/gauss/corfit.h"
#include "model/model.h"
#include "num/bvn_tables.h"
#include "num/normal.h"

static const double RHO_MAX = 1 - 1e-12; /* at 1 the density is infinite; beyond this the value stays as it is */
enum { TOGETHER = 64 };

blica_status bl_corfit_tails(blica_ctx *ctx, bl_corfit_data *data, double **block) {
  const size_t items = (size_t)data->n * (size_t)data->u;
  blica_status status = bl_alloc(ctx, 2 * items, block);
  for (size_t i = 0; status == BLICA_OK && i < items; i++) {
    (*block)[i] = bl_phi_cdf(data->thresholds[i]);
    (*block)[items + i] = bl_phi_cdf(-data->thresholds[i]);
  }
  if (status == BLICA_OK) data->below = *block, data->above = *block + items;
  return status;
}

typedef struct {
  double h[TOGETHER], below[TOGETHER], above[TOGETHER], rho[TOGETHER], cell[4][TOGETHER], value[TOGETHER],
      slope[TOGETHER];
} batch;

/* Tables of j with first, first + 1, ...; what is left of a multiple of eight is a copy of the last. */
static int fill(const bl_corfit_data *data, int s, int j, int first, const double *rho, batch *b) {
  const size_t base = (size_t)data->n * (size_t)s;
  const int count = j - first < TOGETHER ? j - first : TOGETHER;
  for (int at = 0; at < (count + 7) / 8 * 8; at++) {
    const int i = first + (at < count ? at : count - 1);
    double cell[4];
    blica_counts_table(data->counts, s, i, j, cell);
    for (int c = 0; c < 4; c++) b->cell[c][at] = cell[c];
    b->h[at] = data->thresholds[base + (size_t)i];
    b->below[at] = data->below[base + (size_t)i], b->above[at] = data->above[base + (size_t)i];
    b->rho[at] = fmin(fmax(rho[i], -RHO_MAX), RHO_MAX);
  }
  return count;
}

/* A bl_corfit_pair_term. */
static double pairwise_term(const bl_corfit_data *data, int s, int j, const double *rho, double *slope) {
  const size_t own = (size_t)data->n * (size_t)s + (size_t)j;
  const double weight = data->weight[s];
  double value = 0;
  batch b;
  if (weight == 0) {
    for (int i = 0; i < j; i++) slope[i] = 0;
    return 0;
  }
  const bl_bvn_tables tables = {.h = b.h,
                                .below = b.below,
                                .above = b.above,
                                .k = data->thresholds[own],
                                .k_below = data->below[own],
                                .k_above = data->above[own],
                                .n11 = b.cell[0],
                                .n10 = b.cell[1],
                                .n01 = b.cell[2],
                                .n00 = b.cell[3],
                                .rho = b.rho,
                                .value = b.value,
                                .slope = b.slope};
  for (int first = 0; first < j; first += TOGETHER) {
    const int count = fill(data, s, j, first, rho, &b);
    bl_bvn_tables_run(data->level, &tables, count);
    for (int at = 0; at < count; at++) {
      value += b.value[at];
      slope[first + at] = fabs(rho[first + at]) > RHO_MAX ? 0 : weight * b.slope[at];
    }
  }
  return weight * value;
}

bl_corfit_data bl_corfit_pairwise_data(blica_ctx *ctx, const blica_counts *counts, const blica_model *shape,
                                       double link) {
  return (bl_corfit_data){.n = shape->n,
                          .k = shape->k,
                          .u = shape->u,
                          .link = link,
                          .counts = counts,
                          .thresholds = shape->thresholds,
                          .level = blica_simd_level(ctx),
                          .pair = pairwise_term,
                          .work = bl_corfit_pairs_work(shape->n, shape->k)};
}
