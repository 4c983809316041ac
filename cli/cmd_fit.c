/* cmd_fit.c - blica fit DATA|COUNTS: the mixing matrix, into model.json. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "communicator.h"
#include "data_args.h"
#include "output.h"
#include "program.h"
#include "words.h"

static const blica_option own[] = {
    TEXT(program, out, "FILE", "The model is written here, as JSON; - is the standard output."),
    FLAG(program, json, "Print the record of the fit as a JSON object."),
};
OPTION_TABLE(own_table, own)

/* ---- input ---- */

typedef struct {
  int n, u;
  double rows;
  char words[DATA_WORDS]; /* what is in the data; "" where that is not known */
} fit_input;

/* The words of blica check, where they cost little beside the fit. */
static void describe(program *p, fit_input *in) {
  static const double TABLES_MOST = 1e7;
  AUTO(blica_check) *found = NULL;
  if (p->quiet || 0.5 * in->n * (in->n - 1.0) * in->u > TABLES_MOST) return;
  if (blica_check_counts(p->ctx, p->counts, &found) == BLICA_OK) data_words(found, in->words, sizeof in->words);
}

/* Whether items that differ are sought, which takes the rows. */
static bool finds_items(const blica_fit_options *options) {
  return options->free && strcmp(options->free, "auto") == 0;
}

/* Rows are kept only where the fit needs them. Otherwise they are counted as they are read, and any number of them
 * fits in memory. */
static int read_input(program *p, const blica_fit_options *options, fit_input *in) {
  const char *path = p->operands[0];
  const bool rows = !table_is_counts(path) && (method_needs_rows(options->method) || finds_items(options));
  p->data.labels = &p->labels;
  STEP(rows ? read_rows(p, path) : read_counts(p, path));
  in->n = rows ? p->rows->n : p->counts->n;
  in->u = rows ? p->rows->u : p->counts->u;
  in->rows = rows ? (double)p->rows->rows : 0;
  for (int s = 0; s < in->u && !rows; s++) in->rows += p->counts->samples[s];
  if (!rows) describe(p, in);
  return EXIT_OK;
}

/* Refuses what the numbers of variables, sources and segments alone rule out. */
static int check_input(const blica_fit_options *options, const char *path, const fit_input *in) {
  int k = options->sources;
  if (k > in->n) {
    say_error("fit: --sources %d, but '%s' has %d variables; give at most %d", k, path, in->n, in->n);
    return EXIT_DATA;
  }
  if (in->u == 1 && !options->allow_unidentified) {
    say_error("fit: '%s' has one segment only, and one segment does not determine the mixing matrix; name the segments "
              "(--segment-column, --segment-length, --segment-count, --segment-file), or give --allow-unidentified",
              path);
    return EXIT_DATA;
  }
  return EXIT_OK;
}

/* ---- the answer in words ---- */

enum {
  TABLE_ITEMS = 60, /* up to this number of items and sources all loadings are printed */
  TABLE_SOURCES = 8,
  RANK_MOST = 400 /* parameters up to which the rank of the design is computed in passing */
};

static void put_short(const char *name, FILE *to) {
  put_name(to, name, 0, NAME_MOST);
}

static void print_sources(const blica_model *m, FILE *to) {
  for (int j = 0; j < m->k; j++) {
    fprintf(to, "z%d (%.0f %%%s): ", j + 1, 100 * explained_share(m, j), j == 0 ? " of what is explained" : "");
    write_source(m, NULL, j, put_short, to);
    putc('\n', to);
  }
  putc('\n', to);
}

/* ---- items that were estimated apart ---- */

static double note_of(const blica_model *m, const char *name) {
  for (int i = 0; i < m->fit.n_notes; i++)
    if (strcmp(m->fit.notes[i].name, name) == 0) return m->fit.notes[i].value;
  return NAN;
}

/* How many cuts of item i come before its first, and in all. */
static int cuts_of(const blica_model *m, int i, int *first) {
  *first = m->coding ? m->coding->first[i] : i;
  return m->coding ? m->coding->first[i + 1] - *first : 1;
}

