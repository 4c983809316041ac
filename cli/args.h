/* args.h - from argv to the values of a command, driven by its tables of options. */
#ifndef ARGS_H
#define ARGS_H

#include <stdio.h>

#include "program.h"

/* Sets defaults, then what argv says. Returns 0, or EXIT_USAGE after printing what is wrong;
 * *help becomes 1 when --help was asked for, 2 for --help all. Operands are gathered in p. */
int args_parse(program *p, int argc, char **argv, void *values, int *help);

/* Where the value of an option is; NULL: the command has no such option. */
void *args_value(program *p, void *values, const char *name);

/* How many operands "MODEL [DATA]" or "COUNTS..." asks for; *most: and takes. */
int operands_of(const char *text, int *most);
/* Table g of the command's options; NULL, with a count of 0: none. */
const blica_option *option_table(const command *c, int g, int *count);
/* All of them in turn: for (option_walk w = {0}; option_next(c, &w);) w.option. */
typedef struct {
  int group, next;
  const blica_option *option;
} option_walk;
bool option_next(const command *c, option_walk *w); /* false at the end */
/* The next word of a list "a|b=2|c", without what = sets; moves *list past it; false at the end. */
bool list_next(const char **list, const char **word, int *length);
bool list_has(const char *list, const char *name); /* NULL is an empty list */
enum { FLAG_TEXT = 64, MEANING_TEXT = 1024 };
/* The flag of an option, "--max-seconds", written into flag. */
const char *flag_of(const blica_option *option, char flag[FLAG_TEXT]); /* returns flag */
/* Its help and what it needs to have an effect; values: its words and its default too. Returns text. */
const char *meaning_of(const blica_option *option, bool values, char text[MEANING_TEXT]);
/* The word of the list nearest to a mistyped one, or NULL when none is near. */
const char *nearest(const char *text, const char *const *list, int count);

/* "fit DATA --sources K --out FILE": what must be given. */
void usage_of(const command *c, char *text, size_t size);
extern const char exit_codes[];              /* what they mean, in a line */
void print_help(const command *c, bool all); /* on stdout, of one command; all: with every option */
/* Sentences, in lines of 80 columns on a terminal. */
void print_sentences(FILE *to, const char *text);
void print_data_help(void); /* how data are read */
void print_overview(void);  /* on stdout, of the program */
/* For completion in a shell: what the last of these words, those behind `blica`, can become; each on a line of its own,
 * with its meaning behind a tab. */
void print_candidates(int count, char **words);

#endif
