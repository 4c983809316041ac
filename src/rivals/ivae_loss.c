/* ivae_loss.c - loss of the linear iVAE (paper, section 5.3 and appendix E) and its gradient.
 *
 * Method: rows stand in panels of 64, cut into pieces of one segment each.
 * The one-hot segment never appears: in a piece the prior and the segment's part of the encoder are constants, and
 * their derivatives are plain sums. Pieces are shared out to a fixed number of tasks; the sums of pieces are added in
 * index order, those of tasks over a fixed tree, so that the bits do not depend on threads and ranks.
 * Accuracy: rounding only, about 1e-15 relative. Checked: against published loss and gradient values
 * to 1e-12 in tests/parity/test_published.c; against a fixture by complex steps, central differences, and bit for bit
 * over threads and instruction sets in tests/unit/rivals/test_ivae_loss.c. */
#include "rivals/ivae.h"

#include <math.h>
#include <string.h>

#include "base/share.h"
#include "data/pack.h"
#include "num/rng.h"
#include "num/simd.h"

enum { LANES = BL_LANES, PIECE_ROWS = 4096, MAX_TASKS = 64 };

typedef struct {
  int segment;
  int64_t first, rows; /* of the segment */
  int64_t row;         /* place of its first row in all rows */
  size_t panel;        /* its first panel */
} piece;

struct bl_ivae {
  bl_ivae_layout layout;
  int pieces, tasks, threads;
  bool analytic;
  int64_t rows, missing;
  size_t height, panels;                     /* rows per panel */
  piece *piece;                              /* [pieces] */
  float *t;                                  /* [panels][n][height] */
  double *eps;                               /* [panels][k][height] */
  double *decoder, *encoder;                 /* as in bl_ivae_shared; decoder_t is theta's own */
  double *start, *mean, *logvar, *precision; /* [2k|k|k|k][u] */
  double *task_sums;                         /* [tasks][n k + 2k n] */
  double *piece_sums;                        /* [pieces][4k + 1], the loss last */
  double *segment_sums;                      /* [4k] */
  bl_share share, share_pieces;              /* of the tasks among ranks, and so of the pieces */
  bl_ivae_work *work;                        /* [threads] */
};

typedef struct {
  bl_ivae *ivae;
  bl_ivae_shared shared;
  blica_simd level;
} evaluation;

bl_ivae_layout bl_ivae_layout_of(int n, int k, int u) {
  bl_ivae_layout at = {.n = n, .k = k, .u = u};
  size_t kn = (size_t)k, width = (size_t)n + (size_t)u, next = 0;
  at.prior_mean = next, next += kn * (size_t)u;
  at.prior_mean_bias = next, next += kn;
  at.prior_log = next, next += kn * (size_t)u;
  at.prior_log_bias = next, next += kn;
  at.decoder = next, next += (size_t)n * kn;
  at.mean = next, next += kn * width;
  at.mean_bias = next, next += kn;
  at.log = next, next += kn * width;
  at.log_bias = next, next += kn;
  at.size = next;
  return at;
}

/* ---- rows into panels ---- */

typedef struct {
  bl_ivae *ivae;
  const blica_data *data;
  uint64_t seed;
} filling;

static void unpack_piece(int64_t item, int thread, void *user) {
  const filling *fill = user;
  bl_ivae *v = fill->ivae;
  const piece *p = &v->piece[item];
  const int n = v->layout.n;
  (void)thread;
  for (int64_t r = 0; r < p->rows; r++) {
    float *t = v->t + (p->panel + (size_t)r / v->height) * (size_t)n * v->height + (size_t)r % v->height;
    for (int i = 0; i < n; i++) {
      const int value = bl_data_value(fill->data, p->segment, i, p->first + r);
      t[(size_t)i * v->height] = (float)(value == BLICA_MISSING ? 0 : 1 - 2 * value);
    }
  }
}

static void cut_pieces(bl_ivae *v, const blica_data *data) {
  int next = 0;
  int64_t row = 0;
  v->panels = 0;
  for (int s = 0; s < data->u; s++)
    for (int64_t first = 0; first < data->samples[s]; first += PIECE_ROWS) {
      int64_t left = data->samples[s] - first, rows = left < PIECE_ROWS ? left : PIECE_ROWS;
      v->piece[next++] = (piece){.segment = s, .first = first, .rows = rows, .row = row, .panel = v->panels};
      row += rows;
      v->panels += ((size_t)rows + v->height - 1) / v->height;
    }
}

