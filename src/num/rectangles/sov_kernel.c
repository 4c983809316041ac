/* sov_kernel.c - separation of variables over a tree of rectangles, values and gradient.
 *
 * Genz (1992): with X_i = d_i + w_i, d_i = offset_i + sum_{j<i} slope_ij w_j, the probability of an orthant is
 * the mean over points u in the unit cube of prod_i Phi(s_i d_i), s_i = +-1, where
 * w_i = -s_i Phi^-1(u_i Phi(s_i d_i)). Orthants that agree in their first variables share those factors, so
 * the orthants are walked as a tree, all points at once at each node: 2^n orthants cost 2^n - 1 nodes
 * instead of n 2^n, and because Phi(d) + Phi(-d) = 1 their probabilities sum to one exactly.
 * The gradient goes back through the same points (reverse mode on the way up), so it is the exact
 * derivative of the value. Per node and point it costs 3 i multiply-adds, a Phi and two Phi^-1.
 * An item with more levels has two ends, d_low = d - low and d_high = d - high: its factor is Phi(d_low) - Phi(d_high)
 * and w = Phi^-1((1-u) Phi(-d_low) + u Phi(-d_high)), computed as its mirror image where w is above its mean. It costs
 * a Phi for each end of the levels that occur. */
#include <math.h>
#include <string.h>

#include "num/rectangles/sov.h"
#include "num/simd.h"

enum {
  ARRAY_W,
  ARRAY_F,
  ARRAY_RATIO,
  ARRAY_WBAR,
  ARRAY_FBAR,
  ARRAY_DBAR,
  ARRAY_PHI,
  ARRAY_BELOW,
  ARRAY_ABOVE,
  ARRAY_HIGH,
  ARRAY_RATIO_HIGH
};
/* For an item with more than two levels these arrays hold values at its present level. */
enum { ARRAY_D = ARRAY_BELOW, ARRAY_P = ARRAY_ABOVE, ARRAY_LOW = ARRAY_PHI };
#define CHUNK (BL_SOV_BLOCK / BL_LANES)

static bl_v *array(const bl_sov *t, int level, int which) {
  return (bl_v *)(t->work + ((size_t)level * BL_SOV_ARRAYS + (size_t)which) * (size_t)t->points);
}

static bool two_levels(const bl_sov *t, int i) {
  return !t->levels.first || t->levels.first[i + 1] - t->levels.first[i] == 1;
}

/* Phi(d_i), Phi(-d_i) and the density at d_i for all points; d_i alone where the item has more than two levels. */
static void conditional(const bl_sov *t, int i) {
  const double *slope = t->slope + (size_t)i * t->n;
  bl_v *phi = array(t, i, ARRAY_PHI), *below = array(t, i, ARRAY_BELOW), *above = array(t, i, ARRAY_ABOVE);
  size_t level = (size_t)BL_SOV_ARRAYS * t->points / BL_LANES;
  const bl_v *w = array(t, 0, ARRAY_W);
  const bool two = two_levels(t, i);
  for (int v = 0; v < t->points / BL_LANES; v += 4) {
    bl_v d0 = bl_v_all(t->offset[i]), d1 = d0, d2 = d0, d3 = d0;
    const bl_v *wj = w + v;
    for (int j = 0; j < i; j++, wj += level) {
      d0 += slope[j] * wj[0];
      d1 += slope[j] * wj[1];
      d2 += slope[j] * wj[2];
      d3 += slope[j] * wj[3];
    }
    if (!two) {
      bl_v *d = array(t, i, ARRAY_D) + v;
      d[0] = d0, d[1] = d1, d[2] = d2, d[3] = d3;
      continue;
    }
    bl_v_phi(d0, &below[v], &above[v], &phi[v]);
    bl_v_phi(d1, &below[v + 1], &above[v + 1], &phi[v + 1]);
    bl_v_phi(d2, &below[v + 2], &above[v + 2], &phi[v + 2]);
    bl_v_phi(d3, &below[v + 3], &above[v + 3], &phi[v + 3]);
  }
}

/* Scales the weights of points, the largest of which are in top, up when they come near underflow; returns by how much.
 */
