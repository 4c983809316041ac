/* scoring.c - the arrow-shaped system of all segments, and Fisher's scoring with it.
 *
 * A segment's local parameters meet only each other and A. They are eliminated segment by segment, leaving a system in
 * A alone (Schur complement). Levenberg-Marquardt damping decides how far a step goes. Without priors the scale of each
 * column of A, which trades with v, is held by a term along the column itself; it changes the representative, not the
 * effect of a step. */
#include <math.h>
#include <string.h>

#include "estimate/gauss/information.h"
#include "num/linear/blas.h"

enum {
  GROUPS = 8,
  WHOLE_MOST = 200,   /* n k up to which the whole information is a preconditioner */
  SCORING_MOST = 800, /* n k: a step costs (n k)^2 (n + k) u and more */
  MAX_REJECTS = 30,
  FLAT_STEPS = 50, /* steps that must lower the value by FLAT_CHANGE of it, or it is too flat to improve further; such
                      data do not determine the parameters either */
  EXTRA_STEPS = 3  /* after the tolerance is met: convergence reaches the limit of rounding in these, and they bound the
                      steps where the likelihood tends to a limit at infinity */
};
static const double FLAT_CHANGE = 1e-7;

/* ---- the system ---- */

static size_t nk_of(const bl_layout *p) {
  return (size_t)p->n * (size_t)p->k;
}
static double *cross_of(const bl_arrow *a, int64_t s) {
  return a->cross + nk_of(&a->layout) * (size_t)a->layout.locals * (size_t)s;
}
static double *local_of(const bl_arrow *a, int64_t s) {
  return a->local + (size_t)a->layout.locals * (size_t)a->layout.locals * (size_t)s;
}

blica_status bl_arrow_make(blica_ctx *ctx, const bl_layout *layout, bl_arrow *out) {
  blica_status status;
  const size_t nk = nk_of(layout), m = (size_t)layout->locals, u = (size_t)layout->u;
  *out = (bl_arrow){.ctx = ctx, .layout = *layout, .groups = layout->u < GROUPS ? layout->u : GROUPS};
  const size_t groups = (size_t)out->groups;
  TRY(bl_alloc(ctx, bl_mul(nk * nk, groups), &out->mixing));
  TRY(bl_alloc_for(ctx, out->mixing, bl_mul(bl_mul(nk, m), u), &out->cross));
  TRY(bl_alloc_for(ctx, out->mixing, bl_mul(m * m, u), &out->local));
  TRY(bl_alloc_for(ctx, out->mixing, bl_mul(bl_information_work(layout->n, layout->k), groups), &out->work));
  TRY(bl_alloc_for(ctx, out->mixing, groups, &out->broken));
done:
  return status;
}

void bl_arrow_free(bl_arrow *a) {
  bl_free(a->mixing);
}

/* Segments of a group. */
static int first_of(const bl_arrow *a, int64_t group) {
  return (int)((int64_t)a->layout.u * group / a->groups);
}

/* The sum of the groups, into the first. */
static bool join_groups(bl_arrow *a) {
  const size_t size = nk_of(&a->layout) * nk_of(&a->layout);
  bool whole = !a->broken[0];
  for (int group = 1; group < a->groups; group++) {
    whole = whole && !a->broken[group];
    for (size_t i = 0; i < size; i++) a->mixing[i] += a->mixing[i + size * (size_t)group];
  }
  return whole;
}

typedef struct {
  bl_arrow *a;
  const bl_criterion *criterion;
  const double *theta;
} informing;

/* Sums the information about A over the segments of a group; keeps their own blocks. */
static void inform_group(int64_t group, int thread, void *user) {
  const informing *w = user;
  bl_arrow *a = w->a;
  const bl_layout *p = &a->layout;
  const size_t nk = nk_of(p);
  double *mixing = a->mixing + nk * nk * (size_t)group,
         *work = a->work + bl_information_work(p->n, p->k) * (size_t)group;
  (void)thread;
  memset(mixing, 0, nk * nk * sizeof *mixing);
  a->broken[group] = false;
  for (int s = first_of(a, group); s < first_of(a, group + 1); s++) {
    const bl_point at = bl_gauss_point(w->criterion->gauss, w->theta, s);
    double *local = local_of(a, s);
    if (!bl_information(&at, mixing, cross_of(a, s), local, work)) a->broken[group] = true;
    for (int j = 0; j < p->k; j++) local[(size_t)j * (size_t)(p->locals + 1)] += w->criterion->precision_variance;
  }
}