static blica_status alloc_work(blica_ctx *ctx, bl_ivae *v, bl_ivae_work *w) {
  blica_status status = BLICA_OK;
  size_t n = (size_t)v->layout.n, k = (size_t)v->layout.k, height = v->height;
  TRY(bl_alloc_for(ctx, v, n * height, &w->t));
  TRY(bl_alloc_for(ctx, v, 2 * k * height, &w->encoded));
  TRY(bl_alloc_for(ctx, v, k * height, &w->sd));
  TRY(bl_alloc_for(ctx, v, k * height, &w->z));
  TRY(bl_alloc_for(ctx, v, n * height, &w->a));
  TRY(bl_alloc_for(ctx, v, k * height, &w->dz));
  TRY(bl_alloc_for(ctx, v, 2 * k * height, &w->dencoded));
  TRY(bl_alloc_for(ctx, v, height, &w->row_weight));
  TRY(bl_alloc_for(ctx, v, height, &w->row_loss));
  TRY(bl_alloc_for(ctx, v, height, &w->row));
  TRY(bl_alloc_for(ctx, v, bl_mul(n * LANES, k), &w->grad_decoder));
  TRY(bl_alloc_for(ctx, v, bl_mul(n * LANES, 2 * k), &w->grad_encoder));
  TRY(bl_alloc_for(ctx, v, BL_IVAE_SUMS * k * LANES, &w->sums));
done:
  return status;
}

static blica_status alloc_arrays(blica_ctx *ctx, bl_ivae *v) {
  blica_status status = BLICA_OK;
  size_t n = (size_t)v->layout.n, k = (size_t)v->layout.k, u = (size_t)v->layout.u;
  TRY(bl_alloc_for(ctx, v, bl_mul(v->panels, n * v->height), &v->t));
  TRY(bl_alloc_for(ctx, v, bl_mul(v->panels, k * v->height), &v->eps));
  TRY(bl_alloc_for(ctx, v, n * k, &v->decoder));
  TRY(bl_alloc_for(ctx, v, 2 * n * k, &v->encoder));
  TRY(bl_alloc_for(ctx, v, 2 * k * u, &v->start));
  TRY(bl_alloc_for(ctx, v, k * u, &v->mean));
  TRY(bl_alloc_for(ctx, v, k * u, &v->logvar));
  TRY(bl_alloc_for(ctx, v, k * u, &v->precision));
  TRY(bl_alloc_for(ctx, v, bl_mul((size_t)v->tasks, 3 * n * k), &v->task_sums));
  TRY(bl_alloc_for(ctx, v, bl_mul((size_t)v->pieces, BL_IVAE_SUMS * k + 1), &v->piece_sums));
  TRY(bl_alloc_for(ctx, v, BL_IVAE_SUMS * k, &v->segment_sums));
  TRY(bl_alloc_for(ctx, v, (size_t)v->threads, &v->work));
  for (int i = 0; i < v->threads; i++) TRY(alloc_work(ctx, v, &v->work[i]));
done:
  return status;
}

static int first_piece(const bl_ivae *v, int64_t task) {
  return (int)(task * v->pieces / v->tasks);
}

static blica_status make_shares(blica_ctx *ctx, bl_ivae *v) {
  blica_status status = BLICA_OK;
  bl_share *tasks = &v->share, *pieces = &v->share_pieces;
  TRY(bl_share_make(ctx, v->tasks, tasks));
  TRY(bl_share_make(ctx, v->pieces, pieces));
  for (int r = 0; r <= tasks->size; r++) pieces->bound[r] = first_piece(v, tasks->bound[r]);
  pieces->first = pieces->bound[pieces->rank], pieces->last = pieces->bound[pieces->rank + 1];
done:
  return status;
}

blica_status bl_ivae_create(blica_ctx *ctx, const blica_data *data, int k, bool analytic, bl_ivae **out) {
  blica_status status = BLICA_OK;
  bl_ivae *v = NULL;
  int64_t pieces = 0;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &v));
  v->layout = bl_ivae_layout_of(data->n, k, data->u);
  v->analytic = analytic;
  v->rows = data->rows;
  v->missing = data->missing;
  v->height = BL_IVAE_HEIGHT;
  v->threads = bl_max_threads(ctx);
  for (int s = 0; s < data->u; s++) pieces += (data->samples[s] + PIECE_ROWS - 1) / PIECE_ROWS;
  if (pieces == 0 || pieces > INT32_MAX)
    FAIL(ctx, BLICA_ERR_DATA, "ivae: %lld rows cannot be used", (long long)data->rows);
  v->pieces = (int)pieces;
  v->tasks = pieces < MAX_TASKS ? (int)pieces : MAX_TASKS;
  TRY(bl_alloc_for(ctx, v, (size_t)pieces, &v->piece));
  cut_pieces(v, data);
  TRY(alloc_arrays(ctx, v));
  TRY(make_shares(ctx, v));
  filling fill = {.ivae = v, .data = data};
  bl_share_run(ctx, &v->share_pieces, unpack_piece, &fill);
  *out = bl_take(&v);
done:
  bl_ivae_free(v);
  return status;
}

