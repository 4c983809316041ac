/* method.c - the table of estimators, what `auto` stands for, and what a fit by a method needs of its counts. */
#include "estimate/method.h"
#include "estimate/corfit.h"

#include <string.h>

static const bl_estimator estimators[] = {
    {.method = {"blica",
                "pair correlations, regularised, fitted by a scaled Gaussian likelihood (the paper's Algorithm 1)", 0},
     .estimate = bl_estimate_blica,
     .wants_cor = true,
     .parts = true},
    {.method = {"matched",
                "pair correlations, fitted by a Gaussian likelihood that knows the noise of binary data, with learned "
                "priors",
                0},
     .estimate = bl_estimate_matched,
     .keeps_counts = bl_corfit_is_rare,
     .wants_cor = true},
    {.method = {"pairwise", "likelihood of all 2x2 tables, with learned priors", 0},
     .estimate = bl_estimate_pairwise,
     .wants_counts = true,
     .wants_cor = true},
    {.method = {"mle",
                "full likelihood of the rows, means included, with learned priors (without: the paper's full MLE)", 1},
     .estimate = bl_estimate_mle,
     .wants_counts = true,
     .wants_cor = true},
    {.method = {"ivae", "evidence lower bound of a linear variational autoencoder (the paper's appendix E)", 1},
     .estimate = bl_estimate_ivae,
     .wants_counts = true,
     .max_iterations = 1000},
    {.method = {"fastica", "fastICA on the pooled rows, 0 and 1 taken for real numbers, segments ignored", 1},
     .estimate = bl_estimate_fastica,
     .wants_counts = true,
     .max_iterations = 1000,
     .tolerance = 1e-4},
};
enum { ESTIMATORS = sizeof estimators / sizeof *estimators };

const blica_method *blica_methods(int *count) {
  static blica_method methods[ESTIMATORS];
  for (int i = 0; i < ESTIMATORS; i++) methods[i] = estimators[i].method;
  *count = ESTIMATORS;
  return methods;
}

/* What `auto` stands for (docs/methods.md has the evidence). */
static const char *choose(const blica_fit_options *o, bool exact) {
  if (strcmp(o->method, "auto") != 0) return o->method;
  return !exact && o->condition == BLICA_CONDITION_DEFAULT ? "matched" : "blica";
}

const bl_estimator *bl_method_of(const blica_fit_options *options, bool exact) {
  const char *name = choose(options, exact);
  for (int i = 0; i < ESTIMATORS; i++)
    if (strcmp(estimators[i].method.name, name) == 0) return &estimators[i];
  return NULL;
}

/* A learned prior begins with a
 * fit by method matched, which does not share what is inside a segment. */
bl_purpose bl_method_purpose(const blica_fit_options *o) {
  const bl_estimator *e = bl_method_of(o, false);
  if (!e) return (bl_purpose){.fit = true, .k = o->sources};
  const bool divided = o->condition == BLICA_CONDITION_AUTO;
  return (bl_purpose){.fit = true,
                      .k = o->sources,
                      .correlations = e->wants_cor,
                      .parts = e->parts && !divided && strcmp(o->prior, "auto") != 0,
                      .divisions = divided ? BL_CONDITION_PARTS : 1};
}

/* ---- counting for a fit: what its method needs decides which rank keeps what ---- */

static bl_purpose purpose_of(const blica_fit_options *fit) {
  return fit ? bl_method_purpose(fit) : (bl_purpose){.fit = false};
}

blica_status blica_count_begin(blica_ctx *ctx, const blica_fit_options *fit, blica_counter **out) {
  const bl_purpose purpose = purpose_of(fit);
  return bl_counter_begin(ctx, &purpose, out);
}

blica_status blica_counts_load_ranks(blica_ctx *ctx, const char *path, const blica_fit_options *fit,
                                     blica_counts **out) {
  const bl_purpose purpose = purpose_of(fit);
  return bl_counts_load_placed(ctx, path, &purpose, out);
}
