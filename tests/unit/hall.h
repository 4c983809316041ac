/* hall.h - ranks as threads of one process, for tests: a communicator of meetings and copies. Ranks that meet in
 * different exchanges (where MPI would hang, or mix up messages) are found out; when one leaves, the exchanges of the
 * others fail. */
#ifndef HALL_H
#define HALL_H

#include <pthread.h>
#include <string.h>

#include "blica_ranks.h"

enum { HALL_MOST = 9 }; /* ranks */

typedef struct {
  int kind, root;
  size_t count;
} exchange;

typedef struct {
  int size, arrived, left, differ; /* left: somebody will not come any more; differ: exchanges that did */
  long generation;
  pthread_mutex_t lock;
  pthread_cond_t turn;
  const void *shown[HALL_MOST];
  const size_t *sizes[HALL_MOST];
  exchange wanted[HALL_MOST];
} hall;

typedef struct {
  hall *hall;
  int rank;
} seat;

static inline void hall_open(hall *h, int size) {
  memset(h, 0, sizeof *h);
  h->size = size;
  pthread_mutex_init(&h->lock, NULL);
  pthread_cond_init(&h->turn, NULL);
}

static inline void hall_close(hall *h) {
  pthread_mutex_destroy(&h->lock);
  pthread_cond_destroy(&h->turn);
}

/* This rank takes part in no exchange any more. */
static inline void hall_leave(hall *h) {
  pthread_mutex_lock(&h->lock);
  h->left = 1;
  pthread_cond_broadcast(&h->turn);
  pthread_mutex_unlock(&h->lock);
}

/* Waits until all ranks are here; 0 when they are, and want the same. */
static inline int meet(seat *me, const void *bytes, exchange wanted) {
  hall *h = me->hall;
  pthread_mutex_lock(&h->lock);
  long generation = h->generation;
  if (bytes) h->shown[me->rank] = bytes; /* NULL: as before */
  h->wanted[me->rank] = wanted;
  if (++h->arrived == h->size) {
    for (int r = 1; r < h->size; r++) {
      const exchange *a = &h->wanted[0], *b = &h->wanted[r];
      if (a->kind != b->kind || a->root != b->root || a->count != b->count) h->differ++, h->left = 1;
    }
    h->arrived = 0;
    h->generation++;
    pthread_cond_broadcast(&h->turn);
  }
  while (h->generation == generation && !h->left) pthread_cond_wait(&h->turn, &h->lock);
  int missed = h->generation == generation || h->differ;
  pthread_mutex_unlock(&h->lock);
  return missed;
}

static inline int hall_gather(double *x, const size_t *count, const size_t *offset, void *user) {
  seat *me = user;
  exchange wanted = {1, 0, 0};
  for (int r = 0; r < me->hall->size; r++) wanted.count += count[r];
  if (meet(me, x, wanted)) return 1;
  for (int r = 0; r < me->hall->size; r++)
    if (r != me->rank) memcpy(x + offset[r], (const double *)me->hall->shown[r] + offset[r], count[r] * sizeof *x);
  return meet(me, NULL, wanted);
}

static inline int hall_broadcast(void *bytes, size_t count, int root, void *user) {
  seat *me = user;
  exchange wanted = {2, root, count};
  if (meet(me, bytes, wanted)) return 1;
  if (root != me->rank) memcpy(bytes, me->hall->shown[root], count);
  return meet(me, NULL, wanted);
}

/* Each element is added in the order of ranks, into the first rank's memory, then copied. */
static inline int hall_sum(double *x, size_t count, void *user) {
  seat *me = user;
  exchange wanted = {3, 0, count};
  if (meet(me, x, wanted)) return 1;
  for (int r = 1; me->rank == 0 && r < me->hall->size; r++)
    for (size_t i = 0; i < count; i++) x[i] += ((const double *)me->hall->shown[r])[i];
  if (meet(me, NULL, wanted)) return 1;
  if (me->rank) memcpy(x, me->hall->shown[0], count * sizeof *x);
  return meet(me, NULL, wanted);
}

static inline int hall_deal(const void *send, const size_t *to, void *receive, const size_t *from, void *user) {
  seat *me = user;
  char *at = receive;
  exchange wanted = {4, 0, 0};
  int wrong = 0;
  me->hall->sizes[me->rank] = to;
  if (meet(me, send, wanted)) return 1;
  for (int r = 0; r < me->hall->size; at += from[r++]) {
    const char *there = me->hall->shown[r];
    for (int d = 0; d < me->rank; d++) there += me->hall->sizes[r][d];
    wrong |= me->hall->sizes[r][me->rank] != from[r]; /* both sides must know */
    if (!wrong && from[r]) memcpy(at, there, from[r]);
  }
  return meet(me, NULL, wanted) || wrong;
}

static inline blica_comm hall_comm(seat *s) {
  return (blica_comm){s->rank, s->hall->size, hall_sum, hall_gather, hall_broadcast, s, hall_deal};
}

#endif