static double shown_number(double x) {
  return round(100 * x) / 100 + 0.0; /* not -0.00 */
}

static void print_numbers(const char *what, int count, const double *here, const double *common, int stride, FILE *to) {
  fprintf(to, "%s", what);
  for (int c = 0; c < count; c++) fprintf(to, " %.2f", shown_number(here[c * stride]));
  fputs(" (others", to);
  for (int c = 0; c < count; c++) fprintf(to, " %.2f", shown_number(common[c * stride]));
  putc(')', to);
}

/* Prints the items that have their own cuts, or cuts and row of A, in some segment. */
static void print_freed(const program *p, const blica_fit_options *options, const blica_model *m, FILE *to) {
  enum { LISTED = 20 };
  const double before = note_of(m, "expected_mcs_common"), after = note_of(m, "expected_mcs_freed");
  const double both = note_of(m, "mcs_common_freed");
  int count = 0, first;
  for (int s = 0; m->freed && s < m->u; s++)
    for (int i = 0; i < m->n; i++) {
      const int kind = m->freed[i + m->n * s], cuts = cuts_of(m, i, &first);
      if (!kind || ++count > LISTED) continue;
      put_short(m->variables[i], to);
      fputs(" in ", to);
      put_short(m->segments[s], to);
      print_numbers(": cuts", cuts, m->own_cuts + first + (size_t)m->planes * (size_t)s, m->cuts + first, 1, to);
      if (kind == BLICA_FREED_ROW)
        print_numbers(", loadings", m->k, m->own_mixing + i + (size_t)m->n * (size_t)m->k * (size_t)s, m->mixing + i,
                      m->n, to);
      putc('\n', to);
    }
  if (count > LISTED) fprintf(to, "and %d more, in %s\n", count - LISTED, p->out);
  if (count == 1) fputs("Freed: one item in one segment.\n", to);
  if (count > 1) fprintf(to, "Freed: %d pairs of an item and a segment.\n", count);
  if (!count && finds_items(options)) fputs("Freed: nothing; no item is shown to differ between segments.\n", to);
  if (isfinite(both))
    fprintf(to, "MCS of the loadings with those before freeing: %.3f. Expected MCS before %.3f, now %.3f.\n", both,
            before, after);
  if (count || finds_items(options)) putc('\n', to);
}

static void print_design(program *p, const blica_model *m, FILE *to) {
  int64_t statistics, unknowns;
  AUTO(blica_identification) *found = NULL;
  char text[200] = "Design: not tested yet (blica identify).";
  if (blica_identify_count(p->ctx, m->n, m->k, m->u, blica_ordinal_items(m->coding), &statistics, &unknowns) !=
      BLICA_OK)
    return;
  if (statistics < unknowns)
    snprintf(text, sizeof text,
             "Design: no. There are %lld more unknowns than statistics, so these data cannot determine %d sources.",
             (long long)(unknowns - statistics), m->k);
  else if ((int64_t)m->k * (m->n + m->u) <= RANK_MOST && blica_identify(p->ctx, m, &found) == BLICA_OK)
    snprintf(text, sizeof text, "Design: %s determine %d source%s%s (rank %lld of %lld).",
             found->local ? "yes. These segments can" : "no. These segments cannot", m->k, m->k == 1 ? "" : "s",
             !found->local ? ""
             : m->k == 1   ? " if its variance changes"
                           : " if their variances change",
             (long long)found->rank, (long long)found->parameters);
  print_sentences(to, text);
}

/* The answer of a fit: what is in the data (words, "" where that is not known), loadings sorted by source, each source
 * in words, what the design can determine, how the starts ended, and the next command. */
