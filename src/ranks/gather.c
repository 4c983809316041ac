/* gather.c - what ranks read, put together on all of them: counts are added, rows follow each other by rank. */
#include <string.h>

#include "base/intern.h"
#include "base/split.h"
#include "counts/counts.h"
#include "data/pack.h"

/* The names of variables that root has, *n of them, in a new list; a rank whose own (NULL: it has none) differ fails,
 * it alone. *n is 0 when root has none. */
static blica_status agree_on_names(blica_ctx *ctx, char **own, int own_n, int root, int *n, const char ***names) {
  *n = own_n;
  MUST(bl_broadcast_texts(ctx, own, n, root, names));
  if (!own || *n == 0) return BLICA_OK;
  if (own_n != *n)
    return bl_fail(ctx, BLICA_ERR_DATA, "rank %d has %d variables and rank %d has %d", root, *n, bl_comm(ctx)->rank,
                   own_n);
  for (int i = 0; i < own_n; i++)
    if (strcmp(own[i], (*names)[i]) != 0)
      return bl_fail(ctx, BLICA_ERR_DATA, "variable %d is '%s' on rank %d and '%s' on rank %d", i + 1, (*names)[i],
                     root, own[i], bl_comm(ctx)->rank);
  return BLICA_OK;
}

/* ---- counts ---- */

/* Adds what root lists of segment s to the sets; own: those of this rank, NULL where root is another. */
static blica_status add_list(blica_ctx *ctx, const bl_item_set_list *own, int root, int s, bl_item_sets *sets) {
  BL_OWNED uint64_t *mask = NULL;
  BL_OWNED double *rows = NULL;
  int count = own ? own->count : 0;
  MUST(bl_broadcast(ctx, &count, sizeof count, root));
  const size_t words = (size_t)sets->words, length = count > 0 ? (size_t)count : 0;
  MUST(bl_alloc(ctx, length * words, &mask));
  MUST(bl_alloc(ctx, length, &rows));
  if (own && length > 0) {
    memcpy(mask, own->mask, length * words * sizeof *mask);
    memcpy(rows, own->rows, length * sizeof *rows);
  }
  MUST(bl_broadcast(ctx, mask, length * words * sizeof *mask, root));
  MUST(bl_broadcast(ctx, rows, length * sizeof *rows, root));
  if (count < 0) bl_item_sets_give_up(sets, s);
  for (size_t i = 0; i < length; i++) MUST(bl_item_sets_add(ctx, sets, s, mask + i * words, rows[i]));
  return BLICA_OK;
}

/* The item sets of c, which has those of this rank's counts, become those of all ranks; none where a rank does not know
 * its own. */
static blica_status sum_sets(blica_ctx *ctx, blica_counts *c) {
  BL_AUTO(bl_item_sets) *sum = NULL;
  if (bl_any(ctx, !c->sets) || !c->sets) {
    bl_item_sets_free(bl_take(&c->sets));
    return BLICA_OK;
  }
  MUST(bl_item_sets_make(ctx, c->n, c->u, &sum));
  for (int s = 0; s < c->u; s++)
    for (int r = 0; r < bl_comm(ctx)->size; r++)
      MUST(add_list(ctx, r == bl_comm(ctx)->rank ? &c->sets->segment[s] : NULL, r, s, sum));
  bl_item_sets_free(c->sets);
  c->sets = bl_take(&sum);
  return BLICA_OK;
}

/* The sum of all ranks' counts (own NULL: none) of n variables, on every rank, with segments in the order of the
 * labels, which are everybody's. A call of all ranks. */
static blica_status sum_ranks(blica_ctx *ctx, const blica_counts *own, int n, const char *const *names,
                              const bl_intern *labels, blica_counts **out) {
  blica_status status;
  blica_counts *c = NULL;
  const bool complete = !bl_any(ctx, own && own->n10), exact = !bl_any(ctx, own && !own->exact);
  TRY(bl_agree(ctx, bl_counts_create(ctx, n, labels->count, complete, names, (const char *const *)labels->texts, &c)));
  c->exact = exact;
  if (!complete) TRY(bl_agree(ctx, bl_item_sets_make(ctx, n, c->u, &c->sets)));
  for (int s = 0; own && s < own->u; s++) {
    const int to = bl_intern_find(labels, own->segments[s], strlen(own->segments[s]));
    bl_counts_add(c, to, own, s);
    status = bl_counts_add_sets(ctx, c, to, own, s);
    if (status != BLICA_OK) break;
  }
  TRY(bl_agree(ctx, status));
  if (!complete) TRY(sum_sets(ctx, c));
  const size_t tables = (size_t)c->pairs * (size_t)c->u, columns = (size_t)c->n * (size_t)c->u;
  double *const arrays[] = {c->n11, c->n10, c->n01, c->n00, c->ones, c->present};
  TRY(bl_sum_disjoint(ctx, c->samples, (size_t)c->u));
  for (int i = 0; i < 6; i++)
    if (arrays[i]) TRY(bl_sum_disjoint(ctx, arrays[i], i < 4 ? tables : columns));
  *out = bl_take(&c);
done:
  blica_counts_free(c);
  return status;
}

typedef struct {
  bl_intern labels;   /* of all ranks, in the order of ranks */
  const char **names; /* [n] of the first rank that has counts */
  int n;              /* 0: none has yet */
} gathering;

