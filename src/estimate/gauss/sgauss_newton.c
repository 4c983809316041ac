/* sgauss_newton.c - damped Newton steps on the scaled Gaussian likelihood.
 *
 * The Hessian has arrow shape: a segment's log v and log q meet only each other and A. They are eliminated
 * segment by segment, leaving a system in A alone (Schur complement). The scale of each column of A, which
 * trades with v, is held by a term along the column itself; it changes the representative, not the step's
 * effect. Where the exact Hessian is not positive definite the Fisher information takes its place;
 * Levenberg-Marquardt damping decides how far to go. Segments are summed in a fixed number of groups, which ranks share
 * out, so the bits do not depend on the number of threads and ranks. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "estimate/gauss/sgauss.h"
#include "num/blas.h"

enum {
  GROUPS = BL_NEWTON_GROUPS,
  MAX_REJECTS = 30,
  FLAT_STEPS = 50, /* steps that must lower the value by FLAT_CHANGE of it, or the objective is too flat to improve
                      further; such data do not determine the parameters either */
  EXTRA_STEPS = 3  /* after the tolerance is met: quadratic convergence reaches the limit of rounding in these, and they
                      bound the steps where the likelihood tends to a limit at infinity */
};

static const double FLAT_CHANGE = 1e-7;

typedef struct {
  blica_ctx *ctx;
  bl_sgauss *g;
  const bl_sgauss_data *data;
  size_t nk, size;
  int m; /* local parameters of a segment */
  int groups;
  bl_share share, segments; /* of the groups, and so of the segments */
  bl_sgauss_hessian *work[GROUPS];
  double *aa;     /* [nk,nk] per group; the first ends as the factor of the Schur complement */
  double *al;     /* [nk,m] per segment: cross block, then times the inverse factor */
  double *ll;     /* [m,m] per segment: factor */
  double *right;  /* [nk] per group */
  double *solved; /* [m] per segment: inverse factor times local gradient */
  double *gradient, *step, *trial, *trial_gradient; /* [size] */
  const double *theta;
  bool fisher;
  double damping;        /* of the matrix in hand */
  double broken[GROUPS]; /* 1: a local block was not positive definite */
} machine;

static double largest(size_t size, const double *a) {
  double most = 0;
  for (size_t i = 0; i < size; i++) most = fmax(most, fabs(a[i]));
  return most;
}

/* Multiplies the diagonal up by the damping; tiny entries are lifted to a share of the largest. */
static void damp(size_t size, double *matrix, double damping) {
  if (damping == 0) return;
  double most = 0;
  for (size_t i = 0; i < size; i++) most = fmax(most, fabs(matrix[i * (size + 1)]));
  for (size_t i = 0; i < size; i++) matrix[i * (size + 1)] += damping * fmax(fabs(matrix[i * (size + 1)]), 1e-6 * most);
}

/* Groups are ranges of segments. */
static int group_start(const machine *t, int64_t group) {
  return (int)(t->data->u * group / t->groups);
}

/* Hessian of the group's segments, local parameters eliminated. */
static void assemble_group(int64_t group, int thread, void *user) {
  (void)thread;
  machine *t = user;
  const bl_sgauss_data *d = t->data;
  const int nk = (int)t->nk, m = t->m;
  double *aa = t->aa + t->nk * t->nk * (size_t)group, *right = t->right + t->nk * (size_t)group;
  memset(aa, 0, t->nk * t->nk * sizeof *aa);
  memset(right, 0, t->nk * sizeof *right);
  t->broken[group] = 0;
  const int first = group_start(t, group), last = group_start(t, group + 1);
  for (int s = first; s < last; s++) {
    double *al = t->al + t->nk * (size_t)m * (size_t)s, *ll = t->ll + (size_t)m * m * (size_t)s;
    bl_sgauss_hessian_segment(t->work[group], s, t->theta, t->fisher, aa, al, ll);
    for (int j = 0; j < d->k; j++) ll[(size_t)j * (m + 1)] += d->precision_variance;
    damp((size_t)m, ll, t->damping);
    if (bl_dpotrf('L', m, ll, m) != 0) {
      t->broken[group] = 1;
      return;
    }
  }
  /* The damped diagonal of A needs the whole sum, so the elimination runs after all groups are in. */
  for (int s = first; s < last; s++) {
    double *al = t->al + t->nk * (size_t)m * (size_t)s, *ll = t->ll + (size_t)m * m * (size_t)s;
    double *solved = t->solved + (size_t)m * (size_t)s;
    bl_dtrsm('R', 'L', 'T', 'N', nk, m, 1, ll, m, al, nk);
    memcpy(solved, t->gradient + bl_sgauss_local(d, s), (size_t)m * sizeof *solved);
    bl_dtrsv('L', 'N', 'N', m, ll, m, solved, 1);
    bl_dgemv('N', nk, m, 1, al, nk, solved, 1, 1, right, 1);
  }
}

