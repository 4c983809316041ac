/* eigen.c - see eigen.h. The columns are right up to a rotation only, which is enough to try what surrounds a method.
 */
#include "added/eigen.h"

#include <math.h>
#include <string.h>

#include "estimate/multistart.h"
#include "num/linear/blas.h"

enum { MOST = 20 }; /* variables */

static void mean_matrix(const blica_cor *cor, double *mean) {
  double c[MOST * MOST];
  memset(mean, 0, sizeof c);
  for (int s = 0; s < cor->u; s++) {
    blica_cor_matrix(cor, s, c);
    for (int i = 0; i < cor->n * cor->n; i++) mean[i] += c[i] / cor->u;
  }
}

/* theta = [A | log v] */
static blica_status run_start(bl_start *s) {
  const bl_problem *p = s->all->problem;
  const blica_cor *cor = p->cor;
  const int n = cor->n, k = (int)(s->all->size / (size_t)(n + cor->u));
  double e[MOST * MOST], c[MOST * MOST], lambda[MOST];
  mean_matrix(cor, e);
  if (bl_dsyev('V', 'L', n, e, n, lambda) != 0) return bl_fail(s->ctx, BLICA_ERR_NUMERIC, "eigen: no eigenvalues");
  for (int j = 0; j < k; j++) {
    const double *v = e + (size_t)(n - 1 - j) * n, size = sqrt(fmax(lambda[n - 1 - j] - 0.5, 0.1) / p->options->link);
    for (int i = 0; i < n; i++) s->theta[i + j * n] = size * v[i];
    for (int t = 0; t < cor->u; t++) {
      double along = 0;
      blica_cor_matrix(cor, t, c);
      for (int a = 0; a < n * n; a++) along += v[a % n] * c[a] * v[a / n];
      s->theta[n * k + j + t * k] = 2 * log(fmax(along, 0.1) / lambda[n - 1 - j]);
      s->record.objective += along;
    }
  }
  bl_start_set_kind(s, "eigen");
  s->record.stop = bl_start_stop(s, true);
  return BLICA_OK;
}

blica_status bl_estimate_eigen(blica_ctx *ctx, const bl_problem *problem, blica_model *model, bool *means_done) {
  blica_status status;
  const size_t nk = (size_t)model->n * model->k, ku = (size_t)model->k * model->u;
  bl_multistart all = {.problem = problem, .run = run_start, .count = 1, .size = nk + ku, .factor = 1, .keep = true};
  *means_done = false;
  if (model->n > MOST) FAIL(ctx, BLICA_ERR_DATA, "eigen: %d variables; at most %d can be used", model->n, MOST);
  TRY(bl_multistart_run(ctx, &all, &model->fit));
  memcpy(model->mixing, all.best->theta, nk * sizeof(double));
  for (size_t i = 0; i < ku; i++) model->variances[i] = exp(all.best->theta[nk + i]);
done:
  bl_multistart_free(&all);
  return status;
}
