/* free.c - items that are estimated apart in some segments: partial invariance.
 *
 * An item with cuts of its own in a segment has no weight there in what the margins say: the terms of margins and of
 * scales (gauss.h) and the solution of means and cuts (model/solve_means.c). An item with a row of A of its own is, for
 * all that is common, missing in that segment. What it has of its own follows from the finished fit.
 *
 * Its row: let r_j be its correlations with the items that have the common rows there, g_j the loadings of these,
 * sqrt(c v) A_j / sqrt(M_jj), and beta those of the item. Then r_j = g_j'beta, and the generalised least squares with
 * the covariance of the other items, G'G + Psi, Psi_j = 1 - |g_j|^2 + D_j, are those with Psi alone (Woodbury), as in
 * the regression scores of Bartlett. D is the noise of coarse data. beta has the prior of a row of A,
 * and its cuts, tau = sqrt(c) a'mu - t sqrt(M_ii), fit the item's thresholds exactly. Measured:
 * bench/results/invariance.md. */
#include <math.h>
#include <string.h>

#include "cor/cor.h"
#include "cor/correlate.h"
#include "data/coding.h"
#include "estimate/estimate.h"
#include "estimate/gauss/gauss.h"
#include "model/model.h"
#include "num/linear/blas.h"

enum { STEPS = 60 }; /* halvings of the distance to the prior that belongs to the row */
static const double MOST_COMMUNALITY = 0.98, LEAST_GAP = 1e-6;

/* ---- the list of items ---- */

/* Which of the names the text is, up to its end; -1: none. */
static int find(const char *text, size_t length, int count, char *const *names) {
  for (int i = 0; i < count; i++)
    if (strlen(names[i]) == length && strncmp(names[i], text, length) == 0) return i;
  return -1;
}

/* ITEM or ITEM@SEGMENT; names may hold an @ themselves. Without a segment *s is -1. False: it is neither. */
static bool read_cell(const blica_model *m, const char *text, size_t length, int *i, int *s) {
  *s = -1;
  if ((*i = find(text, length, m->n, m->variables)) >= 0) return true;
  for (size_t at = 0; at < length; at++) {
    if (text[at] != '@' || (*i = find(text, at, m->n, m->variables)) < 0) continue;
    if ((*s = find(text + at + 1, length - at - 1, m->u, m->segments)) >= 0) return true;
  }
  return false;
}

/* Marks in freed what one entry of option free names. */
static blica_status read_one(blica_ctx *ctx, const char *text, size_t length, const blica_model *m, uint8_t *freed) {
  static const char prefix[] = "cuts:";
  const size_t skip = strncmp(text, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
  int i, s;
  const bool whole = read_cell(m, text, length, &i, &s);
  if (!whole && !(skip && read_cell(m, text + skip, length - skip, &i, &s)))
    return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                   "option free: '%.*s' names no item and segment of the data; give ITEM@SEGMENT, cuts:ITEM@SEGMENT or "
                   "cuts:ITEM, such as '%s@%s'",
                   (int)length, text, m->variables[0], m->segments[0]);
  if (whole && s < 0)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                   "option free: '%s' with a row of A of its own in every segment would say nothing of A; leave the "
                   "item out, or give '%s@SEGMENT' or 'cuts:%s'",
                   m->variables[i], m->variables[i], m->variables[i]);
  for (int t = 0; t < m->u; t++) {
    uint8_t *cell = &freed[i + m->n * t];
    if ((s < 0 || s == t) && *cell < BLICA_FREED_ROW) *cell = whole ? BLICA_FREED_ROW : BLICA_FREED_CUTS;
  }
  return BLICA_OK;
}

blica_status bl_free_read(blica_ctx *ctx, const char *text, const blica_model *model, uint8_t *freed) {
  for (const char *at = text, *end;; at = end + 1) {
    end = at + strcspn(at, ",");
    MUST(read_one(ctx, at, (size_t)(end - at), model, freed));
    if (!*end) return BLICA_OK;
  }
}

/* ---- what can be freed ---- */

blica_status bl_free_possible(blica_ctx *ctx, const bl_estimator *estimator, const blica_fit_options *o) {
  if (estimator->frees && o->thresholds == BLICA_THRESHOLDS_ITEMS) return BLICA_OK;
  return bl_fail(ctx, BLICA_ERR_ARGUMENT, "option free needs method matched and thresholds items; this fit has %s",
                 estimator->frees ? "thresholds none" : estimator->method->name);
}

