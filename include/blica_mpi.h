/* blica_mpi.h - the processes of an MPI program work as one: libblica_mpi beside libblica.
 *
 *     MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
 *     blica_ctx_create(&ctx);
 *     blica_mpi_comm(MPI_COMM_WORLD, &comm);
 *     blica_set_comm(ctx, &comm);
 *
 * blica_ranks.h says what the processes do from then on. */
#ifndef BLICA_MPI_H
#define BLICA_MPI_H

#include <mpi.h>

#include "blica_ranks.h"

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
