/* heldout.c - held-out rows are judged by the pairwise likelihood of their tables, margins being those of the other
 * rows of the segment. A segment that was held out as a whole has no variances in the model: they are fitted to a part
 * of its rows by Fisher scoring, A being fixed, and the other part is judged. So A is tested on segments that it has
 * not seen. */
#include "inference/select/select.h"

#include <math.h>
#include <string.h>

#include "counts/counts.h"
#include "inference/implied.h"
#include "model/model.h"
#include "num/linear/blas.h"
#include "num/normal/normal.h"

enum { ROUNDS = 50 };

void bl_heldout_free(bl_heldout *h) {
  if (!h) return;
  bl_free(h->pooled);
  bl_free(h);
}

blica_status bl_heldout_make(blica_ctx *ctx, const bl_rows *rows, int k, bl_heldout **out) {
  BL_AUTO(bl_heldout) *h = NULL;
  const size_t n = (size_t)rows->n, pairs = n * (n - 1) / 2;
  const int most = bl_most_levels(rows->coding, rows->n);
  *out = NULL;
  MUST(bl_alloc(ctx, 1, &h));
  h->rows = rows;
  MUST(bl_alloc_for(ctx, h, (size_t)most * most, &h->cell));
  MUST(bl_alloc_for(ctx, h, n, &h->scale));
  MUST(bl_alloc_for(ctx, h, pairs, &h->rho));
  MUST(bl_alloc_for(ctx, h, bl_mul(pairs, (size_t)k), &h->slope));
  MUST(bl_alloc_for(ctx, h, (size_t)k, &h->score));
  MUST(bl_alloc_for(ctx, h, (size_t)k, &h->before));
  MUST(bl_alloc_for(ctx, h, (size_t)k * k, &h->information));
  MUST(bl_table_make(ctx, h, most, &h->with));
  MUST(bl_table_make(ctx, h, most, &h->without));
  MUST(bl_pooled_make(ctx, rows->n, rows->u, rows->coding, false, &h->pooled));
  *out = bl_take(&h);
  return BLICA_OK;
}

/* Thresholds of the columns of item i in segment s; half a row is added to each side, so that a level that training
 * rows lack keeps some probability. */
static void margin(const blica_counts *c, const blica_coding *coding, int s, int i, double *t) {
  for (int p = bl_plane(coding, i); p < bl_plane(coding, i + 1); p++) {
    const size_t at = p + (size_t)s * c->n;
    const int above = bl_plane(coding, i + 1) - p, levels = bl_levels(coding, i);
    *t++ = bl_phi_quantile((c->ones[at] + (double)above / levels) / (c->present[at] + 1));
  }
}

double bl_heldout_score(bl_heldout *h, const blica_counts *test, const blica_counts *train, int s,
                        const blica_model *model, const double *v) {
  const blica_coding *coding = h->rows->coding;
  double sum = 0, first[BL_MOST_LEVELS], second[BL_MOST_LEVELS];
  bl_implied_rho(model->n, model->k, model->link, bl_mixing_in(model, s), v, h->scale, h->rho);
  for (int j = 1; j < h->rows->n; j++)
    for (int i = 0; i < j; i++) {
      const int rows = bl_levels(coding, i), columns = bl_levels(coding, j);
      margin(train, coding, s, i, first), margin(train, coding, s, j, second);
      bl_table_at(rows, columns, first, second, h->rho[blica_pair(i, j)], &h->with);
      bl_table_at(rows, columns, first, second, 0, &h->without);
      bl_counts_cells(test, coding, s, i, j, h->cell);
      for (int c = 0; c < rows * columns; c++)
        if (h->cell[c] > 0) sum += h->cell[c] * log(h->with.cell[c] / h->without.cell[c]);
    }
  return sum;
}

/* score [k] <- the step of Fisher scoring from v; false when the information is singular. */
static bool step_from(bl_heldout *h, const blica_counts *train, int s, const blica_model *model, double sd,
                      const double *v) {
  const int n = model->n, k = model->k, pairs = n * (n - 1) / 2;
  const double *score = h->pooled->score + (size_t)pairs * s, *information = h->pooled->information + (size_t)pairs * s;
  bl_implied_rho(n, k, model->link, model->mixing, v, h->scale, h->rho);
  bl_implied_variance_slope(n, k, model->link, model->mixing, v, h->scale, h->rho, h->slope);
  for (int j = 1; j < n; j++)
    for (int i = 0; i < j; i++) bl_pooled_score(train, s, i, j, h->rho[blica_pair(i, j)], h->pooled);
  for (int a = 0; a < k; a++) {
    const double *slope = h->slope + (size_t)pairs * a;
    h->score[a] = 0.5 * bl_ddot(pairs, score, 1, slope, 1) - log(v[a]) / (sd * sd);
    for (int b = 0; b <= a; b++) {
      double sum = a == b ? 1 / (sd * sd) : 0;
      for (int p = 0; p < pairs; p++) sum += 0.5 * information[p] * slope[p] * h->slope[p + (size_t)pairs * b];
      h->information[a + (size_t)k * b] = sum;
    }
  }
  if (bl_dpotrf('L', k, h->information, k) != 0) return false;
  return bl_dpotrs('L', k, 1, h->information, k, h->score, k) == 0;
}

void bl_heldout_variances(bl_heldout *h, const blica_counts *train, int s, const blica_model *model, double sd,
                          double *v) {
  for (int l = 0; l < model->k; l++) v[l] = 1, h->before[l] = 0;
  bl_pooled_margins(train, h->pooled);
  double most = 1; /* of a step in log v; less where steps go to and fro, as they do between small variances */
  for (int round = 0; round < ROUNDS && step_from(h, train, s, model, sd, v); round++) {
    double largest = 0;
    for (int l = 0; l < model->k; l++) largest = fmax(largest, fabs(h->score[l]));
    if (bl_ddot(model->k, h->score, 1, h->before, 1) < 0) most *= 0.5;
    for (int l = 0; l < model->k; l++) v[l] *= exp(h->score[l] * fmin(1, most / largest));
    if (largest < 1e-4) break;
    memcpy(h->before, h->score, (size_t)model->k * sizeof *h->before);
  }
}
