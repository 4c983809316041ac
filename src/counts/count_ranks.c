/* count_ranks.c - rows that ranks bring in pieces, counted for a fit or for a file.
 *
 * A fit so large that ranks share its segments needs a table on one rank only, and so do correlations: the rows go
 * there as bits, and no rank ever holds tables that it does not keep. Which rank owns a segment follows from its place
 * among all, known when the last rank has read its last row. Rows of a single piece per rank wait for that. Of longer
 * streams a segment is kept, until the end, by the first rank that had rows of it, or by another with fewer segments;
 * then tables go to their owners. Where that does not pay (bl_place) all get all counts. */
#include <string.h>

#include "base/intern.h"
#include "base/share.h"
#include "counts/count_exchange.h"
#include "counts/counts.h"
#include "ranks/ranks.h"

struct blica_counter {
  bl_purpose purpose;
  int n;                /* 0: no rank had rows yet */
  const char **names;   /* [n] of variables */
  bool owned;           /* tables go to the owners of their segments */
  blica_data *held;     /* owned: this rank's last piece, not yet handed out */
  blica_counts *counts; /* owned: of the segments that this rank keeps; else of its rows */
  bl_intern mine;       /* labels of this rank's rows */
  bl_intern known;      /* labels of all rows that were handed out, the same on all ranks */
  int32_t *keeper;      /* [buffer] rank that keeps a known label */
  size_t buffer;
  int *keeps;  /* [size] how many */
  bool handed; /* rows were handed out before the labels were complete */
};

void blica_counter_free(blica_counter *c) {
  if (!c) return;
  bl_free(c->names);
  blica_data_free(c->held);
  blica_counts_free(c->counts);
  bl_intern_clear(&c->mine);
  bl_intern_clear(&c->known);
  bl_free(c->keeper);
  bl_free(c->keeps);
  bl_free(c);
}

blica_status bl_counter_begin(blica_ctx *ctx, const bl_purpose *purpose, blica_counter **out) {
  blica_status status;
  blica_counter *c = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &c));
  c->purpose = *purpose;
  TRY(bl_alloc(ctx, (size_t)bl_comm(ctx)->size, &c->keeps));
  *out = bl_take(&c);
done:
  blica_counter_free(c);
  return status;
}

/* ---- labels ---- */

/* A label that is new goes to the rank that has rows of it, unless it keeps more than another: memory is what counts.
 */
static blica_status register_label(blica_ctx *ctx, blica_counter *c, const char *label, int finder, int32_t *id) {
  blica_status status;
  const int32_t before = c->known.count;
  TRY(bl_intern_add(ctx, &c->known, label, strlen(label), id));
  if (*id < before) goto done;
  if ((size_t)*id >= c->buffer) {
    size_t buffer = 2 * c->buffer + 64;
    TRY(bl_resize(ctx, c->buffer, buffer, &c->keeper));
    c->buffer = buffer;
  }
  int least = 0;
  for (int r = 1; r < bl_comm(ctx)->size; r++)
    if (c->keeps[r] < c->keeps[least]) least = r;
  c->keeper[*id] = c->keeps[finder] > c->keeps[least] ? least : finder;
  c->keeps[c->keeper[*id]]++;
done:
  return status;
}

/* All labels in the order of the rows. */
static blica_status gather_labels(blica_ctx *ctx, const blica_counter *c, bl_intern *labels) {
  blica_status status = BLICA_OK;
  for (int r = 0; r < bl_comm(ctx)->size; r++) {
    BL_OWNED const char **texts = NULL;
    int count = c->mine.count;
    int32_t id;
    TRY(bl_broadcast_texts(ctx, c->mine.texts, &count, r, &texts));
    for (int s = 0; s < count; s++) TRY(bl_intern_add(ctx, labels, texts[s], strlen(texts[s]), &id));
  }
done:
  return status;
}

/* ---- pieces ---- */

/* What rank root has in its piece, appended to load. */
static blica_status receive_load(blica_ctx *ctx, blica_counter *c, int root, bl_load **load, int *first) {
  blica_status status;
  const blica_data *own = bl_comm(ctx)->rank == root ? c->held : NULL;
  BL_OWNED int64_t *sizes = NULL; /* of each segment: samples, words, whether masks come along */
  BL_OWNED const char **labels = NULL;
  const int before = first[root];
  int u = own ? own->u : 0;
  TRY(bl_broadcast_texts(ctx, own ? own->segments : NULL, &u, root, &labels));
  first[root + 1] = before + u;
  TRY(bl_alloc(ctx, 3 * (size_t)u, &sizes));
  for (int s = 0; own && s < u; s++)
    sizes[3 * s] = own->samples[s], sizes[3 * s + 1] = own->words[s], sizes[3 * s + 2] = own->present[s] != NULL;
  TRY(bl_broadcast(ctx, sizes, 3 * (size_t)u * sizeof *sizes, root));
  TRY(bl_resize(ctx, (size_t)before, (size_t)(before + u), load));
  for (int s = 0; s < u; s++) {
    int32_t id;
    TRY(register_label(ctx, c, labels[s], root, &id));
    (*load)[before + s] = (bl_load){id, c->keeper[id], sizes[3 * s], sizes[3 * s + 1], sizes[3 * s + 2]};
  }
done:
  return status;
}

