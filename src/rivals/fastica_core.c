/* fastica_core.c - fastICA (Hyvarinen, IEEE Trans. Neural Networks 10, 1999) on pooled binary rows.
 *
 * Method: binary rows repeat, so equal rows are merged into weighted patterns (at most 2^n of them); the covariance
 * comes from the pair counts, in whole numbers; whitening by its eigenvectors, each with a positive first entry so
 * that a given start means the same everywhere. One iteration is a pass over panels of patterns: tanh and both
 * matrix products at once. Tasks are fixed and added over a fixed tree: same bits for any number of threads and ranks.
 * Symmetric orthogonalisation (W W')^(-1/2) W. A missing value is replaced by its mean.
 * Accuracy: rounding. Checked: tests/parity/fastica.sh against scikit-learn from the same start,
 * tests/unit/rivals/test_fastica.c on sources of known mixing and bit for bit over threads and instruction sets. */
#include "rivals/fastica.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/share.h"
#include "data/patterns.h"
#include "num/linear/blas.h"
#include "num/simd.h"

enum { LANES = BL_LANES, MAX_TASKS = 64 };

typedef struct {
  double *y, *row, *products, *sums; /* [m][height], [height], [k][k][8], [k][8] */
} work;

struct bl_fastica {
  int n, k, threads, tasks;
  size_t height, panels;
  int64_t rows, patterns;
  double *mean;                           /* [n] */
  double *whitening, *dewhitening;        /* [k,n] by rows, [n,k] by columns */
  double *x, *weight;                     /* [panels][k][height], [panels][height] */
  double *w_t;                            /* the kernel's form of W */
  double *task_sums, *total;              /* [tasks][k k + k], [k k + k] */
  bl_share share;                         /* of the tasks among ranks */
  double *next, *square, *basis, *values; /* [k,k], [k,k], [k,k], [k] */
  work *work;                             /* [threads] */
};

typedef struct {
  bl_fastica *f;
  const bl_row_keys *keys;
  int64_t first; /* panel */
  int what;
  bl_fastica_shared shared;
  blica_simd level;
} pass;

void bl_pooled_covariance(const blica_counts *counts, int first, int end, double *mean, double *c) {
  int n = counts->n;
  double rows = 0;
  for (int s = first; s < end; s++) rows += counts->samples[s];
  for (int i = 0; i < n; i++) {
    double ones = 0, present = 0;
    for (int s = first; s < end; s++) {
      ones += counts->ones[i + (size_t)s * n];
      present += counts->present[i + (size_t)s * n];
    }
    mean[i] = present > 0 ? ones / present : 0.5;
    c[i + (size_t)i * n] = present * mean[i] * (1 - mean[i]) / rows;
  }
  for (int j = 0; j < n; j++)
    for (int i = 0; i < j; i++) {
      double cell[4], sum[4] = {0};
      for (int s = first; s < end; s++) {
        blica_counts_table(counts, s, i, j, cell);
        for (int a = 0; a < 4; a++) sum[a] += cell[a];
      }
      double p = mean[i], q = mean[j];
      double product = (1 - p) * (1 - q) * sum[0] - (1 - p) * q * sum[1] - p * (1 - q) * sum[2] + p * q * sum[3];
      c[i + (size_t)j * n] = c[j + (size_t)i * n] = product / rows;
    }
}

/* ---- whitening ---- */

static blica_status whiten(blica_ctx *ctx, bl_fastica *f, const blica_counts *counts) {
  blica_status status;
  int n = f->n, k = f->k;
  BL_OWNED double *c = NULL, *values = NULL;
  TRY(bl_alloc(ctx, bl_mul((size_t)n, (size_t)n), &c));
  TRY(bl_alloc(ctx, (size_t)n, &values));
  bl_pooled_covariance(counts, 0, counts->u, f->mean, c);
  errno = 0;
  if (bl_dsyev('V', 'L', n, c, n, values) != 0)
    FAIL_OUTSIDE(ctx, BLICA_ERR_NUMERIC, "fastica: the eigenvalues of the pooled covariance did not converge");
  for (int j = 0; j < k; j++) {
    const double *vector = c + (size_t)(n - 1 - j) * n; /* ascending: the largest are last */
    double variance = values[n - 1 - j], sign = vector[0] < 0 ? -1 : 1;
    if (!(variance > n * DBL_EPSILON * values[n - 1]))
      FAIL(ctx, BLICA_ERR_DATA,
           "fastica: the pooled rows span %d dimensions (constant or duplicate variables), so %d "
           "sources cannot be found; ask for at most %d",
           j, k, j);
    for (int i = 0; i < n; i++) {
      f->whitening[(size_t)j * n + i] = sign * vector[i] / sqrt(variance);
      f->dewhitening[(size_t)j * n + i] = sign * vector[i] * sqrt(variance);
    }
  }
done:
  return status;
}

