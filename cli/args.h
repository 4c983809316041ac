/* args.h - from argv to the values of a command, driven by its tables of options. */
#ifndef ARGS_H
#define ARGS_H

#include "program.h"

/* Sets defaults, then what argv says. Returns 0, or EXIT_USAGE after printing what is wrong;
 * *help becomes 1 when --help was asked for, 2 for --help all. Operands are gathered in p. */
int args_parse(program *p, int argc, char **argv, void *values, int *help);

/* Table g of the command's options, those of every command last (g = MAX_GROUPS); NULL, with a count of 0: none. */
const blica_option *option_table(const command *c, int g, int *count);
/* The flag of an option, "--max-seconds", written into flag. */
enum { FLAG_TEXT = 64 };
const char *flag_of(const blica_option *option, char flag[FLAG_TEXT]); /* returns flag */
/* How its default reads in help, or "" if it has no default. */
void default_of(const blica_option *option, char *text, size_t size);
enum { NEEDS_TEXT = 160 };
/* " Needs --method mle or auto.", or " Needs --checkpoint.": what an option needs to have an effect. Returns the number
 * of characters. */
int needs_of(const blica_option *option, char *text, size_t size);
/* The words of an option as in "a|b|c", written into text. */
const char *words_of(const blica_option *option, char *text, size_t size); /* returns text */
/* The word of the list nearest to a mistyped one, or NULL when none is near. */
const char *nearest(const char *text, const char *const *list, int count);

/* "fit DATA --sources K --out FILE": what must be given. */
void usage_of(const command *c, char *text, size_t size);
void print_help(const command *c, bool all); /* on stdout, of one command; all: with every option */
void print_data_help(void);                  /* how data are read */
void print_overview(void);                   /* on stdout, of the program */

#endif
