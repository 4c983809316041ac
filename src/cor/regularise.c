/* regularise.c - bring the condition number of each segment's correlation matrix down to a target.
 *
 * C <- (C + d I)/(1 + d) with d = max(0, (l1 - r ln)/(r - 1)), l1 and ln the largest and smallest eigenvalue, r the
 * target: afterwards l1/ln = r, or it was below r already. The diagonal stays 1, so all that happens is that every
 * correlation is divided by 1 + d. A finite r always gives a positive definite matrix: estimated pair by pair, C need
 * not be one. With r infinite nothing changes but the eigenvalues are recorded.
 *
 * Eigenvalues by LAPACK up to n = BL_LANCZOS_FROM, beyond it by Lanczos
 * (num/linear/lanczos.c) on the packed pairs, whose cost grows as n^2 and not n^3. The shift is then made from the
 * eigenvalues with their error bounds added outwards, so that the condition number is at most r, and below it by a
 * share of 1e-8 at most.
 *
 * Checked in tests/unit/cor/test_regularise.c. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cor/cor.h"
#include "num/linear/blas.h"
#include "num/linear/symmetric.h"

enum { FAILED = 1, OUT_OF_MEMORY };
static const bl_lanczos_options ends = {.low = 1, .high = 1, .tolerance = 1e-9, .max_steps = 1000};

typedef struct {
  blica_ctx *ctx;
  const blica_cor *cor;
  double condition;
  double *buffer; /* per thread: a matrix and the eigenvalue workspace */
  size_t each;
  int *info; /* [u] 0, FAILED or OUT_OF_MEMORY */
  int64_t first;
  double *shift, *low, *high; /* [u] results */
} work;

static size_t work_size(int n) {
  if (n > BL_LANCZOS_FROM) return bl_lanczos_work(n, &ends);
  return (size_t)n * (size_t)n + (size_t)n;
}

/* The two eigenvalues, and by how much each may be wrong beyond rounding. */
static int find_ends(const blica_cor *cor, int64_t s, double *buffer, double value[2], double error[2]) {
  size_t n = (size_t)cor->n;
  error[0] = error[1] = 0;
  if (cor->n <= BL_LANCZOS_FROM) {
    blica_cor_matrix(cor, (int)s, buffer);
    const int info = bl_dsyev('N', 'L', cor->n, buffer, cor->n, buffer + n * n);
    value[0] = buffer[n * n], value[1] = buffer[n * n + n - 1];
    return info != 0 || !isfinite(value[0]) || !isfinite(value[1]);
  }
  bl_symmetric c = bl_cor_view(cor, (int)s);
  return bl_lanczos(&c, &ends, buffer, value, error, NULL) < 0;
}

/* Stores the ends of the spectrum of segment s and the shift that brings the condition number down to the limit. */
static void store_shift(work *w, int64_t s, int info, int error_number, const double value[2], const double error[2]) {
  w->info[s] = info == 0 ? 0 : error_number == ENOMEM ? OUT_OF_MEMORY : FAILED;
  if (info != 0) return;
  double low = value[0] - error[0], high = value[1] + error[1];
  w->shift[s] = isinf(w->condition) ? 0.0 : fmax(0.0, (high - w->condition * low) / (w->condition - 1.0));
  w->low[s] = value[0];
  w->high[s] = value[1];
}

static void segment_task(int64_t task, int thread, void *user) {
  work *w = user;
  int64_t s = w->first + task;
  double value[2] = {NAN, NAN}, error[2];
  errno = 0; /* each thread has its own */
  int info = find_ends(w->cor, s, w->buffer + (size_t)thread * w->each, value, error);
  store_shift(w, s, info, errno, value, error);
}

static blica_status check_segment(blica_ctx *ctx, const work *w, int64_t s) {
  if (w->info[s] == 0) return BLICA_OK;
  errno = w->info[s] == OUT_OF_MEMORY ? ENOMEM : 0;
  return bl_fail_outside(ctx, BLICA_ERR_NUMERIC,
                         "segment '%s': eigenvalues of its correlation matrix cannot be computed%s",
                         w->cor->segments[s], errno ? "" : " (a correlation is not finite)");
}

static blica_status run_segments(blica_ctx *ctx, work *w, int threads) {
  blica_progress progress = {.stage = "regularise", .objective = NAN};
  for (w->first = 0; w->first < w->cor->u; w->first += threads) {
    int64_t left = w->cor->u - w->first, now = left < threads ? left : threads;
    bl_parallel(ctx, now, segment_task, w);
    for (int64_t s = w->first; s < w->first + now; s++) {
      MUST(check_segment(ctx, w, s));
    }
    progress.fraction = (double)(w->first + now) / (double)w->cor->u;
    if (bl_poll(ctx, &progress)) return bl_fail(ctx, BLICA_ERR_INTERRUPTED, "interrupted while regularising");
  }
  return BLICA_OK;
}

blica_status bl_regularise_shifts(blica_ctx *ctx, const blica_cor *cor, double *condition, double *shift, double *low,
                                  double *high) {
  blica_status status = BLICA_OK;
  int threads = bl_max_threads(ctx);
  work w = {.ctx = ctx, .cor = cor, .shift = shift, .low = low, .high = high};
  bl_blas_hold();
  if (*condition == BLICA_CONDITION_DEFAULT) *condition = cor->exact ? INFINITY : 10.0;
  if (!(*condition > 1.0))
    FAIL(ctx, BLICA_ERR_ARGUMENT, "condition %g: must be above 1, as in 10; infinity for none", *condition);
  w.condition = *condition;
  TRY(bl_alloc(ctx, (size_t)cor->u, &w.info));
  if (threads > cor->u) threads = cor->u;
  w.each = (work_size(cor->n) + 7) / 8 * 8;
  TRY(bl_alloc_for(ctx, w.info, bl_mul((size_t)threads, w.each), &w.buffer));
  TRY(run_segments(ctx, &w, threads));
done:
  bl_blas_release();
  bl_free(w.info);
  return status;
}

static void scale_segment(int64_t s, int thread, void *user) {
  blica_cor *cor = user;
  (void)thread;
  const double d = cor->shift[s];
  if (d > 0.0)
    for (int64_t p = s * cor->pairs; p < (s + 1) * cor->pairs; p++) {
      cor->rho[p] /= 1.0 + d;
      if (cor->se) cor->se[p] /= 1.0 + d;
    }
}

blica_status blica_regularise(blica_ctx *ctx, const blica_cor *cor, double condition, blica_cor **out) {
  BL_NEED_OUT(ctx, out, cor);
  BL_AUTO(blica_cor) *copy = NULL;
  MUST(bl_cor_copy(ctx, cor, &copy));
  MUST(bl_regularise_shifts(ctx, cor, &condition, copy->shift, copy->eigen_min, copy->eigen_max));
  copy->condition = condition;
  bl_parallel(ctx, copy->u, scale_segment, copy);
  *out = bl_take(&copy);
  return BLICA_OK;
}
