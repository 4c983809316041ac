/* report_numbers.c - the numbers behind the report: residuals of correlations, the order of rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report_parts.h"
#include "words.h"

double largest_loading(const blica_model *m) {
  double largest = 0;
  for (size_t i = 0; i < (size_t)m->n * (size_t)m->k; i++) largest = fmax(largest, fabs(m->mixing[i]));
  return largest > 0 ? largest : 1;
}

static void compare_segment(const report_input *in, agreement *a, int s) {
  int t = in->segment[s];
  double sum = 0, errors = 0;
  int64_t count = 0, known = 0;
  for (int64_t p = 0; p < a->pairs; p++) {
    int64_t at = p + s * a->pairs, there = p + t * a->pairs;
    a->observed[at] = in->cor->rho[there];
    a->fitted[at] = in->fitted->correlation[at];
    a->used[at] = (in->cor->flags[there] & (BLICA_PAIR_CONSTANT | BLICA_PAIR_EMPTY)) == 0;
    if (!a->used[at]) continue;
    double d = a->fitted[at] - a->observed[at], se = in->cor->se[there];
    sum += d * d;
    count++;
    if (isnan(se)) continue;
    errors += se * se;
    known++;
  }
  a->segment_rms[s] = count ? sqrt(sum / (double)count) : NAN;
  a->segment_se[s] = known ? sqrt(errors / (double)known) : NAN;
}

static void compare_pairs(const report_input *in, agreement *a) {
  double all = 0;
  int64_t total = 0;
  for (int64_t p = 0; p < a->pairs; p++) {
    double sum = 0, errors = 0;
    int count = 0;
    for (int s = 0; s < a->u; s++) {
      int64_t at = p + s * a->pairs;
      if (!a->used[at]) continue;
      double d = a->fitted[at] - a->observed[at], se = in->cor->se[p + in->segment[s] * a->pairs];
      errors += se * se;
      sum += d;
      all += d * d;
      count++;
    }
    total += count;
    a->pair_mean[p] = count ? sum / count : NAN;
    a->pair_se[p] = count ? sqrt(errors) / count : NAN;
  }
  a->rms = total ? sqrt(all / (double)total) : NAN;
}

double residual_in_errors(const agreement *a, int64_t pair) {
  return a->pair_mean[pair] / a->pair_se[pair];
}

bool agreement_make(const report_input *in, agreement *out) {
  *out = (agreement){0};
  if (!in->cor || !in->fitted || in->model->n < 2) return true;
  agreement a = {.n = in->model->n, .u = in->model->u, .pairs = in->cor->pairs};
  const size_t pairs = (size_t)a.pairs, u = (size_t)a.u, all = pairs * u;
  a.used = draw_alloc(all, sizeof *a.used);
  a.observed = draw_alloc(2 * (all + pairs + u), sizeof *a.observed); /* and the others behind it */
  if (!a.used || !a.observed) {
    agreement_free(&a);
    return false;
  }
  a.fitted = a.observed + all, a.pair_mean = a.fitted + all, a.pair_se = a.pair_mean + pairs;
  a.segment_rms = a.pair_se + pairs, a.segment_se = a.segment_rms + u;
  for (int s = 0; s < a.u; s++) compare_segment(in, &a, s);
  compare_pairs(in, &a);
  *out = a;
  return true;
}

void agreement_free(agreement *a) {
  free(a->observed);
  free(a->used);
  *a = (agreement){0};
}