static void print_summary(program *p, const blica_fit_options *options, const blica_model *m, FILE *to,
                          const char *words) {
  char starts[STARTS_TEXT], model_word[WORD_TEXT], data_word[WORD_TEXT];
  const char *data = p->operands[0];
  if (*words) print_sentences(to, words), putc('\n', to);
  if (m->n <= TABLE_ITEMS && m->k <= TABLE_SOURCES && !print_loadings(m, NULL, to))
    say_warning("out of memory: the table of loadings is left out");
  print_sources(m, to);
  print_freed(p, options, m, to);
  print_design(p, m, to);
  fputs("Change, fit, loadings: not tested yet (blica assess).\n", to);
  starts_words(&m->fit, starts);
  if (*starts) print_sentences(to, starts);
  const bool rows = strcmp(data, "-") != 0 && !table_is_counts(data);
  shell_word(p->out, model_word), shell_word(data, data_word);
  if (is_standard_output(p->out)) return;
  fputs("Next:\n", to);
  if (rows) fprintf(to, "  blica assess %s %s%s\n", model_word, data_word, p->reading);
#ifdef BLICA_REPORT
  fprintf(to, "  blica report %s%s%s%s --out report.html\n", model_word, strcmp(data, "-") ? " " : "",
          strcmp(data, "-") ? data_word : "", strcmp(data, "-") ? p->reading : "");
#endif
}

/* ---- JSON and the exit code ---- */

static json_t *freed_items(const blica_model *m) {
  json_t *list = json_array();
  int first;
  for (int s = 0; m->freed && s < m->u; s++)
    for (int i = 0; i < m->n; i++) {
      const int kind = m->freed[i + m->n * s], cuts = cuts_of(m, i, &first);
      if (!kind) continue;
      json_t *one = json_pack("{s:o,s:o,s:o}", "item", json_text(m->variables[i]), "segment", json_text(m->segments[s]),
                              "cuts", json_numbers(m->own_cuts + first + (size_t)m->planes * (size_t)s, cuts));
      json_t *row = json_array();
      for (int l = 0; l < m->k && kind == BLICA_FREED_ROW; l++)
        json_array_append_new(row, json_number(m->own_mixing[i + (size_t)m->n * (size_t)(l + m->k * s)]));
      json_object_set_new(one, "mixing", kind == BLICA_FREED_ROW ? row : json_null());
      if (kind != BLICA_FREED_ROW) json_decref(row);
      json_array_append_new(list, one);
    }
  return list;
}

static int print_record(const blica_model *m, const char *out, double rows) {
  const blica_fit_report *fit = &m->fit;
  json_t *notes = json_object(), *starts = json_array();
  for (int i = 0; i < fit->n_notes; i++)
    json_object_set_new(notes, fit->notes[i].name, json_number(fit->notes[i].value));
  for (int i = 0; i < fit->n_starts; i++) {
    const blica_start *s = &fit->starts[i];
    json_array_append_new(starts, json_members("kind:t objective:n gradient:n iterations:w evaluations:w seconds:n "
                                               "stop:t seconds_near:n",
                                               s->kind, s->objective, s->gradient, s->iterations, s->evaluations,
                                               s->seconds, blica_stop_name(s->stop), s->seconds_near));
  }
  return json_print(json_members(
      "out:t method:t variables:i sources:i segments:i rows:n notes:o objective:n stop:t iterations:w evaluations:w "
      "condition:n best_start:i prior_mixing:n prior_variance:n seed:u seconds:n seconds_count:n seconds_correlate:n "
      "seconds_regularise:n seconds_optimise:n zero_cells:w constant_pairs:w empty_pairs:w constant_columns:w starts:o "
      "free:o",
      out, m->method, m->n, m->k, m->u, rows, notes, fit->objective, blica_stop_name(fit->stop), fit->iterations,
      fit->evaluations, fit->condition, fit->best_start, fit->prior_mixing, fit->prior_variance, fit->seed,
      fit->seconds, fit->seconds_count, fit->seconds_correlate, fit->seconds_regularise, fit->seconds_optimise,
      fit->zero_cells, fit->constant_pairs, fit->empty_pairs, fit->constant_columns, starts, freed_items(m)));
}

