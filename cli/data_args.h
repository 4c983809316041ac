/* data_args.h - the options that say how DATA is to be read, for every command that reads it. */
#ifndef DATA_ARGS_H
#define DATA_ARGS_H

#include "program.h"
#include "table_io.h"

/* What the options set, and what a command adds. A note of its own takes the place of notes on stderr. */
typedef table_options data_values;
void data_no_note(const char *text, void *user); /* a note that says nothing, for data that were read before */

/* The group's table; values are a data_values: {"How the data are read", data_option_table, offsetof(..)}. */
const blica_option *data_option_table(int *count);

/* All of these print what the reader chose as notes. On failure they return an exit code, with the error said and NULL
 * for what the caller frees. model, whose levels code the columns, may be NULL. */
int data_read(program *p, const data_values *values, const char *path, const blica_model *model, blica_data **data);
/* All rows, in pieces of about max_rows, one after the other. EXIT_FAILED where take has returned false. */
int data_each(program *p, const data_values *values, const char *path, const blica_model *model, int64_t max_rows,
              table_piece_fn take, void *user);
/* The pair counts of rows, or those that path holds. */
int data_count(program *p, const data_values *values, const char *path, const blica_model *model,
               blica_counts **counts);
/* The model and the rows of the operands MODEL DATA. */
int data_read_with_model(program *p, const data_values *values, blica_model **model, blica_data **data);

/* Variables among columns: one with several levels has a column for each but the lowest. */
int count_variables(int columns, char *const *names);

#endif
