/* plackett.c - all orthants of a normal distribution of few variables, with derivatives, by Plackett's reduction.
 *
 * Method: Plackett (1954), in the moments of signs of all subsets of the variables at once (plackett_kernel.h; exact
 * maximum likelihood of probit models by this reduction: Huguenin, Pelgrin and Holly 2009). The probabilities are the
 * Walsh-Hadamard transform of those moments, so they sum to 1 whatever the quadrature. The first variable taken out
 * leaves (n-1) * nodes conditional distributions of n-2 variables; they go through the kernel eight at a time.
 * Derivatives are probabilities of the same kind: dP/d mean_i = s_i phi(Y_i = 0) P(rest | Y_i = 0), dP/d cov_ij = s_i
 * s_j phi(Y_i = Y_j = 0) P(rest | Y_i = Y_j = 0); those in the variances follow since P does not change with the scale
 * of a variable. Accuracy: Gauss-Legendre quadrature of analytic integrands; on models drawn as in the paper, n = 6,
 * the largest error of a probability is 1e-6 with 3 nodes, 1e-10 with 6, 1e-14 with 10. The error is estimated by
 * whoever calls, from a second rule. Checked against closed forms and one-factor integrals of 30 digits, separation of
 * variables, central differences, and between instruction sets: tests/unit/num/test_plackett.c; against mvtnorm:
 * tests/parity/mvn.sh. */
#include "num/rectangles/plackett.h"

#include <math.h>
#include <string.h>

#define SMALLEST 1e-17 /* smaller probabilities count as 0 */
enum { LANES = 8 };

static size_t pairs(int m) {
  return (size_t)m * (size_t)(m - 1) / 2;
}

blica_status bl_plackett_work_make(blica_ctx *ctx, int n, bool slopes, bl_plackett_work **out) {
  blica_status status = BLICA_OK;
  BL_OWNED bl_plackett_work *w = NULL;
  size_t all = (size_t)1 << n, m = (size_t)n;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &w));
  w->n = n;
  TRY(bl_alloc_for(ctx, w, m, &w->h));
  TRY(bl_alloc_for(ctx, w, m, &w->deviation));
  TRY(bl_alloc_for(ctx, w, pairs(n) + 1, &w->rho));
  TRY(bl_alloc_for(ctx, w, pairs(n + 1), &w->factor));
  TRY(bl_alloc_for(ctx, w, all, &w->moment));
  TRY(bl_alloc_for(ctx, w, all, &w->p));
  TRY(bl_alloc_for(ctx, w, LANES * m, &w->lane_h));
  TRY(bl_alloc_for(ctx, w, LANES * (pairs(n) + 1), &w->lane_rho));
  TRY(bl_alloc_for(ctx, w, LANES * all, &w->lane_moment));
  TRY(bl_alloc_for(ctx, w, bl_plackett_batch_work(n), &w->lane_work));
  if (slopes) {
    TRY(bl_alloc_for(ctx, w, m * (all / 2), &w->by_mean));
    TRY(bl_alloc_for(ctx, w, pairs(n) * (all / 4) + 1, &w->by_pair));
    TRY(bl_alloc_for(ctx, w, m + 2 * pairs(n) + m, &w->slope));
  }
  *out = bl_take(&w);
done:
  return status;
}

/* Roots of the Legendre polynomial by Newton's method, moved to (0,1). */
static void make_rule(int nodes, bl_plackett_rule *rule) {
  if (rule->nodes == nodes) return;
  rule->nodes = nodes;
  for (int i = 0; i < nodes; i++) {
    double x = cos(3.14159265358979323846 * (i + 0.75) / (nodes + 0.5)), slope = 1.0;
    for (int step = 0; step < 8; step++) {
      double last = 1.0, now = x;
      for (int l = 2; l <= nodes; l++) {
        double next = ((2 * l - 1) * x * now - (l - 1) * last) / l;
        last = now;
        now = next;
      }
      slope = nodes * (x * now - last) / (x * x - 1.0);
      x -= now / slope;
    }
    rule->node[i] = 0.5 * (1.0 - x);
    rule->weight[i] = 1.0 / ((1.0 - x * x) * slope * slope);
  }
}

/* One distribution waiting in a lane, and where its moments go. */
typedef struct {
  double factor, *to;
  int set; /* index of S: 1 + this lane's j, moved up by its bit; 0: as they are */
} job;

