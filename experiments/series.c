/* series.c - see series.h. */
#include "series.h"

#include <math.h>
#include <string.h>

#include "axes.h"

double run_mcs(const run *r) {
  return r->mcs;
}
double run_log_error(const run *r) {
  return log10(fmax(r->error, 1e-32));
}

static bool listed_in(const char *names, const char *name) {
  size_t length = strlen(name);
  for (const char *word = names; word && *word;) {
    size_t size = strcspn(word, ",");
    if (size == length && strncmp(word, name, size) == 0) return true;
    word += size + (word[size] == ',');
  }
  return names == NULL;
}

int series_list(const experiment *e, const char *usual, const double *conditions, int count, series list[MOST_SERIES]) {
  int methods, at = 0;
  const blica_method *table = blica_methods(&methods);
  for (int m = 0; m < methods; m++) {
    bool own = strcmp(table[m].name, "blica") == 0;
    if (!listed_in(e->methods ? e->methods : usual, table[m].name)) continue;
    for (int c = 0; c < (own ? count : 1) && at < MOST_SERIES; c++) {
      series *s = &list[at];
      s->condition = own ? conditions[c] : BLICA_CONDITION_DEFAULT;
      snprintf(s->method, sizeof s->method, "%s", table[m].name);
      if (own && count > 1)
        snprintf(s->name, sizeof s->name, isinf(conditions[c]) ? "blica, none" : "blica, r = %g", conditions[c]);
      else
        snprintf(s->name, sizeof s->name, "%s", table[m].name);
      s->ink = palette(at++);
    }
  }
  return at;
}

static const double LEAST_ERROR = 3e-5; /* smaller errors are drawn on the edge of the axis */

void draw_boxes(figure *f, double x, double y, double w, double h, const char *title, const char *label, const runs *r,
                const struct axes_place *places, int count, const series *list, int listed, double lowest,
                double *values) {
  const axes a = {f, x, y, w, h, -0.5, count - 0.5, LEAST_ERROR, 1 - lowest, false, true};
  double step = w / count, width = 0.82 * step / listed;
  axes_ticks_y(&a, "1 \xE2\x88\x92 MCS");
  for (int p = 0; p < count; p++) {
    axes_tick_x(&a, p, places[p].text);
    if (p) draw_line(f, x + p * step, y, x + p * step, y + h, PALE, 1, false);
    for (int s = 0; s < listed; s++) {
      run like = places[p].like;
      char what[128];
      snprintf(like.method, sizeof like.method, "%s", list[s].method);
      like.condition = list[s].condition;
      int found = runs_select(r, &like, run_mcs, values);
      for (int i = 0; i < found; i++) values[i] = fmax(1 - fmax(values[i], lowest), LEAST_ERROR);
      snprintf(what, sizeof what, "%s at %s", list[s].name, places[p].text);
      axes_box(&a, axes_x(&a, p) + (s - 0.5 * (listed - 1)) * width, fmin(0.8 * width, 30), values, found, list[s].ink,
               what);
    }
  }
  axes_frame(&a, title);
  draw_text(f, x + w / 2, y + h + 31, 11, ALIGN_MIDDLE, INK, 0, false, "%s", label);
}
