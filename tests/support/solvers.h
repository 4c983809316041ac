/* solvers.h - solutions of linear systems by LAPACK, which the library does without. */
#ifndef SOLVERS_H
#define SOLVERS_H

extern void dposv_(const char *uplo, const int *n, const int *nrhs, double *a, const int *lda, double *b,
                   const int *ldb, int *info, unsigned long);
extern void dgesv_(const int *n, const int *nrhs, double *a, const int *lda, int *pivots, double *b, const int *ldb,
                   int *info);

/* Solves with a positive definite matrix [n,n]; returns LAPACK's info. */
static inline int solve_definite(int n, int nrhs, double *a, double *b) {
  int info = 0;
  dposv_("L", &n, &nrhs, a, &n, b, &n, &info, 1);
  return info;
}

/* Solves with any matrix [n,n]; returns LAPACK's info. */
static inline int solve_general(int n, int nrhs, double *a, int *pivots, double *b) {
  int info = 0;
  dgesv_(&n, &nrhs, a, &n, pivots, b, &n, &info);
  return info;
}

#endif
