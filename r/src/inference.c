/* inference.c - fitted values, assessments and selections as lists. */
#include "blica_r.h"

/* A place for a result of the library, which is freed even when R jumps out of the call. */
static SEXP hold(R_CFinalizer_t release) {
  SEXP held = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
  R_RegisterCFinalizer(held, release);
  UNPROTECT(1);
  return held;
}

#define RELEASE(name)                                                                                                  \
  static void release_##name(SEXP held) {                                                                              \
    blica_##name##_free(R_ExternalPtrAddr(held));                                                                      \
    R_ClearExternalPtr(held);                                                                                          \
  }
RELEASE(fitted)
RELEASE(assessment)
RELEASE(selection)
RELEASE(invariance)

SEXP blica_r_fitted(SEXP context, SEXP model) {
  session *s = session_of(context);
  SEXP held = PROTECT(hold(release_fitted));
  blica_fitted_values *f;
  blica_status status = blica_fitted(s->ctx, model_of(model), NULL, &f);
  R_SetExternalPtrAddr(held, f);
  finish(s, status);
  list_builder b = list_begin(2);
  list_add(&b, "correlation", r_squares(f->correlation, f->n, f->u, 1));
  list_add(&b, "margin", r_matrix(f->margin, f->planes, f->u));
  SEXP result = PROTECT(list_end(&b));
  release_fitted(held);
  UNPROTECT(2);
  return result;
}

static void add_errors(list_builder *b, const blica_assessment *a) {
  const int n = a->n, k = a->k, u = a->u, p = (int)a->parameters;
  list_add(b, "level", Rf_ScalarReal(a->level));
  list_add(b, "mixing_se", r_matrix(a->mixing_se, n, k));
  list_add(b, "mixing_low", r_matrix(a->mixing_low, n, k));
  list_add(b, "mixing_high", r_matrix(a->mixing_high, n, k));
  list_add(b, "log_variance_se", r_matrix(a->log_variance_se, k, u));
  list_add(b, "variance_low", r_matrix(a->variance_low, k, u));
  list_add(b, "variance_high", r_matrix(a->variance_high, k, u));
  list_add(b, "threshold_se", r_matrix(a->threshold_se, a->planes, u));
  list_add(b, "mean_se", r_matrix(a->mean_se, k, u));
  list_add(b, "cut_se", r_doubles(a->cut_se, a->planes));
  list_add(b, "draws", Rf_ScalarInteger(a->draws));
  if (a->covariance) list_add(b, "covariance", r_matrix(a->covariance, p, p));
  if (!a->draws) return;
  list_add(b, "mixing_se_bootstrap", r_matrix(a->mixing_se_bootstrap, n, k));
  list_add(b, "log_variance_se_bootstrap", r_matrix(a->log_variance_se_bootstrap, k, u));
  list_add(b, "mean_se_bootstrap", r_matrix(a->mean_se_bootstrap, k, u));
  list_add(b, "stability", r_doubles(a->stability, k));
}

/* Weights, clusters, strata and replicate weights of packed rows, each of which may be NULL, and whether segments were
 * found in them. Returns data. */
SEXP blica_r_set_rows(SEXP context, SEXP data, SEXP weights, SEXP cluster, SEXP strata, SEXP replicates, SEXP method,
                      SEXP found) {
  session *s = session_of(context);
  if (!Rf_isNull(replicates))
    finish(s, blica_data_set_replicates(s->ctx, data_of(data), REAL(weights), Rf_ncols(replicates), REAL(replicates),
                                        CHAR(STRING_ELT(method, 0))));
  else if (!Rf_isNull(weights))
    finish(s, blica_data_set_weights(s->ctx, data_of(data), REAL(weights)));
  if (!Rf_isNull(cluster)) finish(s, blica_data_set_clusters(s->ctx, data_of(data), INTEGER(cluster)));
  if (!Rf_isNull(strata)) finish(s, blica_data_set_strata(s->ctx, data_of(data), INTEGER(strata)));
  data_of(data)->segments_found = Rf_asLogical(found) == TRUE;
  return data;
}

