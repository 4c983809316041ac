/* corfit.c - sum of the segments' terms and the priors; Laplace's approximation.
 *
 * Segments, or blocks of eight (corfit_kernel.c), are computed by any thread of any rank into their own slots and added
 * over a fixed tree. The Hessian has arrow shape: log v_s meets only A and itself, so one difference serves the same
 * source of all segments. */
#include "estimate/gauss/corfit.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "cor/cor.h"
#include "estimate/gauss/margins.h"
#include "estimate/gauss/sgauss.h"
#include "num/blas.h"

struct bl_corfit {
  blica_ctx *ctx;
  const bl_corfit_data *data;
  blica_simd level;
  int slots;                      /* blocks of eight segments with lanes, else segments */
  double *value;                  /* [slots] */
  double *gradient_a;             /* [n,k,slots] */
  double *gradient_v;             /* [k,u] */
  bl_v *weight, *log_v, *slope_v; /* [1], [k], [k] per slot, with lanes */
  double *work;                   /* per thread */
  bl_share share;                 /* of the slots among ranks */
  bl_corfit_steps *steps;         /* of pairs, where segments are fewer than threads */
  const double *theta;
  bl_corfit *also; /* evaluator of data->also */
  double *also_gradient;
};

size_t bl_corfit_size(const bl_corfit_data *d) {
  return (size_t)d->n * d->k + (size_t)d->u * d->k;
}

void bl_corfit_free(bl_corfit *fit) {
  if (!fit) return;
  bl_free(fit->steps);
  bl_corfit_free(fit->also);
  bl_share_free(&fit->share);
  bl_free(fit);
}

blica_status bl_corfit_make(blica_ctx *ctx, const bl_corfit_data *data, bl_corfit **out) {
  blica_status status;
  bl_corfit *fit = NULL;
  const size_t nk = (size_t)data->n * data->k, k = (size_t)data->k, u = (size_t)data->u;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &fit));
  fit->ctx = ctx, fit->data = data, fit->level = blica_simd_level(ctx);
  fit->slots = data->lanes ? (data->u + BL_LANES - 1) / BL_LANES : data->u;
  TRY(bl_share_make(ctx, fit->slots, data->lanes ? 0 : bl_sgauss_groups(data->n, data->k, data->u), &fit->share));
  TRY(bl_alloc_for(ctx, fit, (size_t)fit->slots, &fit->value));
  TRY(bl_alloc_for(ctx, fit, bl_mul(nk, (size_t)fit->slots), &fit->gradient_a));
  TRY(bl_alloc_for(ctx, fit, k * u, &fit->gradient_v));
  if (data->lanes) {
    TRY(bl_alloc_for(ctx, fit, (size_t)fit->slots, &fit->weight));
    TRY(bl_alloc_for(ctx, fit, k * (size_t)fit->slots, &fit->log_v)); /* padding keeps log v = 0 and weight 0 */
    TRY(bl_alloc_for(ctx, fit, k * (size_t)fit->slots, &fit->slope_v));
    for (int s = 0; s < data->u; s++) fit->weight[s / BL_LANES][s % BL_LANES] = data->weight[s];
  }
  if (data->also) {
    TRY(bl_corfit_make(ctx, data->also, &fit->also));
    TRY(bl_alloc_for(ctx, fit, bl_corfit_size(data), &fit->also_gradient));
  }
  TRY(bl_corfit_steps_make(ctx, data, &fit->share, &fit->steps));
  if (!fit->steps)
    TRY(bl_alloc_for(ctx, fit, bl_mul((data->work + 7) / 8 * 8, (size_t)bl_max_threads(ctx)), &fit->work));
  *out = bl_take(&fit);
done:
  bl_corfit_free(fit);
  return status;
}

/* The correlations of a segment, without lanes. */
static bl_symmetric view_of(const bl_corfit_data *data, int s) {
  if (!data->c) return bl_cor_view(data->cor, s);
  const size_t n = (size_t)data->n;
  return (bl_symmetric){.n = data->n, .full = data->c + n * n * (size_t)(s - (int)data->share.first)};
}

size_t bl_corfit_matched_work(int n, int k) {
  return bl_matched_block_work(n, k);
}

static double evaluate_matched(const bl_corfit_data *data, int s, const double *a, const double *log_v, double *work,
                               double *gradient_a, double *gradient_v) {
  const bl_symmetric c = view_of(data, s);
  if (data->blocks)
    return bl_blocks_eval(data->blocks, s, data->k, data->weight[s], &c, a, log_v, work, gradient_a, gradient_v);
  const bl_matched_point at = {.n = data->n,
                               .k = data->k,
                               .link = data->link,
                               .weight = data->weight[s],
                               .a = a,
                               .log_v = log_v,
                               .noise = data->noise + (size_t)data->n * s};
  return bl_matched_block(&at, &c, work, gradient_a, gradient_v);
}

