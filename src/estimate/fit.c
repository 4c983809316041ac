/* fit.c - the pipeline: prepare what the method looks at, let it estimate, bring the model to canonical
 * form and complete it with the means. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <lapacke.h>

#include "cor/correlate.h"
#include "counts/counts.h"
#include "estimate/estimate.h"
#include "estimate/sgauss.h"
#include "model/model.h"
#include "num/normal.h"
#include "estimate/resume.h"

static const bl_estimator estimators[] = {
    {{"blica", "pair correlations, regularised, fitted by a scaled Gaussian likelihood (the paper's Algorithm 1)", 0},
     bl_estimate_blica,
     false,
     true,
     0,
     0},
    {{"matched",
      "pair correlations, fitted by a Gaussian likelihood that knows the noise of binary data, with learned priors", 0},
     bl_estimate_matched,
     false,
     true,
     0,
     0},
    {{"pairwise", "likelihood of all 2x2 tables, with learned priors", 0}, bl_estimate_pairwise, true, true, 0, 0},
    {{"mle", "full likelihood of the rows, means included, with learned priors (without: the paper's full MLE)", 1},
     bl_estimate_mle,
     true,
     true,
     0,
     0},
    {{"ivae", "evidence lower bound of a linear variational autoencoder (the paper's appendix E)", 1},
     bl_estimate_ivae,
     true,
     false,
     1000,
     0},
    {{"fastica", "fastICA on the pooled rows, 0 and 1 taken for real numbers, segments ignored", 1},
     bl_estimate_fastica,
     true,
     false,
     1000,
     1e-4},
};
enum { ESTIMATORS = sizeof estimators / sizeof *estimators };

const blica_method *blica_methods(int *count) {
  static blica_method methods[ESTIMATORS];
  for (int i = 0; i < ESTIMATORS; i++) methods[i] = estimators[i].method;
  *count = ESTIMATORS;
  return methods;
}

blica_status bl_report_starts(blica_ctx *ctx, blica_fit_report *report, int count) {
  report->n_starts = count;
  return bl_alloc(ctx, (size_t)count, &report->starts);
}

static bool plain_text(const char *text, size_t room) {
  for (size_t i = 0; i < room; i++) {
    if (text[i] == 0) return true;
    if (text[i] < ' ' || text[i] > '~') return false;
  }
  return false;
}

void bl_pass_start(bl_state *state, void *user) {
  bl_start_end *end = user;
  blica_start *r = end->record;
  int stop = (int)r->stop;
  BL_PASS(state, r->kind);
  BL_PASS(state, r->objective);
  BL_PASS(state, r->gradient);
  bl_pass_count(state, &r->iterations);
  bl_pass_count(state, &r->evaluations);
  BL_PASS(state, r->seconds);
  BL_PASS(state, r->seconds_near);
  bl_pass_int(state, &stop, BLICA_STOP_CONVERGED, BLICA_STOP_INTEGRATION);
  if (!plain_text(r->kind, sizeof r->kind) && state->status == BLICA_OK) state->status = BLICA_ERR_FORMAT;
  r->stop = (blica_stop)stop;
  bl_pass(state, end->theta, end->size * sizeof *end->theta);
}

blica_status bl_report_note(blica_ctx *ctx, blica_fit_report *report, const char *name, double value) {
  blica_status status;
  size_t count = (size_t)report->n_notes;
  TRY(bl_resize(ctx, count, count + 1, &report->notes));
  memset(&report->notes[count], 0, sizeof *report->notes);
  strncpy(report->notes[count].name, name, sizeof report->notes->name - 1);
  report->notes[count].value = value;
  report->n_notes++;
done:
  return status;
}

/* What `auto` stands for (docs/methods.md has the evidence). */
enum { MATCHED_MAX = 200 };
static const char *choose_method(const blica_input *input, const blica_fit_options *o, int n) {
  if (strcmp(o->method, "auto") != 0) return o->method;
  bool exact = input->cor ? input->cor->exact : !input->data && input->counts && input->counts->exact;
  bool small = (int64_t)n * o->sources <= MATCHED_MAX;
  return small && !exact && o->condition == BLICA_CONDITION_DEFAULT ? "matched" : "blica";
}

static const bl_estimator *find_estimator(const char *name) {
  for (int i = 0; i < ESTIMATORS; i++)
    if (strcmp(estimators[i].method.name, name) == 0) return &estimators[i];
  return NULL;
}

