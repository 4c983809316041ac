/* assessment_file.c - reads what blica assess --out wrote (cmd_assess.c has the writer). */
#include "data_args.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "messages.h"
#include "output.h"

/* A number as json_number writes it; anything else is NaN. */
static double number(const json_t *value) {
  if (json_is_string(value))
    return strcmp(json_string_value(value), "Infinity") == 0    ? INFINITY
           : strcmp(json_string_value(value), "-Infinity") == 0 ? -INFINITY
                                                                : NAN;
  return json_is_number(value) ? json_number_value(value) : NAN;
}

static double field(const json_t *object, const char *name) {
  return number(json_object_get(object, name));
}

/* Lists of `width` numbers into x[list + width position], or x[position + list count] transposed. False when the sizes
 * differ. */
static bool numbers(const json_t *lists, int count, int width, bool transposed, double *x) {
  if (!json_is_array(lists) || (int)json_array_size(lists) != count) return false;
  for (int i = 0; i < count; i++) {
    const json_t *list = json_array_get(lists, (size_t)i);
    if (!json_is_array(list) || (int)json_array_size(list) != width) return false;
    for (int j = 0; j < width; j++)
      x[transposed ? i + (size_t)j * count : (size_t)i * width + j] = number(json_array_get(list, (size_t)j));
  }
  return true;
}

/* One field of each object of a list. */
static bool fields(const json_t *list, int count, const char *name, double *x) {
  if (!json_is_array(list) || (int)json_array_size(list) != count) return false;
  for (int i = 0; i < count; i++) x[i] = field(json_array_get(list, (size_t)i), name);
  return true;
}

/* The arrays of an assessment are one block, which begins at mixing_se. */
static bool allocate(blica_assessment *a) {
  const size_t nk = (size_t)a->n * a->k, ku = (size_t)a->k * a->u, planes = (size_t)a->planes;
  double **const array[] = {&a->mixing_se,    &a->mixing_low,    &a->mixing_high, &a->log_variance_se,
                            &a->variance_low, &a->variance_high, &a->mean_se,     &a->threshold_se,
                            &a->cut_se,       &a->angle,         &a->angle_bound, &a->source_change_p,
                            &a->stability,    &a->segment_srmr,  &a->segment_m2,  &a->item_srmr};
  const size_t size[] = {
      nk,     nk,           nk,           ku,           ku,           ku,           ku,           planes * (size_t)a->u,
      planes, (size_t)a->k, (size_t)a->k, (size_t)a->k, (size_t)a->k, (size_t)a->u, (size_t)a->u, (size_t)a->n};
  size_t total = 0;
  for (size_t i = 0; i < sizeof size / sizeof *size; i++) total += size[i];
  double *block = malloc(total * sizeof *block);
  for (size_t i = 0; block && i < sizeof size / sizeof *size; block += size[i++]) *array[i] = block;
  return block != NULL;
}

static bool read_answers(const json_t *r, blica_assessment *a) {
  const json_t *verdict = json_object_get(r, "verdict"), *sentences = json_object_get(r, "sentences");
  for (int q = 0; q < BLICA_QUESTIONS; q++) {
    const char *said = json_string_value(json_object_get(verdict, blica_question_name(q)));
    const char *sentence = json_string_value(json_array_get(sentences, (size_t)q));
    if (!said || !sentence) return false;
    int answer = BLICA_YES;
    while (answer <= BLICA_UNKNOWN && strcmp(said, blica_answer_name((blica_answer)answer)) != 0) answer++;
    if (answer > BLICA_UNKNOWN) return false;
    a->answer[q] = (blica_answer)answer;
    snprintf(a->verdict[q], sizeof a->verdict[q], "%s", sentence);
  }
  return true;
}

static int place(char **names, int count, const json_t *name) {
  return json_is_string(name) ? table_place(names, count, json_string_value(name), json_string_length(name)) : -1;
}

