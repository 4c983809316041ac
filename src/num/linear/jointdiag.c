/* jointdiag.c - joint diagonalisation by Pham's criterion with quasi-Newton steps.
 *
 * Criterion: D.-T. Pham, SIAM J. Matrix Anal. Appl. 22 (2001). Steps: with D_s = B C_s B' and B <- (I + E) B,
 * the Hessian at a solution couples only E_ij with E_ji, so all pairs are updated at once by 2x2 solves
 * (P. Ablin, J.-F. Cardoso, A. Gramfort, Beyond Pham's algorithm for joint diagonalization, 2018), with
 * backtracking. One sweep costs 4 u m^3 in matrix products; threads and ranks share the segments, sums over them run
 * over a fixed tree. Checked on exactly diagonalisable sets
 * (tests/unit/num/test_jointdiag.c). */
#include "num/linear/jointdiag.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/split.h"
#include "num/linear/blas.h"

typedef struct {
  blica_ctx *ctx;
  bl_split split; /* of the segments */
  int m, u;
  const double *weight; /* [u], summing to 1 */
  double *c, *trial;    /* [m,m,u] current and trial D_s, which change places */
  double *b, *trial_b;  /* [m,m] */
  double *step, *move;  /* [m,m] E, I + t E */
  double *sums; /* [2 m,m] per segment, of the trial: w D_ij/D_ii, and w D_jj/D_ii; their sum ends in the first */
  double *gradient, *gamma; /* [m,m] these sums */
  double *terms;            /* [u] of the criterion */
  double *scratch;          /* [m,m] per thread */
  const double *e;          /* of a congruence */
} machine;

/* The terms of segment s in the gradient and in the diagonal of the Hessian. */
static void gradient_terms(const machine *j, int64_t s) {
  const int m = j->m;
  const size_t mm = (size_t)m * m;
  const double *d = j->trial + mm * (size_t)s;
  double *gradient = j->sums + 2 * mm * (size_t)s, *gamma = gradient + mm;
  for (int col = 0; col < m; col++)
    for (int row = 0; row < m; row++) {
      double share = j->weight[s] / d[(size_t)row * (m + 1)];
      gradient[row + (size_t)col * m] = share * d[row + (size_t)col * m];
      gamma[row + (size_t)col * m] = share * d[(size_t)col * (m + 1)];
    }
}

/* trial <- E c E', and the segment's terms of the criterion and its derivatives. */
static void congruence_task(int64_t s, int thread, void *user) {
  machine *j = user;
  const int m = j->m;
  const size_t mm = (size_t)m * m, at = mm * (size_t)s;
  double *scratch = j->scratch + mm * (size_t)thread, sum = 0;
  bl_dgemm('N', 'N', m, m, m, 1, j->e, m, j->c + at, m, 0, scratch, m);
  bl_dgemm('N', 'T', m, m, m, 1, scratch, m, j->e, m, 0, j->trial + at, m);
  for (int i = 0; i < m; i++) sum += log(j->trial[at + (size_t)i * (m + 1)]);
  j->terms[s] = 0.5 * j->weight[s] * sum;
  gradient_terms(j, s);
}

/* Transforms this rank's segments and returns sum_s w_s log det diag D_s / 2 - log |det B|; the determinants of C_s are
 * constants. The derivatives come in the same exchange: most trials are kept. NaN when the other ranks are lost. */
static double congruence(machine *j, const double *e, double log_det_b) {
  const bl_places terms = {j->terms, 1}, sum = {j->sums, 2 * (size_t)j->m * (size_t)j->m};
  double value = -log_det_b;
  j->e = e;
  bl_split_run(j->ctx, &j->split, congruence_task, j);
  if (bl_split_exchange(j->ctx, &j->split, 1, &terms, &sum) != BLICA_OK) return NAN;
  for (int s = 0; s < j->u; s++) value += j->terms[s];
  return value;
}

static void keep_trial(machine *j) {
  double *c = j->c;
  j->c = j->trial, j->trial = c;
}

static double log_abs_det(int m, const double *b, double *scratch, int *pivots) {
  memcpy(scratch, b, (size_t)m * m * sizeof *b);
  if (bl_dgetrf(m, m, scratch, m, pivots) != 0) return -INFINITY;
  double sum = 0;
  for (int i = 0; i < m; i++) sum += log(fabs(scratch[(size_t)i * (m + 1)]));
  return sum;
}

/* E from the 2x2 systems; returns the largest |gradient|. */
static double quasi_newton_step(machine *j) {
  const int m = j->m;
  double most = 0;
  for (int p = 0; p < m; p++) {
    j->step[(size_t)p * (m + 1)] = 0;
    for (int q = 0; q < p; q++) {
      size_t pq = p + (size_t)q * m, qp = q + (size_t)p * m;
      double g1 = j->gradient[pq], g2 = j->gradient[qp], h1 = j->gamma[pq], h2 = j->gamma[qp];
      double middle = 0.5 * (h1 + h2), least = middle - sqrt(0.25 * (h1 - h2) * (h1 - h2) + 1);
      if (least < 1e-2) h1 += 1e-2 - least, h2 += 1e-2 - least;
      double det = h1 * h2 - 1;
      j->step[pq] = (g2 - h2 * g1) / det;
      j->step[qp] = (g1 - h1 * g2) / det;
      most = fmax(most, fmax(fabs(g1), fabs(g2)));
    }
  }
  return most;
}

