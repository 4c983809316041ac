/* posterior.c - the full likelihood of rows and the posterior of their sources. */
#include "blica_r.h"

SEXP blica_r_loglik(SEXP context, SEXP model, SEXP data, SEXP values) {
  session *s = session_of(context);
  blica_loglik_options options = blica_loglik_options_default();
  set_options(s, "loglik", values, &options);
  blica_loglik_result *result;
  blica_status status = blica_loglik(s->ctx, model_of(model), data_of(data), &options, &result);
  if (status != BLICA_OK) finish(s, status);
  list_builder b = list_begin(7);
  list_add(&b, "total", Rf_ScalarReal(result->total));
  list_add(&b, "total_error", Rf_ScalarReal(result->total_error));
  list_add(&b, "segments", r_texts(result->segments, result->u));
  list_add(&b, "loglik", r_doubles(result->loglik, result->u));
  list_add(&b, "error", r_doubles(result->error, result->u));
  list_add(&b, "row_loglik", r_doubles(result->row_loglik, result->rows));
  list_add(&b, "engine", Rf_mkString(blica_engine_name(result->engine)));
  blica_loglik_result_free(result);
  finish(s, status);
  return list_end(&b);
}

SEXP blica_r_sources(SEXP context, SEXP model, SEXP data, SEXP values) {
  session *s = session_of(context);
  blica_sources_options options = blica_sources_options_default();
  set_options(s, "sources", values, &options);
  blica_posterior *posterior;
  blica_status status = blica_sources(s->ctx, model_of(model), data_of(data), &options, &posterior);
  if (status != BLICA_OK) finish(s, status);
  list_builder b = list_begin(3);
  list_add(&b, "mean", r_matrix(posterior->mean, posterior->k, (int)posterior->rows));
  list_add(&b, "sd", r_matrix(posterior->sd, posterior->k, (int)posterior->rows));
  list_add(&b, "draws", r_doubles(posterior->draws, posterior->rows * posterior->k * posterior->n_draws));
  blica_posterior_free(posterior);
  finish(s, status);
  return list_end(&b);
}
