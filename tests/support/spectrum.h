/* spectrum.h - the ends of the spectrum of a square matrix whose eigenvalues are real. */
#ifndef SPECTRUM_H
#define SPECTRUM_H

#include <math.h>
#include <stdlib.h>

void dgeev_(const char *, const char *, const int *, double *, const int *, double *, double *, double *, const int *,
            double *, const int *, double *, const int *, int *, size_t, size_t);

/* The least and the largest eigenvalue of matrix [size,size], which is overwritten; whether all were found and real. */
static bool find_spectrum(int size, double *matrix, double *least, double *most) {
  const int one = 1, room = 8 * size;
  double *real = calloc((size_t)size, sizeof *real), *imaginary = calloc((size_t)size, sizeof *real),
         *work = calloc((size_t)room, sizeof *work);
  int info;
  bool fine = true;
  dgeev_("N", "N", &size, matrix, &size, real, imaginary, NULL, &one, NULL, &one, work, &room, &info, 1, 1);
  *least = INFINITY, *most = -INFINITY;
  for (int i = 0; i < size; i++) {
    *least = fmin(*least, real[i]), *most = fmax(*most, real[i]);
    fine = fine && fabs(imaginary[i]) < 1e-6;
  }
  free(real), free(imaginary), free(work);
  return fine && info == 0;
}

#endif
