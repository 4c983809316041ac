/* cmd_assess.c - blica assess MODEL DATA: how far the estimate can be trusted. */
#include <math.h>
#include <stdio.h>

#include "args.h"
#include "communicator.h"
#include "data_args.h"
#include "output.h"

typedef struct {
  blica_assess_options options;
  const char *out;
  int json, strict;
} assess_values;

static const blica_option own[] = {
    TEXT(assess_values, out, "FILE", "Write all numbers here, as JSON."),
    FLAG(assess_values, json,
         "A JSON object with verdict (design, change, fit, axes: yes, weak, no or unknown), sentences, expected_mcs, "
         "chance_mcs, distance, columns (source, angle_degrees, ...), change (p), srmr, rmsea2, m2, "
         "mixing, variances, items and segments."),
    FLAG(assess_values, strict, "Exit with status 5 unless all four answers of the verdict are yes."),
};
OPTION_TABLE(own_table, own)

/* ---- JSON ---- */

/* Rows of x [rows,columns]. */
static json_t *matrix(const double *x, int rows, int columns) {
  if (!x) return json_null();
  json_t *list = json_array();
  for (int i = 0; i < rows; i++) {
    json_t *row = json_array();
    for (int j = 0; j < columns; j++) json_array_append_new(row, json_number(x[i + (size_t)j * rows]));
    json_array_append_new(list, row);
  }
  return list;
}

/* One list of k numbers per segment, as in model.json. */
static json_t *by_segment(const double *x, int k, int u) {
  if (!x) return json_null();
  json_t *list = json_array();
  for (int s = 0; s < u; s++) json_array_append_new(list, json_numbers(x + (size_t)s * k, k));
  return list;
}

static json_t *columns_record(const blica_assessment *a) {
  json_t *list = json_array();
  for (int j = 0; j < a->k; j++) {
    char name[32];
    snprintf(name, sizeof name, "z%d", j + 1);
    json_array_append_new(list,
                          json_pack("{s:s,s:o,s:o,s:o,s:o}", "source", name, "angle_degrees", json_number(a->angle[j]),
                                    "angle_bound_degrees", json_number(a->angle_bound[j]), "change_p",
                                    json_number(a->source_change_p[j]), "stability",
                                    a->stability ? json_number(a->stability[j]) : json_null()));
  }
  return list;
}

static json_t *named(char **names, int count, const char *what, const double *srmr, const double *m2) {
  json_t *list = json_array();
  for (int i = 0; i < count; i++) {
    json_t *item = json_pack("{s:o,s:o}", what, json_text(names[i]), "srmr", json_number(srmr[i]));
    if (m2) json_object_set_new(item, "m2", json_number(m2[i]));
    json_array_append_new(list, item);
  }
  return list;
}

static json_t *record(const blica_model *m, const blica_assessment *a, const blica_assess_options *o) {
  json_t *r =
      json_pack("{s:o,s:o,s:{s:o,s:o,s:o,s:o,s:o,s:o,s:o},s:o,s:o,s:[o,o],s:o,s:I,s:o}", "expected_mcs",
                json_number(a->expected_mcs), "columns", columns_record(a), "change", "p", json_number(a->change_p),
                "beyond_means_p", json_number(a->change_beyond_p), "lag", json_number(a->lag), "lag_z",
                json_number(a->lag_z), "decay", json_number(a->decay), "inflation", json_number(a->inflation),
                "draws_per_segment", json_number(a->draws_per_segment), "srmr", json_number(a->srmr), "rmsea2",
                json_number(a->rmsea2), "rmsea2_interval", json_number(a->rmsea2_low), json_number(a->rmsea2_high),
                "m2", json_number(a->m2), "df", (json_int_t)a->df, "m2_p", json_number(a->m2_p));
  if (!r) return NULL;
  json_t *verdict = json_object(), *sentences = json_array();
  for (int q = 0; q < BLICA_QUESTIONS; q++) {
    json_object_set_new(verdict, blica_question_name(q), json_string(blica_answer_name(a->answer[q])));
    json_array_append_new(sentences, json_text(a->verdict[q]));
  }
  json_object_set_new(r, "verdict", verdict);
  json_object_set_new(r, "sentences", sentences);
  json_object_set_new(r, "segments_found", json_boolean(a->segments_found));
  json_object_set_new(r, "distance", json_number(a->distance));
  json_object_set_new(r, "refit_mcs", json_number(a->refit_mcs));
  json_object_set_new(r, "refit_gain", json_number(a->refit_gain));
  json_object_set_new(r, "chance_mcs", json_number(a->chance_mcs));
  json_object_set_new(r, "srmr_unbiased", json_number(a->srmr_unbiased));
  json_object_set_new(r, "srmr_interval", json_pack("[o,o]", json_number(a->srmr_low), json_number(a->srmr_high)));
  json_object_set_new(r, "rows",
                      json_pack("{s:o,s:I,s:I,s:I,s:i}", "number", json_number(a->rows), "block_length",
                                (json_int_t)a->block_length, "clusters", (json_int_t)a->clusters, "strata",
                                (json_int_t)a->strata, "replicates", a->replicates));
  const bool margins = a->margin_item >= 0;
  json_object_set_new(r, "margins",
                      json_pack("{s:o,s:o,s:o,s:o,s:o}", "p", json_number(a->margin_p), "size",
                                json_number(a->margin_size), "item",
                                margins ? json_text(a->variables[a->margin_item]) : json_null(), "segment",
                                margins ? json_text(a->segments[a->margin_segment]) : json_null(), "shift",
                                margins ? json_number(a->margin_shift) : json_null()));
  json_t *mixing =
      json_pack("{s:o,s:o,s:o,s:o,s:o}", "estimate", matrix(m->mixing, a->n, a->k), "se",
                matrix(a->mixing_se, a->n, a->k), "se_bootstrap", matrix(a->mixing_se_bootstrap, a->n, a->k), "low",
                matrix(a->mixing_low, a->n, a->k), "high", matrix(a->mixing_high, a->n, a->k));
  json_t *variances =
      json_pack("{s:o,s:o,s:o,s:o}", "log_se", by_segment(a->log_variance_se, a->k, a->u), "log_se_bootstrap",
                by_segment(a->log_variance_se_bootstrap, a->k, a->u), "low", by_segment(a->variance_low, a->k, a->u),
                "high", by_segment(a->variance_high, a->k, a->u));
  json_object_set_new(r, "mixing", mixing);
  json_object_set_new(r, "variances", variances);
  json_object_set_new(r, "means_se_bootstrap", by_segment(a->mean_se_bootstrap, a->k, a->u));
  json_object_set_new(r, "thresholds_se", by_segment(a->threshold_se, a->planes, a->u));
  json_object_set_new(r, "means_se", by_segment(a->mean_se, a->k, a->u));
  json_object_set_new(r, "cuts_se", json_numbers(a->cut_se, a->planes));
  json_object_set_new(r, "items", named(a->variables, a->n, "variable", a->item_srmr, NULL));
  json_object_set_new(r, "segments", named(a->segments, a->u, "segment", a->segment_srmr, a->segment_m2));
  json_object_set_new(r, "level", json_number(a->level));
  json_object_set_new(r, "draws", json_integer(a->draws));
  json_object_set_new(r, "draws_planned", json_integer(a->draws_planned));
  json_object_set_new(r, "seed", json_integer((json_int_t)o->seed));
  return r;
}

