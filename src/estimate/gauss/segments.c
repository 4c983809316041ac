/* segments.c - the Gaussian likelihood of all segments: its data in the layout that suits n, its evaluation.
 *
 * Small n: eight segments side by side (kernel_lanes.c). Else segments one by one, products being made from packed
 * pairs; segments in which values are missing, in blocks (blocks.c). */
#include <string.h>

#include "cor/cor.h"
#include "data/coding.h"
#include "estimate/gauss/gauss.h"
#include "estimate/gauss/information.h"
#include "num/normal/normal.h"

enum { LANES_MOST = 32 }; /* the matrices of eight segments of this n fit the second-level cache */

/* ---- the data ---- */

/* What coarsening adds to the variance 1 of q_i: 1/I - 1, I = sum_l (phi(t_l) - phi(t_(l+1)))^2 / p_l the share of the
 * variance that its best score of levels keeps; with two levels p(1-p)/phi(t)^2 - 1. Exact counts carry it as well: it
 * is a property of the data, and the minimum does not depend on it. */
double bl_coarseness(const blica_cor *cor, int s, int i) {
  const double *t = cor->thresholds + (size_t)cor->planes * (size_t)s;
  int first = bl_plane(cor->coding, i), last = bl_plane(cor->coding, i + 1);
  double density = bl_phi_density(t[first]), kept = 0, before = 0, above = 1;
  if (last - first == 1) return bl_phi_cdf(t[first]) * bl_phi_cdf(-t[first]) / (density * density) - 1;
  for (int p = first; p <= last; p++) {
    double now = p < last ? bl_phi_density(t[p]) : 0, share = p < last ? bl_phi_cdf(t[p]) : 0;
    if (above - share > 1e-12) kept += (now - before) * (now - before) / (above - share);
    before = now, above = share;
  }
  return 1 / kept - 1;
}

/* D, which free scales do without, and what missing values add to it. */
static blica_status set_noise(blica_ctx *ctx, bl_gauss *g) {
  const blica_cor *cor = g->cor;
  const size_t n = (size_t)cor->n, count = n * (size_t)cor->u;
  MUST(bl_alloc_for(ctx, g, count, &g->noise));
  g->plain = g->noise;
  if (g->layout.locals > g->layout.k) return BLICA_OK;
  if (cor->item_rows) MUST(bl_alloc_for(ctx, g, count, &g->plain));
  for (size_t i = 0; i < count; i++) g->plain[i] = bl_coarseness(cor, (int)(i / n), (int)(i % n));
  if (!cor->item_rows) return BLICA_OK;
  return bl_blocks_make(ctx, g, cor, g->layout.link, g->plain, g->noise, &g->blocks);
}

/* Eight segments in lanes; those without a segment hold the identity. */
static void fill_lanes(bl_gauss *g, int s, double *matrix) {
  const size_t n = (size_t)g->layout.n, at = (size_t)(s / BL_LANES) * BL_LANES, lane = (size_t)(s % BL_LANES);
  const bool padding = s >= g->layout.u;
  double *c = g->c + at * n * n + lane, *noise = g->lane_noise + at * n + lane;
  if (!padding) blica_cor_matrix(g->cor, s, matrix);
  for (size_t i = 0; i < n * n; i++) {
    const bool diagonal = i % (n + 1) == 0;
    c[i * BL_LANES] = padding || diagonal ? diagonal : matrix[i] * g->shrink[s];
  }
  for (size_t i = 0; i < n; i++) noise[i * BL_LANES] = padding ? 1 : g->noise[i + n * (size_t)s];
}

/* Copies the correlation matrices of all segments into lanes. */
static blica_status set_lanes(blica_ctx *ctx, bl_gauss *g) {
  const size_t n = (size_t)g->layout.n, padded = ((size_t)g->layout.u + BL_LANES - 1) / BL_LANES * BL_LANES;
  BL_OWNED double *matrix = NULL;
  MUST(bl_alloc(ctx, n * n, &matrix));
  MUST(bl_alloc_for(ctx, g, bl_mul(n * n, padded), &g->c));
  MUST(bl_alloc_for(ctx, g, n * padded, &g->lane_noise));
  for (size_t s = 0; s < padded; s++) fill_lanes(g, (int)s, matrix);
  return BLICA_OK;
}

