/* record.c - the record of a fit: its starts and notes, and a start in a checkpoint. */
#include <stdio.h>
#include <string.h>

#include "base/option.h"
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

blica_status bl_report_options(blica_ctx *ctx, blica_fit_report *report, const blica_fit_options *options) {
  static const char *const elsewhere[] = {
      "sources", "method", "starts", "seed", "resume", "checkpoint", "checkpoint_seconds", "max_seconds"};
  const blica_fit_options usual = blica_fit_options_default();
  int count;
  const blica_option *table = blica_fit_option_table(&count);
  blica_status status = bl_alloc(ctx, (size_t)count, &report->options);
  for (int i = 0; status == BLICA_OK && i < count; i++) {
    blica_setting *setting = &report->options[report->n_options];
    char before[sizeof setting->value];
    bool skip = false;
    for (size_t e = 0; e < sizeof elsewhere / sizeof *elsewhere; e++)
      skip = skip || strcmp(elsewhere[e], table[i].name) == 0;
    if (skip) continue;
    bl_option_spell(&table[i], options, setting->value, sizeof setting->value);
    bl_option_spell(&table[i], &usual, before, sizeof before);
    if (strcmp(setting->value, before) == 0) continue;
    snprintf(setting->name, sizeof setting->name, "%s", table[i].name);
    report->n_options++;
  }
  return status;
}