typedef struct {
  bl_plackett_work *w;
  blica_simd level;
  int m, filled;
  job job[LANES];
} lanes;

static void flush(lanes *l) {
  bl_plackett_work *w = l->w;
  if (l->filled == 0) return;
  for (int lane = l->filled; lane < LANES; lane++) { /* idle lanes repeat the first */
    for (int i = 0; i < l->m; i++) w->lane_h[i * LANES + lane] = w->lane_h[i * LANES];
    for (size_t e = 0; e < pairs(l->m); e++) w->lane_rho[e * LANES + lane] = w->lane_rho[e * LANES];
  }
  bl_plackett_batch batch = {
      .m = l->m, .rule = &w->rule, .h = w->lane_h, .rho = w->lane_rho, .moment = w->lane_moment, .work = w->lane_work};
  bl_plackett_batch_run(&batch, l->level);
  for (int lane = 0; lane < l->filled; lane++) {
    const job *j = &l->job[lane];
    const double *sub = w->lane_moment + lane;
    unsigned low = j->set ? (1u << (j->set - 1)) - 1 : 0, bits = j->set ? 1u << (j->set - 1) | 1u << (l->m + 1) : 0;
    for (unsigned s = 0; s < 1u << l->m; s++)
      j->to[j->set ? ((s & ~low) << 1 | (s & low) | bits) : s] += j->factor * sub[s * LANES];
  }
  l->filled = 0;
}

static double correlation(const bl_plackett_work *w, int i, int j) {
  return i > j ? w->rho[pairs(i) + (size_t)j] : w->rho[pairs(j) + (size_t)i];
}

/* Puts into the next lane the first `count` variables but a and b, given that those are 0; correlations of a times t.
 * b < 0: given a alone. */
static void push(lanes *l, int count, int a, int b, double t, job where) {
  bl_plackett_work *w = l->w;
  double one[BL_PLACKETT_MAX], two[BL_PLACKETT_MAX], scale[BL_PLACKETT_MAX];
  double c = b < 0 ? 0.0 : t * correlation(w, a, b), inverse = 1.0 / (1.0 - c * c), hb = b < 0 ? 0.0 : w->h[b];
  double *h = w->lane_h + l->filled, *rho = w->lane_rho + l->filled;
  int at = 0;
  for (int i = 0; i < count; i++) {
    if (i == a || i == b) continue;
    one[at] = t * correlation(w, i, a), two[at] = b < 0 ? 0.0 : correlation(w, i, b);
    double ba = (one[at] - c * two[at]) * inverse, bb = (two[at] - c * one[at]) * inverse;
    scale[at] = 1.0 / sqrt(fmax(1.0 - ba * one[at] - bb * two[at], 1e-14));
    h[at * LANES] = (w->h[i] - ba * w->h[a] - bb * hb) * scale[at];
    for (int j = 0, to = 0; j < i; j++) {
      if (j == a || j == b) continue;
      *rho = (w->rho[pairs(i) + (size_t)j] - ba * one[to] - bb * two[to]) * scale[at] * scale[to];
      rho += LANES;
      to++;
    }
    at++;
  }
  l->m = at;
  l->job[l->filled++] = where;
  if (l->filled == LANES) flush(l);
}

/* Densities of one variable at 0, of two with correlation rho. */
static double density1(double h) {
  return 0.39894228040143267794 * exp(-0.5 * h * h);
}
static double density2(double h, double k, double rho) {
  double left = 1.0 - rho * rho;
  return 0.15915494309189533577 / sqrt(left) * exp((rho * h * k - 0.5 * (h * h + k * k)) / left);
}

/* Moments of all subsets, one variable after the other (plackett_kernel.h). */
static void all_moments(bl_plackett_work *w, blica_simd level) {
  lanes l = {.w = w, .level = level};
  w->moment[0] = 1.0;
  for (int v = 0; v < w->n; v++) {
    double one = erf(w->h[v] * 0.70710678118654752440), c = w->factor[pairs(v + 1) + (size_t)v],
           most2 = (1.0 - c) / (1.0 + c);
    for (unsigned s = 0; s < 1u << v; s++) w->moment[1u << v | s] = w->moment[s] * one;
    for (int j = 0; j < v; j++)
      for (int g = 0; g < w->rule.nodes; g++) {
        double x = w->rule.node[g], q2 = most2 * x * x, r = correlation(w, v, j);
        double t = 2.0 * x / ((1.0 + c) * (1.0 + q2)),
               dt = 2.0 * w->rule.weight[g] / (1.0 + c) * (1.0 - q2) / ((1.0 + q2) * (1.0 + q2));
        double f = 4.0 * r * dt * density2(w->h[v], w->h[j], t * r);
        push(&l, v, v, j, t, (job){.factor = f, .to = w->moment, .set = 1 + j});
      }
    flush(&l);
  }
}