bool bl_arrow_inform(bl_arrow *a, const bl_criterion *criterion, const double *theta) {
  informing w = {.a = a, .criterion = criterion, .theta = theta};
  const size_t nk = nk_of(&a->layout);
  bl_parallel(a->ctx, a->groups, inform_group, &w);
  const bool whole = join_groups(a);
  for (size_t i = 0; i < nk; i++) a->mixing[i * (nk + 1)] += criterion->precision_mixing;
  return whole;
}

/* Factors the blocks of the segments of a group and subtracts from the block of A what they explain. */
static void eliminate_group(int64_t group, int thread, void *user) {
  bl_arrow *a = user;
  const int nk = (int)nk_of(&a->layout), m = a->layout.locals;
  double *mixing = a->mixing + (size_t)nk * (size_t)nk * (size_t)group;
  (void)thread;
  a->broken[group] = false;
  if (group > 0) memset(mixing, 0, (size_t)nk * (size_t)nk * sizeof *mixing);
  for (int s = first_of(a, group); s < first_of(a, group + 1); s++) {
    double *local = local_of(a, s), *cross = cross_of(a, s);
    if (bl_dpotrf('L', m, local, m) != 0) {
      a->broken[group] = true;
      return;
    }
    bl_dtrsm('R', 'L', 'T', 'N', nk, m, 1, local, m, cross, nk);
    bl_dsyrk('L', 'N', nk, m, -1, cross, nk, 1, mixing, nk);
  }
}

bool bl_arrow_factor(bl_arrow *a) {
  const int nk = (int)nk_of(&a->layout);
  bl_parallel(a->ctx, a->groups, eliminate_group, a);
  return join_groups(a) && bl_dpotrf('L', nk, a->mixing, nk) == 0;
}

/* step <- - (matrix)^-1 gradient. */
static void solve(const bl_arrow *a, const double *gradient, double *step) {
  const bl_layout *p = &a->layout;
  const int nk = (int)nk_of(p), m = p->locals;
  for (size_t i = 0; i < bl_layout_size(p); i++) step[i] = -gradient[i];
  for (int s = 0; s < p->u; s++) {
    double *own = step + bl_local(p, s);
    bl_dtrsv('L', 'N', 'N', m, local_of(a, s), m, own, 1);
    bl_dgemv('N', nk, m, -1, cross_of(a, s), nk, own, 1, 1, step, 1);
  }
  bl_dpotrs('L', nk, 1, a->mixing, nk, step, nk);
  for (int s = 0; s < p->u; s++) {
    double *own = step + bl_local(p, s);
    bl_dgemv('T', nk, m, -1, cross_of(a, s), nk, step, 1, 1, own, 1);
    bl_dtrsv('L', 'T', 'N', m, local_of(a, s), m, own, 1);
  }
}

/* With S the Schur complement, V the local and B the cross block of a segment, both factors at hand: tr(H^-1) over A is
 * tr S^-1, over the local parameters sum_s tr(V^-1) + tr(V^-1 B' S^-1 B V^-1). */
bool bl_arrow_traces(bl_arrow *a, double *trace_mixing, double *trace_local) {
  const bl_layout *p = &a->layout;
  const int nk = (int)nk_of(p), m = p->locals;
  *trace_mixing = *trace_local = 0;
  for (int s = 0; s < p->u; s++) {
    double *local = local_of(a, s), *cross = cross_of(a, s);
    bl_dtrsm('R', 'L', 'N', 'N', nk, m, 1, local, m, cross, nk);
    bl_dtrsm('L', 'L', 'N', 'N', nk, m, 1, a->mixing, nk, cross, nk);
    *trace_local += bl_ddot(nk * m, cross, 1, cross, 1);
    if (bl_dpotri('L', m, local, m) != 0) return false;
    for (int j = 0; j < m; j++) *trace_local += local[(size_t)j * (size_t)(m + 1)];
  }
  if (bl_dpotri('L', nk, a->mixing, nk) != 0) return false;
  for (int i = 0; i < nk; i++) *trace_mixing += a->mixing[(size_t)i * (size_t)(nk + 1)];
  return true;
}

/* ---- as a preconditioner ---- */

typedef struct {
  bl_arrow arrow;
  const bl_criterion *criterion;
  double *step;
  bool usable;
} whole;

static void close_whole(void *own) {
  whole *w = own;
  bl_arrow_free(&w->arrow);
  bl_free(w);
}

static void set_whole(void *own, const double *theta) {
  whole *w = own;
  w->usable = bl_arrow_inform(&w->arrow, w->criterion, theta) && bl_arrow_factor(&w->arrow);
}

