/* cmd_sources.c - blica sources MODEL DATA: posterior mean and standard deviation of the sources of each row. Rows are
 * read, computed and written in pieces, so that memory does not grow with their number. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "files/outfile.h"
#include "communicator.h"
#include "data_args.h"
#include "output.h"
#include "words.h"

enum { PIECE_ROWS = 1 << 18 };

static const blica_option own[] = {
    TEXT(program, out, "FILE",
         "CSV file: one row per row of the data, in its order, with the column of --id, z1, z1_sd, z2, z2_sd, ..., "
         "with --draws "
         "z1_draw1, ..., segment; - is the standard output."),
    FLAG(program, json,
         "Print a JSON object with out, rows, patterns, few_answers, no_answers, reliability (of the scores of each "
         "source) and segments (segment, rows, reliability)."),
};
OPTION_TABLE(own_table, own)

/* The command at work. */
typedef struct {
  program *p;
  blica_sources_options *options;
  const blica_model *model;
  bl_outfile file;
  bool open;
  int code; /* of what went wrong */
  int64_t rows, patterns;
  double before, done; /* share of the rows before this piece, and with it; below 0: not known */
  table_ids ids;
  blica_reliability *reliability;
} work;

/* ---- writing ---- */

/* Opens the file and writes its first line. */
static bool open_output(work *w, const blica_posterior *posterior) {
  if (w->open) return true;
  if (!bl_outfile_open(&w->file, w->p->out)) return false;
  w->open = true;
  FILE *stream = w->file.stream;
  if (w->ids.name) print_id(stream, w->ids.name);
  for (int j = 0; j < posterior->k; j++) fprintf(stream, "z%d,z%d_sd,", j + 1, j + 1);
  for (int d = 0; d < posterior->n_draws; d++)
    for (int j = 0; j < posterior->k; j++) fprintf(stream, "z%d_draw%d,", j + 1, d + 1);
  fprintf(stream, "segment\n");
  return true;
}

static bool write_rows(work *w, const blica_posterior *posterior, const blica_data *data) {
  if (!open_output(w, posterior)) return false;
  FILE *stream = w->file.stream;
  for (int64_t r = 0; r < posterior->rows; r++) {
    if (r % 1024 == 0 && interrupted()) {
      errno = EINTR;
      return false;
    }
    if (w->ids.name) print_id(stream, w->ids.text[r]);
    for (int j = 0; j < posterior->k; j++)
      fprintf(stream, "%.10g,%.10g,", posterior->mean[r * posterior->k + j], posterior->sd[r * posterior->k + j]);
    const int64_t each = (int64_t)posterior->k * posterior->n_draws;
    for (int64_t i = 0; i < each; i++) fprintf(stream, "%.10g,", posterior->draws[r * each + i]);
    print_field(stream, data->segments[data->row_segment[r]]);
    fputc('\n', stream);
  }
  return !ferror(stream);
}

/* Whether the leading process has written; says why not. */
static bool agree_written(work *w, bool written) {
  const int reason = errno;
  if (agree_on(written)) return true;
  say_error("cannot write '%s': %s", w->p->out, strerror(reason));
  w->code = EXIT_FAILED;
  return false;
}

/* ---- pieces ---- */

/* Progress of a piece as that of the whole. */
static int poll_piece(const blica_progress *progress, void *user) {
  const work *w = user;
  const double share = w->before + (w->done - w->before) * fmax(progress ? progress->fraction : 0, 0);
  progress_show("sources", w->done < 0 ? -1 : share);
  return interrupted();
}

static bool take_piece(const blica_data *piece, double done, void *user) {
  work *w = user;
  AUTO(blica_posterior) *posterior = NULL;
  w->options->first_row = w->rows;
  w->before = w->done, w->done = done;
  blica_status status = blica_sources(w->p->ctx, w->model, piece, w->options, &posterior);
  if (status == BLICA_OK) status = blica_reliability_add(w->p->ctx, w->model, piece, posterior, &w->reliability);
  if (status != BLICA_OK) {
    w->code = fail_reading(w->p, status);
    return false;
  }
  const bool good = agree_written(w, !writes() || write_rows(w, posterior, piece));
  w->rows += posterior->rows;
  w->patterns += posterior->patterns;
  return good;
}

/* ---- the summary ---- */

static json_t *reliabilities(const work *w, int segment) {
  json_t *all = json_array();
  for (int j = 0; j < w->reliability->k; j++)
    json_array_append_new(all, json_number(blica_reliability_of(w->reliability, j, segment)));
  return all;
}

