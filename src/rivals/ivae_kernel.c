/* ivae_kernel.c - see ivae.h.
 *
 * With mu, w the encoder's mean and log-variance, m, l the prior's, z = mu + exp(w/2) eps, a = Wf z:
 *   loss = sum_j softplus(t_j a_j) + KL,
 *   sample KL   = 1/2 sum_c [ l + (z-m)^2 exp(-l) - w - eps^2 ],
 *   analytic KL = 1/2 sum_c [ l - w + (exp(w) + (mu-m)^2) exp(-l) - 1 ].
 * Gradients as in docs/rivals.md. 1/N is left to the caller. */
#define BL_WIDTH BL_REGISTER
#include "rivals/ivae.h"

#include <math.h>

#include "num/panel.h"

enum { HEIGHT = BL_IVAE_HEIGHT, VECTORS = HEIGHT / BL_WIDTH };

/* Row weights of a panel: 1 for rows that exist, 0 past the end. */
static void weigh_rows(int64_t rows, double *weight) {
  for (int r = 0; r < HEIGHT; r++) weight[r] = r < rows ? 1.0 : 0.0;
}

static void encode(const bl_ivae_shared *e, const bl_ivae_rows *rows, const float *t, const bl_ivae_work *work) {
  bl_v *x = (bl_v *)work->t, *encoded = (bl_v *)work->encoded, *sd = (bl_v *)work->sd;
  const bl_v *log = encoded + (size_t)e->k * VECTORS;
  size_t inputs = (size_t)e->n * VECTORS, latent = (size_t)e->k * VECTORS; /* locals: bl_v stores may alias fields */
  for (size_t i = 0; i < inputs; i++) x[i] = bl_v_from_floats(t + i * BL_WIDTH);
  panel_multiply(2 * e->k, e->n, e->encoder, 2 * e->k, rows->start, x, encoded, VECTORS);
  for (size_t i = 0; i < latent; i++) sd[i] = bl_v_exp_fused(bl_v_exp_limit(0.5 * log[i]));
}

/* The analytic KL and its derivatives, which start those of the panel. */
static void prior_analytic(const bl_ivae_shared *e, const bl_ivae_rows *rows, const bl_ivae_work *work) {
  size_t latent = (size_t)e->k * VECTORS;
  const bl_v *mean = (const bl_v *)work->encoded, *log = mean + latent, *sd = (const bl_v *)work->sd;
  const bl_v *weight = (const bl_v *)work->row_weight;
  bl_v *dmean = (bl_v *)work->dencoded, *dlog = dmean + latent, *loss = (bl_v *)work->row_loss,
       *row = (bl_v *)work->row;
  for (int c = 0; c < e->k; c++, mean += VECTORS, log += VECTORS, sd += VECTORS) {
    double precision = rows->precision[c], center = rows->mean[c], logvar = rows->logvar[c];
    for (int v = 0; v < VECTORS; v++) {
      bl_v one = weight[v], difference = mean[v] - center, r = difference * precision;
      bl_v ratio = sd[v] * sd[v] * precision, square = ratio + difference * r;
      loss[v] += 0.5 * (logvar - log[v] + square - 1.0);
      dmean[v] = r * one;
      dlog[v] = 0.5 * (ratio - 1.0) * one;
      row[v] = (1.0 - square) * one;
    }
    panel_add_rows(dmean, VECTORS, work->sums + (BL_IVAE_SUM_PRIOR_MEAN * e->k + c) * BL_LANES);
    panel_add_rows(row, VECTORS, work->sums + (BL_IVAE_SUM_PRIOR_LOG * e->k + c) * BL_LANES);
    dmean += VECTORS;
    dlog += VECTORS;
  }
}

/* The single-sample KL; leaves r in dz. */
static void prior_sample(const bl_ivae_shared *e, const bl_ivae_rows *rows, const bl_v *eps, const bl_ivae_work *work) {
  const bl_v *log = (const bl_v *)work->encoded + (size_t)e->k * VECTORS, *z = (const bl_v *)work->z;
  const bl_v *weight = (const bl_v *)work->row_weight;
  bl_v *dz = (bl_v *)work->dz, *loss = (bl_v *)work->row_loss, *row = (bl_v *)work->row;
  for (int c = 0; c < e->k; c++) {
    double precision = rows->precision[c], center = rows->mean[c], logvar = rows->logvar[c];
    for (int v = 0; v < VECTORS; v++) {
      bl_v difference = z[v] - center, r = difference * precision, square = difference * r;
      loss[v] += 0.5 * ((logvar + square) - log[v] - eps[v] * eps[v]);
      dz[v] = r * weight[v];
      row[v] = (1.0 - square) * weight[v];
    }
    panel_add_rows(dz, VECTORS, work->sums + (BL_IVAE_SUM_PRIOR_MEAN * e->k + c) * BL_LANES);
    panel_add_rows(row, VECTORS, work->sums + (BL_IVAE_SUM_PRIOR_LOG * e->k + c) * BL_LANES);
    z += VECTORS, log += VECTORS, eps += VECTORS, dz += VECTORS;
  }
}

