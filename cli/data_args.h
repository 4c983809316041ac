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

/* Variables among columns: one with several levels has a column for each but the lowest. */
int count_variables(int columns, char *const *names);

#endif
