/* split.c - see split.h. */
#include "base/split.h"

#include <string.h>

#include "base/ctx.h"
#include "base/text.h"

enum { SLICE = 512 }; /* doubles of a place that one thread adds at a time: the branches stay in its cache */

blica_status bl_split_make(blica_ctx *ctx, int64_t count, bl_split *split) {
  const int rank = bl_comm(ctx)->rank, size = bl_comm(ctx)->size;
  *split = (bl_split){.rank = rank, .size = size, .count = count};
  MUST(bl_alloc(ctx, (size_t)size + 1, &split->bound));
  for (int r = 0; r <= size; r++) split->bound[r] = count * r / size;
  split->first = split->bound[rank];
  split->last = split->bound[rank + 1];
  return BLICA_OK;
}

void bl_split_free(bl_split *split) {
  bl_free(split->bound);
  bl_free(split->buffer);
  *split = (bl_split){0};
}

typedef struct {
  bl_task task;
  void *user;
  int64_t first;
} shifted;

static void run_shifted(int64_t item, int thread, void *user) {
  const shifted *s = user;
  s->task(s->first + item, thread, s->user);
}

void bl_split_run(blica_ctx *ctx, const bl_split *split, bl_task task, void *user) {
  shifted s = {task, user, split->first};
  if (split->first == 0) {
    bl_parallel(ctx, split->last, task, user);
    return;
  }
  bl_parallel(ctx, split->last - split->first, run_shifted, &s);
}

/* ---- the tree ---- */

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Branch of the tree at item i that is the largest within the items before `last`: how many items it spans. */
static int64_t branch(const bl_split *split, int64_t i, int64_t last) {
  const int64_t count = split->count;
  int64_t step = 1;
  while (step < count && i % (2 * step) == 0 && i + step < count && least(i + 2 * step, count) <= last) step *= 2;
  return step;
}

static int64_t branches(const bl_split *split, int rank) {
  int64_t found = 0, last = split->bound[rank + 1];
  for (int64_t i = split->bound[rank]; i < last; i += branch(split, i, last)) found++;
  return found;
}

static double *place(const bl_places *sum, int64_t i) {
  return sum->x + sum->each * (size_t)i;
}

typedef struct {
  const bl_split *split;
  const bl_places *sum;
  bool rest; /* what no rank could add alone; else what this rank can */
} addition;

/* Whether i..end-1 lies within one rank. */
static bool owned(const bl_split *split, int64_t i, int64_t end) {
  int rank = 0;
  while (split->bound[rank + 1] <= i) rank++;
  return end <= split->bound[rank + 1];
}

/* Adds one slice of the doubles of all items pairwise, as in a binary tree. */
static void add_slice(int64_t slice, int thread, void *user) {
  const addition *a = user;
  const bl_split *split = a->split;
  const size_t each = a->sum->each, from = (size_t)slice * SLICE, to = from + SLICE < each ? from + SLICE : each;
  (void)thread;
  for (int64_t step = 1; step < split->count; step *= 2) {
    int64_t low = a->rest ? 0 : (split->first + 2 * step - 1) / (2 * step) * (2 * step);
    int64_t high = a->rest ? split->count : split->last;
    for (int64_t i = low; i + step < high; i += 2 * step) {
      int64_t end = least(i + 2 * step, split->count);
      if (a->rest ? owned(split, i, end) : end > split->last) continue;
      double *to_place = place(a->sum, i);
      const double *from_place = place(a->sum, i + step);
      for (size_t e = from; e < to; e++) to_place[e] += from_place[e];
    }
  }
}

static void add_up(blica_ctx *ctx, const bl_split *split, const bl_places *sum, bool rest) {
  addition a = {split, sum, rest};
  bl_parallel(ctx, (int64_t)((sum->each + SLICE - 1) / SLICE), add_slice, &a);
}

/* ---- messages ---- */

/* No exchange is possible any more: this process had no memory for one, or the others are gone. */
static blica_status lost(blica_ctx *ctx) {
  if (ctx->comm_failed == BLICA_ERR_MEMORY)
    return bl_fail(ctx, BLICA_ERR_MEMORY, "out of memory: there is no room for messages to the other processes");
  ctx->comm_failed = BLICA_ERR_INTERNAL;
  return bl_fail(ctx, BLICA_ERR_INTERNAL, "the other processes cannot be reached");
}

