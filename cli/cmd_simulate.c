/* cmd_simulate.c - blica simulate: a random model and data from it, in a folder. */
#include <stdio.h>
#include <unistd.h>

#include "output.h"

static const blica_option own[] = {
    TEXT(program, out, "DIR", "Output folder; created if missing."),
};
OPTION_TABLE(own_table, own)

/* Column of bits that item i begins with. */
static int first_bit(const blica_model *m, int i) {
  return m->coding ? m->coding->first[i] : i;
}

typedef struct {
  const blica_model *model;
  const blica_data *data;
} simulated;

/* Rows in input order, which for simulated data is the order of the segments. An item's level is the number of its bits
 * that are set. */
static bool write_rows(FILE *f, const void *what) {
  const blica_model *m = ((const simulated *)what)->model;
  const blica_data *d = ((const simulated *)what)->data;
  for (int i = 0; i < m->n; i++) fprintf(f, "%s,", m->variables[i]);
  fputs("segment\n", f);
  for (int s = 0; s < d->u; s++)
    for (int64_t r = 0; r < d->samples[s]; r++) {
      if (r % 1024 == 0 && interrupted()) return false;
      const uint64_t *word = d->ones[s] + r / 64;
      for (int i = 0; i < m->n; i++) {
        int level = 0;
        for (int p = first_bit(m, i); p < first_bit(m, i + 1); p++)
          level += (int)(word[p * d->words[s]] >> (r % 64) & 1);
        if (level > 9) putc('0' + level / 10, f);
        putc('0' + level % 10, f);
        putc(',', f);
      }
      fputs(d->segments[s], f);
      putc('\n', f);
    }
  return true;
}

/* A second name for the model that is there, should the data fail after a new one has taken its place. */
static bool keep(const char *path, char *kept, size_t size) {
  return (size_t)snprintf(kept, size, "%s.kept-%ld", path, (long)getpid()) < size && link(path, kept) == 0;
}

/* Both files, or what was there before. */
static int save(program *p, const char *folder, const blica_model *model, const blica_data *data,
                const blica_counts *counts) {
  char path[4096], model_path[4096], kept[4096];
  int code = EXIT_OK;
  snprintf(model_path, sizeof model_path, "%s/model.json", folder);
  if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, data ? "data.csv" : "counts.npz") >= sizeof path) {
    say_error("simulate: the name of the folder is longer than %zu bytes", sizeof path - 12);
    return EXIT_USAGE;
  }
  bool replaced = access(model_path, F_OK) == 0, safe = replaced && keep(model_path, kept, sizeof kept);
  blica_status status = blica_model_save(p->ctx, model, model_path);
  if (status == BLICA_OK && !data) status = blica_counts_save(p->ctx, counts, path);
  if (status != BLICA_OK)
    code = fail_writing(p, status);
  else if (data)
    code = write_file(path, write_rows, &(simulated){model, data});
  if (code == EXIT_OK)
    say_note("wrote %s and %s", path, model_path);
  else if (safe)
    rename(kept, model_path);
  else if (!replaced)
    unlink(model_path);
  if (safe) unlink(kept); /* gone when it was renamed; still there when both names are of one file */
  return code;
}

static int run(program *p, void *values) {
  blica_simulate_options *options = values;
  AUTO(blica_model) *model = NULL;
  AUTO(blica_data) *data = NULL;
  AUTO(blica_counts) *counts = NULL;
  say_note("simulating %d variables, %d sources, %d segments, %s%lld %s each, seed %llu", options->variables,
           options->sources, options->segments, options->exact ? "nominal " : "", (long long)options->samples,
           options->exact ? "samples" : "rows", (unsigned long long)options->seed);
  ASK(p, blica_simulate(p->ctx, options, &model, &data, &counts));
  bool made = false;
  int code = make_folder(p->out, &made) ? save(p, p->out, model, data, counts) : EXIT_FAILED;
  if (made && code != EXIT_OK) rmdir(p->out);
  return code;
}

const command command_simulate = {
    .name = "simulate",
    .summary = "draw a random model and data from it",
    .operands = "",
    .required = "out",
    .text = "Draws a mixing matrix, and for each segment the means and variances of the sources, as in section 6 of "
            "the paper, then rows of data. Writes DIR/data.csv (a header; the last column is the segment) and "
            "DIR/model.json (the true model).\n\n"
            "With --exact it writes DIR/counts.npz in place of data.csv: the exact probabilities of all pairs, times a "
            "nominal number of samples. A fit to them shows what infinitely many samples would give.\n\n"
            "The same options and seed give the same files on any number of threads.",
    .examples = "blica simulate --variables 10 --sources 10 --segments 40 --samples 1000 --seed 1 --out demo\n"
                "blica simulate --variables 6 --sources 2 --exact --out limit",
    .groups = {{"Files", own_table, OF_PROGRAM, 0}, VERB_OPTIONS("The model and the data", simulate, 0)},
    .values = sizeof(blica_simulate_options),
    .run = run,
};
