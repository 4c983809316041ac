/* table.h - the inside of table_io: shared by the files table_*.c only. */
#ifndef TABLE_H
#define TABLE_H

#include "byte_source.h"
#include "files/npy.h"
#include "table_io.h"

typedef enum {
  ROLE_VALUE = 0,
  ROLE_SEGMENT,
  ROLE_SKIP,
  ROLE_WEIGHT, /* from here on: attributes of rows */
  ROLE_FREQUENCY,
  ROLE_CLUSTER,
  ROLE_STRATUM,
  ROLE_ID,
  ROLE_REPLICATE, /* of any number of columns */
  ROLES
} column_role;

/* Neighbouring columns of one role: what the fast path steps over at once. */
typedef struct {
  column_role role;
  int count;
} column_run;

/* The dictionary of a file that ReadStat reads. */
typedef struct table_survey table_survey;

/* Values of a column of numbers, before it is cut into levels. */
typedef struct number_sample number_sample;

typedef struct {
  char **text; /* in order of first appearance; known ones lowest first */
  int count;
  bool given;            /* while values are collected: these are passed over */
  number_sample *sample; /* while the values of a column of numbers are collected; else NULL */
  double *cut;           /* [count] the least number of each level, -Inf first; NULL: values are levels */
} column_levels;

struct table {
  blica_ctx *ctx;
  table_options options;
  const char *path;
  const char *name;              /* of the file, for messages */
  char *message;                 /* [TABLE_MESSAGE] where a call that fails says why */
  bl_records text;               /* the file; of .npy only its source and buffer are used */
  bool pending;                  /* text.fields holds the first row of data */
  bool counts;                   /* a pipe held pair counts, which are in the file `spooled` */
  char spooled[TABLE_TEMPORARY]; /* the file that a pipe was copied to, as it is read more than once; "": none */
  bool npy;
  bl_npy array;
  table_survey *survey; /* NULL: not a file that ReadStat reads */
  char *whole;          /* elements of a Fortran-ordered array */
  int columns;          /* in the file */
  char **header;        /* [columns] names, or NULL */
  column_role *role;    /* [columns] */
  column_run *runs;
  int run_count;
  int n;                 /* variables */
  int *column_of;        /* [n] column of a variable */
  column_levels *levels; /* [n], unless all are 0 and 1 */
  bool odd;              /* a value was neither 0 nor 1 */
  bl_records labels;     /* of --segment-file */
  bool label_table;      /* its first line is the header of a table: labels are the first column */
  bool labels_found;     /* as blica segment found them in these rows: the column is named found_segment */
  bool labels_split;     /* a column held_out follows: rows where it is not 1 are left out */
  int64_t left_out;      /* such rows */
  int64_t row;           /* rows read */
  int64_t total;         /* rows of the table when known beforehand; else 0 */
  bool ended;
  blica_packer *packer;
  int8_t *x; /* rows not yet packed: [capacity] rows of n */
  int32_t *segment;
  int64_t filled, capacity;
  bool attributes; /* some column holds an attribute of rows */
  double *weight;  /* [kept_capacity] of the rows packed in this piece, which are `kept`; NULL: none are given */
  int32_t *cluster, *stratum;
  int replicates;        /* columns of replicate weights */
  double *replicate;     /* [replicates] of each row */
  double *replicate_row; /* [replicates] of the row that is read; NaN: no number of at least 0 */
  int replicate_at;      /* how many of them were taken */
  int64_t kept, kept_capacity;
  blica_packer *clusters, *strata; /* number their labels */
  char *last_label;                /* and its id in packer */
  size_t last_length, last_capacity;
  int32_t last_id;
};

