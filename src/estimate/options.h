/* options.h - the options of a fit as estimators get them: taken and checked. */
#ifndef BL_OPTIONS_H
#define BL_OPTIONS_H

#include "base/base.h"

/* blica_fit_options has the meaning of each. */
typedef struct {
  int starts;
  uint64_t seed;
  double condition, link;
  blica_thresholds thresholds;
  int64_t max_iterations;
  double tolerance;
  blica_prior prior;
  double prior_mixing, prior_variance;
  double likelihood_power;
  blica_contrast contrast;
  bool allow_unidentified;
} bl_settings;

/* The settings of checked options; NULL: the defaults. What they leave to the method stays so. */
bl_settings bl_settings_of(const blica_fit_options *options);

/* Records the options that are not at their defaults. */
blica_status bl_report_options(blica_ctx *ctx, blica_fit_report *report, const blica_fit_options *options);

#endif
