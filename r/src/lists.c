/* lists.c - objects of the library as lists of R. */
#include <stdio.h>
#include <string.h>

#include "blica_r.h"

SEXP blica_r_counts_list(SEXP pointer) {
  const blica_counts *c = counts_of(pointer);
  const int pairs = (int)c->pairs;
  SEXP cell[4];
  for (int t = 0; t < 4; t++) cell[t] = PROTECT(Rf_allocMatrix(REALSXP, pairs, c->u));
  for (int s = 0; s < c->u; s++)
    for (int j = 1; j < c->n; j++)
      for (int i = 0; i < j; i++) {
        double four[4];
        blica_counts_table(c, s, i, j, four);
        for (int t = 0; t < 4; t++) REAL(cell[t])[blica_pair(i, j) + (int64_t)s * pairs] = four[t];
      }
  list_builder b = list_begin(10);
  list_add(&b, "variables", r_texts(c->variables, c->n));
  list_add(&b, "segments", r_texts(c->segments, c->u));
  list_add(&b, "samples", r_doubles(c->samples, c->u));
  list_add(&b, "ones", r_matrix(c->ones, c->n, c->u));
  list_add(&b, "present", r_matrix(c->present, c->n, c->u));
  static const char *const names[] = {"n11", "n10", "n01", "n00"};
  for (int t = 0; t < 4; t++) list_add(&b, names[t], cell[t]);
  list_add(&b, "exact", Rf_ScalarLogical(c->exact));
  SEXP result = list_end(&b);
  UNPROTECT(4);
  return result;
}

SEXP r_squares(const double *packed, int n, int u, double diagonal) {
  SEXP dim = PROTECT(Rf_allocVector(INTSXP, 3));
  INTEGER(dim)[0] = INTEGER(dim)[1] = n, INTEGER(dim)[2] = u;
  SEXP result = PROTECT(Rf_allocArray(REALSXP, dim));
  const int64_t pairs = (int64_t)n * (n - 1) / 2;
  for (int s = 0; s < u; s++) {
    double *m = REAL(result) + (int64_t)s * n * n;
    for (int j = 0; j < n; j++) {
      m[j + (int64_t)j * n] = diagonal;
      for (int i = 0; i < j; i++) m[i + (int64_t)j * n] = m[j + (int64_t)i * n] = packed[blica_pair(i, j) + s * pairs];
    }
  }
  UNPROTECT(2);
  return result;
}

/* Names of the thresholds: those of the items, with ">=" and the level behind them where an item has several. */
static SEXP plane_names(const blica_coding *coding, char **variables, int n) {
  if (!coding) return r_texts(variables, n);
  SEXP names = PROTECT(Rf_allocVector(STRSXP, coding->first[n]));
  for (int i = 0; i < n; i++) {
    const int first = coding->first[i], count = coding->first[i + 1] - first;
    for (int l = 0; l < count; l++) {
      const char *label = coding->labels[first + i + l + 1];
      const size_t size = strlen(variables[i]) + strlen(label) + 3;
      char *name = R_alloc(size, 1);
      snprintf(name, size, "%s%s%s", variables[i], count > 1 ? ">=" : "", count > 1 ? label : "");
      SET_STRING_ELT(names, first + l, Rf_mkCharCE(name, CE_UTF8));
    }
  }
  UNPROTECT(1);
  return names;
}

/* The levels of every item, lowest first. */
static SEXP level_lists(const blica_coding *coding, int n) {
  static char zero[] = "0", one[] = "1", *plain[] = {zero, one};
  SEXP result = PROTECT(Rf_allocVector(VECSXP, n));
  for (int i = 0; i < n; i++) {
    const int first = coding ? coding->first[i] : 0, count = coding ? coding->first[i + 1] - first + 1 : 2;
    SET_VECTOR_ELT(result, i, r_texts(coding ? coding->labels + first + i : plain, count));
  }
  UNPROTECT(1);
  return result;
}

/* Thresholds [planes,u] with their names. */
static SEXP thresholds_matrix(const double *x, SEXP planes, SEXP segments) {
  SEXP result = PROTECT(r_matrix(x, Rf_length(planes), Rf_length(segments)));
  SEXP names = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(names, 0, planes);
  SET_VECTOR_ELT(names, 1, segments);
  Rf_setAttrib(result, R_DimNamesSymbol, names);
  UNPROTECT(2);
  return result;
}

