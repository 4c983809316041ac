/* fit.c - the pipeline: prepare what the method uses, let it estimate, bring the model to canonical
 * form and complete it with the means. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/option.h"
#include "base/split.h"
#include "cor/cor.h"
#include "cor/correlate.h"
#include "counts/counts.h"
#include "estimate/estimate.h"
#include "model/model.h"
#include "ranks/facts.h"

/* With what the caller left to the method. */
static blica_fit_options resolve(const blica_fit_options *options, const bl_estimator *estimator) {
  blica_fit_options o = *options;
  o.method = bl_method_number(estimator);
  if (o.max_iterations == 0) o.max_iterations = estimator->max_iterations ? estimator->max_iterations : 10000;
  if (o.tolerance == -1) o.tolerance = estimator->tolerance > 0 ? estimator->tolerance : 1e-8;
  if (o.prior == BLICA_PRIOR_DEFAULT) o.prior = estimator->prior ? estimator->prior : BLICA_PRIOR_NONE;
  return o;
}

/* Sizes and names of whichever input there is. */
typedef struct {
  int n, u; /* items, or before their levels are known columns */
  char **variables, **segments;
  blica_coding *coding; /* of data and counts, by their columns' names */
} outline;

static bool is_exact(const blica_input *input) {
  return input->cor ? input->cor->exact : !input->data && input->counts && input->counts->exact;
}

/* Fails naming the first variable or segment in which two inputs differ. */
static blica_status check_same(blica_ctx *ctx, const char *what, const outline *a, const char *other,
                               const outline *b) {
  if (a->n != b->n || a->u != b->u)
    return bl_fail(
        ctx, BLICA_ERR_ARGUMENT,
        "%s have %d variables in %d segments, %s have %d in %d: give inputs of the same variables and segments", what,
        a->n, a->u, other, b->n, b->u);
  for (int i = 0; i < a->n; i++)
    if (strcmp(a->variables[i], b->variables[i]) != 0)
      return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                     "variable %d is '%s' in %s and '%s' in %s: give inputs of the same variables and segments", i + 1,
                     a->variables[i], what, b->variables[i], other);
  for (int s = 0; s < a->u; s++)
    if (strcmp(a->segments[s], b->segments[s]) != 0)
      return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                     "segment %d is '%s' in %s and '%s' in %s: give inputs of the same variables and segments", s + 1,
                     a->segments[s], what, b->segments[s], other);
  return BLICA_OK;
}

static blica_status check_not_regularised(blica_ctx *ctx, const blica_cor *cor) {
  bool shifted = isfinite(cor->condition);
  for (int s = 0; s < cor->u && !shifted; s++) shifted = cor->shift[s] != 0;
  if (!shifted) return BLICA_OK;
  return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                 "the correlations are regularised already (condition %g): give them as blica_correlate made them; the "
                 "fit regularises by its option condition",
                 cor->condition);
}

/* Sizes and names of the input, which must be the same in all that was given. */
static blica_status check_input(blica_ctx *ctx, const blica_input *input, outline *shape) {
  static const char *const names[] = {"data", "counts", "correlations"};
  outline given[3] = {{0}};
  blica_status status = BLICA_OK;
  int first = -1;
  if (input->data)
    given[0] = (outline){input->data->n, input->data->u, input->data->variables, input->data->segments, NULL};
  if (input->counts)
    given[1] = (outline){input->counts->n, input->counts->u, input->counts->variables, input->counts->segments, NULL};
  if (input->cor && !(input->cor->coding && (input->data || input->counts))) /* else items, not columns */
    given[2] = (outline){input->cor->n, input->cor->u, input->cor->variables, input->cor->segments, NULL};
  for (int i = 0; i < 3; i++) {
    if (!given[i].variables) continue;
    if (first < 0)
      first = i;
    else
      TRY(check_same(ctx, names[first], &given[first], names[i], &given[i]));
  }
  if (first < 0) FAIL(ctx, BLICA_ERR_ARGUMENT, "a fit needs data, counts or correlations; all three are missing");
  if (input->cor) TRY(check_not_regularised(ctx, input->cor));
  *shape = given[first];
done:
  return status;
}

