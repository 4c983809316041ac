/* lanczos_together.c - Lanczos iterations for several matrices side by side: step j of all, then step j + 1 of those
 * that need it. Where there are fewer matrices than threads, the products, which are nearly all of the work, are thus
 * shared by all. */
#include <errno.h>

#include "num/linear/lanczos.h"
#include "num/linear/products.h"

enum { PATIENCE = 16 }; /* steps between two questions whether to stop */

typedef struct {
  const bl_lanczos_job *job;
  bl_products products;
  bl_lanczos_run *runs; /* [count], as are the next */
  int *error;
  bl_symmetric *matrix;
  const double **x;
  double *buffer;
} group;

static blica_status make(blica_ctx *ctx, int n, group *g) {
  blica_status status;
  const bl_lanczos_job *job = g->job;
  const size_t each = (bl_lanczos_work(n, job->o) + 7) / 8 * 8, count = (size_t)job->count;
  TRY(bl_products_make(ctx, n, 1, job->count, &g->products));
  TRY(bl_alloc(ctx, count, &g->runs)); /* owns the others */
  TRY(bl_alloc_for(ctx, g->runs, count, &g->error));
  TRY(bl_alloc_for(ctx, g->runs, bl_mul(each, count), &g->buffer));
  TRY(bl_alloc_for(ctx, g->runs, count, &g->matrix));
  TRY(bl_alloc_for(ctx, g->runs, count, &g->x));
  for (int s = 0; s < job->count; s++) {
    g->matrix[s] = job->matrix(s, job->user);
    bl_lanczos_begin(&g->runs[s], n, job->o, g->buffer + each * (size_t)s);
  }
done:
  return status;
}

static void step_task(int64_t s, int thread, void *user) {
  group *g = user;
  bl_lanczos_run *run = &g->runs[s];
  (void)thread;
  if (!g->x[s]) return;
  bl_products_take(&g->products, (int)s, &g->matrix[s], g->x[s], 0, run->n, bl_lanczos_product(run));
  errno = 0;
  bl_lanczos_step(run);
  g->error[s] = errno;
}

/* The vectors to be multiplied; false when there are none. */
static bool ask(group *g) {
  bool any = false;
  for (int s = 0; s < g->job->count; s++) {
    g->x[s] = bl_lanczos_vector(&g->runs[s]);
    any = any || g->x[s];
  }
  return any;
}

blica_status bl_lanczos_together(blica_ctx *ctx, int n, const bl_lanczos_job *job) {
  blica_status status;
  group g = {.job = job};
  TRY(make(ctx, n, &g));
  for (int step = 1; ask(&g); step++) {
    TRY(bl_products_run(&g.products, g.matrix, g.x));
    bl_parallel(ctx, job->count, step_task, &g);
    if (step % PATIENCE == 0 && job->stop && job->stop(job->user)) break;
  }
  for (int s = 0; s < job->count; s++)
    job->end(s, g.runs[s].failed ? -1 : !g.runs[s].done, g.error[s], &g.runs[s], job->user);
done:
  bl_products_free(&g.products);
  bl_free(g.runs);
  return status;
}
