/* cmd_sources.c - blica sources MODEL DATA: posterior mean and standard deviation of the sources of each row. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/outfile.h"
#include "communicator.h"
#include "data_args.h"
#include "output.h"

typedef struct {
  blica_sources_options options;
  data_values data;
  const char *out;
} sources_values;

static const blica_option own[] = {
    OPTION(sources_values, out, BLICA_OPT_TEXT, NULL, 0, 0, NULL, "FILE",
           "CSV file: one row per row of the data, in its order, with z1, z1_sd, z2, z2_sd, ..., with --draws "
           "z1_draw1, ..., segment; - is "
           "the standard output."),
};
OPTION_TABLE(own_table, own)

/* A label as a CSV field. */
static void print_label(FILE *stream, const char *label) {
  if (!strpbrk(label, ",\"\n\r")) {
    fputs(label, stream);
    return;
  }
  fputc('"', stream);
  for (const char *c = label; *c; c++) {
    if (*c == '"') fputc('"', stream);
    fputc(*c, stream);
  }
  fputc('"', stream);
}

static bool write_posterior(const char *path, const blica_posterior *posterior, const blica_data *data) {
  bl_outfile file;
  if (!bl_outfile_open(&file, path)) return false;
  for (int j = 0; j < posterior->k; j++) fprintf(file.stream, "z%d,z%d_sd,", j + 1, j + 1);
  for (int d = 0; d < posterior->n_draws; d++)
    for (int j = 0; j < posterior->k; j++) fprintf(file.stream, "z%d_draw%d,", j + 1, d + 1);
  fprintf(file.stream, "segment\n");
  for (int64_t r = 0; r < posterior->rows; r++) {
    if (r % 1024 == 0 && interrupted()) {
      bl_outfile_discard(&file);
      errno = EINTR;
      return false;
    }
    for (int j = 0; j < posterior->k; j++)
      fprintf(file.stream, "%.10g,%.10g,", posterior->mean[r * posterior->k + j], posterior->sd[r * posterior->k + j]);
    const int64_t each = (int64_t)posterior->k * posterior->n_draws;
    for (int64_t i = 0; i < each; i++) fprintf(file.stream, "%.10g,", posterior->draws[r * each + i]);
    print_label(file.stream, data->segments[data->row_segment[r]]);
    fputc('\n', file.stream);
  }
  return bl_outfile_commit(&file);
}

static int work(program *p, const sources_values *v, const blica_model *model, const blica_data *data) {
  blica_posterior *posterior;
  blica_status status = blica_sources(p->ctx, model, data, &v->options, &posterior);
  int code = EXIT_OK;
  if (status != BLICA_OK) return fail_reading(p, status);
  bool written = !writes() || write_posterior(v->out, posterior, data);
  int reason = errno;
  if (!agree_on(written)) {
    say_error("cannot write '%s': %s", v->out, strerror(reason));
    code = EXIT_FAILED;
  } else {
    say_note("%d sources of %lld rows (%lld distinct patterns), in %s", posterior->k, (long long)posterior->rows,
             (long long)posterior->patterns, v->out);
  }
  blica_posterior_free(posterior);
  return code;
}

static int run(program *p, void *values) {
  sources_values *v = values;
  v->options.size = sizeof v->options;
  blica_model *model;
  blica_data *data;
  v->out = output_name(v->out);
  if (!output_possible(p, v->out, v->data.segment_file)) return EXIT_DATA;
  int code = data_read_with_model(p, &v->data, &model, &data);
  if (code == EXIT_OK) code = work(p, v, model, data);
  blica_data_free(data);
  blica_model_free(model);
  return code;
}

const command command_sources = {
    .name = "sources",
    .summary = "posterior mean and standard deviation of the sources of each row",
    .operands = "MODEL DATA",
    .least = 2,
    .most = 2,
    .required = "out",
    .text =
        "Writes the mean and standard deviation of each source given the zeros and ones of a row. Mean plus and minus "
        "1.645 standard deviations covers the true value for about nine in ten rows when the model is true. Equal rows "
        "are computed once; missing values are integrated out.\n\n"
        "The data may be new: variables are matched by name, segments by label, or not at all with --segment unknown.",
    .examples = "blica sources model.json survey.csv --out sources.csv\n"
                "# new rows whose segment is not known\n"
                "blica sources model.json new.csv --segment unknown --out sources.csv",
    .groups = {{"Options", blica_sources_option_table, offsetof(sources_values, options)},
               {"Output", own_table, 0},
               {"How the data are read", data_option_table, offsetof(sources_values, data)}},
    .values = sizeof(sources_values),
    .run = run,
    .shared = true,
};
