/* lbfgs.c - limited-memory BFGS.
 *
 * Method: two-loop recursion (Nocedal and Wright, Numerical Optimization, 2nd ed., algorithm 7.4) with a
 * bracketing line search for the strong Wolfe conditions (their algorithms 3.5 and 3.6, cubic
 * interpolation). Near the solution, where differences of f drown in rounding, a step also passes by the
 * approximate Wolfe conditions of Hager and Zhang (SIAM J. Optim. 16, 2005), which look at slopes only.
 * Checked on quadratics of known solution, Rosenbrock's function and by recomputing gradients. */
#include "num/lbfgs.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "num/dot.h"

static const double C1 = 1e-4, C2 = 0.9;
static const int MAX_TRIALS = 40;

typedef struct {
  size_t size;
  int history, stored, newest; /* pairs kept, pairs there are, index of the latest */
  double *s, *y;               /* [size,history] steps and gradient changes */
  double *rho, *alpha;         /* [history] */
  double *x, *gradient;        /* current point */
  double *trial_x, *trial_g;   /* line search */
  double *direction;
  double value, trial_value;
  bl_objective objective;
  bl_precondition precondition;
  bl_evaluation_check unfinished;
  void *user;
  int64_t iterations, evaluations;
  bool stopped; /* inside an evaluation */
  bool plain;   /* steepest descent: memory is empty and the preconditioner is left out */
} machine;

/* to += factor add, then its product with b (none: NULL): one passage instead of two. */
static double add_and_dot(size_t size, double factor, const double *add, double *to, const double *b) {
  enum { PIECE = 512 };
  double sum[8] = {0};
  for (size_t first = 0; first < size; first += PIECE) {
    const size_t last = first + PIECE < size ? first + PIECE : size;
    for (size_t i = first; i < last; i++) to[i] += factor * add[i];
    if (b) bl_dot_add(first, last, to, b, sum);
  }
  return bl_dot_sum(sum);
}

static double largest(size_t size, const double *a) {
  double most = 0;
  for (size_t i = 0; i < size; i++) most = fmax(most, fabs(a[i]));
  return most;
}

/* Pair j, 0 the newest. */
static int pair_at(const machine *m, int j) {
  return (m->newest - j + m->history) % m->history;
}
static const double *step_at(const machine *m, int j) {
  return m->s + m->size * (size_t)pair_at(m, j);
}
static const double *change_at(const machine *m, int j) {
  return m->y + m->size * (size_t)pair_at(m, j);
}

/* d <- -H g by the two-loop recursion. */
static void quasi_newton_direction(machine *m) {
  double *d = m->direction;
  const int stored = m->stored;
  for (size_t i = 0; i < m->size; i++) d[i] = -m->gradient[i];
  double product = stored ? bl_dot(m->size, step_at(m, 0), d) : 0;
  for (int j = 0; j < stored; j++) {
    double alpha = m->alpha[pair_at(m, j)] = m->rho[pair_at(m, j)] * product;
    product = add_and_dot(m->size, -alpha, change_at(m, j), d, j + 1 < stored ? step_at(m, j + 1) : NULL);
  }
  if (m->precondition && !m->plain) {
    m->precondition(d, m->user);
  } else if (stored) {
    double scale = 1 / (m->rho[m->newest] * bl_dot(m->size, change_at(m, 0), change_at(m, 0)));
    for (size_t i = 0; i < m->size; i++) d[i] *= scale;
  }
  product = stored ? bl_dot(m->size, change_at(m, stored - 1), d) : 0;
  for (int j = stored - 1; j >= 0; j--) {
    double beta = m->rho[pair_at(m, j)] * product;
    product =
        add_and_dot(m->size, m->alpha[pair_at(m, j)] - beta, step_at(m, j), d, j > 0 ? change_at(m, j - 1) : NULL);
  }
}

/* Value and slope along the direction; the trial point stays in trial_x, trial_g, trial_value. */
static double try_step(machine *m, double step, double *slope) {
  for (size_t i = 0; i < m->size; i++) m->trial_x[i] = m->x[i] + step * m->direction[i];
  m->trial_value = m->objective(m->trial_x, m->trial_g, m->user);
  m->evaluations++;
  m->stopped = m->unfinished && m->unfinished(m->user);
  *slope = isfinite(m->trial_value) ? bl_dot(m->size, m->trial_g, m->direction) : NAN;
  return isfinite(*slope) ? m->trial_value : INFINITY;
}

/* Minimiser of the cubic through two values and slopes, kept inside the interval. */
static double interpolate(double a, double fa, double ga, double b, double fb, double gb) {
  double middle = 0.5 * (a + b);
  if (!isfinite(fa) || !isfinite(fb)) return isfinite(fa) ? a + 0.1 * (b - a) : middle;
  double d1 = ga + gb - 3 * (fa - fb) / (a - b);
  double root = d1 * d1 - ga * gb;
  if (!(root >= 0)) return middle;
  double d2 = copysign(sqrt(root), b - a);
  double best = b - (b - a) * (gb + d2 - d1) / (gb - ga + 2 * d2);
  double low = fmin(a, b), high = fmax(a, b), margin = 0.1 * (high - low);
  if (!isfinite(best)) return middle;
  return fmin(fmax(best, low + margin), high - margin);
}

