/* curvature MODEL COUNTS - what a gradient that is not quite 0 can do to the end of a fit (bench/results/trust.md),
 * from the Hessian at the model in the scale that the optimiser reports gradients in. For gradients of largest element
 * 1: how far a column of A may move relative to its norm, what the objective may lack, and how much the logarithms of
 * the priors' scales may change when they are learned there; and what a column and the objective change by when those
 * logarithms change by 1. Objectives are the plain ones of torture_check.h, second derivatives differences. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../stress/torture_check.h"

/* d2f/dx dy over the segments first..last-1, without priors. */
static double second(plain *p, double *x, double *y, int first, int last) {
  const double h = 4e-3;
  double sum = 0;
  for (int corner = 0; corner < 4; corner++) {
    const double dx = corner & 1 ? h : -h, dy = corner & 2 ? h : -h, keep_x = *x, keep_y = *y;
    *x += dx, *y += dy;
    for (int s = first; s < last; s++) sum += (dx * dy > 0 ? 1 : -1) * plain_segment(p, s);
    *x = keep_x;
    *y = keep_y;
  }
  return sum / (4 * h * h);
}

/* Column-major, lower triangle: A first, then the log-variances of one segment after another. */
static void hessian(plain *p, double *h, int size) {
  const int nk = p->n * p->k, k = p->k;
  for (int j = 0; j < nk; j++) {
    for (int i = j; i < nk; i++) h[i + (size_t)j * size] = second(p, &p->a[i], &p->a[j], 0, p->u);
    for (int i = 0; i < k * p->u; i++)
      h[nk + i + (size_t)j * size] = second(p, &p->log_v[i], &p->a[j], i / k, i / k + 1);
  }
  for (int s = 0; s < p->u; s++)
    for (int j = s * k; j < (s + 1) * k; j++)
      for (int i = j; i < (s + 1) * k; i++)
        h[nk + i + (size_t)(nk + j) * size] = second(p, &p->log_v[i], &p->log_v[j], s, s + 1);
  for (int i = 0; i < size; i++) h[i + (size_t)i * size] += i < nk ? p->precision_mixing : p->precision_variance;
}

/* Without priors the scale of a source is free: along it the curvature is 0 and the model the same. */
static void fix_scales(const plain *p, double *h, int size) {
  const int nk = p->n * p->k;
  double *d = plain_zeros((size_t)size), most = 0;
  for (int i = 0; i < size; i++) most = fmax(most, h[i + (size_t)i * size]);
  for (int j = 0; j < p->k; j++) {
    double square = 0;
    memset(d, 0, (size_t)size * sizeof *d);
    for (int i = 0; i < p->n; i++) d[i + j * p->n] = p->a[i + j * p->n];
    for (int s = 0; s < p->u; s++) d[nk + j + s * p->k] = -2;
    for (int i = 0; i < size; i++) square += d[i] * d[i];
    for (int c = 0; c < size; c++)
      for (int i = c; i < size; i++) h[i + (size_t)c * size] += most * d[i] * d[c] / square;
  }
  free(d);
}

static void standardise(plain *p) {
  for (int j = 0; j < p->k; j++) {
    double sd = plain_sd(p, j);
    for (int i = 0; i < p->n; i++) p->a[i + j * p->n] *= sd;
    for (int s = 0; s < p->u; s++) p->log_v[j + s * p->k] -= 2 * log(sd);
  }
}

/* Norms of the columns of A in x [nk] over those of A itself, the largest. */
static double worst_column(const plain *p, const double *x) {
  double worst = 0;
  for (int j = 0; j < p->k; j++) {
    double own = 0, size = 0;
    for (int i = j * p->n; i < (j + 1) * p->n; i++) own += x[i] * x[i], size += p->a[i] * p->a[i];
    worst = fmax(worst, sqrt(own / size));
  }
  return worst;
}

typedef struct {
  double column, lack, scale, column_by_scale, objective_by_scale;
} effects;

/* inverse [size,size] full. |theta_i| <= sum_j |inverse_ij| for gradients within 1; learned scales follow the norms of
 * A and of log v. */