static int64_t first_panel(const bl_fastica *f, int64_t task) {
  return task * (int64_t)f->panels / f->tasks;
}

/* Centred patterns of one panel, then whitened in place of x. */
static void whiten_panel(int64_t item, int thread, void *user) {
  const pass *p = user;
  bl_fastica *f = p->f;
  item += p->first;
  size_t height = f->height, first = (size_t)item * height, n = (size_t)f->n;
  double *centred = f->work[thread].y, *weight = f->weight + first;
  memset(centred, 0, n * height * sizeof *centred);
  for (size_t r = 0; r < height && first + r < (size_t)f->patterns; r++) {
    const size_t words = (size_t)p->keys->words;
    const uint64_t *present = p->keys->key + (first + r) * 2 * words, *ones = present + words;
    weight[r] = (double)p->keys->weight[first + r];
    for (size_t i = 0; i < n; i++)
      if (bl_bit(present, (int)i)) centred[i * height + r] = bl_bit(ones, (int)i) - f->mean[i];
  }
  BL_AT(p->level, bl_fastica_panel)
  (BL_FASTICA_WHITEN, &p->shared, centred, NULL, f->x + (size_t)item * (size_t)f->k * height, NULL, NULL, NULL);
}

/* ---- making and freeing ---- */

static blica_status alloc_arrays(blica_ctx *ctx, bl_fastica *f) {
  blica_status status;
  size_t n = (size_t)f->n, k = (size_t)f->k, kk = bl_mul(k, k);
  TRY(bl_alloc_for(ctx, f, n, &f->mean));
  TRY(bl_alloc_for(ctx, f, bl_mul(n, k), &f->whitening));
  TRY(bl_alloc_for(ctx, f, bl_mul(n, k), &f->dewhitening));
  TRY(bl_alloc_for(ctx, f, bl_mul(f->panels, bl_mul(k, f->height)), &f->x));
  TRY(bl_alloc_for(ctx, f, bl_mul(f->panels, f->height), &f->weight));
  TRY(bl_alloc_for(ctx, f, bl_mul(n, k), &f->w_t));
  TRY(bl_alloc_for(ctx, f, bl_mul((size_t)f->tasks, kk + k), &f->task_sums));
  TRY(bl_alloc_for(ctx, f, kk + k, &f->total));
  TRY(bl_alloc_for(ctx, f, kk, &f->next));
  TRY(bl_alloc_for(ctx, f, kk, &f->square));
  TRY(bl_alloc_for(ctx, f, kk, &f->basis));
  TRY(bl_alloc_for(ctx, f, k, &f->values));
  TRY(bl_alloc_for(ctx, f, (size_t)f->threads, &f->work));
  for (int t = 0; t < f->threads; t++) {
    TRY(bl_alloc_for(ctx, f, bl_mul(n, f->height), &f->work[t].y)); /* n >= k: it also holds a panel before whitening */
    TRY(bl_alloc_for(ctx, f, f->height, &f->work[t].row));
    TRY(bl_alloc_for(ctx, f, bl_mul(kk, LANES), &f->work[t].products));
    TRY(bl_alloc_for(ctx, f, k * LANES, &f->work[t].sums));
  }
done:
  return status;
}

blica_status bl_fastica_create(blica_ctx *ctx, const blica_data *data, const blica_counts *counts, int k,
                               bl_fastica **out) {
  blica_status status;
  bl_fastica *f = NULL;
  bl_row_keys keys;
  *out = NULL;
  TRY(bl_row_keys_make(ctx, data, 0, data->u, data->n, NULL, &keys));
  TRY(bl_alloc(ctx, 1, &f));
  f->n = data->n;
  f->k = k;
  f->rows = data->rows;
  f->patterns = keys.count;
  f->height = k <= 16 ? 64 : 128;
  f->panels = ((size_t)f->patterns + f->height - 1) / f->height;
  f->tasks = f->panels < MAX_TASKS ? (int)f->panels : MAX_TASKS;
  f->threads = bl_max_threads(ctx);
  TRY(bl_share_make(ctx, f->tasks, &f->share));
  TRY(alloc_arrays(ctx, f));
  TRY(whiten(ctx, f, counts));
  for (int i = 0; i < f->n; i++)
    for (int c = 0; c < k; c++) f->w_t[(size_t)i * k + c] = f->whitening[(size_t)c * f->n + i];
  pass p = {.f = f, .keys = &keys, .level = blica_simd_level(ctx)};
  p.shared = (bl_fastica_shared){.k = f->n, .m = k, .height = (int)f->height, .w = f->w_t};
  p.first = first_panel(f, f->share.first);
  bl_parallel(ctx, first_panel(f, f->share.last) - p.first, whiten_panel, &p);
  *out = bl_take(&f);
done:
  bl_row_keys_free(&keys);
  bl_fastica_free(f);
  return status;
}

