/* blica_mpi.h - ranks of an MPI program as one: libblica_mpi beside libblica.
 *
 *     MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
 *     blica_ctx_create(&ctx);
 *     blica_mpi_comm(MPI_COMM_WORLD, &comm);
 *     blica_set_comm(ctx, &comm);
 *
 * From then on every rank makes the same calls with the same input and options. Each does its share of the work,
 * all get the same result (the bits of one process alone), and rank 0 writes files. Of many variables counts and
 * correlations are shared out: each rank has those of its own segments (blica_count_begin). */
#ifndef BLICA_MPI_H
#define BLICA_MPI_H

#include <mpi.h>

#include "blica.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The communicator stays the caller's: give one of its own (MPI_Comm_dup) when other messages travel on it, and free it
 * after the context. Calls come from the thread that calls the library. BLICA_ERR_ARGUMENT for MPI_COMM_NULL. */
BLICA_API blica_status blica_mpi_comm(MPI_Comm comm, blica_comm *out);

#ifdef __cplusplus
}
#endif
#endif /* BLICA_MPI_H */
