/* blas.h - BLAS and LAPACK by the names that Fortran gives them, which every implementation has: OpenBLAS, R's own,
 * MKL, Accelerate, the reference. Matrices are column-major; options are Fortran's letters: 'N' and 'T' for a matrix as
 * it is and transposed, 'L' and 'U' for the lower and upper triangle ('L' and 'R' for the side). The functions of
 * LAPACK return its info: 0, or what went wrong. Those below that are not inline refuse NaN, and take their workspace
 * from the heap. */
#ifndef BL_BLAS_H
#define BL_BLAS_H

#include <math.h>
#include <stddef.h>

enum { BL_BLAS_NO_MEMORY = -1010 }; /* what a function of LAPACK returns when it has no workspace; errno is ENOMEM */

/* The last arguments are the lengths of the letters, which Fortran passes unseen. */
extern double ddot_(const int *n, const double *x, const int *incx, const double *y, const int *incy);
extern double dnrm2_(const int *n, const double *x, const int *incx);
extern void daxpy_(const int *n, const double *alpha, const double *x, const int *incx, double *y, const int *incy);
extern void dcopy_(const int *n, const double *x, const int *incx, double *y, const int *incy);
extern void dscal_(const int *n, const double *alpha, double *x, const int *incx);
extern void dgemv_(const char *trans, const int *m, const int *n, const double *alpha, const double *a, const int *lda,
                   const double *x, const int *incx, const double *beta, double *y, const int *incy, size_t);
extern void dger_(const int *m, const int *n, const double *alpha, const double *x, const int *incx, const double *y,
                  const int *incy, double *a, const int *lda);
extern void dsymv_(const char *uplo, const int *n, const double *alpha, const double *a, const int *lda,
                   const double *x, const int *incx, const double *beta, double *y, const int *incy, size_t);
extern void dsyr_(const char *uplo, const int *n, const double *alpha, const double *x, const int *incx, double *a,
                  const int *lda, size_t);
extern void dtrsv_(const char *uplo, const char *trans, const char *diag, const int *n, const double *a, const int *lda,
                   double *x, const int *incx, size_t, size_t, size_t);
extern void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
                   const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
                   const double *beta, double *c, const int *ldc, size_t, size_t);
extern void dsymm_(const char *side, const char *uplo, const int *m, const int *n, const double *alpha, const double *a,
                   const int *lda, const double *b, const int *ldb, const double *beta, double *c, const int *ldc,
                   size_t, size_t);
extern void dsyrk_(const char *uplo, const char *trans, const int *n, const int *k, const double *alpha,
                   const double *a, const int *lda, const double *beta, double *c, const int *ldc, size_t, size_t);
extern void dtrsm_(const char *side, const char *uplo, const char *transa, const char *diag, const int *m, const int *n,
                   const double *alpha, const double *a, const int *lda, double *b, const int *ldb, size_t, size_t,
                   size_t, size_t);

extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t);
extern void dpotri_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t);
extern void dpotrs_(const char *uplo, const int *n, const int *nrhs, const double *a, const int *lda, double *b,
                    const int *ldb, int *info, size_t);
extern void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivots, int *info);
extern void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work, const int *lwork,
                    int *info);
extern void dorgqr_(const int *m, const int *n, const int *k, double *a, const int *lda, const double *tau,
                    double *work, const int *lwork, int *info);
extern void dgesvd_(const char *jobu, const char *jobvt, const int *m, const int *n, double *a, const int *lda,
                    double *s, double *u, const int *ldu, double *vt, const int *ldvt, double *work, const int *lwork,
                    int *info, size_t, size_t);

static inline double bl_ddot(int n, const double *x, int incx, const double *y, int incy) {
  return ddot_(&n, x, &incx, y, &incy);
}
static inline double bl_dnrm2(int n, const double *x, int incx) {
  return dnrm2_(&n, x, &incx);
}
static inline void bl_daxpy(int n, double alpha, const double *x, int incx, double *y, int incy) {
  daxpy_(&n, &alpha, x, &incx, y, &incy);
}
static inline void bl_dcopy(int n, const double *x, int incx, double *y, int incy) {
  dcopy_(&n, x, &incx, y, &incy);
}
static inline void bl_dscal(int n, double alpha, double *x, int incx) {
  dscal_(&n, &alpha, x, &incx);
}
static inline void bl_dgemv(char trans, int m, int n, double alpha, const double *a, int lda, const double *x, int incx,
                            double beta, double *y, int incy) {
  dgemv_(&trans, &m, &n, &alpha, a, &lda, x, &incx, &beta, y, &incy, 1);
}
static inline void bl_dger(int m, int n, double alpha, const double *x, int incx, const double *y, int incy, double *a,
                           int lda) {
  dger_(&m, &n, &alpha, x, &incx, y, &incy, a, &lda);
}
static inline void bl_dsymv(char uplo, int n, double alpha, const double *a, int lda, const double *x, int incx,
                            double beta, double *y, int incy) {
  dsymv_(&uplo, &n, &alpha, a, &lda, x, &incx, &beta, y, &incy, 1);
}
static inline void bl_dsyr(char uplo, int n, double alpha, const double *x, int incx, double *a, int lda) {
  dsyr_(&uplo, &n, &alpha, x, &incx, a, &lda, 1);
}
static inline void bl_dtrsv(char uplo, char trans, char diag, int n, const double *a, int lda, double *x, int incx) {
  dtrsv_(&uplo, &trans, &diag, &n, a, &lda, x, &incx, 1, 1, 1);
}
static inline void bl_dgemm(char transa, char transb, int m, int n, int k, double alpha, const double *a, int lda,
                            const double *b, int ldb, double beta, double *c, int ldc) {
  dgemm_(&transa, &transb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1, 1);
}
static inline void bl_dsymm(char side, char uplo, int m, int n, double alpha, const double *a, int lda, const double *b,
                            int ldb, double beta, double *c, int ldc) {
  dsymm_(&side, &uplo, &m, &n, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1, 1);
}
static inline void bl_dsyrk(char uplo, char trans, int n, int k, double alpha, const double *a, int lda, double beta,
                            double *c, int ldc) {
  dsyrk_(&uplo, &trans, &n, &k, &alpha, a, &lda, &beta, c, &ldc, 1, 1);
}
static inline void bl_dtrsm(char side, char uplo, char transa, char diag, int m, int n, double alpha, const double *a,
                            int lda, double *b, int ldb) {
  dtrsm_(&side, &uplo, &transa, &diag, &m, &n, &alpha, a, &lda, b, &ldb, 1, 1, 1, 1);
}