static double scale_up(const bl_sov *t, bl_v top, bl_v *weight) {
  double largest = 0.0;
  for (int l = 0; l < BL_LANES; l++) largest = top[l] > largest ? top[l] : largest;
  if (largest > 1e-60 || largest <= 0.0) return 1.0;
  double scale = ldexp(1.0, -ilogb(largest));
  for (int v = 0; v < t->points / BL_LANES; v++) weight[v] *= scale;
  return scale;
}

/* Samples w_i on the side of x_i = bit and multiplies the weight of each point; returns the factor by which
 * the weights were scaled up to stay clear of underflow. */
static double enter(const bl_sov *t, int i, int bit) {
  const bl_v *u = (const bl_v *)(t->uniform + (size_t)i * t->points);
  const bl_v *phi = array(t, i, ARRAY_PHI), *p = array(t, i, bit ? ARRAY_BELOW : ARRAY_ABOVE),
             *f = array(t, i, ARRAY_F);
  bl_v *w = array(t, i, ARRAY_W), *ratio = array(t, i, ARRAY_RATIO), *next = array(t, i + 1, ARRAY_F);
  bl_v top = bl_v_all(0.0);
  int vectors = t->points / BL_LANES;
  for (int v = 0; v < vectors; v++) {
    bl_v over_density, g = bl_v_phi_inverse(u[v] * p[v], &over_density);
    w[v] = bit ? -g : g;
    ratio[v] = u[v] * phi[v] * over_density;
    next[v] = f[v] * p[v];
    top = bl_v_max(top, next[v]);
  }
  return scale_up(t, top, next);
}

/* One item's interval at eight points: its probability, the densities at its ends, and where w begins: at base in the
 * lower tail, or mirrored where it is above its mean. */
typedef struct {
  bl_v p, low, high, base;
  bl_vi lower;
} cell;

/* P of the interval in each lane; an end that is NULL is infinite. */
BL_INLINE cell interval(bl_v d, const double *low, const double *high) {
  cell c = {.low = bl_v_all(0.0)};
  bl_v none = bl_v_all(0.0), below_low = none, above_low = none, below_high = none, above_high = none;
  if (low) bl_v_phi(d - *low, &below_low, &above_low, &c.low);
  if (high) bl_v_phi(d - *high, &below_high, &above_high, &c.high);
  c.lower = (bl_vi)bl_v_all(0.0) - (low ? 0 : 1);
  c.p = low ? below_low : above_high;
  if (!low || !high) return c;
  c.p = bl_v_between(d - *low, below_low, above_low, d - *high, below_high, above_high);
  c.lower = (bl_vi)((d - *low) + (d - *high) > 0.0);
  c.base = bl_v_select(c.lower, above_low, below_high);
  return c;
}

/* enter for an item of more than two levels. */
static double enter_level(const bl_sov *t, int i, int level) {
  const bl_v *u = (const bl_v *)(t->uniform + (size_t)i * t->points), *d = array(t, i, ARRAY_D),
             *f = array(t, i, ARRAY_F);
  bl_v *w = array(t, i, ARRAY_W), *next = array(t, i + 1, ARRAY_F), *p = array(t, i, ARRAY_P), top = bl_v_all(0.0);
  bl_v *phi_low = array(t, i, ARRAY_LOW), *phi_high = array(t, i, ARRAY_HIGH);
  bl_v *ratio_low = array(t, i, ARRAY_RATIO), *ratio_high = array(t, i, ARRAY_RATIO_HIGH);
  const double *low = bl_edge_below(&t->levels, i, level), *high = bl_edge_above(&t->levels, i, level);
  for (int v = 0; v < t->points / BL_LANES; v++) {
    cell c = interval(d[v], low, high);
    bl_v share = bl_v_select(c.lower, u[v], 1.0 - u[v]); /* w grows with u on both sides: no jump between them */
    bl_v over_density, g = bl_v_phi_inverse(c.base + share * c.p, &over_density);
    w[v] = bl_v_select(c.lower, g, -g);
    p[v] = c.p, phi_low[v] = c.low, phi_high[v] = c.high;
    ratio_low[v] = (1.0 - u[v]) * c.low * over_density;
    ratio_high[v] = u[v] * c.high * over_density;
    next[v] = f[v] * c.p;
    top = bl_v_max(top, next[v]);
  }
  return scale_up(t, top, next);
}