/* Writes the message and returns the status. */
blica_status table_say(char *message, blica_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
blica_status table_no_memory(const table *t);                           /* fails with BLICA_ERR_MEMORY */
blica_status table_library_failed(const table *t, blica_status status); /* passes its message on */
#ifdef __clang_analyzer__ /* does not see that a failure is never BLICA_OK */
#define table_say(message, status, ...) ((void)(table_say)(message, status, __VA_ARGS__), (status))
#define table_no_memory(t) ((void)(table_no_memory)(t), BLICA_ERR_MEMORY)
#endif
/* Fails with a message that begins with the name of the file, or with the row, the column or both. */
#define table_fail(t, status, format, ...) table_say((t)->message, status, "%s: " format, (t)->name, ##__VA_ARGS__)
#define table_fail_row(t, status, format, ...)                                                                         \
  table_say((t)->message, status, "%s, row %lld" format, (t)->name, (long long)(t)->row + 1, ##__VA_ARGS__)
#define table_fail_column(t, column, format, ...)                                                                      \
  table_say((t)->message, BLICA_ERR_DATA, "%s, column %d (%s): " format, (t)->name, (column) + 1,                      \
            table_column_name(t, column, (char[32]){0}), ##__VA_ARGS__)
#define table_fail_value(t, column, format, ...)                                                                       \
  table_say((t)->message, BLICA_ERR_DATA, "%s, row %lld, column %d (%s): " format, (t)->name, (long long)(t)->row + 1, \
            (column) + 1, table_column_name(t, column, (char[32]){0}), ##__VA_ARGS__)
/* Fails: an option is wrong by itself. */
#define table_refuse(t, ...) table_say((t)->message, BLICA_ERR_ARGUMENT, __VA_ARGS__)
/* Passes a note to options.note, if that is set. */
void table_note(const table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *table_column_name(const table *t, int column, char buffer[32]); /* 'smoker', or x3 */

enum { MOST_LEVELS = 100 }; /* of an item, as in blica_pack_begin_items */
/* 0, 1, BLICA_MISSING, or NOT_A_VALUE. */
enum { NOT_A_VALUE = -2 };
int table_value(const char *text, size_t length); /* of a field that should hold 0 or 1 */
/* Whether the text is one of the usual words for a missing value. */
bool table_is_missing(const char *text, size_t length);
/* False unless all of the text is one number. */
bool table_number(const char *text, size_t length, double *out);

/* Fails: the table holds pair counts where rows are needed. */
blica_status table_not_rows(const table *t);

/* table_columns.c: header, separator, roles of columns. */
blica_status table_begin_text(table *t);
/* Decides which column holds segments and which hold values. */
blica_status table_assign_roles(table *t);

/* The column of a name, or of an index from 1; -1 if the table has no such column. */
int table_column(const table *t, const char *text, size_t length);
/* The column that --option names or numbers from 1. */
blica_status table_find_column(const table *t, const char *option, const char *text, size_t length, int *column);
bool table_listed_missing(const table *t, const char *text, size_t length); /* whether the text is one of --missing */

/* Which columns [columns] a list of the option names. */
blica_status table_mark_columns(const table *t, const char *option, const char *list, bool *chosen);

/* table_numbers.c: columns of numbers, cut into levels. */
blica_status table_sample_numbers(table *t, const char *list); /* before those of the list are collected */
void table_free_sample(number_sample *sample);                 /* NULL is fine */
/* The levels of an item by the numbers that were collected. */
blica_status table_cut(const table *t, int variable, const number_sample *sample, column_levels *levels);
blica_status table_find_cuts(table *t); /* of all items whose levels begin with -Inf */
/* The level of a number, or 0 while numbers are collected. */
blica_status table_take_number(table *t, int variable, double value, int8_t *code);
/* Takes a text that is not missing as a number; fails, naming row and column, when it is none. */
blica_status table_number_text(table *t, int variable, const char *text, size_t length, int8_t *code);

/* table_rows.c: rows into the packer, at most max_rows of them. */
blica_status table_read_rows(table *t, int64_t max_rows);
blica_status table_begin_rows(table *t); /* buffers, segment file */
/* Ends a row whose values are in the buffer; carried [ROLES] has the texts of its columns that are no items. */
blica_status table_finish_row(table *t, const bl_record_field *carried);
/* Fails, naming row, variable and text. */
blica_status table_bad_value(const table *t, int variable, const char *text, size_t length);
blica_status table_flush(table *t); /* hands the buffered rows to the packer */

/* table_io.c: adds the counts of all rows to *sum (NULL: none yet), piece by piece. */
blica_status table_count(table *t, blica_counts **sum);

/* table_attributes.c: weights, their replicates, frequencies, clusters and strata of rows. */

/* Of all rows, as they were read; NULL where no column holds them. */
typedef struct {
  const double *weight, *replicate; /* [rows], [replicates,rows] */
  int replicates;
  const int32_t *cluster, *stratum; /* [rows] */
} row_attributes;

blica_status table_find_attributes(table *t); /* decides which columns hold them */
/* Takes a field as the row's next replicate weight; false when its column holds something else. */
bool table_take_replicate(table *t, int column, const char *text, size_t length);
/* Gives what was kept of all rows to their data. */
blica_status table_set_attributes(const table_options *options, blica_ctx *ctx, const row_attributes *kept,
                                  blica_data *data);
/* Keeps those of a row, and says how many times it is to be packed. */
blica_status table_take_attributes(table *t, const bl_record_field *carried, int64_t *copies);
blica_status table_give_attributes(table *t, blica_data *data); /* to the data of a piece */
void table_free_attributes(table *t);                           /* what they take of memory */
void table_ids_clear(table_ids *ids);                           /* keeps the name */

/* table_npy.c */
blica_status table_begin_npy(table *t);
/* As table_read_rows, from a .npy file. */
blica_status table_read_npy(table *t, int64_t max_rows);

/* table_readstat.c: files of SPSS, Stata and SAS, by their names' endings. */
blica_status table_begin_readstat(table *t); /* reads the dictionary */
/* Levels of the items that have none yet, by the codes that occur; reads the file once. */
blica_status table_readstat_levels(table *t);
blica_status table_read_readstat(table *t);     /* all rows */
void table_free_readstat(table_survey *survey); /* NULL is fine */

/* table_ranks.c: table_read and table_counts by all processes. Same status and message on all. */
blica_status table_ranks_read(blica_ctx *ctx, const char *path, const table_options *options, char *message,
                              blica_data **out);
/* The counts of all rows, on every process. */
blica_status table_ranks_counts(blica_ctx *ctx, const char *path, const table_options *options, char *message,
                                blica_counts **out);

/* table_known.c: levels that are known before the first row: given, or the model's, or found by reading the file once.
 * table_recognise is for a file whose values are not 0 and 1: false when they are not a usual pair either. */
blica_status table_begin_known(table *t);
/* Begins a packer of items with levels; names are those of the columns. */
blica_status table_begin_items(table *t, const char *const *names);
/* Whether the values of each column are a usual pair; *found then has them as its levels, for options.found, until the
 * caller closes it. header: whether the first row is one. */
bool table_recognise(blica_ctx *ctx, const char *path, const table_options *options, bool header, table **found);
/* Sets t->total, by reading the file once where nothing says it. */
blica_status table_find_total(table *t);
/* Fails: --levels and --numeric both name the item. */
blica_status table_given_twice(const table *t, int variable);

/* Appends a level; false when memory is out. */
bool table_add_level(column_levels *levels, const char *text, size_t length);
/* Whether the text is this level, as text or as the same number. */
bool table_same_level(const char *known, const char *text, size_t length);
bool table_above(const char *a, const char *b); /* numbers by size, text by its bytes */
void table_free_levels(table *t);               /* all levels of the table */
/* The level of a value; where values are collected it is added to those of its column. */
blica_status table_level(table *t, int variable, const char *text, size_t length, int8_t *code);
/* AUTO_TABLE *t = NULL; is closed when the function returns. */
#define AUTO_TABLE __attribute__((cleanup(table_close_owned))) table
static inline void table_close_owned(table **t) {
  table_close(*t);
}
void table_free_names(char **names, int count); /* frees the texts [count] and their list */

#endif
