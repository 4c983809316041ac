/* blocks.c - the matched Gaussian likelihood of segments in which values are missing.
 *
 * Blocks of kinds COMPLETE, ITEM_SET and RANDOM are evaluated by segments.c on their items, at the cost of a
 * product of their correlations with an n x k matrix; PAIRWISE needs a factorisation, since omega destroys the low rank
 * of R. Checked: values against plain computation, gradients against central differences, exact correlations as the
 * minimum (tests/identity/test_blocks.c). */
#include <math.h>
#include <string.h>

#include "cor/cor.h"
#include "counts/item_sets.h"
#include "data/coding.h"
#include "estimate/gauss/gauss.h"
#include "num/linear/blas.h"
#include "num/dot.h"

/* A pair counts as hardly ever observed together when EXPECTED rows or more would have both items if values were
 * missing independently, and less than the share HARDLY of these rows has them. */
static const double HARDLY = 0.25, EXPECTED = 12;
/* Least share of rows with an item: keeps the noise of an item without rows finite in the information. */
static const double LEAST_SHARE = 1e-6;

/* ---- which blocks ---- */

static bool is_complete(const blica_cor *cor, int s) {
  for (int i = 0; i < cor->n; i++)
    if (bl_cor_item_rows(cor, s, i) < cor->samples[s]) return false;
  return true;
}

/* Whether some pair of items with values is hardly ever seen together. */
static bool has_gaps(const blica_cor *cor, int s) {
  for (int j = 1; j < cor->n; j++)
    for (int i = 0; i < j; i++) {
      const double rows = fmax(cor->samples[s], 1);
      const double expected = bl_cor_item_rows(cor, s, i) * bl_cor_item_rows(cor, s, j) / rows;
      if (expected >= EXPECTED && bl_cor_pair_rows(cor, s, i, j) < HARDLY * expected) return true;
    }
  return false;
}

/* The item sets of segment s when it has a block for each: some pairs are hardly ever seen together, or sets are few.
 * In the latter case one block for all rows serves ordinal items better: their D is small, and then it shows that
 * correlations pooled over other rows than those of the block do not fit each other. */
static const bl_item_set_list *list_of(const blica_cor *cor, int s) {
  const bl_item_set_list *list = cor->sets ? &cor->sets->segment[s] : NULL;
  if (!list || list->count < 0) return NULL;
  const bool few = list->size <= (int64_t)BL_ITEM_SETS_MOST * cor->n * cor->n && !bl_coding_ordinal(cor->coding);
  return few || has_gaps(cor, s) ? list : NULL;
}

static int count_blocks(const blica_cor *cor, int s) {
  const bl_item_set_list *list = list_of(cor, s);
  return list && !is_complete(cor, s) ? list->count : 1;
}

/* The items of a set. */
static blica_status read_set(blica_ctx *ctx, void *owner, int n, const uint64_t *mask, bl_block *b) {
  int *item, count = 0;
  MUST(bl_alloc_for(ctx, owner, (size_t)n, &item));
  for (int i = 0; i < n; i++)
    if (mask[i / 64] >> (i % 64) & 1) item[count++] = i;
  b->n = count, b->item = item;
  return BLICA_OK;
}

/* The items of segment s that have values. */
static blica_status read_seen(blica_ctx *ctx, void *owner, const blica_cor *cor, int s, bl_block *b) {
  int *item;
  MUST(bl_alloc_for(ctx, owner, (size_t)cor->n, &item));
  for (int i = 0; i < cor->n; i++)
    if (bl_cor_item_rows(cor, s, i) > 0) item[b->n++] = i;
  b->item = item;
  return BLICA_OK;
}

/* Chooses the kind of the blocks of a segment by what is missing. */
static blica_status make_segment(blica_ctx *ctx, bl_blocks *blocks, int s) {
  const blica_cor *cor = blocks->cor;
  const bl_item_set_list *list = list_of(cor, s);
  bl_block *b = blocks->block + blocks->first[s];
  if (is_complete(cor, s)) {
    *b = (bl_block){.kind = BL_BLOCK_COMPLETE, .n = cor->n, .share = 1};
    return BLICA_OK;
  }
  if (!list) {
    *b = (bl_block){.kind = has_gaps(cor, s) ? BL_BLOCK_PAIRWISE : BL_BLOCK_RANDOM, .share = 1};
    return read_seen(ctx, blocks, cor, s, b);
  }
  for (int i = 0; i < list->count; i++) {
    b[i] = (bl_block){.kind = BL_BLOCK_ITEM_SET, .share = list->rows[i] / cor->samples[s]};
    MUST(read_set(ctx, blocks, cor->n, list->mask + (size_t)i * (size_t)cor->sets->words, &b[i]));
  }
  return BLICA_OK;
}