static void evaluate_block(bl_corfit *fit, int slot, double *work) {
  const bl_corfit_data *d = fit->data;
  const size_t n = (size_t)d->n, k = (size_t)d->k, nk = n * k, at = (size_t)slot;
  bl_v *log_v = fit->log_v + k * at, *slope = fit->slope_v + k * at;
  int first = slot * BL_LANES, count = d->u - first < BL_LANES ? d->u - first : BL_LANES;
  for (int lane = 0; lane < count; lane++)
    for (size_t j = 0; j < k; j++) log_v[j][lane] = fit->theta[nk + k * (size_t)(first + lane) + j];
  bl_corfit_block in = {d->n,
                        d->k,
                        d->link,
                        fit->theta,
                        (const bl_v *)d->c + n * n * at,
                        (const bl_v *)d->lane_noise + n * at,
                        fit->weight + at,
                        log_v};
  BL_AT(fit->level, bl_corfit_lanes)(&in, (bl_v *)work, &fit->value[at], fit->gradient_a + nk * at, slope);
}

static void evaluate_slot(int64_t slot, int thread, void *user) {
  bl_corfit *fit = user;
  const bl_corfit_data *d = fit->data;
  const size_t nk = (size_t)d->n * d->k, k = (size_t)d->k;
  double *work = fit->work + (d->work + 7) / 8 * 8 * (size_t)thread;
  fit->value[slot] = BL_CORFIT_LEFT_OUT;
  if (bl_loop_stopped(fit->ctx, thread)) return;
  if (d->lanes)
    evaluate_block(fit, (int)slot, work);
  else
    fit->value[slot] = (d->pair ? bl_corfit_pairs : evaluate_matched)(
        d, (int)slot, fit->theta, fit->theta + nk + k * (size_t)slot, work, fit->gradient_a + nk * (size_t)slot,
        fit->gradient_v + k * (size_t)slot);
}

/* What the ranks made, to all; the sum over slots stands in the first slot of gradient_a then. */
static blica_status exchange(bl_corfit *fit) {
  const size_t nk = (size_t)fit->data->n * fit->data->k, k = (size_t)fit->data->k;
  const bl_places plain = {fit->gradient_v, k}, wide = {(double *)fit->slope_v, k * BL_LANES};
  const bl_places lists[] = {{fit->value, 1}, fit->data->lanes ? wide : plain}, sum = {fit->gradient_a, nk};
  return bl_share_exchange(fit->ctx, &fit->share, 2, lists, &sum);
}

static double left_out(bl_corfit *fit, double *gradient) {
  bl_loop_poll *loop_poll = bl_loop_poll_of(fit->ctx);
  if (loop_poll) atomic_store(&loop_poll->stopped, true); /* it may have been another rank's */
  for (size_t i = 0; i < bl_corfit_size(fit->data); i++) gradient[i] = NAN;
  return NAN;
}

/* f with the priors' part, from its value without them; adds their gradient. */
static double add_priors(const bl_corfit_data *d, const double *theta, double value, double *gradient) {
  const size_t n = (size_t)d->n, nk = n * (size_t)d->k, size = bl_corfit_size(d);
  for (size_t i = 0; i < size; i++) {
    double precision = i < nk ? d->precision_mixing : d->precision_variance;
    value += 0.5 * precision * theta[i] * theta[i];
    gradient[i] += precision * theta[i];
  }
  if (!(d->precision_mixing > 0) || !(d->row_power > 0)) return value;
  for (size_t i = 0; i < n; i++) {
    double m = 1;
    for (size_t at = i; at < nk; at += n) m += d->link * theta[at] * theta[at];
    value -= 0.5 * d->row_power * log(m);
    for (size_t at = i; at < nk; at += n) gradient[at] -= d->row_power * d->link * theta[at] / m;
  }
  return value;
}

