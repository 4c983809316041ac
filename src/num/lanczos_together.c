/* lanczos_together.c - Lanczos iterations for several matrices side by side: step j of all, then step j + 1 of those
 * that need it. Where there are fewer matrices than threads or ranks, the products, which are nearly all of the work,
 * are thus shared by all. */
#include <errno.h>

#include "num/lanczos.h"
#include "num/products.h"

enum { PATIENCE = 16 }; /* steps between two questions whether to stop */

typedef struct {
  const bl_lanczos_job *job;
  bl_products products;
  int held, held_end;   /* matrices whose iterations run here */
  bl_lanczos_run *runs; /* [held_end - held] */
  int *error;           /* [held_end - held] */
  double *buffer;
  bl_symmetric *matrix; /* [count] */
  const double **x;     /* [count] */
} group;

static blica_status make(blica_ctx *ctx, int n, group *g) {
  blica_status status;
  const bl_lanczos_job *job = g->job;
  const size_t each = (bl_lanczos_work(n, job->o) + 7) / 8 * 8;
  TRY(bl_products_make(ctx, n, 1, job->count, job->ranks, &g->products));
  const bl_share *share = &g->products.share;
  const int parts = g->products.parts;
  if (job->everywhere)
    g->held_end = job->count;
  else if (share->first < share->last)
    g->held = (int)(share->first / parts), g->held_end = (int)((share->last - 1) / parts) + 1;
  const size_t held = (size_t)(g->held_end - g->held);
  TRY(bl_alloc(ctx, held, &g->runs));
  TRY(bl_alloc(ctx, held, &g->error));
  TRY(bl_alloc(ctx, bl_mul(each, held), &g->buffer));
  TRY(bl_alloc(ctx, (size_t)job->count, &g->matrix));
  TRY(bl_alloc(ctx, (size_t)job->count, &g->x));
  for (int s = g->held; s < g->held_end; s++) {
    g->matrix[s] = job->matrix(s, job->user);
    bl_lanczos_begin(&g->runs[s - g->held], n, job->o, g->buffer + each * (size_t)(s - g->held));
  }
done:
  return status;
}

static void step_task(int64_t index, int thread, void *user) {
  group *g = user;
  bl_lanczos_run *run = &g->runs[index];
  const int s = g->held + (int)index;
  (void)thread;
  if (!g->x[s]) return;
  bl_products_take(&g->products, s, &g->matrix[s], g->x[s], 0, run->n, bl_lanczos_product(run));
  errno = 0;
  bl_lanczos_step(run);
  g->error[index] = errno;
}

/* The vectors to be multiplied; false when no rank has any. */
static bool ask(blica_ctx *ctx, group *g) {
  bool any = false;
  for (int s = g->held; s < g->held_end; s++) {
    g->x[s] = bl_lanczos_vector(&g->runs[s - g->held]);
    any = any || g->x[s];
  }
  return g->job->ranks ? bl_any(ctx, any) : any;
}

blica_status bl_lanczos_together(blica_ctx *ctx, int n, const bl_lanczos_job *job) {
  blica_status status;
  group g = {.job = job};
  TRY(make(ctx, n, &g));
  for (int step = 1; ask(ctx, &g); step++) {
    TRY(bl_products_run(&g.products, g.matrix, g.x));
    bl_parallel(ctx, g.held_end - g.held, step_task, &g);
    if (step % PATIENCE == 0 && job->stop && job->stop(job->user)) break;
  }
  TRY(bl_comm_check(ctx));
  for (int s = g.held; s < g.held_end; s++) {
    const bl_lanczos_run *run = &g.runs[s - g.held];
    job->end(s, run->failed ? -1 : !run->done, g.error[s - g.held], run, job->user);
  }
done:
  bl_products_free(&g.products);
  bl_free(g.runs);
  bl_free(g.error);
  bl_free(g.buffer);
  bl_free(g.matrix);
  bl_free(g.x);
  return status;
}
