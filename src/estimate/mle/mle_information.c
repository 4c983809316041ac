/* mle_information.c - the information matrix of the full likelihood, from the scores of the patterns, factored in
 * arrow shape: blocks of 2k for the segments (log v, mu) are eliminated, a system of nk for A remains.
 *
 * sum over rows of score score' is an estimate of the Hessian of -log-likelihood that is exact on average at the
 * truth and never indefinite: the right first metric for a quasi-Newton method, cheap because the scores of all
 * patterns come from one sweep. The k scales that the data do not determine are held by a small ridge. */
#include <math.h>
#include <string.h>

#include "estimate/mle/mle.h"

#define ROUGH_GRID 1e-3 /* error of a probability */
#define RIDGE 1e-6      /* of the mean diagonal, where there is no prior */

struct bl_information {
  int n, k, u, global, local; /* parameters of all segments: nk + cuts; of one: 2k */
  double *global_part;        /* [global,global,u] of each segment, then Schur parts */
  double *corner;             /* [global,global] Cholesky factor of the Schur complement */
  double *side;               /* [global,local,u], row-major global x local; then side times block^-1 */
  double *block;              /* [local,local,u] Cholesky factors */
  int threads;
  bl_share share; /* of the segments among ranks */
  double *score;  /* [(global + local) PATTERNS, threads] */
  const bl_mle *m;
  const double *theta;
};

enum { PATTERNS = 512 }; /* at a time */

blica_status bl_information_alloc(blica_ctx *ctx, const bl_mle *m, bl_information **out) {
  blica_status status = BLICA_OK;
  bl_information *f = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &f));
  f->n = m->n, f->k = m->k, f->u = m->u;
  size_t b = (size_t)m->n * (size_t)m->k + m->cuts, l = 2 * (size_t)m->k, u = (size_t)m->u;
  f->threads = bl_max_threads(ctx);
  TRY(bl_share_make(ctx, f->u, &f->share));
  TRY(bl_alloc_for(ctx, f, bl_mul(bl_mul(b, b), u), &f->global_part));
  TRY(bl_alloc_for(ctx, f, bl_mul(b, b), &f->corner));
  TRY(bl_alloc_for(ctx, f, bl_mul(bl_mul(b, l), u), &f->side));
  TRY(bl_alloc_for(ctx, f, bl_mul(l * l, u), &f->block));
  TRY(bl_alloc_for(ctx, f, (b + l) * PATTERNS * (size_t)f->threads, &f->score));
  f->global = (int)b, f->local = (int)l; /* they fit where their squares did */
  *out = bl_take(&f);
done:
  bl_information_free(f);
  return status;
}

void bl_information_free(bl_information *f) {
  if (!f) return;
  bl_share_free(&f->share);
  bl_free(f);
}

/* Of one pattern in the parameters of the cuts (estimate.h): the first moves all cuts of its item, each step those
 * from it on. */
static void cut_scores(const bl_information *f, const bl_scores *t, int64_t r, double weight, double *out,
                       int64_t stride) {
  const bl_group *g = t->group;
  const double *score = t->score + r * g->n * (1 + f->k), *own = f->theta + (size_t)f->n * (size_t)f->k;
  for (int i = 0; i < g->n; i++) {
    const double all = -weight * score[i * (1 + f->k)];
    out[g->cut[i] * stride] = all;
    for (int e = 1; g->first && e < g->first[i + 1] - g->first[i]; e++) {
      const int level = g->x[t->row[r] * g->n + i], p = g->cut[i] + e;
      out[p * stride] = exp(own[p]) * (e < level ? all : e == level ? weight * t->upper[r * g->n + i] : 0.0);
    }
  }
}

/* Scores of one pattern in A, log v, mu, times root of its weight: column r of a (global + local) x count array. */
static void parameter_score(const bl_information *f, const bl_scores *t, int64_t r, int s, double *out,
                            int64_t stride) {
  const bl_mle *m = f->m;
  int n = f->n, k = f->k;
  const double *score = t->score + r * t->group->n * (1 + k), *mu = m->means + (size_t)s * k,
               *v = m->variances + (size_t)s * k;
  double root = sqrt(m->link), weight = sqrt(m->weight * t->group->weight[t->row[r]]);
  for (int e = 0; e < f->global + f->local; e++) out[e * stride] = 0.0;
  if (m->cuts) cut_scores(f, t, r, weight, out + (int64_t)(n * k) * stride, stride);
  for (int i = 0; i < t->group->n; i++)
    for (int j = 0; j < k; j++) {
      int at = t->group->variable[i] + j * n;
      double a = f->theta[at], gm = score[i * (1 + k)], gb = score[i * (1 + k) + 1 + j];
      out[at * stride] = weight * root * (sqrt(v[j]) * gb + mu[j] * gm);
      out[(f->global + j) * stride] += weight * 0.5 * gb * t->loading[i * k + j];
      out[(f->global + k + j) * stride] += weight * root * a * gm;
    }
}

