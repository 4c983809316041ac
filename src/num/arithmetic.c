/* arithmetic.c - see arithmetic.h. A product of 37 x 53 by 53 x 41 touches the inner loops of every kernel and their
 * remainders; a failure of LAPACK, which has no memory, counts as a result like any other. */
#include "num/arithmetic.h"

#include <math.h>

#include "base/hash.h"
#include "num/linear/blas.h"

enum { ROWS = 37, INNER = 53, COLUMNS = 41, SIDE = 24, PLACES = 100 };

/* Numbers of full width, the same everywhere: additions and divisions only. */
static double number(int i) {
  return (double)((i * 7919) % 1009 - 504) / 733.0;
}

/* Adds products of matrices and vectors to the digest. */
static uint64_t digest_products(uint64_t digest) {
  double a[ROWS * INNER], b[INNER * COLUMNS], c[ROWS * COLUMNS];
  for (int i = 0; i < ROWS * INNER; i++) a[i] = number(i);
  for (int i = 0; i < INNER * COLUMNS; i++) b[i] = number(3 * i + 1);
  bl_dgemm('N', 'N', ROWS, COLUMNS, INNER, 1, a, ROWS, b, INNER, 0, c, ROWS);
  digest = bl_digest(digest, c, sizeof c);
  bl_dgemv('T', ROWS, INNER, 1, a, ROWS, b, 1, 0, c, 1);
  digest = bl_digest(digest, c, INNER * sizeof *c);
  c[0] = bl_ddot(ROWS * INNER, a, 1, a, 1);
  return bl_digest(digest, c, sizeof *c);
}

/* Adds a Cholesky factor and eigenvectors to the digest. */
static uint64_t digest_factors(uint64_t digest) {
  double a[SIDE * SIDE], values[SIDE];
  for (int twice = 0; twice < 2; twice++) {
    for (int j = 0; j < SIDE; j++)
      for (int i = 0; i < SIDE; i++) a[i + j * SIDE] = number(i + j) * number(i * j) + (i == j ? SIDE : 0);
    int code = twice ? bl_dsyevd('V', 'L', SIDE, a, SIDE, values) : bl_dpotrf('L', SIDE, a, SIDE);
    digest = bl_digest(bl_digest_word(digest, (uint64_t)code), a, sizeof a);
  }
  return digest;
}

/* Adds values of the functions of the mathematical library to the digest. */
static uint64_t digest_functions(uint64_t digest) {
  for (int i = 0; i < PLACES; i++) {
    double x = number(i),
           y[] = {exp(x), log(1 + x * x), sin(3 * x), cos(5 * x), erfc(x), tanh(x), asin(x / 2), pow(2 + x, x)};
    digest = bl_digest(digest, y, sizeof y);
  }
  return digest;
}

uint64_t bl_arithmetic_digest(void) {
  return digest_functions(digest_factors(digest_products(0)));
}
