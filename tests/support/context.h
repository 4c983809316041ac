/* context.h - one context for all tests of a program. */
#ifndef TESTS_CONTEXT_H
#define TESTS_CONTEXT_H

#include "blica.h"

static blica_ctx *ctx;

static inline int open_context(void **state) {
  (void)state;
  return blica_ctx_create(&ctx) == BLICA_OK ? 0 : -1;
}

static inline int close_context(void **state) {
  (void)state;
  blica_ctx_free(ctx);
  return 0;
}

#endif