/* Holds the scale of each column: adds h a a'/|a|^2 with h the size of the block's diagonal. */
static void hold_scales(machine *t) {
  const int n = t->data->n;
  for (int j = 0; j < t->data->k; j++) {
    const double *a = t->theta + (size_t)j * n;
    double *corner = t->aa + (size_t)j * n * (t->nk + 1), norm = 0, trace = 0;
    for (int i = 0; i < n; i++) norm += a[i] * a[i], trace += corner[(size_t)i * (t->nk + 1)];
    if (norm > 0) bl_dsyr('L', n, fabs(trace) / n / norm, a, 1, corner, (int)t->nk);
  }
}

static void subtract_group(int64_t group, int thread, void *user) {
  (void)thread;
  machine *t = user;
  const int nk = (int)t->nk;
  double *aa = t->aa + t->nk * t->nk * (size_t)group;
  if (group > 0) memset(aa, 0, t->nk * t->nk * sizeof *aa);
  for (int s = group_start(t, group); s < group_start(t, group + 1); s++)
    bl_dsyrk('L', 'N', nk, t->m, -1, t->al + t->nk * (size_t)t->m * (size_t)s, nk, 1, aa, nk);
}

/* Factors the damped Hessian at theta; false when it is not positive definite. */
static bool factor(machine *t, bool fisher, double damping) {
  t->fisher = fisher;
  t->damping = damping;
  const bl_places lists[] = {{t->broken, 1}, {t->right, t->nk}}, sum = {t->aa, t->nk * t->nk};
  bl_share_run(t->ctx, &t->share, assemble_group, t);
  if (bl_share_exchange(t->ctx, &t->share, 2, lists, &sum) != BLICA_OK) return false;
  for (int group = 0; group < t->groups; group++)
    if (t->broken[group] > 0) return false;
  for (size_t i = 0; i < t->nk; i++) t->aa[i * (t->nk + 1)] += t->data->precision_mixing;
  damp(t->nk, t->aa, damping);
  if (t->data->precision_mixing == 0 && t->data->precision_variance == 0) hold_scales(t);
  bl_share_run(t->ctx, &t->share, subtract_group, t);
  if (bl_share_exchange(t->ctx, &t->share, 0, NULL, &sum) != BLICA_OK) return false;
  return bl_dpotrf('L', (int)t->nk, t->aa, (int)t->nk) == 0;
}

/* step <- - (factored Hessian)^-1 gradient. */
static blica_status solve(machine *t) {
  const int nk = (int)t->nk, m = t->m;
  double *step = t->step;
  for (size_t i = 0; i < t->nk; i++) {
    double eliminated = 0;
    for (int group = 0; group < t->groups; group++) eliminated += t->right[t->nk * (size_t)group + i];
    step[i] = eliminated - t->gradient[i];
  }
  bl_dpotrs('L', nk, 1, t->aa, nk, step, nk);
  for (int s = (int)t->segments.first; s < t->segments.last; s++) {
    double *local = step + bl_sgauss_local(t->data, s);
    const double *al = t->al + t->nk * (size_t)m * (size_t)s, *ll = t->ll + (size_t)m * m * (size_t)s;
    memcpy(local, t->solved + (size_t)m * (size_t)s, (size_t)m * sizeof *local);
    bl_dgemv('T', nk, m, -1, al, nk, step, 1, -1, local, 1);
    bl_dtrsv('L', 'T', 'N', m, ll, m, local, 1);
  }
  const bl_places locals = {step + t->nk, (size_t)m};
  return bl_share_exchange(t->ctx, &t->segments, 1, &locals, NULL);
}

