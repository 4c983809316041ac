/* model.c - making, freeing and normalising models. */
#include "model/model.h"

#include <math.h>
#include <string.h>

blica_status blica_model_create(blica_ctx *ctx, int n, int k, int u, blica_model **out) {
  if (out) *out = NULL;
  BL_NEED(ctx, out);
  BL_AUTO(blica_model) *model = NULL;
  if (n < 1 || k < 1 || u < 1)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT,
                   "a model of %d variables, %d sources and %d segments cannot be: each must be at least 1", n, k, u);
  MUST(bl_alloc(ctx, 1, &model));
  model->n = model->planes = n;
  model->k = k;
  model->u = u;
  model->link = 0.39269908169872414; /* pi/8 */
  model->fit.prior_mixing = model->fit.prior_variance = NAN;
  MUST(bl_alloc_for(ctx, model, bl_mul((size_t)n, (size_t)k), &model->mixing));
  MUST(bl_alloc_for(ctx, model, bl_mul((size_t)k, (size_t)u), &model->variances));
  MUST(bl_alloc_for(ctx, model, bl_mul((size_t)k, (size_t)u), &model->means));
  MUST(bl_alloc(ctx, (size_t)n, &model->cuts));
  MUST(bl_alloc(ctx, bl_mul((size_t)n, (size_t)u), &model->thresholds));
  MUST(bl_alloc_for(ctx, model, (size_t)u, &model->samples));
  MUST(bl_number_texts(ctx, n, "x", &model->variables));
  MUST(bl_number_texts(ctx, u, "", &model->segments));
  *out = bl_take(&model);
  return BLICA_OK;
}

blica_status bl_model_like(blica_ctx *ctx, const blica_model *shape, blica_model **out) {
  BL_AUTO(blica_model) *m = NULL;
  blica_coding *coding;
  *out = NULL;
  MUST(blica_model_create(ctx, shape->n, shape->k, shape->u, &m));
  MUST(bl_coding_copy(ctx, shape->coding, &coding));
  MUST(bl_model_set_coding(ctx, m, coding));
  m->link = shape->link;
  memcpy(m->samples, shape->samples, (size_t)shape->u * sizeof(double));
  memcpy(m->thresholds, shape->thresholds, (size_t)shape->planes * (size_t)shape->u * sizeof(double));
  MUST(bl_model_free_items(ctx, m, shape->freed));
  *out = bl_take(&m);
  return BLICA_OK;
}

blica_status bl_model_set_coding(blica_ctx *ctx, blica_model *m, blica_coding *coding) {
  blica_coding_free(m->coding);
  m->coding = coding;
  m->planes = bl_plane(coding, m->n);
  bl_free(m->cuts);
  bl_free(m->thresholds);
  m->cuts = m->thresholds = NULL;
  MUST(bl_alloc(ctx, (size_t)m->planes, &m->cuts));
  MUST(bl_alloc(ctx, bl_mul((size_t)m->planes, (size_t)m->u), &m->thresholds));
  return BLICA_OK;
}

blica_status bl_model_free_items(blica_ctx *ctx, blica_model *m, const uint8_t *freed) {
  const size_t cells = (size_t)m->n * (size_t)m->u;
  if (!freed) return BLICA_OK;
  if (!m->freed) MUST(bl_alloc_for(ctx, m, cells, &m->freed));
  memcpy(m->freed, freed, cells);
  return BLICA_OK;
}

blica_status bl_model_own(blica_ctx *ctx, blica_model *m) {
  const size_t nk = (size_t)m->n * (size_t)m->k, planes = (size_t)m->planes, u = (size_t)m->u;
  MUST(bl_alloc_for(ctx, m, bl_mul(nk, u), &m->own_mixing));
  MUST(bl_alloc_for(ctx, m, bl_mul(planes, u), &m->own_cuts));
  for (size_t s = 0; s < u; s++) {
    memcpy(m->own_mixing + nk * s, m->mixing, nk * sizeof(double));
    memcpy(m->own_cuts + planes * s, m->cuts, planes * sizeof(double));
  }
  return BLICA_OK;
}

