/* grid_kernel.c - the trapezoidal rule over the sources, for a tree of rectangles.
 *
 * p(x) = sum over nodes z of h^k phi(z) prod_i P_i(z), where P_i, the probability of the row's level of item i, is a
 * difference of Phi(mean_i + B_i z - edge) at the level's two ends. The factors of all levels are computed once per
 * node and serve all rows; rows that begin alike share their products. A second sweep, with the probabilities known,
 * carries the gradient back. */
#include <math.h>
#include <string.h>

#include "num/rectangles/grid.h"
#include "num/simd.h"

enum { CHUNK_VECTORS = BL_GRID_CHUNK / BL_LANES };

typedef struct {
  const bl_grid *g;
  bl_v *z;                  /* k arrays of one chunk */
  bl_v *p, *hazard, *upper; /* by level (edge_of(i) + i + level): P_i, d log P_i / d mean and d upper end */
  bl_v *phi, *slope;        /* by edge: density and collected adjoints of Phi */
  bl_v *f, *fbar;           /* n + 1 each: product above a level and its adjoint */
  bl_v *leaf;               /* weights of the nodes in one row */
} chunk;

static bl_v *part(bl_v *base, int i) {
  return base + (size_t)i * CHUNK_VECTORS;
}

static chunk make_chunk(const bl_grid *g) {
  int n = g->n, edges = bl_edge_of(&g->levels, n);
  bl_v *at = (bl_v *)g->work;
  chunk c = {.g = g, .z = at};
  c.p = part(c.z, g->k);
  c.phi = part(c.p, edges + n);
  c.slope = part(c.phi, edges);
  c.f = part(c.slope, edges);
  c.fbar = part(c.f, n + 1);
  c.hazard = part(c.fbar, n + 1);
  c.upper = part(c.hazard, edges + n);
  c.leaf = part(c.upper, edges + n);
  return c;
}

static int level_at(const chunk *c, int i, int level) {
  return bl_edge_of(&c->g->levels, i) + i + level;
}

/* Probabilities of all levels of item i at the nodes of the chunk. */
static void factors(chunk *c, int i) {
  const bl_grid *g = c->g;
  const int first = bl_edge_of(&g->levels, i), end = bl_edge_of(&g->levels, i + 1);
  bl_v *p = part(c->p, level_at(c, i, 0));
  for (int v = 0; v < CHUNK_VECTORS; v++) {
    bl_v d = bl_v_all(g->mean[i]), below, above, low;
    for (int l = 0; l < g->k; l++) d += g->loading[i * g->k + l] * part(c->z, l)[v];
    bl_v_phi(d, &below, &above, &part(c->phi, first)[v]);
    p[v] = above, low = d;
    for (int e = first + 1; e < end; e++) {
      bl_v high = d - g->levels.edge[e], high_below, high_above;
      bl_v_phi(high, &high_below, &high_above, &part(c->phi, e)[v]);
      part(p, e - first)[v] = bl_v_between(low, below, above, high, high_below, high_above);
      low = high, below = high_below, above = high_above;
    }
    part(p, end - first)[v] = below;
  }
}

/* What scores need of each level of item i. */
static void hazards(chunk *c, int i) {
  const bl_grid *g = c->g;
  const int first = bl_edge_of(&g->levels, i), edges = bl_edge_of(&g->levels, i + 1) - first;
  for (int level = 0; level <= edges; level++) {
    const int at = level_at(c, i, level);
    const bl_v *p = part(c->p, at), *low = part(c->phi, first + (level > 0 ? level - 1 : 0));
    const bl_v *high = part(c->phi, first + (level < edges ? level : 0));
    bl_v *hazard = part(c->hazard, at), *upper = part(c->upper, at);
    for (int v = 0; v < CHUNK_VECTORS; v++) {
      hazard[v] = (level == 0 ? -high[v] : level == edges ? low[v] : low[v] - high[v]) / p[v];
      upper[v] = level < edges ? high[v] / p[v] : bl_v_all(0.0);
    }
  }
}