static void release(machine *t) {
  for (int i = 0; i < GROUPS; i++) bl_free(t->work[i]);
  bl_free(t->aa);
  bl_share_free(&t->share);
  bl_share_free(&t->segments);
}

static blica_status prepare(machine *t) {
  blica_status status;
  const size_t u = (size_t)t->data->u, m = (size_t)t->m;
  TRY(bl_share_make(t->ctx, t->groups, 0, &t->share));
  TRY(bl_share_make(t->ctx, t->data->u, t->groups, &t->segments));
  for (int i = 0; i < t->groups; i++) TRY(bl_sgauss_hessian_make(t->ctx, t->data, &t->work[i]));
  TRY(bl_alloc(t->ctx, bl_mul(t->nk * t->nk, (size_t)t->groups), &t->aa)); /* owns the others */
  TRY(bl_alloc_for(t->ctx, t->aa, bl_mul(t->nk * m, u), &t->al));
  TRY(bl_alloc_for(t->ctx, t->aa, m * m * u, &t->ll));
  TRY(bl_alloc_for(t->ctx, t->aa, t->nk * (size_t)t->groups, &t->right));
  TRY(bl_alloc_for(t->ctx, t->aa, m * u, &t->solved));
  double **vectors[] = {&t->gradient, &t->step, &t->trial, &t->trial_gradient};
  for (size_t i = 0; i < 4; i++) TRY(bl_alloc_for(t->ctx, t->aa, t->size, vectors[i]));
done:
  return status;
}

/* One step: damping rises until a trial point is lower. Returns false when none is. */
static bool advance(machine *t, double *theta, double *damping, bl_newton_result *result) {
  for (int reject = 0; reject < MAX_REJECTS; reject++) {
    if (!factor(t, false, *damping) && !factor(t, true, fmax(*damping, 1e-8))) {
      *damping = fmax(10 * *damping, 1e-8);
      continue;
    }
    if (solve(t) != BLICA_OK) return false;
    for (size_t i = 0; i < t->size; i++) t->trial[i] = theta[i] + t->step[i];
    double value = bl_sgauss_eval(t->g, t->trial, t->trial_gradient);
    double most = largest(t->size, t->trial_gradient), noise = 1e-14 * fmax(1, fabs(result->value));
    result->evaluations++;
    double expected = 0;
    for (size_t i = 0; i < t->size; i++) expected -= 0.5 * t->gradient[i] * t->step[i];
    double gain = result->value - value;
    if (isfinite(value) &&
        (gain > 0.1 * expected || (expected < 10 * noise && fabs(gain) <= 10 * noise && most < result->gradient_max))) {
      *damping = gain > 0.75 * expected ? 0.1 * *damping : *damping;
      if (*damping < 1e-12) *damping = 0;
      memcpy(theta, t->trial, t->size * sizeof *theta);
      memcpy(t->gradient, t->trial_gradient, t->size * sizeof *theta);
      result->value = value;
      result->gradient_max = most;
      return true;
    }
    if (expected < noise) return false;
    *damping = fmax(8 * *damping, 1e-6);
  }
  return false;
}

/* ---- what a checkpoint keeps ---- */

typedef struct {
  machine *t;
  double *theta;
  bl_newton_result *result;
  double damping, before; /* of the next step; largest gradient before the last one */
  double earlier;         /* value some steps ago */
  int extra;
} progress;

