/* table_ranks.c - a table read by all processes of the program together.
 *
 * If the table is a plain text file whose rows name their segment, each process reads the lines that begin in its part
 * of the bytes. Anything else (compressed, standard input, .npy, segments by row number, quoted fields, which may hold
 * line ends) is read by the first process. So is a table in which any process met an error: the message is then that of
 * one process alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "communicator.h"
#include "table.h"

/* Collective helpers over the program's communicator. */
static bool any(bool here) {
  const blica_comm *comm = communicator();
  double sum = here;
  return comm->sum(&sum, 1, comm->user) != 0 || sum > 0;
}

/* The first process's status and message, for all. */
static blica_status follow(blica_status status, char *message) {
  const blica_comm *comm = communicator();
  int word = (int)status;
  if (comm->broadcast(&word, sizeof word, 0, comm->user) != 0 ||
      comm->broadcast(message, TABLE_MESSAGE, 0, comm->user) != 0)
    return table_say(message, BLICA_ERR_INTERNAL, "the other processes cannot be reached");
  return (blica_status)word;
}

/* Whether every process that has a file of that name has the first one's: of its size, and with the same bytes in parts
 * of it, for each process is to read another part. */
static blica_status same_files(const char *path, char *message) {
  enum { BLOCKS = 64, BYTES = 1 << 14 };
  const blica_comm *comm = communicator();
  struct stat info;
  uint64_t own[2] = {0}, first[2];
  FILE *f = table_is_file(path) ? fopen(path, "rb") : NULL;
  if (f && fstat(fileno(f), &info) == 0) {
    char block[BYTES];
    own[0] = (uint64_t)info.st_size + 1;
    for (int i = 0; i < BLOCKS; i++) {
      if (fseeko(f, (off_t)(info.st_size / BLOCKS * i), SEEK_SET) != 0) break;
      own[1] = bl_digest(own[1], block, fread(block, 1, sizeof block, f));
    }
    fclose(f);
  }
  memcpy(first, own, sizeof own);
  if (comm->broadcast(first, sizeof first, 0, comm->user) != 0)
    return table_say(message, BLICA_ERR_INTERNAL, "the other processes cannot be reached");
  if (!any(f && memcmp(own, first, sizeof own) != 0)) return BLICA_OK;
  return table_say(message, BLICA_ERR_DATA,
                   "%s: the processes differ: another one has another file of that name; all must have the same data",
                   path);
}

static bool divisible(const table *t) {
  const table_options *o = &t->options;
  return !t->npy && !t->survey && !o->segment_length && !o->segment_count && !o->segment_file && !o->unlabelled &&
         !t->levels && !o->weights && !o->cluster && !o->strata && !o->ids && !t->text.quotes &&
         byte_source_size(t->text.source) > 0;
}

/* Leaves the table at this process's lines; *rows is false when it has no lines. */
static blica_status seek_part(table *t, bool *rows) {
  const blica_comm *comm = communicator();
  const int64_t ranks = comm->size > 1 ? comm->size : 1;
  byte_source *source = t->text.source;
  int64_t data = t->text.record_byte, size = byte_source_size(source), bound[2];
  for (int i = 0; i < 2; i++) {
    int r = comm->rank + i;
    MUST(byte_source_line(source, r == ranks ? size : size / ranks * r, t->message, &bound[i]));
    if (r == 0 || bound[i] < data) bound[i] = data;
  }
  *rows = bound[0] < bound[1];
  t->pending = false;
  t->ended = !*rows;
  t->text.at = t->text.have = 0, t->text.ended = false; /* goes on with other bytes */
  return byte_source_window(source, bound[0], bound[1], t->message);
}

/* Opens the file on every process; false when it cannot be divided. *noted: the notes of opening were given. */
static bool open_parts(blica_ctx *ctx, const char *path, const table_options *options, char *message, bool *noted,
                       table **t) {
  bool rows, good = table_is_file(path);
  *t = NULL;
  *noted = agree_on(good);
  if (!*noted) return false;
  good = table_open(ctx, path, options, message, t) == BLICA_OK && divisible(*t);
  if (!any(!good)) {
    good = seek_part(*t, &rows) == BLICA_OK;
    if (!any(!good)) return true;
  }
  table_close(*t);
  *t = NULL;
  return false;
}

/* Opens the table on the first process alone. */
static blica_status open_first(blica_ctx *ctx, const char *path, const table_options *options, bool noted,
                               char *message, table **t) {
  table_options how = *options;
  if (noted) how.note = NULL;
  *t = NULL;
  return follow(leads() ? table_open(ctx, path, &how, message, t) : BLICA_OK, message);
}

static blica_status library_failed(blica_ctx *ctx, const char *path, blica_status status, char *message) {
  return table_say(message, status, "%s: %.900s", path, blica_message(ctx));
}

/* ---- rows ---- */

static bool read_part(blica_ctx *ctx, const char *path, const table_options *options, char *message, bool *noted,
                      blica_data **part) {
  table *t;
  if (!open_parts(ctx, path, options, message, noted, &t)) return false;
  bool good = table_next(t, INT64_MAX / 2, part) == BLICA_OK && !t->text.quotes;
  table_close(t);
  if (!any(!good) && any(*part != NULL)) return true;
  blica_data_free(*part);
  *part = NULL;
  return false;
}

