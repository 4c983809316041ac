/* verbs.c - the verbs of the library, each on objects in external pointers. */
#include <string.h>

#include "blica_r.h"

/* The object, or R's error: it is protected while the session ends, which may allocate. */
static SEXP give(session *s, blica_status status, SEXP object) {
  PROTECT(object);
  finish(s, status);
  UNPROTECT(1);
  return object;
}

SEXP blica_r_count(SEXP context, SEXP data) {
  session *s = session_of(context);
  blica_counts *counts;
  blica_status status = blica_count(s->ctx, data_of(data), &counts);
  return give(s, status, wrap_counts(counts));
}

SEXP blica_r_correlate(SEXP context, SEXP counts) {
  session *s = session_of(context);
  blica_cor *cor;
  blica_status status = blica_correlate(s->ctx, counts_of(counts), &cor);
  return give(s, status, wrap_cor(cor));
}

SEXP blica_r_regularise(SEXP context, SEXP cor, SEXP condition) {
  session *s = session_of(context);
  blica_cor *regular;
  blica_status status = blica_regularise(s->ctx, cor_of(cor), Rf_asReal(condition), &regular);
  return give(s, status, wrap_cor(regular));
}

SEXP blica_r_fit(SEXP context, SEXP data, SEXP counts, SEXP cor, SEXP values) {
  session *s = session_of(context);
  blica_fit_options options = blica_fit_options_default();
  set_options(s, "fit", values, &options);
  blica_input input = {data_of(data), counts_of(counts), cor_of(cor)};
  blica_model *model;
  blica_status status = blica_fit(s->ctx, &input, &options, &model);
  return give(s, status, wrap_model(model));
}

/* ---- files ---- */

SEXP blica_r_model_save(SEXP context, SEXP model, SEXP path) {
  session *s = session_of(context);
  finish(s, blica_model_save(s->ctx, model_of(model), Rf_translateChar(Rf_asChar(path))));
  return R_NilValue;
}

SEXP blica_r_model_load(SEXP context, SEXP path) {
  session *s = session_of(context);
  blica_model *model;
  blica_status status = blica_model_load(s->ctx, Rf_translateChar(Rf_asChar(path)), &model);
  return give(s, status, wrap_model(model));
}

/* What the variables ask, before the model is made a list. */
SEXP blica_r_set_labels(SEXP context, SEXP model, SEXP labels) {
  session *s = session_of(context);
  const char **text = (const char **)R_alloc((size_t)Rf_length(labels), sizeof *text);
  for (int i = 0; i < Rf_length(labels); i++) text[i] = CHAR(STRING_ELT(labels, i));
  finish(s, blica_model_set_labels(s->ctx, model_of(model), text));
  return R_NilValue;
}

