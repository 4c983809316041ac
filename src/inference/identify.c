/* identify.c - can A be recovered? Counting as in Table 1 of the paper, and the local answer at a model.
 *
 * Method: the pair correlations of all segments depend on A and log v; the scales q are nuisance. An item with two
 * levels has a scale in every segment; an item with three or more has one, since its cuts are common to all segments
 * and its margins show how its scale changes. Their Fisher information (scaled Gaussian, the scales eliminated by
 * Schur complements) has one null vector per source, the scale of its column; any other null vector is a way to change
 * the model that no correlation and no such margin sees. What thresholds say of A when there are fewer sources than
 * items is left out, as in the paper. Rank by eigenvalues
 * of the matrix scaled to a unit diagonal. For a large matrix, Lanczos steps with the matrix and with its inverse (the
 * known null vectors filled up) compute the ends of the spectrum first; if these show full rank by a wide margin, the
 * rest of the spectrum is not needed. Checked: the verdict on fitted models in the 45 cells of Table 1
 * (tests/recovery/test_recovery.c), both ways against each other (tests/identity/test_identify.c). */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "data/coding.h"
#include "estimate/gauss/information.h"
#include "inference/identify.h"
#include "num/linear/blas.h"
#include "num/linear/symmetric.h"

static const double ZERO = 1e-11; /* relative eigenvalues below it are zero */
static const double MOVES = 1e-6; /* singular values above it move a column */
static const double MARGIN = 100; /* eigenvalues above ZERO by this factor are not zero beyond doubt */
enum {
  ENDS_FROM = 400,   /* parameters from which the ends of the spectrum are computed first */
  WHOLE_MOST = 8000, /* parameters up to which the whole spectrum may be computed */
  ENDS_MOST = 20000, /* up to which its ends */
  STEPS = 200        /* of Lanczos */
};

blica_status blica_identify_count(blica_ctx *ctx, int n, int k, int u, int ordinal, int64_t *statistics,
                                  int64_t *unknowns) {
  BL_NEED(ctx, statistics, unknowns);
  *statistics = *unknowns = 0;
  if (n < 2 || u < 1 || k < 1 || k > n)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                   "%d variables, %d sources, %d segments: there must be at least 2 variables, 1 segment, and from 1 "
                   "to %d sources",
                   n, k, u, n);
  if (ordinal < 0 || ordinal > n)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "%d of %d items have three or more levels: give a number from 0 to %d",
                   ordinal, n, n);
  int64_t pairs = (int64_t)n * (n - 1) / 2; /* unknowns are fewer than n^2 + 3 u n: only the statistics can overflow */
  if (__builtin_mul_overflow(pairs + 2 * (int64_t)n, (int64_t)u, statistics)) {
    *statistics = 0;
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "%d variables in %d segments: their statistics are too many to count", n,
                   u);
  }
  *unknowns = (int64_t)n * k + 2 * (int64_t)u * k + (int64_t)u * (n - ordinal) + ordinal;
  if (ordinal > 0) *unknowns += n - 2 * (int64_t)k; /* locations; less the scale and the mean of each source */
  return BLICA_OK;
}

void blica_identification_free(blica_identification *identification) {
  bl_free(identification);
}

/* The order of the scales of the items: items with three or more levels come first. */
typedef struct {
  int ordinal;
  int *order; /* [n] */
} item_order;

/* Lists the items with three or more levels, then the others. */
static blica_status order_items(blica_ctx *ctx, const blica_model *model, item_order *items) {
  items->ordinal = 0;
  MUST(bl_alloc(ctx, (size_t)model->n, &items->order));
  for (int many = 1; many >= 0; many--)
    for (int i = 0, at = many ? 0 : items->ordinal; i < model->n; i++)
      if ((bl_plane(model->coding, i + 1) - bl_plane(model->coding, i) > 1) == many) {
        items->order[at++] = i;
        items->ordinal += many;
      }
  return BLICA_OK;
}

