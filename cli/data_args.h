/* data_args.h - the options that say how DATA is to be read, for every command that reads it. */
#ifndef DATA_ARGS_H
#define DATA_ARGS_H

#include "program.h"
#include "table_io.h"

typedef struct {
  const char *segment_column, *segment_file;
  int64_t segment_length, segment_count;
  const char *columns, *ignore, *missing;
  const char *levels;
  int ordinal;
  char header[8]; /* auto, yes, no */
} data_values;

/* The group's table; values are a data_values: {"How the data are read", data_option_table, offsetof(..)}. */
const blica_option *data_option_table(int *count);

/* In the form of table_io.h; what the reader chose is printed as notes. */
table_options data_table_options(const data_values *values);

/* The model and the rows of the operands MODEL DATA; the caller frees both. On failure an exit code, with both NULL and
 * the error said. */
int data_read_with_model(program *p, const data_values *values, blica_model **model, blica_data **data);

/* The options that were given, each with a blank before it, as a POSIX shell reads them back; cut to size. */
void data_args_text(const data_values *values, char *text, size_t size);

/* Variables among columns: one with several levels has a column for each but the lowest. */
int count_variables(int columns, char *const *names);

#endif
