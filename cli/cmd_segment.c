/* cmd_segment.c - blica segment ROWS: hidden states of rows in time order, one label per row. */
#include <math.h>
#include <stdio.h>

#include "data_args.h"
#include "output.h"

typedef struct {
  const char *out, *model;
  int probabilities, json;
  blica_segment_options options;
  table_ids ids;
  blica_segmentation *result;
} segment_values;

static const blica_option own[] = {
    TEXT(segment_values, out, "FILE",
         "CSV file with a column named found_segment: the state of every row, in the order of the rows, and the "
         "column of --id. It is what --segment-file of the other commands reads. With --split the columns are segment "
         "and held_out, and the other commands read the rows that were held out, without the others."),
    FLAG(segment_values, probabilities,
         "Add the columns p1, p2, ... to it: the probability of each state given all rows."),
    TEXT(segment_values, model, "FILE", "The fitted model is written here, as JSON, with one segment per state."),
    FLAG(segment_values, json,
         "Print a JSON object with states, loglik, rounds, stop, transition, expected_rows, runs, split, lag, lag_z, "
         "draws_per_run and trials (states, loglik, score, heldout, heldout_se)."),
};
OPTION_TABLE(own_table, own)

static bool write_states(FILE *f, const void *what) {
  const segment_values *v = what;
  const blica_segmentation *r = v->result;
  const int columns = v->probabilities ? r->states : 0;
  fputs(r->split ? "segment,held_out" : "found_segment", f);
  if (v->ids.name) fputc(',', f), print_field(f, v->ids.name);
  for (int s = 0; s < columns; s++) fprintf(f, ",p%d", s + 1);
  for (int64_t t = 0; t < r->rows; t++) {
    fprintf(f, "\n%d", (int)r->state[t] + 1);
    if (r->split) fputs(t / r->split % 2 ? ",1" : ",0", f);
    if (v->ids.name) fputc(',', f), print_field(f, v->ids.text[t]);
    for (int s = 0; s < columns; s++) fprintf(f, ",%.6g", r->probability[t * r->states + s]);
  }
  fputc('\n', f);
  return true;
}

/* ---- printing the result ---- */

/* States that change as fast as they may can be a sign that they describe single rows, not times. */
static bool as_short_as_allowed(const segment_values *v, const blica_segmentation *r) {
  const double most = 1 / (double)v->options.min_length;
  for (int s = 0; s < r->states && r->states > 1; s++)
    if (v->options.min_length > 1 && 1 - r->transition[s * r->states + s] > 0.999 * most) return true;
  return false;
}

/* What the number of states rests on: held-out rows, unless the search was stopped before they could choose. */
static const char *choice(const segment_values *v, const blica_segmentation *r) {
  if (v->options.states) return "";
  for (int i = 0; i < r->n_trials; i++)
    if (r->trials[i].states == r->states && !isnan(r->trials[i].heldout)) return ", chosen by the data";
  return r->n_trials == 1 ? ", the only number that was tried"
                          : ", chosen by BIC (the search was stopped before held-out rows could choose)";
}

static void print_result(const segment_values *v, const blica_segmentation *r) {
  if (r->states == 1)
    say_note("one state: nothing in these %lld rows says that the sources change over time. There are no segments to "
             "be found, and without segments the mixing matrix is not identified",
             (long long)r->rows);
  else
    for (int s = 0; s < r->states; s++)
      say_note("state %d: %.0f rows, in %lld run%s", s + 1, r->expected_rows[s], (long long)r->runs[s],
               r->runs[s] == 1 ? "" : "s");
  if (as_short_as_allowed(v, r))
    say_note("some states last no longer than --min-length %lld asks for; with a larger value they would be times "
             "rather than kinds of rows",
             (long long)v->options.min_length);
  say_note("%d state%s%s: log-likelihood %.10g (%s) after %lld rounds, %.2g s (seed %llu); wrote %s", r->states,
           r->states == 1 ? "" : "s", choice(v, r), r->loglik, blica_engine_name(r->engine), (long long)r->rounds,
           r->seconds, (unsigned long long)v->options.seed, v->out);
}

