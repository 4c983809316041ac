/* complete.c - from mixing matrix and variances to the whole model: means and cuts from thresholds, canonical form. */
#include "estimate/estimate.h"
#include "model/model.h"

blica_status bl_complete_model(blica_ctx *ctx, blica_model *model, bool cuts, bool means_done) {
  blica_status status = BLICA_OK;
  if (!means_done) TRY(bl_solve_means(ctx, model, cuts));
  if (cuts) bl_model_center(model);
  TRY(bl_model_canonical(ctx, model));
done:
  return status;
}
