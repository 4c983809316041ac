/* session.c - contexts, errors, warnings, interrupts and progress. */
#include <setjmp.h>
#include <string.h>
#include <time.h>

#include "blica_r.h"

static SEXP space; /* the namespace of the package */

SEXP blica_r_namespace(SEXP environment) {
  space = environment;
  R_PreserveObject(space);
  return R_NilValue;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- R code from within a call: a jump out of it is caught, and continued when the library has returned ---- */

typedef struct {
  session *s;
  const blica_progress *progress;
  jmp_buf back;
} poll_state;

static SEXP ask_r(void *user) {
  poll_state *state = user;
  const blica_progress *p = state->progress;
  state->s->checking = 1;
  R_CheckUserInterrupt();
  state->s->checking = 0;
  if (state->s->report && seconds() - state->s->reported >= 0.5) {
    state->s->reported = seconds();
    SEXP call = PROTECT(Rf_allocVector(LANGSXP, 6)), at = call;
    SETCAR(at, state->s->report), at = CDR(at);
    SETCAR(at, Rf_mkString(p->stage)), at = CDR(at);
    SETCAR(at, Rf_ScalarReal(p->fraction)), at = CDR(at);
    SETCAR(at, Rf_ScalarReal(p->objective)), at = CDR(at);
    SETCAR(at, Rf_ScalarInteger(p->start + 1)), at = CDR(at);
    SETCAR(at, Rf_ScalarReal((double)p->iteration));
    Rf_eval(call, space);
    UNPROTECT(1);
  }
  return R_NilValue;
}

static void jump_back(void *user, Rboolean jumping) {
  if (jumping) longjmp(((poll_state *)user)->back, 1);
}

static int poll(const blica_progress *progress, void *user) {
  session *s = user;
  if (s->jumping) return 1;
  if (seconds() - s->asked < 0.02) return 0;
  s->asked = seconds();
  poll_state state = {.s = s, .progress = progress};
  if (setjmp(state.back)) {
    s->jumping = 1;
    return 1;
  }
  R_UnwindProtect(ask_r, &state, jump_back, &state, s->token);
  return 0;
}

static void warn(const char *text, void *user) {
  session *s = user;
  if (s->n_warnings < (int)(sizeof s->warnings / sizeof *s->warnings))
    strncpy(s->warnings[s->n_warnings++], text, sizeof *s->warnings - 1);
}

/* ---- the context ---- */

static void free_session(SEXP pointer) {
  session *s = R_ExternalPtrAddr(pointer);
  if (!s) return;
  blica_ctx_free(s->ctx);
  R_Free(s);
  R_ClearExternalPtr(pointer);
}

SEXP blica_r_context(SEXP threads, SEXP report) {
  SEXP token = PROTECT(R_MakeUnwindCont());
  SEXP held = PROTECT(Rf_list2(token, report));
  SEXP pointer = PROTECT(R_MakeExternalPtr(NULL, Rf_install("blica_context"), held));
  R_RegisterCFinalizerEx(pointer, free_session, TRUE);
  session *s = R_Calloc(1, session);
  R_SetExternalPtrAddr(pointer, s);
  s->token = token;
  s->report = Rf_isNull(report) ? NULL : report;
  if (blica_ctx_create(&s->ctx) != BLICA_OK) Rf_error("no memory for a context of the library");
  blica_set_threads(s->ctx, Rf_asInteger(threads));
  blica_set_poll(s->ctx, poll, s);
  blica_set_warn(s->ctx, warn, s);
  UNPROTECT(3);
  return pointer;
}

session *session_of(SEXP context) {
  session *s = R_ExternalPtrAddr(context);
  if (!s) Rf_error("the context of the library is gone");
  return s;
}

static void call_r(const char *function, const char *first, const char *second) {
  SEXP a = PROTECT(Rf_mkString(first)), b = PROTECT(Rf_mkString(second));
  SEXP call = PROTECT(Rf_lang3(Rf_install(function), a, b));
  Rf_eval(call, space);
  UNPROTECT(3);
}

void keep_interrupted(session *s) {
  if (s->checking) s->jumping = 0;
  s->checking = 0;
}

void finish(session *s, blica_status status) {
  int count = s->n_warnings;
  s->n_warnings = 0;
  if (s->jumping) {
    s->jumping = s->checking = 0;
    R_ContinueUnwind(s->token);
  }
  if (status != BLICA_OK) call_r("raise", blica_status_name(status), blica_message(s->ctx));
  for (int i = 0; i < count; i++) call_r("caution", s->warnings[i], "");
}

/* ---- objects in external pointers ---- */

#define KEEP(type)                                                                                                     \
  static void free_##type(SEXP pointer) {                                                                              \
    blica_##type##_free(R_ExternalPtrAddr(pointer));                                                                   \
    R_ClearExternalPtr(pointer);                                                                                       \
  }                                                                                                                    \
  SEXP wrap_##type(blica_##type *object) {                                                                             \
    if (!object) return R_NilValue;                                                                                    \
    SEXP pointer = PROTECT(R_MakeExternalPtr(object, Rf_install("blica_" #type), R_NilValue));                         \
    R_RegisterCFinalizerEx(pointer, free_##type, TRUE);                                                                \
    UNPROTECT(1);                                                                                                      \
    return pointer;                                                                                                    \
  }                                                                                                                    \
  blica_##type *type##_of(SEXP pointer) {                                                                              \
    if (Rf_isNull(pointer)) return NULL;                                                                               \
    if (TYPEOF(pointer) != EXTPTRSXP || R_ExternalPtrTag(pointer) != Rf_install("blica_" #type))                       \
      Rf_error("not an object of type blica_" #type);                                                                  \
    blica_##type *object = R_ExternalPtrAddr(pointer);                                                                 \
    if (!object) Rf_error("this blica_" #type " was made in another session of R; make it again");                     \
    return object;                                                                                                     \
  }
KEEP(data)
KEEP(counts)
KEEP(cor)
KEEP(model)

/* Frees data or counts that R code made and no longer needs. R, which does not know how large they are, would free them
 * when it next collects garbage. */
SEXP blica_r_release(SEXP pointer) {
  if (R_ExternalPtrTag(pointer) == Rf_install("blica_data")) free_data(pointer);
  if (R_ExternalPtrTag(pointer) == Rf_install("blica_counts")) free_counts(pointer);
  return R_NilValue;
}

/* ---- lists ---- */

list_builder list_begin(int size) {
  list_builder b;
  b.list = PROTECT(Rf_allocVector(VECSXP, size));
  b.names = PROTECT(Rf_allocVector(STRSXP, size));
  b.count = 0;
  return b;
}

void list_add(list_builder *b, const char *name, SEXP value) {
  SET_VECTOR_ELT(b->list, b->count, value);
  SET_STRING_ELT(b->names, b->count++, Rf_mkChar(name));
}

SEXP list_end(list_builder *b) {
  Rf_setAttrib(b->list, R_NamesSymbol, b->names);
  UNPROTECT(2);
  return b->list;
}

SEXP r_doubles(const double *x, int64_t count) {
  if (!x) return R_NilValue;
  SEXP result = Rf_allocVector(REALSXP, (R_xlen_t)count);
  memcpy(REAL(result), x, (size_t)count * sizeof *x);
  return result;
}

SEXP r_matrix(const double *x, int rows, int columns) {
  if (!x) return R_NilValue;
  SEXP result = Rf_allocMatrix(REALSXP, rows, columns);
  memcpy(REAL(result), x, (size_t)rows * (size_t)columns * sizeof *x);
  return result;
}

SEXP r_texts(char **x, int count) {
  SEXP result = PROTECT(Rf_allocVector(STRSXP, count));
  for (int i = 0; i < count; i++) SET_STRING_ELT(result, i, Rf_mkCharCE(x[i], CE_UTF8));
  UNPROTECT(1);
  return result;
}