double bl_corfit_eval(bl_corfit *fit, const double *theta, double *gradient) {
  const bl_corfit_data *d = fit->data;
  const size_t nk = (size_t)d->n * d->k, k = (size_t)d->k, size = bl_corfit_size(d);
  fit->theta = theta;
  if (fit->steps)
    bl_corfit_steps_run(fit->steps, theta, fit->value, fit->gradient_a, fit->gradient_v);
  else
    bl_share_run(fit->ctx, &fit->share, evaluate_slot, fit);
  if (exchange(fit) != BLICA_OK) return NAN;
  double value = 0;
  for (int slot = 0; slot < fit->slots; slot++) {
    if (fit->value[slot] == BL_CORFIT_LEFT_OUT) return left_out(fit, gradient);
    value += fit->value[slot];
  }
  memcpy(gradient, fit->gradient_a, nk * sizeof *gradient);
  if (d->lanes)
    for (size_t i = 0; i < k * (size_t)d->u; i++)
      gradient[nk + i] = fit->slope_v[i % k + k * (i / k / BL_LANES)][i / k % BL_LANES];
  else
    memcpy(gradient + nk, fit->gradient_v, (size - nk) * sizeof *gradient);
  if (fit->also) {
    value += bl_corfit_eval(fit->also, theta, fit->also_gradient);
    for (size_t i = 0; i < size; i++) gradient[i] += fit->also_gradient[i];
  }
  if (d->log_scale) value += bl_corfit_scales(d, theta, gradient);
  if (d->margins) value += bl_margins_eval(d->margins, theta, gradient);
  return add_priors(d, theta, value, gradient);
}

/* ---- Laplace ---- */

typedef struct {
  size_t nk, k;
  double *aa;                /* [nk,nk]; owns the others */
  double *av;                /* [nk,k,u] */
  double *vv;                /* [k,k,u] */
  double *theta, *up, *down; /* [size] */
} arrow;

static const double STEP = 1e-4; /* of log v; of A relative to its size */
static double step_of(double x) {
  return STEP * fmax(1, fabs(x));
}

/* Columns of A: all segments answer. */
static void mixing_columns(bl_corfit *fit, arrow *h) {
  const bl_corfit_data *d = fit->data;
  for (size_t j = 0; j < h->nk; j++) {
    double keep = h->theta[j], step = step_of(keep);
    h->theta[j] = keep + step;
    bl_corfit_eval(fit, h->theta, h->up);
    h->theta[j] = keep - step;
    bl_corfit_eval(fit, h->theta, h->down);
    h->theta[j] = keep;
    for (size_t i = 0; i < h->nk; i++) h->aa[i + h->nk * j] = (h->up[i] - h->down[i]) / (2 * step);
    for (size_t i = 0; i < h->k * (size_t)d->u; i++)
      h->av[j + h->nk * i] = (h->up[h->nk + i] - h->down[h->nk + i]) / (2 * step);
  }
  for (size_t j = 0; j < h->nk; j++)
    for (size_t i = 0; i < j; i++)
      h->aa[i + h->nk * j] = h->aa[j + h->nk * i] = 0.5 * (h->aa[i + h->nk * j] + h->aa[j + h->nk * i]);
}

/* Columns of log v, one source at a time and all segments at once: a segment answers to its own alone. */
static void variance_columns(bl_corfit *fit, arrow *h) {
  const size_t k = h->k, u = (size_t)fit->data->u;
  double *log_v = h->theta + h->nk;
  for (size_t j = 0; j < k; j++) {
    for (size_t s = 0; s < u; s++) log_v[k * s + j] += STEP;
    bl_corfit_eval(fit, h->theta, h->up);
    for (size_t s = 0; s < u; s++) log_v[k * s + j] -= 2 * STEP;
    bl_corfit_eval(fit, h->theta, h->down);
    for (size_t s = 0; s < u; s++) {
      log_v[k * s + j] += STEP;
      for (size_t i = 0; i < k; i++)
        h->vv[i + k * (j + k * s)] = (h->up[h->nk + k * s + i] - h->down[h->nk + k * s + i]) / (2 * STEP);
    }
  }
  for (size_t s = 0; s < u; s++)
    for (size_t j = 0; j < k; j++)
      for (size_t i = 0; i < j; i++) {
        double *block = h->vv + k * k * s;
        block[i + k * j] = block[j + k * i] = 0.5 * (block[i + k * j] + block[j + k * i]);
      }
}

static double log_det_of(size_t size, const double *factor) {
  double sum = 0;
  for (size_t i = 0; i < size; i++) sum += 2 * log(factor[i * (size + 1)]);
  return sum;
}

/* Traces of the inverse's two diagonal blocks, by elimination of the v's: with S the Schur complement,
 * tr(H^-1)_A = tr S^-1 and tr(H^-1)_v = sum_s tr(V_s^-1) + tr(V_s^-1 B_s' S^-1 B_s V_s^-1). */
