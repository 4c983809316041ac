/* item_scales.c - location and scale of every ordinal item in every segment.
 *
 * The cuts of an item are the same in all segments: P(x >= l) = Phi((a_s - tau_l)/sigma_s). Its margins in all segments
 * therefore show how a_s and sigma_s change, up to one location and one scale per item. Maximum likelihood over tau, a
 * and log sigma by Fisher scoring; each segment's two parameters are eliminated by a Schur complement, and steps are
 * halved until the likelihood grows. A weak normal prior on log sigma (sd PRIOR_SD) and on a holds what a segment does
 * not show, and what no data can: the common location and scale. It is taken out of the answer again: log_scale is the
 * observation, with standard error log_scale_se, that together with the prior gives the maximum. Given the cuts, that
 * is: their own errors are common to all segments. Checked in tests/recovery/test_levels.c: exact margins give the
 * scales of the model to 1e-6. */
#include "cor/correlate.h"

#include <math.h>
#include <string.h>

#include "data/coding.h"
#include "num/normal/normal.h"

#define PRIOR_SD 10.0
enum { MOST_STEPS = 200, MOST = BL_MOST_LEVELS };

typedef struct {
  int u, cuts;              /* levels less 1 */
  double *above;            /* [cuts+2,u] rows at or above each level, the first all of them, the last 0 */
  double *a, *lambda, *tau; /* [u], [u], [cuts] */
  double *step_a, *step_lambda, *step_tau;
  double *block;  /* [5+2 cuts,u]: a a, a l, l l; scores; cross terms */
  double *corner; /* [cuts,cuts] */
} item_fit;

/* Probabilities p [cuts+1] of a segment; t and its density at the cuts. */
static void levels_of(const item_fit *m, int s, double *p, double *t, double *density) {
  double before = 1, scale = exp(-m->lambda[s]);
  for (int l = 0; l < m->cuts; l++) {
    t[l] = (m->a[s] - m->tau[l]) * scale;
    density[l] = bl_phi_density(t[l]);
    double now = bl_phi_cdf(t[l]);
    p[l] = fmax(before - now, 1e-300);
    before = now;
  }
  p[m->cuts] = fmax(before, 1e-300);
}

static double log_posterior(const item_fit *m) {
  double p[MOST], t[MOST], density[MOST], sum = 0;
  for (int l = 1; l < m->cuts; l++)
    if (!(m->tau[l] > m->tau[l - 1])) return -INFINITY;
  for (int s = 0; s < m->u; s++) {
    const double *above = m->above + (size_t)s * (size_t)(m->cuts + 2);
    levels_of(m, s, p, t, density);
    for (int l = 0; l <= m->cuts; l++) sum += (above[l] - above[l + 1]) * log(p[l]);
    sum -= 0.5 * (m->lambda[s] * m->lambda[s] + 0.01 * m->a[s] * m->a[s]) / (PRIOR_SD * PRIOR_SD);
  }
  return sum;
}

/* Scores and Fisher information of a segment, added to the cuts' and kept in its block. */
static void segment_terms(item_fit *m, int s, double *score_tau) {
  const int cuts = m->cuts;
  double p[MOST], t[MOST], density[MOST];
  double *block = m->block + (size_t)s * (size_t)(5 + 2 * cuts), *side = block + 5, scale = exp(-m->lambda[s]);
  const double *above = m->above + (size_t)s * (size_t)(cuts + 2);
  levels_of(m, s, p, t, density);
  memset(block, 0, sizeof(double) * (size_t)(5 + 2 * cuts));
  for (int l = 0; l <= cuts; l++) { /* p_l = Phi(t_(l-1)) - Phi(t_l) */
    double n = above[l] - above[l + 1], rows = above[0], up = l ? density[l - 1] : 0, down = l < cuts ? density[l] : 0;
    double da = scale * (up - down), dl = -(l && up ? up * t[l - 1] : 0) + (l < cuts && down ? down * t[l] : 0);
    double d[2] = {-scale * up, scale * down}; /* by tau_(l-1), tau_l */
    block[0] += rows * da * da / p[l], block[1] += rows * da * dl / p[l], block[2] += rows * dl * dl / p[l];
    block[3] += n * da / p[l], block[4] += n * dl / p[l];
    for (int e = 0; e < 2; e++) {
      int at = l - 1 + e;
      if (at < 0 || at >= cuts) continue;
      side[at] += rows * da * d[e] / p[l];
      side[cuts + at] += rows * dl * d[e] / p[l];
      score_tau[at] += n * d[e] / p[l];
      m->corner[at * cuts + at] += rows * d[e] * d[e] / p[l];
    }
    if (l > 0 && l < cuts) m->corner[l * cuts + l - 1] += rows * d[0] * d[1] / p[l];
  }
  double precision = 1 / (PRIOR_SD * PRIOR_SD);
  block[0] += 0.01 * precision, block[3] -= 0.01 * precision * m->a[s];
  block[2] += precision, block[4] -= precision * m->lambda[s];
}

