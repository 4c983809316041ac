/* A host program that has set a locale with decimal commas: numbers are read and written with points all the same. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/number.h"
#include "context.h"
#include "same_counts.h"
#include "scratch.h"

static char folder[40], path[80];

static const char *in_folder(const char *name) {
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

/* The locale is made for this test; few systems have it. */
static int enter_locale(void **state) {
  char command[200];
  if (open_context(state) != 0 || make_scratch(folder) != 0) return -1;
  snprintf(command, sizeof command, "localedef --no-archive -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>/dev/null", folder);
  if (system(command) == -1 || setenv("LOCPATH", folder, 1) != 0) return -1;
  if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
    fprintf(stderr, "the locale de_DE.UTF-8 could not be made (packages libc-bin and locales)\n");
    return -1;
  }
  return strcmp(localeconv()->decimal_point, ",");
}

static int leave_locale(void **state) {
  char command[100];
  setlocale(LC_ALL, "C");
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command) != 0 || close_context(state) != 0;
}

static void test_numbers(void **state) {
  (void)state;
  char *end, text[BL_NUMBER_TEXT];
  assert_true(bl_strtod("0.5x", &end) == 0.5 && *end == 'x');
  assert_true(bl_strtod("0,5", &end) == 0.0 && *end == ',');
  bl_number_text(0.1, text);
  assert_string_equal(text, "0.1");
  bl_number_text(1.0 / 3, text);
  assert_string_equal(text, "0.3333333333333333");
  snprintf(text, sizeof text, "%.1f", 0.5); /* the host's own locale is as it was */
  assert_string_equal(text, "0,5");
}

static void test_options(void **state) {
  (void)state;
  int count;
  blica_fit_options o = blica_fit_options_default();
  assert_true(o.link == 0.39269908169872414 && o.prior_mixing == 3 && o.checkpoint_seconds == 60);
  assert_true(blica_simulate_options_default().sd_low == 0.5);
  assert_true(blica_loglik_options_default().error == 0.5);
  const blica_option *table = blica_fit_option_table(&count);
  for (int i = 0; i < count; i++)
    if (strcmp(table[i].name, "likelihood_power") == 0) {
      assert_int_equal(blica_option_set(ctx, &table[i], &o, "0.25"), BLICA_OK);
      assert_true(o.likelihood_power == 0.25);
      assert_int_equal(blica_option_set(ctx, &table[i], &o, "0,25"), BLICA_ERR_ARGUMENT);
    }
}

/* Counts, correlations and a model through their files. */
static void test_files(void **state) {
  (void)state;
  blica_simulate_options o = blica_simulate_options_default();
  blica_counts *counts, *again;
  blica_model *model, *loaded;
  blica_cor *cor;
  o.variables = 4, o.sources = 2, o.segments = 3, o.exact = 1;
  assert_int_equal(blica_simulate(ctx, &o, &model, NULL, &counts), BLICA_OK);
  assert_int_equal(blica_counts_save(ctx, counts, in_folder("c.csv")), BLICA_OK);
  assert_int_equal(blica_counts_load(ctx, in_folder("c.csv"), &again), BLICA_OK);
  assert_same(counts, again);
  assert_int_equal(blica_model_save(ctx, model, in_folder("m.json")), BLICA_OK);
  assert_int_equal(blica_model_load(ctx, in_folder("m.json"), &loaded), BLICA_OK);
  for (int i = 0; i < 8; i++) assert_true(model->mixing[i] == loaded->mixing[i]);
  assert_true(model->link == loaded->link);
  assert_int_equal(blica_correlate(ctx, counts, &cor), BLICA_OK);
  assert_int_equal(blica_cor_save(ctx, cor, in_folder("r.csv")), BLICA_OK);
  char line[256];
  FILE *f = fopen(in_folder("r.csv"), "r");
  while (fgets(line, sizeof line, f)) {
    int commas = 0;
    for (const char *c = line; *c; c++) commas += *c == ',';
    assert_int_equal(commas, 6);
  }
  fclose(f);
  blica_cor_free(cor);
  blica_model_free(model);
  blica_model_free(loaded);
  blica_counts_free(counts);
  blica_counts_free(again);
}

/* The fit does not depend on the locale, its checkpoint's facts included. */
static void test_fit(void **state) {
  (void)state;
  blica_simulate_options o = blica_simulate_options_default();
  blica_data *data;
  blica_model *model[2];
  o.variables = 5, o.sources = 2, o.segments = 6, o.samples = 200;
  assert_int_equal(blica_simulate(ctx, &o, NULL, &data, NULL), BLICA_OK);
  for (int i = 0; i < 2; i++) {
    setlocale(LC_ALL, i ? "de_DE.UTF-8" : "C");
    blica_fit_options fit = blica_fit_options_default();
    blica_input input = {.data = data};
    char checkpoint[100];
    snprintf(checkpoint, sizeof checkpoint, "%s/fit.ckpt", folder);
    fit.sources = 2;
    fit.likelihood_power = 0.5;
    fit.checkpoint = checkpoint;
    fit.resume = 1;
    assert_int_equal(blica_fit(ctx, &input, &fit, &model[i]), BLICA_OK);
  }
  for (int i = 0; i < 10; i++) assert_true(model[0]->mixing[i] == model[1]->mixing[i]);
  blica_model_free(model[0]);
  blica_model_free(model[1]);
  blica_data_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_options),
      cmocka_unit_test(test_files),
      cmocka_unit_test(test_fit),
  };
  return cmocka_run_group_tests(tests, enter_locale, leave_locale);
}