static void free_text(SEXP pointer) {
  blica_text_free(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

/* The text of model.json. */
SEXP blica_r_model_write(SEXP context, SEXP model) {
  session *s = session_of(context);
  char *text;
  size_t length;
  SEXP held = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
  R_RegisterCFinalizer(held, free_text);
  blica_status status = blica_model_write(s->ctx, model_of(model), &text, &length);
  R_SetExternalPtrAddr(held, text);
  finish(s, status);
  SEXP out = PROTECT(Rf_ScalarString(Rf_mkCharLenCE(text, (int)length, CE_UTF8)));
  free_text(held);
  UNPROTECT(2);
  return out;
}

SEXP blica_r_model_read(SEXP context, SEXP text) {
  session *s = session_of(context);
  const char *json = CHAR(Rf_asChar(text));
  blica_model *model;
  blica_status status = blica_model_parse(s->ctx, json, strlen(json), "in memory", &model);
  return give(s, status, wrap_model(model));
}

SEXP blica_r_counts_save(SEXP context, SEXP counts, SEXP path) {
  session *s = session_of(context);
  finish(s, blica_counts_save(s->ctx, counts_of(counts), Rf_translateChar(Rf_asChar(path))));
  return R_NilValue;
}

SEXP blica_r_counts_load(SEXP context, SEXP path) {
  session *s = session_of(context);
  blica_counts *counts;
  blica_status status = blica_counts_load(s->ctx, Rf_translateChar(Rf_asChar(path)), &counts);
  return give(s, status, wrap_counts(counts));
}

/* ---- simulate ---- */

SEXP blica_r_simulate(SEXP context, SEXP values) {
  session *s = session_of(context);
  blica_simulate_options options = blica_simulate_options_default();
  set_options(s, "simulate", values, &options);
  blica_model *model;
  blica_data *data;
  blica_counts *counts;
  blica_status status = blica_simulate(s->ctx, &options, &model, &data, &counts);
  list_builder b = list_begin(3);
  list_add(&b, "model", wrap_model(model));
  list_add(&b, "data", wrap_data(data));
  list_add(&b, "counts", wrap_counts(counts));
  finish(s, status);
  return list_end(&b);
}

SEXP blica_r_simulate_rows(SEXP context, SEXP model, SEXP values) {
  session *s = session_of(context);
  blica_simulate_options options = blica_simulate_options_default();
  set_options(s, "simulate", values, &options);
  blica_data *data;
  blica_status status = blica_simulate_rows(s->ctx, model_of(model), options.seed, &data);
  return give(s, status, wrap_data(data));
}

/* ---- small things ---- */

SEXP blica_r_tetrachoric(SEXP context, SEXP cells) {
  session *s = session_of(context);
  double rho, se, threshold[2];
  int flags;
  finish(s, blica_tetrachoric(s->ctx, REAL(cells), &rho, &se, threshold, &flags));
  list_builder b = list_begin(4);
  list_add(&b, "rho", Rf_ScalarReal(rho));
  list_add(&b, "se", Rf_ScalarReal(se));
  list_add(&b, "tau", r_doubles(threshold, 2));
  list_add(&b, "flags", Rf_ScalarInteger(flags));
  return list_end(&b);
}

/* cells are row by row. */
SEXP blica_r_polychoric(SEXP context, SEXP dim, SEXP cells) {
  session *s = session_of(context);
  const int rows = INTEGER(dim)[0], columns = INTEGER(dim)[1];
  double rho, se, *threshold = (double *)R_alloc((size_t)(rows + columns), sizeof *threshold);
  int flags;
  finish(s, blica_polychoric(s->ctx, rows, columns, REAL(cells), &rho, &se, threshold, &flags));
  list_builder b = list_begin(4);
  list_add(&b, "rho", Rf_ScalarReal(rho));
  list_add(&b, "se", Rf_ScalarReal(se));
  list_add(&b, "tau", r_doubles(threshold, rows + columns - 2));
  list_add(&b, "flags", Rf_ScalarInteger(flags));
  return list_end(&b);
}

SEXP blica_r_acm(SEXP context, SEXP data, SEXP cor) {
  session *s = session_of(context);
  const int size = blica_acm_size(cor_of(cor));
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, size, size));
  finish(s, blica_acm(s->ctx, data_of(data), cor_of(cor), 0, REAL(out)));
  UNPROTECT(1);
  return out;
}

/* code is from 0, NA missing. */
SEXP blica_r_polyserial(SEXP context, SEXP x, SEXP code, SEXP levels) {
  session *s = session_of(context);
  const R_xlen_t rows = Rf_xlength(code);
  const int count = Rf_asInteger(levels);
  int8_t *level = (int8_t *)R_alloc((size_t)rows + 1, 1);
  double rho, se, *threshold = (double *)R_alloc((size_t)count + 1, sizeof *threshold);
  for (R_xlen_t r = 0; r < rows; r++)
    level[r] = INTEGER(code)[r] == NA_INTEGER ? BLICA_MISSING : (int8_t)INTEGER(code)[r];
  finish(s, blica_polyserial(s->ctx, rows, REAL(x), count, level, &rho, &se, threshold));
  list_builder b = list_begin(3);
  list_add(&b, "rho", Rf_ScalarReal(rho));
  list_add(&b, "se", Rf_ScalarReal(se));
  list_add(&b, "tau", r_doubles(threshold, count - 1));
  return list_end(&b);
}

static double *doubles_or_null(SEXP x) {
  return Rf_isNull(x) ? NULL : REAL(x);
}

SEXP blica_r_mvn(SEXP context, SEXP lower, SEXP upper, SEXP mean, SEXP cov, SEXP loading, SEXP unique, SEXP error,
                 SEXP seed, SEXP gradient) {
  session *s = session_of(context);
  const int n = Rf_length(lower);
  const size_t square = (size_t)n * (size_t)n;
  blica_rectangle r = {.n = n,
                       .k = Rf_isNull(loading) ? 0 : Rf_ncols(loading),
                       .lower = REAL(lower),
                       .upper = REAL(upper),
                       .mean = doubles_or_null(mean),
                       .cov = doubles_or_null(cov),
                       .loading = doubles_or_null(loading),
                       .unique = doubles_or_null(unique),
                       .error = Rf_asReal(error),
                       .seed = (uint64_t)Rf_asReal(seed)};
  double value, bound, *room = (double *)R_alloc(3 * (size_t)n + square, sizeof *room);
  blica_rectangle_gradient g = {room, room + n, room + 2 * n, room + 3 * n};
  finish(s, blica_mvn(s->ctx, &r, &value, &bound, Rf_asLogical(gradient) ? &g : NULL));
  list_builder b = list_begin(6);
  list_add(&b, "value", Rf_ScalarReal(value));
  list_add(&b, "error", Rf_ScalarReal(bound));
  if (Rf_asLogical(gradient)) {
    list_add(&b, "lower", r_doubles(g.lower, n));
    list_add(&b, "upper", r_doubles(g.upper, n));
    list_add(&b, "mean", r_doubles(g.mean, n));
    list_add(&b, "cov", r_matrix(g.cov, n, n));
  }
  return list_end(&b);
}