/* softplus(t a), and its derivative by a in place of a. */
static void likelihood(const bl_ivae_shared *e, const bl_ivae_work *work) {
  const bl_v *t = (const bl_v *)work->t;
  bl_v *a = (bl_v *)work->a, *loss = (bl_v *)work->row_loss, *row = (bl_v *)work->row;
  for (int j = 0; j < e->n; j++, t += VECTORS, a += VECTORS) {
    for (int v = 0; v < VECTORS; v++) row[v] = bl_v_exp_fused(-bl_v_abs(t[v] * a[v]));
    for (int v = 0; v < VECTORS; v++) {
      bl_v slope;
      loss[v] += bl_v_softplus(t[v] * a[v], row[v], &slope);
      a[v] = t[v] * slope;
    }
  }
}

/* Adds the derivatives by the encoder's outputs. */
static void backward(const bl_ivae_shared *e, const bl_v *eps, const bl_ivae_work *work) {
  const bl_v *dz = (const bl_v *)work->dz, *sd = (const bl_v *)work->sd, *weight = (const bl_v *)work->row_weight;
  bl_v *dmean = (bl_v *)work->dencoded, *dlog = dmean + (size_t)e->k * VECTORS;
  double entropy = e->analytic ? 0.0 : 1.0; /* d(-w)/dw of the sample form */
  for (int c = 0, k = e->k; c < k; c++) {
    for (int v = 0; v < VECTORS; v++) {
      dmean[v] += dz[v];
      dlog[v] += 0.5 * (sd[v] * eps[v] * dz[v] - weight[v] * entropy);
    }
    dmean += VECTORS, dlog += VECTORS, dz += VECTORS, sd += VECTORS, eps += VECTORS;
  }
}

static void decode(const bl_ivae_shared *e, const bl_ivae_rows *rows, const bl_v *eps, const bl_ivae_work *work) {
  size_t latent = (size_t)e->k * VECTORS;
  const bl_v *mean = (const bl_v *)work->encoded, *sd = (const bl_v *)work->sd;
  bl_v *z = (bl_v *)work->z, *a = (bl_v *)work->a, *dz = (bl_v *)work->dz;
  for (size_t i = 0; i < latent; i++) z[i] = bl_v_fma(sd[i], eps[i], mean[i]);
  if (!e->analytic) prior_sample(e, rows, eps, work);
  panel_multiply(e->n, e->k, e->decoder, e->n, NULL, z, a, VECTORS);
  likelihood(e, work);
  if (!e->gradient) return;
  panel_outer(e->n, e->k, a, z, (bl_v *)work->grad_decoder, VECTORS);
  /* z has done its work and takes Wf'd; in the sample form dz holds the prior's part */
  panel_multiply(e->k, e->n, e->decoder_t, e->k, NULL, a, z, VECTORS);
  if (e->analytic) memset(dz, 0, latent * sizeof *dz);
  for (size_t i = 0; i < latent; i++) dz[i] += z[i];
  backward(e, eps, work);
}

static void add_encoder_gradient(const bl_ivae_shared *e, const bl_ivae_work *work) {
  const bl_v *d = (const bl_v *)work->dencoded;
  panel_outer(2 * e->k, e->n, d, (const bl_v *)work->t, (bl_v *)work->grad_encoder, VECTORS);
  for (int c = 0; c < 2 * e->k; c++) /* BL_IVAE_SUM_MEAN, then BL_IVAE_SUM_LOG */
    panel_add_rows(d + (size_t)c * VECTORS, VECTORS, work->sums + c * BL_LANES);
}

double BL_NAME(bl_ivae_piece)(const bl_ivae_shared *e, const bl_ivae_rows *rows, const bl_ivae_work *work,
                              double *sums) {
  size_t latent = (size_t)e->k * VECTORS;
  bl_v *row_loss = (bl_v *)work->row_loss;
  const bl_v *weight = (const bl_v *)work->row_weight, *eps = (const bl_v *)rows->eps;
  double total[BL_LANES] __attribute__((aligned(64))) = {0};
  memset(work->sums, 0, (size_t)BL_IVAE_SUMS * e->k * BL_LANES * sizeof(double));
  for (int64_t first = 0; first < rows->rows; first += HEIGHT) {
    weigh_rows(rows->rows - first, work->row_weight);
    encode(e, rows, rows->t + first * e->n, work);
    memset(row_loss, 0, VECTORS * sizeof *row_loss);
    if (e->analytic)
      prior_analytic(e, rows, work);
    else
      memset(work->dencoded, 0, 2 * latent * sizeof(bl_v));
    decode(e, rows, eps, work);
    eps += latent;
    if (e->gradient) add_encoder_gradient(e, work);
    for (int v = 0; v < VECTORS; v++) row_loss[v] *= weight[v];
    panel_add_rows(row_loss, VECTORS, total);
  }
  for (int i = 0; i < BL_IVAE_SUMS * e->k; i++) sums[i] = bl_lanes_sum(work->sums + i * BL_LANES);
  return bl_lanes_sum(total);
}