blica_status bl_gauss_make(blica_ctx *ctx, const bl_layout *layout, const blica_cor *cor, const double *shift,
                           double power, bl_gauss **out) {
  BL_OWNED bl_gauss *g = NULL;
  const size_t u = (size_t)cor->u;
  *out = NULL;
  MUST(bl_alloc(ctx, 1, &g));
  g->layout = *layout, g->cor = cor;
  MUST(bl_alloc_for(ctx, g, u, &g->shrink));
  MUST(bl_alloc_for(ctx, g, u, &g->samples));
  MUST(bl_alloc_for(ctx, g, u, &g->weight));
  for (size_t s = 0; s < u; s++) {
    g->shrink[s] = 1 / (1 + (shift ? shift[s] : 0));
    g->samples[s] = g->weight[s] = power * cor->samples[s];
  }
  MUST(set_noise(ctx, g));
  g->lanes = layout->n <= LANES_MOST && !g->blocks;
  if (g->lanes) MUST(set_lanes(ctx, g));
  *out = bl_take(&g);
  return BLICA_OK;
}

double bl_gauss_constant(const bl_gauss *g) {
  double total = 0;
  for (int s = 0; s < g->layout.u; s++) total += g->weight[s];
  return -0.5 * total * g->layout.n * log(6.283185307179586477);
}

/* C_s, for products. */
static bl_symmetric view_of(const bl_gauss *g, int s) {
  bl_symmetric view = bl_cor_view(g->cor, s);
  view.scale *= g->shrink[s];
  return view;
}

bl_point bl_gauss_point(const bl_gauss *g, const double *theta, int s) {
  const bl_layout *p = &g->layout;
  const double *local = theta + bl_local(p, s);
  return (bl_point){.n = p->n,
                    .k = p->k,
                    .link = p->link,
                    .weight = g->samples[s],
                    .a = theta,
                    .log_v = local,
                    .log_q = p->locals > p->k ? local + p->k : NULL,
                    .noise = g->noise + (size_t)p->n * (size_t)s};
}

/* ---- the term ---- */

typedef struct {
  const bl_gauss *g;
  blica_simd level;
  bl_places_of_segments places;
  double *work; /* per thread */
  size_t work_size;
  const double *theta;
} evaluation;

static void close_gauss(void *work) {
  evaluation *e = work;
  bl_segments_close(&e->places);
  bl_free(e);
}

/* Doubles of work: of eight segments, with their parameters and the gradient by them; of one. */
static size_t work_of(const bl_gauss *g) {
  const bl_layout *p = &g->layout;
  const size_t size = g->lanes    ? BL_LANES * (bl_gauss_parts_size(p->n, p->k) + 2 * (size_t)p->locals + 1)
                      : g->blocks ? bl_blocks_work(p->n, p->k)
                                  : bl_gauss_segment_work(p->n, p->k);
  return (size + BL_LANES - 1) / BL_LANES * BL_LANES;
}

static blica_status open_gauss(blica_ctx *ctx, const void *data, void **work) {
  blica_status status;
  evaluation *e = NULL;
  TRY(bl_alloc(ctx, 1, &e));
  e->g = data, e->level = blica_simd_level(ctx), e->work_size = work_of(e->g);
  TRY(bl_segments_open(ctx, &e->g->layout, e->g->lanes ? BL_LANES : 1, &e->places));
  TRY(bl_alloc_for(ctx, e, bl_mul(e->work_size, (size_t)bl_max_threads(ctx)), &e->work));
  *work = e;
  e = NULL;
done:
  if (e) close_gauss(e);
  return status;
}