SEXP blica_r_compare(SEXP context, SEXP a, SEXP b_matrix) {
  session *s = session_of(context);
  int n = Rf_nrows(a), k = Rf_ncols(a);
  double mcs;
  SEXP matching = PROTECT(Rf_allocVector(INTSXP, k)), cosine = PROTECT(Rf_allocVector(REALSXP, k));
  finish(s, blica_compare(s->ctx, n, k, REAL(a), REAL(b_matrix), &mcs, INTEGER(matching), REAL(cosine)));
  for (int j = 0; j < k; j++) INTEGER(matching)[j]++; /* columns count from 1 in R */
  list_builder b = list_begin(3);
  list_add(&b, "mcs", Rf_ScalarReal(mcs));
  list_add(&b, "matching", matching);
  list_add(&b, "cosine", cosine);
  SEXP result = list_end(&b);
  UNPROTECT(2);
  return result;
}

/* sizes: variables, sources, segments, levels; samples -1: only the count. */
SEXP blica_r_identify_count(SEXP context, SEXP sizes, SEXP samples, SEXP change) {
  session *s = session_of(context);
  const int *size = INTEGER(sizes);
  const double rows = Rf_asReal(samples);
  int64_t statistics, unknowns;
  blica_plan plan = {0};
  blica_status status =
      blica_identify_count(s->ctx, size[0], size[1], size[2], size[3] > 2 ? size[0] : 0, &statistics, &unknowns);
  if (status == BLICA_OK && rows != -1)
    status = blica_identify_plan(s->ctx, size[0], size[1], size[2], size[3], rows >= 0 ? (int64_t)rows : 0,
                                 Rf_asReal(change), &plan);
  finish(s, status);
  list_builder b = list_begin(rows != -1 ? 8 : 3);
  list_add(&b, "statistics", Rf_ScalarReal((double)statistics));
  list_add(&b, "unknowns", Rf_ScalarReal((double)unknowns));
  list_add(&b, "surplus", Rf_ScalarReal((double)(statistics - unknowns)));
  if (rows != -1) {
    list_add(&b, "expected_mcs", Rf_ScalarReal(plan.mcs));
    list_add(&b, "range", r_doubles((double[]){plan.low, plan.high}, 2));
    list_add(&b, "chance_mcs", Rf_ScalarReal(plan.chance));
    list_add(&b, "rows_needed", Rf_ScalarReal(plan.rows_needed < 0 ? NA_REAL : (double)plan.rows_needed));
    list_add(&b, "segments_needed", Rf_ScalarReal(plan.segments_needed < 0 ? NA_REAL : (double)plan.segments_needed));
  }
  return list_end(&b);
}

SEXP blica_r_identify(SEXP context, SEXP model) {
  session *s = session_of(context);
  blica_identification *found;
  blica_status status = blica_identify(s->ctx, model_of(model), &found);
  if (status != BLICA_OK) finish(s, status);
  list_builder b = list_begin(5);
  list_add(&b, "parameters", Rf_ScalarReal((double)found->parameters));
  list_add(&b, "rank", Rf_ScalarReal((double)found->rank));
  list_add(&b, "design", Rf_mkString(blica_answer_name(found->design)));
  list_add(&b, "smallest", Rf_ScalarReal(found->smallest));
  list_add(&b, "looseness", r_doubles(found->looseness, found->k));
  blica_identification_free(found);
  finish(s, status);
  return list_end(&b);
}

SEXP blica_r_methods(void) {
  int count;
  const blica_method *methods = blica_methods(&count);
  SEXP help = PROTECT(Rf_allocVector(STRSXP, count)), names = PROTECT(Rf_allocVector(STRSXP, count));
  for (int i = 0; i < count; i++) {
    SET_STRING_ELT(help, i, Rf_mkChar(methods[i].help));
    SET_STRING_ELT(names, i, Rf_mkChar(methods[i].name));
  }
  Rf_setAttrib(help, R_NamesSymbol, names);
  UNPROTECT(2);
  return help;
}

SEXP blica_r_version(void) {
  return Rf_mkString(blica_version());
}