/* Adjoint of enter: from the adjoints of w_i and of the point weights below to those of d_i and above. */
static void leave(const bl_sov *t, int i, int bit, double scale) {
  const bl_v *phi = array(t, i, ARRAY_PHI), *p = array(t, i, bit ? ARRAY_BELOW : ARRAY_ABOVE),
             *f = array(t, i, ARRAY_F);
  const bl_v *ratio = array(t, i, ARRAY_RATIO), *wbar = array(t, i, ARRAY_WBAR), *inner = array(t, i + 1, ARRAY_FBAR);
  bl_v *fbar = array(t, i, ARRAY_FBAR), *dbar = array(t, i, ARRAY_DBAR);
  double sign = bit ? scale : -scale;
  for (int v = 0; v < t->points / BL_LANES; v++) {
    dbar[v] += sign * inner[v] * f[v] * phi[v] - wbar[v] * ratio[v];
    fbar[v] += scale * inner[v] * p[v];
  }
}

/* Turns adjoints of the ends of an item's level, point by point, into those of d_i and of the edges. */
static void leave_ends(const bl_sov *t, int i, int level, const bl_v *weight, double factor, const bl_v *wbar) {
  const bl_v *f = array(t, i, ARRAY_F), *phi_low = array(t, i, ARRAY_LOW), *phi_high = array(t, i, ARRAY_HIGH);
  const bl_v *p = array(t, i, ARRAY_P), *ratio_low = array(t, i, ARRAY_RATIO),
             *ratio_high = array(t, i, ARRAY_RATIO_HIGH);
  bl_v *fbar = array(t, i, ARRAY_FBAR), *dbar = array(t, i, ARRAY_DBAR), low = bl_v_all(0.0), high = low;
  for (int v = 0; v < t->points / BL_LANES; v++) {
    bl_v own = weight ? factor * weight[v] : bl_v_all(factor), by_low = -own * f[v] * phi_low[v],
         by_high = own * f[v] * phi_high[v];
    if (wbar) by_low += wbar[v] * ratio_low[v], by_high += wbar[v] * ratio_high[v];
    dbar[v] -= by_low + by_high;
    fbar[v] += own * p[v];
    low += by_low, high += by_high;
  }
  const int edge = t->levels.first[i] + level;
  if (bl_edge_below(&t->levels, i, level)) t->g_edge[edge - 1] += bl_v_sum(low);
  if (bl_edge_above(&t->levels, i, level)) t->g_edge[edge] += bl_v_sum(high);
}

/* Adjoint of conditional, once all levels have left their part in dbar. */
static void spread(const bl_sov *t, int i) {
  const double *slope = t->slope + (size_t)i * t->n;
  const bl_v *dbar = array(t, i, ARRAY_DBAR), *w = array(t, 0, ARRAY_W);
  bl_v *wbar = array(t, 0, ARRAY_WBAR), *sum = (bl_v *)(t->work + (size_t)(t->n + 1) * BL_SOV_ARRAYS * t->points);
  size_t level = (size_t)BL_SOV_ARRAYS * t->points / BL_LANES;
  bl_v total = bl_v_all(0.0);
  for (int j = 0; j < i; j++) sum[j] = bl_v_all(0.0);
  for (int v = 0; v < t->points / BL_LANES; v += CHUNK) {
    bl_v d[CHUNK];
    for (int c = 0; c < CHUNK; c++) total += d[c] = dbar[v + c];
    for (int j = 0; j < i; j++) {
      const bl_v *wj = w + j * level + v;
      bl_v *bj = wbar + j * level + v, even = sum[j], odd = bl_v_all(0.0), s = bl_v_all(slope[j]);
      for (int c = 0; c < CHUNK; c += 2) {
        even += d[c] * wj[c];
        odd += d[c + 1] * wj[c + 1];
        bj[c] += s * d[c];
        bj[c + 1] += s * d[c + 1];
      }
      sum[j] = even + odd;
    }
  }
  t->g_offset[i] += bl_v_sum(total);
  for (int j = 0; j < i; j++) t->g_slope[(size_t)i * t->n + j] += bl_v_sum(sum[j]);
}

