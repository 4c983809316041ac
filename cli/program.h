/* program.h - what main() hands to a command, and how a command describes itself.
 *
 * To add a command: write cmd_<name>.c with a `const command command_<name>`, and add a row to
 * EACH_COMMAND below. Parsing, --help, man pages, completions and docs/options.md follow. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "blica.h"
#include "byte_source.h"
#include "messages.h"
#include "table_io.h"

enum {
  EXIT_OK = 0,
  EXIT_FAILED = 1,
  EXIT_USAGE = 2,
  EXIT_DATA = 3,
  EXIT_NOT_CONVERGED = 4,
  EXIT_NOT_CERTIFIED = 5,
  EXIT_INTERRUPTED = 130
};

/* A table of options and where its values are stored in the command's struct of values. */
typedef struct {
  const char *title;                        /* heading in help, as in "Options" */
  const blica_option *(*table)(int *count); /* one of the library or one of the command's own */
  size_t offset;                            /* or OF_PROGRAM: they are those of program, not the command's own */
  size_t size;                              /* of a struct of the library, which begins with it; else 0 */
} option_group;
#define OF_PROGRAM SIZE_MAX

/* The options of a verb of the library, at this offset of the command's values. */
#define VERB_OPTIONS(title, verb, offset)                                                                              \
  { title, blica_##verb##_option_table, offset, sizeof(blica_##verb##_options) }

/* Groups of a command's own; then come those of how the data are read and of every command. */
enum { OWN_GROUPS = 2, READING = OWN_GROUPS, COMMON, MAX_GROUPS };

typedef struct program program;

typedef struct {
  const char *name;
  const char *summary;  /* one line, no full stop */
  const char *operands; /* "MODEL [DATA]" or "COUNTS...", as the usage line shows them; "" for none */
  const char *required; /* names of options that must be given, "sources|out"; NULL: none */
  const char *usual;    /* names of options that help lists at once; NULL: all but those of reading */
  const char *text;     /* what it does: paragraphs, blank lines between */
  const char *examples; /* lines; those that start with # are comments */
  option_group groups[OWN_GROUPS];
  bool reads;                           /* has the options of how DATA are read */
  size_t values;                        /* size of the struct of values that run() gets */
  const char *(*words)(void);           /* that the operand can be, "a|b"; NULL: files */
  int (*run)(program *p, void *values); /* returns the exit code */
  bool shared;                          /* blica-mpi: all processes run it together; else the first alone */
} command;

struct program {
  blica_ctx *ctx;
  const command *command;
  char **operands;
  int operand_count;
  int threads, quiet; /* options of every command */
  const char *out;    /* of those that have them in this way */
  int json;
  char given[4096];   /* the command and its options, a line each, as all processes must have been given them */
  char reading[4096]; /* the options of reading the data, each behind a blank, as a POSIX shell reads them back */
  table_options data; /* what they set, and what a command adds */
  blica_model *model; /* what was read; freed after run() */
  blica_data *rows;
  blica_counts *counts;
  table_labels labels; /* of the items, where a command has set data.labels */
};

/* Commands that draw, which a build without BLICA_REPORT leaves out. */
#ifdef BLICA_REPORT
#define EACH_DRAWING_COMMAND(ROW)                                                                                      \
  ROW(report)                                                                                                          \
  ROW(experiment)
#else
#define EACH_DRAWING_COMMAND(ROW)
#endif

/* All commands, in the order in which help lists them. */
#define EACH_COMMAND(ROW)                                                                                              \
  ROW(simulate)                                                                                                        \
  ROW(check)                                                                                                           \
  ROW(count)                                                                                                           \
  ROW(merge)                                                                                                           \
  ROW(sql)                                                                                                             \
  ROW(correlate)                                                                                                       \
  ROW(segment)                                                                                                         \
  ROW(select)                                                                                                          \
  ROW(fit)                                                                                                             \
  ROW(assess)                                                                                                          \
  ROW(invariance)                                                                                                      \
  ROW(loglik)                                                                                                          \
  ROW(sources)                                                                                                         \
  ROW(compare)                                                                                                         \
  ROW(identify)                                                                                                        \
  EACH_DRAWING_COMMAND(ROW)

#define ROW(name) extern const command command_##name;
EACH_COMMAND(ROW)
ROW(self_doc) /* which help does not list */
#undef ROW

extern const command *const commands[]; /* that help lists; the last is NULL */

/* For a table of a command's own:
 *     static const blica_option table[] = {OPTION(values, name, TYPE, initial, low, high, words, metavar, help), ...};
 *     OPTION_TABLE(own_table, table)
 * and `own_table` is the function for the group. */
#define OPTION(type, field, kind, initial, low, high, words, metavar, help)                                            \
  { #field, kind, offsetof(type, field), sizeof(((type *)0)->field), initial, low, high, words, metavar, help, NULL }
#define TEXT(type, field, metavar, help) OPTION(type, field, BLICA_OPT_TEXT, NULL, 0, 0, NULL, metavar, help)
#define FLAG(type, field, help) OPTION(type, field, BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL, help)
#define OPTION_TABLE(function, table)                                                                                  \
  static const blica_option *function(int *count) {                                                                    \
    *count = (int)(sizeof(table) / sizeof *(table));                                                                   \
    return table;                                                                                                      \
  }

/* Prints message and gives the exit code of a failed table_* call. */
int fail_table(blica_status status, const char *message);
/* Prints the library's message after a call that reads failed, and gives the exit code. */
int fail_reading(program *p, blica_status status);
int fail_writing(program *p, blica_status status); /* after a call that writes */

/* Steps of a function that returns an exit code. It ends with the code of a step that failed, which has said why; */
#define STEP(call)                                                                                                     \
  do {                                                                                                                 \
    const int code_ = (call);                                                                                          \
    if (code_ != EXIT_OK) return code_;                                                                                \
  } while (0)
/* or when a call of the library failed, with its message. */
#define ASK(p, call)                                                                                                   \
  do {                                                                                                                 \
    const blica_status status_ = (call);                                                                               \
    if (status_ != BLICA_OK) return fail_reading((p), status_);                                                        \
  } while (0)

/* AUTO(blica_check) *found = NULL; is freed when the function returns. */
#define AUTO(type) __attribute__((cleanup(auto_##type))) type
#define AUTO_FREE(type, release)                                                                                       \
  static inline void auto_##type(type **object) {                                                                      \
    release(*object);                                                                                                  \
  }
AUTO_FREE(blica_assessment, blica_assessment_free)
AUTO_FREE(blica_check, blica_check_free)
AUTO_FREE(blica_coding, blica_coding_free)
AUTO_FREE(blica_cor, blica_cor_free)
AUTO_FREE(blica_counts, blica_counts_free)
AUTO_FREE(blica_data, blica_data_free)
AUTO_FREE(blica_identification, blica_identification_free)
AUTO_FREE(blica_invariance_result, blica_invariance_free)
AUTO_FREE(blica_loglik_result, blica_loglik_result_free)
AUTO_FREE(blica_model, blica_model_free)
AUTO_FREE(blica_posterior, blica_posterior_free)
AUTO_FREE(blica_selection, blica_selection_free)

#endif
