/* cor_fill.c - correlations of pairs of items that are never seen together, where a matrix without gaps is needed.
 *
 * The mean matrix over segments, each pair weighted by its rows, is completed first: entries of k principal factors,
 * with communalities on the diagonal, take the place of what no segment has seen, and the factors are found again until
 * the entries stay. The space of these factors is common to all segments, to the extent that the diagonal of M_s does
 * not vary. Within it each segment is completed from the pairs that it has, beginning with the mean. Starting points of
 * fits are made from the result; estimators give no weight to what was filled in. */
#include <math.h>
#include <string.h>

#include "cor/cor.h"
#include "num/linear/blas.h"

enum { PATH_ROUNDS = 8, ROUNDS = 50, SEGMENT_ROUNDS = 50 };
static const double SETTLED = 1e-4, LEAST_LESS = 0.05; /* change of a correlation that ends the rounds */

typedef struct {
  int n, k;
  double *mean;                    /* [n,n], communalities on the diagonal; owns the others */
  bool *seen;                      /* [n,n] */
  double *copy, *values, *vectors; /* [n,n], [n], [n,k] */
  double *half, *small;            /* [n,k], [k,k] */
  int *support;                    /* [2 n] */
} completion;

static void free_completion(completion *c) {
  bl_free(c->mean);
}

/* The mean of pair p over segments, and whether there is one. */
static bool pair_mean(const blica_cor *cor, int64_t p, double *mean) {
  const int64_t tables = cor->pairs * cor->u;
  double sum = 0, rows = 0;
  for (int64_t at = p; at < tables; at += cor->pairs) {
    sum += cor->pair_rows[at] * cor->rho[at];
    rows += cor->pair_rows[at];
  }
  *mean = rows > 0 ? sum / rows : 0;
  return rows > 0;
}

/* Returns whether some pair is seen nowhere. */
static bool set_means(const blica_cor *cor, completion *c) {
  const size_t n = (size_t)c->n;
  bool gaps = false;
  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i < j; i++) {
      double mean;
      const bool seen = pair_mean(cor, blica_pair((int)i, (int)j), &mean);
      c->mean[i + n * j] = c->mean[j + n * i] = mean;
      c->seen[i + n * j] = c->seen[j + n * i] = seen;
      gaps |= !seen;
    }
  for (size_t i = 0; i < n; i++) c->mean[i * (n + 1)] = 1;
  return gaps;
}

/* An entry off the diagonal, or on it, within what a correlation, or a communality, can be. */
static double within(bool diagonal, double x) {
  return diagonal ? fmin(fmax(x, 0.05), 1) : fmin(fmax(x, -0.95), 0.95);
}

/* Entries of c [n,n] on the diagonal and of pairs that are not seen <- those of the product of `left` [n,k] with the
 * factors; returns the largest change off the diagonal. */
static double replace(const completion *p, const double *left, double *c) {
  const size_t n = (size_t)p->n;
  double change = 0;
  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i <= j; i++) {
      double entry = 0;
      if (i < j && p->seen[i + n * j]) continue;
      for (size_t l = 0; l < (size_t)p->k; l++) entry += left[i + n * l] * p->vectors[j + n * l];
      entry = within(i == j, entry);
      if (i < j) change = fmax(change, fabs(entry - c[i + n * j]));
      c[i + n * j] = c[j + n * i] = entry;
    }
  return change;
}

/* Factors of the mean matrix, `less` being subtracted from their variances; false when they cannot be computed. */
static bool find_factors(completion *p, double less) {
  const size_t n = (size_t)p->n;
  int found = 0;
  memcpy(p->copy, p->mean, n * n * sizeof *p->copy);
  if (bl_dsyevr('L', p->n, p->copy, p->n, p->n - p->k + 1, p->n, &found, p->values, p->vectors, p->n, p->support) !=
          0 ||
      found != p->k)
    return false;
  for (size_t l = 0; l < (size_t)p->k; l++)
    for (size_t i = 0; i < n; i++) p->half[i + n * l] = fmax(p->values[l] - less, 0) * p->vectors[i + n * l];
  return true;
}