/* ---- text ---- */

static int print_text(const blica_model *m, const blica_assessment *a) {
  for (int q = 0; q < BLICA_QUESTIONS; q++) print_sentences(stdout, a->verdict[q]);
  printf("\nsource\tangle\t90 %%\tchange p%s\n", a->stability ? "\tstable" : "");
  for (int j = 0; j < a->k; j++) {
    printf("z%d", j + 1);
    print_cell(1, a->angle[j]);
    print_cell(1, a->angle_bound[j]);
    if (a->source_change_p[j] < 0.001)
      printf("\t<.001");
    else
      print_cell(3, a->source_change_p[j]);
    if (a->stability) print_cell(2, a->stability[j]);
    printf("\n");
  }
  printf("\n");
  if (print_loadings(m, a->mixing_se, stdout)) return EXIT_OK;
  say_error("out of memory");
  return EXIT_FAILED;
}

/* Whether all answers are yes. */
static bool certified(const blica_assessment *a) {
  bool all = true;
  for (int q = 0; q < BLICA_QUESTIONS; q++) all = all && a->answer[q] == BLICA_YES;
  return all;
}

static int run(program *p, void *values) {
  assess_values *v = values;
  AUTO(blica_assessment) *result = NULL;
  p->data.replicates_known = true;
  STEP(read_model_and_rows(p));
  ASK(p, blica_assess(p->ctx, p->model, p->rows, &v->options, &result));
  if (!v->json) STEP(print_text(p->model, result));
  STEP(json_give(record(p->model, result, &v->options), v->out, v->json));
  if (!interrupted()) return v->strict && !certified(result) ? EXIT_NOT_CERTIFIED : EXIT_OK;
  say_warning("interrupted; numbers are those of %d of %d refits", result->draws, result->draws_planned);
  return EXIT_INTERRUPTED;
}

const command command_assess = {
    .name = "assess",
    .summary = "how far a fit can be trusted: errors, angles, change, fit",
    .operands = "MODEL DATA",
    .text =
        "Answers four questions about a fit, from the rows that it was fitted to. What can the design identify? Do the "
        "variances change over these segments (a test)? How well are the axes determined (the angle by "
        "which each column may be off, and the mean cosine similarity (MCS) with the truth to expect)? Does the model "
        "fit (SRMR, M2, RMSEA2)? It also gives standard errors and intervals of loadings and variances.\n\n"
        "Errors come from the asymptotic distribution and, unless --bootstrap is none, from refits of rows that are "
        "drawn anew within segments. The asymptotic errors count the bias of learned priors, which the bootstrap "
        "cannot see; the bootstrap shows how stable each column is. Where they differ much the axes are weakly "
        "determined; errors, angles and the expected MCS are those of the larger. Replicate weights take the place of "
        "both: errors are then those that official surveys publish.\n\n"
        "Ctrl-C stops the refits; numbers are then those of the refits that are finished, if they are 20 or more.\n\n"
        "A model that is not at the optimum of its own method for these data gets no errors and is not certified: the "
        "model is fitted again first, and its distance from the refit is given in standard errors.",
    .examples = "blica assess model.json data.csv\n"
                "blica assess model.json data.csv --bootstrap none --json",
    .groups = {VERB_OPTIONS("Options", assess, assess_values, options), {"Output", own_table, 0, 0}},
    .reads = true,
    .values = sizeof(assess_values),
    .run = run,
    .shared = true,
};
