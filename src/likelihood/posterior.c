/* posterior.c - posterior moments of the sources of rows: expectation propagation with its second order, and for rows
 * whose posterior is far from normal an exact integral over the direction in which it is farthest.
 *
 * One source, or two of up to EXACT_ITEMS items: the trapezoidal rule over the sources, on a grid that has the mean and
 * covariance of the above. It converges geometrically, and the grid is finer than a normal density needs.
 *
 * The second order (num/rectangles/ep.h) says by how much the covariance found is too small. Where that exceeds HARD of
 * the variance in some direction v of the sources, the integral over v'z is done on equidistant nodes, and expectation
 * propagation takes the other k - 1 directions given each node, eight nodes side by side.
 * Accuracy: docs/likelihood.md has errors of means and standard deviations by design. Checked against integrals over
 * the sources, importance sampling and a Gibbs sampler: tests/unit/likelihood/test_row_posterior.c, test_gibbs.c. */
#include "likelihood/engines.h"

#include <math.h>
#include <string.h>

#include "num/rectangles/ep.h"

enum { MOST_NODES = 16, POWER_STEPS = 12, EXACT_ITEMS = 10, LEAST_SIDE = 24, MOST_SIDE = 40 };
#define REACH 14.8 /* width of the grid in standard deviations */
#define FINE 1.23  /* 2 pi^2/16: a step whose square times the slopes squared is below that errs by e^-16 */
#define HARD 0.4
#define LEAST_KEPT 0.5 /* of a variance, when the second order lowers it */

/* Workspace for one row that is integrated over a direction. */
typedef struct {
  const bl_posterior *p;
  blica_simd level;
  double *cov, *add;       /* [k,k] of expectation propagation, and what its second order adds */
  double *factor;          /* [k,k] Cholesky factor of cov */
  double *v, *w, *step;    /* [k] the direction; of the reflection that takes it to the first axis; workspace */
  double *nodes, *loading; /* n rows of 8; n rows of k - 1 */
  double *log_p, *inner;   /* [nodes]; [(k-1) + 2 (k-1)(k-1), nodes] given each node */
  double *excess, *joint;  /* [8]; [k + k k] moments of v'z and the rest */
  double at[MOST_NODES], *ep_work;
} slice;

static size_t slice_work(int n, int k) {
  const size_t c = (size_t)k, others = c - 1;
  return 2 * c * c + 4 * c + (size_t)n * (8 + others) + MOST_NODES * (1 + others * (1 + 2 * others)) + 8;
}

size_t bl_posterior_work(int n, int k, int64_t count) {
  const size_t c = (size_t)k;
  return bl_ep_work(n, k) + (size_t)count * (1 + c * (1 + 2 * c)) + slice_work(n, k);
}

/* Parts of work, one after the other. */
static double *take(double **work, size_t count) {
  double *part = *work;
  *work += count;
  return part;
}

/* Divides work among the arrays. */
static slice slice_of(const bl_posterior *p, blica_simd level, double *ep_work, double *work) {
  const size_t k = (size_t)p->k, others = k - 1, n = (size_t)p->n;
  slice s = {.p = p, .level = level, .ep_work = ep_work};
  s.nodes = take(&work, 8 * n);
  s.factor = take(&work, k * k);
  s.v = take(&work, k);
  s.w = take(&work, k);
  s.step = take(&work, k);
  s.loading = take(&work, n * others);
  s.log_p = take(&work, MOST_NODES);
  s.inner = take(&work, MOST_NODES * others * (1 + 2 * others));
  s.excess = take(&work, 8);
  s.joint = take(&work, k * (1 + k));
  return s;
}

static double dot(int k, const double *a, const double *b) {
  double sum = 0.0;
  for (int l = 0; l < k; l++) sum += a[l] * b[l];
  return sum;
}

static double form(int k, const double *matrix, const double *a) {
  double sum = 0.0;
  for (int l = 0; l < k; l++) sum += a[l] * dot(k, matrix + l * k, a);
  return sum;
}

void bl_factorise(int k, const double *matrix, double *l) {
  for (int i = 0; i < k; i++)
    for (int j = 0; j <= i; j++) {
      const double sum = matrix[i * k + j] - dot(j, l + i * k, l + j * k);
      l[i * k + j] = i == j ? sqrt(fmax(sum, 1e-300)) : sum / l[j * k + j];
    }
}

