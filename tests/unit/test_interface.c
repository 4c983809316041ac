/* The public interface refuses what makes no sense: NULL, input that does not belong together, options of no known
 * size. tests/cli/layers.bats checks that every function of the headers stands here. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "assert_compare.h"
#include "blica_ranks.h"

static blica_ctx *ctx;

static int make(void **state) {
  (void)state;
  return blica_ctx_create(&ctx) != BLICA_OK;
}

static int drop(void **state) {
  (void)state;
  blica_ctx_free(ctx);
  return 0;
}

#define REFUSED(call) assert_int_equal(call, BLICA_ERR_ARGUMENT)

/* Without anything, and with a context but nothing else. */
static void refuse_null(blica_ctx *c) {
  void *const none = NULL;
  REFUSED(blica_pack_begin(c, 2, none, none));
  REFUSED(blica_pack_begin_items(c, 2, none, none, none, none));
  REFUSED(blica_acm(c, none, none, 0, none));
  REFUSED(blica_polyserial(c, 2, none, 2, none, none, none, none));
  REFUSED(blica_polychoric(c, 2, 2, none, none, none, none, none));
  REFUSED(blica_pack_segment(c, none, none, none));
  REFUSED(blica_pack_rows(c, none, 1, none, none));
  REFUSED(blica_pack_columns(c, none, 1, none, none));
  REFUSED(blica_pack_end(c, none, none));
  REFUSED(blica_pack_arrow(c, none, none, 0, none));
  REFUSED(blica_cut_numbers(c, 1, none, none, none));
  REFUSED(blica_data_set_weights(c, none, none));
  REFUSED(blica_data_set_clusters(c, none, none));
  REFUSED(blica_data_set_strata(c, none, none));
  REFUSED(blica_data_set_replicates(c, none, none, 2, none, none));
  REFUSED(blica_pack(c, none, none));
  REFUSED(blica_pack(c, &(blica_table){.rows = 1, .n = 2}, none));
  REFUSED(blica_count(c, none, none));
  REFUSED(blica_merge(c, 1, none, none));
  REFUSED(blica_count_add(c, none, none));
  REFUSED(blica_merge_add(c, none, none));
  REFUSED(blica_counts_coding(c, none, none));
  REFUSED(blica_check_counts(c, none, none));
  REFUSED(blica_counts_save(c, none, none));
  REFUSED(blica_counts_load(c, none, none));
  REFUSED(blica_correlate(c, none, none));
  REFUSED(blica_regularise(c, none, 10, none));
  REFUSED(blica_cor_save(c, none, none));
  REFUSED(blica_tetrachoric(c, none, none, none, none, none));
  REFUSED(blica_option_set(c, none, none, none));
  REFUSED(blica_options_check(c, none, 1, none));
  REFUSED(blica_fit(c, none, none, none));
  REFUSED(blica_fit_consume(c, none, none, none));
  REFUSED(blica_model_create(c, 2, 1, 1, none));
  assert_int_equal(blica_model_parameters(NULL), 0);
  REFUSED(blica_model_set_labels(c, none, none));
  REFUSED(blica_model_save(c, none, none));
  REFUSED(blica_model_load(c, none, none));
  REFUSED(blica_model_write(c, none, none, none));
  REFUSED(blica_model_parse(c, none, 0, none, none));
  REFUSED(blica_simulate(c, none, none, none, none));
  REFUSED(blica_simulate_rows(c, none, 1, none));
  REFUSED(blica_simulate_exact(c, none, none));
  REFUSED(blica_loglik(c, none, none, none, none));
  REFUSED(blica_mvn(c, none, none, none, none));
  REFUSED(blica_sources(c, none, none, none, none));
  REFUSED(blica_reliability_add(c, none, none, none, none));
  assert_true(isnan(blica_reliability_of(NULL, 0, 0)));
  REFUSED(blica_compare(c, 2, 1, none, none, none, none, none));
  REFUSED(blica_chance_mcs(c, none, 1, none));
  REFUSED(blica_identify_count(c, 3, 2, 2, 0, none, none));
  REFUSED(blica_identify_plan(c, 3, 2, 2, 2, 100, 0.5, none));
  REFUSED(blica_identify(c, none, none));
  REFUSED(blica_fitted(c, none, none, none));
  REFUSED(blica_assess(c, none, none, none, none));
  REFUSED(blica_invariance(c, none, none, none, none));
  REFUSED(blica_select(c, none, none, none));
  REFUSED(blica_segment(c, none, none, none));
  REFUSED(blica_pack_ranks(c, none, none));
  REFUSED(blica_merge_ranks(c, none, none));
}

