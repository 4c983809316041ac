/* run.c - the fit of a criterion: several starts, learned priors, the best end, the model.
 *
 * Priors A_ij ~ N(0, sd_A^2) and log v ~ N(0, sd_v^2) decide what the data leave open. With prior=auto their scales are
 * learned by empirical Bayes: MacKay's fixed point on Laplace's approximation of the evidence (Neural Computation 4,
 * 1992), sd^2 = sum theta^2 / gamma; method matched averages over log v instead of maximising (average.c). */
#include <math.h>
#include <string.h>

#include "estimate/gauss/rounds.h"
#include "model/model.h"

static const double FIRST_SD_MIXING = 3, FIRST_SD_VARIANCE = 1;
/* Laplace's approximation understates the spread of log v, whose likelihood is skewed; learned values are widened by
 * this, chosen on data of other seeds than those of docs/methods.md. */
static const double WIDER = 1.3;
enum {
  PRIOR_ROUNDS = 5,   /* of empirical Bayes */
  AVERAGE_ROUNDS = 3, /* of empirical Bayes with the log-variances averaged over */
  AVERAGE_PAIRS = 2   /* number of pairs of points */
};
/* Method matched averages over log v only where this share of its width counts; chosen on data of such seeds. */
static const double LEAST_SHARE = 0.1;
/* Its prior of the rows of A has the power k less this (docs/method.md, equation 32), chosen on data of such seeds. */
static const double ROW_LESS = 3;
static const double ROUGH = 1e-6; /* relative gradient that is enough for comparing starts and learning scales */

/* ---- rounds of learning ---- */

static void set_priors(bl_criterion *c, double sd_mixing, double sd_variance) {
  c->precision_mixing = 1 / (sd_mixing * sd_mixing);
  c->precision_variance = 1 / (sd_variance * sd_variance);
}

/* Whether priors are to be learned. */
static bool learns(const bl_gauss_fit *fit) {
  return fit->problem->options->prior == BLICA_PRIOR_AUTO;
}

/* The precisions of the priors while starts are compared. */
static void set_first_priors(bl_gauss_fit *fit) {
  const blica_fit_options *o = fit->problem->options;
  if (learns(fit)) set_priors(&fit->criterion, FIRST_SD_MIXING, FIRST_SD_VARIANCE);
  if (o->prior == BLICA_PRIOR_FIXED) set_priors(&fit->criterion, o->prior_mixing, o->prior_variance);
}

static double clamp(double x, double low, double high) {
  return fmin(fmax(x, low), high);
}

static double sum_of_squares(const double *x, size_t from, size_t to) {
  double sum = 0;
  for (size_t i = from; i < to; i++) sum += x[i] * x[i];
  return sum;
}

/* Whether learning was stopped; what was found under the scales before stays. */
static bool learning_stopped(bl_start *s) {
  if (!bl_start_unfinished(s)) return false;
  s->record.stop = bl_start_stop(s, false);
  return true;
}

/* Minimises under new scales. */
static blica_status learning_round(bl_run *r, double tolerance) {
  const size_t nk = bl_local(&r->fit->criterion.layout, 0);
  BL_OWNED double *before = NULL;
  double most = 0, change = 0;
  const double *theta = r->start->theta;
  MUST(bl_alloc(r->start->ctx, nk, &before));
  memcpy(before, theta, nk * sizeof *before);
  MUST(bl_run_minimise(r, tolerance, true));
  for (size_t i = 0; i < nk; i++) {
    most = fmax(most, fmax(fabs(before[i]), fabs(theta[i])));
    change = fmax(change, fabs(theta[i] - before[i]));
  }
  r->fit->round_change = most > 0 ? change / most : 0;
  return BLICA_OK;
}

/* Laplace's approximation where it is not too large; beyond, every parameter counts as determined. */
static blica_status effective_parameters(bl_run *r, bl_laplace *out) {
  const bl_layout *p = &r->fit->criterion.layout;
  *out = (bl_laplace){true, (double)p->n * p->k, (double)p->k * p->u};
  if (p->n * p->k > BL_LAPLACE_MAX) return BLICA_OK;
  return bl_laplace_at(r->start->ctx, &r->fit->criterion, r->start->theta, out);
}

