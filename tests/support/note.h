/* note.h - what a fit noted by name, for tests. */
#ifndef TESTS_NOTE_H
#define TESTS_NOTE_H

#include <math.h>
#include <string.h>

#include "blica.h"

/* NaN when there is no such note: comparisons with it fail. */
static inline double note(const blica_model *model, const char *name) {
  for (int i = 0; i < model->fit.n_notes; i++)
    if (strcmp(model->fit.notes[i].name, name) == 0) return model->fit.notes[i].value;
  return NAN;
}

#endif