/* Whether any row of the segment has a value of the item. */
static bool seen(const blica_model *m, const blica_counts *counts, int i, int s) {
  return counts->present[bl_plane(m->coding, i) + counts->n * s] > 0;
}

/* An item needs its common row in some segment. */
static blica_status check_item(blica_ctx *ctx, const blica_model *m, const blica_counts *counts, const uint8_t *freed,
                               int i) {
  for (int s = 0; s < m->u; s++)
    if (seen(m, counts, i, s) && freed[i + m->n * s] < BLICA_FREED_ROW) return BLICA_OK;
  return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                 "option free: item '%s' would have a row of A of its own in all segments that have it, and none in "
                 "common; leave the item out, or free it in fewer segments",
                 m->variables[i]);
}

/* A segment needs more common rows, and more common cuts, than there are sources. */
static blica_status check_segment(blica_ctx *ctx, const blica_model *m, const blica_counts *counts,
                                  const uint8_t *freed, int s) {
  int rows = 0, cuts = 0, apart = 0;
  for (int i = 0; i < m->n; i++) {
    const int cell = freed[i + m->n * s];
    apart += cell > 0;
    if (!seen(m, counts, i, s)) continue;
    rows += cell < BLICA_FREED_ROW;
    cuts += cell ? 0 : bl_plane(m->coding, i + 1) - bl_plane(m->coding, i);
  }
  if (!apart || (rows > m->k && cuts > m->k)) return BLICA_OK;
  return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                 "option free: in segment '%s' %d items would keep the common rows of A and %d the common cuts; %d "
                 "sources need at least %d of both: free fewer items there, or fit fewer sources",
                 m->segments[s], rows, cuts, m->k, m->k + 1);
}

blica_status bl_free_check(blica_ctx *ctx, const blica_model *model, const blica_counts *counts, const uint8_t *freed) {
  for (int i = 0; i < model->n; i++) MUST(check_item(ctx, model, counts, freed, i));
  for (int s = 0; s < model->u; s++) MUST(check_segment(ctx, model, counts, freed, s));
  return BLICA_OK;
}

/* ---- missing where the row is free ---- */

/* Takes the item's columns out of the tables of segment s. */
static void mask_item(const blica_model *m, int i, int s, blica_counts *c) {
  double *const cells[] = {c->n11, c->n10, c->n01, c->n00};
  for (int p = bl_plane(m->coding, i); p < bl_plane(m->coding, i + 1); p++) {
    c->ones[p + c->n * s] = c->present[p + c->n * s] = 0;
    for (int q = 0; q < c->n; q++)
      for (int cell = 0; cell < 4 && q != p; cell++)
        cells[cell][blica_pair(p < q ? p : q, p < q ? q : p) + s * c->pairs] = 0;
  }
}

/* The item sets of segment s, without the freed items. */
static blica_status mask_sets(blica_ctx *ctx, const blica_model *m, const blica_counts *from, const uint8_t *freed,
                              int s, bl_item_sets *sets) {
  BL_AUTO(bl_item_sets) *all = NULL;
  MUST(bl_item_sets_make(ctx, from->n, 1, &all));
  if (from->sets)
    MUST(bl_item_sets_merge(ctx, all, 0, from->sets, s));
  else
    MUST(bl_item_sets_add_complete(ctx, all, 0, from->samples[s]));
  const bl_item_set_list *list = &all->segment[0];
  if (list->count < 0) bl_item_sets_give_up(sets, s);
  for (int e = 0; e < list->count; e++) {
    uint64_t *mask = list->mask + (size_t)e * (size_t)all->words;
    for (int i = 0; i < m->n; i++)
      for (int p = bl_plane(m->coding, i); freed[i + m->n * s] == BLICA_FREED_ROW && p < bl_plane(m->coding, i + 1);
           p++)
        mask[p / 64] &= ~(UINT64_C(1) << (p % 64));
    MUST(bl_item_sets_add(ctx, sets, s, mask, list->rows[e]));
  }
  return BLICA_OK;
}

