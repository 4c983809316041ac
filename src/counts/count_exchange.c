/* count_exchange.c - rows and tables on their way to the rank that keeps their segment.
 *
 * Rows travel as they are packed, a block of bit columns [words,n] per rank and segment: the order of rows does not
 * matter to counts, so a keeper puts the blocks of a segment end to end, the last word of each only partly used, and
 * counts them as one. Accuracy: exact. Checked: tests/unit/counts/test_count_ranks.c, tests/cli/mpi.bats. */
#include "counts/count_exchange.h"

#include <string.h>

#include "base/intern.h"
#include "base/share.h"
#include "counts/counts.h"

/* ---- rows ---- */

typedef struct {
  size_t *to, *from; /* [size] bytes */
  char *send, *receive;
} messages;

static void free_messages(messages *l) {
  bl_free(l->to);
  bl_free(l->send);
  bl_free(l->receive);
}

static blica_status alloc_messages(blica_ctx *ctx, messages *l) {
  blica_status status;
  size_t size = (size_t)bl_comm(ctx)->size, out = 0, in = 0;
  for (size_t r = 0; r < size; r++) out += l->to[r], in += l->from[r];
  TRY(bl_alloc(ctx, out, &l->send));
  TRY(bl_alloc(ctx, in, &l->receive));
done:
  return status;
}

static size_t block_bytes(const bl_load *b, int n) {
  return (size_t)b->words * (size_t)n * sizeof(uint64_t) * (b->present ? 2 : 1);
}

/* This rank's blocks for others, in the order of ranks and then of its segments. */
static void fill_messages(const blica_data *piece, const bl_load *own, int me, int size, char *at) {
  for (int r = 0; r < size; r++)
    for (int s = 0; r != me && s < piece->u; s++) {
      if (own[s].keeper != r) continue;
      size_t bytes = (size_t)own[s].words * (size_t)piece->n * sizeof(uint64_t);
      memcpy(at, piece->ones[s], bytes);
      if (own[s].present) memcpy(at + bytes, piece->present[s], bytes);
      at += block_bytes(&own[s], piece->n);
    }
}

static blica_status send_rows(blica_ctx *ctx, const blica_data *piece, int n, const bl_load *load, const int *first,
                              messages *l) {
  blica_status status;
  const int size = bl_comm(ctx)->size, me = bl_comm(ctx)->rank;
  TRY(bl_alloc(ctx, 2 * (size_t)size, &l->to));
  l->from = l->to + size;
  for (int r = 0; r < size; r++)
    for (int s = first[r]; s < first[r + 1]; s++) {
      if (load[s].keeper == r) continue; /* stays where it is */
      if (r == me) l->to[load[s].keeper] += block_bytes(&load[s], n);
      if (load[s].keeper == me) l->from[r] += block_bytes(&load[s], n);
    }
  TRY(bl_agree(ctx, alloc_messages(ctx, l)));
  if (piece) fill_messages(piece, load + first[me], me, size, l->send);
  TRY(bl_all_to_all(ctx, l->send, l->to, l->receive, l->from));
done:
  return status;
}

/* The blocks that came for one segment, put end to end. */
typedef struct {
  int64_t words, samples;
  bool present;
  int64_t filled; /* words so far */
} joined;

static void add_columns(uint64_t *to, int64_t stride, int64_t at, const uint64_t *from, int64_t words, int n) {
  for (int i = 0; i < n; i++) memcpy(to + i * stride + at, from + i * words, (size_t)words * sizeof *to);
}

/* Masks of rows that are all there. */
static void add_full(uint64_t *to, int64_t stride, int64_t at, int64_t samples, int64_t words, int n) {
  for (int i = 0; i < n; i++)
    for (int64_t w = 0; w < words; w++) {
      int64_t left = samples - 64 * w;
      to[i * stride + at + w] = left >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << left) - 1;
    }
}

static void join(const bl_load *b, const uint64_t *ones, const uint64_t *present, int n, joined *j, uint64_t *to) {
  add_columns(to, j->words, j->filled, ones, b->words, n);
  if (j->present) {
    uint64_t *masks = to + j->words * n;
    if (present)
      add_columns(masks, j->words, j->filled, present, b->words, n);
    else
      add_full(masks, j->words, j->filled, b->samples, b->words, n);
  }
  j->filled += b->words;
}

