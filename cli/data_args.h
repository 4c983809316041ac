/* data_args.h - the options that say how DATA is to be read, for every command that reads it. */
#ifndef DATA_ARGS_H
#define DATA_ARGS_H

#include "program.h"

/* The group's table; the values are p->data. */
const blica_option *data_option_table(int *count);

/* All of these print what the reader chose as notes, unless p->data has a note of its own, and return an exit code,
 * with the error said. Where there is a model its levels code the columns. */
int read_model(program *p);                    /* the first operand, into p->model */
int read_rows(program *p, const char *path);   /* into p->rows */
int read_counts(program *p, const char *path); /* of rows, or those that path holds, into p->counts */
int read_model_and_rows(program *p);           /* the operands MODEL DATA */
/* All rows, in pieces of about max_rows, one after the other. EXIT_FAILED where take has returned false. */
int read_pieces(program *p, const char *path, int64_t max_rows, table_piece_fn take, void *user);
void no_note(const char *text, void *user); /* a note that says nothing, for data that were read before */

/* ---- what else commands read ---- */

/* matrix_io.c: a mixing matrix from model.json or from a table of numbers. */
typedef struct {
  int n, k;
  double *x; /* [n,k]; free() */
} matrix;

/* Text: separated by commas, semicolons, tabs or blanks. A header row and a column of row names are
 * recognised and left out. On failure message holds the reason. */
blica_status matrix_read(blica_ctx *ctx, const char *path, matrix *out, char message[SOURCE_MESSAGE]);

/* assessment_file.c */
/* Reads the file of an assessment of this model. Returns NULL, with a message and *code set to the exit code, when it
 * cannot be read or belongs to another model. The file holds neither covariances nor names of identical items. */
blica_assessment *assessment_read(const char *path, const blica_model *model, int *code);
void assessment_close(blica_assessment *assessment); /* of assessment_read; NULL is fine */

/* Variables among columns: one with several levels has a column for each but the lowest. */
int count_variables(int columns, char *const *names);

#endif
