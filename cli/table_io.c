/* table_io.c - opening a table, its pieces, and counts of files larger than memory. */
#include "table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/number.h"
#include "base/text.h"
#include "communicator.h"

blica_status(table_fail)(char *message, blica_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(message, TABLE_MESSAGE, format, args);
  va_end(args);
  return status;
}

blica_status(table_no_memory)(char *message) {
  return table_fail(message, BLICA_ERR_MEMORY, "out of memory");
}

blica_status table_library_failed(table *t, blica_status status, char *message) {
  return table_fail(message, status, "%s: %.900s", t->name, blica_message(t->ctx));
}

void table_note(const table *t, const char *format, ...) {
  char text[TABLE_MESSAGE];
  if (!t->options.note) return;
  va_list args;
  va_start(args, format);
  int at = snprintf(text, sizeof text, "%.200s: ", t->name);
  vsnprintf(text + at, sizeof text - (size_t)at, format, args);
  va_end(args);
  t->options.note(text, t->options.note_user);
}

const char *table_column_name(const table *t, int column, char buffer[32]) {
  if (t->header)
    snprintf(buffer, 32, "'%.28s'", t->header[column]);
  else
    snprintf(buffer, 32, "no name");
  return buffer;
}

/* ---- values ---- */

bool table_number(const char *text, size_t length, double *out) {
  char buffer[64], *end;
  if (length == 0 || length >= sizeof buffer) return false;
  memcpy(buffer, text, length);
  buffer[length] = 0;
  *out = bl_strtod(buffer, &end);
  return end != buffer && !*end;
}

bool table_is_missing(const char *text, size_t length) {
  static const char *const words[] = {"NA", "NaN", "N/A", "#N/A", "<NA>", "NULL"};
  for (size_t i = 0; length > 0 && i < sizeof words / sizeof *words; i++)
    if (strlen(words[i]) == length && strncasecmp(text, words[i], length) == 0) return true;
  return length == 0;
}

int table_value(const char *text, size_t length) {
  double number;
  if (length == 1 && (*text == '0' || *text == '1')) return *text - '0';
  if (table_is_missing(text, length)) return BLICA_MISSING;
  if (table_number(text, length, &number) && (number == 0 || number == 1)) return (int)number;
  return NOT_A_VALUE;
}

FILE *table_temporary(char path[TABLE_TEMPORARY]) {
  const char *folder = getenv("TMPDIR");
  const int length = snprintf(path, TABLE_TEMPORARY - 4, "%s/blica-XXXXXX", folder && *folder ? folder : "/tmp");
  const int descriptor = length < TABLE_TEMPORARY - 4 ? mkstemp(path) : -1;
  if (descriptor < 0) return NULL;
  char made[TABLE_TEMPORARY];
  strcpy(made, path);
  snprintf(path, TABLE_TEMPORARY, "%.*s.csv", length, made);
  if (rename(made, path) == 0) return fdopen(descriptor, "w");
  strcpy(path, made);
  return NULL;
}

/* ---- opening and closing ---- */

void table_close(table *t) {
  if (!t) return;
  for (int k = 0; t->header && k < t->columns; k++) free(t->header[k]);
  table_free_levels(t);
  table_free_readstat(t->survey);
  table_free_attributes(t);
  records_close(&t->text);
  records_close(&t->labels);
  blica_packer_free(t->packer);
  free(t->whole);
  free(t->header);
  free(t->role);
  free(t->runs);
  free(t->column_of);
  free(t->x);
  free(t->segment);
  free(t->last_label);
  free(t);
}

/* Fills the first buffer and reads the header, of text or of .npy. */
static blica_status begin(table *t, const char *path, char *message) {
  bl_records *r = &t->text;
  if (table_is_readstat(path)) {
    t->options.levels = false; /* the file says them */
    return table_begin_readstat(t, message);
  }
  MUST(records_open(path, message, r));
  t->name = r->name;
  do MUST(bl_records_more(r, message));
  while (!r->ended && r->have < r->capacity && r->have < 1 << 17);
  t->npy = r->have >= 6 && memcmp(r->buffer, "\x93NUMPY", 6) == 0;
  return t->npy ? table_begin_npy(t, message) : table_begin_text(t, message);
}

blica_status table_open(blica_ctx *ctx, const char *path, const table_options *options, char message[TABLE_MESSAGE],
                        table **out) {
  *out = NULL;
  table *t = calloc(1, sizeof *t);
  if (!t) return table_no_memory(message);
  t->ctx = ctx;
  t->options = *options;
  t->name = t->path = path;
  t->last_id = -1;
  blica_status status = begin(t, path, message);
  if (status == BLICA_OK && !t->counts) status = table_assign_roles(t, message);
  if (status == BLICA_OK && !t->counts) status = table_begin_rows(t, message);
  if (status == BLICA_OK)
    *out = t;
  else
    table_close(t);
  return status;
}

