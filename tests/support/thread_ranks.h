/* thread_ranks.h - ranks as threads of one process, for tests: a communicator of meetings and copies. Ranks that meet
 * in different exchanges (where MPI would hang, or mix up messages) are found out; when one leaves, the exchanges of
 * the others fail. */
#ifndef THREAD_RANKS_H
#define THREAD_RANKS_H

#include <pthread.h>
#include <string.h>

#include "blica_ranks.h"

enum { MOST_RANKS = 9 }; /* ranks */

typedef struct {
  int kind, root;
  size_t count;
} exchange;

typedef struct {
  int size, arrived, left, differ; /* left: somebody will not come any more; differ: exchanges that did */
  long generation;
  pthread_mutex_t lock;
  pthread_cond_t met;
  const void *shown[MOST_RANKS];
  exchange wanted[MOST_RANKS];
} group;

typedef struct {
  group *group;
  int rank;
} member;

static inline void group_open(group *g, int size) {
  memset(g, 0, sizeof *g);
  g->size = size;
  pthread_mutex_init(&g->lock, NULL);
  pthread_cond_init(&g->met, NULL);
}

static inline void group_close(group *g) {
  pthread_mutex_destroy(&g->lock);
  pthread_cond_destroy(&g->met);
}

/* This rank takes part in no exchange any more. */
static inline void group_leave(group *g) {
  pthread_mutex_lock(&g->lock);
  g->left = 1;
  pthread_cond_broadcast(&g->met);
  pthread_mutex_unlock(&g->lock);
}

/* Waits until all ranks are here; 0 when they are, and want the same. */
static inline int meet(member *me, const void *bytes, exchange wanted) {
  group *g = me->group;
  pthread_mutex_lock(&g->lock);
  long generation = g->generation;
  if (bytes) g->shown[me->rank] = bytes; /* NULL: as before */
  g->wanted[me->rank] = wanted;
  if (++g->arrived == g->size) {
    for (int r = 1; r < g->size; r++) {
      const exchange *a = &g->wanted[0], *b = &g->wanted[r];
      if (a->kind != b->kind || a->root != b->root || a->count != b->count) g->differ++, g->left = 1;
    }
    g->arrived = 0;
    g->generation++;
    pthread_cond_broadcast(&g->met);
  }
  while (g->generation == generation && !g->left) pthread_cond_wait(&g->met, &g->lock);
  int missed = g->generation == generation || g->differ;
  pthread_mutex_unlock(&g->lock);
  return missed;
}

static inline int threads_gather(double *x, const size_t *count, const size_t *offset, void *user) {
  member *me = user;
  exchange wanted = {1, 0, 0};
  for (int r = 0; r < me->group->size; r++) wanted.count += count[r];
  if (meet(me, x, wanted)) return 1;
  for (int r = 0; r < me->group->size; r++)
    if (r != me->rank) memcpy(x + offset[r], (const double *)me->group->shown[r] + offset[r], count[r] * sizeof *x);
  return meet(me, NULL, wanted);
}

static inline int threads_broadcast(void *bytes, size_t count, int root, void *user) {
  member *me = user;
  exchange wanted = {2, root, count};
  if (meet(me, bytes, wanted)) return 1;
  if (root != me->rank) memcpy(bytes, me->group->shown[root], count);
  return meet(me, NULL, wanted);
}

/* Each element is added in the order of ranks, into the first rank's memory, then copied. */
static inline int threads_sum(double *x, size_t count, void *user) {
  member *me = user;
  exchange wanted = {3, 0, count};
  if (meet(me, x, wanted)) return 1;
  for (int r = 1; me->rank == 0 && r < me->group->size; r++)
    for (size_t i = 0; i < count; i++) x[i] += ((const double *)me->group->shown[r])[i];
  if (meet(me, NULL, wanted)) return 1;
  if (me->rank) memcpy(x, me->group->shown[0], count * sizeof *x);
  return meet(me, NULL, wanted);
}

static inline blica_comm threads_comm(member *s) {
  return (blica_comm){s->rank, s->group->size, threads_sum, threads_gather, threads_broadcast, s};
}

#endif
