/* languages_defaults MODEL: the README's example in C, with nothing but defaults; saves the model. */
#include <stdio.h>

#include "blica.h"

int main(int argc, char **argv) {
  blica_ctx *ctx = NULL;
  blica_data *data = NULL;
  blica_model *model = NULL;
  if (argc != 2 || blica_ctx_create(&ctx) != BLICA_OK) return 1;
  blica_simulate_options how = blica_simulate_options_default();
  how.variables = 10, how.sources = 3, how.segments = 20, how.samples = 500;
  blica_fit_options options = blica_fit_options_default();
  options.sources = 3;
  blica_status status = blica_simulate(ctx, &how, NULL, &data, NULL);
  if (status == BLICA_OK) status = blica_fit(ctx, &(blica_input){.data = data}, &options, &model);
  if (status == BLICA_OK) status = blica_model_save(ctx, model, argv[1]);
  if (status != BLICA_OK) fprintf(stderr, "%s\n", blica_message(ctx));
  blica_model_free(model);
  blica_data_free(data);
  blica_ctx_free(ctx);
  return status != BLICA_OK;
}
