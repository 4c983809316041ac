/* options.h - the options of a fit as estimators get them: taken, checked, words turned into numbers. */
#ifndef BL_OPTIONS_H
#define BL_OPTIONS_H

#include "base/base.h"

/* In the order of the words of their options. */
typedef enum { BL_PRIOR_DEFAULT, BL_PRIOR_NONE, BL_PRIOR_AUTO, BL_PRIOR_FIXED } bl_prior;
#define BL_PRIOR_WORDS "default|none|auto|fixed"
typedef enum { BL_THRESHOLDS_ITEMS, BL_THRESHOLDS_NONE } bl_thresholds_kind;
#define BL_THRESHOLDS_WORDS "items|none"
typedef enum { BL_CONTRAST_LOGCOSH, BL_CONTRAST_EXP, BL_CONTRAST_CUBE } bl_contrast;
#define BL_CONTRAST_WORDS "logcosh|exp|cube"

/* blica_fit_options has the meaning of each. */
typedef struct {
  int starts;
  uint64_t seed;
  double condition, link;
  bl_thresholds_kind thresholds;
  int64_t max_iterations;
  double tolerance;
  bl_prior prior;
  double prior_mixing, prior_variance;
  double likelihood_power;
  bl_contrast contrast;
} bl_settings;

/* The settings that checked options spell; NULL: the defaults. What they leave to the method stays so. */
bl_settings bl_settings_of(const blica_fit_options *options);

/* Records the options that are not at their defaults. */
blica_status bl_report_options(blica_ctx *ctx, blica_fit_report *report, const blica_fit_options *options);

#endif
