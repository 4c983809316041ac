/* reliability.c - how well posterior means tell rows apart: the variance of the means over that plus the mean posterior
 * variance (Adams, Studies in Educational Evaluation 31, 2005), which is the squared correlation of scores and sources
 * when the model is true. Moments are updated row by row around the mean so far (West, Communications of the ACM 22,
 * 1979), those of all segments put together from theirs (Chan, Golub and LeVeque, American Statistician 37, 1983). */
#include <math.h>
#include <string.h>

#include "likelihood/likelihood.h"

/* Allocates sums for each segment and for all together. */
static blica_status make_reliability(blica_ctx *ctx, const blica_model *model, blica_reliability **out) {
  const size_t segments = (size_t)model->u + 1, values = bl_mul(segments, (size_t)model->k);
  BL_OWNED blica_reliability *r = NULL;
  MUST(bl_alloc(ctx, 1, &r));
  r->k = model->k, r->u = model->u;
  MUST(bl_alloc_for(ctx, r, segments, &r->rows));
  MUST(bl_alloc_for(ctx, r, values, &r->mean));
  MUST(bl_alloc_for(ctx, r, values, &r->squares));
  MUST(bl_alloc_for(ctx, r, values, &r->variance));
  *out = bl_take(&r);
  return BLICA_OK;
}

static void add_row(const double *mean, const double *sd, int s, blica_reliability *r) {
  r->rows[s]++;
  for (int j = s * r->k; j < (s + 1) * r->k; j++, mean++, sd++) {
    const double step = *mean - r->mean[j];
    r->mean[j] += step / (double)r->rows[s];
    r->squares[j] += step * (*mean - r->mean[j]);
    r->variance[j] += *sd * *sd;
  }
}

blica_status blica_reliability_add(blica_ctx *ctx, const blica_model *model, const blica_data *data,
                                   const blica_posterior *posterior, blica_reliability **sum) {
  BL_NEED(ctx, model, data, posterior, sum);
  BL_OWNED int *segment = NULL;
  if (posterior->k != model->k || posterior->rows != data->rows)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "the posterior has %lld rows of %d sources, model and data have %lld of %d",
                   (long long)posterior->rows, posterior->k, (long long)data->rows, model->k);
  MUST(bl_alloc(ctx, (size_t)data->u, &segment));
  if (!*sum) MUST(make_reliability(ctx, model, sum));
  for (int s = 0; s < data->u; s++) {
    segment[s] = model->u;
    for (int t = 0; t < model->u; t++)
      if (strcmp(data->segments[s], model->segments[t]) == 0) segment[s] = t;
  }
  for (int64_t row = 0; row < data->rows; row++) {
    add_row(posterior->mean + row * model->k, posterior->sd + row * model->k, segment[data->row_segment[row]], *sum);
    (*sum)->few += posterior->answers[row] * 2 < model->n;
    (*sum)->none += posterior->answers[row] == 0;
  }
  return BLICA_OK;
}

double blica_reliability_of(const blica_reliability *r, int source, int segment) {
  if (!r || source < 0 || source >= r->k || segment > r->u) return NAN;
  double rows = 0.0, mean = 0.0, squares = 0.0, variance = 0.0;
  const int first = segment < 0 ? 0 : segment, last = segment < 0 ? r->u : segment;
  for (int s = first; s <= last; s++) {
    if (r->rows[s] == 0) continue;
    const double own = (double)r->rows[s], step = r->mean[source + s * r->k] - mean;
    squares += r->squares[source + s * r->k] + step * step * rows * own / (rows + own);
    mean += step * own / (rows + own);
    variance += r->variance[source + s * r->k];
    rows += own;
  }
  return rows < 2 ? NAN : squares / (squares + variance);
}

void blica_reliability_free(blica_reliability *reliability) {
  bl_free(reliability);
}
