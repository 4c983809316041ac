/* condition.c - condition=auto of method blica: the target of the regularisation is learned from held-out segments.
 *
 * The segments are divided at random into parts; A is estimated without a part, under each candidate, and judged by it.
 * A is all that segments have in common, so held-out segments keep A and get variances of their own. The score is the
 * sum of squared differences between their correlations and the model's, both under the candidate's regularisation, in
 * units of standard errors (equation 28 of docs/method.md): a likelihood would reward the candidate that changes C
 * least, and with it the solutions that small eigenvalues lead astray. Segments are held out, not rows, for two
 * reasons: counts or correlations are enough, and the number of rows of a segment, which decides how much
 * regularisation it needs, stays what it is in the fit. Among candidates that do not differ on the held-out segments
 * the one nearest to 10 is taken. Evidence: docs/methods.md. */
#include <math.h>
#include <string.h>

#include "base/share.h"
#include "cor/cor.h"
#include "estimate/corfit.h"
#include "estimate/estimate.h"
#include "num/lbfgs.h"
#include "num/rng.h"

static const double candidates[] = {2, 3, 5, 10, 20, 50, 100, 300};
enum {
  CANDIDATES = sizeof candidates / sizeof *candidates,
  FEWEST = 4,           /* segments */
  PARTS = 5,            /* of the segments, held out one after the other */
  FEW = 8,              /* below this many, segments are left out one at a time */
  FIT_ITERATIONS = 200, /* enough for a well-posed fit from joint diagonalisation; others need not end */
  SCORE_ITERATIONS = 200,
  HISTORY = 10
};
static const double FIT_TOLERANCE = 1e-6, SCORE_TOLERANCE = 1e-7;
static const double USUAL = 10;      /* the paper's */
static const double SD_HELD_OUT = 3; /* of log v of held-out segments: keeps them finite */

/* ---- parts of the segments ---- */

static int parts_of(int u) {
  return u < FEW ? u : PARTS;
}

/* part[s]: a random division into parts of equal size, but for one segment. */
static blica_status divide(blica_ctx *ctx, int u, int parts, uint64_t seed, int **part) {
  blica_status status = bl_alloc(ctx, (size_t)u, part);
  bl_rng rng = bl_rng_make(seed, 0x434f4e4400000000u);
  if (status != BLICA_OK) return status;
  for (int s = 0; s < u; s++) (*part)[s] = s % parts;
  for (int s = u - 1; s > 0; s--) {
    int other = (int)(bl_rng_uniform(&rng) * (s + 1)), keep = (*part)[s];
    (*part)[s] = (*part)[other], (*part)[other] = keep;
  }
  return BLICA_OK;
}

/* The segments of one part, or all others. */
static blica_status take(blica_ctx *ctx, const blica_cor *cor, const int *part, int which, bool others,
                         blica_cor **out) {
  blica_status status;
  const size_t n = (size_t)cor->n, pairs = (size_t)cor->pairs;
  BL_OWNED int *of = NULL; /* [u] their numbers among all */
  int u = 0;
  BL_OWNED char **names = NULL;
  BL_OWNED double *samples = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, (size_t)cor->u, &of));
  TRY(bl_alloc(ctx, (size_t)cor->u, &names));
  TRY(bl_alloc(ctx, (size_t)cor->u, &samples));
  for (int s = 0; s < cor->u; s++)
    if ((part[s] == which) != others) of[u] = s, names[u] = cor->segments[s], samples[u++] = cor->samples[s];
  TRY(bl_cor_create_part(ctx, cor->n, u, cor->variables, names, samples, true, 0, u, out));
  for (size_t t = 0; t < (size_t)u; t++) {
    const size_t s = (size_t)of[t];
    memcpy((*out)->thresholds + n * t, cor->thresholds + (size_t)cor->planes * s, n * sizeof(double));
    memcpy((*out)->rho + pairs * t, cor->rho + pairs * s, pairs * sizeof(double));
    memcpy((*out)->se + pairs * t, cor->se + pairs * s, pairs * sizeof(double));
    memcpy((*out)->flags + pairs * t, cor->flags + pairs * s, pairs);
  }