static double dot(const double *a, const double *b, int64_t count) {
  double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    s0 += a[i] * b[i];
    s1 += a[i + 1] * b[i + 1];
    s2 += a[i + 2] * b[i + 2];
    s3 += a[i + 3] * b[i + 3];
  }
  for (; i < count; i++) s0 += a[i] * b[i];
  return (s0 + s1) + (s2 + s3);
}

static void add_scores(const bl_scores *t, int thread, void *user) {
  bl_information *f = user;
  int global = f->global, local = f->local, s = t->group->segment;
  double *score = f->score + (size_t)thread * (size_t)(global + local) * PATTERNS;
  double *part = f->global_part + (size_t)s * global * global, *side = f->side + (size_t)s * global * local;
  double *block = f->block + (size_t)s * local * local;
  for (int64_t low = 0; low < t->count; low += PATTERNS) {
    int64_t count = t->count - low < PATTERNS ? t->count - low : PATTERNS;
    for (int64_t r = 0; r < count; r++) parameter_score(f, t, low + r, s, score + r, PATTERNS);
    for (int i = 0; i < global + local; i++)
      for (int j = 0; j <= i; j++) {
        double sum = dot(score + (size_t)i * PATTERNS, score + (size_t)j * PATTERNS, count);
        if (i < global)
          part[(size_t)i * global + j] += sum;
        else if (j < global)
          side[(size_t)j * local + (i - global)] += sum;
        else
          block[(i - global) * local + (j - global)] += sum;
      }
  }
}

static void cholesky(int n, double *a) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double sum = a[(size_t)i * n + j] - dot(a + (size_t)i * n, a + (size_t)j * n, j);
      if (i == j)
        a[(size_t)i * n + i] = sqrt(fmax(sum, 1e-12 * fabs(a[(size_t)i * n + i]) + 1e-300));
      else
        a[(size_t)i * n + j] = sum / a[(size_t)j * n + j];
    }
}

static void forward(int n, const double *l, double *x) {
  for (int i = 0; i < n; i++) x[i] = (x[i] - dot(l + (size_t)i * n, x, i)) / l[(size_t)i * n + i];
}

static void backward(int n, const double *l, double *x) {
  for (int i = n - 1; i >= 0; i--) {
    x[i] /= l[(size_t)i * n + i];
    for (int j = 0; j < i; j++) x[j] -= l[(size_t)i * n + j] * x[i];
  }
}

static void add_diagonal(int n, double *a, double precision) {
  double trace = 0.0;
  for (int i = 0; i < n; i++) trace += a[(size_t)i * n + i];
  for (int i = 0; i < n; i++) a[(size_t)i * n + i] += precision + RIDGE * (trace / n + 1.0);
}

/* Factors segment s: side rows become L^-1 side', and part the segment's Schur complement. */
static void eliminate(int64_t item, int thread, void *user) {
  bl_information *f = user;
  int global = f->global, local = f->local, k = f->k;
  double *part = f->global_part + (size_t)item * global * global, *side = f->side + (size_t)item * global * local;
  double *block = f->block + (size_t)item * local * local;
  (void)thread;
  add_diagonal(local, block, 0.0);
  for (int j = 0; j < k; j++) {
    block[j * local + j] += f->m->precision_variance;
    block[(k + j) * local + k + j] += f->m->precision_mean;
  }
  cholesky(local, block);
  for (int i = 0; i < global; i++) forward(local, block, side + (size_t)i * local);
  for (int i = 0; i < global; i++)
    for (int j = 0; j <= i; j++)
      part[(size_t)i * global + j] -= dot(side + (size_t)i * local, side + (size_t)j * local, local);
}

