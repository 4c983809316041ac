/* messages.h - what goes to stderr: errors, warnings, notes and, on a terminal, progress. */
#ifndef MESSAGES_H
#define MESSAGES_H

#include <stdbool.h>

#include "blica.h"

/* On stderr, behind the name of the program. */
void say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_warning(const char *format, ...) __attribute__((format(printf, 1, 2))); /* the same, behind "warning:" */
void say_note(const char *format, ...) __attribute__((format(printf, 1, 2)));    /* not with --quiet */

/* Routes the library's warnings and progress here; SIGINT and SIGTERM make the poll stop the call.
 * A second SIGINT ends the program at once. */
void messages_attach(blica_ctx *ctx);
void messages_quiet(bool quiet); /* whether notes and progress are left out */
/* Stops printing and keeps the last error, for processes that do not lead. */
void messages_keep(void);
const char *messages_kept(void); /* the error that was kept */
/* The text as a terminal may show it: at most SHOWN_TEXT bytes, without control characters. */
enum { SHOWN_TEXT = 200 };
const char *shown(const char *text, char buffer[SHOWN_TEXT]); /* writes it into buffer and returns that */
bool interrupted(void);                                       /* whether SIGINT or SIGTERM has come */
void progress_clear(void);
/* Progress of work that the program itself divides up. */
void progress_show(const char *stage, double fraction);

#endif
