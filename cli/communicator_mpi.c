/* communicator_mpi.c - the ranks of an MPI job. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "blica_mpi.h"
#include "communicator.h"
#include "messages.h"

enum { PATIENCE = 3 }; /* seconds that a process that failed gives the others to fail likewise */

static MPI_Comm work = MPI_COMM_NULL, ending = MPI_COMM_NULL; /* apart, so that their messages cannot meet */
static blica_comm inner, counted;
static int rank, size = 1, local = 1;
static bool shared;
static int *codes; /* [size] exit codes, at the end, when it is too late to want memory */
static struct {
  double exchanges, bytes; /* bytes that this process received */
  double seconds, cpu;     /* spent in exchanges, waiting for others included */
  double begun;
} traffic;

/* ---- the library's callbacks, counted ---- */

static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void before(double received) {
  traffic.exchanges++;
  traffic.bytes += received;
  traffic.seconds -= MPI_Wtime();
  traffic.cpu -= cpu();
}

static int after(int code) {
  traffic.seconds += MPI_Wtime();
  traffic.cpu += cpu();
  return code;
}

static int sum(double *x, size_t count, void *user) {
  before((double)(count * sizeof *x));
  return after(inner.sum(x, count, user));
}

static int gather(double *x, const size_t *count, const size_t *offset, void *user) {
  double received = 0;
  for (int r = 0; r < size; r++)
    if (r != rank) received += (double)(count[r] * sizeof *x);
  before(received);
  return after(inner.gather(x, count, offset, user));
}

static int broadcast(void *from, size_t count, int root, void *user) {
  before(root == rank ? 0 : (double)count);
  return after(inner.broadcast(from, count, root, user));
}

/* ---- beginning ---- */

void communicator_begin(int *argc, char ***argv) {
  int level;
  MPI_Comm node;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_dup(MPI_COMM_WORLD, &work);
  MPI_Comm_dup(MPI_COMM_WORLD, &ending);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &local);
  MPI_Comm_free(&node);
  blica_mpi_comm(work, &inner);
  counted = inner;
  counted.sum = sum, counted.gather = gather, counted.broadcast = broadcast;
  rank = inner.rank, size = inner.size;
  traffic.begun = MPI_Wtime();
  codes = calloc((size_t)size, sizeof *codes);
  if (!codes) {
    fprintf(stderr, "blica: error: process %d of %d: out of memory\n", rank, size);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  if (rank == 0) return;
  if (!freopen("/dev/null", "w", stdout)) {
    fprintf(stderr, "blica: error: process %d of %d: cannot open /dev/null for the standard output: %s\n", rank, size,
            strerror(errno));
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  messages_keep();
}

void communicator_share(bool yes) {
  shared = yes;
}
const blica_comm *communicator(void) {
  return shared && size > 1 ? &counted : NULL;
}
bool at_terminal(void) {
  return false;
}
bool leads(void) {
  return rank == 0;
}

/* The first line in which two texts differ, of each. */
static void first_difference(const char *a, const char *b, char *line_a, char *line_b, size_t capacity) {
  for (;;) {
    size_t x = strcspn(a, "\n"), y = strcspn(b, "\n");
    snprintf(line_a, capacity, "%.*s", (int)x, a);
    snprintf(line_b, capacity, "%.*s", (int)y, b);
    if (strcmp(line_a, line_b) != 0 || !a[x] || !b[y]) return;
    a += x + 1, b += y + 1;
  }
}

bool communicator_same(const char *lines) {
  enum { TEXT = 8192, LINE = 256 };
  static char own[TEXT], first[TEXT], other[TEXT];
  int differing = size;
  if (size == 1) return true;
  snprintf(own, sizeof own, "%s", lines);
  memcpy(first, own, sizeof own);
  MPI_Bcast(first, TEXT, MPI_CHAR, 0, work);
  int mine = strcmp(own, first) == 0 ? size : rank;
  MPI_Allreduce(&mine, &differing, 1, MPI_INT, MPI_MIN, work);
  if (differing == size) return true;
  memcpy(other, own, sizeof own);
  MPI_Bcast(other, TEXT, MPI_CHAR, differing, work);
  char there[LINE], here[LINE];
  first_difference(other, first, there, here, LINE);
  say_error("the processes differ: process %d of %d has '%s', the first has '%s'; all must have the same program, kind "
            "of processor and options",
            differing, size, there, here);
  return false;
}

int communicator_threads(int wanted) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (wanted > 0) return wanted;
  return cores > local ? (int)(cores / local) : 1;
}

bool agree_on(bool here) {
  int word = here;
  if (!communicator()) return here;
  MPI_Bcast(&word, 1, MPI_INT, 0, work);
  return word != 0;
}

bool writes(void) {
  if (communicator()) MPI_Barrier(work);
  return leads();
}

/* ---- ending ---- */

/* Waits for the others to end too, not for ever when this process failed. */
static bool all_ended(MPI_Request *request, bool failed) {
  struct timespec pause = {.tv_nsec = 2000000};
  double begun = MPI_Wtime();
  int done = 0;
  while (MPI_Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
    if (failed && MPI_Wtime() - begun > PATIENCE) return false;
    nanosleep(&pause, NULL);
  }
  return true;
}

static void say_alone(void) {
  const char *kept = messages_kept();
  fprintf(stderr, "blica: error: process %d of %d: %s\n", rank, size, *kept ? kept : "failed");
}

/* What the exchanges were, and the processor seconds of the process that computed longest. */
static void note_traffic(void) {
  double computed = cpu() - traffic.cpu, most;
  MPI_Reduce(&computed, &most, 1, MPI_DOUBLE, MPI_MAX, 0, ending);
  if (rank == 0 && shared)
    say_note("%d process%s: %.6g bytes received by the first in %.0f exchanges of %.3g s in all; computed for %.3g s, "
             "of %.3g s",
             size, size > 1 ? "es" : "", traffic.bytes, traffic.exchanges, traffic.seconds, most,
             MPI_Wtime() - traffic.begun);
}

int communicator_end(int code) {
  int first = 0;
  MPI_Request request;
  fflush(stdout);
  MPI_Iallgather(&code, 1, MPI_INT, codes, 1, MPI_INT, ending, &request);
  if (!all_ended(&request, code != 0)) {
    if (rank) say_alone();
    MPI_Abort(MPI_COMM_WORLD, code);
  }
  while (first < size - 1 && codes[first] == 0) first++;
  code = codes[first];
  if (code && rank == first && rank) say_alone();
  free(codes);
  note_traffic();
  MPI_Comm_free(&work);
  MPI_Comm_free(&ending);
  MPI_Finalize();
  return code;
}