/* Moves the columns of the scales (all but the first k), and with square their rows, into the order of the items. */
static void reorder(const item_order *items, int n, int k, int rows, bool square, double *from, double *to) {
  const size_t ld = (size_t)rows;
  for (int j = 0; j < n + k; j++) {
    const double *column = from + ld * (size_t)(j < k ? j : k + items->order[j - k]);
    double *out = to + ld * (size_t)j;
    memcpy(out, column, ld * sizeof *out);
    for (int i = 0; i < n && square; i++) out[k + i] = column[k + items->order[i]];
  }
}

/* Subtracts what the last `count` parameters take from the first `rest` of a matrix [rest + count] (lower triangle). */
static blica_status eliminate(blica_ctx *ctx, double *info, size_t ld, size_t rest, size_t count) {
  double *corner = info + rest * (ld + 1), *side = info + rest;
  if (count == 0) return BLICA_OK;
  if (bl_dpotrf('L', (int)count, corner, (int)ld) != 0)
    return bl_fail(ctx, BLICA_ERR_NUMERIC, "the information about the scales of %zu items is singular", count);
  bl_dtrsm('L', 'L', 'N', 'N', (int)count, (int)rest, 1, corner, (int)ld, side, (int)ld);
  bl_dsyrk('L', 'T', (int)rest, (int)count, -1, side, (int)ld, 1, info, (int)ld);
  return BLICA_OK;
}

/* One segment's contribution to the information about A [nk], its own log v [k] and the scales that it shares with
 * other segments, which follow all log v; the scales of items with two levels are eliminated. */
static blica_status add_segment(blica_ctx *ctx, const bl_layout *d, int s, int ordinal, double *cross, double *local,
                                double *info, size_t ld) {
  const int n = d->n, k = d->k, m = n + k, kept = k + ordinal, binary = n - ordinal;
  const size_t nk = (size_t)n * k, at = nk + (size_t)s * k, shared = nk + (size_t)d->u * k;
  double *qq = local + kept + (size_t)kept * m, *aq = cross + nk * (size_t)kept, *vq = local + (size_t)kept * m;
  if (binary > 0) {
    if (bl_dpotrf('L', binary, qq, m) != 0)
      return bl_fail(ctx, BLICA_ERR_NUMERIC, "segment %d: the information about its scales is singular", s + 1);
    bl_dtrsm('R', 'L', 'T', 'N', (int)nk, binary, 1, qq, m, aq, (int)nk);
    bl_dtrsm('R', 'L', 'T', 'N', kept, binary, 1, qq, m, vq, m);
    bl_dsyrk('L', 'N', (int)nk, binary, -1, aq, (int)nk, 1, info, (int)ld);
    bl_dgemm('N', 'T', (int)nk, kept, binary, -1, aq, (int)nk, vq, m, 1, cross, (int)nk);
    bl_dgemm('N', 'T', kept, kept, binary, -1, vq, m, vq, m, 1, local, m);
  }
  for (int l = 0; l < kept; l++) {
    size_t row = l < k ? at + (size_t)l : shared + (size_t)(l - k);
    for (size_t i = 0; i < nk; i++) info[row + ld * i] += cross[i + nk * (size_t)l];
    for (int c = 0; c <= l; c++) {
      size_t column = c < k ? at + (size_t)c : shared + (size_t)(c - k);
      info[row + ld * column] += local[l + (size_t)c * m];
    }
  }
  return BLICA_OK;
}