/* Adds the chunk's part of the scores of one row; f * p is the weight of each node in it. */
static void add_scores(chunk *c, int64_t row, const bl_v *f, const bl_v *p) {
  const bl_grid *g = c->g;
  const int n = g->n, k = g->k;
  const double over = 1.0 / g->p[row];
  for (int v = 0; v < CHUNK_VECTORS; v++) c->leaf[v] = f[v] * p[v] * over;
  for (int i = 0; i < n; i++) {
    const int level = level_at(c, i, g->x[row * n + i]);
    double *score = g->score + (row * n + i) * (1 + k);
    bl_v by_mean = bl_v_all(0.0), by_upper = bl_v_all(0.0), by_loading[BL_GRID_SOURCES] = {by_mean};
    for (int v = 0; v < CHUNK_VECTORS; v++) {
      const bl_v h = c->leaf[v] * part(c->hazard, level)[v];
      by_mean += h, by_upper += c->leaf[v] * part(c->upper, level)[v];
      for (int l = 0; l < k; l++) by_loading[l] += h * part(c->z, l)[v];
    }
    score[0] += bl_v_sum(by_mean);
    for (int l = 0; l < k; l++) score[1 + l] += bl_v_sum(by_loading[l]);
    if (g->upper) g->upper[row * n + i] += bl_v_sum(by_upper);
  }
}

/* Adds the chunk's part of each probability. */
static void add_values(chunk *c, int i, int64_t low, int64_t high) {
  const bl_grid *g = c->g;
  const bl_v *f = part(c->f, i);
  for (int64_t from = low, to; from < high; from = to) {
    to = bl_end_of_level(g->x, g->n, i, from, high);
    const bl_v *p = part(c->p, level_at(c, i, g->x[from * g->n + i]));
    if (i == g->n - 1) {
      bl_v sum = bl_v_all(0.0);
      for (int v = 0; v < CHUNK_VECTORS; v++) sum += f[v] * p[v];
      g->p[from] += bl_v_sum(sum);
      continue;
    }
    bl_v *next = part(c->f, i + 1);
    for (int v = 0; v < CHUNK_VECTORS; v++) next[v] = f[v] * p[v];
    add_values(c, i + 1, from, to);
  }
}

/* Adjoints of a level's Phi at its ends: weight times f, or factor times f when weight is NULL. */
static void add_slopes(chunk *c, int i, int level, const bl_v *weight, double factor, const bl_v *f) {
  const int first = bl_edge_of(&c->g->levels, i), edges = bl_edge_of(&c->g->levels, i + 1) - first;
  for (int end = 0; end < 2; end++) {
    const int edge = level - 1 + end;
    const double sign = end ? -1.0 : 1.0;
    if (edge < 0 || edge >= edges) continue;
    bl_v *slope = part(c->slope, first + edge);
    if (weight)
      for (int v = 0; v < CHUNK_VECTORS; v++) slope[v] += sign * weight[v] * f[v];
    else
      for (int v = 0; v < CHUNK_VECTORS; v++) slope[v] += sign * factor * f[v];
  }
}

/* With probabilities known: adjoints of the factors, and scores. */
static void add_adjoints(chunk *c, int i, int64_t low, int64_t high) {
  const bl_grid *g = c->g;
  const bl_v *f = part(c->f, i);
  bl_v *fbar = part(c->fbar, i);
  for (int v = 0; v < CHUNK_VECTORS; v++) fbar[v] = bl_v_all(0.0);
  for (int64_t from = low, to; from < high; from = to) {
    const int level = g->x[from * g->n + i];
    const bl_v *p = part(c->p, level_at(c, i, level));
    to = bl_end_of_level(g->x, g->n, i, from, high);
    if (i == g->n - 1) {
      const double factor = g->weight ? g->weight[from] / g->p[from] : 0.0;
      if (g->score) add_scores(c, from, f, p);
      add_slopes(c, i, level, NULL, factor, f);
      for (int v = 0; v < CHUNK_VECTORS; v++) fbar[v] += factor * p[v];
      continue;
    }
    bl_v *next = part(c->f, i + 1);
    const bl_v *inner = part(c->fbar, i + 1);
    for (int v = 0; v < CHUNK_VECTORS; v++) next[v] = f[v] * p[v];
    add_adjoints(c, i + 1, from, to);
    add_slopes(c, i, level, inner, 0.0, f);
    for (int v = 0; v < CHUNK_VECTORS; v++) fbar[v] += inner[v] * p[v];
  }
}