/* Solves L L' x = b in place. */
static void solve(int k, const double *l, double *x) {
  for (int i = 0; i < k; i++) x[i] = (x[i] - dot(i, l + i * k, x)) / l[i * k + i];
  for (int i = k - 1; i >= 0; i--) {
    for (int j = i + 1; j < k; j++) x[i] -= l[j * k + i] * x[j];
    x[i] /= l[i * k + i];
  }
}

/* The direction v of length 1 in which add is largest beside cov; returns their ratio there. */
static double worst_direction(const slice *s) {
  const int k = s->p->k;
  int first = 0;
  for (int l = 1; l < k; l++)
    if (s->add[l * k + l] * s->cov[first * k + first] > s->add[first * k + first] * s->cov[l * k + l]) first = l;
  for (int l = 0; l < k; l++) s->v[l] = l == first;
  bl_factorise(k, s->cov, s->factor);
  for (int step = 0; step < POWER_STEPS; step++) {
    for (int l = 0; l < k; l++) s->step[l] = dot(k, s->add + l * k, s->v);
    solve(k, s->factor, s->step);
    double size = sqrt(dot(k, s->step, s->step));
    if (!(size > 0)) break;
    for (int l = 0; l < k; l++) s->v[l] = s->step[l] / size;
  }
  return form(k, s->add, s->v) / form(k, s->cov, s->v);
}

/* b reflected by I - 2 w w'/(w'w), w = v - (1, 0, ..), so that its first element becomes v'b; and back. */
static void reflect(const slice *s, const double *b, double *out) {
  const int k = s->p->k;
  const double scale = 2.0 * dot(k, s->w, b) / dot(k, s->w, s->w);
  for (int l = 0; l < k; l++) out[l] = b[l] - scale * s->w[l];
}

/* Expectation propagation in the other directions at eight nodes of v'z. */
static void run_nodes(slice *s, int64_t row, int first) {
  const bl_posterior *p = s->p;
  const int n = p->n, k = p->k, others = k - 1;
  for (int i = 0; i < n; i++) {
    const double slope = dot(k, p->loading + i * k, s->v);
    for (int lane = 0; lane < BL_LANES; lane++)
      s->nodes[i * BL_LANES + lane] = p->mean[i] + slope * s->at[first + lane];
  }
  const bl_ep ep = {.n = n,
                    .k = others,
                    .loading = s->loading,
                    .nodes = s->nodes,
                    .count = BL_LANES,
                    .x = p->x + row * n,
                    .levels = p->levels,
                    .log_p = s->log_p + first,
                    .rest = p->rest,
                    .posterior = s->inner + first * others * (1 + 2 * others),
                    .excess = s->excess,
                    .start = p->sites ? p->sites + row * 2 * n : NULL,
                    .work = s->ep_work};
  bl_ep_run(&ep, s->level);
}

/* Moments of v'z and the others over all nodes, node j having the weight exp(log_p[j]); returns the log of their sum.
 */
static double join_nodes(slice *s, int count) {
  const int k = s->p->k, others = k - 1, each = others * (1 + 2 * others);
  double top = -INFINITY, sum = 0.0, *mean = s->joint, *cov = s->joint + k;
  memset(s->joint, 0, sizeof(double) * (size_t)(k * (1 + k)));
  for (int j = 0; j < count; j++) top = fmax(top, s->log_p[j]);
  for (int j = 0; j < count; j++) sum += s->log_p[j] = exp(s->log_p[j] - top);
  for (int j = 0; j < count; j++) {
    const double weight = s->log_p[j] / sum;
    mean[0] += weight * s->at[j];
    for (int l = 0; l < others; l++) mean[1 + l] += weight * s->inner[j * each + l];
  }
  for (int j = 0; j < count; j++) {
    const double weight = s->log_p[j] / sum, *own = s->inner + j * each, *spread = own + others;
    for (int l = 0; l < k; l++) s->step[l] = (l ? own[l - 1] : s->at[j]) - mean[l];
    for (int l = 0; l < k; l++)
      for (int m = 0; m < k; m++) {
        const int place = (l - 1) * others + m - 1;
        cov[l * k + m] +=
            weight * (s->step[l] * s->step[m] + (l && m ? spread[place] + spread[others * others + place] : 0.0));
      }
  }
  return top + log(sum);
}