void bl_fastica_free(bl_fastica *f) {
  if (!f) return;
  bl_share_free(&f->share);
  bl_free(f);
}

const double *bl_fastica_whitening(const bl_fastica *f) {
  return f->whitening;
}
const double *bl_fastica_dewhitening(const bl_fastica *f) {
  return f->dewhitening;
}
int64_t bl_fastica_patterns(const bl_fastica *f) {
  return f->patterns;
}

/* ---- one pass over the patterns ---- */

static void run_task(int64_t item, int thread, void *user) {
  const pass *p = user;
  bl_fastica *f = p->f;
  work *w = &f->work[thread];
  size_t m = (size_t)p->shared.m, k = (size_t)f->k, mk = m * k;
  double *sums = f->task_sums + (size_t)item * (k * k + k);
  memset(w->products, 0, mk * LANES * sizeof(double));
  memset(w->sums, 0, m * LANES * sizeof(double));
  size_t first = (size_t)first_panel(f, item), end = (size_t)first_panel(f, item + 1);
  for (size_t i = first; i < end; i++) BL_AT(p->level, bl_fastica_panel)
  (p->what, &p->shared, f->x + i * k * f->height, f->weight + i * f->height, w->y, w->row, w->products, w->sums);
  for (size_t i = 0; i < mk; i++) sums[i] = bl_lanes_sum(w->products + i * LANES);
  for (size_t i = 0; i < m; i++) sums[mk + i] = bl_lanes_sum(w->sums + i * LANES);
}

/* total [m k + m] over all rows, for the m components in w [m,k] by rows. */
static void run_pass(blica_ctx *ctx, bl_fastica *f, int what, blica_contrast contrast, int m, const double *w) {
  size_t k = (size_t)f->k, count = (size_t)m * k + (size_t)m;
  for (size_t c = 0; c < k; c++)
    for (int j = 0; j < m; j++) f->w_t[c * (size_t)m + (size_t)j] = w[(size_t)j * k + c];
  pass p = {.f = f, .what = what, .level = blica_simd_level(ctx)};
  p.shared = (bl_fastica_shared){.k = f->k, .m = m, .height = (int)f->height, .contrast = contrast, .w = f->w_t};
  bl_share_run(ctx, &f->share, run_task, &p);
  const bl_places sum = {f->task_sums, k * k + k};
  (void)bl_share_exchange(ctx, &f->share, 0, NULL, &sum); /* the fit ends with bl_comm_check */
  memcpy(f->total, f->task_sums, count * sizeof(double));
}

/* next <- E[g(w x) x'] - E[g'(w x)] w, for m components */
static void fixed_point(blica_ctx *ctx, bl_fastica *f, blica_contrast contrast, int m, const double *w, double *next) {
  size_t k = (size_t)f->k;
  run_pass(ctx, f, BL_FASTICA_STEP, contrast, m, w);
  for (size_t j = 0; j < (size_t)m; j++)
    for (size_t c = 0; c < k; c++)
      next[j * k + c] = (f->total[j * k + c] - f->total[(size_t)m * k + j] * w[j * k + c]) / (double)f->rows;
}

/* ---- orthogonalisation ---- */

static double dot(int k, const double *a, const double *b) {
  double sum = 0;
  for (int c = 0; c < k; c++) sum += a[c] * b[c];
  return sum;
}