/* One update of the scales of the priors; *settled when they hardly change any more. */
static blica_status update_priors(bl_run *r, bool *settled) {
  bl_criterion *c = &r->fit->criterion;
  const size_t nk = bl_local(&c->layout, 0), size = bl_layout_size(&c->layout);
  const double *theta = r->start->theta;
  bl_laplace laplace;
  MUST(effective_parameters(r, &laplace));
  *settled = true;
  if (!laplace.positive || !(laplace.gamma_mixing > 1) || !(laplace.gamma_variance > 1)) return BLICA_OK;
  double sd_mixing = sqrt(1 / c->precision_mixing), sd_variance = sqrt(1 / c->precision_variance);
  double new_mixing = clamp(sqrt(sum_of_squares(theta, 0, nk) / laplace.gamma_mixing), 0.1, 100);
  double new_variance = clamp(WIDER * sqrt(sum_of_squares(theta, nk, size) / laplace.gamma_variance), 0.05, 10);
  *settled = fabs(log(new_mixing / sd_mixing)) < 0.05 && fabs(log(new_variance / sd_variance)) < 0.05;
  set_priors(c, new_mixing, new_variance);
  return BLICA_OK;
}

static blica_status learn_by_laplace(bl_run *r) {
  bool settled = false;
  for (int round = 0; round < PRIOR_ROUNDS && !settled && !bl_start_stopped(r->start); round++) {
    MUST(update_priors(r, &settled));
    if (learning_stopped(r->start)) break;
    MUST(learning_round(r, r->fit->problem->options->tolerance));
  }
  return BLICA_OK;
}

/* How much of the uncertainty of the log-variances is averaged over: all of it up to about 8 variables, half at 10,
 * none from 15 on. The noise of equation 19 is that of correlations near 0; the fewer variables, the larger their
 * correlations and the more it overstates (docs/method.md, equation 29). */
static double average_share(int n) {
  const double share = 1 / (1 + pow(n / 10.0, 6));
  return share > LEAST_SHARE ? share : 0;
}

/* One round: terms renewed, widths and scales set, A and the means of log v found under them. */
static blica_status average_round(bl_run *r, bl_average *average, double tolerance) {
  bl_criterion *c = &r->fit->criterion;
  const size_t nk = bl_local(&c->layout, 0), size = bl_layout_size(&c->layout);
  const double *theta = r->start->theta;
  bl_laplace laplace;
  for (int t = 0; t < c->terms; t++)
    if (c->term[t].renew) MUST(c->term[t].renew(r->start->ctx, c->term[t].data, theta));
  const double moments = bl_average_update(average, theta) + sum_of_squares(theta, nk, size);
  MUST(effective_parameters(r, &laplace));
  if (learning_stopped(r->start)) return BLICA_OK;
  const double gamma = laplace.positive && laplace.gamma_mixing > 1 ? laplace.gamma_mixing : (double)nk;
  set_priors(c, clamp(sqrt(sum_of_squares(theta, 0, nk) / gamma), 0.1, 100),
             clamp(sqrt(moments / (double)(size - nk)), 0.05, 10));
  r->average = average;
  return learning_round(r, tolerance);
}

/* Learns the priors with the log-variances averaged over: their second moments are those of the prior. Where less than
 * half of their width counts, one pair of points and one round are enough, and without an average A would shrink a
 * little more in every round. */
static blica_status learn_by_average(bl_run *r) {
  blica_status status;
  bl_criterion *c = &r->fit->criterion;
  const blica_fit_options *o = r->fit->problem->options;
  const double share = average_share(c->layout.n);
  const bool half = share >= 0.5;
  const int rounds = half ? AVERAGE_ROUNDS : 1, pairs = half ? AVERAGE_PAIRS : 1;
  bl_average *average = NULL;
  c->row_power = fmax(0, c->layout.k - ROW_LESS);
  TRY(bl_average_make(r->start->ctx, r->evaluator, c, o->seed, share, pairs, &average));
  for (int round = 0; round < rounds && !bl_start_stopped(r->start); round++)
    TRY(average_round(r, average, round + 1 < rounds ? fmax(ROUGH, o->tolerance) : o->tolerance));
done:
  bl_average_free(average);
  r->average = NULL;
  return status;
}

/* A bl_start_fn: learns the scales of the priors, and minimises under them. */
static blica_status learn_priors(bl_start *s) {
  blica_status status;
  bl_run r;
  bl_gauss_fit *fit = s->all->user;
  s->stage = bl_stage_below(&s->all->problem->stage, "learn");
  if (fit->margins) bl_criterion_add(&fit->criterion, bl_margins_term(fit->margins));
  TRY(bl_run_open(s, &r));
  TRY((fit->average ? learn_by_average : learn_by_laplace)(&r));
done:
  bl_run_close(&r);
  return status;
}

/* ---- starts, and the whole ---- */