typedef struct {
  blica_data data; /* of the segments that this rank keeps and that have rows now */
  int32_t *place;  /* [ids] its segment in data, -1: not kept here or no rows */
  joined *join;    /* [u] */
  uint64_t *buffer;
} arrivals;

/* Which segments there are, in the order of their ids, and how large. */
static blica_status plan(blica_ctx *ctx, const bl_load *load, int blocks, char **labels, arrivals *a) {
  blica_status status;
  const int me = bl_comm(ctx)->rank;
  int32_t ids = 0;
  size_t total = 0;
  blica_data *d = &a->data;
  for (int b = 0; b < blocks; b++)
    if (load[b].id >= ids) ids = load[b].id + 1;
  TRY(bl_alloc(ctx, (size_t)ids, &a->place)); /* owns the others */
  for (int b = 0; b < blocks; b++)
    if (load[b].keeper == me) a->place[load[b].id] = 1;
  for (int32_t id = 0; id < ids; id++) a->place[id] = a->place[id] ? d->u++ : -1;
  size_t u = (size_t)d->u;
  TRY(bl_alloc_for(ctx, a->place, u, &a->join));
  TRY(bl_alloc_for(ctx, a->place, u, &d->segments));
  TRY(bl_alloc_for(ctx, a->place, u, &d->samples));
  TRY(bl_alloc_for(ctx, a->place, u, &d->words));
  TRY(bl_alloc_for(ctx, a->place, u, &d->ones));
  TRY(bl_alloc_for(ctx, a->place, u, &d->present));
  for (int32_t id = 0; id < ids; id++)
    if (a->place[id] >= 0) d->segments[a->place[id]] = labels[id];
  for (int b = 0; b < blocks; b++) {
    if (load[b].keeper != me) continue;
    joined *j = &a->join[a->place[load[b].id]];
    j->words += load[b].words, j->samples += load[b].samples;
    j->present = j->present || load[b].present;
    d->missing += load[b].present;
  }
  for (size_t s = 0; s < u; s++) {
    d->words[s] = a->join[s].words, d->samples[s] = a->join[s].samples;
    d->rows += d->samples[s];
    total += (size_t)a->join[s].words * (size_t)d->n * (a->join[s].present ? 2 : 1);
  }
  TRY(bl_alloc_for(ctx, a->place, total, &a->buffer));
done:
  return status;
}

static void unpack(const blica_data *piece, const bl_load *load, const int *first, int size, int me, const char *at,
                   arrivals *a) {
  blica_data *d = &a->data;
  uint64_t *next = a->buffer;
  for (int s = 0; s < d->u; s++) {
    d->ones[s] = next;
    next += d->words[s] * d->n;
    if (a->join[s].present) d->present[s] = next, next += d->words[s] * d->n;
  }
  for (int r = 0; r < size; r++)
    for (int b = first[r]; b < first[r + 1]; b++) {
      if (load[b].keeper != me) continue;
      const uint64_t *ones = (const uint64_t *)at, *present = ones + load[b].words * d->n;
      if (r == me)
        ones = piece->ones[b - first[r]], present = piece->present[b - first[r]];
      else
        at += block_bytes(&load[b], d->n);
      int s = a->place[load[b].id];
      join(&load[b], ones, load[b].present ? present : NULL, d->n, &a->join[s], d->ones[s]);
    }
}

blica_status bl_exchange_rows(blica_ctx *ctx, const blica_data *piece, int n, char **variables, const bl_load *load,
                              const int *first, char **labels, blica_counts **kept) {
  blica_status status;
  const int size = bl_comm(ctx)->size;
  messages l = {0};
  arrivals a = {.data = {.n = n, .variables = variables}};
  TRY(send_rows(ctx, piece, n, load, first, &l));
  bl_free(l.send);
  l.send = NULL;
  status = plan(ctx, load, first[size], labels, &a);
  if (status == BLICA_OK && a.data.u) {
    unpack(piece, load, first, size, bl_comm(ctx)->rank, l.receive, &a);
    status = bl_count_alone(ctx, &a.data, kept);
  }
  status = bl_agree(ctx, status);
done:
  free_messages(&l);
  bl_free(a.place);
  return status;
}

