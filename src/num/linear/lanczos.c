/* lanczos.c - Lanczos iteration with full reorthogonalisation.
 *
 * Method (Parlett, The Symmetric Eigenvalue Problem, chapter 13): each step multiplies the newest basis vector by the
 * matrix and orthogonalises the product twice against the whole basis ("twice is enough"), which keeps the basis
 * orthogonal to rounding. The ends of the tridiagonal projection's spectrum converge to those of the matrix. With s the
 * eigenvector of the projection of m steps, beta_m |s_m| is the residual |A y - theta y|, and an eigenvalue lies within
 * it of theta. That it is the wanted one rests on the start vector not being orthogonal to the wanted eigenvector; it
 * is drawn at random, from a fixed stream, for which Kuczynski and Wozniakowski (SIAM J. Matrix Anal. Appl. 13, 1992)
 * give the odds: of missing the end by a share e of the spread after m steps they fall as exp(-m sqrt(e)). An invariant
 * subspace (beta = 0) is left by a new random vector, so repeated eigenvalues are found too. Checked against LAPACK in
 * tests/unit/num/test_symmetric.c. */
#include "num/linear/symmetric.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "num/linear/blas.h"
#include "num/rng.h"

typedef struct {
  const bl_lanczos_options *o;
  int n, limit, steps; /* limit: most steps; steps: taken */
  bool done;
  double size;
  double *basis;         /* [n,limit+1] */
  double *alpha, *beta;  /* [limit] */
  double *project;       /* [limit+1] */
  double *d, *e, *small; /* copies of alpha and beta; [limit,wanted] eigenvectors of the projection */
  void *support;         /* [2 wanted] of LAPACK's integers */
  double *values, *residual;
  bl_rng rng;
} machine;

static int step_limit(int n, const bl_lanczos_options *o) {
  return o->max_steps < n ? o->max_steps : n;
}

size_t bl_lanczos_work(int n, const bl_lanczos_options *o) {
  size_t limit = (size_t)step_limit(n, o), wanted = (size_t)(o->low + o->high);
  return ((size_t)n + 1) * (limit + 1) + limit * (wanted + 4) + 4 * wanted + bl_symmetric_work();
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
  m->values = m->small + limit * wanted;
  m->residual = m->values + wanted;
  m->support = m->residual + wanted;
}

/* v <- v less its part in the first `count` basis vectors. */
static void orthogonalise(machine *m, int count, double *v) {
  if (count == 0) return;
  bl_dgemv('T', m->n, count, 1, m->basis, m->n, v, 1, 0, m->project, 1);
  bl_dgemv('N', m->n, count, -1, m->basis, m->n, m->project, 1, 1, v, 1);
}

/* A random unit vector orthogonal to the basis so far, as its next member. */
static void fresh_vector(machine *m, int at) {
  double *v = m->basis + (size_t)at * (size_t)m->n;
  for (int i = 0; i < m->n; i++) v[i] = bl_rng_uniform(&m->rng) - 0.5;
  for (int twice = 0; twice < 2; twice++) {
    orthogonalise(m, at, v);
    bl_dscal(m->n, 1 / bl_dnrm2(m->n, v, 1), v, 1);
  }
}

/* One step; false when a number is not finite, or the product said stop. */
static bool advance(machine *m, bl_lanczos_product product, void *user) {
  const int j = m->steps, n = m->n;
  double *v = m->basis + (size_t)j * (size_t)n, *next = v + n;
  if (!product(v, next, user)) return false;
  m->steps++;
  m->alpha[j] = bl_ddot(n, v, 1, next, 1);
  orthogonalise(m, j + 1, next);
  orthogonalise(m, j + 1, next);
  m->beta[j] = bl_dnrm2(n, next, 1);
  if (!isfinite(m->alpha[j]) || !isfinite(m->beta[j])) return false;
  m->size = fmax(m->size, fabs(m->alpha[j]) + m->beta[j]);
  if (m->beta[j] > 16 * DBL_EPSILON * m->size) {
    bl_dscal(n, 1 / m->beta[j], next, 1);
    return true;
  }
  m->beta[j] = 0;
  if (m->steps < n) fresh_vector(m, m->steps);
  return true;
}

/* Eigenvalues first..first+count-1 of the projection (from 1) with their residuals; false when LAPACK gives up. */
static bool solve_end(machine *m, int first, int count, int at) {
  int found = 0;
  double *all = m->project;
  if (count == 0) return true;
  memcpy(m->d, m->alpha, (size_t)m->steps * sizeof(double));
  memcpy(m->e, m->beta, (size_t)m->steps * sizeof(double));
  if (bl_dstevr(m->steps, m->d, m->e, first, first + count - 1, &found, all, m->small + (size_t)at * (size_t)m->limit,
                m->limit, m->support) != 0 ||
      found != count)
    return false;
  memcpy(m->values + at, all, (size_t)count * sizeof *all);
  for (int i = 0; i < count; i++)
    m->residual[at + i] =
        m->beta[m->steps - 1] * fabs(m->small[(size_t)(at + i) * (size_t)m->limit + (size_t)m->steps - 1]);
  return true;
}

/* All wanted eigenvalues of the projection; done when each is within the tolerance. False when LAPACK gives up. */
static bool solve(machine *m) {
  const int wanted = m->o->low + m->o->high;
  double size = 0;
  if (!solve_end(m, 1, m->o->low, 0) || !solve_end(m, m->steps - m->o->high + 1, m->o->high, m->o->low)) return false;
  m->done = true;
  for (int i = 0; i < wanted; i++) size = fmax(size, fabs(m->values[i]));
  for (int i = 0; i < wanted; i++) m->done = m->done && m->residual[i] <= m->o->tolerance * size;
  return true;
}

int bl_lanczos_of(int n, bl_lanczos_product product, void *user, const bl_lanczos_options *o, double *work,
                  double *values, double *residual, double *vectors) {
  const int wanted = o->low + o->high;
  machine m = {.o = o, .n = n, .limit = step_limit(n, o), .rng = bl_rng_make(0, 0x4c414e435a4f5300u)};
  lay_out(&m, work);
  fresh_vector(&m, 0);
  for (int next = wanted + 16; !m.done && m.steps < m.limit;) {
    if (!advance(&m, product, user)) return -1;
    if (m.steps < next && m.steps < m.limit) continue;
    if (!solve(&m)) return -1;
    next = m.steps + 8 + m.steps / 8;
  }
  memcpy(values, m.values, (size_t)wanted * sizeof *values);
  memcpy(residual, m.residual, (size_t)wanted * sizeof *residual);
  if (vectors) bl_dgemm('N', 'N', n, wanted, m.steps, 1, m.basis, n, m.small, m.limit, 0, vectors, n);
  return m.done ? 0 : 1;
}

typedef struct {
  const bl_symmetric *matrix;
  double *tile;
} symmetric;

static bool times_symmetric(const double *x, double *y, void *user) {
  const symmetric *s = user;
  bl_symmetric_product(s->matrix, 1, x, y, s->tile);
  return true;
}

int bl_lanczos(const bl_symmetric *matrix, const bl_lanczos_options *o, double *work, double *values, double *residual,
               double *vectors) {
  symmetric s = {matrix, work + bl_lanczos_work(matrix->n, o) - bl_symmetric_work()};
  return bl_lanczos_of(matrix->n, times_symmetric, &s, o, work, values, residual, vectors);
}