void bl_ivae_free(bl_ivae *v) {
  if (!v) return;
  bl_share_free(&v->share);
  bl_share_free(&v->share_pieces);
  bl_free(v);
}

/* ---- noise ---- */

/* The place of latent c of row r of the piece. */
static double *noise_at(bl_ivae *v, const piece *p, int64_t r, int c) {
  size_t panel = p->panel + (size_t)r / v->height, k = (size_t)v->layout.k;
  return v->eps + (panel * k + (size_t)c) * v->height + (size_t)r % v->height;
}

static void draw_piece(int64_t item, int thread, void *user) {
  const filling *fill = user;
  bl_ivae *v = fill->ivae;
  const piece *p = &v->piece[item];
  (void)thread;
  for (int64_t r = 0; r < p->rows; r++) {
    bl_rng rng = bl_rng_make(fill->seed, (uint64_t)(p->row + r));
    for (int c = 0; c < v->layout.k; c++) *noise_at(v, p, r, c) = bl_rng_normal(&rng);
  }
}

void bl_ivae_noise(blica_ctx *ctx, bl_ivae *ivae, uint64_t seed) {
  filling fill = {.ivae = ivae, .seed = seed};
  bl_share_run(ctx, &ivae->share_pieces, draw_piece, &fill);
}

void bl_ivae_noise_set(bl_ivae *v, const double *eps) {
  int k = v->layout.k;
  for (int i = 0; i < v->pieces; i++)
    for (int64_t r = 0; r < v->piece[i].rows; r++)
      for (int c = 0; c < k; c++) *noise_at(v, &v->piece[i], r, c) = eps[(v->piece[i].row + r) * k + c];
}

/* ---- one evaluation ---- */

/* Brings theta into the forms that the kernel reads. */
static void prepare(bl_ivae *v, const double *theta) {
  const bl_ivae_layout *at = &v->layout;
  int n = at->n, k = at->k, u = at->u;
  size_t width = (size_t)n + (size_t)u;
  for (int c = 0; c < k; c++)
    for (int j = 0; j < n; j++) v->decoder[(size_t)c * n + j] = theta[at->decoder + (size_t)j * k + c];
  for (int part = 0; part < 2; part++)
    for (int c = 0; c < k; c++) {
      const double *row = theta + (part ? at->log : at->mean) + (size_t)c * width;
      double half = 0, bias = theta[(part ? at->log_bias : at->mean_bias) + (size_t)c];
      size_t column = (size_t)part * k + c;
      for (int i = 0; i < n; i++) {
        v->encoder[(size_t)i * 2 * k + column] = -0.5 * row[i];
        half += 0.5 * row[i];
      }
      for (int s = 0; s < u; s++) v->start[(size_t)s * 2 * k + column] = row[n + s] + (bias + half);
    }
  for (int s = 0; s < u; s++)
    for (int c = 0; c < k; c++) {
      size_t to = (size_t)s * k + c, from = (size_t)c * u + s;
      v->mean[to] = theta[at->prior_mean + from] + theta[at->prior_mean_bias + (size_t)c];
      v->logvar[to] = theta[at->prior_log + from] + theta[at->prior_log_bias + (size_t)c];
      v->precision[to] = exp(-v->logvar[to]);
    }
}

static void run_piece(const evaluation *run, int index, const bl_ivae_work *work) {
  bl_ivae *v = run->ivae;
  const piece *p = &v->piece[index];
  size_t n = (size_t)v->layout.n, k = (size_t)v->layout.k, s = (size_t)p->segment;
  double *sums = v->piece_sums + (size_t)index * (BL_IVAE_SUMS * k + 1);
  bl_ivae_rows rows = {.t = v->t + p->panel * n * v->height,
                       .eps = v->eps + p->panel * k * v->height,
                       .rows = p->rows,
                       .start = v->start + s * 2 * k,
                       .mean = v->mean + s * k,
                       .logvar = v->logvar + s * k,
                       .precision = v->precision + s * k};
  sums[BL_IVAE_SUMS * k] = BL_AT(run->level, bl_ivae_piece)(&run->shared, &rows, work, sums);
}

static void run_task(int64_t item, int thread, void *user) {
  const evaluation *run = user;
  bl_ivae *v = run->ivae;
  bl_ivae_work *work = &v->work[thread];
  size_t nk = (size_t)v->layout.n * (size_t)v->layout.k;
  double *sums = v->task_sums + (size_t)item * 3 * nk;
  if (run->shared.gradient) {
    memset(work->grad_decoder, 0, nk * LANES * sizeof(double));
    memset(work->grad_encoder, 0, 2 * nk * LANES * sizeof(double));
  }
  int first = first_piece(v, item), end = first_piece(v, item + 1);
  for (int i = first; i < end; i++) run_piece(run, i, work);
  if (!run->shared.gradient) return;
  for (size_t i = 0; i < nk; i++) sums[i] = bl_lanes_sum(work->grad_decoder + i * LANES);
  for (size_t i = 0; i < 2 * nk; i++) sums[nk + i] = bl_lanes_sum(work->grad_encoder + i * LANES);
}