static void test_null(void **state) {
  (void)state;
  int count = 0;
  refuse_null(NULL);
  refuse_null(ctx);
  REFUSED(blica_ctx_create(NULL));
  REFUSED(blica_ctx_create_with(NULL, NULL, NULL));
  assert_string_equal(blica_message(NULL), "no context");
  assert_int_equal(blica_threads(NULL), 1);
  assert_compare(blica_simd_level(NULL), >=, BLICA_SIMD_SCALAR);
  assert_int_equal(blica_method_find(NULL), -1);
  assert_string_equal(blica_method_name(-1), "unknown");
  assert_string_equal(blica_item_part_name(BLICA_LOADINGS), "loadings");
  assert_null(blica_item_part_name((blica_item_part)7));
  assert_string_equal(blica_engine_name((blica_engine)-1), "unknown");
  assert_non_null(blica_methods(NULL));
  assert_ptr_equal(blica_methods(NULL), blica_methods(&count));
  assert_compare(count, >, 1);
  assert_non_null(blica_fit_option_table(NULL));
  assert_non_null(blica_simulate_option_table(NULL));
  assert_non_null(blica_loglik_option_table(NULL));
  assert_non_null(blica_sources_option_table(NULL));
  assert_non_null(blica_assess_option_table(NULL));
  assert_non_null(blica_select_option_table(NULL));
  assert_non_null(blica_segment_option_table(NULL));
}

/* Functions without a status do nothing. */
static void test_null_void(void **state) {
  (void)state;
  blica_set_threads(NULL, 1);
  blica_set_poll(NULL, NULL, NULL);
  blica_set_warn(NULL, NULL, NULL);
  blica_set_comm(NULL, NULL);
  blica_set_simd(NULL, BLICA_SIMD_SCALAR);
  blica_counts_table(NULL, 0, 0, 1, NULL);
  blica_cor_matrix(NULL, 0, NULL);
  blica_fit_options_init(NULL, sizeof(blica_fit_options));
  blica_simulate_options_init(NULL, sizeof(blica_simulate_options));
  blica_loglik_options_init(NULL, sizeof(blica_loglik_options));
  blica_sources_options_init(NULL, sizeof(blica_sources_options));
  blica_assess_options_init(NULL, sizeof(blica_assess_options));
  blica_select_options_init(NULL, sizeof(blica_select_options));
  blica_segment_options_init(NULL, sizeof(blica_segment_options));
  blica_ctx_free(NULL);
  blica_coding_free(NULL);
  blica_packer_free(NULL);
  blica_data_free(NULL);
  blica_counts_free(NULL);
  blica_check_free(NULL);
  blica_cor_free(NULL);
  blica_model_free(NULL);
  blica_text_free(NULL);
  blica_loglik_result_free(NULL);
  blica_posterior_free(NULL);
  blica_reliability_free(NULL);
  blica_identification_free(NULL);
  blica_fitted_free(NULL);
  blica_segmentation_free(NULL);
  blica_assessment_free(NULL);
  blica_invariance_free(NULL);
  blica_selection_free(NULL);
}

/* The message names the function and the argument; outputs become NULL. */
static void test_null_message(void **state) {
  (void)state;
  blica_model *model = (blica_model *)(void *)&ctx;
  blica_fit_options options = blica_fit_options_default();
  REFUSED(blica_fit(ctx, NULL, &options, &model));
  assert_null(model);
  assert_string_equal(blica_message(ctx), "blica_fit: argument input is NULL");
}

typedef struct {
  blica_model *model;
  blica_data *data;
  blica_counts *counts;
  blica_cor *cor;
} sample;

static sample simulate(int n, int u, uint64_t seed) {
  sample s = {0};
  blica_simulate_options o = blica_simulate_options_default();
  o.variables = n, o.sources = 2, o.segments = u, o.samples = 300, o.seed = seed;
  assert_int_equal(blica_simulate(ctx, &o, &s.model, &s.data, NULL), BLICA_OK);
  assert_int_equal(blica_count(ctx, s.data, &s.counts), BLICA_OK);
  assert_int_equal(blica_correlate(ctx, s.counts, &s.cor), BLICA_OK);
  return s;
}

static void release(sample *s) {
  blica_model_free(s->model);
  blica_data_free(s->data);
  blica_counts_free(s->counts);
  blica_cor_free(s->cor);
}

static void refused_fit(const blica_input *input, const char *part_of_message) {
  blica_fit_options o = blica_fit_options_default();
  blica_model *model;
  o.sources = 2;
  REFUSED(blica_fit(ctx, input, &o, &model));
  assert_null(model);
  if (!strstr(blica_message(ctx), part_of_message)) fail_msg("message: %s", blica_message(ctx));
}