/* The Cholesky factor; the inverse from it; solutions with it. */
static inline int bl_dpotrf(char uplo, int n, double *a, int lda) {
  int info = 0;
  dpotrf_(&uplo, &n, a, &lda, &info, 1);
  return info;
}
static inline int bl_dpotri(char uplo, int n, double *a, int lda) {
  int info = 0;
  dpotri_(&uplo, &n, a, &lda, &info, 1);
  return info;
}
/* Copies the lower triangle of a matrix [n,n] to the upper. */
static inline void bl_mirror(int n, double *a) {
  for (int j = 0; j < n; j++)
    for (int i = 0; i < j; i++) a[i + (size_t)j * (size_t)n] = a[j + (size_t)i * (size_t)n];
}
/* a [n,n] <- the inverse of the symmetric matrix whose lower triangle it holds. Returns the log of its determinant; NaN
 * where it is not positive definite. */
static inline double bl_invert(int n, double *a) {
  double log_det = 0;
  if (bl_dpotrf('L', n, a, n) != 0) return NAN;
  for (int j = 0; j < n; j++) log_det += 2 * log(a[(size_t)j * (size_t)(n + 1)]);
  if (bl_dpotri('L', n, a, n) != 0) return NAN;
  bl_mirror(n, a);
  return log_det;
}
static inline int bl_dpotrs(char uplo, int n, int nrhs, const double *a, int lda, double *b, int ldb) {
  int info = 0;
  dpotrs_(&uplo, &n, &nrhs, a, &lda, b, &ldb, &info, 1);
  return info;
}
/* LU factors. */
static inline int bl_dgetrf(int m, int n, double *a, int lda, int *pivots) {
  int info = 0;
  dgetrf_(&m, &n, a, &lda, pivots, &info);
  return info;
}
/* QR factors; Q of them; singular values, descending, without vectors (a is overwritten). lwork -1: the size of
 * workspace that is best goes to work[0]. */
static inline int bl_dgeqrf_work(int m, int n, double *a, int lda, double *tau, double *work, int lwork) {
  int info = 0;
  dgeqrf_(&m, &n, a, &lda, tau, work, &lwork, &info);
  return info;
}
static inline int bl_dorgqr_work(int m, int n, int k, double *a, int lda, const double *tau, double *work, int lwork) {
  int info = 0;
  dorgqr_(&m, &n, &k, a, &lda, tau, work, &lwork, &info);
  return info;
}
static inline int bl_dgesvd_work(int m, int n, double *a, int lda, double *values, double *work, int lwork) {
  const int one = 1;
  int info = 0;
  double none = 0;
  dgesvd_("N", "N", &m, &n, a, &lda, values, &none, &one, &none, &one, work, &lwork, &info, 1, 1);
  return info;
}

int bl_dgetri(int n, double *a, int lda, const int *pivots); /* the inverse from LU factors */
/* Least squares of least norm, by a complete orthogonal factor; *rank is that of a. */
int bl_dgelsy(int m, int n, int nrhs, double *a, int lda, double *b, int ldb, int *pivots, double rcond, int *rank);
int bl_dgeqrf(int m, int n, double *a, int lda, double *tau);              /* QR factors */
int bl_dorgqr(int m, int n, int k, double *a, int lda, const double *tau); /* Q of them */
int bl_dgesvd(int m, int n, double *a, int lda, double *values);           /* singular values */
/* Eigenvalues of a symmetric matrix, ascending; jobz 'V': vectors over a too. By QR steps. */
int bl_dsyev(char jobz, char uplo, int n, double *a, int lda, double *values);
/* As bl_dsyev, by the method of division into halves. */
int bl_dsyevd(char jobz, char uplo, int n, double *a, int lda, double *values);
/* Eigenvalues first..last (1 is the least), *found of them, with their vectors in z; support is [2 n]. */
int bl_dsyevr(char uplo, int n, double *a, int lda, int first, int last, int *found, double *values, double *z, int ldz,
              int *support);
/* The same of a tridiagonal matrix: d on the diagonal, e beside it. */
int bl_dstevr(int n, double *d, double *e, int first, int last, int *found, double *values, double *z, int ldz,
              int *support);

#endif