static double share_of(const blica_cor *cor, int s, int i) {
  return fmax(bl_cor_item_rows(cor, s, i) / fmax(cor->samples[s], 1), LEAST_SHARE);
}

blica_status bl_blocks_make(blica_ctx *ctx, void *owner, const blica_cor *cor, double link, const double *plain,
                            double *noise, bl_blocks **out) {
  bl_blocks *blocks;
  const size_t n = (size_t)cor->n, u = (size_t)cor->u;
  *out = NULL;
  MUST(bl_alloc_for(ctx, owner, 1, &blocks));
  blocks->cor = cor, blocks->link = link, blocks->plain = plain, blocks->noise = noise;
  MUST(bl_alloc_for(ctx, blocks, u + 1, &blocks->first));
  for (int s = 0; s < cor->u; s++) blocks->first[s + 1] = blocks->first[s] + count_blocks(cor, s);
  MUST(bl_alloc_for(ctx, blocks, (size_t)blocks->first[u], &blocks->block));
  for (int s = 0; s < cor->u; s++) MUST(make_segment(ctx, blocks, s));
  for (size_t i = 0; i < n * u; i++) {
    const double p = share_of(cor, (int)(i / n), (int)(i % n));
    noise[i] = p < 1 ? (1 + plain[i]) / p - 1 : plain[i];
  }
  *out = blocks;
  return BLICA_OK;
}

/* ---- noise ---- */

/* t [m,m] <- R + D of the block's items. */
static void fill_total(const bl_blocks *blocks, const bl_block *b, int s, int k, const double *theta, double *t) {
  const size_t n = (size_t)blocks->cor->n, m = (size_t)b->n;
  const double *log_v = theta + (n + (size_t)s) * (size_t)k, *plain = blocks->plain + n * (size_t)s;
  memset(t, 0, m * m * sizeof *t);
  for (size_t q = 0; q < (size_t)k; q++) {
    const double variance = blocks->link * exp(log_v[q]), *a = theta + n * q;
    for (size_t j = 0; j < m; j++)
      for (size_t i = j; i < m; i++) t[i + m * j] += variance * a[b->item[i]] * a[b->item[j]];
  }
  for (size_t i = 0; i < m; i++) t[i * (m + 1)] = 1 / sqrt(1 + t[i * (m + 1)]);
  for (size_t j = 0; j < m; j++)
    for (size_t i = j + 1; i < m; i++) t[i + m * j] *= t[i * (m + 1)] * t[j * (m + 1)];
  for (size_t i = 0; i < m; i++) t[i * (m + 1)] = 1 + plain[b->item[i]];
}

typedef struct {
  bl_blocks *blocks;
  int k;
  const double *theta;
  double *work; /* [n,n] per thread */
} retuning;

/* Sets the noise of items with values missing at random in segment s at theta; keeps it where T is not positive
 * definite. */
static void retune_segment(int64_t s, int thread, void *user) {
  const retuning *r = user;
  const blica_cor *cor = r->blocks->cor;
  const size_t n = (size_t)cor->n;
  const bl_block *b = r->blocks->block + r->blocks->first[s];
  double *t = r->work + n * n * (size_t)thread;
  const int m = b->n;
  if (b->kind != BL_BLOCK_RANDOM || r->blocks->first[s + 1] == r->blocks->first[s]) return;
  fill_total(r->blocks, b, (int)s, r->k, r->theta, t);
  if (bl_dpotrf('L', m, t, m) != 0 || bl_dpotri('L', m, t, m) != 0) return;
  for (int i = 0; i < m; i++) {
    const size_t at = (size_t)b->item[i] + n * (size_t)s;
    const double p = share_of(cor, (int)s, b->item[i]);
    if (p < 1) r->blocks->noise[at] = r->blocks->plain[at] + (1 / p - 1) / t[(size_t)i * (size_t)(m + 1)];
  }
}

blica_status bl_blocks_retune(blica_ctx *ctx, bl_blocks *blocks, int k, const double *theta) {
  const size_t n = (size_t)blocks->cor->n;
  BL_OWNED double *work = NULL;
  retuning r = {.blocks = blocks, .k = k, .theta = theta};
  MUST(bl_alloc(ctx, bl_mul(n * n, (size_t)bl_max_threads(ctx)), &work));
  r.work = work;
  bl_parallel(ctx, blocks->cor->u, retune_segment, &r);
  return BLICA_OK;
}