/* From moments of signs to probabilities: bit i set means that variable i is positive. */
static void to_probabilities(int m, double *x) {
  for (unsigned bit = 1; bit < 1u << m; bit <<= 1)
    for (unsigned s = 0; s < 1u << m; s += 2 * bit)
      for (unsigned e = s; e < s + bit; e++) {
        double even = x[e], odd = x[e + bit];
        x[e] = 0.5 * (even - odd);
        x[e + bit] = 0.5 * (even + odd);
      }
}

/* Derivatives of all probabilities in h_i and rho_ij but for their signs. */
static void all_slopes(bl_plackett_work *w, blica_simd level) {
  lanes l = {.w = w, .level = level};
  size_t half = (size_t)1 << (w->n - 1), quarter = half / 2;
  memset(w->by_mean, 0, sizeof(double) * (size_t)w->n * half);
  for (int i = 0; i < w->n; i++)
    push(&l, w->n, i, -1, 1.0, (job){.factor = density1(w->h[i]), .to = w->by_mean + (size_t)i * half});
  flush(&l);
  for (int i = 0; i < w->n; i++) to_probabilities(w->n - 1, w->by_mean + (size_t)i * half);
  if (w->n < 2) return;
  memset(w->by_pair, 0, sizeof(double) * pairs(w->n) * quarter);
  for (int i = 0; i < w->n; i++)
    for (int j = 0; j < i; j++) {
      double f = density2(w->h[i], w->h[j], correlation(w, i, j));
      push(&l, w->n, i, j, 1.0, (job){.factor = f, .to = w->by_pair + (pairs(i) + (size_t)j) * quarter});
    }
  flush(&l);
  for (size_t e = 0; e < pairs(w->n); e++) to_probabilities(w->n - 2, w->by_pair + e * quarter);
}

/* Means and correlations in order, and the Cholesky factor of the latter. */
static bool standardise(const bl_mvn_tree *tree, const double *mean, const double *cov, bl_plackett_work *w) {
  int n = tree->n;
  for (int i = 0; i < n; i++) {
    double variance = cov[(size_t)tree->order[i] * n + tree->order[i]];
    if (!(variance > 0) || !isfinite(variance)) return false;
    w->deviation[i] = sqrt(variance);
    w->h[i] = mean[tree->order[i]] / w->deviation[i];
    double *row = w->factor + pairs(i + 1), left = 1.0;
    for (int j = 0; j < i; j++) {
      const double *other = w->factor + pairs(j + 1);
      double sum = cov[(size_t)tree->order[i] * n + tree->order[j]] / (w->deviation[i] * w->deviation[j]);
      w->rho[pairs(i) + (size_t)j] = sum;
      for (int m = 0; m < j; m++) sum -= row[m] * other[m];
      row[j] = sum / other[j];
      left -= row[j] * row[j];
    }
    if (!(left > 1e-12) || !isfinite(w->h[i])) return false;
    row[i] = sqrt(left);
  }
  return true;
}

static unsigned without(unsigned x, int bit) {
  return (x >> 1 & ~((1u << bit) - 1)) | (x & ((1u << bit) - 1));
}

/* d log p of orthant x in h and rho. */
static void slopes_of(const bl_plackett_work *w, unsigned x, double p, double *by_h, double *by_rho) {
  size_t half = (size_t)1 << (w->n - 1), quarter = half / 2;
  for (int i = 0; i < w->n; i++) {
    unsigned rest = without(x, i);
    double si = (x >> i & 1 ? 1.0 : -1.0) / p;
    by_h[i] = si * w->by_mean[(size_t)i * half + rest];
    for (int j = 0; j < i; j++)
      by_rho[pairs(i) + (size_t)j] =
          (x >> j & 1 ? si : -si) * w->by_pair[(pairs(i) + (size_t)j) * quarter + without(rest, j)];
  }
}

