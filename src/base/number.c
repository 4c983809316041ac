/* number.c - see number.h. The calling thread is in the C locale for the moment of a conversion; uselocale touches no
 * other thread. The C libraries of Linux and BSD keep the C locale as a constant, so that making it costs nothing. */
#include "base/number.h"

#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#ifdef _WIN32
typedef struct {
  int before; /* whether the thread had a locale of its own */
  char name[64];
} passage;

static passage enter(void) {
  passage p = {.before = _configthreadlocale(_ENABLE_PER_THREAD_LOCALE)};
  snprintf(p.name, sizeof p.name, "%s", setlocale(LC_NUMERIC, NULL));
  setlocale(LC_NUMERIC, "C");
  return p;
}

static void leave(passage p) {
  setlocale(LC_NUMERIC, p.name);
  _configthreadlocale(p.before);
}
#else
typedef struct {
  locale_t made, before;
} passage;

static passage enter(void) {
  passage p = {newlocale(LC_ALL_MASK, "C", (locale_t)0), (locale_t)0};
  if (p.made) p.before = uselocale(p.made);
  return p;
}

static void leave(passage p) {
  if (!p.made) return;
  uselocale(p.before);
  freelocale(p.made);
}
#endif

/* 0x1, which strtod reads as 1: in a table it is a code or a mistake. */
static bool is_hexadecimal(const char *text) {
  text += strspn(text, " \t\n\v\f\r");
  text += *text == '-' || *text == '+';
  return text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

double bl_strtod(const char *text, char **end) {
  if (is_hexadecimal(text)) {
    if (end) *end = strchr(text, *text); /* the text itself, as characters that may be changed */
    return 0;
  }
  passage p = enter();
  double value = strtod(text, end);
  leave(p);
  return value;
}

void bl_number_text(double value, char text[BL_NUMBER_TEXT]) {
  passage p = enter();
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, BL_NUMBER_TEXT, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  leave(p);
}

int bl_rising(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