/* Where the start begins; *near: by joint diagonalisation, or at another method's solution. */
static blica_status begin_start(bl_start *s, bool *near) {
  const bl_gauss_fit *fit = s->all->user;
  *near = true;
  if (fit->begin) {
    memcpy(s->theta, fit->begin, bl_layout_size(&fit->criterion.layout) * sizeof *s->theta);
    bl_start_set_kind(s, "matched");
    return BLICA_OK;
  }
  MUST(bl_start_begin(s->ctx, &fit->starts, fit->problem->options->seed, s->index, near, s->theta));
  bl_start_set_kind(s, !*near ? "random" : s->index ? "half" : "jointdiag");
  return BLICA_OK;
}

static blica_status run_start(bl_start *s) {
  blica_status status;
  bl_run r;
  bool near;
  TRY(bl_run_open(s, &r));
  TRY(begin_start(s, &near));
  const double tolerance = r.fit->problem->options->tolerance;
  TRY(bl_run_minimise(&r, learns(r.fit) ? fmax(ROUGH, tolerance) : tolerance, near));
done:
  bl_run_close(&r);
  return status;
}

/* A start that was ended as a duplicate and yet is the best, to its end. */
static blica_status end_duplicate(bl_start *s) {
  blica_status status;
  bl_run r;
  s->stage = bl_stage_below(&s->all->problem->stage, "end");
  TRY(bl_run_open(s, &r));
  TRY(bl_run_minimise(&r, r.fit->problem->options->tolerance, true));
done:
  bl_run_close(&r);
  return status;
}

/* Variances of the model. Where its likelihood levels off, that of a source may have fallen or grown so far that its
 * change is lost in rounding; it stays there, since the model must be finite. */
static void fill_variances(const bl_layout *p, const double *theta, blica_model *model) {
  static const double LOG_BOUND = 300; /* range of log(c v |a|^2) around 0 */
  for (int j = 0; j < p->k; j++) {
    double most = 0;
    for (int i = 0; i < p->n; i++) most = fmax(most, fabs(theta[i + (size_t)j * p->n]));
    const double strength = log(p->link) + 2 * log(fmax(most, 1e-100));
    for (int s = 0; s < p->u; s++) {
      const double log_v = theta[bl_local(p, s) + (size_t)j];
      model->variances[j + (size_t)p->k * (size_t)s] =
          exp(fmin(fmax(log_v, -LOG_BOUND - strength), LOG_BOUND - strength));
    }
  }
}

/* Records the scales of the priors and notes about rounds and margins. */
static blica_status report_fit(blica_ctx *ctx, const bl_gauss_fit *fit, const blica_start *best,
                               blica_fit_report *out) {
  const double misfit = fit->margins ? bl_margins_misfit(fit->margins) : NAN;
  if (fit->criterion.precision_mixing > 0) out->prior_mixing = sqrt(1 / fit->criterion.precision_mixing);
  if (fit->criterion.precision_variance > 0) out->prior_variance = sqrt(1 / fit->criterion.precision_variance);
  if (!isnan(fit->round_change)) { /* the starts' records are those of the first scales */
    MUST(bl_report_note(ctx, out, "round_change", fit->round_change));
    MUST(bl_report_note(ctx, out, "learned_gradient", best->gradient));
  }
  return isnan(misfit) ? BLICA_OK : bl_report_note(ctx, out, "margin_misfit", sqrt(misfit));
}

blica_status bl_gauss_fit_run(blica_ctx *ctx, bl_gauss_fit *fit, blica_model *model) {
  blica_status status;
  const bl_layout *p = &fit->criterion.layout;
  const blica_fit_options *o = fit->problem->options;
  bl_multistart all = {.problem = fit->problem,
                       .run = run_start,
                       .user = fit,
                       .count = o->starts,
                       .size = bl_layout_size(p),
                       .constant = fit->constant,
                       .factor = 1,
                       .keep = true,
                       .n = p->n,
                       .k = p->k};
  fit->round_change = NAN;
  set_first_priors(fit);
  TRY(bl_starts_make(ctx, p, fit->problem->cor, fit->shift, &fit->starts));
  TRY(bl_multistart_run(ctx, &all, &model->fit));
  if (learns(fit))
    TRY(bl_multistart_continue(&all, learn_priors, &model->fit));
  else
    TRY(bl_multistart_end(&all, end_duplicate, &model->fit));
  memcpy(model->mixing, all.best->theta, (size_t)p->n * (size_t)p->k * sizeof(double));
  fill_variances(p, all.best->theta, model);
  TRY(report_fit(ctx, fit, &all.best->record, &model->fit));
done:
  bl_multistart_free(&all);
  bl_free(fit->starts.shrink);
  return status;
}
