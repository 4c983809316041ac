/* fastica_core.c - fastICA (Hyvarinen, IEEE Trans. Neural Networks 10, 1999) on pooled binary rows.
 *
 * Method: binary rows repeat, so equal rows are merged into weighted patterns (at most 2^n of them); the covariance
 * comes from the pair counts, in whole numbers; whitening by its eigenvectors, each with a positive first entry so
 * that a given start means the same everywhere. An iteration is a pass over pieces of patterns on one thread, its
 * products by BLAS; then symmetric orthogonalisation (W W')^(-1/2) W. A missing value is replaced by its mean.
 * Accuracy: rounding. Checked: tests/parity/fastica.sh against scikit-learn from the same start,
 * tests/unit/rivals/test_fastica.c on sources of known mixing. */
#include "rivals/rivals.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "data/patterns.h"
#include "num/linear/blas.h"

enum { PIECE = 512 }; /* patterns at a time */

struct bl_fastica {
  int n, k;
  int64_t rows, patterns;
  double *mean;                    /* [n] */
  double *whitening, *dewhitening; /* [n,k] */
  double *x, *weight;              /* [k,patterns] whitened, [patterns] */
  double *y, *second;              /* [max(n,k),PIECE], [k,PIECE] of a piece */
  double *next, *slope;            /* [k,k], [k] sums over patterns */
  double *square, *basis, *values; /* [k,k], [k,k], [k] */
};

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

/* Sets the whitening matrix and its inverse from the pooled covariance. */
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

/* Patterns of a piece. */
static int piece_at(const bl_fastica *f, int64_t first) {
  return f->patterns - first < PIECE ? (int)(f->patterns - first) : PIECE;
}

/* Sets x to the whitened patterns; missing values are at the mean. */
static void whiten_patterns(bl_fastica *f, const bl_row_keys *keys) {
  const size_t n = (size_t)f->n, words = (size_t)keys->words;
  for (int64_t first = 0; first < f->patterns; first += PIECE) {
    const int count = piece_at(f, first);
    memset(f->y, 0, n * (size_t)count * sizeof *f->y);
    for (size_t r = 0; r < (size_t)count; r++) {
      const uint64_t *present = keys->key + ((size_t)first + r) * 2 * words, *ones = present + words;
      for (size_t i = 0; i < n; i++)
        if (bl_bit(present, (int)i)) f->y[r * n + i] = bl_bit(ones, (int)i) - f->mean[i];
    }
    bl_dgemm('T', 'N', f->k, count, f->n, 1, f->whitening, f->n, f->y, f->n, 0, f->x + (size_t)f->k * (size_t)first,
             f->k);
  }
  memcpy(f->weight, keys->weight, (size_t)f->patterns * sizeof *f->weight);
}

/* ---- making and freeing ---- */

static blica_status alloc_arrays(blica_ctx *ctx, bl_fastica *f) {
  const size_t n = (size_t)f->n, k = (size_t)f->k, kk = bl_mul(k, k);
  MUST(bl_alloc_for(ctx, f, n, &f->mean));
  MUST(bl_alloc_for(ctx, f, bl_mul(n, k), &f->whitening));
  MUST(bl_alloc_for(ctx, f, bl_mul(n, k), &f->dewhitening));
  MUST(bl_alloc_for(ctx, f, bl_mul(k, (size_t)f->patterns), &f->x));
  MUST(bl_alloc_for(ctx, f, (size_t)f->patterns, &f->weight));
  MUST(bl_alloc_for(ctx, f, bl_mul(n, PIECE), &f->y));
  MUST(bl_alloc_for(ctx, f, bl_mul(k, PIECE), &f->second));
  MUST(bl_alloc_for(ctx, f, kk, &f->next));
  MUST(bl_alloc_for(ctx, f, k, &f->slope));
  MUST(bl_alloc_for(ctx, f, kk, &f->square));
  MUST(bl_alloc_for(ctx, f, kk, &f->basis));
  return bl_alloc_for(ctx, f, k, &f->values);
}

