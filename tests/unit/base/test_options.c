/* The tables of options: defaults, ranges, words, and refusals that name option and value. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "context.h"

static const blica_option *find(const blica_option *table, int count, const char *name) {
  for (int i = 0; i < count; i++)
    if (strcmp(table[i].name, name) == 0) return &table[i];
  fail_msg("no option %s", name);
  return NULL;
}

static const blica_option *fit_option(const char *name) {
  int count;
  const blica_option *table = blica_fit_option_table(&count);
  return find(table, count, name);
}

static void fit_defaults(void **state) {
  (void)state;
  blica_fit_options o = blica_fit_options_default();
  assert_int_equal(o.method, BLICA_METHOD_AUTO);
  assert_int_equal(o.sources, 0);
  assert_int_equal(o.starts, 3);
  assert_true(o.seed == 1);
  assert_true(o.condition == BLICA_CONDITION_DEFAULT);
  assert_true(o.link == atan(1.0) / 2);
  assert_true(o.max_iterations == 0);
  assert_true(o.tolerance == -1);
  assert_true(isinf(o.max_seconds) && o.max_seconds > 0);
  assert_true(o.prior_mixing == 3 && o.prior_variance == 1 && o.likelihood_power == 1);
}

static void simulate_defaults(void **state) {
  (void)state;
  blica_simulate_options o = blica_simulate_options_default();
  assert_int_equal(o.variables, 10);
  assert_int_equal(o.sources, 10);
  assert_int_equal(o.segments, 40);
  assert_true(o.samples == 1000 && o.seed == 1 && o.exact == 0);
  assert_true(o.mixing_range == 3 && o.sd_low == 0.5 && o.sd_high == 3 && o.mean_range == 0.5);
}

/* The defaults themselves go through validation without a context, so each must be valid. */
static void every_row(const blica_option *table, int count, void *options) {
  for (int i = 0; i < count; i++) {
    const blica_option *o = &table[i];
    assert_non_null(o->help);
    assert_true(o->type == BLICA_OPT_FLAG || o->metavar);
    if (o->initial) assert_int_equal(blica_option_set(ctx, o, options, o->initial), BLICA_OK);
    if (o->type == BLICA_OPT_TEXT) { /* free text, borrowed */
      const char *text = "any";
      assert_int_equal(blica_option_set(ctx, o, options, text), BLICA_OK);
      assert_ptr_equal(*(const char **)((char *)options + o->offset), text);
      continue;
    }
    assert_int_equal(blica_option_set(ctx, o, options, ""), BLICA_ERR_ARGUMENT);
    assert_int_equal(blica_option_set(ctx, o, options, "nonsense"), BLICA_ERR_ARGUMENT);
    assert_non_null(strstr(blica_message(ctx), o->name));
    assert_non_null(strstr(blica_message(ctx), "nonsense"));
    assert_int_equal(blica_option_set(ctx, o, options, NULL), BLICA_ERR_ARGUMENT);
    if (o->type != BLICA_OPT_INT && o->type != BLICA_OPT_REAL) continue;
    char text[64];
    snprintf(text, sizeof text, "%.17g", o->low);
    assert_int_equal(blica_option_set(ctx, o, options, text), BLICA_OK);
    snprintf(text, sizeof text, "%.17g", o->low - (o->type == BLICA_OPT_INT ? 1 : 1e-3));
    assert_int_equal(blica_option_set(ctx, o, options, text), BLICA_ERR_ARGUMENT);
    assert_non_null(strstr(blica_message(ctx), text));
    if (isinf(o->high)) continue;
    snprintf(text, sizeof text, o->type == BLICA_OPT_INT ? "%.0f" : "%.17g", o->high);
    assert_int_equal(blica_option_set(ctx, o, options, text), BLICA_OK);
    snprintf(text, sizeof text, "%.0f", 2 * o->high + 1);
    assert_int_equal(blica_option_set(ctx, o, options, text), BLICA_ERR_ARGUMENT);
  }
}

static void every_fit_option(void **state) {
  (void)state;
  int count;
  blica_fit_options o = blica_fit_options_default();
  const blica_option *table = blica_fit_option_table(&count);
  every_row(table, count, &o);
}

