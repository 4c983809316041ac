/* sgauss.c - the scaled Gaussian likelihood over all segments: layout, parallel evaluation in lanes, penalties.
 *
 * Terms of blocks of eight segments are computed by any thread of any rank into their own slots and added over a
 * fixed tree (base/share.h), so the sum has the same bits for any number of threads and ranks. Without lanes
 * sgauss_segments.c does the same. */
#include "cor/cor.h"
#include "estimate/gauss/sgauss.h"

#include <math.h>
#include <string.h>

#include "estimate/gauss/sgauss_kernels.h"
#include "num/blas.h"

struct bl_sgauss {
  blica_ctx *ctx;
  const bl_sgauss_data *data;
  blica_simd level;
  double *gram;                 /* [k,k] */
  bl_segments *segments;        /* does the rest without lanes; with them: */
  bl_share share;               /* of the blocks */
  double *value;                /* [blocks] */
  double *gradient_a;           /* [n,k,blocks] */
  bl_v *local, *local_gradient; /* [k+n] per block */
  double *work;                 /* per thread */
  size_t work_size;
  const double *theta;
};

size_t bl_sgauss_size(const bl_sgauss_data *data) {
  return (size_t)data->n * data->k + (size_t)data->u * (data->k + data->n);
}

const bl_sgauss_data *bl_sgauss_data_of(const bl_sgauss *g) {
  return g->data;
}

double bl_sgauss_constant(const bl_sgauss_data *data) {
  double total = 0;
  for (int s = 0; s < data->u; s++) total += data->weight[s];
  return -0.5 * total * data->n * log(6.283185307179586477);
}

void bl_sgauss_data_free(bl_sgauss_data *data) {
  if (!data) return;
  bl_free(data);
}

static double *lane_matrix(const bl_sgauss_data *d, int s) {
  return d->c + (size_t)(s / BL_LANES) * d->n * d->n * BL_LANES + s % BL_LANES;
}

static void unpack_pairs(const double *pairs, size_t n, double scale, double *c) {
  for (size_t j = 0; j < n; j++) {
    c[j + j * n] = 1;
    for (size_t i = 0; i < j; i++) c[i + j * n] = c[j + i * n] = scale * *pairs++;
  }
}

void bl_sgauss_matrix(const bl_sgauss_data *data, int s, double *c) {
  size_t nn = (size_t)data->n * data->n;
  if (!data->c) {
    unpack_pairs(bl_sgauss_pairs(data, s), (size_t)data->n, data->scale[s], c);
    return;
  }
  if (!data->lanes) {
    memcpy(c, data->c + nn * (size_t)s, nn * sizeof *c);
    return;
  }
  const double *from = lane_matrix(data, s);
  for (size_t i = 0; i < nn; i++) c[i] = from[i * BL_LANES];
}

/* Lanes without a segment hold the identity and weigh nothing. */
static void fill_padding(bl_sgauss_data *d) {
  for (int s = d->u; s < d->blocks * BL_LANES; s++)
    for (int i = 0; i < d->n; i++) lane_matrix(d, s)[(size_t)(i + i * d->n) * BL_LANES] = 1;
}

/* C of segment s of cor, shifted by d. */
static void shifted_matrix(const blica_cor *cor, int s, double d, double *c) {
  size_t n = (size_t)cor->n;
  blica_cor_matrix(cor, s, c);
  if (!(d > 0)) return;
  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i < n; i++)
      if (i != j) c[i + j * n] /= 1 + d;
}

static blica_status copy_matrices(blica_ctx *ctx, const blica_cor *cor, const double *shift, bl_sgauss_data *d) {
  blica_status status;
  BL_OWNED double *matrix = NULL;
  size_t nn = bl_mul((size_t)cor->n, (size_t)cor->n);
  TRY(bl_alloc_for(ctx, d, bl_mul(nn, d->lanes ? (size_t)d->blocks * BL_LANES : (size_t)cor->u), &d->c));
  TRY(bl_alloc(ctx, nn, &matrix));
  for (int s = 0; s < cor->u; s++) {
    shifted_matrix(cor, s, shift ? shift[s] : 0, d->lanes ? matrix : d->c + nn * (size_t)s);
    if (!d->lanes) continue;
    for (size_t i = 0; i < nn; i++) lane_matrix(d, s)[i * BL_LANES] = matrix[i];
  }
  if (d->lanes) fill_padding(d);
done:
  return status;
}

static blica_status borrow_pairs(blica_ctx *ctx, const blica_cor *cor, const double *shift, bl_sgauss_data *d) {
  blica_status status;
  TRY(bl_alloc_for(ctx, d, (size_t)cor->u, &d->scale));
  d->pairs = cor->rho;
  for (int s = 0; s < cor->u; s++) d->scale[s] = 1 / (1 + (shift ? shift[s] : 0));
done:
  return status;
}

blica_status bl_sgauss_data_make(blica_ctx *ctx, const blica_cor *cor, const double *shift, int k,
                                 const bl_settings *options, bl_sgauss_data **out) {
  blica_status status;
  bl_sgauss_data *d = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &d));
  d->n = cor->n, d->k = k, d->u = cor->u, d->link = options->link;
  d->lanes = cor->n <= BL_LANES_MAX_N;
  d->blocks = (cor->u + BL_LANES - 1) / BL_LANES;
  TRY(bl_alloc_for(ctx, d, (size_t)cor->u, &d->weight));
  for (int s = 0; s < cor->u; s++) d->weight[s] = options->likelihood_power * cor->samples[s];
  TRY((cor->n <= BL_FULL_MAX_N ? copy_matrices : borrow_pairs)(ctx, cor, shift, d));
  *out = bl_take(&d);