/* Value of BL_LANES neighbouring segments at once; sets the slopes by A and by their own parameters. */
static double eval_lanes(evaluation *e, int group, double *work, double *mixing, double *local) {
  const bl_gauss *g = e->g;
  const size_t n = (size_t)g->layout.n, locals = (size_t)g->layout.locals, at = (size_t)group;
  const int first = group * BL_LANES, count = g->layout.u - first < BL_LANES ? g->layout.u - first : BL_LANES;
  bl_v *weight = (bl_v *)work, *parameter = weight + 1, *slope = parameter + locals;
  memset(work, 0, (1 + locals) * sizeof *weight); /* of padding */
  for (int lane = 0; lane < count; lane++) {
    const double *from = e->theta + bl_local(&g->layout, first + lane);
    (*weight)[lane] = g->weight[first + lane];
    for (size_t i = 0; i < locals; i++) parameter[i][lane] = from[i];
  }
  const bl_lanes in = {.n = g->layout.n,
                       .k = g->layout.k,
                       .free_scales = g->layout.locals > g->layout.k,
                       .link = g->layout.link,
                       .a = e->theta,
                       .c = (const bl_v *)g->c + n * n * at,
                       .noise = (const bl_v *)g->lane_noise + n * at,
                       .weight = weight,
                       .parameter = parameter};
  const double value = BL_AT(e->level, bl_gauss_lanes)(&in, slope + locals, mixing, slope);
  for (int lane = 0; lane < BL_LANES; lane++)
    for (size_t i = 0; i < locals; i++) local[i + locals * (size_t)lane] = slope[i][lane];
  return value;
}

static double eval_segment(evaluation *e, int s, double *work, double *mixing, double *local) {
  const bl_gauss *g = e->g;
  const bl_symmetric c = view_of(g, s);
  bl_point at = bl_gauss_point(g, e->theta, s);
  at.weight = g->weight[s];
  if (!g->blocks) return bl_gauss_segment(&at, &c, work, mixing, local);
  return bl_blocks_eval(g->blocks, s, at.k, at.weight, &c, at.a, at.log_v, work, mixing, local);
}

static void eval_place(int64_t place, int thread, void *user) {
  evaluation *e = user;
  const bl_layout *p = &e->g->layout;
  const size_t at = (size_t)place;
  double *work = e->work + e->work_size * (size_t)thread, *mixing = e->places.mixing + (size_t)p->n * (size_t)p->k * at,
         *local = e->places.local + (size_t)(p->locals * e->places.together) * at;
  e->places.value[at] = BL_LEFT_OUT;
  if (bl_loop_stopped(e->places.ctx, thread)) return;
  e->places.value[at] = (e->g->lanes ? eval_lanes : eval_segment)(e, (int)place, work, mixing, local);
}

static double eval_gauss(void *work, const double *theta, double *gradient) {
  evaluation *e = work;
  e->theta = theta;
  bl_split_run(e->places.ctx, &e->places.split, eval_place, e);
  return bl_segments_add(&e->places, gradient);
}

static blica_status renew_gauss(blica_ctx *ctx, void *data, const double *theta) {
  const bl_gauss *g = data;
  return g->blocks ? bl_blocks_retune(ctx, g->blocks, g->layout.k, theta) : BLICA_OK;
}

/* Which form of the information costs less. */
static bool is_dense(const bl_layout *p) {
  return p->k > p->n / 4;
}

static bool inform_gauss(const void *data, const double *theta, int s, double *information, double *work) {
  const bl_gauss *g = data;
  const bl_point at = bl_gauss_point(g, theta, s);
  const size_t k = (size_t)at.k;
  double *own = work, *root = own + k * k, *rest = root + k;
  const bool done = is_dense(&g->layout) ? bl_variances_information(&at, own, root)
                                         : bl_sources_information(&at, root, rest, own, NULL, rest + k * k);
  for (size_t i = 0; i < k * k && done; i++) information[i] += own[i];
  return done;
}

bl_term bl_gauss_term(bl_gauss *g) {
  const size_t k = (size_t)g->layout.k;
  return (bl_term){.data = g,
                   .open = open_gauss,
                   .close = close_gauss,
                   .eval = eval_gauss,
                   .renew = renew_gauss,
                   .inform = inform_gauss,
                   .work_size =
                       k * k + (is_dense(&g->layout) ? bl_information_work(g->layout.n, g->layout.k)
                                                     : k + k * k + bl_sources_information_work(g->layout.k, false))};
}
