/* relay.h - tables that ranks hold, each those of its segments, handed to the first rank while it writes them.
 *
 * Arrays have one element for each pair of each segment. A rank holds some segments, one rank's after another's, or all
 * have all. The first rank asks for one segment at a time, and holds one of each array of the others'. */
#ifndef BL_RELAY_H
#define BL_RELAY_H

#include "base/base.h"

enum { BL_RELAYED = 4 }; /* arrays at most */

typedef struct bl_relay bl_relay;

typedef struct {
  const void *held; /* this rank's elements */
  size_t size;      /* of one, in bytes */
} bl_relayed;

/* The elements of segment s of array a, on the first rank: good until another segment of that array is asked for. NULL:
 * the ranks cannot be reached. */
const void *bl_relay_get(bl_relay *relay, int a, int s);

typedef struct {
  int u;
  int64_t pairs;
  int first, last; /* this rank holds the segments first..last-1 */
  int arrays;
  bl_relayed array[BL_RELAYED];
  blica_status (*write)(blica_ctx *ctx, const void *what, bl_relay *relay, const char *path);
} bl_relay_job;

/* Writes by the first rank, when all have come this far; the others give it what it asks for. A call of all ranks. */
blica_status bl_relay_run(blica_ctx *ctx, const bl_relay_job *job, const void *what, const char *path);

#endif