/* Sets the coding and, where items have more than two levels, the items in place of the columns. */
static blica_status items_of(blica_ctx *ctx, const blica_input *input, outline *shape) {
  blica_status status;
  if (!input->data && !input->counts)
    TRY(bl_coding_copy(ctx, input->cor->coding, &shape->coding));
  else
    TRY(bl_coding_parse(ctx, shape->n, shape->variables, &shape->coding));
  if (!shape->coding) goto done;
  shape->n = shape->coding->items;
  shape->variables = shape->coding->names;
done:
  return status;
}

static blica_status check_levels(blica_ctx *ctx, const bl_estimator *e, const outline *shape) {
  if (!bl_coding_ordinal(shape->coding) || e->levels) return BLICA_OK;
  for (int i = 0; i < shape->n; i++) {
    int levels = bl_plane(shape->coding, i + 1) - bl_plane(shape->coding, i) + 1;
    if (levels > 2)
      return bl_fail(
          ctx, BLICA_ERR_ARGUMENT,
          "method '%s' is for items with two levels; '%s' has %d: use method auto, matched, pairwise, mle or blica",
          e->method->name, shape->variables[i], levels);
  }
  return BLICA_OK;
}

/* Ages, scores and years pass as items when all whole numbers do: names those with more levels than a scale has. */
static void warn_levels(blica_ctx *ctx, const outline *shape) {
  enum { MANY = 20 };
  for (int i = 0; shape->coding && i < shape->n; i++) {
    const int levels = bl_plane(shape->coding, i + 1) - bl_plane(shape->coding, i) + 1;
    if (levels > MANY)
      bl_warn(ctx,
              "'%s' has %d levels, as a measurement has and not an item: leave it out, or divide it into few levels",
              shape->variables[i], levels);
  }
}

/* Checks the options for the method that `auto` chooses. */
static blica_status check_effects(blica_ctx *ctx, const blica_fit_options *o, const bl_estimator *e) {
  int count;
  const blica_option *table = blica_fit_option_table(&count);
  blica_fit_options resolved = *o;
  resolved.method = bl_method_number(e);
  return blica_options_check(ctx, table, count, &resolved);
}

/* Checks input and options, and finds the estimator and the sizes and names of the model. */
static blica_status check_fit(blica_ctx *ctx, const blica_input *input, const blica_fit_options *o,
                              const bl_estimator **estimator, outline *shape) {
  blica_status status = check_input(ctx, input, shape);
  if (status == BLICA_OK) status = items_of(ctx, input, shape);
  if (status != BLICA_OK) return status;
  /* of ordinal items matched alone knows the scales, exact or not */
  *estimator = bl_method_of(o->method, o->condition, is_exact(input) && !bl_coding_ordinal(shape->coding));
  if (!*estimator)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "method %d is unknown; blica_methods() lists the methods", o->method);
  if ((*estimator)->method->needs_rows && !input->data)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "method '%s' needs the rows of the data, not only their counts",
                   (*estimator)->method->name);
  if ((*estimator)->wants_counts && !input->data && !input->counts)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "method '%s' needs counts, not only correlations",
                   (*estimator)->method->name);
  status = check_levels(ctx, *estimator, shape);
  if (status != BLICA_OK) return status;
  if (shape->n < 2) return bl_fail(ctx, BLICA_ERR_DATA, "there is %d variable; at least 2 are needed", shape->n);
  if (o->sources < 1 || o->sources > shape->n)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "sources is %d; with %d variables it must be from 1 to %d", o->sources,
                   shape->n, shape->n);
  status = check_effects(ctx, o, *estimator);
  if (status != BLICA_OK) return status;
  warn_levels(ctx, shape);
  if (shape->u == 1)
    bl_warn(ctx,
            "there is one segment ('%s'): the mixing matrix is not identified; only its column space can be trusted",
            shape->segments[0]);
  return BLICA_OK;
}

/* An item with three or more levels, all but one of which nobody has, says nothing: its levels were probably given by
 * mistake. */
