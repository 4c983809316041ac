/* comm_mpi.c - the communicator callbacks by MPI. The only source of the library that sees mpi.h.
 *
 * Doubles travel as bits; `sum` is only asked for whole numbers, whose sum does not depend on the order. Counts above
 * what an int holds go in pieces. */
#include "blica_mpi.h"

#include <stdlib.h>
#include <string.h>

enum {
  PIECE = 1 << 30, /* elements of a message */
  FEW = 256,       /* ranks for which nothing is allocated: exchanges come in every iteration */
};

_Static_assert(sizeof(MPI_Comm) <= sizeof(void *), "the handle of a communicator fits into a pointer");

static MPI_Comm comm_of(void *user) {
  MPI_Comm comm;
  memcpy(&comm, &user, sizeof comm);
  return comm;
}

static int sum(double *x, size_t count, void *user) {
  for (size_t at = 0; at < count; at += PIECE) {
    int now = (int)(count - at < PIECE ? count - at : PIECE);
    int code = MPI_Allreduce(MPI_IN_PLACE, x + at, now, MPI_DOUBLE, MPI_SUM, comm_of(user));
    if (code != MPI_SUCCESS) return code;
  }
  return 0;
}

static int broadcast(void *bytes, size_t count, int root, void *user) {
  for (size_t at = 0; at < count; at += PIECE) {
    int now = (int)(count - at < PIECE ? count - at : PIECE);
    int code = MPI_Bcast((char *)bytes + at, now, MPI_BYTE, root, comm_of(user));
    if (code != MPI_SUCCESS) return code;
  }
  return 0;
}

static int gather_small(double *x, const size_t *count, const size_t *offset, int size, MPI_Comm comm) {
  int few[2 * FEW] = {0}, *counts = size <= FEW ? few : malloc(2 * (size_t)size * sizeof *counts),
              *offsets = counts + size;
  if (!counts) return MPI_ERR_NO_MEM;
  for (int r = 0; r < size; r++) {
    counts[r] = (int)count[r];
    offsets[r] = (int)offset[r];
  }
  int code = MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, x, counts, offsets, MPI_DOUBLE, comm);
  if (counts != few) free(counts);
  return code;
}

static int gather(double *x, const size_t *count, const size_t *offset, void *user) {
  MPI_Comm comm = comm_of(user);
  int size, code = MPI_Comm_size(comm, &size);
  size_t most = 0;
  for (int r = 0; r < size; r++)
    if (offset[r] + count[r] > most) most = offset[r] + count[r];
  if (most <= PIECE) return gather_small(x, count, offset, size, comm);
  for (int r = 0; r < size && code == MPI_SUCCESS; r++) code = broadcast(x + offset[r], count[r] * sizeof *x, r, user);
  return code;
}

blica_status blica_mpi_comm(MPI_Comm comm, blica_comm *out) {
  *out = (blica_comm){.size = 1};
  if (comm == MPI_COMM_NULL || !out) return BLICA_ERR_ARGUMENT;
  if (MPI_Comm_rank(comm, &out->rank) != MPI_SUCCESS || MPI_Comm_size(comm, &out->size) != MPI_SUCCESS)
    return BLICA_ERR_ARGUMENT;
  out->sum = sum;
  out->gather = gather;
  out->broadcast = broadcast;
  memcpy(&out->user, &comm, sizeof comm);
  return BLICA_OK;
}
