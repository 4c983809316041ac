/* cmd_identify.c - blica identify: what the design can identify and, with data, whether these data do. */
#include <stdio.h>

#include "data_args.h"
#include "output.h"
#include "program.h"

typedef struct {
  int variables, sources, segments, levels, json;
  data_values data;
} identify_values;

static const blica_option own[] = {
    OPTION(identify_values, variables, BLICA_OPT_INT, NULL, 2, 1e6, NULL, "N", "Number of variables, without a MODEL."),
    OPTION(identify_values, sources, BLICA_OPT_INT, NULL, 1, 1e6, NULL, "K", "Number of sources, without a MODEL."),
    OPTION(identify_values, segments, BLICA_OPT_INT, NULL, 1, 1e6, NULL, "U", "Number of segments, without a MODEL."),
    OPTION(identify_values, levels, BLICA_OPT_INT, "2", 2, 100, NULL, "L",
           "Levels of every variable, without a MODEL, which has its own. From three levels on the number does not "
           "matter."),
    OPTION(identify_values, json, BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL,
           "A JSON object with statistics, unknowns and surplus; with a MODEL also rank, parameters, identified, "
           "looseness."),
};
OPTION_TABLE(own_table, own)

static const char *verdict(int64_t surplus) {
  return surplus >= 0 ? "the count does not rule out identification"
                      : "more unknowns than statistics: such data cannot identify the model";
}

static json_t *rank_record(const blica_identification *id) {
  json_t *looseness = json_array();
  for (int j = 0; j < id->k; j++) json_array_append_new(looseness, json_number(id->looseness[j]));
  return json_pack("{s:I,s:I,s:b,s:o,s:o,s:o}", "rank", (json_int_t)id->rank, "parameters", (json_int_t)id->parameters,
                   "identified", id->identified, "smallest", json_number(id->smallest), "tolerance",
                   json_number(id->tolerance), "looseness", looseness);
}

static void print_rank(const blica_identification *id) {
  printf("at this model: rank %lld of %lld parameters (smallest relative eigenvalue %.3g, zero below %.1g): %s\n",
         (long long)id->rank, (long long)id->parameters, id->smallest, id->tolerance,
         id->identified ? "the design can determine the sources if their variances change"
                        : "the design cannot determine the sources");
  for (int j = 0; j < id->k && !id->identified; j++)
    printf("  source %d: %.3g of its directions are not fixed by the data\n", j + 1, id->looseness[j]);
}

/* ordinal: variables with three or more levels. */
static int report(program *p, const identify_values *v, int n, int k, int u, int ordinal,
                  const blica_identification *id) {
  int64_t statistics, unknowns;
  blica_status status = blica_identify_count(p->ctx, n, k, u, ordinal, &statistics, &unknowns);
  if (status != BLICA_OK) return fail_reading(p, status);
  int64_t surplus = statistics - unknowns;
  if (v->json) {
    json_t *record = json_pack("{s:i,s:i,s:i,s:i,s:I,s:I,s:I}", "variables", n, "sources", k, "segments", u, "ordinal",
                               ordinal, "statistics", (json_int_t)statistics, "unknowns", (json_int_t)unknowns,
                               "surplus", (json_int_t)surplus);
    if (record && id) json_object_update_new(record, rank_record(id));
    return json_print(record);
  }
  printf("%d variables", n);
  if (ordinal > 0) printf(" (%d with three or more levels)", ordinal);
  printf(", %d sources, %d segments: %lld statistics, %lld unknowns, surplus %lld\n%s\n", k, u, (long long)statistics,
         (long long)unknowns, (long long)surplus, verdict(surplus));
  if (id) print_rank(id);
  if (id && p->operand_count == 1)
    printf("whether the data show change, and how well the axes are determined: blica identify %s DATA\n",
           p->operands[0]);
  return EXIT_OK;
}

/* The verdict on a model and the rows that it was fitted to. */
static int print_identification(program *p, const identify_values *v, const blica_model *model) {
  blica_data *data = NULL;
  blica_assessment *found = NULL;
  blica_assess_options options = blica_assess_options_default();
  options.bootstrap = verdict_draws(model);
  int code = data_read(p, &v->data, p->operands[1], NULL, &data);
  if (code != EXIT_OK) return code;
  blica_status status = blica_assess(p->ctx, model, data, &options, &found);
  if (status != BLICA_OK)
    code = fail_reading(p, status);
  else
    for (int q = 0; q < BLICA_QUESTIONS; q++) printf("%s\n", found->verdict[q]);
  blica_assessment_free(found);
  blica_data_free(data);
  return code;
}

static int run_model(program *p, const identify_values *v) {
  blica_model *model = NULL;
  blica_identification *id = NULL;
  blica_status status = blica_model_load(p->ctx, p->operands[0], &model);
  if (status == BLICA_OK) status = blica_identify(p->ctx, model, &id);
  int code = status != BLICA_OK ? fail_reading(p, status)
             : p->operand_count == 2 && !v->json
                 ? print_identification(p, v, model)
                 : report(p, v, model->n, model->k, model->u, blica_ordinal_items(model->coding), id);
  blica_identification_free(id);
  blica_model_free(model);
  return code;
}

static int run(program *p, void *values) {
  const identify_values *v = values;
  bool any = v->variables || v->sources || v->segments, all = v->variables && v->sources && v->segments;
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
    .summary = "check what a design can identify and, with data, whether it does",
    .operands = "[MODEL [DATA]]",
    .least = 0,
    .most = 2,
    .text =
        "Counts the statistics of pairs of binary variables against the unknowns, as in Table 1 of the paper: u "
        "n(n-1)/2 + 2un "
        "statistics and nk + 2uk + un unknowns. A negative surplus rules the model out. With three or more levels "
        "margins show how the scale of each variable changes over segments, and one scale per variable is unknown "
        "instead of one per segment: nk + 2uk + 2(n - k) unknowns, where the free scale and mean of each source are "
        "left out and each variable has a location.\n\n"
        "With a MODEL it also checks the rank of the information that all pair correlations, and margins of three or "
        "more levels, hold about the mixing matrix and the variances at that model, and names the sources that are not "
        "determined. This is a property of the design: a full rank says nothing about the data. With the DATA of the "
        "fit it gives a verdict in four sentences: what the "
        "design can identify, whether the data show that variances change, whether the model fits, how well the axes "
        "are "
        "determined.",
    .examples = "blica identify --variables 10 --sources 10 --segments 3\n"
                "blica identify --variables 3 --sources 3 --segments 3 --levels 3\n"
                "blica identify model.json --json\n"
                "blica identify model.json data.csv",
    .groups = {{"Options", own_table, 0},
               {"How the data are read", data_option_table, offsetof(identify_values, data)}},
    .values = sizeof(identify_values),
    .run = run,
};