/* info [p,p], lower triangle; it has room for the shared scales too. */
static blica_status information(blica_ctx *ctx, const bl_layout *d, const item_order *items, const double *theta,
                                double *info, size_t p) {
  blica_status status;
  const size_t nk = (size_t)d->n * d->k, m = (size_t)(d->n + d->k), ld = p + (size_t)items->ordinal;
  BL_OWNED double *mixing = NULL, *cross = NULL, *local = NULL, *work = NULL, *noise = NULL, *inner = NULL;
  memset(info, 0, ld * ld * sizeof *info);
  TRY(bl_alloc(ctx, nk * nk, &mixing));
  TRY(bl_alloc(ctx, nk * m, &cross));
  TRY(bl_alloc(ctx, m * m, &local));
  TRY(bl_alloc(ctx, (nk + m) * m, &work));
  TRY(bl_alloc(ctx, (size_t)d->n, &noise));
  TRY(bl_alloc(ctx, bl_information_work(d->n, d->k), &inner));
  for (int s = 0; s < d->u; s++) {
    const double *log_v = theta + bl_local(d, s);
    const bl_point at = {.n = d->n,
                         .k = d->k,
                         .link = d->link,
                         .weight = 1,
                         .a = theta,
                         .log_v = log_v,
                         .log_q = log_v + d->k,
                         .noise = noise};
    if (!bl_information(&at, mixing, cross, local, inner))
      FAIL(ctx, BLICA_ERR_NUMERIC, "segment %d: the covariance of its items is singular", s + 1);
    reorder(items, d->n, d->k, (int)nk, false, cross, work);
    reorder(items, d->n, d->k, (int)m, true, local, work + nk * m);
    TRY(add_segment(ctx, d, s, items->ordinal, work, work + nk * m, info, ld));
  }
  for (size_t j = 0; j < nk; j++)
    for (size_t i = j; i < nk; i++) info[i + ld * j] += mixing[i + nk * j];
  TRY(eliminate(ctx, info, ld, p, (size_t)items->ordinal));
  for (size_t j = 1; j < p && ld > p; j++) memmove(info + p * j, info + ld * j, p * sizeof *info);
done:
  return status;
}

/* Share of the n - 1 directions of column j (its own scale aside) that the null vectors can move. */
static blica_status column_looseness(blica_ctx *ctx, const blica_model *model, int j, const double *null, size_t p,
                                     int nullity, double *looseness) {
  const int n = model->n, least = n < nullity ? n : nullity;
  const double *a = model->mixing + (size_t)j * n;
  BL_OWNED double *moves = NULL, *values = NULL;
  double norm = bl_ddot(n, a, 1, a, 1);
  MUST(bl_alloc(ctx, (size_t)n * (size_t)nullity, &moves));
  MUST(bl_alloc(ctx, (size_t)least, &values));
  for (int c = 0; c < nullity; c++) {
    double *move = moves + (size_t)n * c;
    memcpy(move, null + p * (size_t)c + (size_t)j * n, (size_t)n * sizeof *move);
    double along = norm > 0 ? bl_ddot(n, a, 1, move, 1) / norm : 0;
    bl_daxpy(n, -along, a, 1, move, 1);
  }
  errno = 0;
  if (bl_dgesvd(n, nullity, moves, n, values) != 0)
    return bl_fail_outside(ctx, BLICA_ERR_NUMERIC,
                           "source %d: the singular values of its free directions did not converge", j + 1);
  int free_directions = 0;
  for (int i = 0; i < least; i++) free_directions += values[i] > MOVES;
  *looseness = fmin(1, (double)free_directions / (n - 1)); /* a column of zeros has no scale to leave aside */
  return BLICA_OK;
}

/* Unit diagonal; scale[i] is what row i was multiplied by. */
static void scale_information(double *info, size_t p, double *scale) {
  for (size_t i = 0; i < p; i++) scale[i] = info[i * (p + 1)] > 0 ? 1 / sqrt(info[i * (p + 1)]) : 1;
  for (size_t j = 0; j < p; j++)
    for (size_t i = j; i < p; i++) info[i + p * j] *= scale[i] * scale[j];
}

/* Adds h h' for the null vector h of each source: its column grows and its variances fall. They have no element in
 * common. */
static void fill_scales(const blica_model *m, const double *scale, double *info, size_t p, double *h) {
  const size_t n = (size_t)m->n, k = (size_t)m->k, nk = n * k;
  for (size_t j = 0; j < k; j++) {
    memset(h, 0, p * sizeof *h);
    for (size_t i = j * n; i < (j + 1) * n; i++) h[i] = m->mixing[i] / scale[i];
    for (size_t i = nk + j; i < p; i += k) h[i] = -2 / scale[i];
    bl_dsyr('L', (int)p, 1 / bl_ddot((int)p, h, 1, h, 1), h, 1, info, (int)p);
  }
}

