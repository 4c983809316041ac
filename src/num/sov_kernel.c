/* sov_kernel.c - separation of variables over a tree of orthants, values, gradient and moments.
 *
 * Genz (1992): with X_i = d_i + w_i, d_i = offset_i + sum_{j<i} slope_ij w_j, the probability of an orthant is
 * the mean over points u in the unit cube of prod_i Phi(s_i d_i), s_i = +-1, where
 * w_i = -s_i Phi^-1(u_i Phi(s_i d_i)). Orthants that agree in their first variables share those factors, so
 * the orthants are walked as a tree, all points at once at each node: 2^n orthants cost 2^n - 1 nodes
 * instead of n 2^n, and because Phi(d) + Phi(-d) = 1 their probabilities sum to one exactly.
 * The gradient goes back through the same points (reverse mode on the way up), so it is the exact
 * derivative of the value. Per node and point it costs 3 i multiply-adds, a Phi and two Phi^-1.
 * */
#include <math.h>
#include <string.h>

#include "num/sov.h"
#include "num/simd.h"

enum { ROOM_W, ROOM_F, ROOM_RATIO, ROOM_WBAR, ROOM_FBAR, ROOM_DBAR, ROOM_PHI, ROOM_BELOW, ROOM_ABOVE };
#define CHUNK (BL_SOV_BLOCK / BL_LANES)

static bl_v *room(const bl_sov *t, int level, int which) {
  return (bl_v *)(t->work + ((size_t)level * BL_SOV_ARRAYS + (size_t)which) * (size_t)t->points);
}

/* Phi(d_i), Phi(-d_i) and the density at d_i for all points. */
static void conditional(const bl_sov *t, int i) {
  const double *slope = t->slope + (size_t)i * t->n;
  bl_v *phi = room(t, i, ROOM_PHI), *below = room(t, i, ROOM_BELOW), *above = room(t, i, ROOM_ABOVE);
  size_t level = (size_t)BL_SOV_ARRAYS * t->points / BL_LANES;
  const bl_v *w = room(t, 0, ROOM_W);
  for (int v = 0; v < t->points / BL_LANES; v += 4) {
    bl_v d0 = bl_v_all(t->offset[i]), d1 = d0, d2 = d0, d3 = d0;
    const bl_v *wj = w + v;
    for (int j = 0; j < i; j++, wj += level) {
      d0 += slope[j] * wj[0];
      d1 += slope[j] * wj[1];
      d2 += slope[j] * wj[2];
      d3 += slope[j] * wj[3];
    }
    bl_v_phi(d0, &below[v], &above[v], &phi[v]);
    bl_v_phi(d1, &below[v + 1], &above[v + 1], &phi[v + 1]);
    bl_v_phi(d2, &below[v + 2], &above[v + 2], &phi[v + 2]);
    bl_v_phi(d3, &below[v + 3], &above[v + 3], &phi[v + 3]);
  }
}

/* Samples w_i on the side of x_i = bit and multiplies the weight of each point; returns the factor by which
 * the weights were scaled up to stay clear of underflow. */
static double enter(const bl_sov *t, int i, int bit) {
  const bl_v *u = (const bl_v *)(t->uniform + (size_t)i * t->points);
  const bl_v *phi = room(t, i, ROOM_PHI), *p = room(t, i, bit ? ROOM_BELOW : ROOM_ABOVE), *f = room(t, i, ROOM_F);
  bl_v *w = room(t, i, ROOM_W), *ratio = room(t, i, ROOM_RATIO), *next = room(t, i + 1, ROOM_F);
  bl_v top = bl_v_all(0.0);
  int vectors = t->points / BL_LANES;
  for (int v = 0; v < vectors; v++) {
    bl_v over_density, g = bl_v_phi_inverse(u[v] * p[v], &over_density);
    w[v] = bit ? -g : g;
    ratio[v] = u[v] * phi[v] * over_density;
    next[v] = f[v] * p[v];
    top = bl_v_max(top, next[v]);
  }
  double largest = 0.0;
  for (int l = 0; l < BL_LANES; l++) largest = top[l] > largest ? top[l] : largest;
  if (largest > 1e-60 || largest <= 0.0) return 1.0;
  double scale = ldexp(1.0, -ilogb(largest));
  for (int v = 0; v < vectors; v++) next[v] *= scale;
  return scale;
}

/* Adjoint of enter: from the adjoints of w_i and of the point weights below to those of d_i and above. */
static void leave(const bl_sov *t, int i, int bit, double scale) {
  const bl_v *phi = room(t, i, ROOM_PHI), *p = room(t, i, bit ? ROOM_BELOW : ROOM_ABOVE), *f = room(t, i, ROOM_F);
  const bl_v *ratio = room(t, i, ROOM_RATIO), *wbar = room(t, i, ROOM_WBAR), *inner = room(t, i + 1, ROOM_FBAR);
  bl_v *fbar = room(t, i, ROOM_FBAR), *dbar = room(t, i, ROOM_DBAR);
  double sign = bit ? scale : -scale;
  for (int v = 0; v < t->points / BL_LANES; v++) {
    dbar[v] += sign * inner[v] * f[v] * phi[v] - wbar[v] * ratio[v];
    fbar[v] += scale * inner[v] * p[v];
  }
}