static void apply_whole(void *own, double *g) {
  const whole *w = own;
  if (!w->usable) return;
  solve(&w->arrow, g, w->step);
  for (size_t i = 0; i < bl_layout_size(&w->arrow.layout); i++) g[i] = -w->step[i];
}

bool bl_precondition_whole_fits(const bl_criterion *c) {
  return c->layout.locals == c->layout.k && (int64_t)c->layout.n * c->layout.k <= WHOLE_MOST &&
         c->precision_mixing > 0 && c->precision_variance > 0;
}

blica_status bl_precondition_whole(blica_ctx *ctx, const bl_criterion *criterion, bl_preconditioner *out) {
  blica_status status;
  whole *w = NULL;
  TRY(bl_alloc(ctx, 1, &w));
  w->criterion = criterion;
  TRY(bl_alloc_for(ctx, w, bl_layout_size(&criterion->layout), &w->step));
  TRY(bl_arrow_make(ctx, &criterion->layout, &w->arrow));
  *out = (bl_preconditioner){.own = w, .close = close_whole, .set = set_whole, .apply = apply_whole};
  w = NULL;
done:
  if (w) close_whole(w);
  return status;
}

/* ---- scoring ---- */

typedef struct {
  const bl_criterion *criterion;
  bl_evaluator *e;
  const bl_scoring_options *options;
  bl_arrow arrow;
  size_t size;
  double *theta, *gradient, *step, *trial, *trial_gradient; /* [size]; gradient owns those behind it */
  bl_scoring_result *result;
  double damping, before; /* of the next step; largest gradient before the last one */
  double earlier;         /* value some steps ago */
  int extra;
} scoring;

bool bl_scoring_fits(const bl_layout *layout) {
  return (int64_t)layout->n * layout->k <= SCORING_MOST;
}

static double largest(size_t size, const double *a) {
  double most = 0;
  for (size_t i = 0; i < size; i++) most = fmax(most, fabs(a[i]));
  return most;
}

/* Multiplies the diagonal up by the damping; tiny entries are lifted to a share of the largest. */
static void damp(size_t size, double *matrix, double damping) {
  double most = 0;
  for (size_t i = 0; i < size; i++) most = fmax(most, fabs(matrix[i * (size + 1)]));
  for (size_t i = 0; i < size; i++) matrix[i * (size + 1)] += damping * fmax(fabs(matrix[i * (size + 1)]), 1e-6 * most);
}

/* Holds the scale of each column: adds h a a'/|a|^2 with h the size of the block's diagonal. */
static void hold_scales(scoring *w) {
  const int n = w->arrow.layout.n;
  const size_t nk = nk_of(&w->arrow.layout);
  for (int j = 0; j < w->arrow.layout.k; j++) {
    const double *a = w->theta + (size_t)j * n;
    double *corner = w->arrow.mixing + (size_t)j * n * (nk + 1), trace = 0;
    const double norm = bl_ddot(n, a, 1, a, 1);
    for (int i = 0; i < n; i++) trace += corner[(size_t)i * (nk + 1)];
    if (norm > 0) bl_dsyr('L', n, trace / n / norm, a, 1, corner, (int)nk);
  }
}

/* The step at theta with this damping; false where the damped information is not positive definite. */
static bool find_step(scoring *w, double damping) {
  bl_arrow *a = &w->arrow;
  if (!bl_arrow_inform(a, w->criterion, w->theta)) return false;
  for (int s = 0; s < a->layout.u; s++) damp((size_t)a->layout.locals, local_of(a, s), damping);
  damp(nk_of(&a->layout), a->mixing, damping);
  if (w->criterion->precision_mixing == 0 && w->criterion->precision_variance == 0) hold_scales(w);
  if (!bl_arrow_factor(a)) return false;
  solve(a, w->gradient, w->step);
  return true;
}

/* One step: damping rises until a trial point is lower. Returns false when none is. */
static bool advance(scoring *w) {
  bl_scoring_result *result = w->result;
  for (int reject = 0; reject < MAX_REJECTS; reject++) {
    if (!find_step(w, w->damping)) {
      w->damping = fmax(10 * w->damping, 1e-8);
      continue;
    }
    for (size_t i = 0; i < w->size; i++) w->trial[i] = w->theta[i] + w->step[i];
    const double value = bl_evaluate(w->e, w->trial, w->trial_gradient);
    const double most = largest(w->size, w->trial_gradient), noise = 1e-14 * fmax(1, fabs(result->value));
    const double expected = -0.5 * bl_ddot((int)w->size, w->gradient, 1, w->step, 1), gain = result->value - value;
    result->evaluations++;
    if (isfinite(value) &&
        (gain > 0.1 * expected || (expected < 10 * noise && fabs(gain) <= 10 * noise && most < result->gradient_max))) {
      if (gain > 0.75 * expected) w->damping *= 0.1;
      if (w->damping < 1e-12) w->damping = 0;
      memcpy(w->theta, w->trial, w->size * sizeof *w->theta);
      memcpy(w->gradient, w->trial_gradient, w->size * sizeof *w->theta);
      result->value = value, result->gradient_max = most;
      return true;
    }
    if (expected < noise) return false;
    w->damping = fmax(8 * w->damping, 1e-6);
  }
  return false;
}