/* ---- PAIRWISE ---- */

/* omega [m,m] of the block's items, 0 on the diagonal. */
static void fill_omega(const blica_cor *cor, const bl_block *b, int s, double *omega) {
  const size_t m = (size_t)b->n;
  for (size_t j = 0; j < m; j++) {
    omega[j * (m + 1)] = 0;
    for (size_t i = 0; i < j; i++) {
      const double both = bl_cor_pair_rows(cor, s, b->item[i], b->item[j]) * cor->samples[s];
      omega[i + m * j] = omega[j + m * i] =
          both / (bl_cor_item_rows(cor, s, b->item[i]) * bl_cor_item_rows(cor, s, b->item[j]));
    }
  }
}

typedef struct {
  double *r, *l, *e, *omega, *spare, *c; /* [m,m] R, T^-1, omega (R - C), omega, scratch, C (borrowed) */
  double *d, *own, *b, *bb;              /* [m], [m], [k], [m,k] */
} pairwise_parts;

static size_t pairwise_work(int n, int k) {
  return 5 * (size_t)n * (size_t)n + 2 * (size_t)n + (size_t)k + (size_t)n * (size_t)k;
}

/* Divides work among the arrays. */
static pairwise_parts place_parts(int n, int k, double *work) {
  const size_t nn = (size_t)n * (size_t)n;
  pairwise_parts p = {.r = work, .l = work + nn, .e = work + 2 * nn, .omega = work + 3 * nn, .spare = work + 4 * nn};
  p.d = work + 5 * nn, p.own = p.d + n, p.b = p.own + n, p.bb = p.b + k;
  return p;
}

/* d, b, B and R. */
static void set_correlations(const bl_point *at, pairwise_parts *p) {
  const int n = at->n, k = at->k;
  for (int j = 0; j < k; j++) p->b[j] = at->link * exp(at->log_v[j]);
  for (int i = 0; i < n; i++) {
    double total = 1;
    for (int j = 0; j < k; j++) total += p->b[j] * at->a[i + (size_t)j * n] * at->a[i + (size_t)j * n];
    p->d[i] = 1 / sqrt(total);
    for (int j = 0; j < k; j++) p->bb[i + (size_t)j * n] = p->d[i] * at->a[i + (size_t)j * n] * sqrt(p->b[j]);
  }
  bl_dsyrk('L', 'N', n, k, 1, p->bb, n, 0, p->r, n);
  bl_mirror(n, p->r);
}

/* L = T^-1 and E = T - C - D; returns log det T + tr((C + D) L), NaN when T is not positive definite. */
static double set_inverse(const bl_point *at, pairwise_parts *p) {
  const int n = at->n;
  const size_t nn = (size_t)n * (size_t)n;
  for (size_t i = 0; i < nn; i++) p->l[i] = p->omega[i] * p->r[i], p->e[i] = p->l[i] - p->omega[i] * p->c[i];
  for (int i = 0; i < n; i++) p->l[(size_t)i * (size_t)(n + 1)] = 1 + at->noise[i];
  double value = bl_invert(n, p->l);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      const size_t entry = (size_t)i + (size_t)j * (size_t)n;
      value += p->l[entry] * (i == j ? 1 + at->noise[i] : p->omega[entry] * p->c[entry]);
    }
  return value;
}

/* One PAIRWISE block of weight at->weight; c and omega are set. */
static double evaluate_pairwise(const bl_point *at, pairwise_parts *p, double *mixing, double *local) {
  const int n = at->n, k = at->k;
  set_correlations(at, p);
  const double value = set_inverse(at, p);
  if (isnan(value)) return NAN;
  /* G = weight/2 L E L by the off-diagonal entries of T, then Gamma of equation 22, into e */
  bl_dsymm('L', 'L', n, n, 1, p->l, n, p->e, n, 0, p->spare, n);
  bl_dsymm('R', 'L', n, n, 0.5 * at->weight, p->l, n, p->spare, n, 0, p->e, n);
  memset(p->own, 0, (size_t)n * sizeof *p->own);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      const size_t entry = (size_t)i + (size_t)j * (size_t)n;
      p->e[entry] *= p->omega[entry];
      p->own[i] += p->e[entry] * p->r[entry];
      p->e[entry] *= p->d[i] * p->d[j];
    }
  for (int i = 0; i < n; i++) p->e[(size_t)i * (size_t)(n + 1)] = -p->d[i] * p->d[i] * p->own[i];
  bl_dsymm('L', 'L', n, k, 1, p->e, n, at->a, n, 0, mixing, n);
  for (int j = 0; j < k; j++) {
    local[j] = p->b[j] * bl_dot((size_t)n, at->a + (size_t)j * n, mixing + (size_t)j * n);
    for (int i = 0; i < n; i++) mixing[i + (size_t)j * n] *= 2 * p->b[j];
  }
  return 0.5 * at->weight * value;
}