blica_status bl_information_make(blica_ctx *ctx, bl_information *f, bl_mle *m, const double *theta, bool rough) {
  blica_status status = BLICA_OK;
  bl_params params = bl_mle_params(m, theta);
  bl_accuracy accuracy = m->accuracy;
  f->m = m;
  f->theta = theta;
  if (rough) accuracy.grid_error = fmax(accuracy.grid_error, ROUGH_GRID);
  const size_t b = (size_t)f->global, l = (size_t)f->local, u = (size_t)f->u;
  memset(f->global_part, 0, sizeof(double) * b * b * u);
  memset(f->side, 0, sizeof(double) * b * l * u);
  memset(f->block, 0, sizeof(double) * l * l * u);
  TRY(bl_likelihood_scores(ctx, m->likelihood, &params, &accuracy, &f->share, add_scores, f));
  bl_share_run(ctx, &f->share, eliminate, f);
  const bl_places lists[] = {{f->side, b * l}, {f->block, l * l}}, sum = {f->global_part, b * b};
  TRY(bl_share_exchange(ctx, &f->share, 2, lists, &sum));
  memcpy(f->corner, f->global_part, sizeof(double) * b * b);
  add_diagonal(f->global, f->corner, 0.0);
  for (int i = 0; i < f->n * f->k; i++) f->corner[(size_t)i * b + i] += m->precision_mixing;
  cholesky(f->global, f->corner);
done:
  return status;
}

void bl_information_solve(const bl_information *f, double *d) {
  int global = f->global, local = f->local;
  for (int s = 0; s < f->u; s++) {
    double *own = d + global + (size_t)s * local;
    const double *side = f->side + (size_t)s * global * local;
    forward(local, f->block + (size_t)s * local * local, own);
    for (int i = 0; i < global; i++) d[i] -= dot(side + (size_t)i * local, own, local);
  }
  forward(global, f->corner, d);
  backward(global, f->corner, d);
  for (int s = 0; s < f->u; s++) {
    double *own = d + global + (size_t)s * local;
    const double *side = f->side + (size_t)s * global * local;
    for (int i = 0; i < global; i++)
      for (int j = 0; j < local; j++) own[j] -= side[(size_t)i * local + j] * d[i];
    backward(local, f->block + (size_t)s * local * local, own);
  }
}

/* ---- the scales of the priors, learned by empirical Bayes ---- */

/* One update is MacKay's (Neural Computation 4, 1992): sd^2 = sum theta^2 / gamma, where gamma, the number of
 * parameters that the data determine, is their number less precision times the trace of the posterior covariance, the
 * inverse of the information matrix. */

/* The information matrix understates the spread of log v, whose likelihood is skewed: the learned scale is widened by
 * this, chosen on data of other seeds than those of docs/methods.md. */
#define WIDER 1.3
#define SETTLED 0.03 /* relative change of a scale */

/* The learned scale of A or of log v. variance [size] are those of the posterior. */
static double learned_sd(const bl_mle *m, const double *theta, const double *variance, bool mixing, double precision) {
  double squares = 0.0, gamma = 0.0;
  size_t nk = (size_t)m->n * (size_t)m->k, global = nk + m->cuts, k = (size_t)m->k;
  for (size_t i = 0; i < m->size; i++) {
    bool own = mixing ? i < nk : i >= global && (i - global) % (2 * k) < k;
    if (!own) continue;
    squares += theta[i] * theta[i];
    gamma += 1.0 - precision * variance[i];
  }
  return sqrt(squares / fmax(gamma, 1.0));
}

blica_status bl_mle_learn_scales(blica_ctx *ctx, bl_mle *m, const double *theta, bool *settled) {
  blica_status status = BLICA_OK;
  BL_OWNED double *unit = NULL, *variance = NULL;
  TRY(bl_alloc(ctx, m->size, &unit));
  TRY(bl_alloc(ctx, m->size, &variance));
  TRY(bl_information_make(ctx, m->information, m, theta, true));
  for (size_t i = 0; i < m->size; i++) {
    memset(unit, 0, sizeof(double) * m->size);
    unit[i] = 1.0;
    bl_information_solve(m->information, unit);
    variance[i] = unit[i];
  }
  double mixing = learned_sd(m, theta, variance, true, m->precision_mixing);
  double log_variance = learned_sd(m, theta, variance, false, m->precision_variance);
  mixing = fmin(fmax(mixing, 0.2), 50.0);
  log_variance = fmin(fmax(WIDER * log_variance, 0.1), 5.0);
  *settled = fabs(log(mixing * sqrt(m->precision_mixing))) < SETTLED &&
             fabs(log(log_variance * sqrt(m->precision_variance))) < SETTLED;
  bl_mle_set_prior(m, mixing, log_variance);
done:
  return status;
}
