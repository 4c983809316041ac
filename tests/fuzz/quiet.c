/* quiet.c - cli/messages.c without a terminal: messages are formatted, looked at and thrown away. */
#include <stdarg.h>
#include <stdio.h>

#include "fuzz.h"
#include "messages.h"

static void look_at(const char *format, va_list args) {
  char text[4096];
  CHECK(vsnprintf(text, sizeof text, format, args) > 0);
}

#define LOOK                                                                                                           \
  va_list args;                                                                                                        \
  va_start(args, format);                                                                                              \
  look_at(format, args);                                                                                               \
  va_end(args)

void say_error(const char *format, ...) {
  LOOK;
}
void say_warning(const char *format, ...) {
  LOOK;
}
void say_note(const char *format, ...) {
  LOOK;
}
void messages_attach(blica_ctx *ctx) {
  (void)ctx;
}
void messages_quiet(bool quiet) {
  (void)quiet;
}
const char *shown(const char *text, char buffer[SHOWN_TEXT]) {
  snprintf(buffer, SHOWN_TEXT, "%s", text);
  return buffer;
}
bool interrupted(void) {
  return false;
}
void progress_clear(void) {}
void progress_show(const char *stage, double fraction) {
  (void)stage, (void)fraction;
}
