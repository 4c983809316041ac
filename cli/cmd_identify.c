/* cmd_identify.c - blica identify: can the mixing matrix be told at all? */
#include <stdio.h>

#include "output.h"
#include "program.h"

typedef struct {
  int variables, sources, segments, json;
} identify_values;

static const blica_option own[] = {
    OPTION(identify_values, variables, BLICA_OPT_INT, NULL, 2, 1e6, NULL, "N", "Number of variables, without a MODEL."),
    OPTION(identify_values, sources, BLICA_OPT_INT, NULL, 1, 1e6, NULL, "K", "Number of sources, without a MODEL."),
    OPTION(identify_values, segments, BLICA_OPT_INT, NULL, 1, 1e6, NULL, "U", "Number of segments, without a MODEL."),
    OPTION(identify_values, json, BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL,
           "A JSON object with statistics, unknowns and surplus; with a MODEL also rank, parameters, identified, "
           "looseness."),
};
OPTION_TABLE(own_table, own)

static const char *verdict(int64_t surplus) {
  return surplus >= 0 ? "the counts alone do not rule out that the model can be told"
                      : "more unknowns than statistics: the model cannot be told from such data";
}

static json_t *rank_record(const blica_identification *id) {
  json_t *looseness = json_array();
  for (int j = 0; j < id->k; j++) json_array_append_new(looseness, json_number(id->looseness[j]));
  return json_pack("{s:I,s:I,s:b,s:o,s:o,s:o}", "rank", (json_int_t)id->rank, "parameters", (json_int_t)id->parameters,
                   "identified", id->identified, "smallest", json_number(id->smallest), "tolerance",
                   json_number(id->tolerance), "looseness", looseness);
}

static void tell_rank(const blica_identification *id) {
  printf("at this model: rank %lld of %lld parameters (smallest relative eigenvalue %.3g, zero below %.1g): %s\n",
         (long long)id->rank, (long long)id->parameters, id->smallest, id->tolerance,
         id->identified ? "locally identified" : "NOT identified");
  for (int j = 0; j < id->k && !id->identified; j++)
    printf("  source %d: %.3g of its directions are not fixed by the data\n", j + 1, id->looseness[j]);
}

static int report(program *p, const identify_values *v, int n, int k, int u, const blica_identification *id) {
  int64_t statistics, unknowns;
  blica_status status = blica_identify_count(p->ctx, n, k, u, &statistics, &unknowns);
  if (status != BLICA_OK) return fail_reading(p, status);
  int64_t surplus = statistics - unknowns;
  if (v->json) {
    json_t *record =
        json_pack("{s:i,s:i,s:i,s:I,s:I,s:I}", "variables", n, "sources", k, "segments", u, "statistics",
                  (json_int_t)statistics, "unknowns", (json_int_t)unknowns, "surplus", (json_int_t)surplus);
    if (record && id) json_object_update_new(record, rank_record(id));
    return json_print(record);
  }
  printf("%d variables, %d sources, %d segments: %lld statistics, %lld unknowns, surplus %lld\n%s\n", n, k, u,
         (long long)statistics, (long long)unknowns, (long long)surplus, verdict(surplus));
  if (id) tell_rank(id);
  return EXIT_OK;
}

static int run_model(program *p, const identify_values *v) {
  blica_model *model = NULL;
  blica_identification *id = NULL;
  blica_status status = blica_model_load(p->ctx, p->operands[0], &model);
  if (status == BLICA_OK) status = blica_identify(p->ctx, model, &id);
  int code = status == BLICA_OK ? report(p, v, model->n, model->k, model->u, id) : fail_reading(p, status);
  blica_identification_free(id);
  blica_model_free(model);
  return code;
}

static int run(program *p, void *values) {
  const identify_values *v = values;
  bool any = v->variables || v->sources || v->segments, all = v->variables && v->sources && v->segments;
  if (p->operand_count == 1 && any) {
    say_error("identify: give a MODEL or --variables, --sources and --segments, not both");
    return EXIT_USAGE;
  }
  if (p->operand_count == 1) return run_model(p, v);
  if (!all) {
    say_error("identify: give a MODEL, or all of --variables N --sources K --segments U");
    return EXIT_USAGE;
  }
  return report(p, v, v->variables, v->sources, v->segments, NULL);
}

const command command_identify = {
    .name = "identify",
    .summary = "whether the data can tell the mixing matrix",
    .operands = "[MODEL]",
    .least = 0,
    .most = 1,
    .text = "Counts what pairs of binary variables tell against what is unknown, as in Table 1 of the paper: u "
            "n(n-1)/2 + 2un "
            "statistics and nk + 2uk + un unknowns. A negative surplus rules the model out.\n\n"
            "With a MODEL it also checks the rank of the information that all pair correlations hold about the mixing "
            "matrix and "
            "the variances at that model, and names the sources that are left loose.",
    .examples = "blica identify --variables 10 --sources 10 --segments 3\n"
                "blica identify model.json --json",
    .groups = {{"Options", own_table, 0}},
    .values = sizeof(identify_values),
    .run = run,
};
