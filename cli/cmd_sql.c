/* cmd_sql.c - blica sql TABLE: the query that makes pair counts where the rows are, in the form that `blica fit` reads.
 *
 * A self-join of rows with themselves would visit N n^2 / 2 pairs of values. Here the items are cut into blocks of few
 * combinations of values; for each pair of blocks the rows are grouped once by these values, and the tables of pairs
 * are sums over the groups, of which there are at most COMBINATIONS^2 in a segment, however many rows there are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data_args.h"
#include "output.h"
#include "program.h"
#include "words.h"

typedef struct {
  enum { POSTGRESQL, SQLITE, DUCKDB } dialect;
} sql_values;

static const blica_option own[] = {
    OPTION(sql_values, dialect, BLICA_OPT_CHOICE, NULL, 0, 0, "postgresql|sqlite|duckdb", "WHICH",
           "The engine that will run the query."),
};
OPTION_TABLE(own_table, own)

enum { COMBINATIONS = 250, TERMS = 400, SQLITE_MOST = 500 };

/* The items as the query needs them. */
typedef struct {
  const char *table, *segment, *missing;
  bool sqlite;
  const blica_counts *names; /* their columns of bits are those of the result */
  const blica_coding *coding;
  int items;
  int *block; /* [items] */
  int blocks;
  int terms, tables; /* SELECTs of the table of pairs that is being written; tables begun */
} query;

static int first_column(const query *q, int item) {
  return q->coding ? q->coding->first[item] : item;
}

static const char *item_name(const query *q, int item) {
  return q->coding ? q->coding->names[item] : q->names->variables[item];
}

/* A name or a text between quotes, which are doubled inside. */
static void put_quoted(const char *text, size_t length, char quote) {
  putchar(quote);
  for (size_t k = 0; k < length; k++) {
    if (text[k] == quote) putchar(quote);
    putchar(text[k]);
  }
  putchar(quote);
}

