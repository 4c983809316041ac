/* blica_r.h - what the files of the R package share.
 *
 * Every object of the library lives in an external pointer with a finalizer from the moment it exists, so that R may
 * jump out of any call (errors, interrupts, warnings turned into errors) without a leak. */
#ifndef BLICA_R_H
#define BLICA_R_H

#define R_NO_REMAP
#include <R.h>
#include <Rinternals.h>
#include <R_ext/Rdynload.h>

#include "blica.h"

/* A context and what happened during the call that runs in it. */
typedef struct {
  blica_ctx *ctx;
  SEXP report;            /* R function for progress, or NULL */
  SEXP token;             /* of the jump that waits until the library has returned */
  int jumping, checking;  /* checking: for an interrupt, which is what the jump was then */
  double asked, reported; /* seconds, when R was last asked for interrupts, when progress was last reported */
  int n_warnings;
  char warnings[16][1024];
} session;

session *session_of(SEXP context);

/* After a call of the library: continues a jump, raises the error, gives the warnings. Objects that the call made must
 * be in external pointers by then. */
void finish(session *s, blica_status status);
/* Before finish: forgets an interrupt, what the call returned being a result all the same. */
void keep_interrupted(session *s);

#define TAKE(type)                                                                                                     \
  SEXP wrap_##type(blica_##type *object);                                                                              \
  blica_##type *type##_of(SEXP pointer);
TAKE(data)
TAKE(counts)
TAKE(cor)
TAKE(model)
#undef TAKE

/* Named lists. */
typedef struct {
  SEXP list, names;
  int count;
} list_builder;
list_builder list_begin(int size); /* protects two */
void list_add(list_builder *b, const char *name, SEXP value);
SEXP list_end(list_builder *b); /* unprotects two */
SEXP r_doubles(const double *x, int64_t count);
SEXP r_matrix(const double *x, int rows, int columns);
SEXP r_texts(char **x, int count);
SEXP r_squares(const double *packed, int n, int u, double diagonal); /* [n,n,u] from packed pairs */

SEXP blica_r_options(SEXP verb);
void set_options(session *s, const char *verb, SEXP values, void *options);

#endif
