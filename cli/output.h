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
/* The path, or that of the standard output for "-". */
const char *output_name(const char *path);
/* Whether the name ends as files of counts or correlations do; says why not. */
bool output_is_table(const char *path, const char *what);

/* How many variables counts have, as "10 variables" or "25 items with levels (125 columns of bits)". Returns text. */
const char *counts_width(program *p, const blica_counts *counts, char *text, size_t size);

/* A number as in model.json: null for NaN, "Infinity" and "-Infinity". */
json_t *json_number(double value);
json_t *json_numbers(const double *x, int count); /* an array of these */
json_t *json_wide(const int64_t *x, int count);   /* an array of whole numbers */

/* Members of a struct that a JSON object has under their names: {FIELD(blica_start, gradient, FIELD_NUMBER), ..., {0}}.
 */
typedef enum {
  FIELD_NUMBER, /* double */
  FIELD_INT,    /* int */
  FIELD_WIDE,   /* int64_t */
  FIELD_SEED,   /* uint64_t */
  FIELD_STRING, /* char * */
  FIELD_ARRAY,  /* char [] */
  FIELD_STOP,   /* blica_stop */
  FIELD_ENGINE  /* blica_engine */
} json_kind;
typedef struct {
  const char *name;
  size_t offset;
  json_kind kind;
} json_field;
#define FIELD(type, member, kind)                                                                                      \
  { #member, offsetof(type, member), kind }
/* Gives the object these members of the struct. */
void json_set(json_t *object, const void *from, const json_field *fields);
/* An object for each of `count` structs of this size. */
json_t *json_rows(const void *rows, int count, size_t size, const json_field *fields);

/* Prints a tab and the value with this number of decimals, or a tab and "-" for NaN. */
void print_cell(int decimals, double value);

void print_field(FILE *stream, const char *text); /* as a field of CSV */
void print_id(FILE *stream, const char *id);      /* likewise, and a comma */

/* A string; text that is not UTF-8 becomes "(not UTF-8)". */
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

/* Whether a method of a fit needs rows, not only counts. */
bool method_needs_rows(int method);

#endif
