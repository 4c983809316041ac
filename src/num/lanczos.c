/* lanczos.c - Lanczos iteration with full reorthogonalisation.
 *
 * Method (Parlett, The Symmetric Eigenvalue Problem, chapter 13): each step multiplies the newest basis vector by the matrix and
 * orthogonalises the product twice against the whole basis ("twice is enough"), which keeps the basis orthogonal to rounding.
 * The ends of the tridiagonal projection's spectrum converge to those of the matrix. With s the eigenvector of the
 * projection of m steps, beta_m |s_m| is the residual |A y - theta y|, and an eigenvalue lies within it of theta.
 * That it is the wanted one rests on the start vector not being orthogonal to the wanted eigenvector; it is drawn at random, from a
 * fixed stream, for which Kuczynski and Wozniakowski (SIAM J. Matrix Anal. Appl. 13, 1992) give the odds: of missing
 * the end by a share e of the spread after m steps they fall as exp(-m sqrt(e)).
 * An invariant subspace (beta = 0) is left by a new random vector, so repeated eigenvalues are found too.
 * Checked against LAPACK in tests/unit/test_symmetric.c. */
#include "num/lanczos.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <cblas.h>
#include <lapacke.h>

#include "num/rng.h"

typedef struct {
  const bl_symmetric *matrix;
  const bl_lanczos_options *o;
  int n, limit, steps; /* limit: most steps; steps: taken */
  double *basis;       /* [n,limit+1] */
  double *alpha, *beta; /* [limit] */
  double *project;     /* [limit+1] */
  double *d, *e, *small; /* copies of alpha and beta; [limit,wanted] eigenvectors of the projection */
  lapack_int *support; /* [2 wanted] */
  double *tile;
  bl_rng rng;
} machine;

static int step_limit(int n, const bl_lanczos_options *o) { return o->max_steps < n ? o->max_steps : n; }

size_t bl_lanczos_work(int n, const bl_lanczos_options *o) {
  size_t limit = (size_t)step_limit(n, o), wanted = (size_t)(o->low + o->high);
  return ((size_t)n + 1) * (limit + 1) + limit * (wanted + 4) + 2 * wanted + bl_symmetric_work(n);
}

static void lay_out(machine *m, double *work) {
  size_t n = (size_t)m->n, limit = (size_t)m->limit, wanted = (size_t)(m->o->low + m->o->high);
  m->basis = work;
  m->project = m->basis + n * (limit + 1);
  m->alpha = m->project + limit + 1;
  m->beta = m->alpha + limit;
  m->d = m->beta + limit;
  m->e = m->d + limit;
  m->small = m->e + limit;
  m->support = (lapack_int *)(m->small + limit * wanted);
  m->tile = m->small + limit * wanted + 2 * wanted;
}

/* v <- v less its part in the first `count` basis vectors. */
static void orthogonalise(machine *m, int count, double *v) {
  if (count == 0) return;
  cblas_dgemv(CblasColMajor, CblasTrans, m->n, count, 1, m->basis, m->n, v, 1, 0, m->project, 1);
  cblas_dgemv(CblasColMajor, CblasNoTrans, m->n, count, -1, m->basis, m->n, m->project, 1, 1, v, 1);
}

/* A random unit vector orthogonal to the basis so far, as its next member. */
static void fresh_vector(machine *m, int at) {
  double *v = m->basis + (size_t)at * (size_t)m->n;
  for (int i = 0; i < m->n; i++) v[i] = bl_rng_uniform(&m->rng) - 0.5;
  for (int twice = 0; twice < 2; twice++) {
    orthogonalise(m, at, v);
    cblas_dscal(m->n, 1 / cblas_dnrm2(m->n, v, 1), v, 1);
  }
}

/* One step; false when a number is not finite. */
static bool advance(machine *m, double *size) {
  const int j = m->steps++, n = m->n;
  const double *v = m->basis + (size_t)j * (size_t)n;
  double *next = m->basis + (size_t)(j + 1) * (size_t)n;
  bl_symmetric_product(m->matrix, 1, v, next, m->tile);
  m->alpha[j] = cblas_ddot(n, v, 1, next, 1);
  orthogonalise(m, j + 1, next);
  orthogonalise(m, j + 1, next);
  m->beta[j] = cblas_dnrm2(n, next, 1);
  if (!isfinite(m->alpha[j]) || !isfinite(m->beta[j])) return false;
  *size = fmax(*size, fabs(m->alpha[j]) + m->beta[j]);
  if (m->beta[j] > 16 * DBL_EPSILON * *size) {
    cblas_dscal(n, 1 / m->beta[j], next, 1);
    return true;
  }
  m->beta[j] = 0;
  if (m->steps < n) fresh_vector(m, m->steps);
  return true;
}

/* Eigenvalues first..first+count-1 of the projection (from 1) with their residuals; false when LAPACK gives up. */
static bool solve_end(machine *m, int first, int count, int at, double *values, double *residual) {
  lapack_int found = 0;
  double *all = m->project;
  if (count == 0) return true;
  memcpy(m->d, m->alpha, (size_t)m->steps * sizeof(double));
  memcpy(m->e, m->beta, (size_t)m->steps * sizeof(double));
  if (LAPACKE_dstevr(LAPACK_COL_MAJOR, 'V', 'I', m->steps, m->d, m->e, 0, 0, first, first + count - 1, 0, &found, all,
                     m->small + (size_t)at * (size_t)m->limit, m->limit, m->support) != 0 ||
      found != count)
    return false;
  memcpy(values + at, all, (size_t)count * sizeof *values);
  for (int i = 0; i < count; i++)
    residual[at + i] = m->beta[m->steps - 1] * fabs(m->small[(size_t)(at + i) * (size_t)m->limit + (size_t)m->steps - 1]);
  return true;
}

/* All wanted eigenvalues of the projection; true when each is within the tolerance. */
static bool solve(machine *m, double *values, double *residual, bool *failed) {
  const int wanted = m->o->low + m->o->high;
  double size = 0;
  *failed = !solve_end(m, 1, m->o->low, 0, values, residual) ||
            !solve_end(m, m->steps - m->o->high + 1, m->o->high, m->o->low, values, residual);
  if (*failed) return false;
  for (int i = 0; i < wanted; i++) size = fmax(size, fabs(values[i]));
  for (int i = 0; i < wanted; i++)
    if (!(residual[i] <= m->o->tolerance * size)) return false;
  return true;
}

int bl_lanczos(const bl_symmetric *matrix, const bl_lanczos_options *o, double *work, double *values, double *residual,
               double *vectors) {
  machine m = {.matrix = matrix, .o = o, .n = matrix->n, .limit = step_limit(matrix->n, o)};
  const int wanted = o->low + o->high;
  double size = 0;
  bool done = false, failed = false;
  m.rng = bl_rng_make(0, 0x4c414e435a4f5300u);
  lay_out(&m, work);
  fresh_vector(&m, 0);
  for (int next = wanted + 16; !done && !failed && m.steps < m.limit;) {
    if (!advance(&m, &size)) return -1;
    if (m.steps < next && m.steps < m.limit) continue;
    done = solve(&m, values, residual, &failed);
    next = m.steps + 8 + m.steps / 8;
  }
  if (failed) return -1;
  if (vectors)
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m.n, wanted, m.steps, 1, m.basis, m.n, m.small, m.limit, 0, vectors,
                m.n);
  return done ? 0 : 1;
}