static bool accepts(const machine *m, double step, double value, double slope, double slope0) {
  if (!isfinite(value)) return false;
  if (value <= m->value + C1 * step * slope0 && fabs(slope) <= -C2 * slope0) return true;
  double noise = 4 * DBL_EPSILON * fabs(m->value);
  return value <= m->value + noise && slope >= C2 * slope0 && slope <= (2 * C1 - 1) * slope0;
}

/* Finds a step; false when none passes (the caller may take a lower trial point all the same). */
static bool line_search(machine *m, double step, double slope0) {
  double low = 0, f_low = m->value, g_low = slope0; /* best end of the bracket */
  double high = 0, f_high = 0, g_high = 0;
  bool bracketed = false;
  for (int trial = 0; trial < MAX_TRIALS; trial++) {
    double slope, value = try_step(m, step, &slope);
    if (m->stopped) return false;
    if (accepts(m, step, value, slope, slope0)) return true;
    if (value > m->value + C1 * step * slope0 || value >= f_low) {
      high = step, f_high = value, g_high = slope;
      bracketed = true;
    } else {
      if (bracketed ? slope * (high - low) >= 0 : slope >= 0) {
        high = low, f_high = f_low, g_high = g_low;
        bracketed = true;
      }
      low = step, f_low = value, g_low = slope;
    }
    if (!bracketed) {
      step *= 4;
    } else {
      if (fabs(high - low) * largest(m->size, m->direction) <= DBL_EPSILON * (1 + largest(m->size, m->x))) return false;
      step = interpolate(low, f_low, g_low, high, f_high, g_high);
    }
  }
  return false;
}

/* Remembers the pair of the trial point when its curvature is positive. */
static void remember_pair(machine *m) {
  int at = (m->newest + 1) % m->history;
  double *s = m->s + m->size * (size_t)at, *y = m->y + m->size * (size_t)at;
  for (size_t i = 0; i < m->size; i++) {
    s[i] = m->trial_x[i] - m->x[i];
    y[i] = m->trial_g[i] - m->gradient[i];
  }
  double sy = bl_dot(m->size, s, y);
  if (sy > DBL_EPSILON * bl_dot(m->size, y, y)) {
    m->rho[at] = 1 / sy;
    m->newest = at;
    if (m->stored < m->history) m->stored++;
  }
}

static void accept_trial(machine *m) {
  if (m->history) remember_pair(m);
  memcpy(m->x, m->trial_x, m->size * sizeof *m->x);
  memcpy(m->gradient, m->trial_g, m->size * sizeof *m->gradient);
  m->value = m->trial_value;
}

/* One iteration; when the direction leads nowhere the memory is dropped, then the preconditioner. False when not
 * even steepest descent finds a lower point, or when it was stopped. */
static bool iterate(machine *m) {
  for (;;) {
    quasi_newton_direction(m);
    double slope = bl_dot(m->size, m->gradient, m->direction);
    bool scaled = m->stored || (m->precondition && !m->plain);
    double step = scaled ? 1 : fmin(1, 1 / largest(m->size, m->gradient));
    bool found = slope < 0 && line_search(m, step, slope);
    if (m->stopped) return false;
    if (found || (slope < 0 && m->trial_value < m->value)) {
      accept_trial(m);
      m->plain = false;
      return true;
    }
    if (m->stored)
      m->stored = 0;
    else if (m->precondition && !m->plain)
      m->plain = true;
    else
      return false;
  }
}

/* ---- what a checkpoint keeps ---- */

static void pass_state(bl_serializer *io, void *user) {
  machine *m = user;
  bl_pass_count(io, &m->iterations);
  bl_pass_count(io, &m->evaluations);
  BL_PASS(io, m->value);
  bl_pass_int(io, &m->stored, 0, m->history);
  bl_pass_int(io, &m->newest, -1, m->history - 1);
  if (io->status != BLICA_OK) return;
  bl_pass(io, m->x, m->size * sizeof *m->x);
  bl_pass(io, m->gradient, m->size * sizeof *m->gradient);
  for (int j = 0; j < m->stored; j++) {
    size_t at = (size_t)((m->newest - j + m->history) % m->history);
    BL_PASS(io, m->rho[at]);
    bl_pass(io, m->s + m->size * at, m->size * sizeof *m->s);
    bl_pass(io, m->y + m->size * at, m->size * sizeof *m->y);
  }
}

static void pass_result(bl_serializer *io, void *user) {
  bl_lbfgs_result *result = user;
  int end = (int)result->end;
  BL_PASS(io, result->value);
  BL_PASS(io, result->gradient_max);
  bl_pass_count(io, &result->iterations);
  bl_pass_count(io, &result->evaluations);
  bl_pass_int(io, &end, 0, BL_LBFGS_LINE_SEARCH);
  result->end = (bl_lbfgs_end)end;
}