SEXP blica_r_cor_list(SEXP pointer) {
  const blica_cor *c = cor_of(pointer);
  double *flags = (double *)R_alloc((size_t)(c->pairs * c->u) + 1, sizeof *flags);
  for (int64_t p = 0; p < c->pairs * c->u; p++) flags[p] = c->flags[p];
  SEXP planes = PROTECT(plane_names(c->coding, c->variables, c->n)), segments = PROTECT(r_texts(c->segments, c->u));
  list_builder b = list_begin(17);
  list_add(&b, "correlation", r_squares(c->rho, c->n, c->u, 1));
  list_add(&b, "se", r_squares(c->se, c->n, c->u, R_NaN));
  list_add(&b, "thresholds", thresholds_matrix(c->thresholds, planes, segments));
  list_add(&b, "flags", r_squares(flags, c->n, c->u, 0));
  list_add(&b, "samples", r_doubles(c->samples, c->u));
  list_add(&b, "variables", r_texts(c->variables, c->n));
  list_add(&b, "segments", segments);
  list_add(&b, "zero_cells", Rf_ScalarReal((double)c->zero_cells));
  list_add(&b, "constant_pairs", Rf_ScalarReal((double)c->constant_pairs));
  list_add(&b, "empty_pairs", Rf_ScalarReal((double)c->empty_pairs));
  list_add(&b, "constant_columns", Rf_ScalarReal((double)c->constant_columns));
  list_add(&b, "condition", Rf_ScalarReal(c->condition));
  list_add(&b, "shift", r_doubles(c->shift, c->u));
  list_add(&b, "levels", level_lists(c->coding, c->n));
  list_add(&b, "location", r_matrix(c->location, c->n, c->u));
  list_add(&b, "log_scale", r_matrix(c->log_scale, c->n, c->u));
  list_add(&b, "log_scale_se", r_matrix(c->log_scale_se, c->n, c->u));
  SEXP result = list_end(&b);
  UNPROTECT(2);
  return result;
}

static SEXP starts_list(const blica_fit_report *fit) {
  static const char *const names[] = {"kind", "objective", "gradient", "iterations", "evaluations", "seconds", "stop"};
  list_builder b = list_begin(7);
  SEXP column[7];
  for (int f = 0; f < 7; f++) {
    column[f] = Rf_allocVector(f == 0 || f == 6 ? STRSXP : REALSXP, fit->n_starts);
    list_add(&b, names[f], column[f]);
  }
  for (int i = 0; i < fit->n_starts; i++) {
    const blica_start *s = &fit->starts[i];
    SET_STRING_ELT(column[0], i, Rf_mkChar(s->kind));
    REAL(column[1])[i] = s->objective;
    REAL(column[2])[i] = s->gradient;
    REAL(column[3])[i] = (double)s->iterations;
    REAL(column[4])[i] = (double)s->evaluations;
    REAL(column[5])[i] = s->seconds;
    SET_STRING_ELT(column[6], i, Rf_mkChar(blica_stop_name(s->stop)));
  }
  return list_end(&b);
}

static SEXP notes_vector(const blica_fit_report *fit) {
  SEXP values = PROTECT(Rf_allocVector(REALSXP, fit->n_notes)), names = PROTECT(Rf_allocVector(STRSXP, fit->n_notes));
  for (int i = 0; i < fit->n_notes; i++) {
    REAL(values)[i] = fit->notes[i].value;
    SET_STRING_ELT(names, i, Rf_mkChar(fit->notes[i].name));
  }
  Rf_setAttrib(values, R_NamesSymbol, names);
  UNPROTECT(2);
  return values;
}

