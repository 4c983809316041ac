/* record.c - the record of a fit: its starts and notes, and a start in a checkpoint. */
#include <string.h>

#include "estimate/estimate.h"

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
