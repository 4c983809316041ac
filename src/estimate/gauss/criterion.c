/* criterion.c - the sum of all terms with the priors; sums over segments; the scales of ordinal items. See gauss.h. */
#include <stdatomic.h>
#include <string.h>

#include "estimate/gauss/gauss.h"

/* ---- the sum ---- */

struct bl_evaluator {
  blica_ctx *ctx;
  const bl_criterion *criterion;
  void *work[BL_MOST_TERMS];
};

void bl_criterion_add(bl_criterion *c, bl_term term) {
  c->term[c->terms++] = term;
}

blica_status bl_evaluator_make(blica_ctx *ctx, const bl_criterion *criterion, bl_evaluator **out) {
  blica_status status;
  bl_evaluator *e = NULL;
  *out = NULL;
  TRY(bl_alloc(ctx, 1, &e));
  e->ctx = ctx, e->criterion = criterion;
  for (int t = 0; t < criterion->terms; t++) {
    const bl_term *term = &criterion->term[t];
    if (term->open)
      TRY(term->open(ctx, term->data, &e->work[t]));
    else
      e->work[t] = term->data;
  }
  *out = e;
  e = NULL;
done:
  bl_evaluator_free(e);
  return status;
}

void bl_evaluator_free(bl_evaluator *e) {
  if (!e) return;
  for (int t = 0; t < e->criterion->terms; t++)
    if (e->criterion->term[t].close && e->work[t]) e->criterion->term[t].close(e->work[t]);
  bl_free(e);
}

static double left_out(bl_evaluator *e, double *gradient) {
  bl_loop_poll *loop_poll = bl_loop_poll_of(e->ctx);
  if (loop_poll) atomic_store(&loop_poll->stopped, true); /* it may have been another rank's */
  for (size_t i = 0; i < bl_layout_size(&e->criterion->layout); i++) gradient[i] = NAN;
  return NAN;
}

/* Normal priors of A and log v: precision/2 |x|^2. */
static double add_normal(double precision, size_t count, const double *x, double *gradient) {
  double squares = 0;
  for (size_t i = 0; i < count; i++) {
    squares += x[i] * x[i];
    gradient[i] += precision * x[i];
  }
  return 0.5 * precision * squares;
}

/* The prior of the norms of A's rows: - p/2 sum_i log(1 + c |a_i|^2). */
static double add_row_norms(const bl_criterion *c, const double *a, double *gradient) {
  const size_t n = (size_t)c->layout.n, nk = n * (size_t)c->layout.k;
  const double link = c->layout.link;
  double value = 0;
  for (size_t i = 0; i < n; i++) {
    double m = 1;
    for (size_t at = i; at < nk; at += n) m += link * a[at] * a[at];
    value -= 0.5 * c->row_power * log(m);
    for (size_t at = i; at < nk; at += n) gradient[at] -= c->row_power * link * a[at] / m;
  }
  return value;
}

double bl_evaluate(bl_evaluator *e, const double *theta, double *gradient) {
  const bl_criterion *c = e->criterion;
  const bl_layout *p = &c->layout;
  double value = 0;
  memset(gradient, 0, bl_layout_size(p) * sizeof *gradient);
  for (int t = 0; t < c->terms; t++) {
    const double own = c->term[t].eval(e->work[t], theta, gradient);
    if (own == BL_LEFT_OUT) return left_out(e, gradient);
    value += own;
  }
  value += add_normal(c->precision_mixing, (size_t)p->n * (size_t)p->k, theta, gradient);
  for (int s = 0; s < p->u; s++)
    value += add_normal(c->precision_variance, (size_t)p->k, theta + bl_local(p, s), gradient + bl_local(p, s));
  if (c->precision_mixing > 0 && c->row_power > 0) value += add_row_norms(c, theta, gradient);
  return value;
}

/* ---- sums over segments ---- */

blica_status bl_segments_open(blica_ctx *ctx, const bl_layout *layout, int together, bl_places_of_segments *p) {
  blica_status status;
  const size_t places = (size_t)((layout->u + together - 1) / together);
  *p = (bl_places_of_segments){.ctx = ctx, .layout = *layout, .together = together};
  TRY(bl_split_make(ctx, (int64_t)places, &p->split));
  TRY(bl_alloc(ctx, places, &p->value));
  TRY(bl_alloc(ctx, bl_mul((size_t)layout->n * (size_t)layout->k, places), &p->mixing));
  TRY(bl_alloc(ctx, bl_mul((size_t)(layout->locals * together), places), &p->local));
done:
  return status;
}