/* This rank cannot take part in an exchange: all later ones fail here, for that reason. */
static void give_up(blica_ctx *ctx, blica_status why) {
  ctx->comm_failed = (int)why;
}

blica_status bl_comm_check(blica_ctx *ctx) {
  return ctx->comm_failed ? lost(ctx) : BLICA_OK;
}

/* Copies what `rank` made into its part of the message, or out of it. */
static void move(const bl_split *split, int rank, int lists, const bl_places *list, const bl_places *sum, double *part,
                 bool out) {
  const int64_t first = split->bound[rank], last = split->bound[rank + 1];
  for (int i = 0; i < lists; i++) {
    double *own = list[i].x + list[i].each * (size_t)first;
    size_t size = list[i].each * (size_t)(last - first);
    if (size) memcpy(out ? own : part, out ? part : own, size * sizeof *own);
    part += size;
  }
  for (int64_t i = first; sum && i < last; i += branch(split, i, last)) {
    double *own = place(sum, i);
    if (sum->each) memcpy(out ? own : part, out ? part : own, sum->each * sizeof *own);
    part += sum->each;
  }
}

/* Every message carries its rank's request to stop, so that bl_poll_agreed needs no exchange of its own. */
static void take_stop_requests(blica_ctx *ctx, const bl_split *split, const size_t *count, const size_t *offset) {
  ctx->stop_requests = 0;
  for (int r = 0; r < split->size; r++) ctx->stop_requests += split->buffer[offset[r] + count[r] - 1];
  ctx->stop_exchanged = true;
}

/* Sends the places of this rank and the branches of its sums to all ranks, and receives theirs. */
static blica_status swap_messages(blica_ctx *ctx, bl_split *split, int lists, const bl_places *list,
                                  const bl_places *sum) {
  BL_OWNED size_t *count = NULL;
  size_t *offset, total = 0;
  MUST(bl_alloc(ctx, 2 * (size_t)split->size, &count));
  offset = count + split->size;
  for (int r = 0; r < split->size; r++) {
    size_t items = (size_t)(split->bound[r + 1] - split->bound[r]);
    for (int i = 0; i < lists; i++) count[r] += items * list[i].each;
    if (sum) count[r] += (size_t)branches(split, r) * sum->each;
    count[r]++; /* the request to stop, last */
    offset[r] = total;
    total += count[r];
  }
  if (total > split->buffer_size) {
    bl_free(split->buffer);
    split->buffer = NULL, split->buffer_size = 0;
    MUST(bl_alloc(ctx, total, &split->buffer));
    split->buffer_size = total;
  }
  move(split, split->rank, lists, list, sum, split->buffer + offset[split->rank], false);
  split->buffer[offset[split->rank] + count[split->rank] - 1] = ctx->stop_request;
  if (ctx->comm.gather(split->buffer, count, offset, ctx->comm.user) != 0) MUST(lost(ctx));
  for (int r = 0; r < split->size; r++)
    if (r != split->rank) move(split, r, lists, list, sum, split->buffer + offset[r], true);
  take_stop_requests(ctx, split, count, offset);
  return BLICA_OK;
}

blica_status bl_split_exchange(blica_ctx *ctx, bl_split *split, int lists, const bl_places *list,
                               const bl_places *sum) {
  blica_status status = bl_comm_check(ctx);
  if (status != BLICA_OK) return status;
  if (sum) add_up(ctx, split, sum, false);
  if (split->size == 1) return BLICA_OK;
  status = swap_messages(ctx, split, lists, list, sum);
  if (status != BLICA_OK) {
    give_up(ctx, status); /* the others wait for a message that will not come */
    return status;
  }
  if (sum) add_up(ctx, split, sum, true);
  return BLICA_OK;
}

blica_status bl_broadcast(blica_ctx *ctx, void *bytes, size_t count, int root) {
  if (ctx->comm.size == 1 || count == 0) return BLICA_OK;
  if (ctx->comm_failed || ctx->comm.broadcast(bytes, count, root, ctx->comm.user) != 0) return lost(ctx);
  return BLICA_OK;
}