/* ---- pieces ---- */

static blica_status begin_piece(table *t, char *message) {
  const char **names = NULL;
  if (t->header) {
    names = malloc(((size_t)t->n + 1) * sizeof *names);
    if (!names) return table_no_memory(message);
    for (int i = 0; i < t->n; i++) names[i] = t->header[t->column_of[i]];
  }
  blica_status status = t->known ? table_begin_items(t, names) : blica_pack_begin(t->ctx, t->n, names, &t->packer);
  free(names);
  t->last_id = -1;
  if (status == BLICA_OK) return BLICA_OK;
  const char *hint = t->header && strstr(blica_message(t->ctx), "both named")
                         ? " (the first row was taken as a header; --header no says it is data)"
                         : "";
  return table_fail(message, status, "%s: %.800s%s", t->name, blica_message(t->ctx), hint);
}

blica_status table_next(table *t, int64_t max_rows, char message[TABLE_MESSAGE], blica_data **out) {
  blica_data *data, *again;
  bool whole = (t->levels && !t->known && !t->streamed) || (t->options.segment_count && !t->total);
  *out = NULL;
  if (t->counts) return table_not_rows(t, message);
  if (t->ended) return BLICA_OK;
  if (max_rows <= 0)
    max_rows = ((int64_t)1 << 27) / (t->n + 32) + 100000; /* 16 MiB of bits and labels, but not too few rows */
  if (whole) max_rows = INT64_MAX / 2;
  int64_t before = t->row;
  if (t->options.ids) table_ids_clear(t->options.ids);
  blica_status status = begin_piece(t, message);
  if (status == BLICA_OK) status = table_read_rows(t, max_rows, message);
  if (status != BLICA_OK) return status;
  if (t->row == before && before > 0) { /* the last piece ended with the last row */
    blica_packer_free(t->packer);
    t->packer = NULL;
    return BLICA_OK;
  }
  status = blica_pack_end(t->ctx, t->packer, &data);
  t->packer = NULL;
  if (status != BLICA_OK) return table_library_failed(t, status, message);
  if (whole) {
    status = table_repack(t, data, message, &again);
    blica_data_free(data);
    data = again;
    if (status != BLICA_OK) return status;
  }
  status = table_give_attributes(t, data, message);
  if (status == BLICA_OK)
    *out = data;
  else
    blica_data_free(data);
  return status;
}

/* Reads an opened table. */
typedef blica_status (*read_fn)(table *t, char *message, void *user);

/* Opens the file and reads it; once more where a value was neither 0 nor 1 and the values of each column are a usual
 * pair. Rows that were handed over stay so: then the second reading is left out (*taken rows). */
static blica_status read_recognised(blica_ctx *ctx, const char *path, const table_options *options, char *message,
                                    read_fn read, const int64_t *taken, void *user) {
  table *t, *found;
  table_options again = *options;
  blica_status status = table_open(ctx, path, options, message, &t);
  if (status == BLICA_OK) status = read(t, message, user);
  const bool odd = t && t->odd, header = t && t->header;
  table_close(t);
  if (status == BLICA_OK || !odd || (taken && *taken > 0) || !table_recognise(ctx, path, options, header, &found))
    return status;
  again.found = found;
  again.header = header ? TABLE_HEADER_YES : TABLE_HEADER_NO;
  status = read_recognised(ctx, path, &again, message, read, taken, user);
  table_close(found);
  return status;
}

static blica_status read_rows(table *t, char *message, void *out) {
  return table_next(t, INT64_MAX / 2, message, out);
}

blica_status table_read(blica_ctx *ctx, const char *path, const table_options *options, char message[TABLE_MESSAGE],
                        blica_data **out) {
  *out = NULL;
  return communicator() ? table_ranks_read(ctx, path, options, message, out)
                        : read_recognised(ctx, path, options, message, read_rows, NULL, out);
}

/* ---- counts ---- */

/* Without what is allowed around it: the mark of byte order that some programs write, a first line `# exact`, and
 * quotes. */
static bool is_counts_header(const char *line) {
  static const char head[] = "segment,i,j,n11,n10,n01,n00", exact[] = "# exact", mark[] = "\xef\xbb\xbf";
  if (strncmp(line, mark, sizeof mark - 1) == 0) line += sizeof mark - 1;
  if (strncmp(line, exact, sizeof exact - 1) == 0) line += strcspn(line, "\n") + 1;
  size_t at = 0;
  for (; at < sizeof head - 1 && *line; line++)
    if (*line != '"' && *line != head[at++]) return false;
  return at == sizeof head - 1;
}