/* Writes the model, prints what was asked for, and settles the checkpoint. Returns the exit code. */
static int write_model(program *p, const blica_fit_options *options, const blica_model *model, const fit_input *in) {
  blica_status status = writes() ? blica_model_save(p->ctx, model, p->out) : BLICA_OK;
  if (status != BLICA_OK) return fail_writing(p, status);
  progress_clear();
  say_note("%s: objective %.10g after %.2g s (seed %llu); wrote %s", model->method, model->fit.objective,
           model->fit.seconds, (unsigned long long)model->fit.seed, p->out);
  if (!p->json && !p->quiet && leads())
    print_summary(p, options, model, is_standard_output(p->out) ? stderr : stdout, in->words);
  settle_checkpoint(options->checkpoint, interrupted() || model->fit.seconds > options->max_seconds, "fit");
  if (p->json) STEP(print_record(model, p->out, in->rows));
  return exit_of(model->fit.stop);
}

static int run(program *p, void *values) {
  blica_fit_options *options = values;
  fit_input in = {0};
  if (!checkpoint_possible(p, options->checkpoint, options->resume, p->out)) return EXIT_DATA;
  STEP(read_input(p, options, &in));
  STEP(check_input(options, p->operands[0], &in));
  say_note("%d variables, %d sources, %d segments, %.*f rows; method %s, seed %llu",
           count_variables(in.n, p->rows ? p->rows->variables : p->counts->variables), options->sources, in.u,
           in.rows != floor(in.rows), in.rows, blica_method_name(options->method), (unsigned long long)options->seed);
  const blica_input input = {.data = p->rows, .counts = p->counts};
  ASK(p, p->rows ? blica_fit(p->ctx, &input, options, &p->model)
                 : blica_fit_consume(p->ctx, &p->counts, options, &p->model));
  if (p->labels.count == p->model->n)
    ASK(p, blica_model_set_labels(p->ctx, p->model, (const char *const *)p->labels.text));
  return write_model(p, options, p->model, &in);
}

const command command_fit = {
    .name = "fit",
    .summary = "estimate the mixing matrix",
    .operands = "DATA|COUNTS",
    .required = "sources|out",
    .usual = "sources|out|json|method|starts|seed|prior|max_seconds|max_iterations",
    .text = "Estimates the mixing matrix and the means and variances of the sources in each segment, and writes them "
            "to a model file. DATA is a table of items, binary or ordinal, with a column that names the segment of "
            "each row (blica help data); COUNTS is what blica count wrote.\n\n"
            "The fit starts from several points and keeps the best result. Columns of the mixing matrix are determined "
            "up to order, sign and scale; they are written in a canonical form: largest explained variance first, "
            "largest entry positive, mean log-variance of each source 0.\n\n"
            "Ctrl-C stops the fit and writes the best result so far.\n\n"
            "With --checkpoint FILE the state of the fit is saved in that file, whole or not at all, every "
            "--checkpoint-seconds and when Ctrl-C or --max-seconds stops the fit. The same command with --resume "
            "continues from there, and its result is bit-identical to that of a fit without a break. Once the model is "
            "written the file is removed.",
    .examples = "blica fit data.csv --sources 10 --out model.json\n"
                "# rows in time order, in 40 segments of equal length\n"
                "blica fit series.csv.gz --segment-count 40 --sources 4 --out model.json\n"
                "# no header, the segment in the last column\n"
                "blica fit authors.csv --segment-column last --sources 6 --out model.json\n"
                "# items that differ between segments are estimated apart there\n"
                "blica fit data.csv --sources 4 --out model.json --free auto\n"
                "# a long fit, begun or continued\n"
                "blica fit data.csv --sources 10 --out model.json --checkpoint fit.ckpt --resume",
    .groups = {{"Files", own_table, OF_PROGRAM, 0}, VERB_OPTIONS("The fit", fit, 0)},
    .reads = true,
    .values = sizeof(blica_fit_options),
    .run = run,
    .shared = true,
};
