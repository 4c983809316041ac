/* facts.h - named facts about a computation: its program, machine, options and data. A checkpoint keeps them, so that a
 * difference can be named when it is resumed; ranks compare them before they begin, as all must compute alike. */
#ifndef BL_FACTS_H
#define BL_FACTS_H

#include "base/base.h"

typedef struct {
  blica_ctx *ctx;
  size_t count, capacity;
  char **text; /* [2 count] name and value by turns */
} bl_facts;

#define BL_FACTS_DIGEST "#" /* first letter of values that mean nothing to a reader */

void bl_facts_free(bl_facts *f);
blica_status bl_facts_reserve(bl_facts *f, size_t capacity); /* sets the capacity, at least count */
/* Adds a fact. Values of more than 511 bytes are truncated. */
blica_status bl_facts_add(bl_facts *f, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The version, and the options of a table that decide the result. */
blica_status bl_facts_options(bl_facts *f, const blica_option *table, int count, const void *options);
/* The instruction set, the kernels of BLAS, and a digest of what they compute. */
blica_status bl_facts_machine(bl_facts *f);

/* Fails on all ranks, with one message, when the facts of any differ from those of the first. A call of all ranks.
 * status says how making the facts ended here; one process alone gets it back. */
blica_status bl_facts_same(blica_ctx *ctx, const bl_facts *f, blica_status status);

#endif