blica_status blica_model_set_labels(blica_ctx *ctx, blica_model *model, const char *const *labels) {
  BL_NEED(ctx, model);
  char **copy = NULL;
  if (labels) MUST(bl_copy_texts(ctx, model->n, labels, &copy));
  bl_free(model->labels);
  model->labels = copy;
  return BLICA_OK;
}

void blica_model_free(blica_model *model) {
  if (!model) return;
  blica_coding_free(model->coding);
  bl_free(model->cuts);
  bl_free(model->thresholds);
  bl_free(model->variables);
  bl_free(model->segments);
  bl_free(model->labels);
  bl_free(model->fit.starts);
  bl_free(model->fit.shift);
  bl_free(model->fit.eigen_min);
  bl_free(model->fit.eigen_max);
  bl_free(model->fit.notes);
  bl_free(model->fit.options);
  bl_free(model);
}

const char *blica_stop_name(blica_stop stop) {
  static const char *const names[] = {"converged", "iterations",  "time",     "interrupted", "stalled",
                                      "unbounded", "integration", "compared", "duplicate"};
  return (unsigned)stop < sizeof names / sizeof *names ? names[stop] : "unknown";
}

/* ---- canonical form ---- */

/* Source j becomes z_j / scale. */
static void rescale(blica_model *m, int j, double scale) {
  for (int i = 0; i < m->n; i++) m->mixing[i + (size_t)j * m->n] *= scale;
  for (int s = 0; s < m->u; s++) {
    size_t at = j + (size_t)s * m->k;
    m->variances[at] /= scale * scale;
    m->means[at] /= scale;
  }
}

static void unit_scale(blica_model *m, int j) {
  double sum = 0;
  for (int s = 0; s < m->u; s++) sum += log(m->variances[j + (size_t)s * m->k]); /* -inf or NaN: left alone */
  double log_square = sum / m->u, scale = exp(0.5 * log_square);
  bool usable = isfinite(log_square) && isfinite(scale * scale) && scale * scale > 0;
  if (usable && fabs(log_square) > 1e-14) rescale(m, j, scale); /* rounding alone changes nothing */
}

static void unit_sign(blica_model *m, int j) {
  double largest = 0;
  for (int i = 0; i < m->n; i++) {
    double a = m->mixing[i + (size_t)j * m->n];
    if (fabs(a) > fabs(largest)) largest = a;
  }
  if (!(largest < 0)) return;
  for (int i = 0; i < m->n; i++) m->mixing[i + (size_t)j * m->n] *= -1;
  for (int s = 0; s < m->u; s++) m->means[j + (size_t)s * m->k] *= -1;
}

static double explained(const blica_model *m, int j) {
  double square = 0, variance = 0;
  for (int i = 0; i < m->n; i++) square += m->mixing[i + (size_t)j * m->n] * m->mixing[i + (size_t)j * m->n];
  for (int s = 0; s < m->u; s++) variance += m->variances[j + (size_t)s * m->k];
  double value = square * (variance / m->u);
  return isnan(value) ? -1 : value;
}

/* Rows of x [k,columns] into the order given. */
static void permute_rows(double *x, int k, size_t columns, const int *order, double *work) {
  for (size_t c = 0; c < columns; c++) {
    for (int j = 0; j < k; j++) work[j] = x[order[j] + c * k];
    memcpy(x + c * k, work, (size_t)k * sizeof *work);
  }
}

/* Puts source order[j] in the place of source j. */
static blica_status reorder_sources(blica_ctx *ctx, blica_model *m, const int *order) {
  BL_OWNED double *copy = NULL, *work = NULL;
  size_t n = (size_t)m->n, k = (size_t)m->k;
  MUST(bl_alloc(ctx, bl_mul(n, k), &copy));
  MUST(bl_alloc(ctx, k, &work));
  memcpy(copy, m->mixing, n * k * sizeof *copy);
  for (size_t j = 0; j < k; j++) memcpy(m->mixing + j * n, copy + (size_t)order[j] * n, n * sizeof *copy);
  permute_rows(m->variances, m->k, (size_t)m->u, order, work);
  permute_rows(m->means, m->k, (size_t)m->u, order, work);
  return BLICA_OK;
}

