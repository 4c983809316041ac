/* regularise.c - bring the condition number of each segment's correlation matrix down to a target.
 *
 * C <- (C + d I)/(1 + d) with d = max(0, (l1 - r ln)/(r - 1)), l1 and ln the largest and smallest eigenvalue, r the
 * target: afterwards l1/ln = r, or it was below r already. The diagonal stays 1, so all that happens is that every
 * correlation is divided by 1 + d. A finite r always gives a positive definite matrix: estimated pair by pair, C need
 * not be one. With r infinite nothing changes but the eigenvalues are recorded.
 *
 * Checked in tests/unit/test_regularise.c. */
#include <math.h>

#include "cor.h"
#include "num/eigen.h"

typedef struct {
  const blica_cor *cor;
  blica_cor *out;
  double condition;
  double *room; /* per thread: a matrix and the eigenvalue workspace */
  size_t each;
  int *info; /* [u] */
  int64_t first;
} work;

static void segment_task(int64_t task, int thread, void *user) {
  work *w = user;
  int64_t s = w->first + task;
  size_t n = (size_t)w->cor->n;
  double *c = w->room + (size_t)thread * w->each, low = NAN, high = NAN;
  blica_cor_matrix(w->cor, (int)s, c);
  w->info[s] = bl_eigen_extremes((int)n, c, c + n * n, &low, &high);
  if (w->info[s] != 0) return;
  double d = isinf(w->condition) ? 0.0 : fmax(0.0, (high - w->condition * low) / (w->condition - 1.0));
  double *rho = w->out->rho + s * w->cor->pairs, *se = w->out->se + s * w->cor->pairs;
  if (d > 0.0)
    for (int64_t p = 0; p < w->cor->pairs; p++) {
      rho[p] /= 1.0 + d;
      se[p] /= 1.0 + d;
    }
  w->out->shift[s] = d;
  w->out->eigen_min[s] = low;
  w->out->eigen_max[s] = high;
}

static blica_status run_segments(blica_ctx *ctx, work *w, int threads) {
  blica_progress progress = {.stage = "regularise", .objective = NAN};
  for (w->first = 0; w->first < w->cor->u; w->first += threads) {
    int64_t left = w->cor->u - w->first, now = left < threads ? left : threads;
    bl_parallel(ctx, now, segment_task, w);
    for (int64_t s = w->first; s < w->first + now; s++)
      if (w->info[s] != 0)
        return bl_fail(ctx, BLICA_ERR_NUMERIC, "segment '%s': eigenvalues of its correlation matrix cannot be computed (%s)",
                       w->cor->segments[s], "a correlation is not finite");
    progress.fraction = (double)(w->first + now) / w->cor->u;
    if (bl_poll(ctx, &progress)) return bl_fail(ctx, BLICA_ERR_INTERRUPTED, "interrupted while regularising");
  }
  return BLICA_OK;
}

blica_status blica_regularise(blica_ctx *ctx, const blica_cor *cor, double condition, blica_cor **out) {
  blica_status status = BLICA_OK;
  int threads = bl_max_threads(ctx);
  work w = {.cor = cor, .condition = condition};
  *out = NULL;
  if (condition == BLICA_CONDITION_DEFAULT) w.condition = condition = cor->exact ? INFINITY : 10.0;
  if (!(condition > 1.0))
    FAIL(ctx, BLICA_ERR_ARGUMENT, "condition %g: must be above 1, as in 10; infinity for none", condition);
  if (threads > cor->u) threads = cor->u;
  w.each = bl_mul((size_t)cor->n, (size_t)cor->n) + bl_eigen_work(cor->n);
  w.each = (w.each + 7) / 8 * 8;
  TRY(bl_alloc(ctx, bl_mul((size_t)threads, w.each), &w.room));
  TRY(bl_alloc(ctx, (size_t)cor->u, &w.info));
  TRY(bl_cor_copy(ctx, cor, &w.out));
  w.out->condition = condition;
  TRY(run_segments(ctx, &w, threads));
  *out = w.out;
  w.out = NULL;
done:
  blica_cor_free(w.out);
  bl_free(w.room);
  bl_free(w.info);
  return status;
}
