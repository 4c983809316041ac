/* set_word.h - an option from a word, where a test has it as text. */
#ifndef SET_WORD_H
#define SET_WORD_H

#include <stdlib.h>
#include <string.h>

#include "blica.h"

static inline void set_word(const blica_option *(*table)(int *), void *options, const char *name, const char *word) {
  int count;
  const blica_option *rows = table(&count);
  for (int i = 0; i < count; i++)
    if (strcmp(rows[i].name, name) == 0 && blica_option_set(NULL, &rows[i], options, word) == BLICA_OK) return;
  abort(); /* no such option, or no such word */
}
#endif