static void every_simulate_option(void **state) {
  (void)state;
  int count;
  blica_simulate_options o = blica_simulate_options_default();
  const blica_option *table = blica_simulate_option_table(&count);
  every_row(table, count, &o);
}

static void words(void **state) {
  (void)state;
  blica_fit_options o = blica_fit_options_default();
  const blica_option *condition = fit_option("condition");
  assert_int_equal(blica_option_set(ctx, condition, &o, "none"), BLICA_OK);
  assert_true(isinf(o.condition) && o.condition > 0);
  assert_int_equal(blica_option_set(ctx, condition, &o, "auto"), BLICA_ERR_ARGUMENT);
  assert_int_equal(blica_option_set(ctx, condition, &o, "30.5"), BLICA_OK);
  assert_true(o.condition == 30.5);
  assert_int_equal(blica_option_set(ctx, condition, &o, "-1"), BLICA_ERR_ARGUMENT);
  assert_int_equal(blica_option_set(ctx, condition, &o, "nan"), BLICA_ERR_ARGUMENT);
  assert_true(o.condition == 30.5); /* a refused value changes nothing */
  assert_int_equal(blica_option_set(ctx, fit_option("prior"), &o, "fixed"), BLICA_OK);
  assert_int_equal(o.prior, BLICA_PRIOR_FIXED);
  assert_int_equal(blica_option_set(ctx, fit_option("prior"), &o, "fix"), BLICA_ERR_ARGUMENT);
  assert_non_null(strstr(blica_message(ctx), "none, auto or fixed"));
  assert_int_equal(o.prior, BLICA_PRIOR_FIXED);
}

/* The choices of the option are the estimators that there are, in their order. */
static void methods_are_the_words(void **state) {
  (void)state;
  int count;
  char words[256] = "";
  const blica_method *methods = blica_methods(&count);
  strcpy(words, "auto=0");
  for (int i = 0; i < count; i++) {
    char word[32];
    snprintf(word, sizeof word, "|%s=%d", methods[i].name, i + 1);
    strcat(words, word);
    assert_int_equal(blica_method_find(methods[i].name), i + 1);
    assert_string_equal(blica_method_name(i + 1), methods[i].name);
  }
  assert_int_equal(blica_method_find("auto"), BLICA_METHOD_AUTO);
  assert_int_equal(blica_method_find("mle"), BLICA_METHOD_MLE);
  assert_int_equal(blica_method_find("bogus"), -1);
  assert_string_equal(blica_method_name(count + 1), "unknown");
  assert_string_equal(fit_option("method")->words, words);
}