static void read_numbers(const json_t *r, blica_assessment *a) {
  const json_t *change = json_object_get(r, "change"), *rows = json_object_get(r, "rows"),
               *margins = json_object_get(r, "margins"), *rmsea2 = json_object_get(r, "rmsea2_interval"),
               *srmr = json_object_get(r, "srmr_interval");
  a->level = field(r, "level"), a->expected_mcs = field(r, "expected_mcs"), a->chance_mcs = field(r, "chance_mcs");
  a->draws_planned = (int)json_integer_value(json_object_get(r, "draws_planned"));
  a->segments_found = json_is_true(json_object_get(r, "segments_found"));
  a->change_p = field(change, "p"), a->lag = field(change, "lag"), a->lag_z = field(change, "lag_z");
  a->decay = field(change, "decay"), a->inflation = field(change, "inflation");
  a->draws_per_segment = field(change, "draws_per_segment"), a->change_beyond_p = field(change, "beyond_means_p");
  a->srmr = field(r, "srmr"), a->srmr_unbiased = field(r, "srmr_unbiased");
  a->srmr_low = number(json_array_get(srmr, 0)), a->srmr_high = number(json_array_get(srmr, 1));
  a->m2 = field(r, "m2"), a->m2_p = field(r, "m2_p"), a->tails_p = field(r, "tails_p"), a->rmsea2 = field(r, "rmsea2");
  a->rmsea2_low = number(json_array_get(rmsea2, 0)), a->rmsea2_high = number(json_array_get(rmsea2, 1));
  a->df = json_integer_value(json_object_get(r, "df"));
  a->draws = (int)json_integer_value(json_object_get(r, "draws"));
  a->distance = field(r, "distance"), a->refit_mcs = field(r, "refit_mcs");
  a->refit_gain = field(r, "refit_gain");
  a->rows = field(rows, "number"), a->clusters = json_integer_value(json_object_get(rows, "clusters"));
  a->strata = json_integer_value(json_object_get(rows, "strata"));
  a->block_length = json_integer_value(json_object_get(rows, "block_length"));
  a->replicates = (int)json_integer_value(json_object_get(rows, "replicates"));
  a->margin_p = field(margins, "p"), a->margin_size = field(margins, "size"), a->margin_shift = field(margins, "shift");
  a->margin_item = place(a->variables, a->n, json_object_get(margins, "item"));
  a->margin_segment = place(a->segments, a->u, json_object_get(margins, "segment"));
}

static bool read_arrays(const json_t *r, blica_assessment *a) {
  const json_t *mixing = json_object_get(r, "mixing"), *variances = json_object_get(r, "variances"),
               *columns = json_object_get(r, "columns"), *cuts = json_object_get(r, "cuts_se"),
               *segments = json_object_get(r, "segments");
  if (!json_is_array(cuts) || (int)json_array_size(cuts) != a->planes) return false;
  for (int i = 0; i < a->planes; i++) a->cut_se[i] = number(json_array_get(cuts, (size_t)i));
  return numbers(json_object_get(mixing, "se"), a->n, a->k, true, a->mixing_se) &&
         numbers(json_object_get(mixing, "low"), a->n, a->k, true, a->mixing_low) &&
         numbers(json_object_get(mixing, "high"), a->n, a->k, true, a->mixing_high) &&
         numbers(json_object_get(variances, "log_se"), a->u, a->k, false, a->log_variance_se) &&
         numbers(json_object_get(variances, "low"), a->u, a->k, false, a->variance_low) &&
         numbers(json_object_get(variances, "high"), a->u, a->k, false, a->variance_high) &&
         numbers(json_object_get(r, "means_se"), a->u, a->k, false, a->mean_se) &&
         numbers(json_object_get(r, "thresholds_se"), a->u, a->planes, false, a->threshold_se) &&
         fields(columns, a->k, "angle_degrees", a->angle) &&
         fields(columns, a->k, "angle_bound_degrees", a->angle_bound) &&
         fields(columns, a->k, "change_p", a->source_change_p) && fields(columns, a->k, "stability", a->stability) &&
         fields(segments, a->u, "srmr", a->segment_srmr) && fields(segments, a->u, "m2", a->segment_m2) &&
         fields(json_object_get(r, "items"), a->n, "srmr", a->item_srmr);
}

/* Whether the loadings that were assessed are those of the model. */
static bool of_model(const json_t *r, const blica_model *m) {
  OWNED double *x = malloc(sizeof *x * (size_t)m->n * m->k);
  return x && numbers(json_object_get(json_object_get(r, "mixing"), "estimate"), m->n, m->k, true, x) &&
         memcmp(x, m->mixing, sizeof *x * (size_t)m->n * m->k) == 0;
}

blica_assessment *assessment_read(const char *path, const blica_model *model, int *code) {
  json_error_t error;
  json_t *r = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
  blica_assessment *a = NULL;
  bool fine = false;
  *code = EXIT_DATA;
  if (!r) {
    say_error("assessment '%s', line %d: %s", path, error.line, error.text);
  } else if (!of_model(r, model)) {
    say_error("'%s' is not an assessment of this model by blica assess --out; assess the model again", path);
  } else if ((a = calloc(1, sizeof *a)) != NULL) {
    a->n = model->n, a->k = model->k, a->u = model->u, a->planes = model->planes;
    a->variables = model->variables, a->segments = model->segments, a->twin[0] = a->twin[1] = -1;
    fine = allocate(a) && read_answers(r, a) && read_arrays(r, a);
    if (fine) read_numbers(r, a);
    if (fine && isnan(a->stability[0])) a->stability = NULL; /* it is in the block of the others */
    if (!fine) say_error("assessment '%s' is not complete; write it again by blica assess --out", path);
  }
  json_decref(r);
  if (fine) *code = EXIT_OK;
  if (!fine) assessment_close(a), a = NULL;
  return a;
}

void assessment_close(blica_assessment *a) {
  if (a) free(a->mixing_se);
  free(a);
}