/* What the ranks made, to all; the sum over tasks stands in the first. */
static blica_status exchange(blica_ctx *ctx, bl_ivae *v, bool gradient) {
  const size_t nk = (size_t)v->layout.n * (size_t)v->layout.k, each = BL_IVAE_SUMS * (size_t)v->layout.k + 1;
  const bl_places pieces = {v->piece_sums, each}, sum = {v->task_sums, 3 * nk};
  blica_status status = bl_share_exchange(ctx, &v->share_pieces, 1, &pieces, NULL);
  if (status == BLICA_OK && gradient) status = bl_share_exchange(ctx, &v->share, 0, NULL, &sum);
  return status;
}

/* Derivatives that need one segment's sums; the biases gather over segments. */
static void gradient_of_segment(const bl_ivae *v, int s, double scale, double *g) {
  const bl_ivae_layout *at = &v->layout;
  const double *sums = v->segment_sums;
  size_t n = (size_t)at->n, k = (size_t)at->k, u = (size_t)at->u, width = n + u;
  for (size_t c = 0; c < k; c++) {
    double mean = sums[BL_IVAE_SUM_MEAN * k + c] * scale, log = sums[BL_IVAE_SUM_LOG * k + c] * scale;
    double prior_mean = -sums[BL_IVAE_SUM_PRIOR_MEAN * k + c] * scale;
    double prior_log = 0.5 * sums[BL_IVAE_SUM_PRIOR_LOG * k + c] * scale;
    g[at->prior_mean + c * u + (size_t)s] = prior_mean;
    g[at->prior_log + c * u + (size_t)s] = prior_log;
    g[at->mean + c * width + n + (size_t)s] = mean;
    g[at->log + c * width + n + (size_t)s] = log;
    g[at->prior_mean_bias + c] += prior_mean;
    g[at->prior_log_bias + c] += prior_log;
    g[at->mean_bias + c] += mean;
    g[at->log_bias + c] += log;
  }
}

static void gradient_of_weights(const bl_ivae *v, double scale, double *g) {
  const bl_ivae_layout *at = &v->layout;
  size_t n = (size_t)at->n, k = (size_t)at->k, width = n + (size_t)at->u, nk = n * k;
  const double *total = v->task_sums; /* the sum stands in the first */
  for (size_t i = 0; i < nk; i++) g[at->decoder + i] = total[i] * scale;
  for (size_t c = 0; c < k; c++)
    for (size_t i = 0; i < n; i++) { /* x = (1 - t)/2 */
      g[at->mean + c * width + i] = 0.5 * (g[at->mean_bias + c] - total[nk + c * n + i] * scale);
      g[at->log + c * width + i] = 0.5 * (g[at->log_bias + c] - total[nk + (k + c) * n + i] * scale);
    }
}

double bl_ivae_loss(blica_ctx *ctx, bl_ivae *v, const double *theta, double *gradient) {
  size_t k = (size_t)v->layout.k, stride = BL_IVAE_SUMS * k + 1;
  double scale = 1.0 / (double)v->rows, loss = 0;
  evaluation run = {.ivae = v, .level = blica_simd_level(ctx)};
  run.shared = (bl_ivae_shared){.n = v->layout.n,
                                .k = v->layout.k,
                                .analytic = v->analytic,
                                .gradient = gradient != NULL,
                                .decoder = v->decoder,
                                .decoder_t = theta + v->layout.decoder,
                                .encoder = v->encoder};
  prepare(v, theta);
  bl_share_run(ctx, &v->share, run_task, &run);
  if (exchange(ctx, v, gradient != NULL) != BLICA_OK) return NAN; /* the fit ends with bl_comm_check */
  if (gradient) memset(gradient, 0, v->layout.size * sizeof *gradient);
  for (int i = 0; i < v->pieces;) {
    int s = v->piece[i].segment;
    memset(v->segment_sums, 0, BL_IVAE_SUMS * k * sizeof(double));
    for (; i < v->pieces && v->piece[i].segment == s; i++) {
      for (size_t c = 0; c < BL_IVAE_SUMS * k; c++) v->segment_sums[c] += v->piece_sums[(size_t)i * stride + c];
      loss += v->piece_sums[(size_t)i * stride + BL_IVAE_SUMS * k];
    }
    if (gradient) gradient_of_segment(v, s, scale, gradient);
  }
  if (gradient) gradient_of_weights(v, scale, gradient);
  return (loss - (double)v->missing * 0.69314718055994530942) * scale; /* log 2 of each missing value */
}
