/* mle_gradient.h - the gradient of the full likelihood against differences, for tests. After cmocka.h. */
#ifndef TESTS_MLE_GRADIENT_H
#define TESTS_MLE_GRADIENT_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "assert_compare.h"
#include "estimate/mle/mle.h"
#include "num/rng.h"

/* At a random point, with priors. */
static inline void check_mle_gradient(bl_mle *m) {
  const double h = 1e-5;
  double *theta = malloc(sizeof(double) * m->size), *g = malloc(sizeof(double) * m->size),
         *other = malloc(sizeof(double) * m->size), largest = 0, worst = 0;
  bl_rng rng = bl_rng_make(1, 1);
  m->precision_mixing = 0.1, m->precision_variance = 0.5, m->precision_mean = 0.2;
  m->accuracy.points = 128;
  for (size_t i = 0; i < m->size; i++) theta[i] = 0.7 * bl_rng_normal(&rng);
  assert_int_equal(bl_mle_order(m, theta), BLICA_OK);
  bl_mle_eval(m, theta, g);
  for (size_t i = 0; i < m->size; i++) largest = fmax(largest, fabs(g[i]));
  for (size_t i = 0; i < m->size; i++) {
    double keep = theta[i];
    theta[i] = keep + h;
    double up = bl_mle_eval(m, theta, other);
    theta[i] = keep - h;
    double down = bl_mle_eval(m, theta, other);
    theta[i] = keep;
    worst = fmax(worst, fabs((up - down) / (2 * h) - g[i]));
  }
  printf("n=%d k=%d, %zu parameters: worst difference %.3g of largest element %.3g\n", m->n, m->k, m->size, worst,
         largest);
  assert_compare(worst, <, 1e-6 * largest);
  free(theta), free(g), free(other);
}

#endif
