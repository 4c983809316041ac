/* Ranks as threads of one process: a communicator of barriers and copies. */
#ifndef HALL_H
#define HALL_H

#include <pthread.h>
#include <string.h>

#include "blica.h"

enum { HALL_MOST = 9 };

typedef struct {
  int size;
  pthread_barrier_t barrier;
  void *shown[HALL_MOST];
} hall;

typedef struct {
  hall *hall;
  int rank;
} seat;

static int hall_gather(double *x, const size_t *count, const size_t *offset, void *user) {
  seat *me = user;
  me->hall->shown[me->rank] = x;
  pthread_barrier_wait(&me->hall->barrier);
  for (int r = 0; r < me->hall->size; r++)
    if (r != me->rank) memcpy(x + offset[r], (double *)me->hall->shown[r] + offset[r], count[r] * sizeof *x);
  pthread_barrier_wait(&me->hall->barrier);
  return 0;
}

static int hall_broadcast(void *bytes, size_t count, int root, void *user) {
  seat *me = user;
  me->hall->shown[me->rank] = bytes;
  pthread_barrier_wait(&me->hall->barrier);
  if (root != me->rank) memcpy(bytes, me->hall->shown[root], count);
  pthread_barrier_wait(&me->hall->barrier);
  return 0;
}

/* Of one number only. */
static int hall_sum(double *x, size_t count, void *user) {
  seat *me = user;
  double total = 0;
  if (count != 1) return 1;
  me->hall->shown[me->rank] = x;
  pthread_barrier_wait(&me->hall->barrier);
  for (int r = 0; r < me->hall->size; r++) total += *(double *)me->hall->shown[r];
  pthread_barrier_wait(&me->hall->barrier);
  *x = total;
  return 0;
}

static blica_comm hall_comm(seat *me) {
  return (blica_comm){me->rank, me->hall->size, hall_sum, hall_gather, hall_broadcast, me};
}

#endif
