/* ivae_fits.h - data and fits for tests of the linear iVAE. After cmocka.h and context.h. */
#ifndef TESTS_IVAE_FITS_H
#define TESTS_IVAE_FITS_H

#include <math.h>
#include <stdio.h>
#include <string.h>

static inline void assert_close(const char *what, int i, double got, double want, double scale, double tolerance) {
  if (fabs(got - want) > tolerance * scale || isnan(got)) fail_msg("%s[%d]: %.17g, not %.17g", what, i, got, want);
}

static inline blica_data *pack(int64_t rows, int n, int u, const int8_t *x, const int32_t *segment) {
  blica_data *data;
  if (blica_pack(ctx, &(blica_table){.rows = rows, .n = n, .x = x, .segment = segment, .u = u}, &data) != BLICA_OK)
    fail_msg("%s", blica_message(ctx));
  return data;
}

static inline blica_model *fit(const blica_data *data, const blica_fit_options *options) {
  blica_input input = {.data = data};
  blica_model *model;
  if (blica_fit(ctx, &input, options, &model) != BLICA_OK) fail_msg("%s", blica_message(ctx));
  return model;
}

static inline blica_fit_options options_for(int sources) {
  blica_fit_options o = blica_fit_options_default();
  o.method = BLICA_METHOD_IVAE;
  o.sources = sources;
  return o;
}

#endif