/* ---- tables ---- */

/* Samples, margins and cells of a segment, one after the other. */
static void pass_segment(blica_counts *c, int s, double *message, bool out) {
  double *const arrays[] = {c->samples, c->ones, c->present, c->n11, c->n10, c->n01, c->n00};
  for (int i = 0; i < 7; i++) {
    size_t each = i == 0 ? 1 : i < 3 ? (size_t)c->n : (size_t)c->pairs;
    if (!arrays[i]) continue;
    double *own = arrays[i] + each * (size_t)s;
    memcpy(out ? message : own, out ? own : message, each * sizeof *own);
    message += each;
  }
}

static int owner_of(const bl_share *share, int s) {
  int rank = 0;
  while (share->bound[rank + 1] <= s) rank++;
  return rank;
}

typedef struct {
  blica_counts *kept, *own;
  bl_intern places; /* of labels in kept */
  char **segments;
  const int32_t *keeper;
  bl_share share;
  bool *moved;            /* [u] */
  bool *sends, *receives; /* [size] in this round */
  messages messages;
} moving;

/* One segment at most from each rank and to each: memory holds one besides the counts. Returns whether there was any.
 */
static bool choose(const blica_ctx *ctx, moving *m, size_t bytes, int *out, int *in) {
  const int size = bl_comm(ctx)->size, me = bl_comm(ctx)->rank;
  bool any = false;
  *out = *in = -1;
  memset(m->messages.to, 0, 2 * (size_t)size * sizeof(size_t));
  memset(m->sends, 0, 2 * (size_t)size * sizeof(bool));
  for (int s = 0; s < (int)m->share.count; s++) {
    int from = m->keeper[s], to = owner_of(&m->share, s);
    if (m->moved[s] || from == to || m->sends[from] || m->receives[to]) continue;
    m->moved[s] = m->sends[from] = m->receives[to] = any = true;
    if (from == me) *out = s, m->messages.to[to] = bytes;
    if (to == me) *in = s, m->messages.from[from] = bytes;
  }
  return any;
}

static int place_of(const moving *m, int s) {
  return bl_intern_find(&m->places, m->segments[s], strlen(m->segments[s]));
}

static blica_status move_segments(blica_ctx *ctx, moving *m, size_t each) {
  blica_status status = BLICA_OK;
  const int first = (int)m->share.first;
  for (int out, in; choose(ctx, m, each * sizeof(double), &out, &in);) {
    if (out >= 0) pass_segment(m->kept, place_of(m, out), (double *)m->messages.send, true);
    TRY(bl_all_to_all(ctx, m->messages.send, m->messages.to, m->messages.receive, m->messages.from));
    if (in >= 0) pass_segment(m->own, in - first, (double *)m->messages.receive, false);
  }
  for (int s = first; s < (int)m->share.last; s++)
    if (m->keeper[s] == m->share.rank) bl_counts_add(m->own, s - first, m->kept, place_of(m, s));
done:
  return status;
}

static blica_status alloc_tables(blica_ctx *ctx, moving *m, int n, int u, char **variables, bool complete,
                                 size_t *each) {
  blica_status status = BLICA_OK;
  const size_t size = (size_t)m->share.size, own = (size_t)(m->share.last - m->share.first);
  const int64_t pairs = (int64_t)n * (n - 1) / 2;
  int32_t id;
  *each = 1 + 2 * (size_t)n + (size_t)pairs * (complete ? 1 : 4);
  if (m->kept && !complete) TRY(bl_counts_expand(ctx, m->kept));
  for (int s = 0; m->kept && s < m->kept->u; s++)
    TRY(bl_intern_add(ctx, &m->places, m->kept->segments[s], strlen(m->kept->segments[s]), &id));
  if (own)
    TRY(bl_counts_create(ctx, n, (int)own, complete, (const char *const *)variables,
                         (const char *const *)m->segments + m->share.first, &m->own));
  TRY(bl_alloc(ctx, (size_t)u, &m->moved));
  TRY(bl_alloc(ctx, 2 * size, &m->sends));
  m->receives = m->sends + size;
  TRY(bl_alloc(ctx, 2 * size, &m->messages.to));
  m->messages.from = m->messages.to + size;
  TRY(bl_alloc(ctx, *each * sizeof(double), &m->messages.send));
  TRY(bl_alloc(ctx, *each * sizeof(double), &m->messages.receive));
done:
  return status;
}

