/* communicator.h - the processes that the program consists of: one (communicator_alone.c), or the ranks of
 * `mpirun blica-mpi` (communicator_mpi.c). Every process runs the same command; the one that leads prints and writes.
 */
#ifndef COMMUNICATOR_H
#define COMMUNICATOR_H

#include <stdbool.h>

#include "blica_ranks.h"

void communicator_begin(int *argc, char ***argv); /* before anything else */
void communicator_share(bool shared);             /* whether all run the command together, or the first alone */
const blica_comm *communicator(void);             /* for blica_set_comm; NULL: alone */
bool at_terminal(void); /* whether a reader sees the standard output; mpirun always feigns one */
bool leads(void);       /* whether this process is the one that writes and prints */
/* Whether all processes give the same lines; the leading one says which differ. A call of all, before any other. */
bool communicator_same(const char *lines);
int communicator_threads(int wanted); /* threads of this process when 0 (as many as cores) is wanted */
bool agree_on(bool here);             /* what the leading process says; a call of all */
bool writes(void); /* waits until all have made the result; then whether this process, the leading one, writes it */
/* Ends all processes with one exit code. A process that failed alone says so and ends the others. */
int communicator_end(int code);

#endif