/* data, counts and cor of one fit have the same variables and segments. */
static void test_input_belongs_together(void **state) {
  (void)state;
  sample a = simulate(4, 3, 1), fewer = simulate(3, 3, 1), longer = simulate(4, 5, 1), named = simulate(4, 3, 1);
  refused_fit(&(blica_input){.data = a.data, .counts = fewer.counts}, "4 variables in 3 segments");
  refused_fit(&(blica_input){.counts = a.counts, .cor = longer.cor}, "4 in 5");
  named.counts->variables[2][0] = 'y';
  refused_fit(&(blica_input){.data = a.data, .counts = named.counts}, "variable 3 is 'x3' in data and 'y3' in counts");
  named.cor->segments[1][0] = '9';
  refused_fit(&(blica_input){.counts = a.counts, .cor = named.cor}, "segment 2 is '2' in counts and '9'");
  refused_fit(&(blica_input){0}, "all three are missing");
  release(&a), release(&fewer), release(&longer), release(&named);
}

/* Correlations that were regularised would be regularised twice. */
static void test_regularised_is_refused(void **state) {
  (void)state;
  sample a = simulate(4, 3, 2);
  blica_cor *regular, *same;
  blica_model *model;
  blica_fit_options o = blica_fit_options_default();
  o.sources = 2;
  assert_int_equal(blica_regularise(ctx, a.cor, 3, &regular), BLICA_OK);
  refused_fit(&(blica_input){.cor = regular}, "regularised already (condition 3)");
  assert_int_equal(blica_regularise(ctx, a.cor, INFINITY, &same), BLICA_OK); /* changes nothing */
  assert_int_equal(blica_fit(ctx, &(blica_input){.cor = same}, &o, &model), BLICA_OK);
  blica_model_free(model);
  blica_cor_free(regular);
  blica_cor_free(same);
  release(&a);
}

/* Options of an earlier header are shorter: what they lack has its default. */
static void test_options_of_an_earlier_header(void **state) {
  (void)state;
  sample a = simulate(4, 3, 3);
  blica_fit_options whole = blica_fit_options_default(), cut;
  blica_model *one, *two;
  const size_t known = offsetof(blica_fit_options, checkpoint);
  whole.sources = 2;
  cut = whole;
  memset((char *)&cut + known, 0x55, sizeof cut - known); /* what is behind an earlier struct is not read */
  cut.size = known;
  assert_int_equal(blica_fit(ctx, &(blica_input){.cor = a.cor}, &whole, &one), BLICA_OK);
  assert_int_equal(blica_fit(ctx, &(blica_input){.cor = a.cor}, &cut, &two), BLICA_OK);
  assert_memory_equal(one->mixing, two->mixing, 8 * sizeof(double));
  for (int wrong = 0; wrong < 2; wrong++) {
    blica_model *none;
    cut.size = wrong ? sizeof cut + 8 : 0;
    REFUSED(blica_fit(ctx, &(blica_input){.cor = a.cor}, &cut, &none));
    assert_non_null(strstr(blica_message(ctx), "blica_fit_options_default()"));
  }
  blica_fit_options_init(&cut, known);
  assert_int_equal(cut.size, known);
  blica_model_free(one);
  blica_model_free(two);
  release(&a);
}

/* A model in memory is the file. */
static void test_model_in_memory(void **state) {
  (void)state;
  sample a = simulate(4, 3, 4);
  char *text, *again;
  size_t length, other;
  blica_model *back;
  assert_int_equal(blica_model_write(ctx, a.model, &text, &length), BLICA_OK);
  assert_int_equal(strlen(text), length);
  assert_int_equal(blica_model_parse(ctx, text, length, "in memory", &back), BLICA_OK);
  assert_int_equal(blica_model_write(ctx, back, &again, &other), BLICA_OK);
  assert_string_equal(text, again);
  assert_memory_equal(a.model->mixing, back->mixing, 8 * sizeof(double));
  blica_model_free(back);
  assert_int_equal(blica_model_parse(ctx, text, length / 2, "in memory", &back), BLICA_ERR_FORMAT);
  assert_null(back);
  blica_text_free(text);
  blica_text_free(again);
  release(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_null),
      cmocka_unit_test(test_null_void),
      cmocka_unit_test(test_null_message),
      cmocka_unit_test(test_input_belongs_together),
      cmocka_unit_test(test_regularised_is_refused),
      cmocka_unit_test(test_options_of_an_earlier_header),
      cmocka_unit_test(test_model_in_memory),
  };
  return cmocka_run_group_tests(tests, make, drop);
}