static bool traces(const bl_corfit_data *d, arrow *h, double *trace_a, double *trace_v, double *log_det) {
  const int nk = (int)h->nk, k = (int)h->k;
  *trace_a = *trace_v = *log_det = 0;
  for (int s = 0; s < d->u; s++) {
    double *v = h->vv + h->k * h->k * (size_t)s, *b = h->av + h->nk * h->k * (size_t)s;
    if (bl_dpotrf('L', k, v, k) != 0) return false;
    *log_det += log_det_of(h->k, v);
    bl_dtrsm('R', 'L', 'T', 'N', nk, k, 1, v, k, b, nk);
    bl_dsyrk('L', 'N', nk, k, -1, b, nk, 1, h->aa, nk);
  }
  if (bl_dpotrf('L', nk, h->aa, nk) != 0) return false;
  *log_det += log_det_of(h->nk, h->aa);
  for (int s = 0; s < d->u; s++) {
    double *v = h->vv + h->k * h->k * (size_t)s, *b = h->av + h->nk * h->k * (size_t)s;
    bl_dtrsm('R', 'L', 'N', 'N', nk, k, 1, v, k, b, nk);
    bl_dtrsm('L', 'L', 'N', 'N', nk, k, 1, h->aa, nk, b, nk);
    *trace_v += bl_ddot(nk * k, b, 1, b, 1);
    if (bl_dpotri('L', k, v, k) != 0) return false;
    for (int j = 0; j < k; j++) *trace_v += v[j + (size_t)j * k];
  }
  if (bl_dpotri('L', nk, h->aa, nk) != 0) return false;
  for (size_t i = 0; i < h->nk; i++) *trace_a += h->aa[i * (h->nk + 1)];
  return true;
}

bl_matched_point bl_corfit_point(const bl_corfit_data *d, const double *theta, int s) {
  const size_t n = (size_t)d->n, k = (size_t)d->k, at = (size_t)s;
  return (bl_matched_point){.n = d->n,
                            .k = d->k,
                            .link = d->link,
                            .weight = d->weight[s] + (d->also ? 2 * d->also->weight[s] * d->cor->samples[s] : 0),
                            .a = theta,
                            .log_v = theta + (n + at) * k,
                            .noise = d->noise + n * at};
}

/* Fisher's information of method matched, which is never indefinite, in place of the Hessian. */
static bool fill_by_information(const bl_corfit_data *d, arrow *h, double *work) {
  for (size_t s = 0; s < (size_t)d->u; s++) {
    const bl_matched_point at = bl_corfit_point(d, h->theta, (int)s);
    double *variances = h->vv + h->k * h->k * s;
    if (!bl_matched_mixing(&at, h->aa, h->av + h->nk * h->k * s, variances, work)) return false;
    for (size_t j = 0; j < h->k; j++) variances[j * (h->k + 1)] += d->precision_variance;
  }
  for (size_t i = 0; i < h->nk; i++) h->aa[i * (h->nk + 1)] += d->precision_mixing;
  return true;
}

blica_status bl_corfit_laplace_at(blica_ctx *ctx, bl_corfit *fit, const double *theta, bl_corfit_laplace *out) {
  blica_status status;
  const bl_corfit_data *d = fit->data;
  const size_t size = bl_corfit_size(d), u = (size_t)d->u;
  arrow h = {.nk = (size_t)d->n * d->k, .k = (size_t)d->k};
  BL_OWNED double *work = NULL;
  bool filled = true;
  memset(out, 0, sizeof *out);
  TRY(bl_alloc(ctx, bl_mul(h.nk, h.nk), &h.aa));
  TRY(bl_alloc_for(ctx, h.aa, bl_mul(bl_mul(h.nk, h.k), u), &h.av));
  TRY(bl_alloc_for(ctx, h.aa, bl_mul(h.k * h.k, u), &h.vv));
  TRY(bl_alloc_for(ctx, h.aa, size, &h.theta));
  TRY(bl_alloc_for(ctx, h.aa, size, &h.up));
  TRY(bl_alloc_for(ctx, h.aa, size, &h.down));
  memcpy(h.theta, theta, size * sizeof *theta);
  if (d->noise) {
    TRY(bl_alloc(ctx, bl_matched_mixing_work(d->n, d->k), &work));
    filled = fill_by_information(d, &h, work);
  } else {
    mixing_columns(fit, &h);
    variance_columns(fit, &h);
  }
  double trace_a, trace_v;
  out->positive = filled && traces(d, &h, &trace_a, &trace_v, &out->log_det);
  if (out->positive) {
    out->gamma_mixing = (double)h.nk - d->precision_mixing * trace_a;
    out->gamma_variance = (double)(h.k * u) - d->precision_variance * trace_v;
  }
done:
  bl_free(h.aa);
  return status;
}