/* Back to the sources. */
static void write_joint(slice *s, double *moments) {
  const int k = s->p->k;
  reflect(s, s->joint, moments);
  for (int l = 0; l < k; l++) reflect(s, s->joint + k + l * k, s->factor + l * k);
  for (int l = 0; l < k; l++) {
    for (int m = 0; m < k; m++) s->step[m] = s->factor[m * k + l];
    reflect(s, s->step, moments + k + l * k);
  }
}

/* The integral over v'z of a row whose moments by expectation propagation are in moments. */
static void integrate(slice *s, int64_t row, double *moments) {
  const int k = s->p->k, others = k - 1;
  const int count = k == 2 ? 16 : 8;
  const double spacing = k == 2 ? 0.5 : 0.85;
  const double sign = s->v[0] > 0 ? -1.0 : 1.0; /* so that w keeps its digits */
  for (int l = 0; l < k; l++) s->w[l] = s->v[l] *= sign;
  s->w[0] -= 1.0;
  const double center = dot(k, s->v, moments), size = sqrt(form(k, moments + k, s->v)) * spacing;
  for (int i = 0; i < s->p->n; i++) {
    reflect(s, s->p->loading + i * k, s->step);
    memcpy(s->loading + i * others, s->step + 1, sizeof(double) * (size_t)others);
  }
  for (int j = 0; j < count; j++) s->at[j] = center + (j - 0.5 * (count - 1)) * size;
  for (int j = 0; j < count; j += BL_LANES) run_nodes(s, row, j);
  for (int j = 0; j < count; j++) s->log_p[j] -= 0.5 * s->at[j] * s->at[j];
  s->p->log_p[row] = join_nodes(s, count) + log(size * 0.3989422804014326779);
  write_joint(s, moments);
}

/* Weighted sums over a grid of one or two sources, deviations being from its center. */
typedef struct {
  double top, sum, shift[2], square[4]; /* top: the largest log weight, which the others are relative to */
} grid_sums;

/* Adds a node with this deviation. */
static void add_node(grid_sums *t, int k, double log_weight, const double *step) {
  const double scale = log_weight > t->top ? exp(t->top - log_weight) : 1.0;
  t->top = fmax(t->top, log_weight);
  const double weight = exp(log_weight - t->top);
  t->sum = t->sum * scale + weight;
  for (int l = 0; l < k; l++) t->shift[l] = t->shift[l] * scale + weight * step[l];
  for (int l = 0; l < k * k; l++) t->square[l] = t->square[l] * scale + weight * step[l / k] * step[l % k];
}

/* log P given eight nodes of the grid, which lie at mean + step. */
static void run_grid_nodes(slice *s, const bl_ep *ep, const double *mean, double step[BL_LANES][2]) {
  const int k = s->p->k;
  for (int i = 0; i < s->p->n; i++) {
    const double *load = s->p->loading + i * k, second = k > 1 ? load[1] : 0.0;
    const double center = s->p->mean[i] + dot(k, load, mean);
    for (int lane = 0; lane < BL_LANES; lane++)
      s->nodes[i * BL_LANES + lane] = center + load[0] * step[lane][0] + second * step[lane][1];
  }
  bl_ep_run(ep, s->level);
}

/* Nodes of the grid along column j of the factor of the covariance. The integrand's Fourier transform falls like
 * exp(-w^2/(2 (1 + sum b_i^2))), b_i being the slopes of the items (docs/likelihood.md, Grid). */
static int side_of(const slice *s, int j) {
  const int k = s->p->k;
  double axis[2] = {0}, slopes;
  for (int l = j; l < k; l++) axis[l] = s->factor[l * k + j];
  slopes = dot(k, axis, axis);
  for (int i = 0; i < s->p->n; i++) {
    const double slope = dot(k, s->p->loading + i * k, axis);
    slopes += slope * slope;
  }
  int side = LEAST_SIDE;
  while (side < MOST_SIDE && REACH / (side - 1) * (REACH / (side - 1)) * slopes > FINE) side += BL_LANES;
  return side;
}