/* B <- C^-1/2 of the weighted mean, so that the mean is whitened. */
static blica_status whiten(blica_ctx *ctx, machine *j, double *value) {
  const int m = j->m;
  const size_t mm = (size_t)m * m;
  double *values = j->gamma;
  memset(j->step, 0, mm * sizeof *j->step);
  for (int s = 0; s < j->u; s++)
    for (size_t i = 0; i < mm; i++) j->step[i] += j->weight[s] * j->c[mm * (size_t)s + i];
  errno = 0;
  int info = bl_dsyev('V', 'L', m, j->step, m, values);
  if (info != 0 || !(values[0] > 0))
    return bl_fail_outside(ctx, BLICA_ERR_NUMERIC,
                           "joint diagonalisation needs a positive definite mean; its smallest eigenvalue is %g",
                           values[0]);
  for (int i = 0; i < m; i++)
    for (int row = 0; row < m; row++) j->b[i + (size_t)row * m] = j->step[row + (size_t)i * m] / sqrt(values[i]);
  *value = congruence(j, j->b, 0);
  keep_trial(j);
  return BLICA_OK;
}

/* Moves along E by the longest of 1, 1/2, 1/4, ... that lowers the criterion. */
static bool advance(machine *j, double *value, double *log_det_b, int *pivots) {
  const int m = j->m;
  const size_t mm = (size_t)m * m;
  for (double t = 1; t > 1e-6; t *= 0.5) {
    for (size_t i = 0; i < mm; i++) j->move[i] = t * j->step[i];
    for (int i = 0; i < m; i++) j->move[(size_t)i * (m + 1)] += 1;
    double log_det = *log_det_b + log_abs_det(m, j->move, j->scratch, pivots);
    double trial = congruence(j, j->move, log_det);
    if (!(trial < *value)) continue;
    bl_dgemm('N', 'N', m, m, m, 1, j->move, m, j->b, m, 0, j->trial_b, m);
    memcpy(j->b, j->trial_b, mm * sizeof *j->b);
    keep_trial(j);
    *value = trial;
    *log_det_b = log_det;
    return true;
  }
  return false;
}

blica_status bl_jointdiag(blica_ctx *ctx, int m, int u, const double *weight, double *c, int max_sweeps,
                          double tolerance, double *b) {
  blica_status status;
  const size_t mm = (size_t)m * m;
  machine j = {.ctx = ctx, .m = m, .u = u, .c = c, .b = b};
  BL_OWNED double *share = NULL, *buffer = NULL;
  double total = 0;
  BL_OWNED int *pivots = NULL;
  TRY(bl_alloc(ctx, (size_t)u, &share));
  TRY(bl_alloc(ctx, (size_t)m, &pivots));
  TRY(bl_alloc(ctx, bl_mul(mm, (size_t)u), &buffer));
  TRY(bl_alloc(ctx, bl_mul(2 * mm, (size_t)u), &j.sums)); /* owns the others of j */
  TRY(bl_alloc_for(ctx, j.sums, bl_mul(mm, (size_t)bl_max_threads(ctx)), &j.scratch));
  TRY(bl_alloc_for(ctx, j.sums, (size_t)u, &j.terms));
  TRY(bl_split_make(ctx, u, &j.split));
  double **small[] = {&j.trial_b, &j.step, &j.move};
  for (size_t i = 0; i < sizeof small / sizeof *small; i++) TRY(bl_alloc_for(ctx, j.sums, mm, small[i]));
  j.trial = buffer, j.gradient = j.sums, j.gamma = j.sums + mm;
  for (int s = 0; s < u; s++) total += weight[s];
  for (int s = 0; s < u; s++) share[s] = weight[s] / total;
  j.weight = share;
  double log_det_b = 0, value = 0, gradient, most = 0;
  TRY(whiten(ctx, &j, &value));
  for (int sweep = 0; sweep < max_sweeps; sweep++) {
    gradient = quasi_newton_step(&j), most = fmax(most, gradient);
    if (gradient < fmax(1e-9, tolerance * most)) break;
    if (!advance(&j, &value, &log_det_b, pivots)) break;
  }
  if (j.c != c) memcpy(c, j.c, mm * (size_t)u * sizeof *c);
  const bl_places list = {c, mm};
  TRY(bl_split_exchange(ctx, &j.split, 1, &list, NULL));
done:
  bl_split_free(&j.split);
  bl_free(j.sums);
  return status;
}