/* x <- block^-1 x, two by two. */
static void solve_block(const double *block, double *x, double *y) {
  double det = block[0] * block[2] - block[1] * block[1], first = (block[2] * *x - block[1] * *y) / det;
  *y = (block[0] * *y - block[1] * *x) / det;
  *x = first;
}

/* x <- a^-1 x by Cholesky's factor, for a symmetric positive definite a [n,n], which is destroyed. */
static void solve_corner(int n, double *a, double *x) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double sum = a[i * n + j];
      for (int k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = i == j ? sqrt(fmax(sum, 1e-12)) : sum / a[j * n + j];
    }
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < i; j++) x[i] -= a[i * n + j] * x[j];
    x[i] /= a[i * n + i];
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int j = i + 1; j < n; j++) x[i] -= a[j * n + i] * x[j];
    x[i] /= a[i * n + i];
  }
}

/* The step of Fisher scoring. */
static void find_step(item_fit *m) {
  const int cuts = m->cuts;
  memset(m->corner, 0, sizeof(double) * (size_t)(cuts * cuts));
  memset(m->step_tau, 0, sizeof(double) * (size_t)cuts);
  for (int s = 0; s < m->u; s++) {
    segment_terms(m, s, m->step_tau);
    double *block = m->block + (size_t)s * (size_t)(5 + 2 * cuts), *side = block + 5, x, y;
    for (int i = 0; i < cuts; i++) {
      x = side[i], y = side[cuts + i];
      solve_block(block, &x, &y);
      m->step_tau[i] -= x * block[3] + y * block[4];
      for (int j = 0; j <= i; j++) m->corner[i * cuts + j] -= x * side[j] + y * side[cuts + j];
    }
  }
  for (int i = 0; i < cuts; i++) m->corner[i * cuts + i] += 1e-9 * m->corner[i * cuts + i] + 1e-12;
  solve_corner(cuts, m->corner, m->step_tau);
  for (int s = 0; s < m->u; s++) {
    double *block = m->block + (size_t)s * (size_t)(5 + 2 * cuts), *side = block + 5, x = block[3], y = block[4];
    for (int i = 0; i < cuts; i++) x -= side[i] * m->step_tau[i], y -= side[cuts + i] * m->step_tau[i];
    solve_block(block, &x, &y);
    m->step_a[s] = x, m->step_lambda[s] = y;
  }
}

static void move(item_fit *m, double by) {
  for (int s = 0; s < m->u; s++) m->a[s] += by * m->step_a[s], m->lambda[s] += by * m->step_lambda[s];
  for (int l = 0; l < m->cuts; l++) m->tau[l] += by * m->step_tau[l];
}

static void maximise(item_fit *m) {
  double value = log_posterior(m);
  for (int step = 0; step < MOST_STEPS; step++) {
    double by = 1, largest = 0;
    find_step(m);
    for (int s = 0; s < m->u; s++) largest = fmax(largest, fmax(fabs(m->step_a[s]), fabs(m->step_lambda[s])));
    for (int l = 0; l < m->cuts; l++) largest = fmax(largest, fabs(m->step_tau[l]));
    if (largest > 1) by = 1 / largest;
    move(m, by);
    double next = log_posterior(m);
    while (!(next >= value - 1e-12 * fabs(value)) && by > 1e-10) {
      move(m, -0.5 * by);
      by *= 0.5;
      next = log_posterior(m);
    }
    value = next;
    if (largest < 1e-10 || by <= 1e-10) break;
  }
}

typedef struct {
  blica_ctx *ctx;
  const blica_counts *counts;
  blica_cor *cor;
  size_t work_size;
  double *work;
} job;