static const bl_estimator *estimator_of(const blica_fit_options *o, int n) {
  const bool small = (int64_t)n * o->sources <= MATCHED_MAX;
  return find_estimator(strcmp(o->method, "auto") != 0 ? o->method : small ? "matched" : "blica");
}

/* A learned prior begins with a fit by method matched, which does not share what is inside a segment. */
bool bl_fit_parts(const blica_ctx *ctx, const blica_fit_options *o, int n, int u) {
  const bl_estimator *e = estimator_of(o, n);
  return e && e->estimate == bl_estimate_blica && o->condition != BLICA_CONDITION_AUTO &&
         strcmp(o->prior, "auto") != 0 && bl_sgauss_cut(n, o->sources, u, bl_comm(ctx)->size);
}

bool bl_fit_owns(const blica_ctx *ctx, const blica_fit_options *o, int n, int u) {
  const int size = bl_comm(ctx)->size;
  const bl_estimator *e = estimator_of(o, n);
  if (bl_fit_parts(ctx, o, n, u)) return true;
  if (o->condition == BLICA_CONDITION_AUTO && bl_condition_held(u) < size) return false;
  return size > 1 && e && e->wants_cor && bl_sgauss_distributed(n, o->sources) &&
         !bl_sgauss_cut(n, o->sources, u, size);
}

/* What the caller left to the method. */
static blica_fit_options resolve(const blica_fit_options *options, const bl_estimator *estimator) {
  blica_fit_options o = *options;
  snprintf(o.method, sizeof o.method, "%s", estimator->method.name);
  if (o.max_iterations == 0) o.max_iterations = estimator->max_iterations ? estimator->max_iterations : 10000;
  if (o.tolerance == -1) o.tolerance = estimator->tolerance > 0 ? estimator->tolerance : 1e-8;
  return o;
}

/* Sizes and names of whichever input there is. */
typedef struct {
  int n, u;
  char **variables, **segments;
} outline;

static blica_status check(blica_ctx *ctx, const blica_input *input, const blica_fit_options *o,
                          const bl_estimator **estimator, outline *shape) {
  if (input->data)
    *shape = (outline){input->data->n, input->data->u, input->data->variables, input->data->segments};
  else if (input->counts)
    *shape = (outline){input->counts->n, input->counts->u, input->counts->variables, input->counts->segments};
  else if (input->cor)
    *shape = (outline){input->cor->n, input->cor->u, input->cor->variables, input->cor->segments};
  else
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "a fit needs data, counts or correlations; all three are missing");
  *estimator = find_estimator(choose_method(input, o, shape->n));
  if (!*estimator)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "method '%s' is unknown; blica_methods() lists what there is", o->method);
  if ((*estimator)->method.needs_rows && !input->data)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "method '%s' needs the rows of the data, not only their counts", o->method);
  if ((*estimator)->wants_counts && !input->data && !input->counts)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "method '%s' needs counts, not only correlations", o->method);
  if (input->counts && !bl_fit_owns(ctx, o, shape->n, shape->u)) {
    blica_status whole = bl_counts_need_whole(ctx, input->counts);
    if (whole != BLICA_OK) return whole;
  }
  if (shape->n < 2) return bl_fail(ctx, BLICA_ERR_DATA, "there is %d variable; at least 2 are needed", shape->n);
  if (o->sources < 1 || o->sources > shape->n)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "sources is %d; with %d variables it must be from 1 to %d", o->sources,
                   shape->n, shape->n);
  if (o->starts < 1) return bl_fail(ctx, BLICA_ERR_ARGUMENT, "starts is %d; at least 1 is needed", o->starts);
  if (!(o->link > 0) || !(o->weight > 0))
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "link is %g and weight is %g; both must be positive", o->link, o->weight);
  if (shape->u == 1)
    bl_warn(ctx,
            "there is one segment ('%s'): the mixing matrix is not identified; only its column space can be trusted",
            shape->segments[0]);
  return BLICA_OK;
}

/* Counts and correlations that the method wants and the caller did not bring. */
typedef struct {
  bl_problem problem;
  blica_counts *counts;
  blica_cor *cor;
} stages;