static effects measure(const plain *p, const double *inverse, int size) {
  const int nk = p->n * p->k;
  double *move = plain_zeros((size_t)size), *by_scale = plain_zeros((size_t)size), norm[2] = {0}, moved[2] = {0};
  effects e = {0};
  for (int i = 0; i < size; i++) {
    for (int j = 0; j < size; j++) {
      const double theta = j < nk ? p->a[j] : p->log_v[j - nk],
                   precision = j < nk ? p->precision_mixing : p->precision_variance;
      move[i] += fabs(inverse[i + (size_t)j * size]);
      by_scale[i] += 2 * precision * fabs(inverse[i + (size_t)j * size] * theta);
    }
    const double theta = i < nk ? p->a[i] : p->log_v[i - nk],
                 precision = i < nk ? p->precision_mixing : p->precision_variance;
    e.lack += move[i] / 2;
    norm[i >= nk] += theta * theta, moved[i >= nk] += move[i] * move[i];
    e.objective_by_scale += precision * theta * theta;
  }
  e.scale = fmax(sqrt(moved[0] / norm[0]), sqrt(moved[1] / norm[1]));
  e.column = worst_column(p, move), e.column_by_scale = worst_column(p, by_scale);
  free(move), free(by_scale);
  return e;
}

int main(int argc, char **argv) {
  blica_ctx *ctx;
  blica_model *m = NULL;
  blica_counts *counts = NULL;
  blica_cor *cor = NULL, *regular = NULL;
  if (argc != 3 || blica_ctx_create(&ctx) != BLICA_OK) return 2;
  if (blica_model_load(ctx, argv[1], &m) != BLICA_OK || blica_counts_load(ctx, argv[2], &counts) != BLICA_OK ||
      blica_correlate(ctx, counts, &cor) != BLICA_OK ||
      blica_regularise(ctx, cor, m->fit.condition > 0 ? m->fit.condition : INFINITY, &regular) != BLICA_OK) {
    fprintf(stderr, "%s\n", blica_message(ctx));
    return 1;
  }
  plain p = {.weight = 1,
             .precision_mixing = precision(m->fit.prior_mixing),
             .precision_variance = precision(m->fit.prior_variance),
             .cor = cor};
  if (strcmp(m->method, "blica") == 0) p.cor = regular;
  if (strcmp(m->method, "pairwise") == 0) p.counts = counts;
  p.matched = strcmp(m->method, "matched") == 0 ||
              strcmp(m->method, "mle") == 0; /* the full likelihood holds at least what pairs do */
  plain_take(&p, m);
  const int nk = p.n * p.k, size = nk + p.k * p.u, free_scale = p.precision_mixing == 0;
  if (free_scale) standardise(&p);
  double *h = plain_zeros((size_t)size * (size_t)size), *value = plain_zeros((size_t)size),
         *inverse = plain_zeros((size_t)size * (size_t)size);
  hessian(&p, h, size);
  if (free_scale) fix_scales(&p, h, size);
  bl_dsyev('V', 'L', size, h, size, value);
  for (int e = 0; e < size; e++)
    for (int j = 0; j < size; j++)
      for (int i = 0; i < size; i++)
        inverse[i + (size_t)j * size] += h[i + (size_t)e * size] * h[j + (size_t)e * size] / value[e];
  effects of = measure(&p, inverse, size);
  printf("{\"objective\": %.17g, \"curvature\": %.17g, \"column\": %.17g, \"lack\": %.17g, \"scale\": %.17g, "
         "\"column_by_scale\": %.17g, "
         "\"objective_by_scale\": %.17g}\n",
         fabs(plain_value(&p)), value[0], of.column, of.lack, of.scale, of.column_by_scale, of.objective_by_scale);
  plain_free(&p);
  free(h), free(value), free(inverse);
  blica_cor_free(cor), blica_cor_free(regular), blica_counts_free(counts), blica_model_free(m), blica_ctx_free(ctx);
  return 0;
}
