/* arrow_stream.h - a producer of Arrow's C stream, by the letter of the specification: every buffer has exactly the
 * elements that the arrays speak of, each struct is released once, and releases are counted. */
#ifndef ARROW_STREAM_H
#define ARROW_STREAM_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "data/arrow.h"

enum { ARROW_NULL = -1000000 };

typedef struct {
  const char *name, *format; /* "b", "c", ..., "L"; "u", "U": texts of a value are those of `texts` */
  const char *const *texts;  /* of a dictionary of format `format`, ended by NULL; or of "u", "U" */
  bool dictionary, ordered, large;
} arrow_column;

typedef struct {
  const arrow_column *columns;
  int n, offset, parent_offset; /* elements before those that count, of the columns and of the table */
  const int *chunk;             /* rows of each chunk, ended by -1 */
  const int64_t *values;        /* rows of n, ARROW_NULL for null */
  int fail_at;                  /* chunk whose get_next fails; -1: none */
  void (*spoil)(struct ArrowArray *array, int chunk); /* makes an array lie, or NULL */
  int row, next;
  int made, released; /* schemas, arrays and streams */
} arrow_plan;

/* Of one array or schema: what its release frees. */
typedef struct {
  arrow_plan *plan;
  void *memory[6];
  struct ArrowArray *arrays;
  struct ArrowSchema *schemas;
  int count;
} arrow_owned;

static void arrow_release_array(struct ArrowArray *a) {
  arrow_owned *own = a->private_data;
  for (int k = 0; k < own->count; k++)
    if (own->arrays[k].release) own->arrays[k].release(&own->arrays[k]);
  for (int k = 0; k < 6; k++) free(own->memory[k]);
  free(own->arrays);
  own->plan->released++;
  free(own);
  a->release = NULL;
}

static void arrow_release_schema(struct ArrowSchema *s) {
  arrow_owned *own = s->private_data;
  for (int k = 0; k < own->count; k++)
    if (own->schemas[k].release) own->schemas[k].release(&own->schemas[k]);
  free(own->memory[0]);
  free(own->schemas);
  own->plan->released++;
  free(own);
  s->release = NULL;
}

static arrow_owned *arrow_own(arrow_plan *plan, int count) {
  arrow_owned *own = calloc(1, sizeof *own);
  own->plan = plan, own->count = count;
  plan->made++;
  return own;
}

static struct ArrowSchema arrow_schema(arrow_plan *plan, const char *format, const char *name, int children,
                                       int total) {
  arrow_owned *own = arrow_own(plan, total);
  own->schemas = calloc((size_t)total + 1, sizeof *own->schemas);
  struct ArrowSchema **list = calloc((size_t)children + 1, sizeof *list);
  for (int k = 0; k < children; k++) list[k] = &own->schemas[k];
  own->memory[0] = list;
  return (struct ArrowSchema){.format = format,
                              .name = name,
                              .n_children = children,
                              .children = list,
                              .dictionary = total > children ? &own->schemas[children] : NULL,
                              .release = arrow_release_schema,
                              .private_data = own};
}

static int arrow_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  arrow_plan *plan = stream->private_data;
  *out = arrow_schema(plan, "+s", "", plan->n, plan->n);
  for (int i = 0; i < plan->n; i++) {
    const arrow_column *c = &plan->columns[i];
    *out->children[i] = arrow_schema(plan, c->format, c->name, 0, c->dictionary);
    if (c->dictionary) *out->children[i]->dictionary = arrow_schema(plan, c->large ? "U" : "u", NULL, 0, 0);
    out->children[i]->flags = 2 | (c->ordered ? ARROW_FLAG_DICTIONARY_ORDERED : 0);
  }
  return 0;
}

static struct ArrowArray arrow_array(arrow_plan *plan, int64_t length, int64_t offset, int buffers, int children,
                                     int total) {
  arrow_owned *own = arrow_own(plan, total);
  own->arrays = calloc((size_t)total + 1, sizeof *own->arrays);
  const void **list = calloc(3, sizeof *list);
  struct ArrowArray **kids = calloc((size_t)children + 1, sizeof *kids);
  for (int k = 0; k < children; k++) kids[k] = &own->arrays[k];
  own->memory[0] = list, own->memory[1] = kids;
  return (struct ArrowArray){.length = length,
                             .offset = offset,
                             .n_buffers = buffers,
                             .buffers = list,
                             .n_children = children,
                             .children = kids,
                             .dictionary = total > children ? &own->arrays[children] : NULL,
                             .release = arrow_release_array,
                             .private_data = own};
}