/* Columns of a data frame: item, segment (NA: all), kind, effect, p, p_adjusted, found. */
SEXP blica_r_invariance(SEXP context, SEXP model, SEXP data, SEXP values) {
  session *s = session_of(context);
  blica_invariance_options options = blica_invariance_options_default();
  set_options(s, "invariance", values, &options);
  SEXP held = PROTECT(hold(release_invariance));
  blica_invariance_result *r;
  blica_status status = blica_invariance(s->ctx, model_of(model), data_of(data), &options, &r);
  R_SetExternalPtrAddr(held, r);
  finish(s, status);
  SEXP item = PROTECT(Rf_allocVector(STRSXP, r->tests)), segment = PROTECT(Rf_allocVector(STRSXP, r->tests));
  SEXP kind = PROTECT(Rf_allocVector(STRSXP, r->tests)), found = PROTECT(Rf_allocVector(INTSXP, r->tests));
  SEXP number[3];
  for (int c = 0; c < 3; c++) number[c] = PROTECT(Rf_allocVector(REALSXP, r->tests));
  for (int i = 0; i < r->tests; i++) {
    const blica_item_test *t = &r->test[i];
    SET_STRING_ELT(item, i, Rf_mkCharCE(r->variables[t->item], CE_UTF8));
    SET_STRING_ELT(segment, i, t->segment < 0 ? NA_STRING : Rf_mkCharCE(r->segments[t->segment], CE_UTF8));
    SET_STRING_ELT(kind, i, Rf_mkChar(blica_item_part_name(t->kind)));
    REAL(number[0])[i] = t->effect, REAL(number[1])[i] = t->p, REAL(number[2])[i] = t->p_adjusted;
    INTEGER(found)[i] = t->found;
  }
  list_builder b = list_begin(7);
  list_add(&b, "item", item);
  list_add(&b, "segment", segment);
  list_add(&b, "kind", kind);
  list_add(&b, "effect", number[0]);
  list_add(&b, "p", number[1]);
  list_add(&b, "p_adjusted", number[2]);
  list_add(&b, "found", found);
  SEXP result = PROTECT(list_end(&b));
  release_invariance(held);
  UNPROTECT(9);
  return result;
}