/* ---- all blocks of a segment ---- */

/* A, the gradient by it, by log v, noise and correlations of a block; and what its evaluation needs. */
size_t bl_blocks_work(int n, int k) {
  const size_t low = bl_gauss_segment_work(n, k), pairwise = pairwise_work(n, k);
  return 2 * (size_t)n * (size_t)k + (size_t)k + (size_t)n + (size_t)n * (size_t)n + (low > pairwise ? low : pairwise);
}

/* c [m,m] <- the correlations of the block's items. */
static void gather_correlations(const bl_symmetric *view, const bl_block *b, double *c) {
  const size_t m = (size_t)b->n;
  for (size_t j = 0; j < m; j++) {
    c[j * (m + 1)] = 1;
    for (size_t i = 0; i < j; i++)
      c[i + m * j] = c[j + m * i] = view->scale * view->pairs[blica_pair(b->item[i], b->item[j])];
  }
}

/* Adds the value's gradient to that of the segment. */
static double evaluate_block(const bl_blocks *blocks, const bl_block *b, int s, int k, double weight,
                             const bl_symmetric *view, const double *a, const double *log_v, double *work,
                             double *mixing, double *local) {
  const size_t n = (size_t)blocks->cor->n, m = (size_t)b->n;
  double *own_a = work, *slope_a = own_a + n * (size_t)k, *slope_v = slope_a + n * (size_t)k, *noise = slope_v + k,
         *c = noise + n, *rest = c + n * n, value;
  const double *from = (b->kind == BL_BLOCK_ITEM_SET ? blocks->plain : blocks->noise) + n * (size_t)s;
  const bl_point at = {
      .n = b->n, .k = k, .link = blocks->link, .weight = weight * b->share, .a = own_a, .log_v = log_v, .noise = noise};
  for (size_t i = 0; i < m; i++) {
    noise[i] = from[b->item[i]];
    for (size_t j = 0; j < (size_t)k; j++) own_a[i + m * j] = a[(size_t)b->item[i] + n * j];
  }
  gather_correlations(view, b, c);
  if (b->kind == BL_BLOCK_PAIRWISE) {
    pairwise_parts p = place_parts(b->n, k, rest);
    p.c = c;
    fill_omega(blocks->cor, b, s, p.omega);
    value = evaluate_pairwise(&at, &p, slope_a, slope_v);
  } else
    value = bl_gauss_segment(&at, &(bl_symmetric){.n = b->n, .full = c}, rest, slope_a, slope_v);
  for (size_t j = 0; j < (size_t)k; j++) {
    local[j] += slope_v[j];
    for (size_t i = 0; i < m; i++) mixing[(size_t)b->item[i] + n * j] += slope_a[i + m * j];
  }
  return value;
}

double bl_blocks_eval(const bl_blocks *blocks, int s, int k, double weight, const bl_symmetric *view, const double *a,
                      const double *log_v, double *work, double *mixing, double *local) {
  const int n = blocks->cor->n;
  double value = 0;
  memset(mixing, 0, (size_t)n * (size_t)k * sizeof *mixing);
  memset(local, 0, (size_t)k * sizeof *local);
  for (int64_t i = blocks->first[s]; i < blocks->first[s + 1]; i++) {
    const bl_block *b = blocks->block + i;
    if (b->kind == BL_BLOCK_COMPLETE) {
      const bl_point at = {.n = n,
                           .k = k,
                           .link = blocks->link,
                           .weight = weight,
                           .a = a,
                           .log_v = log_v,
                           .noise = blocks->plain + (size_t)n * (size_t)s};
      return bl_gauss_segment(&at, view, work, mixing, local);
    }
    if (b->n > 1) value += evaluate_block(blocks, b, s, k, weight, view, a, log_v, work, mixing, local);
  }
  return value;
}
