/* relay.c - see relay.h. */
#include "ranks/relay.h"

#include "base/share.h"

struct bl_relay {
  blica_ctx *ctx;
  bl_relay_job job;
  int (*held)[2];            /* [size] segments of every rank, first and last */
  size_t *to, *from;         /* [size] bytes of one exchange */
  char *buffer[BL_RELAYED];  /* first rank: of each array, a segment that it does not hold */
  int in_buffer[BL_RELAYED]; /* which segment; -1: none */
};

static void free_relay(bl_relay *r) {
  bl_free(r->held);
  bl_free(r->to);
  for (int i = 0; i < BL_RELAYED; i++) bl_free(r->buffer[i]);
}

static bool first(const bl_relay *r) {
  return bl_comm(r->ctx)->rank == 0;
}

static bool holds(const int held[2], int s) {
  return held[0] <= s && s < held[1];
}

/* Memory: who holds what, and buffers for what the first rank does not. */
static blica_status prepare(bl_relay *r) {
  blica_status status;
  const size_t size = (size_t)bl_comm(r->ctx)->size;
  TRY(bl_alloc(r->ctx, size, &r->held));
  TRY(bl_alloc(r->ctx, 2 * size, &r->to));
  r->from = r->to + size;
  const bool all = r->job.first == 0 && r->job.last == r->job.u;
  for (int a = 0; a < r->job.arrays; a++) {
    r->in_buffer[a] = -1;
    if (first(r) && !all) TRY(bl_alloc(r->ctx, bl_mul((size_t)r->job.pairs, r->job.array[a].size), &r->buffer[a]));
  }
done:
  return status;
}

static blica_status exchange_ranges(bl_relay *r) {
  blica_status status = BLICA_OK;
  const blica_comm *comm = bl_comm(r->ctx);
  r->held[comm->rank][0] = r->job.first, r->held[comm->rank][1] = r->job.last;
  for (int q = 0; q < comm->size; q++) TRY(bl_broadcast(r->ctx, r->held[q], sizeof *r->held, q));
done:
  return status;
}

/* Every segment is on one rank, or all are on the first. */
static blica_status check(bl_relay *r) {
  int at = 0, all = r->job.u;
  bool apart = true;
  for (int q = 0; q < bl_comm(r->ctx)->size; q++) {
    if (r->held[q][0] == r->held[q][1]) continue;
    apart = apart && r->held[q][0] == at;
    at = r->held[q][1];
  }
  if ((apart && at == all) || (r->held[0][0] == 0 && r->held[0][1] == all)) return BLICA_OK;
  return bl_fail(r->ctx, BLICA_ERR_ARGUMENT,
                 "%d segments of which the ranks do not hold every one once: they were shared by another "
                 "number of ranks",
                 r->job.u);
}

/* Where this rank has a segment that it holds. */
static const void *segment_of(const bl_relay *r, int a, int s) {
  const bl_relayed *array = &r->job.array[a];
  return (const char *)array->held + array->size * (size_t)(r->job.pairs * (s - r->job.first));
}

/* One segment from the rank that holds it to the first; a call of all. */
static blica_status send(bl_relay *r, int a, int s, void *buffer) {
  const blica_comm *comm = bl_comm(r->ctx);
  const size_t bytes = r->job.array[a].size * (size_t)r->job.pairs;
  const bool here = holds(r->held[comm->rank], s);
  r->to[0] = here ? bytes : 0;
  for (int q = 0; q < comm->size; q++) r->from[q] = first(r) && holds(r->held[q], s) ? bytes : 0;
  return bl_all_to_all(r->ctx, here ? segment_of(r, a, s) : NULL, r->to, buffer, r->from);
}

typedef struct {
  int32_t array, segment; /* array -1: no more */
} request;

const void *bl_relay_get(bl_relay *r, int a, int s) {
  request w = {a, s};
  if (holds(r->held[0], s)) return segment_of(r, a, s);
  if (r->in_buffer[a] == s) return r->buffer[a];
  r->in_buffer[a] = -1;
  if (bl_broadcast(r->ctx, &w, sizeof w, 0) != BLICA_OK || send(r, a, s, r->buffer[a]) != BLICA_OK) return NULL;
  r->in_buffer[a] = s;
  return r->buffer[a];
}

/* Sends what the first rank asks for, until it wants no more. */
static blica_status serve(bl_relay *r) {
  blica_status status;
  for (;;) {
    request w = {-1, 0};
    TRY(bl_broadcast(r->ctx, &w, sizeof w, 0));
    if (w.array < 0) break;
    TRY(send(r, w.array, w.segment, NULL));
  }
done:
  return status;
}

blica_status bl_relay_run(blica_ctx *ctx, const bl_relay_job *job, const void *what, const char *path) {
  blica_status status;
  bl_relay r = {.ctx = ctx, .job = *job};
  TRY(bl_agree(ctx, prepare(&r)));
  TRY(exchange_ranges(&r));
  TRY(check(&r)); /* the same on all */
  TRY(bl_all_here(ctx));
  if (first(&r)) {
    request end = {-1, 0};
    status = job->write(ctx, what, &r, path);
    blica_status sent = bl_broadcast(ctx, &end, sizeof end, 0);
    if (sent != BLICA_OK) status = sent;
  } else {
    status = serve(&r);
  }
  status = bl_agree(ctx, status);
done:
  free_relay(&r);
  return status;
}
