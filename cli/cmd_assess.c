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
static json_t *by_item(const double *x, int rows, int columns) {
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
  for (int j = 0; j < a->k; j++)
    json_array_append_new(list, json_members("source:o angle_degrees:n angle_bound_degrees:n change_p:n stability:n",
                                             json_sprintf("z%d", j + 1), a->angle[j], a->angle_bound[j],
                                             a->source_change_p[j], a->stability ? a->stability[j] : NAN));
  return list;
}

static json_t *items_record(const blica_assessment *a) {
  json_t *list = json_array();
  for (int i = 0; i < a->n; i++)
    json_array_append_new(list, json_members("variable:t srmr:n", a->variables[i], a->item_srmr[i]));
  return list;
}

static json_t *segments_record(const blica_assessment *a) {
  json_t *list = json_array();
  for (int s = 0; s < a->u; s++)
    json_array_append_new(list,
                          json_members("segment:t srmr:n m2:n", a->segments[s], a->segment_srmr[s], a->segment_m2[s]));
  return list;
}

static json_t *record(const blica_model *m, const blica_assessment *a, const blica_assess_options *o) {
  json_t *verdict = json_object(), *sentences = json_array();
  for (int q = 0; q < BLICA_QUESTIONS; q++) {
    json_object_set_new(verdict, blica_question_name(q), json_string(blica_answer_name(a->answer[q])));
    json_array_append_new(sentences, json_text(a->verdict[q]));
  }
  const bool margins = a->margin_item >= 0;
  return json_members(
      "expected_mcs:n columns:o change:o srmr:n rmsea2:n rmsea2_interval:o m2:n df:w m2_p:n tails_p:n verdict:o "
      "sentences:o "
      "segments_found:b distance:n refit_mcs:n refit_gain:n chance_mcs:n srmr_unbiased:n srmr_interval:o rows:o "
      "margins:o mixing:o variances:o means_se_bootstrap:o thresholds_se:o means_se:o cuts_se:o items:o segments:o "
      "level:n draws:i draws_planned:i seed:w",
      a->expected_mcs, columns_record(a),
      json_members("p:n beyond_means_p:n lag:n lag_z:n decay:n inflation:n draws_per_segment:n", a->change_p,
                   a->change_beyond_p, a->lag, a->lag_z, a->decay, a->inflation, a->draws_per_segment),
      a->srmr, a->rmsea2, json_numbers((double[]){a->rmsea2_low, a->rmsea2_high}, 2), a->m2, a->df, a->m2_p, a->tails_p,
      verdict, sentences, a->segments_found, a->distance, a->refit_mcs, a->refit_gain, a->chance_mcs, a->srmr_unbiased,
      json_numbers((double[]){a->srmr_low, a->srmr_high}, 2),
      json_members("number:n block_length:w clusters:w strata:w replicates:i", a->rows, a->block_length, a->clusters,
                   a->strata, a->replicates),
      json_members("p:n size:n item:t segment:t shift:n", a->margin_p, a->margin_size,
                   margins ? a->variables[a->margin_item] : NULL, margins ? a->segments[a->margin_segment] : NULL,
                   margins ? a->margin_shift : NAN),
      json_members("estimate:o se:o se_bootstrap:o low:o high:o", by_item(m->mixing, a->n, a->k),
                   by_item(a->mixing_se, a->n, a->k), by_item(a->mixing_se_bootstrap, a->n, a->k),
                   by_item(a->mixing_low, a->n, a->k), by_item(a->mixing_high, a->n, a->k)),
      json_members("log_se:o log_se_bootstrap:o low:o high:o", by_segment(a->log_variance_se, a->k, a->u),
                   by_segment(a->log_variance_se_bootstrap, a->k, a->u), by_segment(a->variance_low, a->k, a->u),
                   by_segment(a->variance_high, a->k, a->u)),
      by_segment(a->mean_se_bootstrap, a->k, a->u), by_segment(a->threshold_se, a->planes, a->u),
      by_segment(a->mean_se, a->k, a->u), json_numbers(a->cut_se, a->planes), items_record(a), segments_record(a),
      a->level, a->draws, a->draws_planned, (int64_t)o->seed);
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
  return interrupted() ? EXIT_INTERRUPTED : v->strict && !certified(result) ? EXIT_NOT_CERTIFIED : EXIT_OK;
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
    .groups = {VERB_OPTIONS("Options", assess, offsetof(assess_values, options)), {"Output", own_table, 0, 0}},
    .reads = true,
    .values = sizeof(assess_values),
    .run = run,
    .shared = true,
};