done:
  return status;
}

/* ---- the score of a mixing matrix on held-out segments ---- */

typedef struct {
  bl_corfit *fit;
  double *theta, *gradient; /* [size], A in front */
  size_t nk, size;
} scoring;

static double score_variances(const double *log_v, double *gradient, void *user) {
  scoring *j = user;
  memcpy(j->theta + j->nk, log_v, (j->size - j->nk) * sizeof *log_v);
  double value = bl_corfit_eval(j->fit, j->theta, j->gradient);
  memcpy(gradient, j->gradient + j->nk, (j->size - j->nk) * sizeof *gradient);
  return value;
}

static blica_status score(blica_ctx *ctx, const bl_problem *problem, const blica_cor *held, double condition,
                          const double *mixing, int k, double *of_segment) {
  blica_status status;
  blica_cor *regular = NULL;
  bl_corfit_data data = {.n = held->n,
                         .k = k,
                         .u = held->u,
                         .link = problem->options->link,
                         .precision_variance = 1 / (SD_HELD_OUT * SD_HELD_OUT),
                         .pair = bl_corfit_squares_term,
                         .work = bl_corfit_pairs_work(held->n, k)};
  scoring j = {.nk = (size_t)held->n * k, .size = bl_corfit_size(&data)};
  BL_OWNED double *log_v = NULL, *log_v_gradient = NULL, *weight = NULL;
  bl_lbfgs_options options = {
      .history = HISTORY, .max_iterations = SCORE_ITERATIONS, .gradient_tolerance = SCORE_TOLERANCE};
  bl_lbfgs_result result;
  TRY(blica_regularise(ctx, held, condition, &regular));
  TRY(bl_alloc(ctx, (size_t)held->u, &weight));
  for (int s = 0; s < held->u; s++) weight[s] = 1;
  data.cor = regular, data.weight = weight;
  TRY(bl_corfit_make(ctx, &data, &j.fit));
  TRY(bl_alloc(ctx, j.size, &j.theta));
  TRY(bl_alloc_for(ctx, j.theta, j.size, &j.gradient));
  TRY(bl_alloc(ctx, j.size - j.nk, &log_v_gradient));
  TRY(bl_alloc(ctx, j.size - j.nk, &log_v)); /* 0: the mean over the segments of the fit */
  memcpy(j.theta, mixing, j.nk * sizeof *mixing);
  TRY(bl_lbfgs(ctx, j.size - j.nk, log_v, score_variances, &j, &options, &result));
  score_variances(log_v, log_v_gradient, &j); /* at the best point, which need not be the last */
  memcpy(of_segment, bl_corfit_values(j.fit), (size_t)held->u * sizeof *of_segment);
done:
  bl_free(j.theta);
  bl_corfit_free(j.fit);
  blica_cor_free(regular);
  return status;
}

/* The same on all ranks. */
static bool over(blica_ctx *ctx, const bl_problem *problem) {
  return bl_any(ctx, bl_interrupted(ctx) || bl_seconds() > problem->deadline);
}

/* Scores of the held-out segments of one part under one candidate. */
typedef struct {
  double *of_segment; /* [count] */
  int count;
} verdict;

static void pass_verdict(bl_state *state, void *user) {
  verdict *v = user;
  bl_pass(state, v->of_segment, (size_t)v->count * sizeof *v->of_segment);
}

/* What the held-out segments say of a condition under which the seen ones are fitted; a checkpoint may have it. */
static blica_status judge_condition(blica_ctx *ctx, bl_estimate_fn estimate, const bl_problem *inner,
                                    const blica_cor *held, int k, verdict *out) {
  blica_status status;
  blica_model *model = NULL;
  bool means_done;
  bl_stage stage = inner->stage;
  if (bl_stage_find(&stage) == BL_STAGE_OVER) return bl_stage_load(ctx, &stage, pass_verdict, out);
  TRY(blica_model_create(ctx, held->n, k, inner->cor->u, &model));
  TRY(estimate(ctx, inner, model, &means_done));
  TRY(bl_complete_model(ctx, model, false, true));
  TRY(score(ctx, inner, held, inner->options->condition, model->mixing, k, out->of_segment));
  bl_stage_over(ctx, &stage, pass_verdict, out);
done:
  blica_model_free(model);
  return status;
}

