/* multistart.c - the driver of all estimators. See multistart.h. */
#include "estimate/multistart.h"

#include <math.h>
#include <stdio.h>

#include "base/split.h"

/* ---- duplicates ---- */

/* Columns of two mixing matrices are the same where 1 - |cos| of their angle is at most this: three times what is left
 * between starts of one optimum at the rough tolerance, a third of the least that was seen between different optima
 * (bench/results/default_estimator.md). */
static const double SAME_COLUMN = 1e-3;

static double dot(int n, const double *a, const double *b) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* Whether one of the k columns of b has the direction of a, up to sign. Columns of zeros have none. */
static bool has_column(int n, int k, const double *a, const double *b) {
  const double aa = dot(n, a, a);
  for (int j = 0; j < k; j++, b += n) {
    const double norms = sqrt(aa * dot(n, b, b));
    if (norms > 0 && fabs(dot(n, a, b)) >= (1 - SAME_COLUMN) * norms) return true;
  }
  return false;
}

/* Whether two mixing matrices are equal up to order, sign and scale of the columns. */
static bool same_mixing(int n, int k, const double *a, const double *b) {
  for (int j = 0; j < k; j++)
    if (!has_column(n, k, a + (size_t)n * j, b) || !has_column(n, k, b + (size_t)n * j, a)) return false;
  return true;
}

/* Whether the start has reached the point where the first start ended. It depends on its point alone, so that a resumed
 * fit decides as it did before. */
static bool is_duplicate(const bl_start *s) {
  const bl_multistart *all = s->all;
  const blica_stop first = all->start[0].record.stop;
  return s->racing && (first == BLICA_STOP_COMPARED || first == BLICA_STOP_CONVERGED) &&
         same_mixing(all->n, all->k, s->theta, all->start[0].theta);
}

/* ---- inside a start ---- */

/* Remembers when the objective grew by a quarter or more since the last time; thins out when full. */
static void trace(bl_start *s, double objective) {
  if (s->traced && objective - s->trace_objective[s->traced - 1] < 0.25) return;
  if (s->traced == BL_TRACE) {
    for (int i = 0; i < BL_TRACE / 2; i++) {
      s->trace_seconds[i] = s->trace_seconds[2 * i + 1];
      s->trace_objective[i] = s->trace_objective[2 * i + 1];
    }
    s->traced = BL_TRACE / 2;
  }
  s->trace_seconds[s->traced] = bl_seconds() - s->begun;
  s->trace_objective[s->traced++] = objective;
}

void bl_start_poll(bl_start *s) {
  int stop = bl_poll_agreed(s->ctx, &s->loop_poll.progress, s->all->problem->deadline);
  if (stop & 1) s->interrupted = true;
  if (stop & 2) s->out_of_time = true;
}

bool bl_start_stopped(const bl_start *s) {
  return s->interrupted || s->out_of_time;
}

int bl_start_hook(int64_t iteration, double value, double gradient_max, void *user) {
  bl_start *s = user;
  const double objective = s->all->constant - s->all->factor * value;
  (void)gradient_max;
  trace(s, objective);
  s->loop_poll.progress = (blica_progress){"fit", -1, objective, s->index, s->iterations + iteration};
  bl_start_poll(s);
  return bl_start_stopped(s) ? BL_STOP_REQUESTED : is_duplicate(s) ? BL_LIMIT_REACHED : BL_CONTINUE;
}

bool bl_start_ended(const bl_start *s) {
  return bl_start_stopped(s) || is_duplicate(s);
}

bool bl_start_unfinished(void *user) {
  bl_start *s = user;
  if (!s->loop_poll.armed || !s->loop_poll.stopped) return false;
  bl_start_poll(s);
  return true;
}

blica_stop bl_start_stop(const bl_start *s, bool converged) {
  return converged                                                   ? BLICA_STOP_CONVERGED
         : s->interrupted                                            ? BLICA_STOP_INTERRUPTED
         : s->out_of_time                                            ? BLICA_STOP_TIME
         : s->iterations >= s->all->problem->options->max_iterations ? BLICA_STOP_ITERATIONS
                                                                     : BLICA_STOP_STALLED;
}

/* A row with at least this norm counts as infinite: the noise of the link is 1e-4 of the signal. */
static const double INFINITE_ROW = 100;

bool bl_is_unbounded(int n, int k, int u, double link, const double *mixing, const double *log_v, size_t stride) {
  double largest = 0;
  for (int s = 0; s < u; s++)
    for (int i = 0; i < n; i++) {
      double squares = 0;
      for (int j = 0; j < k; j++) {
        double a = mixing[i + (size_t)j * n];
        squares += link * a * a * exp(log_v[(size_t)s * stride + (size_t)j]);
      }
      largest = fmax(largest, squares);
    }
  return sqrt(largest) > INFINITE_ROW;
}

void bl_start_set_kind(bl_start *s, const char *kind) {
  snprintf(s->record.kind, sizeof s->record.kind, "%s", kind);
}

/* ---- a start in a checkpoint ---- */

typedef struct {
  blica_start *record;
  double *theta; /* [size] */
  size_t size;
} start_end;

static bool plain_text(const char *text, size_t capacity) {
  for (size_t i = 0; i < capacity; i++) {
    if (text[i] == 0) return true;
    if (text[i] < ' ' || text[i] > '~') return false;
  }
  return false;
}