/* size: how many texts, and their bytes with their zeros. */
static blica_status receive_texts(blica_ctx *ctx, char *const *texts, const int64_t size[2], int root,
                                  const char ***out) {
  blica_status status;
  char *at;
  TRY(bl_alloc(ctx, (size_t)size[0] + 1, out));
  TRY(bl_alloc_for(ctx, *out, (size_t)size[1], &at));
  (*out)[0] = at;
  for (int64_t i = 0; ctx->comm.rank == root && i < size[0]; i++) at = bl_text_put(at, texts[i]) + 1;
  TRY(bl_broadcast(ctx, (void *)(*out)[0], (size_t)size[1], root));
  for (int64_t i = 0; i < size[0]; i++) (*out)[i + 1] = (*out)[i] + strlen((*out)[i]) + 1;
done:
  if (status != BLICA_OK) give_up(ctx, status); /* the others wait for a message that will not come */
  return status;
}

blica_status bl_broadcast_texts(blica_ctx *ctx, char *const *texts, int *count, int root, const char ***out) {
  int64_t size[2] = {*count, 0};
  *out = NULL;
  for (int i = 0; ctx->comm.rank == root && i < *count; i++) size[1] += (int64_t)strlen(texts[i]) + 1;
  blica_status status = bl_broadcast(ctx, size, sizeof size, root);
  *count = (int)size[0];
  return status == BLICA_OK ? receive_texts(ctx, texts, size, root, out) : status;
}

blica_status bl_sum_disjoint(blica_ctx *ctx, double *x, size_t count) {
  if (ctx->comm.size == 1 || count == 0) return BLICA_OK;
  if (ctx->comm_failed || ctx->comm.sum(x, count, ctx->comm.user) != 0) return lost(ctx);
  return BLICA_OK;
}

/* ---- agreement ---- */

static double sum_of(blica_ctx *ctx, double x) {
  if (ctx->comm.size == 1 || ctx->comm_failed) return x;
  if (ctx->comm.sum(&x, 1, ctx->comm.user) != 0) (void)lost(ctx);
  return x;
}

bool bl_any(blica_ctx *ctx, bool here) {
  return sum_of(ctx, here) > 0;
}

blica_status bl_agree(blica_ctx *ctx, blica_status status) {
  const blica_comm *comm = &ctx->comm;
  if (comm->size == 1 || ctx->comm_failed) return status;
  if (!bl_any(ctx, status != BLICA_OK)) return ctx->comm_failed ? lost(ctx) : status;
  for (int r = 0; r < comm->size; r++) {
    struct {
      int32_t status;
      char message[BL_MESSAGE];
    } note = {.status = (int32_t)status};
    memcpy(note.message, ctx->message, BL_MESSAGE);
    if (comm->broadcast(&note, sizeof note, r, comm->user) != 0) return lost(ctx);
    if (note.status == BLICA_OK) continue;
    memcpy(ctx->message, note.message, BL_MESSAGE);
    return (blica_status)note.status;
  }
  return status;
}

/* Requests to stop travel with the next exchange; all ranks get them there and act on them at their next poll. Only
 * where nothing was exchanged in between is there an exchange for them alone. */
int bl_poll_agreed(blica_ctx *ctx, const blica_progress *progress, double deadline) {
  int user = bl_poll(ctx, progress), late = bl_seconds() > deadline;
  if (ctx->comm.size == 1) return user | late << 1;
  ctx->stop_request = user + 65536.0 * late; /* both exact for fewer ranks than that */
  double requests = ctx->stop_exchanged ? ctx->stop_requests : sum_of(ctx, ctx->stop_request);
  ctx->stop_exchanged = false;
  int64_t both = (int64_t)requests;
  if (both % 65536 && !user) bl_poll_stop(ctx);
  return (both % 65536 != 0) | (both / 65536 != 0) << 1 | (ctx->comm_failed ? 1 : 0);
}

blica_status bl_split_children(blica_ctx *ctx, int64_t count, const char *stage, bl_child_task task, void *user,
                               int lists, const bl_places *list) {
  BL_CLEAN(bl_split_free) bl_split split = {0};
  MUST(bl_split_make(ctx, count, &split));
  const blica_status made = bl_agree(ctx, bl_parallel_children(ctx, split.first, split.last, stage, task, user));
  if (made == BLICA_OK || made == BLICA_ERR_INTERRUPTED) MUST(bl_split_exchange(ctx, &split, lists, list, NULL));
  return made;
}
