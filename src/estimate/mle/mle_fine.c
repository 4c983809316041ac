/* mle_fine.c - the gradient of the full likelihood by integrals finer than those that serve for finding the maximum.
 *
 * Near the end it is the integrals, not the optimiser, that keep the gradient from 0: where patterns are rare, an error
 * of 1e-5 in a probability is a large part of it. Grid: its error falls in proportion to what is asked for, so a rule
 * asked for 1e-4 of the error is off by 1e-4 of what the former was seen to be. Rules grow finer until what
 * is left is a tenth of the tolerance. Lattice: no finer rule is
 * in reach; other shifts show how far the one in use is off. Checked: tests/stress/test_torture.c against differences
 * of blica_loglik. */
#include <math.h>
#include <string.h>

#include "estimate/mle/mle.h"
#include "num/rectangles/mvn.h"

enum { SHIFTS = 4, MOST_STEPS = 4 };
#define GRID_STEP 1e-4 /* from one grid to the next */
#define GRID_LEAST 1e-17

static double mean_variance(const bl_mle *m, const double *theta, int j) {
  double mean = 0;
  for (int s = 0; s < m->u; s++) mean += exp(theta[bl_mle_local(m, s) + (size_t)j]) / m->u;
  return mean;
}

double bl_mle_slope(const bl_mle *m, const double *theta, const double *gradient, double value) {
  double most = 0.0;
  for (size_t i = 0; i < m->cuts; i++) most = fmax(most, fabs(gradient[(size_t)m->n * (size_t)m->k + i]));
  for (int j = 0; j < m->k; j++) {
    double sd = sqrt(mean_variance(m, theta, j));
    for (int i = 0; i < m->n; i++) most = fmax(most, fabs(gradient[i + (size_t)j * m->n]) / sd);
    for (int s = 0; s < m->u; s++) {
      const double *own = gradient + bl_mle_local(m, s);
      most = fmax(most, fmax(fabs(own[j]), sd * fabs(own[m->k + j])));
    }
  }
  return most / fmax(1.0, fabs(value));
}

void bl_mle_standard(const bl_mle *m, double *theta) {
  for (int j = 0; j < m->k; j++) {
    double mean = mean_variance(m, theta, j), sd = sqrt(mean);
    for (int i = 0; i < m->n; i++) theta[i + (size_t)j * m->n] *= sd;
    for (int s = 0; s < m->u; s++) {
      double *own = theta + bl_mle_local(m, s);
      own[j] -= log(mean);
      own[m->k + j] /= sd;
    }
  }
}

static double evaluate(bl_mle *m, const bl_accuracy *accuracy, const double *theta, double *gradient) {
  bl_accuracy working = m->accuracy;
  m->accuracy = *accuracy;
  double value = bl_mle_eval(m, theta, gradient);
  m->accuracy = working;
  return value;
}

/* The size of the difference of two gradients; overwrites the first. */
static double difference(const bl_mle *m, const double *theta, double *a, const double *b, double value) {
  for (size_t i = 0; i < m->size; i++) a[i] -= b[i];
  return bl_mle_slope(m, theta, a, value);
}

/* Grids, each finer than the last. */
static void by_grids(bl_mle *m, const double *theta, double tolerance, bl_mle_fine *f) {
  for (int step = 0; step < MOST_STEPS; step++) {
    bl_accuracy next = f->accuracy;
    next.grid_error *= GRID_STEP;
    if (next.grid_error < GRID_LEAST) return;
    double value = evaluate(m, &next, theta, f->other);
    if (!isfinite(value)) return;
    f->error = GRID_STEP * difference(m, theta, f->gradient, f->other, value); /* the last was off by the difference */
    memcpy(f->gradient, f->other, sizeof(double) * m->size);
    f->value = value;
    f->accuracy = next;
    if (f->error <= 0.1 * tolerance) return;
  }
}

/* Root mean square over the parameters of what a Newton step by the mean gradient moves them, in standard errors. */
static double shift_of(bl_mle *m, const double *theta, const bl_mle_fine *f) {
  double square = 0.0, *step = f->squares;
  if (!m->information || bl_information_make(m->ctx, m->information, m, theta, true) != BLICA_OK) return NAN;
  memcpy(step, f->gradient, sizeof(double) * m->size);
  bl_information_solve(m->information, step);
  for (size_t i = 0; i < m->size; i++) square += f->gradient[i] * step[i];
  return sqrt(square / (double)m->size);
}

/* The mean over shifts that were not in use: two standard errors of it and what it differs from 0 by are the error. */
static void by_shifts(bl_mle *m, const double *theta, bl_mle_fine *f) {
  double *sum = f->gradient, *squares = f->squares, value = 0.0;
  memset(sum, 0, sizeof(double) * m->size);
  memset(squares, 0, sizeof(double) * m->size);
  for (int shift = 1; shift <= SHIFTS; shift++) {
    bl_accuracy accuracy = m->accuracy;
    accuracy.shift = (uint64_t)shift;
    accuracy.points = BL_MVN_BLOCK;
    value += evaluate(m, &accuracy, theta, f->other) / SHIFTS;
    for (size_t i = 0; i < m->size; i++) {
      sum[i] += f->other[i] / SHIFTS;
      squares[i] += f->other[i] * f->other[i];
    }
  }
  if (!isfinite(value)) return;
  for (size_t i = 0; i < m->size; i++) {
    double variance = fmax(0.0, squares[i] - SHIFTS * sum[i] * sum[i]) / (SHIFTS * (SHIFTS - 1));
    f->other[i] = fabs(sum[i]) + 2.0 * sqrt(variance);
  }
  f->error = bl_mle_slope(m, theta, f->other, value);
  f->shift = shift_of(m, theta, f);
}

bool bl_mle_fine_gradient(bl_mle *m, const double *theta, double tolerance, bl_mle_fine *f) {
  if (m->engine == BLICA_ENGINE_EP) return false;
  if (m->engine == BLICA_ENGINE_LATTICE) {
    by_shifts(m, theta, f);
    return false;
  }
  if (isnan(f->error)) {
    f->accuracy = m->accuracy;
    f->value = evaluate(m, &f->accuracy, theta, f->gradient);
    by_grids(m, theta, tolerance, f);
  } else {
    f->value = evaluate(m, &f->accuracy, theta, f->gradient);
  }
  return isfinite(f->value) && !isnan(f->error);
}

blica_status bl_mle_fine_make(blica_ctx *ctx, const bl_mle *m, bl_mle_fine *f) {
  blica_status status = BLICA_OK;
  *f = (bl_mle_fine){.error = NAN, .shift = NAN};
  TRY(bl_alloc(ctx, m->size, &f->gradient));
  TRY(bl_alloc_for(ctx, f->gradient, m->size, &f->other));
  TRY(bl_alloc_for(ctx, f->gradient, m->size, &f->squares));
done:
  return status;
}

void bl_mle_fine_free(bl_mle_fine *f) {
  bl_free(f->gradient);
}