static SEXP report_list(const blica_fit_report *fit, int u) {
  list_builder b = list_begin(17);
  list_add(&b, "objective", Rf_ScalarReal(fit->objective));
  list_add(&b, "starts", starts_list(fit));
  list_add(&b, "best_start", Rf_ScalarInteger(fit->best_start + 1));
  list_add(&b, "iterations", Rf_ScalarReal((double)fit->iterations));
  list_add(&b, "evaluations", Rf_ScalarReal((double)fit->evaluations));
  list_add(&b, "seconds", Rf_ScalarReal(fit->seconds));
  list_add(&b, "stop", Rf_mkString(blica_stop_name(fit->stop)));
  list_add(&b, "seed", Rf_ScalarReal((double)fit->seed));
  list_add(&b, "condition", Rf_ScalarReal(fit->condition));
  list_add(&b, "prior_mixing", Rf_ScalarReal(fit->prior_mixing));
  list_add(&b, "prior_variance", Rf_ScalarReal(fit->prior_variance));
  list_add(&b, "shift", r_doubles(fit->shift, u));
  list_add(&b, "zero_cells", Rf_ScalarReal((double)fit->zero_cells));
  list_add(&b, "constant_pairs", Rf_ScalarReal((double)fit->constant_pairs));
  list_add(&b, "empty_pairs", Rf_ScalarReal((double)fit->empty_pairs));
  list_add(&b, "constant_columns", Rf_ScalarReal((double)fit->constant_columns));
  list_add(&b, "notes", notes_vector(fit));
  return list_end(&b);
}

/* What items have of their own in single segments: lists of item, segment, cuts, and row of A or NULL. */
static SEXP freed_list(const blica_model *m) {
  int count = 0, at = 0;
  for (int c = 0; m->freed && c < m->n * m->u; c++) count += m->freed[c] > 0;
  SEXP result = PROTECT(Rf_allocVector(VECSXP, count));
  for (int c = 0; at < count; c++) {
    const int i = c % m->n, s = c / m->n, first = m->coding ? m->coding->first[i] : i;
    if (!m->freed[c]) continue;
    SEXP row = R_NilValue;
    if (m->freed[c] == BLICA_FREED_ROW) {
      row = Rf_allocVector(REALSXP, m->k);
      for (int l = 0; l < m->k; l++) REAL(row)[l] = m->own_mixing[i + (size_t)m->n * (size_t)(l + m->k * s)];
    }
    PROTECT(row);
    list_builder b = list_begin(4);
    list_add(&b, "item", Rf_ScalarString(Rf_mkCharCE(m->variables[i], CE_UTF8)));
    list_add(&b, "segment", Rf_ScalarString(Rf_mkCharCE(m->segments[s], CE_UTF8)));
    list_add(&b, "cuts",
             r_doubles(m->own_cuts + first + (size_t)m->planes * (size_t)s,
                       m->coding ? m->coding->first[i + 1] - first : 1));
    list_add(&b, "mixing", row);
    SET_VECTOR_ELT(result, at++, list_end(&b));
    UNPROTECT(1);
  }
  UNPROTECT(1);
  return result;
}

SEXP blica_r_model_list(SEXP pointer) {
  const blica_model *m = model_of(pointer);
  SEXP planes = PROTECT(plane_names(m->coding, m->variables, m->n)), segments = PROTECT(r_texts(m->segments, m->u));
  SEXP cuts = PROTECT(r_doubles(m->cuts, m->planes));
  Rf_setAttrib(cuts, R_NamesSymbol, planes);
  list_builder b = list_begin(15);
  list_add(&b, "mixing", r_matrix(m->mixing, m->n, m->k));
  list_add(&b, "variances", r_matrix(m->variances, m->k, m->u));
  list_add(&b, "means", r_matrix(m->means, m->k, m->u));
  list_add(&b, "levels", level_lists(m->coding, m->n));
  list_add(&b, "cuts", cuts);
  list_add(&b, "thresholds", thresholds_matrix(m->thresholds, planes, segments));
  list_add(&b, "link", Rf_ScalarReal(m->link));
  list_add(&b, "parameters", Rf_ScalarReal((double)blica_model_parameters(m)));
  list_add(&b, "variables", r_texts(m->variables, m->n));
  list_add(&b, "labels", m->labels ? r_texts(m->labels, m->n) : R_NilValue);
  list_add(&b, "segments", segments);
  list_add(&b, "samples", r_doubles(m->samples, m->u));
  list_add(&b, "method", Rf_mkString(m->method));
  list_add(&b, "free", freed_list(m));
  list_add(&b, "fit", report_list(&m->fit, m->u));
  SEXP result = list_end(&b);
  UNPROTECT(3);
  return result;
}
