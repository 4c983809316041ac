/* Sharing among ranks: here threads of one process. Every rank must get the sum that one process gets, bit for bit, and
 * the failure of one must become everybody's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "assert_compare.h"
#include "thread_ranks.h"

#include "base/split.h"
#include "num/rng.h"

enum { EACH = 700, ITEMS = 45 };

typedef struct {
  member member;
  int64_t items;
  double total[EACH], list[ITEMS * 3];
  int computed; /* items that this rank made */
  blica_status agreed;
  char message[256];
  int unheard, heard, alone; /* what polls told */
  pthread_t thread;
} rank_job;

static double value_of(int64_t item, int e) {
  bl_rng rng = bl_rng_make(7, (uint64_t)(item * EACH + e));
  return bl_rng_normal(&rng) * 1e3;
}

typedef struct {
  double *x, *list;
} made;

static void make_item(int64_t item, int thread, void *user) {
  made *m = user;
  (void)thread;
  for (int e = 0; e < EACH; e++) m->x[item * EACH + e] = value_of(item, e);
  for (int e = 0; e < 3; e++) m->list[item * 3 + e] = (double)(10 * item + e);
}

static int stop_if_last(const blica_progress *p, void *user) {
  rank_job *job = user;
  (void)p;
  return job->member.rank == job->member.group->size - 1;
}

static void *serve(void *user) {
  rank_job *job = user;
  blica_ctx *ctx;
  bl_split split;
  made m = {0};
  blica_comm comm = threads_comm(&job->member);
  blica_progress progress = {0};
  blica_ctx_create(&ctx);
  blica_set_threads(ctx, 1);
  blica_set_comm(ctx, &comm);
  blica_set_poll(ctx, stop_if_last, job);
  bl_split_make(ctx, job->items, &split);
  bl_alloc(ctx, (size_t)(job->items * EACH) + 1, &m.x);
  m.list = job->list;
  bl_split_run(ctx, &split, make_item, &m);
  job->computed = (int)(split.last - split.first);
  bl_places list = {m.list, 3}, total = {m.x, EACH};
  bl_split_exchange(ctx, &split, 1, &list, &total);
  memcpy(job->total, m.x, sizeof job->total);
  bool bad = comm.rank > 0;
  job->agreed = bl_agree(ctx, bad ? bl_fail(ctx, BLICA_ERR_DATA, "rank %d failed", comm.rank) : BLICA_OK);
  strncpy(job->message, blica_message(ctx), sizeof job->message - 1);
  const double deadline = comm.rank == 0 ? 0 : 1e300;
  job->unheard = bl_poll_agreed(ctx, &progress, deadline);
  bl_split_exchange(ctx, &split, 1, &list, NULL);
  job->heard = bl_poll_agreed(ctx, &progress, deadline);
  bl_poll_reset(ctx);
  job->alone = bl_poll_agreed(ctx, &progress, deadline);
  bl_free(m.x);
  bl_split_free(&split);
  blica_ctx_free(ctx);
  return NULL;
}

static void run_ranks(int size, int64_t items, rank_job *jobs) {
  group g;
  group_open(&g, size);
  memset(jobs, 0, MOST_RANKS * sizeof *jobs);
  for (int r = 0; r < size; r++) {
    jobs[r] = (rank_job){.member = {&g, r}, .items = items};
    pthread_create(&jobs[r].thread, NULL, serve, &jobs[r]);
  }
  for (int r = 0; r < size; r++) pthread_join(jobs[r].thread, NULL);
  assert_int_equal(g.differ, 0);
  group_close(&g);
}

static rank_job alone[MOST_RANKS], many[MOST_RANKS];

static void same_bits_for_any_number_of_ranks(void **state) {
  (void)state;
  for (int64_t items = 1; items <= ITEMS; items += items < 12 ? 1 : 11) {
    run_ranks(1, items, alone);
    for (int size = 2; size <= MOST_RANKS; size++) {
      int computed = 0;
      run_ranks(size, items, many);
      for (int r = 0; r < size; r++) {
        assert_memory_equal(many[r].total, alone[0].total, sizeof alone[0].total);
        assert_memory_equal(many[r].list, alone[0].list, sizeof(double) * 3 * (size_t)items);
        computed += many[r].computed;
      }
      assert_int_equal(computed, items);
    }
  }
}

/* Against a plain sum: rounding only. */
static void the_tree_adds_every_item_once(void **state) {
  (void)state;
  run_ranks(3, 37, many);
  for (int e = 0; e < EACH; e++) {
    double plain = 0;
    for (int64_t item = 0; item < 37; item++) plain += value_of(item, e);
    assert_compare(plain - many[1].total[e], <, 1e-9);
    assert_compare(many[1].total[e] - plain, <, 1e-9);
  }
}

static void ranks_agree(void **state) {
  (void)state;
  run_ranks(4, 8, many);
  for (int r = 0; r < 4; r++) {
    assert_int_equal(many[r].agreed, BLICA_ERR_DATA);
    assert_string_equal(many[r].message, "rank 1 failed");
    /* one was told to stop, another was late: */
    assert_int_equal(many[r].unheard, 0); /* the exchange before this first look could not know */
    assert_int_equal(many[r].heard, 3);   /* the one after it did */
    assert_int_equal(many[r].alone, 3);   /* without any in between they are asked */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_bits_for_any_number_of_ranks),
      cmocka_unit_test(the_tree_adds_every_item_once),
      cmocka_unit_test(ranks_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