/* The name of the table: schema.table where both are plain words, else one name with whatever it has. */
static void put_table(const char *name) {
  static const char words[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
  const bool plain = !name[strspn(name, words)] && *name != '.' && !strstr(name, "..");
  for (const char *at = name; *at;) {
    const size_t length = plain ? strcspn(at, ".") : strlen(at);
    put_quoted(at, length, '"');
    at += length;
    if (*at) putchar(*at++);
  }
}

/* A value of a column, as text, which an engine takes for the type of the column. SQLite compares by what each row
 * holds, so that a number is written in both ways. */
static void put_value(const query *q, const char *text, size_t length) {
  char *end, number[32];
  snprintf(number, sizeof number, "%.*s", (int)length, text);
  strtod(number, &end);
  if (q->sqlite && length > 0 && length < sizeof number && !*end && strspn(number, "+-.0123456789") == length)
    printf("%s,", number);
  put_quoted(text, length, '\'');
}

/* Levels low..high - 1 of an item, between commas. */
static void put_levels(const query *q, int item, int low, int high) {
  for (int l = low; l < high; l++) {
    const char *label = level_label(q->coding, item, l);
    if (l > low) putchar(',');
    put_value(q, label, strlen(label));
  }
}

/* The column of an item, NULL where its value means missing. */
static void put_column(const query *q, int item) {
  const char *name = item_name(q, item);
  const bool any = q->sqlite || q->missing;
  if (any) printf("CASE WHEN t."), put_quoted(name, strlen(name), '"'), printf(" IN (%s", q->sqlite ? "''" : "");
  for (const char *at = q->missing; at && *at; at += *at == ',') {
    const size_t length = strcspn(at, ",");
    if (q->sqlite || at > q->missing) putchar(',');
    put_value(q, at, length);
    at += length;
  }
  printf("%st.", any ? ") THEN NULL ELSE " : "");
  put_quoted(name, strlen(name), '"');
  printf("%s AS x%d", any ? " END" : "", item + 1);
}

/* Whether an item is in one of two blocks. */
static bool among(const query *q, int item, int a, int b) {
  return q->block[item] == a || q->block[item] == b;
}

/* Rows grouped by the items of two blocks, and the columns of bits of these groups. */
static void put_groups(const query *q, int a, int b) {
  const int id = a * q->blocks + b;
  int columns = 1;
  printf("g%d AS MATERIALIZED (SELECT t.", id);
  put_quoted(q->segment, strlen(q->segment), '"');
  printf(" AS s");
  for (int i = 0; i < q->items; i++)
    if (among(q, i, a, b)) printf(",\n    "), put_column(q, i), columns++;
  printf(",\n    count(*) AS n\n  FROM ");
  put_table(q->table);
  printf(" AS t GROUP BY 1");
  for (int k = 2; k <= columns; k++) printf(",%d", k);
  printf("),\nb%d AS MATERIALIZED (SELECT s, n", id);
  for (int i = 0; i < q->items; i++) {
    const int first = first_column(q, i), levels = first_column(q, i + 1) - first + 1;
    if (among(q, i, a, b)) printf(", x%d", i + 1);
    for (int l = 1; among(q, i, a, b) && l < levels; l++) {
      printf(",\n    CASE WHEN x%d IN (", i + 1);
      put_levels(q, i, l, levels);
      printf(") THEN 1 WHEN x%d IN (", i + 1);
      put_levels(q, i, 0, l);
      printf(") THEN 0 END AS y%d", first + l);
    }
  }
  printf(" FROM g%d)", id);
}

/* Opens the next SELECT of pairs of the groups b<id>; a table of pairs has few, as engines limit the number. */
static void begin_term(query *q, bool fresh) {
  if (fresh || q->terms == TERMS) {
    printf("%s,\np%d AS (", q->terms ? ")" : "", ++q->tables);
    q->terms = 0;
  } else {
    printf("\n  UNION ALL ");
  }
  q->terms++;
}

/* The table of columns i < j of bits, or for i = j the ones, zeros and, as n10, values that are no level. */
static void put_pair(query *q, int id, int item, int i, int j, bool fresh) {
  begin_term(q, fresh);
  if (i == j)
    printf("SELECT s, %d AS i, %d AS j, sum(n*y%d) AS n11, sum(CASE WHEN x%d IS NOT NULL AND y%d IS NULL THEN n END) "
           "AS n10, 0 AS n01, sum(n*(1-y%d)) AS n00",
           i, j, i, item + 1, i, i);
  else
    printf("SELECT s, %d AS i, %d AS j, sum(n*y%d*y%d) AS n11, sum(n*y%d*(1-y%d)) AS n10, sum(n*(1-y%d)*y%d) AS n01, "
           "sum(n*(1-y%d)*(1-y%d)) AS n00",
           i, j, i, j, i, j, i, j, i, j);
  printf(" FROM b%d GROUP BY s", id);
}

/* All pairs that are first met in the groups of blocks a and b: across, and within b (and a, where it is the first). */
static void put_pairs(query *q, int a, int b) {
  bool fresh = true;
  const int id = a * q->blocks + b;
  for (int item = 0; item < q->items; item++)
    for (int before = 0; before <= item; before++) {
      const int high = q->block[item], low = q->block[before];
      if (!among(q, item, a, b) || !among(q, before, a, b)) continue;
      if (low == high && !(a == 0 && (high == b || (high == 0 && b <= 1)))) continue;
      for (int j = first_column(q, item) + 1; j <= first_column(q, item + 1); j++)
        for (int i = first_column(q, before) + 1; i <= first_column(q, before + 1) && i <= j; i++)
          put_pair(q, id, item, i, j, fresh), fresh = false;
    }
}

/* Blocks of neighbouring items with few combinations of values, missing ones counted. */
static int make_blocks(query *q) {
  int product = 1;
  for (int i = 0; i < q->items; i++) {
    const int values = first_column(q, i + 1) - first_column(q, i) + 2;
    if (i == 0 || product * values > COMBINATIONS) q->blocks++, product = 1;
    product *= values;
    q->block[i] = q->blocks - 1;
  }
  const int pairs = q->blocks * (q->blocks - 1) / 2;
  if (!q->sqlite || pairs <= SQLITE_MOST) return EXIT_OK;
  say_error("sql: SQLite takes %d tables in a query, and pairs of this number of items need %d; read the rows instead: "
            "sqlite3 -csv -header FILE 'SELECT * FROM ...' | blica fit -",
            SQLITE_MOST, pairs);
  return EXIT_DATA;
}

static void put_query(query *q) {
  const int n = q->names->n, last = q->blocks > 1 ? 1 : 0;
  printf("WITH names(place, name) AS (VALUES ");
  for (int c = 0; c < n; c++) {
    printf("%s(%d,", c ? "," : "", c + 1);
    put_quoted(q->names->variables[c], strlen(q->names->variables[c]), '\'');
    putchar(')');
  }
  putchar(')');
  for (int b = last; b < q->blocks; b++)
    for (int a = 0; a < b || (a == 0 && !last); a++) {
      printf("%s,\n", q->terms ? ")" : "");
      q->terms = 0;
      put_groups(q, a, b);
      put_pairs(q, a, b);
    }
  printf(")\nSELECT s AS segment, coalesce(a.name, '') AS i, coalesce(b.name, '') AS j,\n  coalesce(n11, 0) AS n11, "
         "coalesce(n10, 0) AS n10, coalesce(n01, 0) AS n01, coalesce(n00, 0) AS n00\nFROM (SELECT s, 0 AS i, 0 AS j, "
         "sum(n) AS n11, 0 AS n10, 0 AS n01, 0 AS n00 FROM b%d GROUP BY s",
         last);
  for (int k = 1; k <= q->tables; k++) printf("\n  UNION ALL SELECT * FROM p%d", k);
  printf(
      ") AS p\nLEFT JOIN names AS a ON a.place = p.i LEFT JOIN names AS b ON b.place = p.j\nORDER BY s, p.j, p.i;\n");
}

/* A file with a header that --columns names, and one row, so that the options are understood as everywhere. */
static int write_header(const char *columns, char *path) {
  FILE *f = table_temporary(path);
  if (!f) {
    say_error("sql: cannot write the temporary file %s", path);
    return EXIT_FAILED;
  }
  int count = 1;
  fputs("\"\"", f);
  for (const char *at = columns; *at; at += *at == ',', count++) {
    const size_t length = strcspn(at, ",");
    fputs(",\"", f);
    for (size_t k = 0; k < length; k++) fputs(at[k] == '"' ? "\"\"" : (char[]){at[k], 0}, f);
    putc('"', f);
    at += length;
  }
  fputs("\nrow", f);
  while (--count > 0) fputs(",NA", f);
  putc('\n', f);
  return fclose(f) == 0 ? EXIT_OK : EXIT_FAILED;
}

/* The columns of bits of the items: those of ROWS, or of --columns alone. */
static int read_names(program *p) {
  char path[TABLE_TEMPORARY];
  table_options *reading = &p->data;
  const table_options given = *reading;
  reading->note = no_note;
  if (p->operand_count == 2) return read_counts(p, p->operands[1]);
  reading->segment_column = NULL, reading->segment_length = 1, reading->columns = NULL, reading->missing = NULL;
  reading->header = TABLE_HEADER_YES;
  int code = write_header(given.columns, path);
  if (code == EXIT_OK) code = read_counts(p, path);
  remove(path);
  *reading = given;
  return code;
}

static int check_options(const program *p) {
  const table_options *v = &p->data;
  if (p->operand_count == 1 && !v->columns)
    say_error("sql: name the items by --columns q1,q2,q3, or give some rows of the table with a header, as in: psql "
              "--csv -c 'SELECT * FROM %s LIMIT 1000' | blica sql %s - --dialect postgresql",
              p->operands[0], p->operands[0]);
  else if (v->segment_length || v->segment_count || v->segment_file)
    say_error("sql: rows of a table have no order; segments must be in one of its columns (--segment-column NAME)");
  else if (v->weights || v->frequencies || v->cluster || v->strata)
    say_error(
        "sql: the query counts each row once; read the rows for --weights, --frequencies, --cluster and --strata");
  else if (p->operand_count == 1 && (v->ordinal || v->numeric || v->ignore || v->header != TABLE_HEADER_AUTO))
    say_error("sql: --ordinal, --numeric, --ignore and --header are for ROWS; --levels gives the levels of the items");
  else
    return EXIT_OK;
  return EXIT_USAGE;
}

static int run(program *p, void *values) {
  const sql_values *v = values;
  AUTO(blica_coding) *coding = NULL;
  STEP(check_options(p));
  STEP(read_names(p));
  ASK(p, blica_counts_coding(p->ctx, p->counts, &coding));
  query q = {.table = p->operands[0],
             .segment = p->data.segment_column ? p->data.segment_column : "segment",
             .missing = p->data.missing,
             .sqlite = v->dialect == SQLITE,
             .names = p->counts,
             .coding = coding,
             .items = coding ? coding->items : p->counts->n};
  OWNED int *block = q.block = calloc((size_t)q.items, sizeof *q.block);
  if (!block) return fail_table(BLICA_ERR_MEMORY, "out of memory");
  STEP(make_blocks(&q));
  put_query(&q);
  return EXIT_OK;
}

const command command_sql = {
    .name = "sql",
    .summary = "print the query that makes pair counts inside a database",
    .operands = "TABLE [ROWS]",
    .required = "dialect",
    .text = "Prints one SQL query. Run in PostgreSQL, SQLite or DuckDB it groups the rows of TABLE and returns the "
            "pair counts of its items as CSV, which `blica fit`, `count`, `check` and `correlate` read from a pipe. "
            "Only counts leave the database.\n\n"
            "The items are the columns that --columns names, of 0 and 1 or with --levels; or give ROWS, some rows of "
            "the table with a header (`-` for standard input), and all options of reading mean what they mean for a "
            "file. NULL is a missing value; so are the values of --missing and, in SQLite, empty text. A value that is "
            "not a level of its item is refused when the counts are read. The segment is the column `segment` or "
            "--segment-column; segments come in the order of their labels. Names are used as they are, with capitals; "
            "schema.table is understood.",
    .examples =
        "blica sql answers --columns q1,q2,q3 --dialect postgresql | psql --csv > counts.csv\n"
        "blica fit counts.csv --sources 1 --out model.json\n"
        "# or without a file in between\n"
        "blica sql answers --columns q1,q2,q3 --dialect sqlite | sqlite3 -csv -header survey.db | blica check -\n"
        "# items and levels as some rows of the table show them\n"
        "head -n 1000 answers.csv | blica sql answers - --ordinal --dialect postgresql > query.sql",
    .groups = {{"Options", own_table, 0, 0}},
    .reads = true,
    .values = sizeof(sql_values),
    .run = run,
};