/* The trapezoidal rule over one or two sources of a row, around the given moments, which it replaces. */
static void integrate_all(slice *s, int64_t row, double *moments) {
  const bl_posterior *p = s->p;
  const int k = p->k;
  grid_sums t = {.top = -INFINITY};
  const bl_ep ep = {.n = p->n,
                    .loading = s->loading,
                    .nodes = s->nodes,
                    .count = BL_LANES,
                    .x = p->x + row * p->n,
                    .levels = p->levels,
                    .log_p = s->log_p,
                    .work = s->ep_work};
  bl_factorise(k, moments + k, s->factor);
  const int side[2] = {side_of(s, 0), k > 1 ? side_of(s, 1) : 1}, count = side[0] * side[1];
  const double width[2] = {REACH / (side[0] - 1), k > 1 ? REACH / (side[1] - 1) : 0.0};
  for (int first = 0; first < count; first += BL_LANES) {
    double step[BL_LANES][2] = {{0}};
    for (int lane = 0; lane < BL_LANES; lane++)
      for (int j = 0, at = first + lane; j < k; at /= side[j++])
        for (int l = j; l < k; l++)
          step[lane][l] += s->factor[l * k + j] * width[j] * (at % side[j] - 0.5 * (side[j] - 1));
    run_grid_nodes(s, &ep, moments, step);
    for (int lane = 0; lane < BL_LANES; lane++) {
      double square = 0.0;
      for (int l = 0; l < k; l++) square += (moments[l] + step[lane][l]) * (moments[l] + step[lane][l]);
      add_node(&t, k, s->log_p[lane] - 0.5 * square, step[lane]);
    }
  }
  p->log_p[row] = t.top + log(t.sum);
  for (int l = 0; l < k; l++) p->log_p[row] += log(width[l] * s->factor[l * k + l] * 0.3989422804014326779);
  for (int l = 0; l < k; l++) moments[l] += t.shift[l] / t.sum;
  for (int l = 0; l < k * k; l++)
    moments[k + l] = t.square[l] / t.sum - t.shift[l / k] * t.shift[l % k] / (t.sum * t.sum);
}

static bl_ep ep_of(const bl_posterior *p, double *work) {
  return (bl_ep){.n = p->n,
                 .k = p->k,
                 .mean = p->mean,
                 .loading = p->loading,
                 .count = p->count,
                 .x = p->x,
                 .levels = p->levels,
                 .log_p = p->log_p,
                 .start = p->start,
                 .sites = p->sites,
                 .work = work};
}

/* The share of the second order that may be added. */
static double admissible(int k, const double *cov, const double *add) {
  double share = 1.0;
  for (int l = 0; l < k; l++)
    if (-add[l * k + l] * share > (1.0 - LEAST_KEPT) * cov[l * k + l])
      share = (1.0 - LEAST_KEPT) * cov[l * k + l] / -add[l * k + l];
  return share;
}

void bl_posterior_run(const bl_posterior *p, blica_simd level) {
  const int k = p->k;
  double *work = p->work, *ep_work = take(&work, bl_ep_work(p->n, k));
  double *found = take(&work, (size_t)p->count * (size_t)(k * (1 + 2 * k))), *excess = take(&work, (size_t)p->count);
  bl_ep ep = ep_of(p, ep_work);
  ep.rest = p->rest;
  ep.posterior = found;
  ep.excess = excess;
  bl_ep_run(&ep, level);
  slice s = slice_of(p, level, ep_work, work);
  for (int64_t row = 0; row < p->count; row++) {
    double *own = found + row * k * (1 + 2 * k), *moments = p->moments + row * k * (1 + k);
    s.cov = own + k, s.add = own + k + k * k;
    const double share = admissible(k, s.cov, s.add);
    memcpy(moments, own, sizeof(double) * (size_t)k);
    for (int j = 0; j < k * k; j++) moments[k + j] = s.cov[j] + share * s.add[j];
    if (k == 1 || (k == 2 && p->n <= EXACT_ITEMS))
      integrate_all(&s, row, moments);
    else if (excess[row] > HARD && worst_direction(&s) > HARD)
      integrate(&s, row, moments);
  }
}

void bl_posterior_guess(const bl_posterior *p, blica_simd level) {
  bl_ep ep = ep_of(p, p->work);
  ep.guess = p->log_p;
  bl_ep_run(&ep, level);
}
