/* cmd_identify.c - blica identify: what the design can identify, and how many rows it takes. */
#include <stdio.h>

#include "args.h"
#include "data_args.h"
#include "output.h"
#include "program.h"

typedef struct {
  int variables, sources, segments, levels, json;
  int64_t samples;
  double change;
} identify_values;

static const blica_option own[] = {
    OPTION(identify_values, variables, BLICA_OPT_INT, NULL, 2, 1e6, NULL, "N", "Number of variables, without a MODEL."),
    OPTION(identify_values, sources, BLICA_OPT_INT, NULL, 1, 1e6, NULL, "K", "Number of sources, without a MODEL."),
    OPTION(identify_values, segments, BLICA_OPT_INT, NULL, 1, 1e6, NULL, "U", "Number of segments, without a MODEL."),
    OPTION(identify_values, levels, BLICA_OPT_INT, "2", 2, 100, NULL, "L",
           "Levels of every variable, without a MODEL, which has its own. From three levels on the number does not "
           "matter."),
    OPTION(identify_values, samples, BLICA_OPT_INT, NULL, 10, 1e7, NULL, "ROWS",
           "Rows per segment: says which accuracy to expect, by a few simulated fits, and how many rows or segments a "
           "mean cosine similarity (MCS) of .95 takes."),
    OPTION(identify_values, change, BLICA_OPT_REAL, "0.5", 0.01, 3, NULL, "SD",
           "With --samples: by how much the sources change: standard deviation over segments of the logarithm of their "
           "standard "
           "deviations. Simulated data of this program have 0.5, groups of people often 0.1 to 0.2."),
    FLAG(identify_values, json,
         "A JSON object with statistics, unknowns and surplus; with a MODEL also rank, parameters, verdict, looseness; "
         "with --samples expected_mcs, its range, chance_mcs, rows_needed and segments_needed (null: more than "
         "were tried)."),
};
OPTION_TABLE(own_table, own)

static const char *verdict(int64_t surplus) {
  return surplus >= 0 ? "the count does not rule out identification"
                      : "more unknowns than statistics: such data cannot identify the model";
}

static json_t *rank_record(const blica_identification *id) {
  return json_members("rank:w parameters:w verdict:o smallest:n tolerance:n looseness:o", id->rank, id->parameters,
                      json_members("design:t", blica_answer_name(id->design)), id->smallest, id->tolerance,
                      json_numbers(id->looseness, id->k));
}

static void print_rank(const blica_identification *id) {
  printf("at this model: rank %lld of %lld parameters (smallest relative eigenvalue %.3g, zero below %.1g): %s\n",
         (long long)id->rank, (long long)id->parameters, id->smallest, id->tolerance,
         id->design == BLICA_YES ? "the design can determine the sources if their variances change"
                                 : "the design cannot determine the sources");
  for (int j = 0; j < id->k && id->design != BLICA_YES; j++)
    printf("  source %d: %.3g of its directions are not fixed by the data\n", j + 1, id->looseness[j]);
}

/* ---- planning: simulated fits ---- */

/* A number that is needed, or more than those that were tried: 64 times what there is. */
static const char *needed_text(int64_t needed, int64_t here, char text[40]) {
  snprintf(text, 40, needed < 0 ? "more than %lld" : "about %lld", (long long)(needed < 0 ? 64 * here : needed));
  return text;
}

/* Adds what to expect to the record, or prints it. */
static int plan(program *p, const identify_values *v, json_t *record) {
  blica_plan e;
  char rows[40], segments[40];
  ASK(p, blica_identify_plan(p->ctx, v->variables, v->sources, v->segments, v->levels, v->samples, v->change, &e));
  progress_clear();
  if (record) {
    json_t *more = json_members("expected_mcs:n range:o chance_mcs:n", e.mcs,
                                json_numbers((double[]){e.low, e.high}, 2), e.chance);
    json_object_set_new(more, "rows_needed", e.rows_needed < 0 ? json_null() : json_integer(e.rows_needed));
    json_object_set_new(more, "segments_needed", e.segments_needed < 0 ? json_null() : json_integer(e.segments_needed));
    json_object_update_new(record, more);
    return EXIT_OK;
  }
  printf("expected MCS with %lld rows per segment: %.3f (%.3f to %.3f in %d simulated fits), where %.3f is chance\n"
         "an MCS of 0.95 takes %s rows per segment, or %s segments of %lld rows\n",
         (long long)v->samples, e.mcs, e.low, e.high, e.fits, e.chance, needed_text(e.rows_needed, v->samples, rows),
         needed_text(e.segments_needed, v->segments, segments), (long long)v->samples);
  return EXIT_OK;
}