static void free_gathering(gathering *g) {
  bl_intern_clear(&g->labels);
  bl_free(g->names);
}

static blica_status receive_labels(blica_ctx *ctx, const blica_counts *own, int root, gathering *g) {
  BL_OWNED const char **labels = NULL;
  int u = own ? own->u : 0;
  int32_t id;
  if (!g->n) {
    bl_free(g->names);
    MUST(bl_agree(ctx, agree_on_names(ctx, own ? own->variables : NULL, own ? own->n : 0, root, &g->n, &g->names)));
  }
  MUST(bl_broadcast_texts(ctx, own ? own->segments : NULL, &u, root, &labels));
  for (int s = 0; s < u; s++) MUST(bl_intern_add(ctx, &g->labels, labels[s], strlen(labels[s]), &id));
  return BLICA_OK;
}

blica_status blica_merge_ranks(blica_ctx *ctx, const blica_counts *own, blica_counts **out) {
  if (out) *out = NULL;
  BL_NEED(ctx, out);
  BL_CLEAN(free_gathering) gathering g = {0};
  for (int r = 0; r < bl_comm(ctx)->size; r++) MUST(receive_labels(ctx, own, r, &g));
  if (!g.n) return bl_fail(ctx, BLICA_ERR_DATA, "no rank has counts to merge");
  return sum_ranks(ctx, own, g.n, g.names, &g.labels, out);
}

/* ---- rows ---- */

enum { CHUNK = 1 << 23 }; /* values that travel together */

typedef struct {
  blica_packer *packer; /* everybody's */
  int n;
  int64_t rows;     /* of a chunk */
  int32_t *segment; /* [rows] */
  int8_t *x;        /* [n,rows] */
  int32_t *id;      /* [u of the sender] labels in the packer */
  int64_t *next;    /* [u of the sender] its next row of each segment */
} transfer;

/* The sender's rows from `first` on, as the packer takes them. */
static void take_rows(const blica_data *d, int64_t first, int64_t rows, transfer *t) {
  for (int64_t r = 0; r < rows; r++) {
    const int32_t s = d->row_segment[first + r];
    for (int i = 0; i < t->n; i++) t->x[r * t->n + i] = bl_data_value(d, s, i, t->next[s]);
    t->segment[r] = t->id[s];
    t->next[s]++;
  }
}

static blica_status send_rows(blica_ctx *ctx, const blica_data *own, int root, transfer *t) {
  int64_t left = own ? own->rows : 0;
  MUST(bl_broadcast(ctx, &left, sizeof left, root));
  for (int64_t first = 0; left > 0; first += t->rows, left -= t->rows) {
    const int64_t rows = left < t->rows ? left : t->rows;
    if (own && bl_comm(ctx)->rank == root) take_rows(own, first, rows, t);
    MUST(bl_broadcast(ctx, t->segment, sizeof *t->segment * (size_t)rows, root));
    MUST(bl_broadcast(ctx, t->x, (size_t)rows * (size_t)t->n, root));
    MUST(blica_pack_rows(ctx, t->packer, rows, t->x, t->segment));
  }
  return BLICA_OK;
}

/* Begins the packer with the names of root, unless it has none. */
static blica_status begin_packer(blica_ctx *ctx, const blica_data *own, int root, transfer *t) {
  BL_OWNED const char **names = NULL;
  MUST(bl_agree(ctx, agree_on_names(ctx, own ? own->variables : NULL, own ? own->n : 0, root, &t->n, &names)));
  if (!t->n) return BLICA_OK;
  t->rows = CHUNK / t->n + 1;
  MUST(bl_alloc(ctx, (size_t)t->rows, &t->segment));
  MUST(bl_alloc_for(ctx, t->segment, bl_mul((size_t)t->rows, (size_t)t->n), &t->x));
  return blica_pack_begin(ctx, t->n, names, &t->packer);
}

/* All rows of one rank into everybody's packer. Labels are numbered alike on all ranks, which see them in one order. */
static blica_status receive_rows(blica_ctx *ctx, const blica_data *own, int root, transfer *t) {
  BL_OWNED const char **labels = NULL;
  BL_OWNED int32_t *id = NULL;
  BL_OWNED int64_t *next = NULL;
  int u = own ? own->u : 0;
  if (!t->n) MUST(begin_packer(ctx, own, root, t));
  if (!t->n) return BLICA_OK;
  MUST(bl_broadcast_texts(ctx, own ? own->segments : NULL, &u, root, &labels));
  MUST(bl_alloc(ctx, (size_t)u, &id));
  MUST(bl_alloc(ctx, (size_t)u, &next));
  for (int s = 0; s < u; s++) MUST(blica_pack_segment(ctx, t->packer, labels[s], &id[s]));
  t->id = id, t->next = next;
  return send_rows(ctx, own, root, t);
}

blica_status blica_pack_ranks(blica_ctx *ctx, const blica_data *own, blica_data **out) {
  if (out) *out = NULL;
  BL_NEED(ctx, out);
  blica_status status = BLICA_OK;
  transfer t = {0};
  for (int r = 0; r < bl_comm(ctx)->size; r++) TRY(receive_rows(ctx, own, r, &t));
  if (!t.packer) FAIL(ctx, BLICA_ERR_DATA, "no rank has rows");
  TRY(blica_pack_end(ctx, bl_take(&t.packer), out));
done:
  blica_packer_free(t.packer);
  bl_free(t.segment);
  return status;
}
