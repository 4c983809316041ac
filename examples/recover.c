/* recover.c - draw data from a random model, fit, and tell how near the estimate is.
 *     cc recover.c $(pkg-config --cflags --libs blica) -o recover && ./recover */
#include <blica.h>
#include <stdio.h>

int main(void) {
  blica_ctx *ctx = NULL;
  blica_model *truth = NULL, *model = NULL;
  blica_data *data = NULL;
  double mcs = 0;
  blica_status status = blica_ctx_create(&ctx);
  if (status != BLICA_OK) return 1;

  blica_simulate_options how = blica_simulate_options_default();
  how.variables = 6;
  how.sources = 2;
  status = blica_simulate(ctx, &how, &truth, &data, NULL);

  blica_fit_options options = blica_fit_options_default();
  options.sources = 2;
  blica_input input = {.data = data};
  if (status == BLICA_OK) status = blica_fit(ctx, &input, &options, &model);
  if (status == BLICA_OK)
    status = blica_compare(ctx, model->n, model->k, truth->mixing, model->mixing, &mcs, NULL, NULL);

  if (status == BLICA_OK)
    printf("mean cosine similarity %.4f\n", mcs);
  else
    fprintf(stderr, "%s: %s\n", blica_status_name(status), blica_message(ctx));
  blica_model_free(model);
  blica_model_free(truth);
  blica_data_free(data);
  blica_ctx_free(ctx);
  return status == BLICA_OK ? 0 : 1;
}
