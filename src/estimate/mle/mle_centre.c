/* mle_centre.c - Newton steps that keep the mean of each source's means over all segments.
 *
 * Nothing changes when a source's means move by one number in all segments and the cuts follow by A. So the likelihood
 * is flat in k directions, which the cuts, where there are any, leave to the prior of the means. The directions depend
 * on A: in a metric made at another A the sampled gradient is not 0 along them, and its noise would be divided by the
 * small curvature of the prior. Hence steps under the k constraints C d = 0, C d being the sums of d over the segments:
 * with H the metric, d = x - Z (C Z)^-1 C x, x = H^-1 g, Z = H^-1 C' (Lagrange's multipliers). At the maximum with a
 * prior the sums are 0, so that the constraints take nothing away. */
#include <string.h>

#include "estimate/mle/mle.h"
#include "num/linear/blas.h"

struct bl_centre {
  const bl_mle *m;
  double *move;   /* [size,k] Z */
  double *factor; /* [k,k] of C Z */
  double *sums;   /* [k] */
};

blica_status bl_centre_make(blica_ctx *ctx, const bl_mle *m, bl_centre **out) {
  BL_OWNED bl_centre *c = NULL;
  const size_t k = (size_t)m->k;
  *out = NULL;
  MUST(bl_alloc(ctx, 1, &c));
  c->m = m;
  MUST(bl_alloc_for(ctx, c, bl_mul(m->size, k), &c->move));
  MUST(bl_alloc_for(ctx, c, k * k, &c->factor));
  MUST(bl_alloc_for(ctx, c, k, &c->sums));
  *out = bl_take(&c);
  return BLICA_OK;
}

/* sums [k] <- C d */
static void add_up(const bl_mle *m, const double *d, double *sums) {
  memset(sums, 0, sizeof *sums * (size_t)m->k);
  for (int s = 0; s < m->u; s++)
    for (int j = 0; j < m->k; j++) sums[j] += d[bl_mle_local(m, s) + (size_t)(m->k + j)];
}

bool bl_centre_set(bl_centre *c) {
  const bl_mle *m = c->m;
  const size_t k = (size_t)m->k;
  memset(c->move, 0, sizeof(double) * m->size * k);
  for (size_t j = 0; j < k; j++) {
    double *column = c->move + m->size * j;
    for (int s = 0; s < m->u; s++) column[bl_mle_local(m, s) + k + j] = 1;
    bl_information_solve(m->information, column);
    add_up(m, column, c->factor + k * j);
  }
  return bl_dpotrf('L', (int)k, c->factor, (int)k) == 0;
}

void bl_centre_step(const bl_centre *c, double *step) {
  const int size = (int)c->m->size, k = c->m->k;
  add_up(c->m, step, c->sums);
  bl_dpotrs('L', k, 1, c->factor, k, c->sums, k);
  bl_dgemv('N', size, k, -1, c->move, size, c->sums, 1, 1, step, 1);
}
