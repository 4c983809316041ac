/* grid_kernel.c - the trapezoidal rule over the sources, for a tree of orthants.
 *
 * p(x) = sum over nodes z of h^k phi(z) prod_i Phi(s_i (mean_i + B_i z)). The factors are computed once per node
 * and serve all orthants; prefixes of orthants share their products. A second sweep, with the
 * probabilities known, carries the gradient back. */
#include <math.h>
#include <string.h>

#include "num/grid.h"
#include "num/simd.h"

enum { CHUNK_VECTORS = BL_GRID_CHUNK / BL_LANES };

typedef struct {
  const bl_grid *g;
  bl_v *z;                           /* k arrays of one chunk */
  bl_v *below, *above, *phi, *slope; /* n each; slope collects adjoints of Phi */
  bl_v *hazard[2];                   /* n each: -+phi / Phi(-+), for scores */
  bl_v *f, *fbar;                    /* n + 1 each: product above a level and its adjoint */
  bl_v *leaf;
} chunk;

static bl_v *part(bl_v *base, int i) {
  return base + (size_t)i * CHUNK_VECTORS;
}

static chunk make_chunk(const bl_grid *g) {
  int n = g->n;
  bl_v *at = (bl_v *)g->work;
  chunk c = {.g = g, .z = at};
  c.below = part(c.z, g->k);
  c.above = part(c.below, n);
  c.phi = part(c.above, n);
  c.slope = part(c.phi, n);
  c.hazard[0] = part(c.slope, n);
  c.hazard[1] = part(c.hazard[0], n);
  c.f = part(c.hazard[1], n);
  c.fbar = part(c.f, n + 1);
  c.leaf = part(c.fbar, n + 1);
  return c;
}

/* Factors of all variables at the nodes of the chunk. */
static void factors(chunk *c) {
  const bl_grid *g = c->g;
  for (int i = 0; i < g->n; i++) {
    bl_v *below = part(c->below, i), *above = part(c->above, i), *phi = part(c->phi, i);
    for (int v = 0; v < CHUNK_VECTORS; v++) {
      bl_v d = bl_v_all(g->mean[i]);
      for (int l = 0; l < g->k; l++) d += g->loading[i * g->k + l] * part(c->z, l)[v];
      bl_v_phi(d, &below[v], &above[v], &phi[v]);
    }
    if (g->score)
      for (int v = 0; v < CHUNK_VECTORS; v++) {
        part(c->hazard[1], i)[v] = phi[v] / below[v];
        part(c->hazard[0], i)[v] = -phi[v] / above[v];
      }
  }
}

