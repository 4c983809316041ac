/* cmd_select.c - blica select DATA: how many sources? */
#include <math.h>
#include <stdio.h>

#include "args.h"
#include "data_args.h"
#include "output.h"

static const blica_option own[] = {
    FLAG(program, json,
         "A JSON object with sources, reason, candidates (sources, heldout, heldout_se, heldout_segments, "
         "heldout_segments_se, bic, map), eigenvalues, reference, and what each criterion chooses."),
};
OPTION_TABLE(own_table, own)

static int print_json(const blica_selection *s, const blica_select_options *o) {
  json_t *candidates = json_array();
  for (int k = 0; k <= s->highest; k++)
    json_array_append_new(
        candidates, json_members("sources:i heldout:n heldout_se:n heldout_segments:n heldout_segments_se:n bic:n "
                                 "halves:n map:n",
                                 k, s->heldout[k], s->heldout_se[k], s->heldout_segments[k], s->heldout_segments_se[k],
                                 s->bic[k], s->halves[k], s->map[k]));
  json_t *chosen = json_members("heldout:i segments:o parallel:i map:i bic:i", s->by_heldout,
                                s->by_segments < 0 ? json_null() : json_integer(s->by_segments), s->by_parallel,
                                s->by_map, s->by_bic);
  return json_print(json_members("sources:i reason:t method:t chosen:o candidates:o eigenvalues:o reference:o seed:u",
                                 s->sources, s->reason, blica_method_name(s->method), chosen, candidates,
                                 json_numbers(s->eigenvalue, s->n), json_numbers(s->reference, s->n), o->seed));
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
  const blica_select_options *options = values;
  AUTO(blica_selection) *found = NULL;
  STEP(read_rows(p, p->operands[0]));
  ASK(p, blica_select(p->ctx, p->rows, options, &found));
  progress_clear();
  return p->json ? print_json(found, options) : print_text(found);
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
    .groups = {VERB_OPTIONS("Options", select, 0), {"Output", own_table, OF_PROGRAM, 0}},
    .reads = true,
    .values = sizeof(blica_select_options),
    .run = run,
    .shared = true,
};
