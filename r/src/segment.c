/* segment.c - segments found in rows. */
#include "blica_r.h"

static SEXP trials_of(const blica_segmentation *r) {
  static const char *const names[] = {"states", "loglik", "score", "heldout", "heldout_se"};
  list_builder b = list_begin(5);
  for (int f = 0; f < 5; f++) {
    SEXP column = PROTECT(Rf_allocVector(REALSXP, r->n_trials));
    for (int i = 0; i < r->n_trials; i++) {
      const blica_segment_trial *t = &r->trials[i];
      const double fields[] = {t->states, t->loglik, t->score, t->heldout, t->heldout_se};
      REAL(column)[i] = fields[f];
    }
    list_add(&b, names[f], column);
    UNPROTECT(1);
  }
  return list_end(&b);
}

static void drop(SEXP pointer) {
  blica_segmentation_free(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

SEXP blica_r_segment(SEXP context, SEXP data, SEXP values) {
  session *s = session_of(context);
  blica_segment_options options = blica_segment_options_default();
  set_options(s, "segment", values, &options);
  blica_segmentation *r = NULL;
  blica_status status = blica_segment(s->ctx, data_of(data), &options, &r);
  if (status != BLICA_OK) finish(s, status);
  SEXP kept = PROTECT(R_MakeExternalPtr(r, R_NilValue, R_NilValue));
  R_RegisterCFinalizer(kept, drop);
  SEXP state = PROTECT(Rf_allocVector(INTSXP, r->rows)), runs = PROTECT(Rf_allocVector(INTSXP, r->states));
  SEXP searched = PROTECT(Rf_allocVector(LGLSXP, r->rows));
  for (int64_t t = 0; t < r->rows; t++) {
    INTEGER(state)[t] = r->state[t] + 1;
    LOGICAL(searched)[t] = !r->split || t / r->split % 2 == 0;
  }
  for (int i = 0; i < r->states; i++) INTEGER(runs)[i] = (int)r->runs[i];
  SEXP model = R_NilValue;
  if (r->model) {
    blica_model *own = r->model;
    r->model = NULL;
    model = wrap_model(own);
  }
  PROTECT(model);
  list_builder b = list_begin(14);
  list_add(&b, "state", state);
  list_add(&b, "searched", searched);
  list_add(&b, "lag", Rf_ScalarReal(r->lag));
  list_add(&b, "lag_z", Rf_ScalarReal(r->lag_z));
  list_add(&b, "draws_per_run", Rf_ScalarReal(r->draws_per_run));
  list_add(&b, "probability", r_matrix(r->probability, r->states, (int)r->rows));
  list_add(&b, "transition", r_matrix(r->transition, r->states, r->states));
  list_add(&b, "expected_rows", r_doubles(r->expected_rows, r->states));
  list_add(&b, "runs", runs);
  list_add(&b, "loglik", Rf_ScalarReal(r->loglik));
  list_add(&b, "engine", Rf_mkString(blica_engine_name(r->engine)));
  list_add(&b, "stop", Rf_mkString(blica_stop_name(r->stop)));
  list_add(&b, "trials", trials_of(r));
  list_add(&b, "model", model);
  finish(s, status);
  SEXP result = list_end(&b);
  drop(kept);
  UNPROTECT(5);
  return result;
}