static blica_status prepare(blica_ctx *ctx, const blica_input *input, const bl_estimator *estimator, stages *st,
                            blica_fit_report *fit) {
  blica_status status = BLICA_OK;
  bl_problem *p = &st->problem;
  p->data = input->data, p->counts = input->counts, p->cor = input->cor;
  double begun = bl_seconds();
  const int n = p->data ? p->data->n : p->counts ? p->counts->n : p->cor->n;
  const int u = p->data ? p->data->u : p->counts ? p->counts->u : p->cor->u;
  const bool own = bl_fit_owns(ctx, p->options, n, u);
  if (!p->counts && p->data) {
    TRY((own ? bl_count_own : blica_count)(ctx, p->data, &st->counts));
    p->counts = st->counts;
    fit->seconds_count = bl_seconds() - begun;
  }
  begun = bl_seconds();
  if (!p->cor && estimator->wants_cor) {
    p->parts = bl_fit_parts(ctx, p->options, n, u);
    TRY(bl_correlate(ctx, p->counts, p->options->condition == BLICA_CONDITION_AUTO,
                     p->parts ? BL_KEEP_PARTS
                     : own    ? BL_KEEP_SEGMENTS
                              : BL_KEEP_ALL,
                     &st->cor));
    p->cor = st->cor;
    fit->seconds_correlate = bl_seconds() - begun;
  }
  if (p->cor && !estimator->wants_counts) { /* of thousands of variables, gigabytes */
    if (input->counts && input->counts->spend) bl_counts_spend((blica_counts *)input->counts);
    blica_counts_free(st->counts);
    st->counts = NULL;
    p->counts = NULL;
  }
  if (p->cor) {
    fit->zero_cells = p->cor->zero_cells;
    fit->constant_pairs = p->cor->constant_pairs;
    fit->empty_pairs = p->cor->empty_pairs;
    fit->constant_columns = p->cor->constant_columns;
  }
done:
  return status;
}

static blica_status begin_model(blica_ctx *ctx, const outline *shape, const bl_problem *p, blica_model *model) {
  blica_status status;
  bl_free_texts(model->variables, model->n);
  bl_free_texts(model->segments, model->u);
  model->variables = model->segments = NULL;
  TRY(bl_copy_texts(ctx, shape->n, (const char *const *)shape->variables, &model->variables));
  TRY(bl_copy_texts(ctx, shape->u, (const char *const *)shape->segments, &model->segments));
  for (int s = 0; s < shape->u; s++) model->samples[s] = p->cor ? p->cor->samples[s] : p->counts->samples[s];
  if (p->cor)
    memcpy(model->thresholds, p->cor->thresholds, (size_t)shape->n * shape->u * sizeof(double));
  else
    bl_thresholds(p->counts, model->thresholds);
  memcpy(model->method, p->options->method, sizeof model->method);
  model->link = p->options->link;
  model->fit.seed = p->options->seed;
  model->fit.condition = INFINITY;
done:
  return status;
}

/* Means of segment s from its thresholds t: sqrt(c) (A mu)_i = t_i sqrt(M_ii), exactly for k = n, else by least
 * squares weighted with the precision of t_i (delta method: N phi(t)^2 / (Phi(t) Phi(-t))). */
static blica_status solve_means(blica_ctx *ctx, blica_model *model, int s, double *work) {
  const int n = model->n, k = model->k;
  double *a = work, *right = a + (size_t)n * k, *diagonal = right + n;
  const double *t = model->thresholds + (size_t)s * n;
  lapack_int rank, *pivots = NULL;
  blica_status status;
  TRY(bl_alloc(ctx, (size_t)k, &pivots));
  bl_model_margins(model, s, diagonal, NULL);
  for (int i = 0; i < n; i++) {
    double scale = sqrt(diagonal[i]);
    double density = bl_phi_density(t[i]);
    double weight = k == n ? 1 : density / sqrt(bl_phi_cdf(t[i]) * bl_phi_cdf(-t[i])) / scale;
    right[i] = weight * t[i] * scale / sqrt(model->link);
    for (int j = 0; j < k; j++) a[i + (size_t)j * n] = weight * model->mixing[i + (size_t)j * n];
  }
  errno = 0;
  if (LAPACKE_dgelsy(LAPACK_COL_MAJOR, n, k, 1, a, n, right, n, pivots, 1e-12, &rank) != 0)
    FAIL_OUTSIDE(ctx, BLICA_ERR_NUMERIC, "segment '%s': the means of the sources could not be solved",
                 model->segments[s]);
  memcpy(model->means + (size_t)s * k, right, (size_t)k * sizeof(double));
done:
  bl_free(pivots);
  return status;
}

