/* data_args.c - options of reading, once for all commands. */
#include "data_args.h"

#include <string.h>

static const blica_option rows[] = {
    TEXT(table_options, segment_column, "NAME|INDEX|last",
         "Column that holds the segment: its name, its index from 1, or last. Without it, the column named segment."),
    OPTION(table_options, segment_length, BLICA_OPT_INT, NULL, 1, 9e15, NULL, "ROWS",
           "Segments are runs of this many rows, as in a time series."),
    OPTION(table_options, segment_count, BLICA_OPT_INT, NULL, 1, 9e15, NULL, "U",
           "Segments are U runs of (nearly) equal length."),
    TEXT(table_options, segment_file, "FILE",
         "A file with one segment label per row of the data, or a CSV table whose first column is named "
         "segment, as blica segment writes it."),
    OPTION(table_options, header, BLICA_OPT_CHOICE, "auto", 0, 0, "auto|yes|no", "WHEN",
           "Whether the first row holds names; auto looks for text in it."),
    TEXT(table_options, columns, "LIST",
         "Only these columns are items: names, indexes from 1, or FIRST:LAST, separated by commas. They keep "
         "the order of the file."),
    TEXT(table_options, ignore, "LIST", "Columns to leave out; a list as for --columns."),
    TEXT(table_options, id, "COLUMN",
         "Column of identifiers of rows, which is no item; blica sources and blica segment carry it through to "
         "their output."),
    TEXT(table_options, weights, "COLUMN",
         "Column of sampling weights, positive numbers; within each segment they count relative to each other, "
         "and together as the effective number of rows, (sum w)^2 / sum w^2."),
    TEXT(table_options, replicate_weights, "LIST",
         "Columns of replicate weights beside --weights, as in rep1:rep80; a list as for --columns. blica assess then "
         "takes errors from refits with each of them, as official surveys do."),
    TEXT(table_options, replicate_method, "METHOD",
         "How the replicate weights were made: jk1, brr, fay=RHO, or the factors of the squared deviations themselves, "
         "one number or one for each replicate in the order of the file, separated by commas (JKn: (n-1)/n of its "
         "stratum; JK2: 1; successive differences: 4/R)."),
    TEXT(table_options, frequencies, "COLUMN",
         "Column of whole numbers that say how many times a row occurred; results are those of the repeated rows."),
    TEXT(table_options, cluster, "COLUMN",
         "Column that says which rows belong together, such as the pupils of a class or the answers of one person; "
         "errors and tests then take clusters, not rows, as independent. A cluster lies in one segment."),
    TEXT(table_options, strata, "COLUMN",
         "Column that says from which stratum each row or cluster was drawn, such as the regions of a survey; errors, "
         "the bootstrap and tests then compare clusters, or without --cluster rows, with those of their stratum and "
         "segment alone."),
    TEXT(table_options, missing, "VALUES",
         "Values that mean missing, in addition to empty, NA, N/A, NaN and NULL; separated by commas, as in -9,99."),
    {"levels", BLICA_OPT_TEXT, offsetof(table_options, list), sizeof(char *), NULL, 0, 0, NULL, "LEVELS",
     "Levels of the items, lowest first, as in 'never<rarely<often'; 'mood=low<high,sleep=bad<fair<good' for single "
     "columns. Without it 0/1, 1/2, no/yes and "
     "false/true are understood, in each column by itself. Data that are read together with a model are coded by the "
     "levels of the model.",
     NULL},
    FLAG(table_options, ordinal,
         "The distinct whole numbers of each column, in order, are its levels; no/yes and the like need nothing "
         "more, and --levels gives those of other columns of text."),
    TEXT(table_options, numeric, "LIST",
         "Columns of numbers, such as income or reaction times; a list as for --columns. Each is cut at quantiles of "
         "all rows into 16 levels, which keep 98 % of what two normal variables say of their correlation; the model "
         "remembers the cuts. Own cuts are levels that begin with -Inf, as in --levels 'income=-Inf<1000<5000'."),
};

const blica_option *data_option_table(int *count) {
  *count = (int)(sizeof rows / sizeof *rows);
  return rows;
}

static void show_note(const char *text, void *user) {
  (void)user;
  say_note("%s", text);
}

void no_note(const char *text, void *user) {
  (void)text, (void)user;
}

/* Options as the reader takes them. */
static table_options reading_of(const program *p) {
  table_options reading = p->data;
  reading.model = p->model;
  if (!reading.note) reading.note = show_note;
  return reading;
}

static int code_of(blica_status status, const char *message) {
  return status == BLICA_OK ? EXIT_OK : fail_table(status, message);
}

int read_model(program *p) {
  ASK(p, blica_model_load(p->ctx, p->operands[0], &p->model));
  return EXIT_OK;
}

int read_rows(program *p, const char *path) {
  char message[TABLE_MESSAGE];
  const table_options reading = reading_of(p);
  return code_of(table_read(p->ctx, path, &reading, message, &p->rows), message);
}

int read_model_and_rows(program *p) {
  STEP(read_model(p));
  return read_rows(p, p->operands[1]);
}

int read_pieces(program *p, const char *path, int64_t max_rows, table_piece_fn take, void *user) {
  char message[TABLE_MESSAGE];
  bool taken;
  const table_options reading = reading_of(p);
  const int code = code_of(table_each(p->ctx, path, &reading, max_rows, message, take, user, &taken), message);
  return code != EXIT_OK || taken ? code : EXIT_FAILED;
}

int read_counts(program *p, const char *path) {
  char message[TABLE_MESSAGE];
  const table_options reading = reading_of(p);
  return code_of(table_counts(p->ctx, path, &reading, message, &p->counts), message);
}

int count_variables(int columns, char *const *names) {
  int count = 0;
  for (int i = 0; i < columns; i++) {
    const char *mark = strstr(names[i], "]>="), *next = mark;
    while (next && (next = strstr(next + 1, "]>="))) mark = next;
    const size_t head = mark ? (size_t)(mark + 3 - names[i]) : 0; /* what the columns of one item have in common */
    count += !mark || i == 0 || strncmp(names[i - 1], names[i], head) != 0;
  }
  return count;
}