static blica_status exchange_piece(blica_ctx *ctx, blica_counter *c) {
  blica_status status;
  BL_OWNED bl_load *load = NULL;
  BL_OWNED int *first = NULL;
  TRY(bl_alloc(ctx, (size_t)bl_comm(ctx)->size + 1, &first));
  for (int r = 0; r < bl_comm(ctx)->size; r++) TRY(receive_load(ctx, c, r, &load, first));
  TRY(bl_exchange_rows(ctx, c->held, c->n, (char **)c->names, load, first, c->known.texts, &c->counts));
  blica_data_free(c->held);
  c->held = NULL;
done:
  return status;
}

/* The names of the first rank that has rows, and what they mean for the fit. */
static blica_status begin_names(blica_ctx *ctx, blica_counter *c, const blica_data *piece) {
  blica_status status = BLICA_OK;
  for (int r = 0; r < bl_comm(ctx)->size && !c->n; r++) {
    bl_free(c->names);
    TRY(bl_agree(ctx,
                 bl_agree_on_names(ctx, piece ? piece->variables : NULL, piece ? piece->n : 0, r, &c->n, &c->names)));
  }
  c->owned = c->n && bl_place(ctx, &c->purpose, c->n) != BL_KEEP_ALL;
done:
  return status;
}

static blica_status take_names(blica_ctx *ctx, blica_counter *c, const blica_data *piece) {
  blica_status status = BLICA_OK;
  int32_t id;
  if (piece->n != c->n)
    FAIL(ctx, BLICA_ERR_DATA, "a piece of rank %d has %d variables where %d were before", bl_comm(ctx)->rank, piece->n,
         c->n);
  for (int i = 0; i < c->n; i++)
    if (strcmp(piece->variables[i], c->names[i]) != 0)
      FAIL(ctx, BLICA_ERR_DATA, "variable %d is '%s' and in a piece of rank %d '%s'", i + 1, c->names[i],
           bl_comm(ctx)->rank, piece->variables[i]);
  for (int s = 0; s < piece->u; s++)
    TRY(bl_intern_add(ctx, &c->mine, piece->segments[s], strlen(piece->segments[s]), &id));
done:
  return status;
}

blica_status blica_count_piece(blica_ctx *ctx, blica_counter *c, blica_data *piece) {
  BL_NEED(ctx, c);
  blica_status status;
  const bool begun = c->n > 0;
  if (!begun) TRY(begin_names(ctx, c, piece));
  TRY(bl_agree(ctx, piece ? take_names(ctx, c, piece) : BLICA_OK));
  if (!c->owned) {
    TRY(bl_agree(ctx, piece ? bl_count_alone(ctx, piece, &c->counts) : BLICA_OK));
    goto done;
  }
  if (begun) {
    c->handed = true;
    TRY(exchange_piece(ctx, c));
  }
  c->held = piece;
  piece = NULL;
done:
  blica_data_free(piece);
  return status;
}

/* ---- the end ---- */

/* From those who kept the segments of a long stream to those who own them. */
static blica_status to_owners(blica_ctx *ctx, blica_counter *c, const bl_intern *labels, blica_counts **out) {
  blica_status status;
  BL_OWNED int32_t *keeper = NULL;
  blica_counts *kept, *own = NULL;
  TRY(exchange_piece(ctx, c));
  kept = c->counts;
  TRY(bl_alloc(ctx, (size_t)labels->count, &keeper));
  for (int32_t s = 0; s < labels->count; s++)
    keeper[s] = c->keeper[bl_intern_find(&c->known, labels->texts[s], strlen(labels->texts[s]))];
  c->counts = NULL;
  TRY(bl_exchange_tables(ctx, kept, c->n, labels->count, (char **)c->names, labels->texts, keeper, &own));
  TRY(bl_counts_distribute(ctx, own, c->n, labels->count, (char **)c->names, labels->texts, out));
done:
  return status;
}

/* Rows of one piece per rank straight to the owners, who are known now. */
static blica_status rows_to_owners(blica_ctx *ctx, blica_counter *c, const bl_intern *labels, blica_counts **out) {
  blica_status status;
  bl_share share = {0};
  int32_t id;
  TRY(bl_share_make(ctx, labels->count, 0, &share));
  TRY(bl_alloc(ctx, (size_t)labels->count, &c->keeper));
  c->buffer = (size_t)labels->count;
  for (int32_t s = 0; s < labels->count; s++)
    TRY(bl_intern_add(ctx, &c->known, labels->texts[s], strlen(labels->texts[s]), &id));
  for (int r = 0; r < share.size; r++)
    for (int64_t s = share.bound[r]; s < share.bound[r + 1]; s++) c->keeper[s] = r;
  TRY(exchange_piece(ctx, c));
  blica_counts *own = c->counts;
  c->counts = NULL;
  TRY(bl_counts_distribute(ctx, own, c->n, labels->count, (char **)c->names, labels->texts, out));
done:
  bl_share_free(&share);
  return status;
}

static blica_status end_owned(blica_ctx *ctx, blica_counter *c, blica_counts **out) {
  blica_status status;
  bl_intern labels = {0};
  TRY(gather_labels(ctx, c, &labels));
  TRY(c->handed ? to_owners(ctx, c, &labels, out) : rows_to_owners(ctx, c, &labels, out));
done:
  bl_intern_clear(&labels);
  return status;
}

blica_status blica_count_end(blica_ctx *ctx, blica_counter *c, blica_counts **out) {
  BL_NEED_OUT(ctx, out, c);
  if (!c->n) return bl_fail(ctx, BLICA_ERR_DATA, "no rank has rows");
  if (c->owned) return end_owned(ctx, c, out);
  if (bl_comm(ctx)->size > 1) return blica_merge_ranks(ctx, c->counts, out);
  *out = c->counts;
  c->counts = NULL;
  return BLICA_OK;
}