blica_status bl_free_mask(blica_ctx *ctx, const blica_model *m, const blica_counts *from, const uint8_t *freed,
                          blica_counts **out) {
  BL_AUTO(blica_counts) *c = NULL;
  *out = NULL;
  MUST(bl_counts_create(ctx, from->n, from->u, false, (const char *const *)from->variables,
                        (const char *const *)from->segments, &c));
  c->exact = from->exact;
  if (from->sets || !from->n10) MUST(bl_item_sets_make(ctx, c->n, c->u, &c->sets));
  for (int s = 0; s < c->u; s++) {
    bl_counts_add(c, s, from, s);
    if (c->sets) MUST(mask_sets(ctx, m, from, freed, s, c->sets));
    for (int i = 0; i < m->n; i++)
      if (freed[i + m->n * s] == BLICA_FREED_ROW) mask_item(m, i, s, c);
  }
  *out = bl_take(&c);
  return BLICA_OK;
}

blica_status bl_free_scales(blica_ctx *ctx, const blica_model *m, const blica_counts *counts, const uint8_t *freed,
                            blica_cor *cor) {
  const size_t size = (size_t)counts->n * (size_t)counts->u, bytes = size * sizeof(double);
  BL_OWNED double *margins = NULL;
  blica_counts left = *counts;
  MUST(bl_alloc(ctx, bl_mul(2, size), &margins));
  left.ones = memcpy(margins, counts->ones, bytes), left.present = memcpy(margins + size, counts->present, bytes);
  for (int s = 0; s < m->u; s++)
    for (int i = 0; i < m->n; i++)
      for (int p = bl_plane(m->coding, i); freed[i + m->n * s] && p < bl_plane(m->coding, i + 1); p++)
        left.ones[p + left.n * s] = left.present[p + left.n * s] = 0;
  return bl_find_item_scales(ctx, &left, cor);
}

/* ---- what is their own ---- */

/* Adds what item j says of the loadings beta [k] of item i in segment s to information [k,k] and side [k]. loading [k]
 * is workspace. */
static void add_item(const blica_model *m, const blica_cor *cor, int i, int j, int s, double *loading,
                     double *information, double *side) {
  const int k = m->k;
  double variance = 1;
  for (int l = 0; l < k; l++) {
    loading[l] = m->mixing[j + m->n * l] * sqrt(m->link * m->variances[l + k * s]);
    variance += loading[l] * loading[l];
  }
  const double weight = 1 / (1 / variance + bl_coarseness(cor, s, j)); /* 1 - |g|^2 = 1 / M_jj */
  const double rho = cor->rho[blica_pair(i < j ? i : j, i < j ? j : i) + cor->pairs * s];
  bl_dscal(k, 1 / sqrt(variance), loading, 1);
  bl_dsyr('L', k, weight, loading, 1, information, k);
  bl_daxpy(k, weight * rho, loading, 1, side, 1);
}

/* What the other items say of the loadings beta of item i in segment s, and the prior of its row. */
typedef struct {
  int k;
  double rows, noise;         /* with a value of the item; 1 + D_i */
  double *information, *side; /* [k,k], [k] of the weighted regression */
  double *spread;             /* [k] c v sd^2, of which the prior variance of beta is a share 1 / M_ii */
  double *ridge, *beta;       /* [k,k], [k] */
} regression;

/* beta at the prior that belongs to a beta of square length `length` and of square length `far` over the prior's
 * spread; updates both. The penalty |a|^2 / 2 sd^2 has a = beta sqrt(M_ii / c v) and M_ii = 1 / (1 - |beta|^2). */
static bool solve_row(const regression *r, double *length, double *far) {
  const double total = 1 / (1 - *length), unit = (r->noise - *length) / fmax(r->rows, 1);
  double now = 0, next = 0;
  memcpy(r->ridge, r->information, sizeof(double) * (size_t)r->k * (size_t)r->k);
  memcpy(r->beta, r->side, sizeof(double) * (size_t)r->k);
  for (int l = 0; l < r->k; l++)
    r->ridge[l * (r->k + 1)] += unit * (total / r->spread[l] + *far * total * total) + 1e-9;
  if (bl_dpotrf('L', r->k, r->ridge, r->k) != 0) return false;
  bl_dpotrs('L', r->k, 1, r->ridge, r->k, r->beta, r->k);
  for (int l = 0; l < r->k; l++) now += r->beta[l] * r->beta[l], next += r->beta[l] * r->beta[l] / r->spread[l];
  if (now > MOST_COMMUNALITY) {
    bl_dscal(r->k, sqrt(MOST_COMMUNALITY / now), r->beta, 1);
    next *= MOST_COMMUNALITY / now, now = MOST_COMMUNALITY;
  }
  *length = 0.5 * (*length + now), *far = 0.5 * (*far + next);
  return true;
}

