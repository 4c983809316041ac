/* cor.c - the object that holds correlations: create, copy, unpack, free. */
#include "cor/cor.h"

#include <math.h>
#include <string.h>

#include "data/coding.h"

blica_status bl_cor_create(blica_ctx *ctx, int n, int u, char **variables, char **segments, const double *samples,
                           bool errors, blica_cor **out) {
  blica_status status = BLICA_OK;
  blica_cor *cor = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &cor));
  cor->n = cor->planes = n;
  cor->u = u;
  cor->pairs = (int64_t)n * (n - 1) / 2;
  cor->condition = INFINITY;
  size_t tables = bl_mul((size_t)u, (size_t)cor->pairs), columns = bl_mul((size_t)n, (size_t)u);
  TRY(bl_copy_texts(ctx, n, (const char *const *)variables, &cor->variables));
  TRY(bl_copy_texts(ctx, u, (const char *const *)segments, &cor->segments));
  TRY(bl_alloc_for(ctx, cor, (size_t)u, &cor->samples));
  TRY(bl_alloc_for(ctx, cor, tables, &cor->rho));
  if (errors) TRY(bl_alloc_for(ctx, cor, tables, &cor->se));
  TRY(bl_alloc_for(ctx, cor, tables, &cor->flags));
  TRY(bl_alloc(ctx, columns, &cor->thresholds));
  TRY(bl_alloc_for(ctx, cor, (size_t)u, &cor->shift));
  TRY(bl_alloc_for(ctx, cor, (size_t)u, &cor->eigen_min));
  TRY(bl_alloc_for(ctx, cor, (size_t)u, &cor->eigen_max));
  memcpy(cor->samples, samples, (size_t)u * sizeof *samples);
  for (int s = 0; s < u; s++) cor->eigen_min[s] = cor->eigen_max[s] = NAN;
  *out = cor;
done:
  if (status != BLICA_OK) blica_cor_free(cor);
  return status;
}

blica_status bl_cor_set_coding(blica_ctx *ctx, blica_cor *cor, blica_coding *coding) {
  double *thresholds;
  const int planes = bl_plane(coding, cor->n);
  blica_status status = bl_alloc(ctx, bl_mul((size_t)planes, (size_t)cor->u), &thresholds);
  if (status != BLICA_OK) return status;
  bl_free(cor->thresholds);
  cor->thresholds = thresholds, cor->planes = planes, cor->coding = coding;
  return BLICA_OK;
}

static blica_status copy_doubles(blica_ctx *ctx, void *owner, const double *from, size_t count, double **out) {
  if (!from) return BLICA_OK;
  blica_status status = bl_alloc_for(ctx, owner, count, out);
  if (status == BLICA_OK) memcpy(*out, from, count * sizeof(double));
  return status;
}

blica_status bl_cor_copy(blica_ctx *ctx, const blica_cor *cor, blica_cor **out) {
  blica_status status = BLICA_OK;
  blica_cor *copy = NULL;
  blica_coding *coding = NULL;
  *out = NULL;
  TRY(bl_cor_create(ctx, cor->n, cor->u, cor->variables, cor->segments, cor->samples, cor->se, &copy));
  TRY(bl_coding_copy(ctx, cor->coding, &coding));
  if (coding) TRY(bl_cor_set_coding(ctx, copy, coding));
  size_t tables = (size_t)cor->u * (size_t)cor->pairs, items = (size_t)cor->n * (size_t)cor->u;
  TRY(copy_doubles(ctx, copy, cor->location, items, &copy->location));
  TRY(copy_doubles(ctx, copy, cor->log_scale, items, &copy->log_scale));
  TRY(copy_doubles(ctx, copy, cor->log_scale_se, items, &copy->log_scale_se));
  size_t columns = (size_t)cor->planes * (size_t)cor->u;
  size_t segments = (size_t)cor->u * sizeof(double);
  memcpy(copy->rho, cor->rho, tables * sizeof(double));
  if (cor->se) memcpy(copy->se, cor->se, tables * sizeof(double));
  memcpy(copy->flags, cor->flags, tables);
  memcpy(copy->thresholds, cor->thresholds, columns * sizeof(double));
  memcpy(copy->shift, cor->shift, segments);
  memcpy(copy->eigen_min, cor->eigen_min, segments);
  memcpy(copy->eigen_max, cor->eigen_max, segments);
  copy->zero_cells = cor->zero_cells;
  copy->constant_pairs = cor->constant_pairs;
  copy->empty_pairs = cor->empty_pairs;
  copy->constant_columns = cor->constant_columns;
  copy->exact = cor->exact;
  copy->condition = cor->condition;
  *out = copy;
done:
  if (status != BLICA_OK) blica_cor_free(copy);
  return status;
}

bl_symmetric bl_cor_view(const blica_cor *cor, int s) {
  return (bl_symmetric){.n = cor->n, .pairs = cor->rho + s * cor->pairs, .scale = 1};
}

void blica_cor_matrix(const blica_cor *cor, int s, double *c) {
  if (!cor || !c) return;
  size_t n = (size_t)cor->n;
  const double *rho = cor->rho + (size_t)s * (size_t)cor->pairs;
  for (size_t j = 0; j < n; j++) {
    c[j + j * n] = 1.0;
    for (size_t i = 0; i < j; i++) c[i + j * n] = c[j + i * n] = *rho++;
  }
}

void blica_cor_free(blica_cor *cor) {
  if (!cor) return;
  bl_free_texts(cor->variables, cor->n);
  bl_free_texts(cor->segments, cor->u);
  bl_free(cor->thresholds);
  blica_coding_free(cor->coding);
  bl_free(cor);
}