/* Sum over points of the weights times the factors of the last item. */
static double sum_points(const bl_sov *t, const bl_v *p) {
  const bl_v *f = array(t, t->n - 1, ARRAY_F);
  bl_v sum = bl_v_all(0.0);
  for (int v = 0; v < t->points / BL_LANES; v++) sum += f[v] * p[v];
  return fmax(bl_v_sum(sum), 1e-300);
}

/* The last variable, of more than two levels: at most one row for each. */
static void leaf_levels(const bl_sov *t, int64_t low, int64_t high, double log_scale) {
  const int i = t->n - 1, vectors = t->points / BL_LANES;
  bl_v *p = array(t, i, ARRAY_P), *phi_low = array(t, i, ARRAY_LOW), *phi_high = array(t, i, ARRAY_HIGH);
  for (int64_t row = low; row < high; row++) {
    const int level = t->x[row * t->n + i];
    const double *from = bl_edge_below(&t->levels, i, level), *to = bl_edge_above(&t->levels, i, level);
    for (int v = 0; v < vectors; v++) {
      cell c = interval(array(t, i, ARRAY_D)[v], from, to);
      p[v] = c.p, phi_low[v] = c.low, phi_high[v] = c.high;
    }
    double total = sum_points(t, p);
    t->log_p[row] = log(total / t->points) - log_scale;
    if (t->weight) leave_ends(t, i, level, NULL, t->weight[row] / total, NULL);
  }
  if (t->weight) spread(t, i);
}

/* The last variable: at most one orthant on each side. */
static void leaf(const bl_sov *t, int64_t low, int64_t high, double log_scale) {
  int i = t->n - 1, vectors = t->points / BL_LANES;
  const bl_v *f = array(t, i, ARRAY_F), *phi = array(t, i, ARRAY_PHI);
  bl_v *fbar = array(t, i, ARRAY_FBAR), *dbar = array(t, i, ARRAY_DBAR);
  double factor[2] = {0.0, 0.0};
  for (int64_t row = low; row < high; row++) {
    int bit = t->x[row * t->n + i];
    const bl_v *p = array(t, i, bit ? ARRAY_BELOW : ARRAY_ABOVE);
    double total = sum_points(t, p);
    t->log_p[row] = log(total / t->points) - log_scale;
    if (t->weight) factor[bit] = t->weight[row] / total;
  }
  if (!t->weight) return;
  const bl_v *below = array(t, i, ARRAY_BELOW), *above = array(t, i, ARRAY_ABOVE);
  double difference = factor[1] - factor[0];
  for (int v = 0; v < vectors; v++) {
    dbar[v] = difference * f[v] * phi[v];
    fbar[v] = factor[1] * below[v] + factor[0] * above[v];
  }
  spread(t, i);
}

/* Integrates rows low..high-1, which agree in the items before i, from item i on. */
static void walk(const bl_sov *t, int i, int64_t low, int64_t high, double log_scale) {
  const bool two = two_levels(t, i), last = i == t->n - 1;
  size_t bytes = (size_t)t->points * sizeof(double);
  conditional(t, i);
  if (last && two) {
    leaf(t, low, high, log_scale);
    return;
  }
  memset(array(t, i, ARRAY_DBAR), 0, bytes);
  memset(array(t, i, ARRAY_FBAR), 0, bytes);
  if (last) {
    leaf_levels(t, low, high, log_scale);
    return;
  }
  for (int64_t from = low, to; from < high; from = to) {
    const int level = t->x[from * t->n + i];
    to = bl_end_of_level(t->x, t->n, i, from, high);
    double scale = two ? enter(t, i, level) : enter_level(t, i, level);
    if (t->weight) memset(array(t, i, ARRAY_WBAR), 0, bytes);
    walk(t, i + 1, from, to, log_scale + log(scale));
    if (!t->weight) continue;
    if (two)
      leave(t, i, level, scale);
    else
      leave_ends(t, i, level, array(t, i + 1, ARRAY_FBAR), scale, array(t, i, ARRAY_WBAR));
  }
  if (t->weight) spread(t, i);
}

void BL_NAME(bl_sov_run)(const bl_sov *t) {
  if (t->count == 0) return;
  bl_v *f = array(t, 0, ARRAY_F);
  for (int v = 0; v < t->points / BL_LANES; v++) f[v] = bl_v_all(1.0);
  walk(t, 0, 0, t->count, 0.0);
}