static blica_status check_constant(blica_ctx *ctx, const blica_coding *coding, const blica_counts *c) {
  if (!bl_coding_ordinal(coding) || !c) return BLICA_OK;
  for (int i = 0; i < coding->items; i++) {
    bool varies = bl_plane(coding, i + 1) - bl_plane(coding, i) == 1;
    int level = 0;
    for (int p = bl_plane(coding, i); p < bl_plane(coding, i + 1) && !varies; p++) {
      double ones = 0, present = 0;
      for (int s = 0; s < c->u; s++)
        ones += c->ones[p + (size_t)s * (size_t)c->n], present += c->present[p + (size_t)s * (size_t)c->n];
      varies = ones > 0 && ones < present;
      level += ones > 0;
    }
    if (!varies)
      return bl_fail(ctx, BLICA_ERR_DATA, "item '%s' has the level '%s' in all rows; leave it out", coding->names[i],
                     coding->labels[coding->first[i] + i + level]);
  }
  return BLICA_OK;
}

/* Counts and correlations that the method wants and the caller did not bring. */
typedef struct {
  bl_problem problem;
  blica_counts *counts, *masked; /* masked: without the rows of A that are free in a segment */
  blica_cor *cor, *filled;
  blica_cor *whole; /* of the counts that were masked */
  int sources;
  blica_counts **consumed; /* counts that the caller no longer needs; NULL: none */
} fit_tables;

/* Where some items have rows of A of their own: their correlations, and counts without them. */
static blica_status prepare_freed(blica_ctx *ctx, const blica_model *model, fit_tables *st) {
  bl_problem *p = &st->problem;
  if (!p->freed) return BLICA_OK;
  if (!p->counts) return bl_fail(ctx, BLICA_ERR_ARGUMENT, "option free needs data or counts, not only correlations");
  MUST(bl_free_check(ctx, model, p->counts, p->freed));
  if (bl_coding_ordinal(model->coding)) p->cor = NULL; /* its scales take the freed cuts for common */
  if (!memchr(p->freed, BLICA_FREED_ROW, (size_t)model->n * (size_t)model->u)) return BLICA_OK;
  MUST(bl_correlate(ctx, p->counts, false, &st->whole));
  MUST(bl_free_mask(ctx, model, p->counts, p->freed, &st->masked));
  p->counts = st->masked, p->cor = NULL;
  return BLICA_OK;
}

/* Counts and correlates what the method needs and the caller did not give. */
static blica_status prepare_tables(blica_ctx *ctx, const blica_input *input, const bl_estimator *estimator,
                                   const blica_model *model, fit_tables *st, blica_fit_report *fit) {
  blica_status status = BLICA_OK;
  bl_problem *p = &st->problem;
  p->data = input->data, p->counts = input->counts, p->cor = input->cor;
  double begun = bl_seconds();
  if (!p->counts && p->data && (estimator->wants_counts || !p->cor)) {
    TRY(blica_count(ctx, p->data, &st->counts));
    p->counts = st->counts;
    fit->seconds_count = bl_seconds() - begun;
  }
  TRY(check_constant(ctx, model->coding, p->counts));
  if (p->counts) TRY(bl_check_before_fit(ctx, p->counts, p->options->allow_unidentified));
  TRY(prepare_freed(ctx, model, st));
  begun = bl_seconds();
  if (!p->cor && estimator->wants_cor) {
    if (st->masked) bl_warn_hold(ctx); /* what is masked is not missing in the data */
    status = bl_correlate(ctx, p->counts, false, &st->cor);
    if (st->masked) bl_warn_release(ctx);
    TRY(status);
    if (p->freed && st->cor->log_scale) TRY(bl_free_scales(ctx, model, p->counts, p->freed, st->cor));
    p->cor = st->cor;
    fit->seconds_correlate = bl_seconds() - begun;
  }
  if (p->cor && p->cor->pair_rows && p->cor->empty_pairs > 0) {
    TRY(bl_cor_fill(ctx, p->cor, st->sources, &st->filled));
    p->cor = st->filled;
  }
  const bool keeps = p->cor && estimator->keeps_counts && estimator->keeps_counts(p->cor);
  if (p->cor && !estimator->wants_counts && !keeps) { /* of thousands of variables, gigabytes */
    if (st->consumed) {
      blica_counts_free(*st->consumed);
      *st->consumed = NULL;
    }
    blica_counts_free(st->counts), blica_counts_free(st->masked);
    st->counts = st->masked = NULL;
    p->counts = NULL;
  }
  const blica_cor *all = st->whole ? st->whole : p->cor;
  if (all) {
    fit->zero_cells = all->zero_cells;
    fit->constant_pairs = all->constant_pairs;
    fit->empty_pairs = all->empty_pairs;
    fit->constant_columns = all->constant_columns;
  }
done:
  return status;
}