/* Adjoint of conditional, once both signs have left their part in dbar. */
static void spread(const bl_sov *t, int i) {
  const double *slope = t->slope + (size_t)i * t->n;
  const bl_v *dbar = room(t, i, ROOM_DBAR), *w = room(t, 0, ROOM_W);
  bl_v *wbar = room(t, 0, ROOM_WBAR), *sum = (bl_v *)(t->work + (size_t)(t->n + 1) * BL_SOV_ARRAYS * t->points);
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

/* Moments of w in one orthant: sampled for all but the last variable, which is integrated. */
static void moments(const bl_sov *t, int64_t row, double total) {
  int n = t->n, last = n - 1, bit = t->x[row * n + last];
  const bl_v *f = room(t, last, ROOM_F), *p = room(t, last, bit ? ROOM_BELOW : ROOM_ABOVE);
  const bl_v *phi = room(t, last, ROOM_PHI), *below = room(t, last, ROOM_BELOW);
  double *first = t->first + row * n, *second = t->second + row * n * n;
  bl_v *mass = room(t, last, ROOM_RATIO), *mean = room(t, last, ROOM_WBAR), *part = room(t, last, ROOM_DBAR);
  int vectors = t->points / BL_LANES;
  bl_v sum1 = bl_v_all(0.0), sum2 = sum1;
  (void)below;
  for (int v = 0; v < vectors; v++) {
    mass[v] = f[v] * p[v];
    mean[v] = (bit ? 1.0 : -1.0) * f[v] * phi[v];
    sum1 += mean[v];
    sum2 += mass[v] - room(t, n, ROOM_W)[v] * mean[v];
  }
  first[last] = bl_v_sum(sum1) / total;
  second[last * n + last] = bl_v_sum(sum2) / total;
  for (int i = 0; i < last; i++) {
    const bl_v *wi = room(t, i, ROOM_W);
    bl_v sum = bl_v_all(0.0), cross = sum;
    for (int v = 0; v < vectors; v++) {
      part[v] = mass[v] * wi[v];
      sum += part[v];
      cross += mean[v] * wi[v];
    }
    first[i] = bl_v_sum(sum) / total;
    second[i * n + last] = second[last * n + i] = bl_v_sum(cross) / total;
    for (int j = 0; j <= i; j++) {
      const bl_v *wj = room(t, j, ROOM_W);
      bl_v even = bl_v_all(0.0), odd = even;
      for (int v = 0; v < vectors; v += 2) {
        even += part[v] * wj[v];
        odd += part[v + 1] * wj[v + 1];
      }
      second[i * n + j] = second[j * n + i] = bl_v_sum(even + odd) / total;
    }
  }
}

/* d of the last variable, which only moments need, into a spare room. */
static void last_shift(const bl_sov *t) {
  int last = t->n - 1, vectors = t->points / BL_LANES;
  bl_v *d = room(t, t->n, ROOM_W);
  for (int v = 0; v < vectors; v++) d[v] = bl_v_all(t->offset[last]);
  for (int j = 0; j < last; j++) {
    const bl_v *wj = room(t, j, ROOM_W);
    double s = t->slope[(size_t)last * t->n + j];
    for (int v = 0; v < vectors; v++) d[v] += s * wj[v];
  }
}

/* The last variable: at most one orthant on each side. */
static void leaf(const bl_sov *t, int64_t low, int64_t high, double log_scale) {
  int i = t->n - 1, vectors = t->points / BL_LANES;
  const bl_v *f = room(t, i, ROOM_F), *phi = room(t, i, ROOM_PHI);
  bl_v *fbar = room(t, i, ROOM_FBAR), *dbar = room(t, i, ROOM_DBAR);
  double factor[2] = {0.0, 0.0};
  if (t->first) last_shift(t);
  for (int64_t row = low; row < high; row++) {
    int bit = t->x[row * t->n + i];
    const bl_v *p = room(t, i, bit ? ROOM_BELOW : ROOM_ABOVE);
    bl_v sum = bl_v_all(0.0);
    for (int v = 0; v < vectors; v++) sum += f[v] * p[v];
    double total = fmax(bl_v_sum(sum), 1e-300);
    t->log_p[row] = log(total / t->points) - log_scale;
    if (t->first) moments(t, row, total);
    if (t->weight) factor[bit] = t->weight[row] / total;
  }
  if (!t->weight) return;
  const bl_v *below = room(t, i, ROOM_BELOW), *above = room(t, i, ROOM_ABOVE);
  double difference = factor[1] - factor[0];
  for (int v = 0; v < vectors; v++) {
    dbar[v] = difference * f[v] * phi[v];
    fbar[v] = factor[1] * below[v] + factor[0] * above[v];
  }
  spread(t, i);
}

static void walk(const bl_sov *t, int i, int64_t low, int64_t high, double log_scale) {
  conditional(t, i);
  if (i == t->n - 1) {
    leaf(t, low, high, log_scale);
    return;
  }
  size_t bytes = (size_t)t->points * sizeof(double);
  int64_t split = low, end = high;
  while (split < end) { /* first row with x_i = 1 */
    int64_t middle = split + (end - split) / 2;
    if (t->x[middle * t->n + i])
      end = middle;
    else
      split = middle + 1;
  }
  memset(room(t, i, ROOM_DBAR), 0, bytes);
  memset(room(t, i, ROOM_FBAR), 0, bytes);
  for (int bit = 0; bit < 2; bit++) {
    int64_t from = bit ? split : low, to = bit ? high : split;
    if (from == to) continue;
    double scale = enter(t, i, bit);
    if (t->weight) memset(room(t, i, ROOM_WBAR), 0, bytes);
    walk(t, i + 1, from, to, log_scale + log(scale));
    if (t->weight) leave(t, i, bit, scale);
  }
  if (t->weight) spread(t, i);
}

void BL_NAME(bl_sov_run)(const bl_sov *t) {
  if (t->count == 0) return;
  bl_v *f = room(t, 0, ROOM_F);
  for (int v = 0; v < t->points / BL_LANES; v++) f[v] = bl_v_all(1.0);
  walk(t, 0, 0, t->count, 0.0);
}
