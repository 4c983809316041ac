/* mle_information.c - the information matrix of the full likelihood, from the scores of the patterns, factored in
 * arrow shape: blocks of 2k for the segments (log v, mu) are eliminated, a system of nk for A remains.
 *
 * sum over rows of score score' is an estimate of the Hessian of -log-likelihood that is exact on average at the
 * truth and never indefinite: the right first metric for a quasi-Newton method, cheap because the scores of all
 * patterns come from one sweep. The k scales that the data do not determine are held by a small ridge. */
#include <math.h>
#include <string.h>

#include "estimate/mle/mle.h"
#include "num/linear/blas.h"

#define RIDGE 1e-6 /* of the mean diagonal, where there is no prior */

struct bl_information {
  int n, k, u, global, local; /* parameters of all segments: nk + cuts; of one: 2k */
  double *global_part;        /* [global,global,u] of each segment, then Schur parts */
  double *corner;             /* [global,global] Cholesky factor of the Schur complement */
  double *side;               /* [global,local,u]; then side times the inverse of the factor's transpose */
  double *block;              /* [local,local,u] Cholesky factors */
  int threads;
  bl_split split; /* of the segments among ranks */
  double *score;  /* [PATTERNS,global + local] per thread */
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
  TRY(bl_split_make(ctx, f->u, &f->split));
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
  bl_split_free(&f->split);
  bl_free(f);
}

/* The scores of one pattern in the parameters of the cuts (estimate.h): the first moves all cuts of its item, each step
 * those from it on. */
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

/* Adds the outer products of the scores of some patterns to the blocks of their segment. */
static void add_scores(const bl_scores *t, int thread, void *user) {
  bl_information *f = user;
  const int b = f->global, l = f->local, s = t->group->segment;
  double *score = f->score + (size_t)thread * (size_t)(b + l) * PATTERNS, *own = score + (size_t)b * PATTERNS;
  double *side = f->side + (size_t)s * b * l;
  for (int64_t low = 0; low < t->count; low += PATTERNS) {
    const int count = t->count - low < PATTERNS ? (int)(t->count - low) : PATTERNS;
    for (int64_t r = 0; r < count; r++) parameter_score(f, t, low + r, s, score + r, PATTERNS);
    bl_dsyrk('L', 'T', b, count, 1, score, PATTERNS, 1, f->global_part + (size_t)s * b * b, b);
    bl_dgemm('T', 'N', b, l, count, 1, score, PATTERNS, own, PATTERNS, 1, side, b);
    bl_dsyrk('L', 'T', l, count, 1, own, PATTERNS, 1, f->block + (size_t)s * l * l, l);
  }
}

static void add_ridge(int n, double *a) {
  double trace = 0.0;
  for (int i = 0; i < n; i++) trace += a[(size_t)i * n + i];
  for (int i = 0; i < n; i++) a[(size_t)i * n + i] += RIDGE * (trace / n + 1.0);
}

/* The factor of a, or I where rounding has spoiled it: it is a metric. */
static void factor(int n, double *a) {
  if (bl_dpotrf('L', n, a, n) == 0) return;
  memset(a, 0, sizeof(double) * (size_t)n * (size_t)n);
  for (int i = 0; i < n; i++) a[(size_t)i * n + i] = 1.0;
}

/* Factors segment s: side becomes side L'^-1, and part the segment's Schur complement. */
static void eliminate(int64_t item, int thread, void *user) {
  bl_information *f = user;
  const int b = f->global, l = f->local, k = f->k;
  double *side = f->side + (size_t)item * b * l, *block = f->block + (size_t)item * l * l;
  (void)thread;
  add_ridge(l, block);
  for (int j = 0; j < k; j++) {
    block[j * l + j] += f->m->precision_variance;
    block[(k + j) * l + k + j] += f->m->precision_mean;
  }
  factor(l, block);
  bl_dtrsm('R', 'L', 'T', 'N', b, l, 1, block, l, side, b);
  bl_dsyrk('L', 'N', b, l, -1, side, b, 1, f->global_part + (size_t)item * b * b, b);
}

blica_status bl_information_make(blica_ctx *ctx, bl_information *f, bl_mle *m, const double *theta, bool rough) {
  blica_status status = BLICA_OK;
  bl_params params = bl_mle_params(m, theta);
  f->m = m;
  f->theta = theta;
  const size_t b = (size_t)f->global, l = (size_t)f->local, u = (size_t)f->u;
  memset(f->global_part, 0, sizeof(double) * b * b * u);
  memset(f->side, 0, sizeof(double) * b * l * u);
  memset(f->block, 0, sizeof(double) * l * l * u);
  TRY(bl_likelihood_scores(ctx, m->likelihood, &params, rough ? NULL : &m->accuracy, &f->split, add_scores, f));
  bl_split_run(ctx, &f->split, eliminate, f);
  const bl_places lists[] = {{f->side, b * l}, {f->block, l * l}}, sum = {f->global_part, b * b};
  TRY(bl_split_exchange(ctx, &f->split, 2, lists, &sum));
  memcpy(f->corner, f->global_part, sizeof(double) * b * b);
  add_ridge(f->global, f->corner);
  for (int i = 0; i < f->n * f->k; i++) f->corner[(size_t)i * b + i] += m->precision_mixing;
  factor(f->global, f->corner);
done:
  return status;
}

void bl_information_solve(const bl_information *f, double *d) {
  const int b = f->global, l = f->local;
  for (int s = 0; s < f->u; s++) {
    double *own = d + b + (size_t)s * l;
    bl_dtrsv('L', 'N', 'N', l, f->block + (size_t)s * l * l, l, own, 1);
    bl_dgemv('N', b, l, -1, f->side + (size_t)s * b * l, b, own, 1, 1, d, 1);
  }
  bl_dpotrs('L', b, 1, f->corner, b, d, b);
  for (int s = 0; s < f->u; s++) {
    double *own = d + b + (size_t)s * l;
    bl_dgemv('T', b, l, -1, f->side + (size_t)s * b * l, b, d, 1, 1, own, 1);
    bl_dtrsv('L', 'T', 'N', l, f->block + (size_t)s * l * l, l, own, 1);
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

blica_status bl_mle_learn_priors(blica_ctx *ctx, bl_mle *m, const double *theta, bool *settled) {
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