/* Gives the model the names and the levels of its variables. */
static blica_status name_model(blica_ctx *ctx, const outline *shape, blica_model *model) {
  blica_status status;
  bl_free(model->variables);
  bl_free(model->segments);
  model->variables = model->segments = NULL;
  TRY(bl_copy_texts(ctx, shape->n, (const char *const *)shape->variables, &model->variables));
  TRY(bl_copy_texts(ctx, shape->u, (const char *const *)shape->segments, &model->segments));
  if (shape->coding) {
    blica_coding *coding;
    TRY(bl_coding_copy(ctx, shape->coding, &coding));
    TRY(bl_model_set_coding(ctx, model, coding));
  }
done:
  return status;
}

/* whole: correlations of items that are masked; NULL: none are. */
static void begin_model(const bl_problem *p, const blica_cor *whole, const char *method, blica_model *model) {
  if (!whole) whole = p->cor;
  for (int s = 0; s < model->u; s++) model->samples[s] = p->cor ? p->cor->samples[s] : p->counts->samples[s];
  if (whole)
    memcpy(model->thresholds, whole->thresholds, (size_t)model->planes * (size_t)model->u * sizeof(double));
  else
    bl_thresholds(p->counts, model->thresholds);
  snprintf(model->method, sizeof model->method, "%s", method);
  model->link = p->options->link;
  model->fit.seed = p->options->seed;
  model->fit.condition = model->fit.prior_mixing = model->fit.prior_variance = INFINITY;
}

/* Thresholds of items without a value in a segment: NaN, or what the model says. */
static void set_unseen(const blica_cor *cor, bool implied, double *work /* [planes] */, blica_model *m) {
  for (int s = 0; cor && cor->item_rows && s < m->u; s++) {
    if (implied) bl_model_margins(m, s, NULL, work);
    for (int i = 0; i < m->n; i++)
      for (int p = bl_plane(m->coding, i); p < bl_plane(m->coding, i + 1); p++)
        if (!(bl_cor_item_rows(cor, s, i) > 0)) m->thresholds[p + m->planes * s] = implied ? work[p] : NAN;
  }
}

/* Means, cuts and canonical form, and what freed items have of their own. cor: of all items, or NULL. */
static blica_status fill_means(blica_ctx *ctx, const blica_cor *cor, bool cuts, bool means_done, blica_model *model) {
  BL_OWNED double *work = NULL;
  MUST(bl_alloc(ctx, (size_t)model->planes, &work));
  set_unseen(cor, false, work, model);
  MUST(bl_model_fill_means(ctx, model, cuts, means_done));
  set_unseen(cor, true, work, model);
  return model->freed ? bl_free_estimate(ctx, cor, model) : BLICA_OK;
}

/* A fit that was stopped says so, even when its best start had ended by itself. */
static void settle_stop(blica_fit_report *fit) {
  for (int i = 0; i < fit->n_starts; i++)
    if (fit->starts[i].stop == BLICA_STOP_INTERRUPTED ||
        (fit->starts[i].stop == BLICA_STOP_TIME && fit->stop != BLICA_STOP_INTERRUPTED))
      fit->stop = fit->starts[i].stop;
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
  bool fine = all_finite(m->mixing, n * k) && all_finite(m->variances, k * u) && all_finite(m->means, k * u) &&
              all_finite(m->cuts, (size_t)m->planes);
  for (size_t i = 0; i < k * u && fine; i++) fine = m->variances[i] >= 0;
  if (fine) return BLICA_OK;
  if (bl_checkpoint_resumed(checkpoint))
    return bl_fail(ctx, BLICA_ERR_FORMAT, "checkpoint '%s' leads to numbers that are not finite; begin without it",
                   bl_checkpoint_path(checkpoint));
  return bl_fail(ctx, BLICA_ERR_NUMERIC, "method '%s' gave numbers that are not finite on these data", m->method);
}