SEXP blica_r_assess(SEXP context, SEXP model, SEXP data, SEXP values) {
  session *s = session_of(context);
  blica_assess_options options = blica_assess_options_default();
  set_options(s, "assess", values, &options);
  SEXP held = PROTECT(hold(release_assessment));
  blica_assessment *a;
  blica_status status = blica_assess(s->ctx, model_of(model), data_of(data), &options, &a);
  R_SetExternalPtrAddr(held, a);
  if (status == BLICA_OK) keep_interrupted(s);
  finish(s, status);
  char *verdict[BLICA_QUESTIONS], *answers[BLICA_QUESTIONS];
  for (int q = 0; q < BLICA_QUESTIONS; q++)
    verdict[q] = a->verdict[q], answers[q] = (char *)blica_answer_name(a->answer[q]);
  const double optimum[] = {a->distance, a->refit_mcs, a->refit_gain};
  const double rows[] = {a->lag,  a->inflation,        a->draws_per_segment,    a->lag_z,      a->decay,
                         a->rows, (double)a->clusters, (double)a->block_length, a->replicates, (double)a->strata};
  const double fit[] = {a->srmr,     a->m2,         (double)a->df,  a->m2_p,
                        a->rmsea2,   a->rmsea2_low, a->rmsea2_high, a->srmr_unbiased,
                        a->srmr_low, a->srmr_high,  a->tails_p};
  const double margins[] = {a->margin_p, a->margin_size, a->margin_shift, a->margin_item + 1, a->margin_segment + 1};
  list_builder b = list_begin(28 + (a->margin_item >= 0 ? 1 : 0) + (a->covariance ? 1 : 0) + (a->draws ? 4 : 0));
  list_add(&b, "verdict", r_texts(verdict, BLICA_QUESTIONS));
  list_add(&b, "answers", r_texts(answers, BLICA_QUESTIONS));
  list_add(&b, "draws_planned", Rf_ScalarInteger(a->draws_planned));
  list_add(&b, "segments_found", Rf_ScalarLogical(a->segments_found));
  list_add(&b, "chance_mcs", Rf_ScalarReal(a->chance_mcs));
  list_add(&b, "optimum", r_doubles(optimum, 3));
  list_add(&b, "rows", r_doubles(rows, 10));
  if (a->margin_item >= 0) list_add(&b, "margins", r_doubles(margins, 5));
  list_add(&b, "expected_mcs", Rf_ScalarReal(a->expected_mcs));
  list_add(&b, "angle", r_doubles(a->angle, a->k));
  list_add(&b, "angle_bound", r_doubles(a->angle_bound, a->k));
  list_add(&b, "change_p", Rf_ScalarReal(a->change_p));
  list_add(&b, "change_beyond_p", Rf_ScalarReal(a->change_beyond_p));
  list_add(&b, "source_change_p", r_doubles(a->source_change_p, a->k));
  list_add(&b, "fit", r_doubles(fit, 11));
  list_add(&b, "segment_srmr", r_doubles(a->segment_srmr, a->u));
  list_add(&b, "segment_m2", r_doubles(a->segment_m2, a->u));
  list_add(&b, "item_srmr", r_doubles(a->item_srmr, a->n));
  add_errors(&b, a);
  SEXP result = PROTECT(list_end(&b));
  release_assessment(held);
  UNPROTECT(2);
  return result;
}

static SEXP chosen_by(const blica_selection *f) {
  SEXP chosen = Rf_allocVector(INTSXP, 5);
  INTEGER(chosen)[0] = f->by_heldout, INTEGER(chosen)[1] = f->by_parallel;
  INTEGER(chosen)[2] = f->by_map, INTEGER(chosen)[3] = f->by_bic;
  INTEGER(chosen)[4] = f->by_segments < 0 ? NA_INTEGER : f->by_segments;
  return chosen;
}

SEXP blica_r_select(SEXP context, SEXP data, SEXP values) {
  session *s = session_of(context);
  blica_select_options options = blica_select_options_default();
  set_options(s, "select", values, &options);
  SEXP held = PROTECT(hold(release_selection));
  blica_selection *f;
  blica_status status = blica_select(s->ctx, data_of(data), &options, &f);
  R_SetExternalPtrAddr(held, f);
  finish(s, status);
  list_builder b = list_begin(13);
  list_add(&b, "sources", Rf_ScalarInteger(f->sources));
  list_add(&b, "reason", Rf_mkString(f->reason));
  list_add(&b, "method", Rf_mkString(blica_method_name(f->method)));
  list_add(&b, "lowest", Rf_ScalarInteger(f->lowest));
  list_add(&b, "heldout", r_doubles(f->heldout, f->highest + 1));
  list_add(&b, "heldout_se", r_doubles(f->heldout_se, f->highest + 1));
  list_add(&b, "heldout_segments", r_doubles(f->heldout_segments, f->highest + 1));
  list_add(&b, "heldout_segments_se", r_doubles(f->heldout_segments_se, f->highest + 1));
  list_add(&b, "bic", r_doubles(f->bic, f->highest + 1));
  list_add(&b, "map", r_doubles(f->map, f->highest + 1));
  list_add(&b, "eigenvalues", r_doubles(f->eigenvalue, f->n));
  list_add(&b, "reference", r_doubles(f->reference, f->n));
  list_add(&b, "chosen", chosen_by(f));
  SEXP result = PROTECT(list_end(&b));
  release_selection(held);
  UNPROTECT(2);
  return result;
}