/* The row of A of item i in segment s, into row of stride n. work: 2 k (k + 2) doubles. */
static blica_status own_row(blica_ctx *ctx, const blica_model *m, const blica_cor *cor, int i, int s, double *work,
                            double *row) {
  const int k = m->k;
  const size_t square = (size_t)k * (size_t)k;
  regression r = {.k = k, .rows = bl_cor_item_rows(cor, s, i), .noise = 1 + bl_coarseness(cor, s, i)};
  r.information = work, r.side = work + square, r.spread = r.side + k, r.ridge = r.spread + k,
  r.beta = r.ridge + square;
  double sd = INFINITY, unused, length = 0, far = 0;
  memset(work, 0, sizeof(double) * 2 * (size_t)k * ((size_t)k + 2));
  bl_model_prior(m, &sd, &unused);
  for (int l = 0; l < k; l++) r.spread[l] = fmax(m->link * m->variances[l + k * s] * sd * sd, 1e-12);
  for (int j = 0; j < m->n; j++)
    if (j != i && bl_freed(m, j, s) < BLICA_FREED_ROW && bl_cor_pair_rows(cor, s, i < j ? i : j, i < j ? j : i) > 0)
      add_item(m, cor, i, j, s, r.beta, r.information, r.side);
  for (int step = 0; step < STEPS; step++)
    if (!solve_row(&r, &length, &far))
      return bl_fail(ctx, BLICA_ERR_NUMERIC, "the row of A of item '%s' in segment '%s' could not be solved",
                     m->variables[i], m->segments[s]);
  length = 0;
  for (int l = 0; l < k; l++) length += r.beta[l] * r.beta[l];
  for (int l = 0; l < k; l++)
    row[m->n * l] = r.beta[l] / sqrt((1 - length) * fmax(m->link * m->variances[l + k * s], 1e-12));
  return BLICA_OK;
}

/* The cuts of item i in segment s that fit its thresholds. */
static void own_cuts(blica_model *m, int i, int s) {
  const double *row = bl_mixing_in(m, s) + i;
  double mean = 0, total = 1, *cut = m->own_cuts + (size_t)m->planes * (size_t)s;
  for (int l = 0; l < m->k; l++) {
    mean += sqrt(m->link) * row[m->n * l] * m->means[l + m->k * s];
    total += m->link * row[m->n * l] * row[m->n * l] * m->variances[l + m->k * s];
  }
  for (int first = bl_plane(m->coding, i), p = first; p < bl_plane(m->coding, i + 1); p++) {
    cut[p] = mean - m->thresholds[p + m->planes * s] * sqrt(total);
    if (p > first) cut[p] = fmax(cut[p], cut[p - 1] + LEAST_GAP); /* a level that nobody has */
  }
}

/* The common cuts of items that have none in common: the mean of their own. */
static void mean_cuts(blica_model *m, int i) {
  double rows = 0;
  for (int s = 0; s < m->u; s++) {
    if (!bl_freed(m, i, s)) return;
    rows += m->samples[s];
  }
  for (int p = bl_plane(m->coding, i); p < bl_plane(m->coding, i + 1); p++) {
    m->cuts[p] = 0;
    for (int s = 0; s < m->u; s++) m->cuts[p] += m->samples[s] / rows * bl_cuts_in(m, s)[p];
  }
}

blica_status bl_free_estimate(blica_ctx *ctx, const blica_cor *cor, blica_model *m) {
  BL_OWNED double *work = NULL;
  const size_t nk = (size_t)m->n * (size_t)m->k;
  MUST(bl_alloc(ctx, 2 * (size_t)m->k * ((size_t)m->k + 2), &work));
  MUST(bl_model_own(ctx, m));
  for (int s = 0; s < m->u; s++)
    for (int i = 0; i < m->n; i++) {
      if (bl_freed(m, i, s) == BLICA_FREED_ROW)
        MUST(own_row(ctx, m, cor, i, s, work, m->own_mixing + nk * (size_t)s + i));
      if (bl_freed(m, i, s)) own_cuts(m, i, s);
    }
  for (int i = 0; i < m->n; i++) mean_cuts(m, i);
  return BLICA_OK;
}
