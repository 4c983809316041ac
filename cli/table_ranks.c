/* table_ranks.c - a table read by all processes of the program together.
 *
 * Of a plain text file whose rows name their segment, each process reads the lines that begin in its part of the bytes.
 * Anything else (compressed, standard input, .npy, segments by row number, quoted fields, which may hold line ends) is read
 * by the first process. So is a table in which any process met an error: the message is then that of one process alone. */
#include <string.h>
#include <sys/stat.h>

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
  if (comm->broadcast(&word, sizeof word, 0, comm->user) != 0 || comm->broadcast(message, TABLE_MESSAGE, 0, comm->user) != 0)
    return table_fail(message, BLICA_ERR_INTERNAL, "the other processes cannot be reached");
  return (blica_status)word;
}

static bool divisible(const table *t) {
  const table_options *o = &t->options;
  return !t->npy && !o->segment_length && !o->segment_count && !o->segment_file && !o->levels && !t->text.quotes &&
         byte_source_size(t->text.source) > 0;
}

/* Leaves the table at this process's lines; *rows is false when there are none. */
static blica_status cut(table *t, char *message, bool *rows) {
  const blica_comm *comm = communicator();
  byte_source *source = t->text.source;
  int64_t data = t->text.record_byte, size = byte_source_size(source), bound[2];
  for (int i = 0; i < 2; i++) {
    int r = comm->rank + i;
    blica_status status = byte_source_line(source, r == comm->size ? size : size / comm->size * r, message, &bound[i]);
    if (status != BLICA_OK) return status;
    if (r == 0 || bound[i] < data) bound[i] = data;
  }
  *rows = bound[0] < bound[1];
  t->pending = false;
  t->ended = !*rows;
  records_restart(&t->text);
  return byte_source_window(source, bound[0], bound[1], message);
}

/* This process's lines; true when all processes could do theirs. */
static bool read_part(blica_ctx *ctx, const char *path, const table_options *options, const table_goal *goal, char *message,
                      void **out) {
  table *t = NULL;
  bool rows = false, good = table_open(ctx, path, options, message, &t) == BLICA_OK && divisible(t);
  if (any(!good)) {
    table_close(t);
    return false;
  }
  good = cut(t, message, &rows) == BLICA_OK && (!rows || goal->read(t, message, out) == BLICA_OK) && !t->text.quotes;
  table_close(t);
  return !any(!good);
}

static blica_status read_all(blica_ctx *ctx, const char *path, const table_options *options, const table_goal *goal,
                             char *message, void **out) {
  table *t = NULL;
  blica_status status = table_open(ctx, path, options, message, &t);
  if (status == BLICA_OK) status = goal->read(t, message, out);
  table_close(t);
  return status;
}

blica_status table_ranks(blica_ctx *ctx, const char *path, const table_options *options, const table_goal *goal,
                         char *message, void **out) {
  struct stat info;
  table_options how = *options;
  blica_status status = BLICA_OK;
  bool file = agree_on(strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode));
  *out = NULL;
  blica_set_comm(ctx, NULL); /* each works on its own rows */
  if (!file || !read_part(ctx, path, &how, goal, message, out)) {
    goal->drop(*out);
    *out = NULL;
    if (file) how.note = NULL; /* told before */
    if (leads()) status = read_all(ctx, path, &how, goal, message, out);
    status = follow(status, message);
  }
  blica_set_comm(ctx, communicator());
  return status;
}