static int64_t first_one(const bl_grid *g, int i, int64_t low, int64_t high) {
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (g->x[middle * g->n + i])
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* Adds the chunk's part of each probability. */
static void add_values(chunk *c, int i, int64_t low, int64_t high) {
  const bl_grid *g = c->g;
  int64_t split = first_one(g, i, low, high);
  const bl_v *f = part(c->f, i);
  for (int bit = 0; bit < 2; bit++) {
    int64_t from = bit ? split : low, to = bit ? high : split;
    if (from == to) continue;
    const bl_v *p = part(bit ? c->below : c->above, i);
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

/* Scores and moments of one orthant, from the weight of each node in it. */
static void add_moments(chunk *c, int64_t row, const bl_v *f, const bl_v *p) {
  const bl_grid *g = c->g;
  int n = g->n, k = g->k;
  double over = 1.0 / g->p[row], *score = g->score + row * n * (1 + k);
  for (int v = 0; v < CHUNK_VECTORS; v++) c->leaf[v] = f[v] * p[v] * over;
  for (int i = 0; i < n; i++) {
    const bl_v *hazard = part(c->hazard[g->x[row * n + i] != 0], i);
    bl_v sum[1 + BL_GRID_SOURCES];
    for (int l = 0; l <= k; l++) sum[l] = bl_v_all(0.0);
    for (int v = 0; v < CHUNK_VECTORS; v++) {
      bl_v h = c->leaf[v] * hazard[v];
      sum[0] += h;
      for (int l = 0; l < k; l++) sum[1 + l] += h * part(c->z, l)[v];
    }
    for (int l = 0; l <= k; l++) score[i * (1 + k) + l] += bl_v_sum(sum[l]);
  }
  for (int l = 0; l < k; l++) {
    const bl_v *zl = part(c->z, l);
    bl_v one = bl_v_all(0.0);
    for (int v = 0; v < CHUNK_VECTORS; v++) one += c->leaf[v] * zl[v];
    g->first[row * k + l] += bl_v_sum(one);
    for (int m = 0; m < k; m++) {
      bl_v two = bl_v_all(0.0);
      for (int v = 0; v < CHUNK_VECTORS; v++) two += c->leaf[v] * zl[v] * part(c->z, m)[v];
      g->second[(row * k + l) * k + m] += bl_v_sum(two);
    }
  }
}

/* With probabilities known: adjoints of the factors, and moments. */
static void add_adjoints(chunk *c, int i, int64_t low, int64_t high) {
  const bl_grid *g = c->g;
  int64_t split = first_one(g, i, low, high);
  const bl_v *f = part(c->f, i);
  bl_v *fbar = part(c->fbar, i), *slope = part(c->slope, i);
  for (int v = 0; v < CHUNK_VECTORS; v++) fbar[v] = bl_v_all(0.0);
  for (int bit = 0; bit < 2; bit++) {
    int64_t from = bit ? split : low, to = bit ? high : split;
    if (from == to) continue;
    const bl_v *p = part(bit ? c->below : c->above, i);
    double sign = bit ? 1.0 : -1.0;
    if (i == g->n - 1) {
      double factor = g->weight ? g->weight[from] / g->p[from] : 0.0;
      for (int v = 0; v < CHUNK_VECTORS; v++) {
        slope[v] += sign * factor * f[v];
        fbar[v] += factor * p[v];
      }
      if (g->score) add_moments(c, from, f, p);
      continue;
    }
    bl_v *next = part(c->f, i + 1);
    const bl_v *inner = part(c->fbar, i + 1);
    for (int v = 0; v < CHUNK_VECTORS; v++) next[v] = f[v] * p[v];
    add_adjoints(c, i + 1, from, to);
    for (int v = 0; v < CHUNK_VECTORS; v++) {
      slope[v] += sign * inner[v] * f[v];
      fbar[v] += inner[v] * p[v];
    }
  }
}

static void add_gradient(chunk *c) {
  const bl_grid *g = c->g;
  memset(c->slope, 0, sizeof(bl_v) * CHUNK_VECTORS * (size_t)g->n);
  add_adjoints(c, 0, 0, g->count);
  if (!g->weight) return;
  for (int i = 0; i < g->n; i++) {
    const bl_v *slope = part(c->slope, i), *phi = part(c->phi, i);
    bl_v sum[1 + BL_GRID_SOURCES];
    for (int l = 0; l <= g->k; l++) sum[l] = bl_v_all(0.0);
    for (int v = 0; v < CHUNK_VECTORS; v++) {
      bl_v d = slope[v] * phi[v];
      sum[0] += d;
      for (int l = 0; l < g->k; l++) sum[1 + l] += d * part(c->z, l)[v];
    }
    g->g_mean[i] += bl_v_sum(sum[0]);
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
      factors(&c);
      if (gradient)
        add_gradient(&c);
      else
        add_values(&c, 0, 0, g->count);
      filled = 0;
    }
  }
}

void BL_NAME(bl_grid_run)(const bl_grid *g) {
  size_t rows = (size_t)g->count, n = (size_t)g->n, k = (size_t)g->k;
  memset(g->p, 0, sizeof(double) * rows);
  sweep(g, false);
  for (int64_t r = 0; r < g->count; r++) g->p[r] = fmax(g->p[r], 1e-300);
  if (!g->weight && !g->score) return;
  if (g->weight) {
    memset(g->g_mean, 0, sizeof(double) * n);
    memset(g->g_loading, 0, sizeof(double) * n * k);
  }
  if (g->score) {
    memset(g->score, 0, sizeof(double) * rows * n * (1 + k));
    memset(g->first, 0, sizeof(double) * rows * k);
    memset(g->second, 0, sizeof(double) * rows * k * k);
  }
  sweep(g, true);
}