/* What part `which` says of every candidate: one score for each of its segments, from column `first` of scores on. */
static blica_status score_part(blica_ctx *ctx, bl_estimate_fn estimate, const bl_problem *problem, const int *part,
                               int which, int k, int *first, double *scores /* [u,CANDIDATES] */) {
  blica_status status;
  blica_fit_options options = *problem->options;
  blica_cor *seen = NULL, *held = NULL;
  bl_problem inner = {.options = &options, .deadline = problem->deadline};
  options.starts = 1;
  options.max_iterations = FIT_ITERATIONS < options.max_iterations ? FIT_ITERATIONS : options.max_iterations;
  options.tolerance = fmax(options.tolerance, FIT_TOLERANCE);
  TRY(take(ctx, problem->cor, part, which, true, &seen));
  TRY(take(ctx, problem->cor, part, which, false, &held));
  inner.cor = seen;
  for (int c = 0; c < CANDIDATES && !over(ctx, problem); c++) {
    verdict v = {scores + (size_t)c * problem->cor->u + *first, held->u};
    options.condition = candidates[c];
    inner.stage = bl_stage_below(&problem->stage, "part %d, condition %d", which, c);
    TRY(judge_condition(ctx, estimate, &inner, held, k, &v));
  }
  *first += held->u;
done:
  blica_cor_free(seen);
  blica_cor_free(held);
  return status;
}

/* How much worse candidate c is than the best, in standard errors of that difference over segments. */
static double worse_by(const double *score, const double *best, int u) {
  double sum = 0, squares = 0;
  for (int s = 0; s < u; s++) sum += score[s] - best[s];
  for (int s = 0; s < u; s++) squares += pow(score[s] - best[s] - sum / u, 2);
  return sum > 0 ? sum / sqrt(squares * u / (u - 1)) : 0;
}

static double total(const double *score, int u) {
  double sum = 0;
  for (int s = 0; s < u; s++) sum += score[s];
  return sum;
}

/* The candidate nearest to the usual one within one standard error of the best on the held-out segments:
 * their choice among near equals would be noise. */
static double choose(const double *scores /* [u,CANDIDATES] */, int u) {
  int best = 0, chosen;
  for (int c = 1; c < CANDIDATES; c++)
    if (total(scores + (size_t)c * u, u) < total(scores + (size_t)best * u, u)) best = c;
  chosen = best;
  for (int c = 0; c < CANDIDATES; c++)
    if (fabs(log(candidates[c] / USUAL)) < fabs(log(candidates[chosen] / USUAL)) &&
        worse_by(scores + (size_t)c * u, scores + (size_t)best * u, u) <= 1)
      chosen = c;
  return candidates[chosen];
}

blica_status bl_choose_condition(blica_ctx *ctx, bl_estimate_fn estimate, const bl_problem *problem, int k,
                                 double *condition) {
  blica_status status = BLICA_OK;
  const int u = problem->cor->u, parts = parts_of(u);
  BL_OWNED int *part = NULL;
  int first = 0;
  BL_OWNED double *scores = NULL;
  *condition = INFINITY;
  if (problem->cor->exact) return BLICA_OK;
  if (bl_any(ctx, problem->cor->part))
    return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                   "condition auto holds out segments, and these correlations are distributed over ranks; give their "
                   "counts or rows");
  *condition = USUAL;
  if (u < FEWEST) {
    bl_warn(ctx, "condition auto needs at least %d segments to hold some out, and there are %d: 10 is used",
            (int)FEWEST, u);
    return BLICA_OK;
  }
  TRY(divide(ctx, u, parts, problem->options->seed, &part));
  TRY(bl_alloc(ctx, (size_t)u * CANDIDATES, &scores));
  for (int p = 0; p < parts; p++) TRY(score_part(ctx, estimate, problem, part, p, k, &first, scores));
  if (!over(ctx, problem)) *condition = choose(scores, u);
done:
  return status;
}
