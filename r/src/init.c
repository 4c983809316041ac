/* init.c - registers the routines. */
#include "blica_r.h"

#include <R_ext/Visibility.h>

/* clang-format off */
#define ROUTINES(X) \
  X(namespace, 1) X(context, 2) X(options, 1) X(methods, 0) X(version, 0) \
  X(is_binary, 1) X(whole_frame, 1) X(pack, 7) X(pack_sparse, 8) X(unpack, 1) X(release, 1) X(data_digest, 1) \
  X(count, 2) X(correlate, 2) X(regularise, 3) X(fit, 5) X(model_save, 3) X(model_load, 2) X(model_write, 2) \
  X(model_read, 2) X(cut_numbers, 2) X(counts_save, 3) X(counts_load, 2) \
  X(model_list, 1) X(counts_list, 1) X(cor_list, 1) \
  X(simulate, 2) X(simulate_rows, 3) X(tetrachoric, 2) X(polychoric, 3) X(acm, 3) X(polyserial, 4) X(mvn, 10) \
  X(compare, 3) X(identify, 2) X(identify_count, 4) \
  X(loglik, 4) X(sources, 4) X(segment, 3) X(fitted, 2) X(assess, 4) X(select, 3) \
  X(set_rows, 8) X(set_labels, 3) X(invariance, 4)
/* clang-format on */

#define DECLARE(name, arguments) extern SEXP blica_r_##name();
#if defined(__GNUC__) && __GNUC__ >= 13
#pragma GCC diagnostic ignored "-Wdeprecated-non-prototype"
#endif
ROUTINES(DECLARE)

#define ROW(name, arguments) {"C_" #name, (DL_FUNC)&blica_r_##name, arguments},
static const R_CallMethodDef routines[] = {ROUTINES(ROW){NULL, NULL, 0}};

void attribute_visible R_init_blica(DllInfo *dll) {
  R_registerRoutines(dll, NULL, routines, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  R_forceSymbols(dll, TRUE);
}