/* to <- (from from')^(-1/2) from */
static blica_status orthogonalise(blica_ctx *ctx, bl_fastica *f, const double *from, double *to) {
  int k = f->k;
  for (int i = 0; i < k; i++)
    for (int j = 0; j <= i; j++) f->basis[i + (size_t)j * k] = dot(k, from + (size_t)i * k, from + (size_t)j * k);
  errno = 0;
  if (bl_dsyev('V', 'L', k, f->basis, k, f->values) != 0)
    return bl_fail_outside(ctx, BLICA_ERR_NUMERIC, "fastica: the orthogonalisation did not converge");
  memset(f->square, 0, (size_t)k * k * sizeof(double)); /* U diag(s^-1/2) U' */
  for (int a = 0; a < k; a++) {
    double scale = 1 / sqrt(fmax(f->values[a], DBL_MIN));
    const double *u = f->basis + (size_t)a * k;
    for (int i = 0; i < k; i++)
      for (int j = 0; j < k; j++) f->square[(size_t)i * k + j] += scale * u[i] * u[j];
  }
  memset(to, 0, (size_t)k * k * sizeof(double));
  for (int i = 0; i < k; i++)
    for (int j = 0; j < k; j++)
      for (int c = 0; c < k; c++) to[(size_t)i * k + c] += f->square[(size_t)i * k + j] * from[(size_t)j * k + c];
  return BLICA_OK;
}

/* ---- iterations ---- */

/* The state of the iterations. */
typedef struct {
  const bl_fastica_options *options;
  bl_stage *stage;
  bl_fastica_result *result;
  double *w;
  size_t size; /* of w */
} progress;

static void pass_progress(bl_state *state, void *user) {
  progress *t = user;
  bl_pass_count(state, &t->result->iterations);
  BL_PASS(state, t->result->change);
  bl_pass_flag(state, &t->result->converged);
  bl_pass(state, t->w, t->size * sizeof *t->w);
}

/* After an iteration: true when the user wants to stop. */
static bool asked_to_stop(blica_ctx *ctx, progress *t, double change) {
  const bl_fastica_options *o = t->options;
  int answer = o->hook ? o->hook(t->result->iterations, change, o->user) : BL_CONTINUE;
  bl_stage_offer(ctx, t->stage, answer, pass_progress, t);
  return answer != BL_CONTINUE;
}

static blica_status iterate(blica_ctx *ctx, bl_fastica *f, progress *t, bool resumed) {
  blica_status status = BLICA_OK;
  const bl_fastica_options *o = t->options;
  bl_fastica_result *result = t->result;
  double *w = t->w;
  int k = f->k;
  if (!resumed) {
    memcpy(f->next, w, t->size * sizeof *w);
    TRY(orthogonalise(ctx, f, f->next, w));
  } else if (asked_to_stop(ctx, t, result->change)) {
    goto done;
  }
  while (result->iterations < o->max_iterations && !result->converged) {
    fixed_point(ctx, f, o->contrast, k, w, f->next);
    double *fresh = f->total; /* free between passes */
    TRY(orthogonalise(ctx, f, f->next, fresh));
    result->change = 0;
    for (int j = 0; j < k; j++)
      result->change = fmax(result->change, fabs(fabs(dot(k, fresh + (size_t)j * k, w + (size_t)j * k)) - 1));
    memcpy(w, fresh, t->size * sizeof *w);
    result->iterations++;
    result->converged = result->change < o->tolerance;
    if (asked_to_stop(ctx, t, result->change)) break;
  }
done:
  return status;
}

blica_status bl_fastica_run(blica_ctx *ctx, bl_fastica *f, const bl_fastica_options *o, double *w,
                            bl_fastica_result *result) {
  blica_status status = BLICA_OK;
  bl_stage none = {.checkpoint = NULL};
  progress t = {.options = o,
                .stage = o->stage ? o->stage : &none,
                .result = result,
                .w = w,
                .size = (size_t)f->k * (size_t)f->k};
  bool resumed = bl_stage_find(t.stage) == BL_STAGE_BETWEEN;
  *result = (bl_fastica_result){.change = 1};
  if (resumed) TRY(bl_stage_load(ctx, t.stage, pass_progress, &t));
  bl_stage_enter(ctx, t.stage);
  status = iterate(ctx, f, &t, resumed);
  bl_stage_leave(ctx, t.stage);
done:
  return status;
}

double bl_fastica_negentropy(blica_ctx *ctx, bl_fastica *f, blica_contrast contrast, const double *w) {
  /* E log cosh, -E exp(-x^2/2), E x^4/4 of a standard normal */
  static const double normal[] = {0.37456720749143797, -0.70710678118654752, 0.75};
  run_pass(ctx, f, BL_FASTICA_VALUE, contrast, f->k, w);
  double sum = 0;
  for (int j = 0; j < f->k; j++) {
    double off = f->total[(size_t)f->k * f->k + j] / (double)f->rows - normal[contrast];
    sum += off * off;
  }
  return sum;
}
