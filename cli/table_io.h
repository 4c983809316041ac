/* table_io.h - from a file of 0/1 data to packed bits: text tables (comma, tab, semicolon or blank
 * separated, quoted or not, with or without a header, plain, .gz or .zst, `-` for stdin) and .npy.
 * Text is streamed: memory holds the packed bits and a buffer, never the text. */
#ifndef TABLE_IO_H
#define TABLE_IO_H

#include <stdbool.h>
#include <stdio.h>

#include "blica.h"

enum { TABLE_MESSAGE = 1024, TABLE_TEMPORARY = 512 };

typedef enum { TABLE_HEADER_AUTO = 0, TABLE_HEADER_YES, TABLE_HEADER_NO } table_header;

/* The values of a column of identifiers, for output. */
typedef struct {
  char *name;  /* of the column */
  char **text; /* of the rows of the last piece */
  int64_t count, capacity;
} table_ids;
void table_ids_free(table_ids *ids); /* and leaves it empty */

/* The items that a file declares. */
typedef struct {
  char **text; /* [count] "" where it says nothing; NULL: it says nothing of any */
  int count;
} table_labels;
void table_labels_free(table_labels *labels); /* and leaves it empty */

/* All zero is the default. At most one of the four ways of naming segments may be set. */
typedef struct {
  const char *segment_column;   /* --segment-column NAME|INDEX|last; NULL: the column named `segment` */
  int64_t segment_length;       /* --segment-length L: rows 1..L are segment 1, and so on; 0: not given */
  int64_t segment_count;        /* --segment-count U: U runs of (nearly) equal length; 0: not given */
  const char *segment_file;     /* --segment-file F: one label per line, as many lines as rows, or a CSV
                                   table whose first column is named `segment` */
  bool blank_segments;          /* rows without a segment are allowed: their label is empty */
  bool no_segments;             /* nor need there be anything that says it; then all are empty */
  bool unlabelled;              /* all rows are one segment; a column named `segment` is refused */
  const char *list;             /* --levels low<...<high, or name=low<...<high,name=... */
  int ordinal;                  /* --ordinal: the distinct whole numbers of a column are its levels */
  const char *numeric;          /* --numeric: numbers that are cut into levels at quantiles; a list as columns is */
  const struct table *found;    /* a table that was read before, whose levels its columns have */
  bool collect;                 /* only the distinct values of each column are wanted */
  const char *name;             /* what messages call the file; NULL: its path */
  const char *columns, *ignore; /* --columns, --ignore NAME|INDEX|FIRST:LAST,...; NULL: not given */
  const char *weights, *frequencies;          /* columns NAME|INDEX of attributes of rows; NULL: not given */
  const char *cluster, *strata;               /* the same */
  const char *replicate_weights;              /* columns of replicate weights, a list as columns is; NULL: not given */
  const char *replicate_method;               /* as blica_data_set_replicates has it */
  bool replicates_known;                      /* by the command; the others refuse them */
  const char *id;                             /* column of identifiers, which is no item; NULL: not given */
  table_ids *ids;                             /* gets them; NULL: they are left out */
  table_labels *labels;                       /* gets them; may be NULL */
  const char *missing;                        /* --missing VALUE,...: these mean missing too; NULL: not given */
  const blica_model *model;                   /* whose levels code the columns of the same names; may be NULL */
  table_header header;                        /* --header yes|no; auto: the first row is a header when it holds text */
  void (*note)(const char *text, void *user); /* gets what was chosen (levels, dropped columns); may be NULL */
  void *note_user;
} table_options;

/* Makes a file for a while, for the caller to close and to remove, and writes its path, which ends in .csv; NULL: it
 * cannot. */
FILE *table_temporary(char path[TABLE_TEMPORARY]);

/* Reads the whole table. On failure message holds the reason (also when the library failed) and
 * *out is NULL. */
blica_status table_read(blica_ctx *ctx, const char *path, const table_options *options, char message[TABLE_MESSAGE],
                        blica_data **out);

/* The same in pieces of about max_rows rows (0: a size that suits memory), for files larger than
 * memory. table_next sets *out to NULL at the end. Each piece knows only the segments that occur in
 * it, by label. Levels that are not given and segment_count take a reading of the file before; a pipe is then copied to
 * a temporary file. */
typedef struct table table;
/* Opens the file and reads its header. */
blica_status table_open(blica_ctx *ctx, const char *path, const table_options *options, char message[TABLE_MESSAGE],
                        table **out);
/* The next piece; the caller frees it. */
blica_status table_next(table *t, int64_t max_rows, blica_data **out);
void table_close(table *t); /* NULL is fine */

/* Gets a piece; done: the share of the rows that have been read with it, -1 when that is not known. False ends reading:
 * what went wrong was said. */
typedef bool (*table_piece_fn)(const blica_data *piece, double done, void *user);
/* Hands all rows to take, in pieces of about max_rows. With several processes there is one piece. *taken: take has not
 * returned false. */
blica_status table_each(blica_ctx *ctx, const char *path, const table_options *options, int64_t max_rows,
                        char message[TABLE_MESSAGE], table_piece_fn take, void *user, bool *taken);

/* The place of a text in a list, or -1. */
int table_place(char *const *list, int count, const char *text, size_t length);
/* Whether path is a plain file, which can be read more than once. */
bool table_is_file(const char *path);
/* A variable of a file of SPSS, Stata or SAS. */
typedef struct {
  const char *name, *label; /* "" without a label */
  const char *kind;         /* ordinal, nominal, scale, codes, text or date */
  const char *levels;       /* low<...<high, as --levels takes them; "" where there are none, or too many */
  int count;                /* of levels; -1: more than an item may have */
  int64_t missing;
} table_variable;
typedef void (*table_variable_fn)(const table_variable *variable, void *user);
/* Whether path is such a file, by its ending. */
bool table_is_readstat(const char *path);
/* Hands all variables to take. */
blica_status table_list_variables(const char *path, char message[TABLE_MESSAGE], table_variable_fn take, void *user);

/* Whether path holds pair counts (.npz, or .csv with the header of blica_counts_save) rather than rows. */
bool table_is_counts(const char *path);

/* The counts of path, whichever it holds; rows are counted piece by piece and merged. */
blica_status table_counts(blica_ctx *ctx, const char *path, const table_options *options, char message[TABLE_MESSAGE],
                          blica_counts **out);

#endif