int64_t blica_model_parameters(const blica_model *model) {
  if (!model) return 0;
  const int64_t n = model->n, k = model->k, u = model->u;
  bool cuts = false;
  for (int p = 0; p < model->planes; p++) cuts |= model->cuts[p] != 0;
  int64_t own = 0;
  for (int s = 0; s < model->u; s++)
    for (int i = 0; i < model->n; i++)
      if (bl_freed(model, i, s))
        own += bl_plane(model->coding, i + 1) - bl_plane(model->coding, i) +
               (bl_freed(model, i, s) == BLICA_FREED_ROW ? k : 0);
  return n * k + 2 * u * k - k + (cuts ? model->planes - k : 0) + own;
}

void bl_model_center(blica_model *m) {
  double total = 0;
  for (int s = 0; s < m->u; s++) total += m->samples[s];
  for (int j = 0; j < m->k; j++) {
    double mean = 0;
    for (int s = 0; s < m->u; s++)
      mean += m->means[j + (size_t)s * m->k] * (total > 0 ? m->samples[s] / total : 1.0 / m->u);
    for (int s = 0; s < m->u; s++) m->means[j + (size_t)s * m->k] -= mean;
    for (int i = 0; i < m->n; i++)
      for (int p = bl_plane(m->coding, i); p < bl_plane(m->coding, i + 1); p++)
        m->cuts[p] -= sqrt(m->link) * m->mixing[i + (size_t)j * m->n] * mean;
  }
}

blica_status bl_model_canonical(blica_ctx *ctx, blica_model *model) {
  BL_OWNED double *key = NULL;
  BL_OWNED int *order = NULL;
  MUST(bl_alloc(ctx, (size_t)model->k, &key));
  MUST(bl_alloc(ctx, (size_t)model->k, &order));
  for (int j = 0; j < model->k; j++) {
    unit_scale(model, j);
    unit_sign(model, j);
    key[j] = explained(model, j);
    int at = j; /* insertion keeps equal keys in place, so the form of a canonical model is itself */
    for (; at > 0 && key[order[at - 1]] < key[j]; at--) order[at] = order[at - 1];
    order[at] = j;
  }
  MUST(reorder_sources(ctx, model, order));
  return BLICA_OK;
}

void bl_model_margins(const blica_model *m, int s, double *diagonal, double *threshold) {
  const double *mixing = bl_mixing_in(m, s), *cuts = bl_cuts_in(m, s);
  for (int i = 0; i < m->n; i++) {
    double variance = 0, mean = 0;
    for (int j = 0; j < m->k; j++) {
      double a = mixing[i + (size_t)j * m->n];
      variance += a * a * m->variances[j + (size_t)s * m->k];
      mean += a * m->means[j + (size_t)s * m->k];
    }
    double m_ii = 1 + m->link * variance;
    if (diagonal) diagonal[i] = m_ii;
    for (int p = bl_plane(m->coding, i); threshold && p < bl_plane(m->coding, i + 1); p++)
      threshold[p] = (sqrt(m->link) * mean - cuts[p]) / sqrt(m_ii);
  }
}

void bl_model_prior(const blica_model *m, double *sd_mixing, double *sd_variance) {
  if (isfinite(m->fit.prior_mixing)) *sd_mixing = m->fit.prior_mixing;
  if (isfinite(m->fit.prior_variance)) *sd_variance = m->fit.prior_variance;
}

blica_status bl_report_note(blica_ctx *ctx, blica_fit_report *report, const char *name, double value) {
  size_t count = (size_t)report->n_notes;
  MUST(bl_resize(ctx, count, count + 1, &report->notes));
  memset(&report->notes[count], 0, sizeof *report->notes);
  strncpy(report->notes[count].name, name, sizeof report->notes->name - 1);
  report->notes[count].value = value;
  report->n_notes++;
  return BLICA_OK;
}