typedef struct {
  blica_ctx *ctx;
  const double *matrix;
  size_t p;
  bool inverse;
  blica_status status;
} linear_map;

static bool apply_linear_map(const double *x, double *y, void *user) {
  linear_map *o = user;
  const int p = (int)o->p;
  if (!o->inverse) {
    bl_dsymv('L', p, 1, o->matrix, p, x, 1, 0, y, 1);
    return true;
  }
  memcpy(y, x, o->p * sizeof *y);
  bl_dtrsv('L', 'N', 'N', p, o->matrix, p, y, 1);
  bl_dtrsv('L', 'T', 'N', p, o->matrix, p, y, 1);
  if (bl_poll(o->ctx, &(blica_progress){.stage = "identify", .fraction = -1, .objective = NAN}))
    o->status = bl_fail(o->ctx, BLICA_ERR_INTERRUPTED, "interrupted while the rank was computed");
  return o->status == BLICA_OK;
}

/* Largest eigenvalue of the matrix, or of the inverse of the one that its Cholesky factor is given of. */
static blica_status largest(blica_ctx *ctx, const double *matrix, size_t p, bool inverse, double *value, bool *found) {
  const bl_lanczos_options o = {.high = 1, .tolerance = 1e-5, .max_steps = STEPS};
  linear_map own = {.ctx = ctx, .matrix = matrix, .p = p, .inverse = inverse, .status = BLICA_OK};
  BL_OWNED double *work = NULL;
  double residual;
  MUST(bl_alloc(ctx, bl_lanczos_work((int)p, &o), &work));
  *found = bl_lanczos_of((int)p, apply_linear_map, &own, &o, work, value, &residual, NULL) == 0;
  return own.status;
}

/* Smallest eigenvalue but for the scales relative to the largest, 0 where it may be near the limit; info is
 * overwritten. */
static blica_status by_ends(blica_ctx *ctx, const blica_model *model, const double *scale, double *info, size_t p,
                            double *smallest) {
  blica_status status;
  double *h = NULL, top, bottom;
  bool found;
  *smallest = 0;
  TRY(bl_alloc(ctx, p, &h));
  fill_scales(model, scale, info, p, h);
  TRY(largest(ctx, info, p, false, &top, &found));
  if (!found || bl_dpotrf('L', (int)p, info, (int)p) != 0) goto done;
  TRY(largest(ctx, info, p, true, &bottom, &found));
  if (found && 1 / (top * bottom) > MARGIN * ZERO) *smallest = 1 / (top * bottom);
done:
  bl_free(h);
  return status;
}

/* Rank and free directions from the whole spectrum. */
static blica_status by_spectrum(blica_ctx *ctx, const blica_model *model, const double *scale, double *info, size_t p,
                                blica_identification *out) {
  BL_OWNED double *values = NULL;
  MUST(bl_alloc(ctx, p, &values));
  errno = 0;
  if (bl_dsyevd('V', 'L', (int)p, info, (int)p, values) != 0)
    return bl_fail_outside(ctx, BLICA_ERR_NUMERIC, "the eigenvalues of the information matrix did not converge");
  int nullity = 0;
  while (nullity < (int)p && !(values[nullity] > ZERO * values[p - 1])) nullity++;
  if (nullity < model->k) nullity = model->k; /* the scales of the columns are free, whatever rounding makes of it */
  out->rank = (int64_t)p - nullity;
  out->smallest = nullity < (int)p ? values[nullity] / values[p - 1] : 0;
  for (int c = 0; c < nullity; c++) { /* back from the scaled coordinates, to unit length */
    double *vector = info + p * (size_t)c;
    for (size_t i = 0; i < p; i++) vector[i] *= scale[i];
    bl_dscal((int)p, 1 / bl_dnrm2((int)p, vector, 1), vector, 1);
  }
  for (int j = 0; j < model->k && nullity > 0; j++)
    MUST(column_looseness(ctx, model, j, info, p, nullity, &out->looseness[j]));
  return BLICA_OK;
}