/* ---- what the design says ---- */

/* ordinal: variables with three or more levels. */
static int report(program *p, const identify_values *v, int n, int k, int u, int ordinal,
                  const blica_identification *id) {
  int64_t statistics, unknowns;
  ASK(p, blica_identify_count(p->ctx, n, k, u, ordinal, &statistics, &unknowns));
  int64_t surplus = statistics - unknowns;
  if (v->json) {
    json_t *record = json_members("variables:i sources:i segments:i ordinal:i statistics:w unknowns:w surplus:w", n, k,
                                  u, ordinal, statistics, unknowns, surplus);
    if (record && id) json_object_update_new(record, rank_record(id));
    const int code = record && v->samples && !id && surplus >= 0 ? plan(p, v, record) : EXIT_OK;
    if (code == EXIT_OK) return json_print(record);
    json_decref(record);
    return code;
  }
  printf("%d variables", n);
  if (ordinal > 0) printf(" (%d with three or more levels)", ordinal);
  printf(", %d sources, %d segments: %lld statistics, %lld unknowns, surplus %lld\n%s\n", k, u, (long long)statistics,
         (long long)unknowns, (long long)surplus, verdict(surplus));
  if (id) print_rank(id);
  if (v->samples && !id && surplus >= 0) return plan(p, v, NULL);
  if (id)
    printf("whether the data show change, and how well the axes are determined: blica assess %s DATA\n",
           p->operands[0]);
  return EXIT_OK;
}

static int run_model(program *p, const identify_values *v) {
  AUTO(blica_identification) *id = NULL;
  STEP(read_model(p));
  const blica_model *m = p->model;
  ASK(p, blica_identify(p->ctx, m, &id));
  if (m->freed) say_note("items count in all segments here, also where the fit set them free: the rank may be lower");
  return report(p, v, m->n, m->k, m->u, blica_ordinal_items(m->coding), id);
}

static int run(program *p, void *values) {
  const identify_values *v = values;
  bool any = v->variables || v->sources || v->segments || v->samples, all = v->variables && v->sources && v->segments;
  if (p->operand_count > 0 && any) {
    say_error("identify: give a MODEL or --variables, --sources and --segments, not both");
    return EXIT_USAGE;
  }
  if (p->operand_count > 0) return run_model(p, v);
  if (!all) {
    say_error("identify: give a MODEL, or all of --variables N --sources K --segments U");
    return EXIT_USAGE;
  }
  return report(p, v, v->variables, v->sources, v->segments, v->levels > 2 ? v->variables : 0, NULL);
}

const command command_identify = {
    .name = "identify",
    .summary = "check what a design can identify",
    .operands = "[MODEL]",
    .text =
        "Counts the statistics of pairs of binary variables against the unknowns, as in Table 1 of the paper: u "
        "n(n-1)/2 + 2un "
        "statistics and nk + 2uk + un unknowns. A negative surplus rules the model out. With three or more levels "
        "margins show how the scale of each variable changes over segments, and one scale per variable is unknown "
        "instead of one per segment: nk + 2uk + 2(n - k) unknowns, where the free scale and mean of each source are "
        "left out and each variable has a location. With --samples it also simulates: which accuracy to expect "
        "of a fit, and how many rows or segments an MCS of .95 takes.\n\n"
        "With a MODEL it also checks the rank of the information that all pair correlations, and margins of three or "
        "more levels, hold about the mixing matrix and the variances at that model, and names the sources that are not "
        "determined. This is a property of the design: a full rank says nothing about the data, which `blica assess` "
        "asks.",
    .examples = "blica identify --variables 10 --sources 10 --segments 3\n"
                "blica identify --variables 20 --sources 3 --segments 6 --samples 400 --change 0.2\n"
                "blica identify --variables 3 --sources 3 --segments 3 --levels 3\n"
                "blica identify model.json --json",
    .groups = {{"Options", own_table, 0, 0}},
    .values = sizeof(identify_values),
    .run = run,
};
