/* mvn_tree.c - the order of variables and of rows in which separation of variables walks. */
#include <math.h>
#include <string.h>

#include "num/rectangles/mvn.h"

/* A pivoted Cholesky order: next comes the variable with the largest variance given those before it. What is
 * left for the last levels is then nearly determined, and their factors vary little from point to point.
 * Measured on models drawn as in the paper it lowers the error by a third to a half, as good as or better
 * than ordering by correlation or by smallest variance, and it does not depend on the orthant. */
void bl_mvn_order(int n, const double *cov, int *order) {
  double factor[BL_MVN_MAX], left[BL_MVN_MAX], l[BL_MVN_MAX][BL_MVN_MAX];
  bool taken[BL_MVN_MAX] = {false};
  for (int i = 0; i < n; i++) left[i] = cov[(size_t)i * n + i];
  for (int step = 0; step < n; step++) {
    int best = -1;
    for (int i = 0; i < n; i++)
      if (!taken[i] && (best < 0 || left[i] > left[best])) best = i;
    order[step] = best;
    taken[best] = true;
    double pivot = sqrt(fmax(left[best], 1e-300));
    for (int i = 0; i < n; i++) {
      if (taken[i]) continue;
      double sum = cov[(size_t)i * n + best];
      for (int m = 0; m < step; m++) sum -= l[i][m] * l[best][m];
      factor[i] = sum / pivot;
      left[i] -= factor[i] * factor[i];
    }
    for (int i = 0; i < n; i++)
      if (!taken[i]) l[i][step] = factor[i];
  }
}

static int compare_keys(const uint64_t *a, const uint64_t *b, int words) {
  for (int w = 0; w < words; w++)
    if (a[w] != b[w]) return a[w] < b[w] ? -1 : 1;
  return 0;
}

/* Merge sort of row indices by key: stable and without global state. */
static void sort_rows(const uint64_t *key, int words, int64_t *row, int64_t *spare, int64_t count) {
  for (int64_t width = 1; width < count; width *= 2) {
    for (int64_t low = 0; low < count; low += 2 * width) {
      int64_t middle = low + width < count ? low + width : count,
              high = low + 2 * width < count ? low + 2 * width : count;
      int64_t a = low, b = middle;
      for (int64_t to = low; to < high; to++) {
        bool left = a < middle && (b >= high || compare_keys(key + row[a] * words, key + row[b] * words, words) <= 0);
        spare[to] = left ? row[a++] : row[b++];
      }
    }
    memcpy(row, spare, sizeof *row * (size_t)count);
  }
}

blica_status bl_mvn_tree_make(blica_ctx *ctx, int n, const int *order, int64_t count, const uint8_t *x,
                              bl_mvn_tree **out) {
  blica_status status = BLICA_OK;
  BL_OWNED uint64_t *key = NULL;
  BL_OWNED int64_t *spare = NULL;
  BL_OWNED bl_mvn_tree *tree = NULL;
  int width = 1; /* bits of a key for each level */
  for (int64_t i = 0; i < count * n && width == 1; i++) width = x[i] > 1 ? 8 : 1;
  const int words = (n * width + 63) / 64;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &tree));
  tree->n = n;
  tree->count = count;
  TRY(bl_alloc_for(ctx, tree, (size_t)n, &tree->order));
  TRY(bl_alloc_for(ctx, tree, (size_t)count, &tree->row));
  TRY(bl_alloc_for(ctx, tree, bl_mul((size_t)count, (size_t)n), &tree->x));
  TRY(bl_alloc(ctx, bl_mul((size_t)count, (size_t)words), &key));
  TRY(bl_alloc(ctx, (size_t)count, &spare));
  memcpy(tree->order, order, sizeof *order * (size_t)n);
  for (int64_t r = 0; r < count; r++) {
    tree->row[r] = r;
    for (int i = 0; i < n; i++)
      key[r * words + i * width / 64] |= (uint64_t)x[r * n + order[i]] << (64 - width - i * width % 64);
  }
  sort_rows(key, words, tree->row, spare, count);
  for (int64_t r = 0; r < count; r++)
    for (int i = 0; i < n; i++) tree->x[r * n + i] = x[tree->row[r] * n + order[i]];
  *out = bl_take(&tree);
done:
  return status;
}