blica_status bl_fastica_create(blica_ctx *ctx, const blica_data *data, const blica_counts *counts, int k,
                               bl_fastica **out) {
  blica_status status;
  BL_OWNED bl_fastica *f = NULL;
  bl_row_keys keys;
  *out = NULL;
  TRY(bl_row_keys_make(ctx, data, 0, data->u, data->n, NULL, &keys));
  TRY(bl_alloc(ctx, 1, &f));
  f->n = data->n, f->k = k, f->rows = data->rows, f->patterns = keys.count;
  TRY(alloc_arrays(ctx, f));
  TRY(whiten(ctx, f, counts));
  whiten_patterns(f, &keys);
  *out = bl_take(&f);
done:
  bl_row_keys_free(&keys);
  return status;
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

/* ---- iterations; w [k,k], a component's weights in each column ---- */

/* y <- w' x of a piece. */
static int components(bl_fastica *f, const double *w, int64_t first) {
  const int count = piece_at(f, first);
  bl_dgemm('T', 'N', f->k, count, f->k, 1, w, f->k, f->x + (size_t)f->k * (size_t)first, f->k, 0, f->y, f->k);
  return count;
}

/* next <- E[x g(w'x)'] - w diag E[g'(w'x)]. */
static void fixed_point(blica_ctx *ctx, bl_fastica *f, blica_contrast contrast, const double *w) {
  const size_t k = (size_t)f->k;
  memset(f->next, 0, k * k * sizeof *f->next);
  memset(f->slope, 0, k * sizeof *f->slope);
  for (int64_t first = 0; first < f->patterns; first += PIECE) {
    const int count = components(f, w, first);
    BL_AT(blica_simd_level(ctx), bl_contrast_slopes)(contrast, k * (size_t)count, f->y, f->second);
    for (size_t r = 0; r < (size_t)count; r++)
      for (size_t j = 0; j < k; j++) {
        f->y[j + k * r] *= f->weight[(size_t)first + r];
        f->slope[j] += f->weight[(size_t)first + r] * f->second[j + k * r];
      }
    bl_dgemm('N', 'T', f->k, f->k, count, 1, f->x + k * (size_t)first, f->k, f->y, f->k, 1, f->next, f->k);
  }
  for (size_t j = 0; j < k; j++)
    for (size_t c = 0; c < k; c++)
      f->next[c + k * j] = (f->next[c + k * j] - f->slope[j] * w[c + k * j]) / (double)f->rows;
}

/* to <- from (from' from)^(-1/2); from is overwritten. */
static blica_status orthogonalise(blica_ctx *ctx, bl_fastica *f, double *from, double *to) {
  const int k = f->k;
  bl_dsyrk('L', 'T', k, k, 1, from, k, 0, f->basis, k);
  errno = 0;
  if (bl_dsyev('V', 'L', k, f->basis, k, f->values) != 0)
    return bl_fail_outside(ctx, BLICA_ERR_NUMERIC, "fastica: the orthogonalisation did not converge");
  bl_dgemm('N', 'N', k, k, k, 1, from, k, f->basis, k, 0, f->square, k);
  for (int a = 0; a < k; a++) bl_dscal(k, 1 / sqrt(fmax(f->values[a], DBL_MIN)), f->square + (size_t)a * k, 1);
  bl_dgemm('N', 'T', k, k, k, 1, f->square, k, f->basis, k, 0, to, k);
  return BLICA_OK;
}

/* The state of the iterations. */
typedef struct {
  const bl_fastica_options *options;
  bl_stage *stage;
  bl_fastica_result *result;
  double *w;
  size_t size; /* of w */
} progress;

static void pass_progress(bl_serializer *io, void *user) {
  progress *t = user;
  bl_pass_count(io, &t->result->iterations);
  BL_PASS(io, t->result->change);
  bl_pass_flag(io, &t->result->converged);
  bl_pass(io, t->w, t->size * sizeof *t->w);
}

/* After an iteration: true when the user wants to stop. */
static bool asked_to_stop(blica_ctx *ctx, progress *t, double change) {
  const bl_fastica_options *o = t->options;
  int answer = o->hook ? o->hook(t->result->iterations, change, o->user) : BL_CONTINUE;
  bl_stage_offer(ctx, t->stage, answer, pass_progress, t);
  return answer != BL_CONTINUE;
}

/* Fixed-point iterations until w hardly changes, the hook stops them or their number is reached. */
static blica_status iterate(blica_ctx *ctx, bl_fastica *f, progress *t, bool resumed) {
  const bl_fastica_options *o = t->options;
  bl_fastica_result *result = t->result;
  double *w = t->w;
  const int k = f->k;
  BL_OWNED double *fresh = NULL;
  MUST(bl_alloc(ctx, t->size, &fresh));
  if (!resumed) {
    memcpy(f->next, w, t->size * sizeof *w);
    MUST(orthogonalise(ctx, f, f->next, w));
  } else if (asked_to_stop(ctx, t, result->change)) {
    return BLICA_OK;
  }
  while (result->iterations < o->max_iterations && !result->converged) {
    fixed_point(ctx, f, o->contrast, w);
    MUST(orthogonalise(ctx, f, f->next, fresh));
    result->change = 0;
    for (size_t at = 0; at < t->size; at += (size_t)k)
      result->change = fmax(result->change, fabs(fabs(bl_ddot(k, fresh + at, 1, w + at, 1)) - 1));
    memcpy(w, fresh, t->size * sizeof *w);
    result->iterations++;
    result->converged = result->change < o->tolerance;
    if (asked_to_stop(ctx, t, result->change)) break;
  }
  return BLICA_OK;
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

static double contrast_value(blica_contrast contrast, double y) {
  if (contrast == BLICA_CONTRAST_LOGCOSH) return fabs(y) + log1p(exp(-2 * fabs(y))) - 0.69314718055994530942;
  return contrast == BLICA_CONTRAST_EXP ? -exp(-0.5 * y * y) : 0.25 * y * y * y * y;
}

double bl_fastica_negentropy(bl_fastica *f, blica_contrast contrast, const double *w) {
  /* E log cosh, -E exp(-x^2/2), E x^4/4 of a standard normal */
  static const double normal[] = {0.37456720749143797, -0.70710678118654752, 0.75};
  const size_t k = (size_t)f->k;
  double sum = 0;
  memset(f->slope, 0, k * sizeof *f->slope);
  for (int64_t first = 0; first < f->patterns; first += PIECE) {
    const int count = components(f, w, first);
    for (size_t r = 0; r < (size_t)count; r++)
      for (size_t j = 0; j < k; j++)
        f->slope[j] += f->weight[(size_t)first + r] * contrast_value(contrast, f->y[j + k * r]);
  }
  for (size_t j = 0; j < k; j++) {
    const double off = f->slope[j] / (double)f->rows - normal[contrast];
    sum += off * off;
  }
  return sum;
}
