/* hall.h - ranks that are threads of one process, with a communicator of barriers and copies. For tests. */
#ifndef HALL_H
#define HALL_H

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "blica.h"

enum { HALL_MOST = 9 }; /* ranks */

typedef struct {
  int size;
  pthread_barrier_t barrier;
  const void *shown[HALL_MOST];
  const size_t *sizes[HALL_MOST];
} hall;

typedef struct {
  hall *hall;
  int rank;
} seat;

static inline void hall_open(hall *h, int size) {
  *h = (hall){.size = size};
  pthread_barrier_init(&h->barrier, NULL, (unsigned)size);
}

static inline void hall_close(hall *h) { pthread_barrier_destroy(&h->barrier); }

static inline int hall_gather(double *x, const size_t *count, const size_t *offset, void *user) {
  seat *me = user;
  me->hall->shown[me->rank] = x;
  pthread_barrier_wait(&me->hall->barrier);
  for (int r = 0; r < me->hall->size; r++)
    if (r != me->rank) memcpy(x + offset[r], (const double *)me->hall->shown[r] + offset[r], count[r] * sizeof *x);
  pthread_barrier_wait(&me->hall->barrier);
  return 0;
}

static inline int hall_broadcast(void *bytes, size_t count, int root, void *user) {
  seat *me = user;
  me->hall->shown[me->rank] = bytes;
  pthread_barrier_wait(&me->hall->barrier);
  if (root != me->rank) memcpy(bytes, me->hall->shown[root], count);
  pthread_barrier_wait(&me->hall->barrier);
  return 0;
}

static inline int hall_sum(double *x, size_t count, void *user) {
  seat *me = user;
  double *total = calloc(count, sizeof *total);
  if (!total) return 1;
  me->hall->shown[me->rank] = x;
  pthread_barrier_wait(&me->hall->barrier);
  for (int r = 0; r < me->hall->size; r++)
    for (size_t i = 0; i < count; i++) total[i] += ((const double *)me->hall->shown[r])[i];
  pthread_barrier_wait(&me->hall->barrier);
  memcpy(x, total, count * sizeof *x);
  free(total);
  return 0;
}

static inline int hall_deal(const void *send, const size_t *to, void *receive, const size_t *from, void *user) {
  seat *me = user;
  char *at = receive;
  me->hall->shown[me->rank] = send;
  me->hall->sizes[me->rank] = to;
  pthread_barrier_wait(&me->hall->barrier);
  int wrong = 0;
  for (int r = 0; r < me->hall->size; at += from[r++]) {
    const char *there = me->hall->shown[r];
    for (int d = 0; d < me->rank; d++) there += me->hall->sizes[r][d];
    wrong |= me->hall->sizes[r][me->rank] != from[r]; /* both sides must know */
    if (!wrong && from[r]) memcpy(at, there, from[r]);
  }
  pthread_barrier_wait(&me->hall->barrier);
  return wrong;
}

static inline blica_comm hall_comm(seat *s) {
  return (blica_comm){s->rank, s->hall->size, hall_sum, hall_gather, hall_broadcast, s, hall_deal};
}

#endif