bool table_is_counts(const char *path) {
  char line[128] = "";
  struct stat info;
  if (bl_has_ending(path, ".npz")) return true;
  /* a pipe can be read only once */
  FILE *f = bl_has_ending(path, ".csv") && stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "rb") : NULL;
  if (!f) return false;
  size_t got = fread(line, 1, sizeof line - 1, f);
  fclose(f);
  line[got] = 0;
  return is_counts_header(line);
}

/* How many rows the table has, by reading its file once more; 0 when it is not a file. */
static blica_status find_total(table *t, char *message) {
  struct stat info;
  table *second;
  table_options quiet = t->options;
  quiet.note = NULL, quiet.ids = NULL;
  if (t->npy) t->total = (int64_t)t->array.shape[0];
  if (t->npy || t->survey || strcmp(t->path, "-") == 0 || stat(t->path, &info) != 0 || !S_ISREG(info.st_mode))
    return BLICA_OK;
  blica_status status = table_open(t->ctx, t->path, &quiet, message, &second);
  if (status != BLICA_OK) return status;
  second->streamed = true;
  second->total = 1; /* any number: the pieces are freed at once */
  for (blica_data *piece = NULL; status == BLICA_OK; blica_data_free(piece)) {
    status = table_next(second, 0, message, &piece);
    if (status != BLICA_OK || !piece) break;
  }
  t->total = second->row;
  table_close(second);
  if (status == BLICA_OK && t->options.segment_count > t->total) status = table_too_few(t, t->total, message);
  return status;
}

blica_status table_begin_stream(table *t, char *message) {
  blica_status status = t->options.segment_count ? find_total(t, message) : BLICA_OK;
  t->streamed = !t->options.segment_count || t->total > 0;
  return status;
}

/* Counts of values coded in order of appearance, from now on coded and named by their levels. */
static blica_status rename_counts(table *t, const uint8_t *flipped, blica_counts *counts, char *message) {
  char **names = table_coded_names(t, message);
  blica_status status = names ? BLICA_OK : BLICA_ERR_MEMORY;
  blica_counts_flip(counts, flipped);
  if (status == BLICA_OK) {
    status = blica_counts_rename(t->ctx, counts, (const char *const *)names);
    if (status != BLICA_OK) table_library_failed(t, status, message);
  }
  table_free_names(names, t->n);
  return status;
}

blica_status table_not_rows(const table *t, char *message) {
  return table_fail(message, BLICA_ERR_DATA,
                    "%s: holds pair counts, not rows, and this command needs the rows; commands that take counts read "
                    "them from standard input or from a file whose name ends in .csv or .npz",
                    t->name);
}

/* Writes the header of counts and what follows it in the table's source. */
static blica_status spool(table *t, FILE *f, char *message) {
  fputs("segment,i,j,n11,n10,n01,n00\n", f);
  size_t got = t->text.have - t->text.at;
  fwrite(t->text.buffer + t->text.at, 1, got, f);
  do {
    MUST(byte_source_read(t->text.source, t->text.buffer, t->text.capacity, message, &got));
    fwrite(t->text.buffer, 1, got, f);
  } while (got > 0);
  return BLICA_OK;
}

/* Refuses counts of rows that are in no segment, as SQL gives them for NULL. */
static blica_status check_segments(const char *name, char *message, blica_counts **counts) {
  for (int s = 0; s < (*counts)->u; s++) {
    if (*(*counts)->segments[s]) continue;
    const double rows = (*counts)->samples[s];
    blica_counts_free(*counts);
    *counts = NULL;
    return table_fail(message, BLICA_ERR_DATA,
                      "%s: %.0f of the rows have no segment; drop such rows or give them a segment of their own", name,
                      rows);
  }
  return BLICA_OK;
}

/* The counts that stdin holds, by a file, as they are read from one; messages name stdin. */
static blica_status counts_from_stdin(table *t, char *message, blica_counts **out) {
  char path[TABLE_TEMPORARY];
  FILE *f = table_temporary(path);
  if (!f) return table_fail(message, BLICA_ERR_IO, "cannot write the temporary file %s", path);
  blica_status status = spool(t, f, message);
  const bool failed = ferror(f) != 0;
  if ((fclose(f) != 0 || failed) && status == BLICA_OK)
    status = table_fail(message, BLICA_ERR_IO, "cannot write the temporary file %s", path);
  if (status == BLICA_OK && (status = blica_counts_load(t->ctx, path, out)) != BLICA_OK) {
    const char *text = blica_message(t->ctx);
    const bool named = strncmp(text, path, strlen(path)) == 0;
    table_fail(message, status, "%s%s", named ? t->name : "", named ? text + strlen(path) : text);
  }
  remove(path);
  return status == BLICA_OK ? check_segments(t->name, message, out) : status;
}