/* Adds the derivatives by means, edges and loadings over the points of a chunk. */
static void add_gradient(chunk *c) {
  const bl_grid *g = c->g;
  const int edges = bl_edge_of(&g->levels, g->n);
  memset(c->slope, 0, sizeof(bl_v) * CHUNK_VECTORS * (size_t)edges);
  add_adjoints(c, 0, 0, g->count);
  if (!g->weight) return;
  for (int e = 0, i = 0; e < edges; e++) {
    const bl_v *slope = part(c->slope, e), *phi = part(c->phi, e);
    while (e >= bl_edge_of(&g->levels, i + 1)) i++;
    bl_v sum[1 + BL_GRID_SOURCES];
    for (int l = 0; l <= g->k; l++) sum[l] = bl_v_all(0.0);
    for (int v = 0; v < CHUNK_VECTORS; v++) {
      bl_v d = slope[v] * phi[v];
      sum[0] += d;
      for (int l = 0; l < g->k; l++) sum[1 + l] += d * part(c->z, l)[v];
    }
    const double by_mean = bl_v_sum(sum[0]);
    g->g_mean[i] += by_mean;
    if (g->g_edge) g->g_edge[e] -= by_mean;
    for (int l = 0; l < g->k; l++) g->g_loading[i * g->k + l] += bl_v_sum(sum[1 + l]);
  }
}

/* One sweep over all nodes, chunk by chunk. */
static void sweep(const bl_grid *g, bool gradient) {
  chunk c = make_chunk(g);
  int k = g->k, filled = 0;
  double volume = 1.0, at[BL_GRID_SOURCES], *z = (double *)c.z, *f = (double *)c.f;
  long index[BL_GRID_SOURCES], last[BL_GRID_SOURCES];
  for (int l = 0; l < k; l++) {
    last[l] = (long)(g->reach / g->spacing[l]) + 1;
    index[l] = -last[l];
    volume *= g->spacing[l] * 0.3989422804014326779;
  }
  for (bool more = true; more;) {
    double radius = 0.0;
    for (int l = 0; l < k; l++) {
      at[l] = ((double)index[l] + g->shift) * g->spacing[l];
      radius += at[l] * at[l];
    }
    if (radius <= g->reach * g->reach) {
      for (int l = 0; l < k; l++) z[l * BL_GRID_CHUNK + filled] = at[l];
      f[filled++] = volume * exp(-0.5 * radius);
    }
    int turn = 0;
    while (turn < k && ++index[turn] > last[turn]) {
      index[turn] = -last[turn];
      turn++;
    }
    more = turn < k;
    if (filled == BL_GRID_CHUNK || (!more && filled > 0)) {
      for (int r = filled; r < BL_GRID_CHUNK; r++) { /* nodes of weight zero fill the last chunk */
        f[r] = 0.0;
        for (int l = 0; l < k; l++) z[l * BL_GRID_CHUNK + r] = 0.0;
      }
      for (int i = 0; i < g->n; i++) {
        factors(&c, i);
        if (gradient && g->score) hazards(&c, i);
      }
      if (gradient)
        add_gradient(&c);
      else
        add_values(&c, 0, 0, g->count);
      filled = 0;
    }
  }
}

void BL_NAME(bl_grid_run)(const bl_grid *g) {
  const size_t n = (size_t)g->n, k = (size_t)g->k;
  memset(g->p, 0, sizeof(double) * (size_t)g->count);
  sweep(g, false);
  for (int64_t r = 0; r < g->count; r++) g->p[r] = fmax(g->p[r], 1e-300);
  if (!g->weight && !g->score) return;
  if (g->weight) {
    memset(g->g_mean, 0, sizeof(double) * n);
    memset(g->g_loading, 0, sizeof(double) * n * k);
    if (g->g_edge) memset(g->g_edge, 0, sizeof(double) * (size_t)bl_edge_of(&g->levels, g->n));
  }
  if (g->score) memset(g->score, 0, sizeof(double) * (size_t)g->count * n * (1 + k));
  if (g->upper) memset(g->upper, 0, sizeof(double) * (size_t)g->count * n);
  sweep(g, true);
}