static int print_record(const segment_values *v) {
  const blica_segmentation *r = v->result;
  json_t *moves = json_array(), *trials = json_array();
  for (int s = 0; s < r->states; s++)
    json_array_append_new(moves, json_numbers(r->transition + s * r->states, r->states));
  for (int i = 0; i < r->n_trials; i++) {
    const blica_segment_trial *t = &r->trials[i];
    json_array_append_new(trials, json_members("states:i loglik:n score:n heldout:n heldout_se:n", t->states, t->loglik,
                                               t->score, t->heldout, t->heldout_se));
  }
  return json_print(json_members("out:t transition:o expected_rows:o runs:o trials:o rows:w states:i loglik:n engine:t "
                                 "rounds:w stop:t seconds:n split:w lag:n lag_z:n draws_per_run:n",
                                 v->out, moves, json_numbers(r->expected_rows, r->states),
                                 json_wide(r->runs, r->states), trials, r->rows, r->states, r->loglik,
                                 blica_engine_name(r->engine), r->rounds, blica_stop_name(r->stop), r->seconds,
                                 r->split, r->lag, r->lag_z, r->draws_per_run));
}

/* Writes the states and, if asked for, the model; prints the summary or the record. Returns the exit code. */
static int write_results(program *p, const segment_values *v) {
  const blica_segmentation *r = v->result;
  STEP(write_file(v->out, write_states, v));
  if (v->model && r->model) {
    blica_status status = blica_model_save(p->ctx, r->model, v->model);
    if (status != BLICA_OK) return fail_writing(p, status);
  } else if (v->model) {
    say_warning("interrupted before there was a model: '%s' is not written", v->model);
  }
  progress_clear();
  print_result(v, r);
  settle_checkpoint(v->options.checkpoint, r->stop == BLICA_STOP_INTERRUPTED || r->stop == BLICA_STOP_TIME, "search");
  if (v->json) STEP(print_record(v));
  return exit_of(r->stop);
}

/* ---- input ---- */

static bool possible(const program *p, const segment_values *v) {
  const table_options *d = &p->data;
  if (d->segment_column || d->segment_file || d->segment_length || d->segment_count) {
    say_error("segment: segments are given too (--segment-column, --segment-length, --segment-count or "
              "--segment-file); leave them out to find segments, or fit with them (blica fit)");
    return false;
  }
  const blica_segment_options *o = &v->options;
  if (v->model && !output_possible(p, v->model, v->out)) return false;
  return checkpoint_possible(p, o->checkpoint, o->resume, v->out);
}

static int run(program *p, void *values) {
  segment_values *v = values;
  if (!possible(p, v)) return EXIT_DATA;
  p->data.unlabelled = true;
  p->data.ids = &v->ids;
  int code = read_rows(p, p->operands[0]);
  if (code == EXIT_OK) {
    say_note("%d variables, %d sources, %lld rows; seed %llu", count_variables(p->rows->n, p->rows->variables),
             v->options.sources, (long long)p->rows->rows, (unsigned long long)v->options.seed);
    blica_status status = blica_segment(p->ctx, p->rows, &v->options, &v->result);
    code = status == BLICA_OK ? write_results(p, v) : fail_reading(p, status);
  }
  blica_segmentation_free(v->result);
  table_ids_free(&v->ids);
  return code;
}

const command command_segment = {
    .name = "segment",
    .summary = "find segments in rows that are in time order",
    .operands = "ROWS",
    .required = "sources|out",
    .text =
        "Gives every row the label of a hidden state, for rows in time order that have no segments. A state lasts for "
        "a while and may return; in each the sources have means and variances of their own, and the mixing matrix is "
        "common to all. ROWS is a table as for blica fit, without a segment column.\n\n"
        "The number of states is the fewest that predict held-out rows as well as any number, within one standard "
        "error, unless --states gives it. When nothing changes over time there is one state, and the program says so. "
        "With --change-points states do not return: each is one run of rows.\n\n"
        "The labels are the most probable sequence in which each state lasts at least --min-length rows. Probabilities "
        "and expected counts let a state last that long on average, and single runs may be shorter. The model that "
        "--model writes is fitted to the expected counts of the states, which is better than a fit to the labels where "
        "states are hard to distinguish.\n\n"
        "Ctrl-C stops the search and writes the best result so far. --checkpoint and --resume work as for blica fit.",
    .examples = "blica segment series.csv --sources 4 --out segments.csv --model model.json\n"
                "# six states, with their probabilities\n"
                "blica segment series.csv --sources 4 --states 6 --out segments.csv --probabilities\n"
                "# points of change, then a fit by the mle method\n"
                "blica segment series.csv --sources 4 --change-points --out segments.csv\n"
                "blica fit series.csv --segment-file segments.csv --sources 4 --method mle --out model.json",
    .groups = {{"Files", own_table, 0, 0}, VERB_OPTIONS("The search", segment, offsetof(segment_values, options))},
    .reads = true,
    .values = sizeof(segment_values),
    .run = run,
};