/* Counts of weighted rows, whose weights are scaled when all rows of a segment are known. */
static blica_status count_weighted(blica_ctx *ctx, const char *path, const table_options *options, char *message,
                                   blica_counts **out) {
  blica_data *data;
  MUST(table_read(ctx, path, options, message, &data));
  blica_status status = blica_count(ctx, data, out);
  if (status != BLICA_OK) table_fail(message, status, "%s: %.900s", path, blica_message(ctx));
  blica_data_free(data);
  return status;
}

/* Options that counts cannot use. */
static blica_status check_counted(const char *path, const table_options *o, char *message) {
  if (table_is_counts(path) && (o->weights || o->frequencies))
    return table_fail(message, BLICA_ERR_ARGUMENT,
                      "%s: holds counts, not rows; give %s where the rows are counted (blica count)", path,
                      o->weights ? "--weights" : "--frequencies");
  if (o->cluster)
    return table_fail(message, BLICA_ERR_ARGUMENT,
                      "--cluster does not change what is counted or fitted; give it to blica assess, whose errors and "
                      "tests it changes");
  return BLICA_OK;
}

/* The sum over pieces; NULL on failure. */
static blica_status count_rows(table *t, char *message, void *out) {
  if (t->counts) return counts_from_stdin(t, message, out);
  blica_status status = table_begin_stream(t, message);
  blica_counts *sum = NULL;
  uint8_t *flipped = NULL;
  for (blica_data *piece = NULL; status == BLICA_OK; blica_data_free(piece)) {
    status = table_next(t, 0, message, &piece);
    if (status != BLICA_OK || !piece) break;
    status = blica_count_add(t->ctx, piece, &sum);
    if (status != BLICA_OK) table_library_failed(t, status, message);
  }
  if (status == BLICA_OK && t->levels && t->streamed && !t->known) status = table_flipped(t, message, &flipped);
  if (flipped) status = rename_counts(t, flipped, sum, message);
  free(flipped);
  if (status != BLICA_OK) {
    blica_counts_free(sum);
    sum = NULL;
  }
  *(blica_counts **)out = sum;
  return status;
}

blica_status table_counts(blica_ctx *ctx, const char *path, const table_options *options, char message[TABLE_MESSAGE],
                          blica_counts **out) {
  *out = NULL;
  MUST(check_counted(path, options, message));
  if (options->weights) return count_weighted(ctx, path, options, message, out);
  if (table_is_counts(path)) {
    blica_status loaded = blica_counts_load(ctx, path, out);
    return loaded == BLICA_OK ? check_segments(path, message, out)
                              : table_fail(message, loaded, "%s", blica_message(ctx));
  }
  if (communicator()) return table_ranks_counts(ctx, path, options, message, out);
  return read_recognised(ctx, path, options, message, count_rows, NULL, out);
}

/* ---- pieces for a caller ---- */

/* The share of a plain file that has been read. */
static double read_share(const table *t) {
  const int64_t size = t->npy || t->survey ? -1 : byte_source_size(t->text.source);
  return size > 0 ? (double)(t->text.dropped + (int64_t)t->text.at) / (double)size : -1;
}

typedef struct {
  int64_t max_rows, rows; /* of a piece; handed over */
  table_piece_fn take;
  void *user;
  bool *taken;
} each;

static blica_status read_pieces(table *t, char *message, void *user) {
  each *e = user;
  blica_status status = t->options.segment_count ? find_total(t, message) : BLICA_OK;
  for (blica_data *piece = NULL; status == BLICA_OK && *e->taken; blica_data_free(piece)) {
    status = table_next(t, e->max_rows, message, &piece);
    if (status != BLICA_OK || !piece) break;
    *e->taken = e->take(piece, read_share(t), e->user);
    e->rows = t->row;
  }
  return status;
}

blica_status table_each(blica_ctx *ctx, const char *path, const table_options *options, int64_t max_rows,
                        char message[TABLE_MESSAGE], table_piece_fn take, void *user, bool *taken) {
  each e = {max_rows, 0, take, user, taken};
  blica_data *all;
  *taken = true;
  if (communicator()) {
    MUST(table_ranks_read(ctx, path, options, message, &all));
    *taken = take(all, 1, user);
    blica_data_free(all);
    return BLICA_OK;
  }
  return read_recognised(ctx, path, options, message, read_pieces, &e.rows, &e);
}
