/* messages.c - stderr. Colour and progress only when it is a terminal. */
#include "messages.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

static atomic_int stop_asked; /* set by a signal, read by any thread */
static bool is_quiet, line_shown, is_kept;
static char kept[1024];
static double began, shown_at, stage_began;
static char stage_name[32];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool on_terminal(void) {
  return isatty(STDERR_FILENO) == 1;
}

static bool coloured(void) {
  const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
  return on_terminal() && (!no_color || !*no_color) && term && strcmp(term, "dumb") != 0;
}

void progress_clear(void) {
  if (line_shown) fputs("\r\033[K", stderr);
  line_shown = false;
}

static void say(const char *label, const char *colour, const char *format, va_list args) {
  char text[4096];
  progress_clear();
  if (*label && coloured())
    fprintf(stderr, "blica: %s%s\033[0m", colour, label);
  else
    fprintf(stderr, "blica: %s", label);
  vsnprintf(text, sizeof text, format, args);
  bl_text_clean(text);
  fprintf(stderr, "%s\n", text);
}

#define SAY(label, colour)                                                                                             \
  do {                                                                                                                 \
    va_list args;                                                                                                      \
    va_start(args, format);                                                                                            \
    say(label, colour, format, args);                                                                                  \
    va_end(args);                                                                                                      \
  } while (0)

void say_error(const char *format, ...) {
  if (!is_kept) {
    SAY("error: ", "\033[1;31m");
    return;
  }
  va_list args;
  va_start(args, format);
  vsnprintf(kept, sizeof kept, format, args);
  va_end(args);
  bl_text_clean(kept);
}

void say_warning(const char *format, ...) {
  if (!is_kept) SAY("warning: ", "\033[1;33m");
}

void say_note(const char *format, ...) {
  if (!is_quiet && !is_kept) SAY("", "");
}

void messages_quiet(bool quiet) {
  is_quiet = quiet;
}
void messages_keep(void) {
  is_kept = true;
}
const char *messages_kept(void) {
  return kept;
}

const char *shown(const char *text, char buffer[SHOWN_TEXT]) {
  snprintf(buffer, SHOWN_TEXT, "%s", text);
  bl_text_clean(buffer);
  return buffer;
}

bool interrupted(void) {
  return stop_asked != 0;
}

static void on_signal(int number) {
  (void)number;
  stop_asked = 1;
}

/* Prints a warning once, even if a command finds the same twice in the data. */
static void warn(const char *text, void *user) {
  static char last[1024];
  (void)user;
  if (strncmp(last, text, sizeof last - 1) != 0) say_warning("%s", text);
  snprintf(last, sizeof last, "%s", text);
}

static void show(const blica_progress *p, double t) {
  char left[64] = "", percent[32] = "", work[96] = "";
  if (p->fraction >= 0) snprintf(percent, sizeof percent, ", %.0f %%", 100 * p->fraction);
  if (p->fraction > 0.02) {
    double seconds = (t - stage_began) * (1 - p->fraction) / p->fraction;
    snprintf(left, sizeof left, seconds < 120 ? ", about %.0f s left" : ", about %.0f min left",
             seconds < 120 ? seconds : seconds / 60);
  }
  if (p->iteration > 0 && isfinite(p->objective))
    snprintf(work, sizeof work, ", start %d, iteration %lld, objective %.8g", p->start + 1, (long long)p->iteration,
             p->objective);
  fprintf(stderr, "\r\033[K%s%s%s%s", p->stage ? p->stage : "", work, percent, left);
  fflush(stderr);
  line_shown = true;
}

/* A line of progress after two seconds, then five times a second. */
static int poll(const blica_progress *p, void *user) {
  (void)user;
  if (stop_asked) return 1;
  if (is_quiet || is_kept || !p || !on_terminal()) return 0;
  double t = now();
  if (p->stage && strcmp(stage_name, p->stage) != 0) {
    snprintf(stage_name, sizeof stage_name, "%s", p->stage);
    stage_began = t;
  }
  if (t - began < 2 || t - shown_at < 0.2) return 0;
  shown_at = t;
  show(p, t);
  return 0;
}

void messages_attach(blica_ctx *ctx) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = (int)SA_RESETHAND; /* the second one has its usual effect */
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  signal(SIGXFSZ, SIG_IGN); /* a file past the limit of its size is an error of the write, with a message */
  began = now();
  blica_set_warn(ctx, warn, NULL);
  blica_set_poll(ctx, poll, NULL);
}

void progress_show(const char *stage, double fraction) {
  blica_progress p = {.stage = stage, .fraction = fraction, .objective = NAN};
  (void)poll(&p, NULL);
}
