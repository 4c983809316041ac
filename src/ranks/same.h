/* same.h - named facts about a computation: its program, machine, options and input. A checkpoint keeps them, so that a
 * difference can be named when it is resumed; ranks compare them before they begin: they take the same decisions
 * because they compute the same numbers from the same input. */
#ifndef BL_SAME_H
#define BL_SAME_H

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

/* Of the counts of segment s, margins included. */
uint64_t bl_counts_digest(const blica_counts *counts, int s);
/* Of the correlations and thresholds of segment s. */
uint64_t bl_cor_digest(const blica_cor *cor, int s);

/* Fails on all ranks, with one message, when program, machine, options or input of any differ from those of the first.
 * Members of input and the model may be NULL. A call of all ranks; alone there is nothing to compare. */
blica_status bl_same(blica_ctx *ctx, const blica_input *input, const blica_model *model, const blica_option *table,
                     int count, const void *options);

#endif