/* One attribute of the rows of the first process, NULL elsewhere, for those of all. */
static blica_status share_attribute(void *array, size_t bytes, void **out, char *message) {
  const blica_comm *comm = communicator();
  *out = NULL;
  if (!agree_on(array != NULL)) return BLICA_OK;
  *out = malloc(bytes);
  if (any(!*out)) return table_say(message, BLICA_ERR_MEMORY, "out of memory");
  if (array && *out) memcpy(*out, array, bytes);
  return comm->broadcast(*out, bytes, 0, comm->user) == 0
             ? BLICA_OK
             : table_say(message, BLICA_ERR_INTERNAL, "the other processes cannot be reached");
}

/* Weights, replicates, clusters and strata, which the first process has read with all rows. t is NULL on the others. */
static blica_status share_attributes(const table *t, const char *path, const table_options *options, blica_ctx *ctx,
                                     blica_data *data, char *message) {
  OWNED void *weight = NULL, *cluster = NULL, *stratum = NULL, *replicate = NULL;
  const size_t rows = (size_t)data->rows;
  const blica_comm *comm = communicator();
  int count = t ? t->replicates : 0;
  if (comm->broadcast(&count, sizeof count, 0, comm->user) != 0)
    return table_say(message, BLICA_ERR_INTERNAL, "the other processes cannot be reached");
  MUST(share_attribute(t ? t->weight : NULL, rows * sizeof(double), &weight, message));
  MUST(share_attribute(t ? t->cluster : NULL, rows * sizeof(int32_t), &cluster, message));
  MUST(share_attribute(t ? t->stratum : NULL, rows * sizeof(int32_t), &stratum, message));
  MUST(share_attribute(t ? t->replicate : NULL, rows * (size_t)count * sizeof(double), &replicate, message));
  const row_attributes kept = {weight, replicate, count, cluster, stratum};
  const blica_status status = table_set_attributes(options, ctx, &kept, data);
  return status == BLICA_OK ? status : library_failed(ctx, path, status, message);
}

blica_status table_ranks_read(blica_ctx *ctx, const char *path, const table_options *options, char *message,
                              blica_data **out) {
  blica_data *part = NULL;
  bool noted;
  table *t = NULL;
  blica_status status = same_files(path, message);
  if (status != BLICA_OK) return status;
  blica_set_comm(ctx, NULL); /* each works on its own rows */
  if (!read_part(ctx, path, options, message, &noted, &part)) {
    status = open_first(ctx, path, options, noted, message, &t);
    if (status == BLICA_OK) status = follow(t ? table_next(t, INT64_MAX / 2, &part) : BLICA_OK, message);
  }
  blica_set_comm(ctx, communicator());
  if (status == BLICA_OK && (status = blica_pack_ranks(ctx, part, out)) != BLICA_OK)
    library_failed(ctx, path, status, message);
  if (status == BLICA_OK) (*out)->unordered = options->frequencies != NULL;
  if (status == BLICA_OK && (options->weights || options->cluster || options->strata))
    status = share_attributes(t, path, options, ctx, *out, message);
  table_close(t);
  if (status != BLICA_OK) {
    blica_data_free(*out);
    *out = NULL;
  }
  blica_data_free(part);
  return status;
}

/* ---- counts ---- */

typedef struct {
  blica_ctx *ctx;
  const char *path;
  char *message;
  table *t; /* NULL: this process reads nothing */
  bool parts, noted;
  blica_counts *own; /* of the rows that this process has read */
} counting;

/* Counts the pieces that this process reads. False when one of the processes could not read its rows, or none has any;
 * *status and message say why, to it alone. */
static bool count_pieces(counting *f, blica_status *status) {
  *status = f->t ? table_count(f->t, &f->own) : BLICA_OK;
  return !any(*status != BLICA_OK || (f->parts && f->t && f->t->text.quotes)) && any(f->own != NULL);
}

static blica_status count_first(counting *f, const table_options *options) {
  blica_status status = open_first(f->ctx, f->path, options, f->noted, f->message, &f->t);
  return status == BLICA_OK && !count_pieces(f, &status) ? follow(status, f->message) : status;
}

blica_status table_ranks_counts(blica_ctx *ctx, const char *path, const table_options *options, char *message,
                                blica_counts **out) {
  counting f = {.ctx = ctx, .path = path, .message = message};
  blica_status status = BLICA_OK;
  MUST(same_files(path, message));
  blica_set_comm(ctx, NULL); /* each works on its own rows */
  f.parts = open_parts(ctx, path, options, message, &f.noted, &f.t);
  if (!f.parts || !count_pieces(&f, &status)) {
    table_close(f.t);
    blica_counts_free(f.own);
    f.t = NULL, f.own = NULL, f.parts = false;
    status = count_first(&f, options);
  }
  blica_set_comm(ctx, communicator());
  if (status == BLICA_OK && (status = blica_merge_ranks(ctx, f.own, out)) != BLICA_OK)
    library_failed(ctx, path, status, message);
  table_close(f.t);
  blica_counts_free(f.own);
  return status;
}