static void pass_result(bl_state *state, void *user) {
  bl_newton_result *r = user;
  BL_PASS(state, r->value);
  BL_PASS(state, r->gradient_max);
  bl_pass_count(state, &r->steps);
  bl_pass_count(state, &r->evaluations);
  bl_pass_flag(state, &r->stopped);
  bl_pass_flag(state, &r->positive);
}

static void pass_progress(bl_state *state, void *user) {
  progress *w = user;
  pass_result(state, w->result);
  BL_PASS(state, w->damping);
  BL_PASS(state, w->before);
  BL_PASS(state, w->earlier);
  bl_pass_int(state, &w->extra, 0, EXTRA_STEPS);
  bl_pass(state, w->theta, w->t->size * sizeof *w->theta);
  bl_pass(state, w->t->gradient, w->t->size * sizeof *w->theta);
}

/* ---- the whole ---- */

/* A run that was taken up stands after a step, before the hook that follows it. */
static void steps(progress *w, const bl_newton_options *options, bool resumed) {
  machine *t = w->t;
  bl_newton_result *result = w->result;
  for (; resumed || (result->steps < options->max_steps && w->extra < EXTRA_STEPS); resumed = false) {
    if (!resumed) {
      w->before = result->gradient_max;
      if (!advance(t, w->theta, &w->damping, result)) return;
      result->steps++;
    }
    int answer =
        options->hook ? options->hook(result->steps, result->value, result->gradient_max, options->user) : BL_CONTINUE;
    bl_stage_offer(t->ctx, options->stage, answer, pass_progress, w);
    if (answer != BL_CONTINUE) {
      result->stopped = true;
      return;
    }
    if (result->steps % FLAT_STEPS == 0) {
      if (w->earlier - result->value < FLAT_CHANGE * fmax(1, fabs(result->value))) return;
      w->earlier = result->value;
    }
    bool small = result->gradient_max <= options->tolerance * fmax(1, fabs(result->value));
    if (small && result->gradient_max > 0.5 * w->before) return;
    w->extra += small;
  }
}

static blica_status begin(progress *w, const bl_stage *stage, bool *resumed) {
  machine *t = w->t;
  *resumed = bl_stage_find(stage) == BL_STAGE_BETWEEN;
  if (*resumed) return bl_stage_load(t->ctx, stage, pass_progress, w);
  w->result->value = bl_sgauss_eval(t->g, w->theta, t->gradient);
  w->earlier = w->result->value;
  w->result->evaluations = 1;
  w->result->gradient_max = largest(t->size, t->gradient);
  return BLICA_OK;
}

blica_status bl_sgauss_newton(blica_ctx *ctx, bl_sgauss *g, double *theta, const bl_newton_options *options,
                              bl_newton_result *result) {
  blica_status status;
  const bl_sgauss_data *d = bl_sgauss_data_of(g);
  bl_stage none = {.checkpoint = NULL}, *stage = options->stage ? options->stage : &none;
  bl_newton_options own = *options;
  bool resumed;
  machine t = {.ctx = ctx, .g = g, .data = d, .nk = (size_t)d->n * d->k, .m = d->n + d->k, .theta = theta};
  progress w = {.t = &t, .theta = theta, .result = result, .damping = 1e-6};
  t.size = bl_sgauss_size(d);
  t.groups = d->u < GROUPS ? d->u : GROUPS;
  own.stage = stage;
  memset(result, 0, sizeof *result);
  if (bl_stage_find(stage) == BL_STAGE_OVER) return bl_stage_load_at(ctx, stage, pass_result, result, theta, t.size);
  TRY(prepare(&t));
  TRY(begin(&w, stage, &resumed));
  bl_stage_enter(ctx, stage);
  steps(&w, &own, resumed);
  result->positive = factor(&t, false, 1e-12);
  if (!result->stopped) bl_stage_over_at(ctx, stage, pass_result, result, theta, t.size);
  bl_stage_leave(ctx, stage);
done:
  release(&t);
  return status;
}