/* ---- the whole ---- */

/* The state of a resumed run is that after an iteration, before the hook that follows it. */
static bl_lbfgs_end minimise(blica_ctx *ctx, machine *m, const bl_lbfgs_options *options, bl_stage *stage,
                             bool resumed) {
  for (;; resumed = false) {
    if (!resumed) {
      if (largest(m->size, m->gradient) <= options->gradient_tolerance * fmax(1, fabs(m->value)))
        return BL_LBFGS_GRADIENT;
      if (m->iterations >= options->max_iterations) return BL_LBFGS_ITERATIONS;
      if (options->max_evaluations > 0 && m->evaluations >= options->max_evaluations) return BL_LBFGS_ITERATIONS;
      machine kept = *m;
      if (!iterate(m)) {
        if (!m->stopped) return BL_LBFGS_LINE_SEARCH;
        m->evaluations = kept.evaluations, m->stored = kept.stored, m->plain = kept.plain;
        bl_stage_offer(ctx, stage, BL_STOP_REQUESTED, pass_state, m);
        return BL_LBFGS_HOOK;
      }
      m->iterations++;
    }
    int answer =
        options->hook ? options->hook(m->iterations, m->value, largest(m->size, m->gradient), m->user) : BL_CONTINUE;
    bl_stage_offer(ctx, stage, answer, pass_state, m);
    if (answer != BL_CONTINUE) return BL_LBFGS_HOOK;
  }
}

/* The state of a checkpoint, or the value and gradient at x. */
static blica_status set_first_point(blica_ctx *ctx, machine *m, const bl_stage *stage, bool *resumed) {
  *resumed = bl_stage_find(stage) == BL_STAGE_BETWEEN;
  if (*resumed) return bl_stage_load(ctx, stage, pass_state, m);
  m->value = m->objective(m->x, m->gradient, m->user);
  m->evaluations = 1;
  m->stopped = m->unfinished && m->unfinished(m->user);
  if (m->stopped) return BLICA_OK;
  bool smooth = isfinite(bl_dot(m->size, m->gradient, m->gradient));
  if (isfinite(m->value) && smooth) return BLICA_OK;
  return bl_fail(ctx, BLICA_ERR_NUMERIC,
                 "the objective is %g at the starting point and its gradient %s; no minimisation is possible", m->value,
                 smooth ? "finite" : "is not finite");
}

static blica_status allocate_machine(blica_ctx *ctx, machine *m) {
  blica_status status;
  size_t pairs = bl_mul(m->size, (size_t)m->history);
  TRY(bl_alloc(ctx, pairs, &m->s)); /* owns the others */
  TRY(bl_alloc_for(ctx, m->s, pairs, &m->y));
  TRY(bl_alloc_for(ctx, m->s, (size_t)m->history, &m->rho));
  TRY(bl_alloc_for(ctx, m->s, (size_t)m->history, &m->alpha));
  TRY(bl_alloc_for(ctx, m->s, m->size, &m->gradient));
  TRY(bl_alloc_for(ctx, m->s, m->size, &m->trial_x));
  TRY(bl_alloc_for(ctx, m->s, m->size, &m->trial_g));
  TRY(bl_alloc_for(ctx, m->s, m->size, &m->direction));
done:
  return status;
}

blica_status bl_lbfgs(blica_ctx *ctx, size_t size, double *x, bl_objective objective, void *user,
                      const bl_lbfgs_options *options, bl_lbfgs_result *result) {
  blica_status status;
  bl_stage none = {.checkpoint = NULL}, *stage = options->stage ? options->stage : &none;
  bool resumed;
  machine m = {.size = size,
               .history = options->history,
               .newest = -1,
               .x = x,
               .objective = objective,
               .precondition = options->precondition,
               .unfinished = options->unfinished,
               .user = user};
  memset(result, 0, sizeof *result);
  if (bl_stage_find(stage) == BL_STAGE_OVER) return bl_stage_load_at(ctx, stage, pass_result, result, x, size);
  TRY(allocate_machine(ctx, &m));
  TRY(set_first_point(ctx, &m, stage, &resumed));
  if (m.stopped) {
    bl_stage_freeze(stage);
    *result = (bl_lbfgs_result){.value = NAN, .gradient_max = NAN, .end = BL_LBFGS_HOOK};
    goto done;
  }
  bl_stage_enter(ctx, stage);
  result->end = minimise(ctx, &m, options, stage, resumed);
  result->value = m.value;
  result->gradient_max = largest(size, m.gradient);
  result->iterations = m.iterations;
  result->evaluations = m.evaluations;
  if (result->end != BL_LBFGS_HOOK) bl_stage_over_at(ctx, stage, pass_result, result, x, size);
  bl_stage_leave(ctx, stage);
done:
  bl_free(m.s);
  return status;
}