done:
  bl_sgauss_data_free(d);
  return status;
}

void bl_sgauss_free(bl_sgauss *g) {
  if (!g) return;
  bl_share_free(&g->share);
  bl_segments_free(g->segments);
  bl_free(g);
}

blica_status bl_sgauss_make(blica_ctx *ctx, const bl_sgauss_data *data, bl_sgauss **out) {
  blica_status status;
  bl_sgauss *g = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &g));
  g->ctx = ctx, g->data = data, g->level = blica_simd_level(ctx);
  size_t n = (size_t)data->n, k = (size_t)data->k, blocks = (size_t)data->blocks;
  TRY(bl_alloc_for(ctx, g, k * k, &g->gram));
  if (data->lanes) {
    TRY(bl_share_make(ctx, data->blocks, 0, &g->share));
    TRY(bl_alloc_for(ctx, g, blocks, &g->value));
    TRY(bl_alloc_for(ctx, g, bl_mul(n * k, blocks), &g->gradient_a));
    TRY(bl_alloc_for(ctx, g, (n + k) * blocks, &g->local));
    TRY(bl_alloc_for(ctx, g, (n + k) * blocks, &g->local_gradient));
    g->work_size = bl_sgauss_lanes_work(data->n, data->k);
    TRY(bl_alloc_for(ctx, g, bl_mul(g->work_size, (size_t)bl_max_threads(ctx)), &g->work));
  } else {
    TRY(bl_segments_make(ctx, data, &g->segments));
  }
  *out = bl_take(&g);
done:
  bl_sgauss_free(g);
  return status;
}

static void evaluate_block(int64_t block, int thread, void *user) {
  bl_sgauss *g = user;
  const bl_sgauss_data *d = g->data;
  const int m = d->n + d->k;
  const size_t nn = (size_t)d->n * d->n;
  bl_sgauss_shared shared = {d->n, d->k, d->link, g->theta, g->gram, g->work + g->work_size * (size_t)thread};
  bl_v weight = bl_v_all(0), *local = g->local + (size_t)m * (size_t)block;
  for (int lane = 0; lane < BL_LANES; lane++) {
    int s = (int)block * BL_LANES + lane;
    if (s >= d->u) break; /* padding keeps log v = log q = 0 */
    weight[lane] = d->weight[s];
    const double *from = g->theta + bl_sgauss_local(d, s);
    for (int i = 0; i < m; i++) local[i][lane] = from[i];
  }
  BL_AT(g->level, bl_sgauss_lanes)
  (&shared, (const bl_v *)d->c + nn * (size_t)block, &weight, local, &g->value[block],
   g->gradient_a + (size_t)d->n * d->k * (size_t)block, g->local_gradient + (size_t)m * (size_t)block);
}

/* What the ranks made, to all; the sum over blocks stands in the first place of gradient_a then. */
static blica_status exchange(bl_sgauss *g, bool gradient) {
  const bl_sgauss_data *d = g->data;
  const bl_places lists[] = {{g->value, 1}, {(double *)g->local_gradient, (size_t)(d->n + d->k) * BL_LANES}};
  const bl_places sum = {g->gradient_a, (size_t)d->n * (size_t)d->k};
  return bl_share_exchange(g->ctx, &g->share, gradient ? 2 : 1, lists, gradient ? &sum : NULL);
}

static double evaluate_lanes(bl_sgauss *g, const double *theta, double *gradient) {
  const bl_sgauss_data *d = g->data;
  const int m = d->n + d->k;
  g->theta = theta;
  bl_share_run(g->ctx, &g->share, evaluate_block, g);
  if (exchange(g, gradient != NULL) != BLICA_OK) return NAN; /* the fit ends with bl_comm_check */
  double value = 0;
  for (int block = 0; block < d->blocks; block++) value += g->value[block];
  if (!gradient) return value;
  memcpy(gradient, g->gradient_a, (size_t)d->n * d->k * sizeof *gradient);
  for (int s = 0; s < d->u; s++) {
    const bl_v *from = g->local_gradient + (size_t)m * (size_t)(s / BL_LANES);
    for (int i = 0; i < m; i++) gradient[bl_sgauss_local(d, s) + (size_t)i] = from[i][s % BL_LANES];
  }
  return value;
}

/* Adds the penalties' part to the gradient (when there is one) and returns their value. */
static double penalise(const bl_sgauss_data *d, const double *theta, double *gradient) {
  double value = 0;
  if (d->precision_mixing > 0)
    for (size_t i = 0; i < (size_t)d->n * d->k; i++) {
      value += 0.5 * d->precision_mixing * theta[i] * theta[i];
      if (gradient) gradient[i] += d->precision_mixing * theta[i];
    }
  if (d->precision_variance > 0)
    for (int s = 0; s < d->u; s++)
      for (size_t i = bl_sgauss_local(d, s), end = i + (size_t)d->k; i < end; i++) {
        value += 0.5 * d->precision_variance * theta[i] * theta[i];
        if (gradient) gradient[i] += d->precision_variance * theta[i];
      }
  return value;
}

double bl_sgauss_eval(bl_sgauss *g, const double *theta, double *gradient) {
  const bl_sgauss_data *d = g->data;
  bl_dgemm('T', 'N', d->k, d->k, d->n, 1, theta, d->n, theta, d->n, 0, g->gram, d->k);
  double value =
      d->lanes ? evaluate_lanes(g, theta, gradient) : bl_segments_eval(g->segments, theta, g->gram, gradient);
  return value + penalise(d, theta, gradient);
}