static void pass_start(bl_serializer *io, void *user) {
  start_end *end = user;
  blica_start *r = end->record;
  int stop = (int)r->stop;
  BL_PASS(io, r->kind);
  BL_PASS(io, r->objective);
  BL_PASS(io, r->gradient);
  bl_pass_count(io, &r->iterations);
  bl_pass_count(io, &r->evaluations);
  BL_PASS(io, r->seconds);
  BL_PASS(io, r->seconds_near);
  bl_pass_int(io, &stop, BLICA_STOP_CONVERGED, BLICA_STOP_DUPLICATE);
  if (!plain_text(r->kind, sizeof r->kind) && io->status == BLICA_OK) io->status = BLICA_ERR_FORMAT;
  r->stop = (blica_stop)stop;
  bl_pass(io, end->theta, end->size * sizeof *end->theta);
}

/* ---- one start ---- */

/* Runs `work` on a start, with the start's own polling in loops. */
static blica_status work_polled(bl_start *s, bl_start_fn work) {
  bl_loop_poll *outer = bl_loop_poll_of(s->ctx);
  bl_loop_poll_set(s->ctx, &s->loop_poll);
  blica_status status = work(s);
  bl_loop_poll_set(s->ctx, outer);
  s->record.iterations = s->iterations;
  return status;
}

static void record_seconds(bl_start *s) {
  s->record.seconds = s->record.seconds_near = bl_seconds() - s->begun;
  for (int i = s->traced - 1; i >= 0 && s->loop_poll.progress.objective - s->trace_objective[i] <= 1; i--)
    s->record.seconds_near = s->trace_seconds[i];
}

/* Runs a start from its first point to its end, or takes its end from a checkpoint. */
static blica_status run_start(bl_start *s) {
  start_end end = {&s->record, s->theta, s->all->size};
  blica_status status;
  if (s->all->keep && bl_stage_find(&s->stage) == BL_STAGE_OVER) {
    TRY(bl_stage_load(s->ctx, &s->stage, pass_start, &end));
    s->iterations = s->record.iterations;
    goto done;
  }
  s->begun = bl_seconds();
  s->racing = s->all->n > 0 && s->index > 0;
  TRY(work_polled(s, s->all->run));
  if (!bl_start_stopped(s) && is_duplicate(s)) s->record.stop = BLICA_STOP_DUPLICATE;
  s->racing = false;
  record_seconds(s);
  if (s->all->keep) bl_stage_over(s->ctx, &s->stage, pass_start, &end);
done:
  return status;
}

/* Once the user or the clock said stop no further start is begun. */
static bool is_over(const blica_ctx *ctx, const bl_multistart *all) {
  return bl_interrupted(ctx) || bl_seconds() > all->problem->deadline;
}

/* ---- all starts ---- */

/* Runs one start after the other, each with all threads and ranks; stops when the time is over, but never before the
 * first. */
static blica_status run_starts(blica_ctx *ctx, bl_multistart *all) {
  blica_status status = BLICA_OK;
  for (int i = 0; i < all->count; i++) {
    if (i > 0 && bl_any(ctx, is_over(ctx, all))) {
      bl_stage_freeze(&all->problem->stage);
      break;
    }
    TRY(run_start(&all->start[i]));
  }
done:
  return status;
}

/* ---- the record ---- */

static void record_best(const bl_multistart *all, blica_fit_report *fit) {
  fit->objective = all->best->record.objective;
  fit->iterations = all->best->record.iterations;
  fit->evaluations = all->best->record.evaluations;
  fit->stop = all->best->record.stop;
}

/* Records the starts that were begun, in order, and takes the best. */
static void take_best(bl_multistart *all, blica_fit_report *fit) {
  int begun = 0;
  all->best = all->start;
  for (int i = 0; i < all->count; i++) {
    const blica_start *record = &all->start[i].record;
    if (!record->kind[0]) continue;
    if (record->objective > all->best->record.objective) all->best = &all->start[i], fit->best_start = begun;
    fit->starts[begun++] = *record;
  }
  fit->n_starts = begun;
  record_best(all, fit);
}

blica_status bl_multistart_run(blica_ctx *ctx, bl_multistart *all, blica_fit_report *fit) {
  blica_status status;
  const bl_problem *p = all->problem;
  fit->n_starts = all->count;
  TRY(bl_alloc(ctx, (size_t)all->count, &fit->starts));
  TRY(bl_alloc(ctx, (size_t)all->count, &all->start));
  TRY(bl_alloc_for(ctx, all->start, bl_mul(all->size, (size_t)all->count), &all->points));
  for (int i = 0; i < all->count; i++) {
    bl_start *s = &all->start[i];
    s->ctx = ctx, s->all = all, s->index = i;
    s->theta = all->points + all->size * (size_t)i;
    s->stage = all->keep ? bl_stage_below(&p->stage, "start %d", i) : p->stage;
    s->loop_poll.deadline = p->deadline;
    s->loop_poll.progress = (blica_progress){"fit", -1, NAN, i, 0};
  }
  TRY(run_starts(ctx, all));
  take_best(all, fit);
done:
  return status;
}

blica_status bl_multistart_continue(bl_multistart *all, bl_start_fn more, blica_fit_report *fit) {
  MUST(work_polled(all->best, more));
  record_best(all, fit);
  return BLICA_OK;
}

blica_status bl_multistart_end(bl_multistart *all, bl_start_fn more, blica_fit_report *fit) {
  bl_start *s = all->best;
  if (s->record.stop != BLICA_STOP_DUPLICATE) return BLICA_OK;
  s->begun = bl_seconds() - s->record.seconds; /* without the time of other starts */
  MUST(bl_multistart_continue(all, more, fit));
  record_seconds(s);
  fit->starts[fit->best_start] = s->record;
  return BLICA_OK;
}

void bl_multistart_free(bl_multistart *all) {
  bl_free(all->start);
}