void bl_segments_close(bl_places_of_segments *p) {
  bl_split_free(&p->split);
  bl_free(p->value);
  bl_free(p->mixing);
  bl_free(p->local);
}

double bl_segments_add(bl_places_of_segments *p, double *gradient) {
  const size_t nk = (size_t)p->layout.n * (size_t)p->layout.k, locals = (size_t)p->layout.locals;
  const bl_places lists[] = {{p->value, 1}, {p->local, locals * (size_t)p->together}}, sum = {p->mixing, nk};
  double value = 0;
  if (bl_split_exchange(p->ctx, &p->split, 2, lists, &sum) != BLICA_OK)
    return NAN; /* the fit ends with bl_comm_check */
  for (int64_t i = 0; i < p->split.count; i++) {
    if (p->value[i] == BL_LEFT_OUT) return BL_LEFT_OUT;
    value += p->value[i];
  }
  for (size_t i = 0; i < nk; i++) gradient[i] += p->mixing[i];
  for (size_t i = 0; i < locals * (size_t)p->layout.u; i++) gradient[nk + i] += p->local[i];
  return value;
}

/* ---- the scales of ordinal items ---- */

/* M_s,ii. */
static double total_of(const bl_layout *p, const double *theta, int s, int i) {
  const double *log_v = theta + bl_local(p, s);
  double m = 1;
  for (int j = 0; j < p->k; j++) {
    const double a = theta[i + (size_t)j * (size_t)p->n];
    m += p->link * a * a * exp(log_v[j]);
  }
  return m;
}

/* The margins of an ordinal item give log_scale_is, a noisy observation of 1/2 log M_s,ii up to one constant d_i per
 * item (cor/item_scales.c). d_i is eliminated: at its best value the gradient is that of d_i fixed. Checked: gradient
 * against central differences in tests/recovery/test_levels.c. */
static double eval_scales(void *data, const double *theta, double *gradient) {
  const bl_item_scales *d = data;
  const bl_layout *p = &d->layout;
  const int n = p->n;
  double value = 0;
  for (int i = 0; i < n; i++) {
    double sum = 0, total = 0;
    for (int s = 0; s < p->u; s++) {
      const double precision = d->precision[i + (size_t)s * n];
      if (!(precision > 0)) continue;
      sum += precision * (d->log_scale[i + (size_t)s * n] - 0.5 * log(total_of(p, theta, s, i)));
      total += precision;
    }
    for (int s = 0; s < p->u; s++) {
      const double precision = d->precision[i + (size_t)s * n], m = total_of(p, theta, s, i);
      if (!(precision > 0)) continue;
      const double miss = d->log_scale[i + (size_t)s * n] - 0.5 * log(m) - sum / total;
      value += 0.5 * precision * miss * miss;
      for (int j = 0; j < p->k; j++) {
        const size_t local = bl_local(p, s) + (size_t)j;
        const double a = theta[i + (size_t)j * n], b = p->link * exp(theta[local]), slope = -0.5 * precision * miss / m;
        gradient[i + (size_t)j * n] += slope * 2 * a * b;
        gradient[local] += slope * a * a * b;
      }
    }
  }
  return value;
}

/* d_i being given. */
static bool inform_scales(const void *data, const double *theta, int s, double *information, double *work) {
  const bl_item_scales *d = data;
  const bl_layout *p = &d->layout;
  const int k = p->k;
  const double *log_v = theta + bl_local(p, s);
  for (int i = 0; i < p->n; i++) {
    const double precision = d->precision[i + (size_t)s * (size_t)p->n], m = total_of(p, theta, s, i);
    if (!(precision > 0)) continue;
    for (int j = 0; j < k; j++) work[j] = p->link * pow(theta[i + (size_t)j * (size_t)p->n], 2) * exp(log_v[j]) / m;
    for (int j = 0; j < k; j++)
      for (int l = 0; l < k; l++) information[j + (size_t)l * k] += 0.25 * precision * work[j] * work[l];
  }
  return true;
}

bl_term bl_item_scales_term(bl_item_scales *scales) {
  return (bl_term){.data = scales, .eval = eval_scales, .inform = inform_scales, .work_size = (size_t)scales->layout.k};
}