/* The part of the input that decides the result, in the form that the method uses. */
static blica_input used_input(const bl_problem *p, const bl_estimator *e) {
  if (e->method->needs_rows) return (blica_input){.data = p->data};
  return e->wants_counts ? (blica_input){.counts = p->counts} : (blica_input){.cor = p->cor};
}

/* Marks the items that option free names, or those of freed, in the model. */
static blica_status mark_freed(blica_ctx *ctx, const bl_estimator *estimator, const blica_fit_options *o,
                               const uint8_t *freed, blica_model *model) {
  if (freed || o->free) MUST(bl_free_possible(ctx, estimator, o));
  if (freed) return bl_model_free_items(ctx, model, freed);
  if (!o->free) return BLICA_OK;
  MUST(bl_alloc_for(ctx, model, (size_t)model->n * (size_t)model->u, &model->freed));
  return bl_free_read(ctx, o->free, model, model->freed);
}

blica_status bl_fit(blica_ctx *ctx, const blica_input *input, blica_counts **consumed, const blica_fit_options *options,
                    const uint8_t *freed, blica_model **out) {
  blica_status status;
  const bl_estimator *estimator = NULL;
  outline shape = {0};
  fit_tables st = {.consumed = consumed, .sources = options->sources};
  blica_fit_options resolved;
  blica_model *model = NULL;
  bl_checkpoint *checkpoint = NULL;
  bool means_done = false;
  double begun = bl_seconds();
  bl_poll_reset(ctx);
  bl_blas_hold();
  int count;
  const blica_option *table = blica_fit_option_table(&count);
  TRY(bl_same(ctx, input, NULL, table, count, options));
  TRY(check_fit(ctx, input, options, &estimator, &shape));
  resolved = resolve(options, estimator);
  st.problem.options = &resolved;
  st.problem.deadline = begun + options->max_seconds;
  TRY(bl_resume_open(ctx, table, count, &resolved, st.problem.deadline, &checkpoint));
  st.problem.stage.checkpoint = checkpoint;
  TRY(blica_model_create(ctx, shape.n, options->sources, shape.u, &model));
  TRY(bl_report_options(ctx, &model->fit, options));
  TRY(name_model(ctx, &shape, model));
  if ((input->data && input->data->segments_found) || (input->counts && input->counts->segments_found))
    TRY(bl_report_note(ctx, &model->fit, BL_SEGMENTS_FOUND, 1));
  TRY(mark_freed(ctx, estimator, options, freed, model));
  st.problem.freed = model->freed;
  TRY(bl_agree(ctx, prepare_tables(ctx, input, estimator, model, &st, &model->fit)));
  begin_model(&st.problem, st.whole, blica_method_name(resolved.method), model);
  const blica_input used = used_input(&st.problem, estimator);
  TRY(bl_resume_input(ctx, checkpoint, &used));
  double optimise = bl_seconds();
  TRY(estimator->estimate(ctx, &st.problem, model, &means_done));
  model->fit.seconds_optimise = bl_seconds() - optimise - model->fit.seconds_regularise;
  TRY(bl_comm_check(ctx));
  settle_stop(&model->fit);
  const bool cuts = resolved.thresholds == BLICA_THRESHOLDS_ITEMS && !estimator->no_cuts;
  TRY(fill_means(ctx, st.whole ? st.whole : st.problem.cor, cuts, means_done, model));
  TRY(check_model(ctx, model, checkpoint));
  model->fit.seconds = bl_seconds() - begun;
  *out = bl_take(&model);
done:
  if (status == BLICA_ERR_NUMERIC && bl_comm_check(ctx) != BLICA_OK)
    status = bl_comm_check(ctx); /* sums that never came */
  if (status == BLICA_OK || status == BLICA_ERR_INTERRUPTED) bl_checkpoint_flush(ctx, checkpoint);
  bl_checkpoint_free(checkpoint);
  bl_blas_release();
  blica_coding_free(shape.coding);
  blica_model_free(model);
  blica_counts_free(st.counts);
  blica_counts_free(st.masked);
  blica_cor_free(st.cor);
  blica_cor_free(st.filled);
  blica_cor_free(st.whole);
  return status;
}
