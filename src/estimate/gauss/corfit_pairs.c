/* corfit_pairs.c - one segment whose objective is a sum over pairs of a function of their correlation: the correlations
 * of the model, and the chain rule from them to A and log v (docs/method.md, equation 22).
 *
 * Pairs come in parts, columns of about equal work whose number depends on n alone, and sums run over pairs of a part
 * and then over parts, so that those who share the parts get the bits of one who makes them all. */
#include <math.h>
#include <string.h>

#include "estimate/gauss/corfit.h"
#include "num/blas.h"

enum { PART_PAIRS = 512, MOST_PARTS = 32 };

int bl_corfit_parts(int n) {
  int64_t parts = (int64_t)n * (n - 1) / 2 / PART_PAIRS;
  return parts < 1 ? 1 : parts > MOST_PARTS ? MOST_PARTS : (int)parts;
}

static int bound(int n, int part) {
  const int parts = bl_corfit_parts(n);
  return part == parts ? n : (int)(n * sqrt((double)part / parts));
}

/* Value, shares of the diagonal [n], slopes of the part's pairs, correlations of one variable's pairs [n]. */
size_t bl_corfit_result_size(int n) {
  int64_t most = 0;
  for (int part = 0; part < bl_corfit_parts(n); part++) {
    int64_t first = bound(n, part), last = bound(n, part + 1), pairs = (last * (last - 1) - first * (first - 1)) / 2;
    if (pairs > most) most = pairs;
  }
  return 1 + 2 * (size_t)n + (size_t)most;
}

/* M, G [n,n]; d, diagonal [n]; scaled A [n,k]. */
size_t bl_corfit_workspace_size(int n, int k) {
  return 2 * (size_t)n * n + 2 * (size_t)n + (size_t)n * k;
}

size_t bl_corfit_pairs_work(int n, int k) {
  return bl_corfit_workspace_size(n, k) + (size_t)bl_corfit_parts(n) * bl_corfit_result_size(n);
}

typedef struct {
  double *m, *g, *d, *diagonal, *scaled;
} layout;

static layout divide(double *workspace, int n) {
  layout r = {.m = workspace};
  r.g = r.m + (size_t)n * n, r.d = r.g + (size_t)n * n, r.diagonal = r.d + n, r.scaled = r.diagonal + n;
  return r;
}

void bl_corfit_pairs_begin(const bl_corfit_data *data, const double *a, const double *log_v, double *workspace) {
  const int n = data->n, k = data->k;
  const layout r = divide(workspace, n);
  for (int j = 0; j < k; j++)
    for (int i = 0; i < n; i++) r.scaled[i + (size_t)j * n] = a[i + (size_t)j * n] * data->link * exp(log_v[j]);
  bl_dgemm('N', 'T', n, n, k, 1, r.scaled, n, a, n, 0, r.m, n);
  for (int i = 0; i < n; i++) r.d[i] = 1 / sqrt(1 + r.m[i + (size_t)i * n]);
}

void bl_corfit_pairs_part(const bl_corfit_data *data, int s, int part, double *workspace, double *result) {
  const int n = data->n, first = bound(n, part), last = bound(n, part + 1);
  const layout r = divide(workspace, n);
  double *diagonal = result + 1, *slopes = diagonal + n, value = 0;
  double *rho = result + bl_corfit_result_size(n) - n;
  memset(diagonal, 0, (size_t)n * sizeof *diagonal);
  for (int j = first; j < last; j++, slopes += j - 1) {
    for (int i = 0; i < j; i++) rho[i] = r.m[i + (size_t)j * n] * r.d[i] * r.d[j];
    value += data->pair(data, s, j, rho, slopes);
    for (int i = 0; i < j; i++) {
      double slope = 0.5 * slopes[i]; /* G is symmetric: each pair stands in it twice */
      slopes[i] = slope * r.d[i] * r.d[j];
      diagonal[i] += slope * rho[i];
      diagonal[j] += slope * rho[i];
    }
  }
  *result = value;
}

double bl_corfit_pairs_end(const bl_corfit_data *data, const double *a, double *workspace, const double *results,
                           double *gradient_a, double *gradient_v) {
  const int n = data->n, k = data->k, parts = bl_corfit_parts(n);
  const layout r = divide(workspace, n);
  double value = 0;
  memset(r.diagonal, 0, (size_t)n * sizeof *r.diagonal);
  for (int part = 0; part < parts; part++) {
    const double *result = results + bl_corfit_result_size(n) * (size_t)part, *slopes = result + 1 + n;
    if (*result == BL_CORFIT_LEFT_OUT) return BL_CORFIT_LEFT_OUT;
    value += *result;
    for (int i = 0; i < n; i++) r.diagonal[i] += result[1 + i];
    for (int j = bound(n, part); j < bound(n, part + 1); j++)
      for (int i = 0; i < j; i++) r.g[i + (size_t)j * n] = r.g[j + (size_t)i * n] = *slopes++;
  }
  for (int i = 0; i < n; i++) r.g[i + (size_t)i * n] = -r.diagonal[i] * r.d[i] * r.d[i];
  bl_dgemm('N', 'N', n, k, n, 2, r.g, n, r.scaled, n, 0, gradient_a, n);
  for (int j = 0; j < k; j++) gradient_v[j] = 0.5 * bl_ddot(n, gradient_a + (size_t)j * n, 1, a + (size_t)j * n, 1);
  return value;
}

double bl_corfit_pairs(const bl_corfit_data *data, int s, const double *a, const double *log_v, double *work,
                       double *gradient_a, double *gradient_v) {
  double *results = work + bl_corfit_workspace_size(data->n, data->k);
  bl_corfit_pairs_begin(data, a, log_v, work);
  for (int part = 0; part < bl_corfit_parts(data->n); part++)
    bl_corfit_pairs_part(data, s, part, work, results + bl_corfit_result_size(data->n) * (size_t)part);
  return bl_corfit_pairs_end(data, a, work, results, gradient_a, gradient_v);
}