static void pass_result(bl_serializer *io, void *user) {
  bl_scoring_result *r = user;
  BL_PASS(io, r->value);
  BL_PASS(io, r->gradient_max);
  bl_pass_count(io, &r->steps);
  bl_pass_count(io, &r->evaluations);
  bl_pass_flag(io, &r->stopped);
}

static void pass_scoring(bl_serializer *io, void *user) {
  scoring *w = user;
  pass_result(io, w->result);
  BL_PASS(io, w->damping);
  BL_PASS(io, w->before);
  BL_PASS(io, w->earlier);
  bl_pass_int(io, &w->extra, 0, EXTRA_STEPS);
  bl_pass(io, w->theta, w->size * sizeof *w->theta);
  bl_pass(io, w->gradient, w->size * sizeof *w->theta);
}

/* A resumed run continues after a step, before the hook that follows it. */
static void run_steps(scoring *w, bool resumed) {
  const bl_scoring_options *o = w->options;
  bl_scoring_result *result = w->result;
  for (; resumed || (result->steps < o->max_steps && w->extra < EXTRA_STEPS); resumed = false) {
    if (!resumed) {
      w->before = result->gradient_max;
      if (!advance(w)) return;
      result->steps++;
    }
    const int answer = o->hook ? o->hook(result->steps, result->value, result->gradient_max, o->user) : BL_CONTINUE;
    bl_stage_offer(w->arrow.ctx, o->stage, answer, pass_scoring, w);
    if (answer != BL_CONTINUE) {
      result->stopped = true;
      return;
    }
    if (result->steps % FLAT_STEPS == 0) {
      if (w->earlier - result->value < FLAT_CHANGE * fmax(1, fabs(result->value))) return;
      w->earlier = result->value;
    }
    const bool small = result->gradient_max <= o->tolerance * fmax(1, fabs(result->value));
    if (small && result->gradient_max > 0.5 * w->before) return;
    w->extra += small;
  }
}

/* Value and gradient where it begins, or the state that a checkpoint has. */
static blica_status begin_scoring(blica_ctx *ctx, scoring *w, bool *resumed) {
  bl_scoring_result *result = w->result;
  *resumed = bl_stage_find(w->options->stage) == BL_STAGE_BETWEEN;
  if (*resumed) return bl_stage_load(ctx, w->options->stage, pass_scoring, w);
  result->value = w->earlier = bl_evaluate(w->e, w->theta, w->gradient);
  result->evaluations = 1;
  result->gradient_max = largest(w->size, w->gradient);
  return BLICA_OK;
}

blica_status bl_scoring(blica_ctx *ctx, const bl_criterion *criterion, bl_evaluator *e, double *theta,
                        const bl_scoring_options *options, bl_scoring_result *result) {
  blica_status status;
  bl_stage none = {.checkpoint = NULL};
  bl_scoring_options own = *options;
  scoring w = {.criterion = criterion, .e = e, .options = &own, .theta = theta, .result = result, .damping = 1e-6};
  bool resumed;
  if (!own.stage) own.stage = &none;
  w.size = bl_layout_size(&criterion->layout);
  memset(result, 0, sizeof *result);
  if (bl_stage_find(own.stage) == BL_STAGE_OVER)
    return bl_stage_load_at(ctx, own.stage, pass_result, result, theta, w.size);
  TRY(bl_arrow_make(ctx, &criterion->layout, &w.arrow));
  TRY(bl_alloc(ctx, w.size, &w.gradient));
  double **vectors[] = {&w.step, &w.trial, &w.trial_gradient};
  for (int i = 0; i < 3; i++) TRY(bl_alloc_for(ctx, w.gradient, w.size, vectors[i]));
  TRY(begin_scoring(ctx, &w, &resumed));
  bl_stage_enter(ctx, own.stage);
  run_steps(&w, resumed);
  if (!result->stopped) bl_stage_over_at(ctx, own.stage, pass_result, result, theta, w.size);
  bl_stage_leave(ctx, own.stage);
done:
  bl_arrow_free(&w.arrow);
  bl_free(w.gradient);
  return status;
}