blica_status bl_exchange_tables(blica_ctx *ctx, blica_counts *kept, int n, int u, char **variables, char **segments,
                                const int32_t *keeper, blica_counts **own) {
  blica_status status;
  moving m = {.kept = kept, .segments = segments, .keeper = keeper};
  size_t each = 0;
  *own = NULL;
  bool complete = !bl_any(ctx, kept && kept->n10);
  TRY(bl_share_make(ctx, u, 0, &m.share));
  TRY(bl_agree(ctx, alloc_tables(ctx, &m, n, u, variables, complete, &each)));
  TRY(move_segments(ctx, &m, each));
  *own = bl_take(&m.own);
done:
  blica_counts_free(m.kept);
  blica_counts_free(m.own);
  bl_intern_clear(&m.places);
  bl_share_free(&m.share);
  free_messages(&m.messages);
  bl_free(m.moved);
  bl_free(m.sends);
  return status;
}

/* ---- from a rank's own segments to all ---- */

blica_status bl_counts_distribute(blica_ctx *ctx, blica_counts *own, int n, int u, char *const *variables,
                                  char *const *segments, blica_counts **out) {
  blica_status status;
  bl_share share = {0};
  blica_counts *c = NULL;
  *out = NULL;
  bool complete = !bl_any(ctx, own && own->n10);
  TRY(bl_share_make(ctx, u, 0, &share));
  status = bl_counts_create_part(ctx, n, u, complete, (const char *const *)variables, (const char *const *)segments,
                                 (int)share.first, (int)share.first, &c); /* the tables are there already */
  if (status == BLICA_OK && own && !complete) status = bl_counts_expand(ctx, own);
  TRY(bl_agree(ctx, status));
  if (own) {
    double **const from[] = {&own->n11, &own->n10, &own->n01, &own->n00},
                   **const to[] = {&c->n11, &c->n10, &c->n01, &c->n00};
    for (int i = 0; i < 4; i++) {
      bl_free(*to[i]);
      *to[i] = *from[i], *from[i] = NULL;
    }
    c->part->last = (int)share.last;
    memcpy(c->samples + share.first, own->samples, (size_t)own->u * sizeof(double));
    memcpy(c->ones + share.first * n, own->ones, (size_t)own->u * (size_t)n * sizeof(double));
    memcpy(c->present + share.first * n, own->present, (size_t)own->u * (size_t)n * sizeof(double));
  }
  const bl_places lists[] = {{c->samples, 1}, {c->ones, (size_t)n}, {c->present, (size_t)n}};
  TRY(bl_share_exchange(ctx, &share, 3, lists, NULL));
  *out = bl_take(&c);
done:
  blica_counts_free(own);
  blica_counts_free(c);
  bl_share_free(&share);
  return status;
}

blica_status bl_count_own(blica_ctx *ctx, const blica_data *data, blica_counts **out) {
  blica_status status;
  bl_share share;
  blica_counts *own = NULL;
  *out = NULL;
  TRY(bl_share_make(ctx, data->u, 0, &share));
  blica_data view = *data;
  view.u = (int)(share.last - share.first);
  view.segments += share.first, view.samples += share.first, view.words += share.first;
  view.ones += share.first, view.present += share.first;
  TRY(bl_agree(ctx, view.u ? bl_count_alone(ctx, &view, &own) : BLICA_OK));
  status = bl_counts_distribute(ctx, own, data->n, data->u, data->variables, data->segments, out);
  own = NULL;
done:
  blica_counts_free(own);
  bl_share_free(&share);
  return status;
}
