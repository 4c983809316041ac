/* assign.c - linear assignment by shortest augmenting paths.
 *
 * Rows are assigned one by one; each takes a Dijkstra search over reduced costs c_ij - a_i - b_j >= 0
 * for the cheapest free column, after which the prices a, b are updated so that they stay dual
 * feasible (Tomizawa 1971; Edmonds and Karp 1972; as in Burkard, Dell'Amico and Martello, Assignment
 * Problems, 2009, section 4.4). O(k^3) time, O(k) memory beside the matrix.
 * Checked against all permutations for k <= 7 and for duality at larger k. */
#include "num/assign.h"

#include <math.h>

typedef struct {
  int k;
  const double *cost;
  double *row_price, *column_price; /* a, b */
  double *distance;                 /* [k] of the columns from the row being assigned */
  int *owner;                       /* [k] row of each column, or -1 */
  int *from;                        /* [k] column before it on the path, or -1 for the start */
  bool *final;                      /* [k] its distance is settled */
} search;

/* Grows the tree of shortest paths from row until a free column is reached; returns that column. */
static int grow(search *w, int row, double *reached) {
  double base = 0;
  int last = -1;
  for (int j = 0; j < w->k; j++) {
    w->distance[j] = INFINITY;
    w->from[j] = -1;
    w->final[j] = false;
  }
  for (;;) {
    int best = -1;
    for (int j = 0; j < w->k; j++) {
      if (w->final[j]) continue;
      double d = base + w->cost[row + (size_t)j * w->k] - w->row_price[row] - w->column_price[j];
      if (d < w->distance[j]) {
        w->distance[j] = d;
        w->from[j] = last;
      }
      if (best < 0 || w->distance[j] < w->distance[best]) best = j;
    }
    w->final[best] = true;
    base = w->distance[best];
    if (w->owner[best] < 0) {
      *reached = base;
      return best;
    }
    row = w->owner[best];
    last = best;
  }
}

/* Assigns a row along the shortest augmenting path, and updates the prices. */
static void assign_row(search *w, int row) {
  double reached;
  int end = grow(w, row, &reached);
  w->row_price[row] += reached;
  for (int j = 0; j < w->k; j++) {
    if (!w->final[j] || j == end) continue;
    w->row_price[w->owner[j]] += reached - w->distance[j];
    w->column_price[j] -= reached - w->distance[j];
  }
  for (int j = end; j >= 0; j = w->from[j]) w->owner[j] = w->from[j] < 0 ? row : w->owner[w->from[j]];
}

blica_status bl_assign(blica_ctx *ctx, int k, const double *cost, int *match) {
  blica_status status;
  search w = {.k = k, .cost = cost};
  size_t count = (size_t)k;
  TRY(bl_alloc(ctx, count, &w.row_price)); /* owns the others */
  TRY(bl_alloc_for(ctx, w.row_price, count, &w.column_price));
  TRY(bl_alloc_for(ctx, w.row_price, count, &w.distance));
  TRY(bl_alloc_for(ctx, w.row_price, count, &w.owner));
  TRY(bl_alloc_for(ctx, w.row_price, count, &w.from));
  TRY(bl_alloc_for(ctx, w.row_price, count, &w.final));
  for (int j = 0; j < k; j++) w.owner[j] = -1;
  for (int i = 0; i < k; i++) assign_row(&w, i);
  for (int j = 0; j < k; j++) match[w.owner[j]] = j;
done:
  bl_free(w.row_price);
  return status;
}
