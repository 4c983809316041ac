/* gather_ranks.c - parts that ranks hold, put together: counts are added, rows stand one rank's after another's. */
#include <string.h>

#include "base/intern.h"
#include "base/share.h"
#include "counts/counts.h"
#include "ranks/ranks.h"

/* What a rank has; sent before the thing itself. */
typedef struct {
  int32_t here, n, u, missing; /* missing: bits of presence come along */
  int64_t rows, name_bytes, label_bytes;
} outline;

/* ---- counts ---- */

/* The sum of all ranks' counts (own NULL: none) of n variables, on every rank, with segments in the order of the
 * labels, which are everybody's. A call of all ranks. */
static blica_status sum_ranks(blica_ctx *ctx, const blica_counts *own, int n, const char *const *names,
                              const bl_intern *labels, blica_counts **out) {
  blica_status status;
  blica_counts *c = NULL;
  const bool complete = !bl_any(ctx, own && own->n10), exact = !bl_any(ctx, own && !own->exact);
  TRY(bl_agree(ctx, bl_counts_create(ctx, n, labels->count, complete, names, (const char *const *)labels->texts, &c)));
  c->exact = exact;
  for (int s = 0; own && s < own->u; s++)
    bl_counts_add(c, bl_intern_find(labels, own->segments[s], strlen(own->segments[s])), own, s);
  const size_t tables = (size_t)c->pairs * (size_t)c->u, columns = (size_t)c->n * (size_t)c->u;
  double *const arrays[] = {c->n11, c->n10, c->n01, c->n00, c->ones, c->present};
  TRY(bl_sum_disjoint(ctx, c->samples, (size_t)c->u));
  for (int i = 0; i < 6; i++)
    if (arrays[i]) TRY(bl_sum_disjoint(ctx, arrays[i], i < 4 ? tables : columns));
  *out = c;
  c = NULL;
done:
  blica_counts_free(c);
  return status;
}

typedef struct {
  bl_intern labels; /* of all ranks, in the order of ranks */
  char *block;
  const char **names; /* [n] of the first rank that has counts; NULL: none yet */
  int n;
} gathering;

static blica_status receive_labels(blica_ctx *ctx, const blica_counts *own, int root, gathering *g) {
  blica_status status;
  char *labels = NULL;
  outline o = {0};
  if (own && bl_comm(ctx)->rank == root)
    o = (outline){.here = 1,
                  .n = own->n,
                  .u = own->u,
                  .name_bytes = bl_text_bytes(own->variables, own->n),
                  .label_bytes = bl_text_bytes(own->segments, own->u)};
  TRY(bl_broadcast(ctx, &o, sizeof o, root));
  if (!o.here) return BLICA_OK;
  if (!g->names) {
    g->n = o.n;
    TRY(bl_agree(ctx, bl_agree_on_names(ctx, o.n, o.name_bytes, own ? own->variables : NULL, own ? own->n : 0, root,
                                        &g->block, &g->names)));
  }
  TRY(bl_broadcast_texts(ctx, own ? own->segments : NULL, o.u, o.label_bytes, root, &labels));
  const char *at = labels;
  for (int s = 0; s < o.u; s++) {
    int32_t id;
    TRY(bl_intern_add(ctx, &g->labels, at, strlen(at), &id));
    at += strlen(at) + 1;
  }
done:
  bl_free(labels);
  return status;
}

blica_status blica_merge_ranks(blica_ctx *ctx, const blica_counts *own, blica_counts **out) {
  if (out) *out = NULL;
  BL_NEED(ctx, out);
  blica_status status = BLICA_OK;
  gathering g = {0};
  for (int r = 0; r < bl_comm(ctx)->size; r++) TRY(receive_labels(ctx, own, r, &g));
  if (!g.names) FAIL(ctx, BLICA_ERR_DATA, "no rank has counts to merge");
  TRY(sum_ranks(ctx, own, g.n, g.names, &g.labels, out));
done:
  bl_intern_clear(&g.labels);
  bl_free(g.block);
  bl_free(g.names);
  return status;
}

/* ---- rows ---- */

enum { CHUNK_BITS = 1 << 23 };

typedef struct {
  blica_packer *packer;
  int n;
  int64_t rows;     /* per chunk */
  int64_t words;    /* per row */
  int32_t *segment; /* [rows] */
  int32_t *id;      /* [u of the sender] labels in the packer */
  uint64_t *bits;   /* [words,rows] values, then as many of presence */
  int8_t *x;        /* [n,rows] */
  int64_t *next;    /* [u of the sender] its next row of each segment */
} transfer;

/* The sender's rows from `first` on, into bits. */
static void take_rows(const blica_data *d, int64_t first, int64_t rows, transfer *t) {
  uint64_t *present = t->bits + t->words * t->rows;
  memset(t->bits, 0, sizeof *t->bits * (size_t)(2 * t->words * t->rows));
  for (int64_t r = 0; d && r < rows; r++) {
    int32_t s = t->segment[r] = d->row_segment[first + r];
    int64_t row = t->next[s]++, word = row / 64, stride = d->words[s];
    for (int i = 0; i < d->n; i++) {
      uint64_t one = d->ones[s][i * stride + word] >> (row % 64) & 1;
      uint64_t here = d->present[s] ? d->present[s][i * stride + word] >> (row % 64) & 1 : 1;
      t->bits[r * t->words + i / 64] |= one << (i % 64);
      present[r * t->words + i / 64] |= here << (i % 64);
    }
  }
}

