/* blas.c - LAPACK with its workspace, which is as large as it asks for: the size chooses block sizes, and these the
 * bits. */
#include "num/linear/blas.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

void dgetri_(const int *, double *, const int *, const int *, double *, const int *, int *);
void dgelsy_(const int *, const int *, const int *, double *, const int *, double *, const int *, int *, const double *,
             int *, double *, const int *, int *);
void dsyev_(const char *, const char *, const int *, double *, const int *, double *, double *, const int *, int *,
            size_t, size_t);
void dsyevd_(const char *, const char *, const int *, double *, const int *, double *, double *, const int *, int *,
             const int *, int *, size_t, size_t);
void dsyevr_(const char *, const char *, const char *, const int *, double *, const int *, const double *,
             const double *, const int *, const int *, const double *, int *, double *, double *, const int *, int *,
             double *, const int *, int *, const int *, int *, size_t, size_t, size_t);
void dstevr_(const char *, const char *, const int *, double *, double *, const double *, const double *, const int *,
             const int *, const double *, int *, double *, double *, const int *, int *, double *, const int *, int *,
             const int *, int *, size_t, size_t);

enum { HAS_NAN = -1 };

static bool any_nan(int m, int n, const double *a, int lda) {
  for (int c = 0; c < n; c++)
    for (int r = 0; r < m; r++)
      if (isnan(a[(size_t)c * (size_t)lda + (size_t)r])) return true;
  return false;
}

/* The other triangle is not looked at. */
static bool triangle_nan(char uplo, int n, const double *a, int lda) {
  for (int c = 0; c < n; c++)
    if (any_nan(uplo == 'U' ? c + 1 : n - c, 1, a + (size_t)c * (size_t)lda + (uplo == 'U' ? 0 : c), lda)) return true;
  return false;
}

/* A call with lwork and liwork -1 tells which sizes it wants; the next one works. */
typedef struct {
  int calls, lwork, liwork, want_int;
  double want, *work;
  int *iwork;
} space;

/* Prepares the next call; false after the last, when the workspace is freed. */
static bool next_call(space *s, int *info) {
  switch (s->calls++) {
  case 0:
    s->lwork = s->liwork = -1;
    s->work = &s->want, s->iwork = &s->want_int;
    return true;
  case 1:
    if (*info != 0) return false;
    s->lwork = (int)s->want, s->liwork = s->want_int;
    s->work = malloc(((size_t)s->lwork + 1) * sizeof *s->work);
    s->iwork = malloc(((size_t)s->liwork + 1) * sizeof *s->iwork);
    if (s->work && s->iwork) return true;
    *info = BL_BLAS_NO_MEMORY;
  }
  free(s->work), free(s->iwork);
  return false;
}

int bl_dgetri(int n, double *a, int lda, const int *pivots) {
  int info = 0;
  if (any_nan(n, n, a, lda)) return HAS_NAN;
  for (space s = {0}; next_call(&s, &info);) dgetri_(&n, a, &lda, pivots, s.work, &s.lwork, &info);
  return info;
}

int bl_dgelsy(int m, int n, int nrhs, double *a, int lda, double *b, int ldb, int *pivots, double rcond, int *rank) {
  int info = 0;
  if (any_nan(m, n, a, lda) || any_nan(m > n ? m : n, nrhs, b, ldb)) return HAS_NAN;
  for (space s = {0}; next_call(&s, &info);)
    dgelsy_(&m, &n, &nrhs, a, &lda, b, &ldb, pivots, &rcond, rank, s.work, &s.lwork, &info);
  return info;
}

int bl_dgeqrf(int m, int n, double *a, int lda, double *tau) {
  int info = 0;
  if (any_nan(m, n, a, lda)) return HAS_NAN;
  for (space s = {0}; next_call(&s, &info);) info = bl_dgeqrf_work(m, n, a, lda, tau, s.work, s.lwork);
  return info;
}

int bl_dorgqr(int m, int n, int k, double *a, int lda, const double *tau) {
  int info = 0;
  if (any_nan(m, n, a, lda) || any_nan(k, 1, tau, k)) return HAS_NAN;
  for (space s = {0}; next_call(&s, &info);) info = bl_dorgqr_work(m, n, k, a, lda, tau, s.work, s.lwork);
  return info;
}

int bl_dgesvd(int m, int n, double *a, int lda, double *values) {
  int info = 0;
  if (any_nan(m, n, a, lda)) return HAS_NAN;
  for (space s = {0}; next_call(&s, &info);) info = bl_dgesvd_work(m, n, a, lda, values, s.work, s.lwork);
  return info;
}

int bl_dsyev(char jobz, char uplo, int n, double *a, int lda, double *values) {
  int info = 0;
  if (triangle_nan(uplo, n, a, lda)) return HAS_NAN;
  for (space s = {0}; next_call(&s, &info);) dsyev_(&jobz, &uplo, &n, a, &lda, values, s.work, &s.lwork, &info, 1, 1);
  return info;
}

int bl_dsyevd(char jobz, char uplo, int n, double *a, int lda, double *values) {
  int info = 0;
  if (triangle_nan(uplo, n, a, lda)) return HAS_NAN;
  for (space s = {0}; next_call(&s, &info);)
    dsyevd_(&jobz, &uplo, &n, a, &lda, values, s.work, &s.lwork, s.iwork, &s.liwork, &info, 1, 1);
  return info;
}

int bl_dsyevr(char uplo, int n, double *a, int lda, int first, int last, int *found, double *values, double *z, int ldz,
              int *support) {
  const double zero = 0;
  int info = 0;
  if (triangle_nan(uplo, n, a, lda)) return HAS_NAN;
  for (space s = {0}; next_call(&s, &info);)
    dsyevr_("V", "I", &uplo, &n, a, &lda, &zero, &zero, &first, &last, &zero, found, values, z, &ldz, support, s.work,
            &s.lwork, s.iwork, &s.liwork, &info, 1, 1, 1);
  return info;
}

int bl_dstevr(int n, double *d, double *e, int first, int last, int *found, double *values, double *z, int ldz,
              int *support) {
  const double zero = 0;
  int info = 0;
  if (any_nan(n, 1, d, n) || any_nan(n - 1, 1, e, n)) return HAS_NAN;
  for (space s = {0}; next_call(&s, &info);)
    dstevr_("V", "I", &n, d, e, &zero, &zero, &first, &last, &zero, found, values, z, &ldz, support, s.work, &s.lwork,
            s.iwork, &s.liwork, &info, 1, 1);
  return info;
}
