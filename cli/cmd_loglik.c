/* cmd_loglik.c - blica loglik MODEL DATA: the full log-likelihood, with its numerical error. */
#include <stdio.h>

#include "data_args.h"
#include "output.h"

static const blica_option own[] = {
    FLAG(
        program, json,
        "A JSON object with loglik, error, rows, patterns, engine, seed and segments (label, samples, loglik, error)."),
};
OPTION_TABLE(own_table, own)

static int print_json(const blica_loglik_result *r, uint64_t seed) {
  json_t *segments = json_array();
  for (int s = 0; s < r->u; s++)
    json_array_append_new(segments, json_members("segment:t samples:w loglik:n error:n", r->segments[s], r->samples[s],
                                                 r->loglik[s], r->error[s]));
  return json_print(json_members("seed:w segments:o loglik:n error:n rows:w patterns:w engine:t", (int64_t)seed,
                                 segments, r->total, r->total_error, r->rows, r->patterns,
                                 blica_engine_name(r->engine)));
}

static int print_text(const blica_loglik_result *r) {
  printf("log-likelihood %.12g, numerical error %.2g (%lld rows, %lld distinct patterns, %s)\n", r->total,
         r->total_error, (long long)r->rows, (long long)r->patterns, blica_engine_name(r->engine));
  char label[SHOWN_TEXT];
  printf("segment\tsamples\tloglik\terror\n");
  for (int s = 0; s < r->u; s++)
    printf("%s\t%lld\t%.12g\t%.2g\n", shown(r->segments[s], label), (long long)r->samples[s], r->loglik[s],
           r->error[s]);
  return EXIT_OK;
}

static int run(program *p, void *values) {
  const blica_loglik_options *options = values;
  AUTO(blica_loglik_result) *result = NULL;
  if (p->data.cluster || p->data.strata) {
    say_error("loglik: --%s has no effect on a likelihood; leave it out", p->data.cluster ? "cluster" : "strata");
    return EXIT_USAGE;
  }
  STEP(read_model_and_rows(p));
  ASK(p, blica_loglik(p->ctx, p->model, p->rows, options, &result));
  if (result->total_error > options->error)
    say_warning("the numerical error %.2g is above the wanted %.2g; engine %s reached no less", result->total_error,
                options->error, blica_engine_name(result->engine));
  return p->json ? print_json(result, options->seed) : print_text(result);
}

const command command_loglik = {
    .name = "loglik",
    .summary = "log-likelihood of data under a model, with its numerical error",
    .operands = "MODEL DATA",
    .text =
        "Computes the log-likelihood of every segment and in total: the sum over rows of the log-probability of the "
        "row's zeros and ones, an orthant probability of a multivariate normal distribution. Equal rows are merged; "
        "missing values are integrated out exactly. The numerical error is estimated, not assumed.\n\n"
        "Variables are matched by name and segments by label: the data may hold new rows of the segments the model "
        "knows.",
    .examples = "blica loglik model.json survey.csv\n"
                "# the true model on its own data\n"
                "blica loglik demo/model.json demo/data.csv --json",
    .groups = {VERB_OPTIONS("Options", loglik, 0), {"Output", own_table, OF_PROGRAM, 0}},
    .reads = true,
    .values = sizeof(blica_loglik_options),
    .run = run,
    .shared = true,
};
