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

blica_status(table_say)(char *message, blica_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(message, TABLE_MESSAGE, format, args);
  va_end(args);
  return status;
}

blica_status(table_no_memory)(const table *t) {
  return table_say(t->message, BLICA_ERR_MEMORY, "out of memory");
}

blica_status table_library_failed(const table *t, blica_status status) {
  return table_fail(t, status, "%.900s", blica_message(t->ctx));
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

int table_place(char *const *list, int count, const char *text, size_t length) {
  for (int i = 0; i < count; i++)
    if (strlen(list[i]) == length && memcmp(list[i], text, length) == 0) return i;
  return -1;
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

bool table_is_file(const char *path) {
  struct stat info;
  return strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

blica_status table_not_rows(const table *t) {
  return table_fail(t, BLICA_ERR_DATA,
                    "holds pair counts, not rows, and this command needs the rows; commands that take counts read them "
                    "from standard input or from a file whose name ends in .csv or .npz");
}

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
  if (*t->spooled) remove(t->spooled);
  free(t);
}

/* Opens the file and fills the first buffer. */
static blica_status fill(table *t, const char *path) {
  bl_records *r = &t->text;
  MUST(records_open(path, t->message, r));
  if (!t->options.name) t->name = r->name;
  r->name = t->name;
  do MUST(bl_records_more(r, t->message));
  while (!r->ended && r->have < r->capacity && r->have < 1 << 17);
  r->buffer[r->have] = 0;
  return BLICA_OK;
}

/* Copies what a pipe holds to a temporary file, from which the table goes on. */
static blica_status spool(table *t) {
  bl_records *r = &t->text;
  FILE *f = table_temporary(t->spooled);
  blica_status status = BLICA_OK;
  for (size_t got = r->have; f && got > 0 && status == BLICA_OK;) {
    fwrite(r->buffer, 1, got, f);
    status = byte_source_read(r->source, r->buffer, r->capacity, t->message, &got);
  }
  const bool written = f && !ferror(f);
  if ((!f || fclose(f) != 0 || !written) && status == BLICA_OK)
    status = table_say(t->message, BLICA_ERR_IO, "cannot write the temporary file %s", t->spooled);
  if (status != BLICA_OK) return status;
  t->options.name = t->name;
  t->path = t->spooled;
  records_close(r);
  *r = (bl_records){0};
  return fill(t, t->path);
}

/* Fills the first buffer and reads the header, of text or of .npy. */
static blica_status read_header(table *t) {
  const table_options *o = &t->options;
  bl_records *r = &t->text;
  if (table_is_readstat(t->path)) return table_begin_readstat(t);
  MUST(fill(t, t->path));
  const bool counts = is_counts_header(r->buffer), file = table_is_file(t->path);
  if (counts && file) return table_not_rows(t);
  if (!file && (counts || o->ordinal || o->numeric || o->segment_count)) MUST(spool(t));
  t->counts = counts;
  if (counts) return BLICA_OK;
  t->npy = r->have >= 6 && memcmp(r->buffer, "\x93NUMPY", 6) == 0;
  return t->npy ? table_begin_npy(t) : table_begin_text(t);
}

blica_status table_open(blica_ctx *ctx, const char *path, const table_options *options, char message[TABLE_MESSAGE],
                        table **out) {
  *out = NULL;
  table *t = calloc(1, sizeof *t);
  if (!t) return table_say(message, BLICA_ERR_MEMORY, "out of memory");
  t->ctx = ctx;
  t->message = message;
  t->options = *options;
  t->path = path;
  t->name = options->name ? options->name : path;
  t->last_id = -1;
  blica_status status = read_header(t);
  if (status == BLICA_OK && !t->counts) status = table_assign_roles(t);
  if (status == BLICA_OK && !t->counts) status = table_begin_rows(t);
  if (status == BLICA_OK)
    *out = t;
  else
    table_close(t);
  return status;
}

/* ---- pieces ---- */

static blica_status begin_piece(table *t) {
  OWNED const char **names = t->header ? malloc(((size_t)t->n + 1) * sizeof *names) : NULL;
  if (t->header && !names) return table_no_memory(t);
  for (int i = 0; names && i < t->n; i++) names[i] = t->header[t->column_of[i]];
  blica_status status = t->levels && !t->options.collect ? table_begin_items(t, names)
                                                         : blica_pack_begin(t->ctx, t->n, names, &t->packer);
  t->last_id = -1;
  if (status == BLICA_OK) return BLICA_OK;
  const char *hint = t->header && strstr(blica_message(t->ctx), "both named")
                         ? " (the first row was taken as a header; --header no says it is data)"
                         : "";
  return table_fail(t, status, "%.800s%s", blica_message(t->ctx), hint);
}

blica_status table_next(table *t, int64_t max_rows, blica_data **out) {
  blica_data *data;
  *out = NULL;
  if (t->counts) return table_not_rows(t);
  if (t->ended) return BLICA_OK;
  if (max_rows <= 0)
    max_rows = ((int64_t)1 << 27) / (t->n + 32) + 100000; /* 16 MiB of bits and labels, but not too few rows */
  if (t->options.segment_count && t->row == 0) MUST(table_find_total(t));
  int64_t before = t->row;
  if (t->options.ids) table_ids_clear(t->options.ids);
  MUST(begin_piece(t));
  MUST(table_read_rows(t, max_rows));
  if (t->row == before && before > 0) { /* the last piece ended with the last row */
    blica_packer_free(t->packer);
    t->packer = NULL;
    return BLICA_OK;
  }
  blica_status status = blica_pack_end(t->ctx, t->packer, &data);
  t->packer = NULL;
  if (status != BLICA_OK) return table_library_failed(t, status);
  status = table_give_attributes(t, data);
  if (status == BLICA_OK)
    *out = data;
  else
    blica_data_free(data);
  return status;
}

/* Reads an opened table. */
typedef blica_status (*read_fn)(table *t, void *user);

/* Opens the file and reads it; once more where a value was neither 0 nor 1 and the values of each column are a usual
 * pair. Rows that were handed over stay so: then the second reading is left out (*taken rows). */
static blica_status read_recognised(blica_ctx *ctx, const char *path, const table_options *options, char *message,
                                    read_fn read, const int64_t *taken, void *user) {
  table *t, *found;
  table_options again = *options;
  blica_status status = table_open(ctx, path, options, message, &t);
  if (status == BLICA_OK) status = read(t, user);
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

static blica_status read_rows(table *t, void *out) {
  return table_next(t, INT64_MAX / 2, out);
}

blica_status table_read(blica_ctx *ctx, const char *path, const table_options *options, char message[TABLE_MESSAGE],
                        blica_data **out) {
  *out = NULL;
  return communicator() ? table_ranks_read(ctx, path, options, message, out)
                        : read_recognised(ctx, path, options, message, read_rows, NULL, out);
}

/* ---- counts ---- */

bool table_is_counts(const char *path) {
  char line[128] = "";
  if (bl_has_ending(path, ".npz")) return true;
  FILE *f = bl_has_ending(path, ".csv") && table_is_file(path) ? fopen(path, "rb") : NULL;
  if (!f) return false;
  size_t got = fread(line, 1, sizeof line - 1, f);
  fclose(f);
  line[got] = 0;
  return is_counts_header(line);
}

/* Refuses counts of rows that are in no segment, as SQL gives them for NULL. */
static blica_status check_segments(const char *name, char *message, blica_counts **counts) {
  for (int s = 0; s < (*counts)->u; s++) {
    if (*(*counts)->segments[s]) continue;
    const double rows = (*counts)->samples[s];
    blica_counts_free(*counts);
    *counts = NULL;
    return table_say(message, BLICA_ERR_DATA,
                     "%s: %.0f of the rows have no segment; drop such rows or give them a segment of their own", name,
                     rows);
  }
  return BLICA_OK;
}

/* The counts that came through a pipe; messages name it. */
static blica_status counts_of_pipe(table *t, blica_counts **out) {
  const blica_status status = blica_counts_load(t->ctx, t->spooled, out);
  if (status == BLICA_OK) return check_segments(t->name, t->message, out);
  const char *text = blica_message(t->ctx);
  const size_t path = strlen(t->spooled);
  const bool named = strncmp(text, t->spooled, path) == 0;
  return table_say(t->message, status, "%s%s", named ? t->name : "", named ? text + path : text);
}

/* Counts of weighted rows, whose weights are scaled when all rows of a segment are known. */
static blica_status count_weighted(blica_ctx *ctx, const char *path, const table_options *options, char *message,
                                   blica_counts **out) {
  blica_data *data;
  MUST(table_read(ctx, path, options, message, &data));
  blica_status status = blica_count(ctx, data, out);
  if (status != BLICA_OK) table_say(message, status, "%s: %.900s", path, blica_message(ctx));
  blica_data_free(data);
  return status;
}

/* Options that counts cannot use. */
static blica_status check_counted(const char *path, const table_options *o, char *message) {
  if (table_is_counts(path) && (o->weights || o->frequencies))
    return table_say(message, BLICA_ERR_ARGUMENT,
                     "%s: holds counts, not rows; give %s where the rows are counted (blica count)", path,
                     o->weights ? "--weights" : "--frequencies");
  if (o->cluster || o->strata || o->replicate_weights)
    return table_say(
        message, BLICA_ERR_ARGUMENT,
        "--%s does not change what is counted or fitted; give it to blica assess, whose errors and tests it changes",
        o->cluster  ? "cluster"
        : o->strata ? "strata"
                    : "replicate-weights");
  return BLICA_OK;
}

blica_status table_count(table *t, blica_counts **sum) {
  blica_status status = BLICA_OK;
  for (blica_data *piece = NULL; status == BLICA_OK; blica_data_free(piece)) {
    status = table_next(t, 0, &piece);
    if (status != BLICA_OK || !piece) break;
    status = blica_count_add(t->ctx, piece, sum);
    if (status != BLICA_OK) table_library_failed(t, status);
  }
  return status;
}

static blica_status count_rows(table *t, void *user) {
  blica_counts **out = user;
  const blica_status status = t->counts ? counts_of_pipe(t, out) : table_count(t, out);
  if (status == BLICA_OK) return BLICA_OK;
  blica_counts_free(*out);
  *out = NULL;
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
                              : table_say(message, loaded, "%s", blica_message(ctx));
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

static blica_status read_pieces(table *t, void *user) {
  each *e = user;
  blica_status status = BLICA_OK;
  for (blica_data *piece = NULL; status == BLICA_OK && *e->taken; blica_data_free(piece)) {
    status = table_next(t, e->max_rows, &piece);
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
