/* complete.c - from what an estimator found to the whole model and its record: means and cuts from thresholds,
 * canonical form; starts and notes of the record, a start in a checkpoint; how large the sources are at a point. */
#include <math.h>
#include <string.h>

#include "estimate/estimate.h"
#include "model/model.h"

/* ---- the model ---- */

blica_status bl_complete_model(blica_ctx *ctx, blica_model *model, bool cuts, bool means_done) {
  blica_status status = BLICA_OK;
  if (!means_done) TRY(bl_solve_means(ctx, model, cuts));
  if (cuts) bl_model_center(model);
  TRY(bl_model_canonical(ctx, model));
done:
  return status;
}

/* ---- its record ---- */

blica_status bl_report_starts(blica_ctx *ctx, blica_fit_report *report, int count) {
  report->n_starts = count;
  return bl_alloc(ctx, (size_t)count, &report->starts);
}

static bool plain_text(const char *text, size_t capacity) {
  for (size_t i = 0; i < capacity; i++) {
    if (text[i] == 0) return true;
    if (text[i] < ' ' || text[i] > '~') return false;
  }
  return false;
}

void bl_pass_start(bl_state *state, void *user) {
  bl_start_end *end = user;
  blica_start *r = end->record;
  int stop = (int)r->stop;
  BL_PASS(state, r->kind);
  BL_PASS(state, r->objective);
  BL_PASS(state, r->gradient);
  bl_pass_count(state, &r->iterations);
  bl_pass_count(state, &r->evaluations);
  BL_PASS(state, r->seconds);
  BL_PASS(state, r->seconds_near);
  bl_pass_int(state, &stop, BLICA_STOP_CONVERGED, BLICA_STOP_DUPLICATE);
  if (!plain_text(r->kind, sizeof r->kind) && state->status == BLICA_OK) state->status = BLICA_ERR_FORMAT;
  r->stop = (blica_stop)stop;
  bl_pass(state, end->theta, end->size * sizeof *end->theta);
}

blica_status bl_report_note(blica_ctx *ctx, blica_fit_report *report, const char *name, double value) {
  blica_status status;
  size_t count = (size_t)report->n_notes;
  TRY(bl_resize(ctx, count, count + 1, &report->notes));
  memset(&report->notes[count], 0, sizeof *report->notes);
  strncpy(report->notes[count].name, name, sizeof report->notes->name - 1);
  report->notes[count].value = value;
  report->n_notes++;
done:
  return status;
}

/* ---- how large the sources are: segments are `stride` doubles apart ---- */

double bl_largest_row(int n, int k, int u, double link, const double *mixing, const double *log_v, size_t stride) {
  double largest = 0;
  for (int s = 0; s < u; s++)
    for (int i = 0; i < n; i++) {
      double squares = 0;
      for (int j = 0; j < k; j++) {
        double a = mixing[i + (size_t)j * n];
        squares += link * a * a * exp(log_v[(size_t)s * stride + (size_t)j]);
      }
      largest = fmax(largest, squares);
    }
  return sqrt(largest);
}

double bl_mean_variance(int u, const double *log_v, size_t stride) {
  double mean = 0;
  for (int s = 0; s < u; s++) mean += exp(log_v[(size_t)s * stride]) / u;
  return mean;
}

/* ---- cuts as parameters ---- */

void bl_cuts_of(const blica_coding *coding, int n, const double *own, double *cut) {
  for (int i = 0; i < n; i++)
    for (int first = bl_plane(coding, i), p = first; p < bl_plane(coding, i + 1); p++)
      cut[p] = p == first ? own[p] : cut[p - 1] + exp(own[p]);
}

void bl_cuts_set(const blica_coding *coding, int n, const double *cut, double *own) {
  for (int i = 0; i < n; i++)
    for (int first = bl_plane(coding, i), p = first; p < bl_plane(coding, i + 1); p++)
      own[p] = p == first ? cut[p] : log(fmax(cut[p] - cut[p - 1], 1e-6));
}

void bl_cuts_chain(const blica_coding *coding, int n, const double *own, double *gradient) {
  for (int i = 0; i < n; i++) {
    double sum = 0.0;
    for (int first = bl_plane(coding, i), p = bl_plane(coding, i + 1) - 1; p >= first; p--) {
      sum += gradient[p];
      gradient[p] = p == first ? sum : exp(own[p]) * sum;
    }
  }
}

void bl_cuts_move(const blica_coding *coding, int n, const double *own, double *change) {
  for (int i = 0; i < n; i++)
    for (int p = bl_plane(coding, i) + 1; p < bl_plane(coding, i + 1); p++)
      change[p] = change[p - 1] + exp(own[p]) * change[p];
}