/* A fit that was cut short says so, even when its best start had ended by itself. */
static void settle_stop(blica_fit_report *fit) {
  for (int i = 0; i < fit->n_starts; i++)
    if (fit->starts[i].stop == BLICA_STOP_INTERRUPTED ||
        (fit->starts[i].stop == BLICA_STOP_TIME && fit->stop != BLICA_STOP_INTERRUPTED))
      fit->stop = fit->starts[i].stop;
}

blica_status bl_complete_model(blica_ctx *ctx, blica_model *model, bool means_done) {
  blica_status status = BLICA_OK;
  double *work = NULL;
  if (!means_done) {
    TRY(bl_alloc(ctx, (size_t)model->n * model->k + 2 * (size_t)model->n, &work));
    for (int s = 0; s < model->u; s++) TRY(solve_means(ctx, model, s, work));
  }
  TRY(bl_model_canonical(ctx, model));
done:
  bl_free(work);
  return status;
}

static bool all_finite(const double *x, size_t count) {
  for (size_t i = 0; x && i < count; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

/* A model that could not be read again is none. Known to lead here: checkpoints with a right checksum and wrong
 * numbers. */
static blica_status check_model(blica_ctx *ctx, const blica_model *m, const bl_checkpoint *checkpoint) {
  const size_t n = (size_t)m->n, k = (size_t)m->k, u = (size_t)m->u;
  const struct blica_encoder *e = m->encoder;
  bool fine = all_finite(m->mixing, n * k) && all_finite(m->variances, k * u) && all_finite(m->means, k * u);
  for (size_t i = 0; i < k * u && fine; i++) fine = m->variances[i] >= 0;
  if (e)
    fine = fine && all_finite(e->mean_bias, k) && all_finite(e->mean_weight, k * (n + u)) &&
           all_finite(e->logvar_bias, k) && all_finite(e->logvar_weight, k * (n + u));
  if (fine) return BLICA_OK;
  if (bl_checkpoint_resumed(checkpoint))
    return bl_fail(ctx, BLICA_ERR_FORMAT, "checkpoint '%s' leads to numbers that are not finite; begin without it",
                   bl_checkpoint_path(checkpoint));
  return bl_fail(ctx, BLICA_ERR_NUMERIC, "method '%s' came to numbers that are not finite on these data", m->method);
}

blica_status blica_fit(blica_ctx *ctx, const blica_input *input, const blica_fit_options *options, blica_model **out) {
  blica_status status;
  const bl_estimator *estimator = NULL;
  outline shape = {0};
  stages st = {.problem = {.options = NULL}};
  blica_fit_options resolved;
  blica_model *model = NULL;
  bl_checkpoint *checkpoint = NULL;
  bool means_done = false;
  double begun = bl_seconds();
  *out = NULL;
  bl_poll_reset(ctx);
  bl_blas_hold();
  TRY(check(ctx, input, options, &estimator, &shape));
  resolved = resolve(options, estimator);
  st.problem.options = &resolved;
  st.problem.deadline = begun + options->max_seconds;
  TRY(bl_resume_open(ctx, &resolved, st.problem.deadline, &checkpoint));
  st.problem.stage.checkpoint = checkpoint;
  TRY(blica_model_create(ctx, shape.n, options->sources, shape.u, &model));
  TRY(prepare(ctx, input, estimator, &st, &model->fit));
  TRY(begin_model(ctx, &shape, &st.problem, model));
  TRY(bl_resume_data(ctx, checkpoint, &st.problem, estimator));
  double optimise = bl_seconds();
  TRY(estimator->estimate(ctx, &st.problem, model, &means_done));
  model->fit.seconds_optimise = bl_seconds() - optimise - model->fit.seconds_regularise;
  TRY(bl_comm_check(ctx));
  settle_stop(&model->fit);
  TRY(bl_complete_model(ctx, model, means_done));
  TRY(check_model(ctx, model, checkpoint));
  model->fit.seconds = bl_seconds() - begun;
  *out = model;
  model = NULL;
done:
  if (status == BLICA_ERR_NUMERIC && bl_comm_check(ctx) != BLICA_OK)
    status = bl_comm_check(ctx); /* sums that never came */
  if (status == BLICA_OK || status == BLICA_ERR_INTERRUPTED) bl_checkpoint_flush(ctx, checkpoint);
  bl_checkpoint_free(checkpoint);
  bl_blas_release();
  blica_model_free(model);
  blica_counts_free(st.counts);
  blica_cor_free(st.cor);
  return status;
}