static void whole_numbers(void **state) {
  (void)state;
  blica_fit_options o = blica_fit_options_default();
  static const char *const bad[] = {"3x", " 3", "1e3", "3.0", "0x10", "--3", "99999999999999999999"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(blica_option_set(ctx, fit_option("sources"), &o, bad[i]), BLICA_ERR_ARGUMENT);
  assert_int_equal(o.sources, 0);
  assert_int_equal(blica_option_set(ctx, fit_option("max_iterations"), &o, "5000000000"), BLICA_OK);
  assert_true(o.max_iterations == 5000000000);
  assert_int_equal(blica_option_set(ctx, fit_option("seed"), &o, "18446744073709551615"), BLICA_OK);
  assert_true(o.seed == UINT64_MAX);
  assert_int_equal(blica_option_set(ctx, fit_option("seed"), &o, "18446744073709551616"), BLICA_ERR_ARGUMENT);
  assert_int_equal(blica_option_set(ctx, fit_option("seed"), &o, "-1"), BLICA_ERR_ARGUMENT);
}

static void flags(void **state) {
  (void)state;
  int count;
  blica_simulate_options o = blica_simulate_options_default();
  const blica_option *table = blica_simulate_option_table(&count), *exact = find(table, count, "exact");
  assert_int_equal(blica_option_set(ctx, exact, &o, "yes"), BLICA_OK);
  assert_int_equal(o.exact, 1);
  assert_int_equal(blica_option_set(ctx, exact, &o, "false"), BLICA_OK);
  assert_int_equal(o.exact, 0);
}

/* What the table refuses as text, the library refuses in the struct too. */
static void test_structs_are_checked(void **state) {
  (void)state;
  blica_simulate_options simulate = blica_simulate_options_default();
  blica_data *data;
  blica_model *model;
  simulate.variables = 4, simulate.sources = 2, simulate.segments = 4, simulate.samples = 100;
  assert_int_equal(blica_simulate(ctx, &simulate, NULL, &data, NULL), BLICA_OK);
  blica_input input = {.data = data};
  for (int i = 0; i < 5; i++) {
    blica_fit_options o = blica_fit_options_default();
    o.sources = 2;
    if (i == 0) o.prior = (blica_prior)9;
    if (i == 1) o.prior_mixing = NAN;
    if (i == 2) o.prior_variance = -1;
    if (i == 3) o.likelihood_power = 2;
    if (i == 4) o.link = 0;
    assert_int_equal(blica_fit(ctx, &input, &o, &model), BLICA_ERR_ARGUMENT);
    assert_null(model);
    assert_non_null(strstr(blica_message(ctx), "is not allowed"));
  }
  blica_set_threads(ctx, 1000000000);
  assert_in_range(blica_threads(ctx), 1, 256);
  blica_set_threads(ctx, 0);
  blica_data_free(data);
}

/* Fails unless call, with the option, is refused as wrong usage in words that hold text. */
#define REFUSES(verb, call, field, value, text)                                                                        \
  do {                                                                                                                 \
    blica_##verb##_options o = blica_##verb##_options_default();                                                       \
    o.field = value;                                                                                                   \
    assert_int_equal(call, BLICA_ERR_ARGUMENT);                                                                        \
    if (!strstr(blica_message(ctx), text)) fail_msg("%s.%s: %s", #verb, #field, blica_message(ctx));                   \
  } while (0)

/* Every verb checks its struct by its table, before it looks at the data. */
static void test_every_verb_checks(void **state) {
  (void)state;
  blica_simulate_options simulate = blica_simulate_options_default();
  blica_data *data;
  blica_model *model;
  blica_assessment *assessment;
  blica_selection *selection;
  blica_segmentation *segmentation;
  blica_loglik_result *loglik;
  blica_posterior *posterior;
  simulate.variables = 4, simulate.sources = 2, simulate.segments = 4, simulate.samples = 100;
  assert_int_equal(blica_simulate(ctx, &simulate, &model, &data, NULL), BLICA_OK);
  REFUSES(assess, blica_assess(ctx, model, data, &o, &assessment), level, .3, "option level: '0.3' is not allowed");
  REFUSES(assess, blica_assess(ctx, model, data, &o, &assessment), bootstrap, 5, "option bootstrap: '5'");
  REFUSES(select, blica_select(ctx, data, &o, &selection), folds, 1000, "option folds: '1000'");
  REFUSES(select, blica_select(ctx, data, &o, &selection), references, 3, "option references: '3'");
  REFUSES(segment, blica_segment(ctx, data, &o, &segmentation), states, -2, "option states: '-2'");
  REFUSES(segment, blica_segment(ctx, data, &o, &segmentation), resume, 1, "without the option checkpoint");
  REFUSES(loglik, blica_loglik(ctx, model, data, &o, &loglik), error, -1, "option error: '-1'");
  REFUSES(sources, blica_sources(ctx, model, data, &o, &posterior), draws, -1, "option draws: '-1'");
  blica_model_free(model);
  blica_data_free(data);
}

/* What other options leave without effect is refused, unless it is the default; the message says what it needs. */
static void test_options_without_effect(void **state) {
  (void)state;
  static const struct {
    const char *name[3], *value[3], *needs; /* NULL: accepted */
  } cases[] = {
      {{"prior_mixing"}, {".01"}, "prior_mixing is 0.01, which has no effect with prior default; it needs prior fixed"},
      {{"prior_variance", "prior"}, {"2", "auto"}, "it needs prior fixed"},
      {{"prior_mixing", "prior"}, {".01", "fixed"}, NULL},
      {{"prior_mixing"}, {"3"}, NULL}, /* the default */
      {{"condition", "method"}, {"5", "matched"}, "with method matched; it needs method auto or blica"},
      {{"condition", "method"}, {"default", "matched"}, NULL},
      {{"condition"}, {"5"}, NULL},
      {{"contrast"}, {"cube"}, "it needs method fastica"},
      {{"contrast", "method"}, {"cube", "fastica"}, NULL},
      {{"prior", "method"}, {"auto", "fastica"}, "it needs method auto, blica, matched, pairwise or mle"},
      {{"likelihood_power", "method"}, {".5", "ivae"}, "it needs method"},
      {{"thresholds", "method"}, {"none", "ivae"}, "it needs method"},
      {{"thresholds"}, {"none"}, NULL},
      {{"resume"}, {"yes"}, "resume is yes, which has no effect without the option checkpoint; give both"},
      {{"checkpoint_seconds"}, {"5"}, "without the option checkpoint"},
      {{"checkpoint_seconds", "checkpoint"}, {"5", "file"}, NULL},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    blica_fit_options o = blica_fit_options_default();
    int count;
    const blica_option *table = blica_fit_option_table(&count);
    for (int i = 0; i < 3 && cases[c].name[i]; i++)
      assert_int_equal(blica_option_set(ctx, fit_option(cases[c].name[i]), &o, cases[c].value[i]), BLICA_OK);
    const blica_status status = blica_options_check(ctx, table, count, &o);
    if (status != (cases[c].needs ? BLICA_ERR_ARGUMENT : BLICA_OK))
      fail_msg("%s = %s: status %d", cases[c].name[0], cases[c].value[0], (int)status);
    if (cases[c].needs && !strstr(blica_message(ctx), cases[c].needs)) fail_msg("%s", blica_message(ctx));
  }
}

/* auto is not checked before it is known which method it stands for. */
static void test_options_without_effect_on_auto(void **state) {
  (void)state;
  blica_simulate_options simulate = blica_simulate_options_default();
  blica_counts *counts;
  blica_model *model;
  simulate.variables = 4, simulate.sources = 2, simulate.segments = 4, simulate.exact = 1;
  assert_int_equal(blica_simulate(ctx, &simulate, NULL, NULL, &counts), BLICA_OK);
  blica_fit_options o = blica_fit_options_default();
  o.sources = 2, o.condition = 5;
  assert_int_equal(blica_fit(ctx, &(blica_input){.counts = counts}, &o, &model), BLICA_OK);
  assert_string_equal(model->method, "blica");
  blica_model_free(model);
  blica_counts_free(counts);
}

/* What an option needs is an option of the same table, with words that this one knows. */
static void needs_exist(const blica_option *table, int count) {
  for (int i = 0; i < count; i++) {
    if (!table[i].needs) continue;
    char name[64], word[64];
    const char *words = strchr(table[i].needs, '=');
    snprintf(name, sizeof name, "%.*s", (int)strcspn(table[i].needs, "="), table[i].needs);
    const blica_option *other = find(table, count, name);
    while (words) {
      blica_option alone = *other;
      char field[64];
      snprintf(word, sizeof word, "%.*s", (int)strcspn(words + 1, "|"), words + 1);
      alone.offset = 0;
      assert_int_equal(blica_option_set(ctx, &alone, field, word), BLICA_OK);
      words = strchr(words + 1, '|');
    }
  }
}

static void test_needs_exist(void **state) {
  (void)state;
  int count;
  const blica_option *table = blica_fit_option_table(&count);
  needs_exist(table, count);
  table = blica_segment_option_table(&count), needs_exist(table, count);
  table = blica_loglik_option_table(&count), needs_exist(table, count);
  table = blica_sources_option_table(&count), needs_exist(table, count);
  table = blica_assess_option_table(&count), needs_exist(table, count);
  table = blica_select_option_table(&count), needs_exist(table, count);
  table = blica_simulate_option_table(&count), needs_exist(table, count);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_structs_are_checked),
      cmocka_unit_test(test_every_verb_checks),
      cmocka_unit_test(test_options_without_effect),
      cmocka_unit_test(test_options_without_effect_on_auto),
      cmocka_unit_test(test_needs_exist),
      cmocka_unit_test(fit_defaults),
      cmocka_unit_test(simulate_defaults),
      cmocka_unit_test(every_fit_option),
      cmocka_unit_test(every_simulate_option),
      cmocka_unit_test(words),
      cmocka_unit_test(whole_numbers),
      cmocka_unit_test(flags),
      cmocka_unit_test(methods_are_the_words),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