static blica_status no_factors(blica_ctx *ctx) {
  return bl_fail(ctx, BLICA_ERR_NUMERIC, "the factors of the mean correlations could not be computed");
}

static blica_status fill_mean(blica_ctx *ctx, const blica_cor *cor, completion *p) {
  const size_t n = (size_t)p->n, k = (size_t)p->k;
  bool gaps, over = false;
  MUST(bl_alloc(ctx, n * n, &p->mean));
  MUST(bl_alloc_for(ctx, p->mean, n * n, &p->seen));
  MUST(bl_alloc_for(ctx, p->mean, n * n, &p->copy));
  MUST(bl_alloc_for(ctx, p->mean, n, &p->values));
  MUST(bl_alloc_for(ctx, p->mean, n * k, &p->vectors));
  MUST(bl_alloc_for(ctx, p->mean, n * k, &p->half));
  MUST(bl_alloc_for(ctx, p->mean, k * k, &p->small));
  MUST(bl_alloc_for(ctx, p->mean, 2 * n, &p->support));
  gaps = set_means(cor, p);
  if (!find_factors(p, 0)) return no_factors(ctx);
  for (double less = gaps ? 0.5 * p->values[k - 1] : 0; !over; less = less > LEAST_LESS ? 0.7 * less : 0) {
    over = less == 0;
    for (int round = 0; round < (over ? ROUNDS : PATH_ROUNDS); round++) {
      if (!find_factors(p, less)) return no_factors(ctx);
      if (replace(p, p->half, p->mean) < SETTLED && round > 0) break;
    }
  }
  return BLICA_OK;
}

/* rho of segment s, whose pairs without rows are filled in. */
static void fill_segment(const blica_cor *cor, int s, completion *p, double *rho) {
  const size_t n = (size_t)p->n, first = (size_t)cor->pairs * (size_t)s;
  const uint8_t *flags = cor->flags + first;
  double *c = p->copy;
  bool gaps = false;
  for (size_t j = 0, at = 0; j < n; j++) {
    c[j * (n + 1)] = p->mean[j * (n + 1)];
    for (size_t i = 0; i < j; i++, at++) {
      const bool seen = !(flags[at] & BLICA_PAIR_EMPTY);
      p->seen[i + n * j] = p->seen[j + n * i] = seen;
      c[i + n * j] = c[j + n * i] = seen ? cor->rho[first + at] : p->mean[i + n * j];
      gaps |= !seen;
    }
  }
  for (int round = 0; round < SEGMENT_ROUNDS && gaps; round++) {
    bl_dsymm('L', 'L', p->n, p->k, 1, c, p->n, p->vectors, p->n, 0, p->half, p->n);
    bl_dgemm('T', 'N', p->k, p->k, p->n, 1, p->vectors, p->n, p->half, p->n, 0, p->small, p->k);
    bl_dgemm('N', 'N', p->n, p->k, p->k, 1, p->vectors, p->n, p->small, p->k, 0, p->half, p->n);
    if (replace(p, p->half, c) < SETTLED) break;
  }
  for (size_t j = 0, at = 0; j < n; j++)
    for (size_t i = 0; i < j; i++, at++)
      if (!p->seen[i + n * j]) rho[at] = c[i + n * j];
}

blica_status bl_cor_fill(blica_ctx *ctx, const blica_cor *cor, int k, blica_cor **out) {
  BL_CLEAN(free_completion) completion p = {.n = cor->n, .k = k};
  *out = NULL;
  MUST(fill_mean(ctx, cor, &p));
  MUST(bl_cor_copy(ctx, cor, out));
  for (int s = 0; s < cor->u; s++) fill_segment(cor, s, &p, (*out)->rho + cor->pairs * s);
  return BLICA_OK;
}