static int print_json(const work *w) {
  const blica_reliability *r = w->reliability;
  json_t *segments = json_array();
  for (int s = 0; s <= r->u; s++)
    if (r->rows[s] > 0)
      json_array_append_new(segments, json_members("segment:t rows:w reliability:o",
                                                   s < w->model->u ? w->model->segments[s] : NULL, (int64_t)r->rows[s],
                                                   reliabilities(w, s)));
  return json_print(json_members("out:t rows:w patterns:w few_answers:w no_answers:w reliability:o segments:o",
                                 w->p->out, w->rows, w->patterns, (int64_t)r->few, (int64_t)r->none,
                                 reliabilities(w, -1), segments));
}

static void say_reliability(const work *w) {
  const blica_reliability *r = w->reliability;
  for (int j = 0; j < r->k; j++) {
    double low, high, all = blica_reliability_of(r, j, -1);
    if (isnan(all)) return;
    if (reliability_range(r, j, &low, &high))
      say_note("z%d: reliability of the scores %.2f; within segments %.2f to %.2f", j + 1, all, low, high);
    else
      say_note("z%d: reliability of the scores %.2f", j + 1, all);
  }
}

static int summarise(const work *w) {
  const blica_reliability *r = w->reliability;
  say_note("%d sources of %lld rows (%lld distinct patterns), in %s", r->k, (long long)w->rows, (long long)w->patterns,
           w->p->out);
  say_reliability(w);
  if (r->few > 0)
    say_note("%lld rows have values of fewer than half of the %d items (%lld of none): their scores are drawn to the "
             "mean of the segment, and their standard deviations are large",
             (long long)r->few, w->model->n, (long long)r->none);
  return w->p->json ? print_json(w) : EXIT_OK;
}

static int run(program *p, void *values) {
  blica_sources_options *options = values;
  if (p->data.weights || p->data.cluster || p->data.strata) {
    say_error("sources: --%s has no effect on the sources of a row; leave it out", p->data.weights   ? "weights"
                                                                                   : p->data.cluster ? "cluster"
                                                                                                     : "strata");
    return EXIT_USAGE;
  }
  STEP(read_model(p));
  work w = {.p = p, .options = options, .model = p->model};
  p->data.blank_segments = true;
  p->data.no_segments = options->segment == BLICA_SEGMENTS_UNKNOWN;
  p->data.ids = &w.ids;
  blica_set_poll(p->ctx, poll_piece, &w);
  int code = read_pieces(p, p->operands[1], PIECE_ROWS, take_piece, &w);
  if (w.code != EXIT_OK) code = w.code;
  if (code == EXIT_OK && !agree_written(&w, !w.open || bl_outfile_commit(&w.file))) code = w.code;
  if (w.open) bl_outfile_discard(&w.file);
  progress_clear();
  if (code == EXIT_OK) code = summarise(&w);
  table_ids_free(&w.ids);
  blica_reliability_free(w.reliability);
  return code;
}

const command command_sources = {
    .name = "sources",
    .summary = "posterior mean and standard deviation of the sources of each row",
    .operands = "MODEL DATA",
    .required = "out",
    .text =
        "Writes the mean and standard deviation of each source given the zeros and ones of a row. Mean plus and minus "
        "1.645 standard deviations covers the true value for about nine in ten rows when the model is true. Equal rows "
        "are computed once; missing values are integrated out. Rows are read and written in pieces: tables may be "
        "larger than memory.\n\n"
        "The data may be new: variables are matched by name, segments by label. Rows without a segment (an empty "
        "label) are averaged over the segments of the model; with --segment unknown all rows are, and there need be no "
        "column of segments.\n\n"
        "The reliability of the scores of a source is the share of its variance that they show: 1 where they are the "
        "source, 0 where all rows have the same score.",
    .examples = "blica sources model.json survey.csv --out sources.csv\n"
                "# new rows whose segment is not known\n"
                "blica sources model.json new.csv --segment unknown --out sources.csv\n"
                "# plausible values, for a regression on scores\n"
                "blica sources model.json survey.csv --draws 10 --id person --out plausible.csv",
    .groups = {VERB_OPTIONS("Options", sources, 0), {"Output", own_table, OF_PROGRAM, 0}},
    .reads = true,
    .values = sizeof(blica_sources_options),
    .run = run,
    .shared = true,
};
