/* options.c - the table of a fit's options, what they spell, and the record of those that were given. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/option.h"
#include "estimate/method.h"

/* Methods that maximise a likelihood, with or without a prior. */
#define OF_LIKELIHOODS "method=auto|blica|matched|pairwise|mle"
#define NOT_IVAE OF_LIKELIHOODS "|fastica"

#define FIT(name) #name, BL_FIELD(blica_fit_options, name)

static const blica_option fit_table[] = {
    BL_ROW(FIT(method), BLICA_OPT_CHOICE, "auto", 0, 0, bl_fit_methods, "NAME",
           "Estimator. auto is matched for samples of any size, and blica for exact counts and when a condition is "
           "given."),
    BL_ROW(FIT(sources), BLICA_OPT_INT, NULL, 1, 1e6, NULL, "K", "Number of sources, at most the number of variables."),
    BL_ROW(FIT(starts), BLICA_OPT_INT, "3", 1, 1e6, NULL, "COUNT",
           "Starting points; the result with the best objective is kept, all are reported. Methods blica, matched and "
           "pairwise end a start that comes to the optimum of the first, as its duplicate."),
    BL_ROW(FIT(seed), BLICA_OPT_SEED, "1", 0, 18446744073709551615.0, NULL, "SEED",
           "Seed of the random starting points. The same seed gives the same result."),
    BL_ROW_WITH("method=auto|blica", FIT(condition), BLICA_OPT_REAL, "default", 1.01, INFINITY, "default=0|none=inf",
                "R",
                "Condition number to which each correlation matrix is regularised, or none. The default is 10 for "
                "samples and none for exact counts."),
    BL_ROW(FIT(link), BLICA_OPT_REAL, "pi/8", 1e-6, 1e6, BL_PI_8, "C",
           "Squared coefficient c of the link, P(x=1|y) = Phi(sqrt(c) y)."),
    BL_ROW_WITH(
        NOT_IVAE, FIT(thresholds), BLICA_OPT_CHOICE, "items", 0, 0, "items|none", "KIND",
        "items: every item has its own threshold, the same in all segments, for its base rate; where sources are "
        "fewer than variables, method matched learns from base rates, too. none: the paper's model, in which the "
        "means of the sources determine all base rates; matched leaves them out."),
    BL_ROW(FIT(max_iterations), BLICA_OPT_INT, "default", 1, 9e15, "default=0", "COUNT",
           "Largest number of iterations of one start. The default is 10000; 1000 for ivae and fastica."),
    BL_ROW(FIT(tolerance), BLICA_OPT_REAL, "default", 0, 1, "default=-1", "EPS",
           "A start has converged when its relative gradient, max |df/dtheta| / max(1, |f|) where the mean variance of "
           "each source is 1, is at "
           "most this; for fastica, when no component changes its direction by more (1 - |cos|). The default is 1e-8; "
           "1e-4 for fastica."),
    BL_ROW(FIT(max_seconds), BLICA_OPT_REAL, "none", 0, INFINITY, "none=inf", "SECONDS",
           "Time limit of the whole fit. When it is reached, the best result so far is returned."),
    BL_ROW_WITH(
        OF_LIKELIHOODS, FIT(prior), BLICA_OPT_CHOICE, "default", 0, 0, "default|none|auto|fixed", "KIND",
        "Prior on A and on log v: none, auto to learn its scales from the data, or fixed to the two scales below. The "
        "default is none for blica, auto for matched, pairwise and mle."),
    BL_ROW_WITH("prior=fixed", FIT(prior_mixing), BLICA_OPT_REAL, "3", 1e-6, 1e6, NULL, "SD",
                "Standard deviation of the elements of A, with a fixed prior."),
    BL_ROW_WITH("prior=fixed", FIT(prior_variance), BLICA_OPT_REAL, "1", 1e-6, 1e6, NULL, "SD",
                "Standard deviation of the log-variances of the sources, with a fixed prior."),
    BL_ROW_WITH(OF_LIKELIHOODS, FIT(likelihood_power), BLICA_OPT_REAL, "1", 1e-6, 1, NULL, "SHARE",
                "Power to which the likelihood is raised; below 1 the prior has more influence."),
    BL_ROW_WITH("method=fastica", FIT(contrast), BLICA_OPT_CHOICE, "logcosh", 0, 0, "logcosh|exp|cube", "NAME",
                "Method fastica: the contrast function."),
    BL_ROW(FIT(checkpoint), BLICA_OPT_TEXT, NULL, 0, 0, NULL, "FILE",
           "Keep the state of the fit in this file, so that a run that was killed can be resumed."),
    BL_ROW_WITH(
        "checkpoint", FIT(checkpoint_seconds), BLICA_OPT_REAL, "60", 0, 1e9, NULL, "SECONDS",
        "Time between two writes of the checkpoint. It is also written when the fit is interrupted or reaches its "
        "time limit."),
    BL_ROW_WITH(
        "checkpoint", FIT(resume), BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL,
        "Continue from the checkpoint; the result has the same bits as without the break. If there is no such file, "
        "the fit starts from the beginning."),
    BL_ROW(
        FIT(allow_unidentified), BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL,
        "Fit even when the data cannot determine the mixing matrix: there is one segment only, or no two items vary."),
};

BL_OPTION_TABLE(fit, fit_table)

blica_status bl_report_options(blica_ctx *ctx, blica_fit_report *report, const blica_fit_options *options) {
  static const char *const elsewhere[] = {"sources", "method", "starts", "seed"};
  const blica_fit_options usual = blica_fit_options_default();
  int count;
  const blica_option *table = blica_fit_option_table(&count);
  blica_status status = bl_alloc(ctx, (size_t)count, &report->options);
  for (int i = 0; status == BLICA_OK && i < count; i++) {
    blica_setting *setting = &report->options[report->n_options];
    char before[sizeof setting->value];
    bool skip = !bl_option_decides(table[i].name);
    for (size_t e = 0; e < sizeof elsewhere / sizeof *elsewhere; e++)
      skip = skip || strcmp(elsewhere[e], table[i].name) == 0;
    if (skip) continue;
    bl_option_spell(&table[i], options, setting->value, sizeof setting->value);
    bl_option_spell(&table[i], &usual, before, sizeof before);
    if (strcmp(setting->value, before) == 0) continue;
    snprintf(setting->name, sizeof setting->name, "%s", table[i].name);
    report->n_options++;
  }
  return status;
}