/* Finds the rank by the ends of the spectrum if that is faster; else, or if they do not decide, by the whole spectrum
 * of the information, which is computed again. */
static blica_status find_rank(blica_ctx *ctx, const blica_model *model, const bl_layout *layout,
                              const item_order *items, const double *theta, double *info, size_t p, size_t ends_from,
                              blica_identification *out) {
  blica_status status;
  double *scale = NULL, smallest = 0;
  TRY(bl_alloc(ctx, p, &scale));
  for (int round = p >= ends_from ? 0 : 1; round < 2 && !(smallest > 0); round++) {
    if (round && p > WHOLE_MOST)
      FAIL(ctx, BLICA_ERR_NUMERIC,
           "the information about %zu parameters is singular or nearly so; which are free is computed for at most %d",
           p, WHOLE_MOST);
    TRY(information(ctx, layout, items, theta, info, p));
    scale_information(info, p, scale);
    TRY(round ? by_spectrum(ctx, model, scale, info, p, out) : by_ends(ctx, model, scale, info, p, &smallest));
  }
  if (smallest > 0) {
    out->rank = out->parameters;
    out->smallest = smallest;
  }
  out->local = out->rank >= out->parameters;
  out->design = out->local && out->surplus >= 0 ? BLICA_YES : BLICA_NO;
  out->tolerance = ZERO;
done:
  bl_free(scale);
  return status;
}

/* A and log v of the model. */
static blica_status fill_theta(blica_ctx *ctx, const blica_model *model, const bl_layout *layout, double *theta) {
  memcpy(theta, model->mixing, (size_t)model->n * model->k * sizeof *theta);
  for (int s = 0; s < model->u; s++)
    for (int j = 0; j < model->k; j++) {
      double variance = model->variances[j + (size_t)s * model->k];
      if (!(variance > 0) || !isfinite(variance))
        return bl_fail(ctx, BLICA_ERR_DATA,
                       "segment '%s', source %d: variance %g is not positive; the model cannot be checked",
                       model->segments ? model->segments[s] : "?", j + 1, variance);
      theta[bl_local(layout, s) + (size_t)j] = log(variance);
    }
  return BLICA_OK;
}

blica_status blica_identify(blica_ctx *ctx, const blica_model *model, blica_identification **out) {
  BL_NEED_OUT(ctx, out, model);
  return bl_identify(ctx, model, ENDS_FROM, out);
}

blica_status bl_identify(blica_ctx *ctx, const blica_model *model, size_t ends_from, blica_identification **out) {
  blica_status status;
  const size_t nk = (size_t)model->n * model->k, p = nk + (size_t)model->u * model->k;
  const bl_layout layout = {
      .n = model->n, .k = model->k, .u = model->u, .locals = model->k + model->n, .link = model->link};
  item_order items = {0};
  BL_OWNED blica_identification *result = NULL;
  BL_OWNED double *theta = NULL, *info = NULL;
  *out = NULL;
  bl_blas_hold();
  if (p > ENDS_MOST)
    FAIL(ctx, BLICA_ERR_ARGUMENT, "the model has %zu parameters in A and v; the rank check takes at most %d", p,
         ENDS_MOST);
  TRY(bl_alloc(ctx, 1, &result));
  TRY(bl_alloc_for(ctx, result, (size_t)model->k, &result->looseness));
  TRY(bl_alloc(ctx, bl_layout_size(&layout), &theta));
  TRY(order_items(ctx, model, &items));
  TRY(bl_alloc(ctx, (p + (size_t)items.ordinal) * (p + (size_t)items.ordinal), &info));
  TRY(fill_theta(ctx, model, &layout, theta));
  result->k = model->k;
  int64_t statistics, unknowns;
  TRY(blica_identify_count(ctx, model->n, model->k, model->u, items.ordinal, &statistics, &unknowns));
  result->surplus = statistics - unknowns;
  result->parameters = (int64_t)(p - (size_t)model->k);
  TRY(find_rank(ctx, model, &layout, &items, theta, info, p, ends_from, result));
  *out = bl_take(&result);
done:
  bl_blas_release();
  bl_free(items.order);
  return status;
}