static void arrow_put(void *to, char type, int64_t at, int64_t value) {
  const uint64_t bits = (uint64_t)value;
  const int size = strchr("cC", type) ? 1 : strchr("sS", type) ? 2 : strchr("iI", type) ? 4 : 8;
  if (type == 'b')
    ((uint8_t *)to)[at / 8] |= (uint8_t)((value & 1) << (at % 8));
  else
    memcpy((char *)to + at * size, &bits, (size_t)size); /* little-endian */
}

/* An array of text with the values' texts, from element `offset` on. */
static struct ArrowArray arrow_text(arrow_plan *plan, bool large, const char *const *texts, const int64_t *values,
                                    int stride, int rows, int offset) {
  struct ArrowArray a = arrow_array(plan, rows, offset, 3, 0, 0);
  arrow_owned *own = a.private_data;
  char *bytes = NULL;
  const size_t count = (size_t)(rows + offset) + 1;
  int32_t *small = malloc(count * sizeof *small);
  int64_t *wide = malloc(count * sizeof *wide);
  uint8_t *valid = calloc(count / 8 + 1, 1);
  size_t at = 0;
  for (size_t k = 0; k < count; k++) {
    const int64_t value = (int)k < offset || k + 1 == count ? ARROW_NULL : values[((int)k - offset) * stride];
    small[k] = (int32_t)at, wide[k] = (int64_t)at;
    if (value == ARROW_NULL) {
      a.null_count += (int)k >= offset && k + 1 < count;
      continue;
    }
    valid[k / 8] |= (uint8_t)(1 << (k % 8));
    const size_t length = strlen(texts[value]);
    bytes = realloc(bytes, at + length + 1);
    memcpy(bytes + at, texts[value], length);
    at += length;
  }
  own->memory[2] = valid, own->memory[3] = small, own->memory[4] = wide, own->memory[5] = bytes;
  a.buffers[0] = valid, a.buffers[1] = large ? (void *)wide : (void *)small, a.buffers[2] = bytes;
  return a;
}

static struct ArrowArray arrow_column_array(arrow_plan *plan, const arrow_column *c, const int64_t *values, int rows) {
  const int offset = plan->offset, before = plan->parent_offset, all = rows + before;
  int64_t *padded = malloc(((size_t)all + 1) * sizeof *padded);
  for (int k = 0; k < all; k++) padded[k] = k < before ? ARROW_NULL : values[(k - before) * plan->n];
  struct ArrowArray a;
  if (*c->format == 'u' || *c->format == 'U') {
    a = arrow_text(plan, *c->format == 'U', c->texts, padded, 1, all, offset);
  } else {
    a = arrow_array(plan, all, offset, 2, 0, c->dictionary);
    arrow_owned *own = a.private_data;
    void *x = own->memory[2] = calloc((size_t)(all + offset) + 1, *c->format == 'b' ? 1 : 8);
    uint8_t *valid = own->memory[3] = calloc((size_t)(all + offset) / 8 + 1, 1);
    for (int k = 0; k < all; k++) {
      a.null_count += padded[k] == ARROW_NULL;
      if (padded[k] == ARROW_NULL) continue;
      arrow_put(x, *c->format, k + offset, padded[k]);
      valid[(k + offset) / 8] |= (uint8_t)(1 << ((k + offset) % 8));
    }
    a.buffers[0] = a.null_count ? valid : NULL, a.buffers[1] = x;
    if (c->dictionary) {
      int64_t each[16];
      int count = 0;
      for (; c->texts[count]; count++) each[count] = count;
      *a.dictionary = arrow_text(plan, c->large, c->texts, each, 1, count, offset);
    }
  }
  free(padded);
  return a;
}

static int arrow_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  arrow_plan *plan = stream->private_data;
  const int chunk = plan->next, rows = plan->chunk[chunk];
  memset(out, 0, sizeof *out);
  if (chunk == plan->fail_at) return EIO;
  if (rows < 0) return 0;
  *out = arrow_array(plan, rows, plan->parent_offset, 1, plan->n, plan->n);
  for (int i = 0; i < plan->n; i++)
    *out->children[i] =
        arrow_column_array(plan, &plan->columns[i], plan->values + (size_t)plan->row * (size_t)plan->n + i, rows);
  if (plan->spoil) plan->spoil(out, chunk);
  plan->row += rows, plan->next++;
  return 0;
}

static const char *arrow_last_error(struct ArrowArrayStream *stream) {
  (void)stream;
  return "the disk is on fire";
}

static void arrow_release_stream(struct ArrowArrayStream *stream) {
  ((arrow_plan *)stream->private_data)->released++;
  stream->release = NULL;
}

static struct ArrowArrayStream arrow_stream(arrow_plan *plan) {
  plan->made++;
  return (struct ArrowArrayStream){arrow_get_schema, arrow_get_next, arrow_last_error, arrow_release_stream, plan};
}

#endif
