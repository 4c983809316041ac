/* output.h - finding out before the work whether its result can be written, and JSON on stdout. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "program.h"

/* Whether a file can be made at path, and is neither an operand of the command nor the file `also` (NULL: none); says
 * why not. */
bool output_possible(const program *p, const char *path, const char *also);
/* Whether a checkpoint can be written at path (NULL: none); an existing file is accepted only with resume. */
bool checkpoint_possible(const program *p, const char *path, bool resume, const char *also);
/* Once the results are written: removes the checkpoint of complete work; one of work that was stopped stays, and a note
 * says how to continue "this `what`". */
void settle_checkpoint(const char *path, bool stopped, const char *what);
/* Makes a folder unless it is there, and says why it cannot; *made, if not NULL, is whether it is new. */
bool make_folder(const char *path, bool *made);
/* The path that `-` of --out means. */
#define STANDARD_OUTPUT "/dev/stdout"
bool is_standard_output(const char *path); /* whether it is that */
/* Whether the name ends as files of counts or correlations do; says why not. */
bool output_is_table(const char *path, const char *what);

/* How many variables counts have, as "10 variables" or "25 items with levels (125 columns of bits)". Returns text. */
const char *counts_width(program *p, const blica_counts *counts, char *text, size_t size);

/* A number as in model.json: null for NaN, "Infinity" and "-Infinity". */
json_t *json_number(double value);
json_t *json_numbers(const double *x, int count); /* an array of these */
json_t *json_wide(const int64_t *x, int count);   /* an array of whole numbers */

/* An object of these members, "name:kind name:kind", whose values follow: n double (json_number), i int, w int64_t,
 * u uint64_t, b a truth, t text (json_text), o json_t, which it takes over. */
json_t *json_members(const char *members, ...);
/* Prints a tab and the value with this number of decimals, or a tab and "-" for NaN. */
void print_cell(int decimals, double value);

void print_field(FILE *stream, const char *text); /* as a field of CSV */
void print_id(FILE *stream, const char *id);      /* likewise, and a comma */

/* A string, null for NULL; text that is not UTF-8 becomes "(not UTF-8)". */
json_t *json_text(const char *text);

/* Lets json_print and json_write know when memory ran out while an object was made: jansson leaves out what it had none
 * for. */
void json_track_memory(void);

/* Prints the object with a newline and drops it. Returns an exit code. */
int json_print(json_t *object);

typedef bool (*file_writer)(FILE *stream, const void *what);
/* Lets `write` fill a file, which is complete or absent. A writer returns false where memory is out, where it could not
 * write, or when it saw that the program was interrupted. Returns an exit code, and has said why it is not 0. */
int write_file(const char *path, file_writer write, const void *what);

/* Writes the object to a file, which is complete or absent, and drops it. Returns an exit code. */
int json_write(json_t *object, const char *path);

/* Both, each if it is asked for (path NULL: no file), and drops it. */
int json_give(json_t *object, const char *path, bool print);

enum { NAME_MOST = 40, LABEL_SHOWN = 60 };
/* The name in at most `most` characters, filled with blanks up to `least`. */
void put_name(FILE *to, const char *name, int least, int most);
/* The widest of these names, in characters, at least `least` and at most NAME_MOST. */
int names_width(char *const *names, int count, int least);
/* The loadings, items by source, with their errors (NULL: none) and what the items ask; false when memory is out. */
bool print_loadings(const blica_model *m, const double *se, FILE *to);
/* The exit code of a fit that stopped so; says why where it is not 0. An interrupt counts even when the best start had
 * converged before it: others were not tried. */
int exit_of(blica_stop stop);

/* Whether a method of a fit needs rows, not only counts. */
bool method_needs_rows(int method);

#endif