/* Rows at or above each level; a level that nobody has is no cut: it is merged with the one below. Returns the cuts. */
static int read_margins(const job *j, int i, double *above) {
  const blica_counts *c = j->counts;
  int first = bl_plane(j->cor->coding, i), last = bl_plane(j->cor->coding, i + 1), kept = 0;
  int keep[MOST];
  double pooled = INFINITY;
  for (int p = first; p < last; p++) {
    double sum = 0, below = 0;
    for (int s = 0; s < c->u; s++) {
      sum += c->ones[p + (size_t)s * c->n];
      below += c->present[p + (size_t)s * c->n] - c->ones[p + (size_t)s * c->n];
    }
    if (sum > 0 && below > 0 && sum < pooled) keep[kept++] = p, pooled = sum;
  }
  for (int s = 0; s < c->u; s++) {
    double *own = above + (size_t)s * (size_t)(kept + 2);
    own[0] = c->present[first + (size_t)s * c->n];
    for (int l = 0; l < kept; l++) own[l + 1] = c->ones[keep[l] + (size_t)s * c->n];
    own[kept + 1] = 0;
  }
  return kept;
}

/* Starts from the cuts of all segments together, with equal locations and scales. */
static void set_first_cuts(item_fit *m) {
  double all = 0;
  for (int s = 0; s < m->u; s++) all += m->above[(size_t)s * (size_t)(m->cuts + 2)];
  for (int l = 0; l < m->cuts; l++) {
    double sum = 0;
    for (int s = 0; s < m->u; s++) sum += m->above[(size_t)s * (size_t)(m->cuts + 2) + (size_t)l + 1];
    m->tau[l] = -bl_phi_quantile(sum / all);
  }
  for (int s = 0; s < m->u; s++) m->a[s] = m->lambda[s] = 0;
}

static void item_task(int64_t i, int thread, void *user) {
  const job *j = user;
  blica_cor *cor = j->cor;
  const size_t u = (size_t)cor->u, n = (size_t)cor->n;
  double *work = j->work + (size_t)thread * j->work_size;
  item_fit m = {.u = cor->u, .above = work};
  m.cuts = read_margins(j, (int)i, m.above);
  for (size_t s = 0; s < u; s++) cor->location[(size_t)i + n * s] = 0, cor->log_scale_se[(size_t)i + n * s] = INFINITY;
  if (m.cuts < 2) return;
  m.a = m.above + u * (size_t)(m.cuts + 2), m.lambda = m.a + u, m.step_a = m.lambda + u, m.step_lambda = m.step_a + u;
  m.tau = m.step_lambda + u, m.step_tau = m.tau + m.cuts, m.block = m.step_tau + m.cuts;
  m.corner = m.block + u * (size_t)(5 + 2 * m.cuts);
  set_first_cuts(&m);
  if (m.u > 1) maximise(&m); /* one segment is met exactly */
  find_step(&m);
  double precision = 1 / (PRIOR_SD * PRIOR_SD);
  for (size_t s = 0; s < u; s++) {
    const double *block = m.block + s * (size_t)(5 + 2 * m.cuts);
    double information = block[2] - block[1] * block[1] / block[0] - precision;
    if (!(information > 1e-9)) continue;
    cor->location[(size_t)i + n * s] = m.a[s];
    cor->log_scale[(size_t)i + n * s] = m.lambda[s] * (1 + precision / information);
    cor->log_scale_se[(size_t)i + n * s] = 1 / sqrt(information);
  }
}

blica_status bl_find_item_scales(blica_ctx *ctx, const blica_counts *counts, blica_cor *cor) {
  BL_OWNED double *work = NULL;
  job j = {.ctx = ctx, .counts = counts, .cor = cor};
  size_t u = (size_t)cor->u, n = (size_t)cor->n, most = 2;
  MUST(bl_alloc_for(ctx, cor, bl_mul(n, u), &cor->location));
  MUST(bl_alloc_for(ctx, cor, bl_mul(n, u), &cor->log_scale));
  MUST(bl_alloc_for(ctx, cor, bl_mul(n, u), &cor->log_scale_se));
  for (int i = 0; i < cor->n; i++) {
    size_t cuts = (size_t)(bl_plane(cor->coding, i + 1) - bl_plane(cor->coding, i));
    if (cuts > most) most = cuts;
  }
  j.work_size = u * (most + 2 + 4 + 5 + 2 * most) + 2 * most + most * most;
  MUST(bl_alloc(ctx, bl_mul(j.work_size, (size_t)bl_max_threads(ctx)), &work));
  j.work = work;
  bl_parallel(ctx, cor->n, item_task, &j);
  return BLICA_OK;
}
