/* faulty_heap.h - an allocator for a context that counts the blocks held and lets one allocation fail. */
#ifndef TESTS_FAULTY_HEAP_H
#define TESTS_FAULTY_HEAP_H

#include <stdatomic.h>
#include <stdlib.h>

typedef struct {
  atomic_llong live, calls; /* blocks held; allocations since the last arming */
  long long fail_at;        /* -1: never */
  atomic_int fired;
} faulty;

static inline void *faulty_realloc(void *old, size_t size, void *user) {
  faulty *f = user;
  if (size == 0) {
    if (old) atomic_fetch_sub(&f->live, 1);
    free(old);
    return NULL;
  }
  if (atomic_fetch_add(&f->calls, 1) == f->fail_at) {
    atomic_store(&f->fired, 1);
    return NULL;
  }
  void *block = realloc(old, size);
  if (block && !old) atomic_fetch_add(&f->live, 1);
  return block;
}

static inline void faulty_arm(faulty *f, long long at) {
  f->fail_at = at;
  atomic_store(&f->calls, 0);
  atomic_store(&f->fired, 0);
}

/* From one allocation that fails to the next: 1 with BLICA_FAULTS=all in the environment, as in `make faults`; with
 * few, where a checker makes everything slow, more than usual. */
static inline int faulty_stride(int usual) {
  const char *wish = getenv("BLICA_FAULTS");
  return !wish ? usual : wish[0] == 'a' ? 1 : 13 * usual;
}

#endif
