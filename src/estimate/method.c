/* method.c - the table of estimators, what `auto` stands for, and what a fit by a method needs of its counts. */
#include "estimate/method.h"
#include "estimate/corfit.h"

#include <string.h>

#include "base/option.h"

static const blica_method methods[] = {
    {"blica", "pair correlations, regularised, fitted by a scaled Gaussian likelihood (the paper's Algorithm 1)", 0},
    {"matched",
     "pair correlations, fitted by a Gaussian likelihood that knows the noise of binary data, with learned priors", 0},
    {"pairwise", "likelihood of the tables of all pairs, with learned priors", 0},
    {"mle", "full likelihood of the rows, means included, with learned priors (without: the paper's full MLE)", 1},
    {"ivae", "evidence lower bound of a linear variational autoencoder (the paper's appendix E)", 1},
    {"fastica", "fastICA on the pooled rows, 0 and 1 taken for real numbers, segments ignored", 1},
};
enum { METHODS = sizeof methods / sizeof *methods };

/* In the same order. */
static const bl_estimator estimators[METHODS] = {
    {.method = &methods[0], .estimate = bl_estimate_blica, .wants_cor = true, .levels = true},
    {.method = &methods[1],
     .estimate = bl_estimate_matched,
     .keeps_counts = bl_corfit_is_rare,
     .wants_cor = true,
     .levels = true},
    {.method = &methods[2], .estimate = bl_estimate_pairwise, .wants_counts = true, .wants_cor = true, .levels = true},
    {.method = &methods[3], .estimate = bl_estimate_mle, .wants_counts = true, .wants_cor = true, .levels = true},
    {.method = &methods[4], .estimate = bl_estimate_ivae, .wants_counts = true, .max_iterations = 1000},
    {.method = &methods[5],
     .estimate = bl_estimate_fastica,
     .wants_counts = true,
     .max_iterations = 1000,
     .tolerance = 1e-4},
};

const blica_method *blica_methods(int *count) {
  if (count) *count = METHODS;
  return methods;
}

/* What `auto` stands for (docs/methods.md has the evidence). */
static const char *choose(const blica_fit_options *o, bool exact) {
  if (strcmp(o->method, "auto") != 0) return o->method;
  return !exact && o->condition == BLICA_CONDITION_DEFAULT ? "matched" : "blica";
}

const bl_estimator *bl_method_of(const blica_fit_options *options, bool exact) {
  const char *name = choose(options, exact);
  for (int i = 0; i < METHODS; i++)
    if (strcmp(methods[i].name, name) == 0) return &estimators[i];
  return NULL;
}

bl_purpose bl_method_purpose(const blica_fit_options *o) {
  const bl_estimator *e = bl_method_of(o, false);
  if (!e) return (bl_purpose){.fit = true, .k = o->sources};
  return (bl_purpose){.fit = true, .k = o->sources, .correlations = e->wants_cor};
}

/* ---- counting for a fit: what its method needs decides which rank keeps what ---- */

static blica_status purpose_of(blica_ctx *ctx, const blica_fit_options *fit, bl_purpose *purpose) {
  blica_fit_options own;
  *purpose = (bl_purpose){.fit = false};
  if (!fit) return BLICA_OK;
  blica_status status = BL_TAKE_OPTIONS(ctx, fit, fit, &own);
  if (status == BLICA_OK) *purpose = bl_method_purpose(&own);
  return status;
}

blica_status blica_count_begin(blica_ctx *ctx, const blica_fit_options *fit, blica_counter **out) {
  bl_purpose purpose;
  if (out) *out = NULL;
  BL_NEED(ctx, out);
  blica_status status = purpose_of(ctx, fit, &purpose);
  return status == BLICA_OK ? bl_counter_begin(ctx, &purpose, out) : status;
}

blica_status blica_counts_load_ranks(blica_ctx *ctx, const char *path, const blica_fit_options *fit,
                                     blica_counts **out) {
  bl_purpose purpose;
  BL_NEED_OUT(ctx, out, path);
  blica_status status = purpose_of(ctx, fit, &purpose);
  return status == BLICA_OK ? bl_counts_load_placed(ctx, path, &purpose, out) : status;
}
