/* mpi_ceiling.c - what sharing can reach at best on this machine: products of matrices of order 100, divided evenly
 * among the ranks, which wait for each other so many times. Nothing is sent, nothing is done twice, all have the same
 * to do: what is lost is the unsteadiness of the cores, of which the slower one counts between any two waits. Usage:
 * mpirun -n R mpi_ceiling WAITS PRODUCTS; prints seconds by the clock. See bench_mpi.sh. */
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

#include "num/linear/blas.h"

enum { ORDER = 100, MATRICES = 40 };

extern void openblas_set_num_threads(int threads) __attribute__((weak));

static double work(int rank, int size, int waits, int products, const double *a, const double *b, double *c) {
  const size_t each = (size_t)ORDER * ORDER;
  MPI_Barrier(MPI_COMM_WORLD);
  double begun = MPI_Wtime();
  for (int w = 0; w < waits; w++) {
    int64_t first = (int64_t)products * w / waits, items = (int64_t)products * (w + 1) / waits - first;
    for (int64_t i = first + items * rank / size; i < first + items * (rank + 1) / size; i++) {
      size_t at = each * (size_t)(i % MATRICES);
      bl_dgemm('N', 'N', ORDER, ORDER, ORDER, 1, b, ORDER, a + at, ORDER, 0, c + at, ORDER);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return MPI_Wtime() - begun;
}

int main(int argc, char **argv) {
  const size_t each = (size_t)ORDER * ORDER;
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (openblas_set_num_threads) openblas_set_num_threads(1);
  int waits = argc > 2 ? atoi(argv[1]) : 300, products = argc > 2 ? atoi(argv[2]) : 30000;
  double *a = malloc(each * MATRICES * sizeof *a), *b = malloc(each * sizeof *b),
         *c = calloc(each * MATRICES, sizeof *c);
  if (!a || !b || !c) MPI_Abort(MPI_COMM_WORLD, 1);
  for (size_t i = 0; i < each * MATRICES; i++) a[i] = (double)(i % 7);
  for (size_t i = 0; i < each; i++) b[i] = (double)(i % 5);
  (void)work(rank, size, 10, 400, a, b, c); /* warm up */
  double seconds = work(rank, size, waits, products, a, b, c);
  if (rank == 0) printf("%.4f\n", seconds);
  free(a);
  free(b);
  free(c);
  MPI_Finalize();
  return 0;
}
