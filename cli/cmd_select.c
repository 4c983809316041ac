/* cmd_select.c - blica select DATA: how many sources? */
#include <math.h>
#include <stdio.h>

#include "args.h"
#include "data_args.h"
#include "output.h"

typedef struct {
  blica_select_options options;
  int json;
} select_values;

static const blica_option own[] = {
    FLAG(select_values, json,
         "A JSON object with sources, reason, candidates (sources, heldout, heldout_se, heldout_segments, "
         "heldout_segments_se, bic, map), eigenvalues, reference, and what each criterion chooses."),
};
OPTION_TABLE(own_table, own)

static int print_json(const blica_selection *s, const blica_select_options *o) {
  json_t *candidates = json_array();
  for (int k = 0; k <= s->highest; k++)
    json_array_append_new(candidates,
                          json_pack("{s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "sources", k, "heldout",
                                    json_number(s->heldout[k]), "heldout_se", json_number(s->heldout_se[k]),
                                    "heldout_segments", json_number(s->heldout_segments[k]), "heldout_segments_se",
                                    json_number(s->heldout_segments_se[k]), "bic", json_number(s->bic[k]), "halves",
                                    json_number(s->halves[k]), "map", json_number(s->map[k])));
  return json_print(json_pack("{s:i,s:s,s:s,s:{s:i,s:o,s:i,s:i,s:i},s:o,s:o,s:o,s:I}", "sources", s->sources, "reason",
                              s->reason, "method", blica_method_name(s->method), "chosen", "heldout", s->by_heldout,
                              "segments", s->by_segments < 0 ? json_null() : json_integer(s->by_segments), "parallel",
                              s->by_parallel, "map", s->by_map, "bic", s->by_bic, "candidates", candidates,
                              "eigenvalues", json_numbers(s->eigenvalue, s->n), "reference",
                              json_numbers(s->reference, s->n), "seed", (json_int_t)o->seed));
}

static int print_text(const blica_selection *s) {
  print_sentences(stdout, s->reason);
  puts("\nsources\theld-out\terror\tsegments\thalves\tBIC\tMAP\teigen\treference");
  for (int k = 0; k <= s->highest; k++) {
    if (k > 0 && k < s->lowest) continue;
    printf("%d", k);
    print_cell(6, s->heldout[k]);
    print_cell(6, s->heldout_se[k]);
    print_cell(6, s->heldout_segments[k]);
    print_cell(2, s->halves[k]);
    print_cell(1, s->bic[k]);
    print_cell(5, s->map[k]);
    if (k > 0) print_cell(3, s->eigenvalue[k - 1]);
    if (k > 0) print_cell(3, s->reference[k - 1]);
    printf("%s\n", k == s->sources ? "\t<" : "");
  }
  printf("\nheld-out chooses %d, parallel analysis %d, MAP %d", s->by_heldout, s->by_parallel, s->by_map);
  if (s->by_segments >= 0) printf(", held-out segments %d", s->by_segments);
  if (s->by_bic > 0) printf(", BIC %d", s->by_bic);
  printf(" (method %s)\n", blica_method_name(s->method));
  return EXIT_OK;
}

static int run(program *p, void *values) {
  select_values *v = values;
  blica_selection *found;
  v->options.size = sizeof v->options;
  int code = read_rows(p, p->operands[0]);
  if (code != EXIT_OK) return code;
  const blica_status status = blica_select(p->ctx, p->rows, &v->options, &found);
  if (status != BLICA_OK) return fail_reading(p, status);
  progress_clear();
  code = v->json ? print_json(found, &v->options) : print_text(found);
  blica_selection_free(found);
  return code;
}

const command command_select = {
    .name = "select",
    .summary = "compare numbers of sources",
    .operands = "DATA",
    .text =
        "Compares numbers of sources by how well they predict rows that were held out: the log-likelihood of pairs of "
        "values, less that of independent items. It recommends the smallest number that is within one standard error "
        "of the best, or none. For comparison it prints the same for whole segments that were held out (A comes from "
        "the others), parallel analysis (eigenvalues against those of independent items with the same margins in every "
        "segment), Velicer's minimum average partial, and BIC of the full likelihood, which chooses too many where "
        "margins differ.",
    .examples = "blica select data.csv\n"
                "blica select data.csv --sources 2:6 --folds 10 --json",
    .groups = {{"Options", blica_select_option_table, offsetof(select_values, options)}, {"Output", own_table, 0}},
    .reads = true,
    .values = sizeof(select_values),
    .run = run,
    .shared = true,
};