/* From h and rho to the means and covariances of the given variables. */
static void chain(const bl_mvn_tree *tree, const bl_plackett_work *w, const double *by_h, const double *by_rho,
                  double *g_mean, double *g_cov) {
  int n = tree->n;
  for (int i = 0; i < n; i++) {
    size_t a = (size_t)tree->order[i];
    double scale = by_h[i] * w->h[i];
    g_mean[a] = by_h[i] / w->deviation[i];
    for (int j = 0; j < n; j++) {
      if (j == i) continue;
      size_t b = (size_t)tree->order[j];
      double own = i > j ? by_rho[pairs(i) + (size_t)j] : by_rho[pairs(j) + (size_t)i];
      scale += own * correlation(w, i, j);
      g_cov[a * n + b] = 0.5 * own / (w->deviation[i] * w->deviation[j]);
    }
    g_cov[a * n + a] = -0.5 * scale / (w->deviation[i] * w->deviation[i]);
  }
}

bool bl_plackett(const bl_mvn_tree *tree, const double *mean, const double *cov, int64_t low, int64_t high, int nodes,
                 blica_simd level, bl_plackett_work *w, const bl_mvn_result *result) {
  int n = w->n = tree->n;
  size_t size = (size_t)n + pairs(n);
  double *sum = w->slope, *own = w->slope + size;
  bool slopes = result->weight || result->score_mean;
  if (!standardise(tree, mean, cov, w)) return false;
  make_rule(nodes, &w->rule);
  all_moments(w, level);
  memcpy(w->p, w->moment, sizeof(double) << n);
  to_probabilities(n, w->p);
  if (slopes) {
    all_slopes(w, level);
    memset(sum, 0, sizeof(double) * size);
  }
  for (int64_t r = low; r < high; r++) {
    const uint8_t *x = tree->x + r * n;
    unsigned index = 0;
    for (int i = 0; i < n; i++) index |= (unsigned)(x[i] != 0) << i;
    double p = fmax(w->p[index], SMALLEST);
    result->log_p[r - low] = log(p);
    if (!slopes) continue;
    slopes_of(w, index, p, own, own + n);
    if (result->weight)
      for (size_t e = 0; e < size; e++) sum[e] += result->weight[tree->row[r]] * own[e];
    if (result->score_mean)
      chain(tree, w, own, own + n, result->score_mean + (r - low) * n, result->score_cov + (r - low) * n * n);
  }
  if (result->weight) chain(tree, w, sum, sum + n, result->g_mean, result->g_cov);
  return true;
}

double bl_plackett_cost(int n, int nodes) {
  double cost[BL_PLACKETT_MAX + 1] = {0.0, 1.0, 2.0 + nodes};
  for (int m = 3; m <= n; m++) cost[m] = cost[m - 1] + (m - 1.0) * nodes * (m + cost[m - 2]);
  return cost[n];
}

/* The precision matrix shows how far each variable is determined by the others, R^2 = 1 - 1/K_ii; taking one out is a
 * step of elimination. */
void bl_plackett_order(int n, const double *cov, int *order) {
  double k[BL_PLACKETT_MAX][BL_PLACKETT_MAX];
  bool taken[BL_PLACKETT_MAX] = {false};
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      k[i][j] = cov[(size_t)i * n + j] / sqrt(cov[(size_t)i * n + i] * cov[(size_t)j * n + j]);
  for (int m = 0; m < n; m++) { /* Gauss-Jordan inverse in place; pivots of a positive definite matrix are safe */
    double pivot = k[m][m];
    k[m][m] = 1.0;
    for (int j = 0; j < n; j++) k[m][j] /= pivot;
    for (int i = 0; i < n; i++) {
      if (i == m) continue;
      double f = k[i][m];
      k[i][m] = 0.0;
      for (int j = 0; j < n; j++) k[i][j] -= f * k[m][j];
    }
  }
  for (int place = n - 1; place >= 0; place--) {
    int best = -1;
    for (int i = 0; i < n; i++)
      if (!taken[i] && (best < 0 || k[i][i] < k[best][best])) best = i;
    order[place] = best;
    taken[best] = true;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        if (!taken[i] && !taken[j]) k[i][j] -= k[i][best] * k[best][j] / k[best][best];
  }
}
