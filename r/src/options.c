/* options.c - options of the verbs, from the tables of the library. */
#include <string.h>

#include "blica_r.h"

static const blica_option *table_of(const char *verb, int *count) {
  if (strcmp(verb, "fit") == 0) return blica_fit_option_table(count);
  if (strcmp(verb, "simulate") == 0) return blica_simulate_option_table(count);
  if (strcmp(verb, "loglik") == 0) return blica_loglik_option_table(count);
  if (strcmp(verb, "sources") == 0) return blica_sources_option_table(count);
  if (strcmp(verb, "segment") == 0) return blica_segment_option_table(count);
  if (strcmp(verb, "assess") == 0) return blica_assess_option_table(count);
  if (strcmp(verb, "invariance") == 0) return blica_invariance_option_table(count);
  if (strcmp(verb, "select") == 0) return blica_select_option_table(count);
  Rf_error("'%s' has no options", verb);
}

SEXP blica_r_options(SEXP verb) {
  int count;
  const blica_option *table = table_of(CHAR(Rf_asChar(verb)), &count);
  static const char *const types[] = {"integer", "number", "text", "flag", "seed", "text", "text"};
  static const char *const names[] = {"name", "type", "default", "words", "help", "needs"};
  list_builder b = list_begin(6);
  for (int f = 0; f < 6; f++) {
    SEXP column = PROTECT(Rf_allocVector(STRSXP, count));
    for (int i = 0; i < count; i++) {
      const char *fields[] = {table[i].name,  types[table[i].type], table[i].initial,
                              table[i].words, table[i].help,        table[i].needs};
      SET_STRING_ELT(column, i, fields[f] ? Rf_mkChar(fields[f]) : NA_STRING);
    }
    list_add(&b, names[f], column);
    UNPROTECT(1);
  }
  return list_end(&b);
}

/* values is a named character vector. */
void set_options(session *s, const char *verb, SEXP values, void *options) {
  int count;
  const blica_option *table = table_of(verb, &count);
  SEXP names = Rf_getAttrib(values, R_NamesSymbol);
  for (R_xlen_t v = 0; v < Rf_xlength(values); v++) {
    const char *name = CHAR(STRING_ELT(names, v));
    int i = 0;
    while (i < count && strcmp(table[i].name, name) != 0) i++;
    if (i == count) Rf_error("'%s' is not an option of %s; blica_options(\"%s\") lists them", name, verb, verb);
    finish(s, blica_option_set(s->ctx, &table[i], options, CHAR(STRING_ELT(values, v))));
  }
}