static void unpack_rows(transfer *t, int64_t rows, bool missing) {
  const uint64_t *present = t->bits + t->words * t->rows;
  for (int64_t r = 0; r < rows; r++) {
    t->segment[r] = t->id[t->segment[r]];
    for (int i = 0; i < t->n; i++) {
      bool here = !missing || (present[r * t->words + i / 64] >> (i % 64) & 1);
      t->x[r * t->n + i] = here ? (int8_t)(t->bits[r * t->words + i / 64] >> (i % 64) & 1) : BLICA_MISSING;
    }
  }
}

static blica_status send_rows(blica_ctx *ctx, const blica_data *own, const outline *o, int root, transfer *t) {
  blica_status status = BLICA_OK;
  const bool sends = bl_comm(ctx)->rank == root;
  for (int64_t first = 0; first < o->rows; first += t->rows) {
    int64_t rows = o->rows - first < t->rows ? o->rows - first : t->rows;
    size_t bytes = sizeof *t->bits * (size_t)(t->words * t->rows);
    if (sends) take_rows(own, first, rows, t);
    TRY(bl_broadcast(ctx, t->segment, sizeof *t->segment * (size_t)rows, root));
    TRY(bl_broadcast(ctx, t->bits, sizeof *t->bits * (size_t)(t->words * rows), root));
    if (o->missing) TRY(bl_broadcast(ctx, (char *)t->bits + bytes, sizeof *t->bits * (size_t)(t->words * rows), root));
    unpack_rows(t, rows, o->missing);
    TRY(blica_pack_rows(ctx, t->packer, rows, t->x, t->segment));
  }
done:
  return status;
}

static blica_status begin_transfer(blica_ctx *ctx, const outline *o, char **own, int own_n, int root, transfer *t) {
  blica_status status;
  char *block = NULL;
  const char **names = NULL;
  TRY(bl_agree(ctx, bl_agree_on_names(ctx, o->n, o->name_bytes, own, own_n, root, &block, &names)));
  t->n = o->n;
  t->words = (o->n + 63) / 64;
  t->rows = CHUNK_BITS / o->n + 1;
  TRY(bl_alloc(ctx, (size_t)t->rows, &t->segment));
  TRY(bl_alloc(ctx, bl_mul((size_t)t->rows, 2 * (size_t)t->words), &t->bits));
  TRY(bl_alloc(ctx, bl_mul((size_t)t->rows, (size_t)t->n), &t->x));
  TRY(blica_pack_begin(ctx, o->n, names, &t->packer));
done:
  bl_free(block);
  bl_free(names);
  return status;
}

/* All rows of one rank into everybody's packer. */
static blica_status receive_rows(blica_ctx *ctx, const blica_data *own, int root, transfer *t) {
  blica_status status;
  char *labels = NULL;
  outline o = {0};
  if (own && bl_comm(ctx)->rank == root)
    o = (outline){.here = 1,
                  .n = own->n,
                  .u = own->u,
                  .missing = own->missing > 0,
                  .rows = own->rows,
                  .name_bytes = bl_text_bytes(own->variables, own->n),
                  .label_bytes = bl_text_bytes(own->segments, own->u)};
  TRY(bl_broadcast(ctx, &o, sizeof o, root));
  if (!o.here) return BLICA_OK;
  if (!t->packer) TRY(begin_transfer(ctx, &o, own ? own->variables : NULL, own ? own->n : 0, root, t));
  TRY(bl_alloc(ctx, (size_t)o.u, &t->id));
  TRY(bl_alloc(ctx, (size_t)o.u, &t->next));
  TRY(bl_broadcast_texts(ctx, own ? own->segments : NULL, o.u, o.label_bytes, root, &labels));
  const char *at = labels;
  for (int s = 0; s < o.u; s++) {
    TRY(blica_pack_segment(ctx, t->packer, at, &t->id[s]));
    at += strlen(at) + 1;
  }
  TRY(send_rows(ctx, own, &o, root, t));
done:
  bl_free(labels);
  bl_free(t->id);
  bl_free(t->next);
  t->id = NULL, t->next = NULL;
  return status;
}

blica_status blica_pack_ranks(blica_ctx *ctx, const blica_data *own, blica_data **out) {
  if (out) *out = NULL;
  BL_NEED(ctx, out);
  blica_status status = BLICA_OK;
  transfer t = {0};
  for (int r = 0; r < bl_comm(ctx)->size; r++) TRY(receive_rows(ctx, own, r, &t));
  if (!t.packer) FAIL(ctx, BLICA_ERR_DATA, "no rank has rows");
  blica_packer *packer = t.packer;
  t.packer = NULL;
  TRY(blica_pack_end(ctx, packer, out));
done:
  blica_packer_free(t.packer);
  bl_free(t.segment);
  bl_free(t.bits);
  bl_free(t.x);
  return status;
}
