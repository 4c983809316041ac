/* likelihood_match.c - which column of the data is which variable of the model, and which segment which; and the
 * engine that suits the size. */
#include <math.h>
#include <string.h>

#include "data/coding.h"
#include "likelihood/likelihood.h"
#include "num/rectangles/grid.h"
#include "num/rectangles/mvn.h"

static int find(const char *name, int count, char **names) {
  for (int i = 0; i < count; i++)
    if (strcmp(name, names[i]) == 0) return i;
  return -1;
}

static blica_status check_model(blica_ctx *ctx, const blica_model *model) {
  for (int s = 0; s < model->u; s++)
    for (int j = 0; j < model->k; j++) {
      double v = model->variances[j + (size_t)s * model->k], m = model->means[j + (size_t)s * model->k];
      if (!(v > 0 && isfinite(v)))
        return bl_fail(ctx, BLICA_ERR_DATA,
                       "the model's variance of source %d in segment '%s' is %g: the covariance is not "
                       "positive definite; variances must be positive",
                       j + 1, model->segments[s], v);
      if (!isfinite(m))
        return bl_fail(ctx, BLICA_ERR_DATA, "the model's mean of source %d in segment '%s' is %g; it must be finite",
                       j + 1, model->segments[s], m);
    }
  for (int i = 0; i < model->n; i++)
    for (int first = bl_plane(model->coding, i), p = first; p < bl_plane(model->coding, i + 1); p++)
      if (!isfinite(model->cuts[p]) || (p > first && !(model->cuts[p] > model->cuts[p - 1])))
        return bl_fail(ctx, BLICA_ERR_DATA, "cut %d of the model's variable '%s' is %g; cuts must be finite and grow",
                       p - first + 1, model->variables[i], model->cuts[p]);
  for (int i = 0; i < model->n; i++)
    for (int j = 0; j < model->k; j++)
      if (!isfinite(model->mixing[i + (size_t)j * model->n]))
        return bl_fail(ctx, BLICA_ERR_DATA,
                       "the model's mixing matrix has %g at variable '%s', source %d; it must be finite",
                       model->mixing[i + (size_t)j * model->n], model->variables[i], j + 1);
  return BLICA_OK;
}

/* Column p of the model is not in the data: the item is not there, or it has other levels. */
static blica_status not_there(blica_ctx *ctx, const blica_model *model, const char *column, int p,
                              const blica_data *data) {
  int i = 0;
  while (p >= bl_plane(model->coding, i + 1)) i++;
  const char *name = model->variables[i];
  const size_t length = strlen(name);
  for (int c = 0; c < data->n; c++)
    if (strncmp(data->variables[c], name, length) == 0 &&
        (data->variables[c][length] == 0 || data->variables[c][length] == '['))
      return bl_fail(ctx, BLICA_ERR_DATA,
                     "variable '%s' has other levels in the data ('%s') than in the model ('%s'); code the data by the "
                     "model's levels",
                     name, data->variables[c], column);
  return bl_fail(
      ctx, BLICA_ERR_DATA,
      "the model's variable '%s' is not in the data, whose %d variables are '%s'%s; variables are matched by name",
      name, data->n, data->variables[0], data->n > 1 ? ", ..." : "");
}

/* Finds the column of the data for each column of the model, and the segment of the model for each of the data. */
static blica_status match_names(blica_ctx *ctx, const blica_model *model, char **columns, const blica_data *data,
                                bl_match segments, int *variable, int *segment) {
  for (int p = 0; p < model->planes; p++) {
    variable[p] = find(columns[p], data->n, data->variables);
    if (variable[p] < 0) return not_there(ctx, model, columns[p], p, data);
  }
  for (int i = 0; i < data->n; i++)
    if (find(data->variables[i], model->planes, columns) < 0)
      return bl_fail(ctx, BLICA_ERR_DATA,
                     "the data's variable '%s' is not in the model; leave it out, or fit the model again",
                     data->variables[i]);
  for (int s = 0; s < data->u; s++) {
    const bool none = segments == BL_MATCH_NONE || (segments == BL_MATCH_SOME && !*data->segments[s]);
    segment[s] = none ? -1 : find(data->segments[s], model->u, model->segments);
    if (!none && segment[s] < 0)
      return bl_fail(ctx, BLICA_ERR_DATA,
                     "segment '%s' of the data is not one of the model's %d segments ('%s'%s); segments are matched by "
                     "label%s",
                     data->segments[s], model->u, model->segments[0], model->u > 1 ? ", ..." : "",
                     segments == BL_MATCH_SOME ? "; option segment unknown averages rows over those of the model" : "");
  }
  return BLICA_OK;
}

blica_status bl_likelihood_match(blica_ctx *ctx, const blica_model *model, const blica_data *data, bl_match segments,
                                 int *variable, int *segment) {
  blica_status status;
  char **columns = NULL;
  TRY(check_model(ctx, model));
  if (model->coding) TRY(bl_coding_columns(ctx, model->coding, &columns));
  TRY(match_names(ctx, model, columns ? columns : model->variables, data, segments, variable, segment));
done:
  bl_free(columns);
  return status;
}

enum { GRID_VARIABLES = 16, GRID_VARIABLES_3 = 8, LATTICE_VARIABLES = 40 }; /* where "auto" changes over */

blica_status bl_likelihood_engine(blica_ctx *ctx, blica_engine wanted, int n, int k, blica_engine *engine) {
  *engine = wanted;
  switch (wanted) {
  case BLICA_ENGINE_AUTO: {
    bool few = k <= 2 ? n <= GRID_VARIABLES : k == 3 && n <= GRID_VARIABLES_3;
    *engine = few ? BLICA_ENGINE_GRID : n <= LATTICE_VARIABLES ? BLICA_ENGINE_LATTICE : BLICA_ENGINE_EP;
    break;
  }
  case BLICA_ENGINE_GRID:
    if (k > BL_GRID_SOURCES || n > BL_MVN_MAX)
      return bl_fail(ctx, BLICA_ERR_DATA,
                     "engine grid can do up to %d sources and %d variables; the model has %d and %d: use "
                     "engine lattice or ep",
                     BL_GRID_SOURCES, BL_MVN_MAX, k, n);
    break;
  case BLICA_ENGINE_LATTICE:
    if (n > BL_MVN_MAX)
      return bl_fail(ctx, BLICA_ERR_DATA, "engine lattice can do up to %d variables; the model has %d: use engine ep",
                     BL_MVN_MAX, n);
    break;
  case BLICA_ENGINE_EP:
    break;
  }
  return BLICA_OK;
}
