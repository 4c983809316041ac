/* Every method on data that no one planned for: no crash, no hang, nothing in a model that is not a finite number, and
 * no claim of convergence that slopes recomputed from the definition of the objective do not bear out.
 *
 * BLICA_TORTURE=all gives every method a minute for every case (make torture); else a fit has a number of iterations
 * that takes a fraction of a second, so that those which need more are cut short but for some whose claims are to be
 * seen, and two that are too slow on 500 variables are left out. At least so many claims are recomputed then. */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "cor/cor.h"
#include "set_word.h"
#include "torture_average.h"
#include "torture_cases.h"
#include "torture_check.h"

typedef struct {
  const char *method;
  double condition;
  const char *prior;
  double slack;           /* a claimed gradient of 1e-8 is borne out when the recomputed one is below this */
  const char *thresholds; /* NULL: the default */
} setting;

/* mle says how far its integrals may put the gradient off, gradient_error, which is allowed besides. Matched with
 * learned priors has no slack: its slopes are those of a mean over widths that a model does not hold, so its claim is
 * recomputed as what one more round changes; without the term of margins, whose minimum tests/identity/test_margins.c
 * checks. */
static const setting settings[] = {
    {"blica", 10, "none", 1e-7, NULL},   {"blica", 3, "none", 1e-7, NULL},    {"blica", INFINITY, "none", 1e-7, NULL},
    {"blica", 10, "auto", 1e-7, NULL},   {"blica", 10, "fixed", 1e-7, NULL},  {"matched", 0, "auto", 0, NULL},
    {"matched", 0, "auto", 0, "none"},   {"matched", 0, "fixed", 1e-7, NULL}, {"matched", 0, "none", 1e-7, NULL},
    {"pairwise", 0, "auto", 1e-7, NULL}, {"pairwise", 0, "none", 1e-7, NULL}, {"mle", 0, "auto", 1e-7, NULL},
    {"mle", 0, "none", 1e-7, NULL},      {"ivae", 0, "default", 1e-7, NULL},  {"fastica", 0, "default", 1e-3, NULL},
};
enum { SETTINGS = sizeof settings / sizeof *settings, OTHERS = 20, LEAST_CLAIMS = 130 };

static blica_ctx *ctx;
static int quick;
static int fits, claims, refused;

static int complaints;

/* Counted, so that one bad fit does not hide the next. */
#define complain(...) (complaints++, print_error("FAIL " __VA_ARGS__), print_error("\n"))

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int finite_all(const double *x, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(x[i])) return 0;
  return 1;
}

/* What is wrong with a model's numbers, or NULL. */
static const char *fault(const blica_model *m) {
  size_t n = (size_t)m->n, k = (size_t)m->k, u = (size_t)m->u;
  if (!finite_all(m->mixing, n * k)) return "A is not finite";
  if (!finite_all(m->variances, k * u)) return "v is not finite";
  for (size_t i = 0; i < k * u; i++)
    if (!(m->variances[i] > 0)) return "v is not positive";
  if (!finite_all(m->means, k * u)) return "mu is not finite";
  if (!finite_all(m->thresholds, n * u)) return "a threshold is not finite";
  if (!isfinite(m->fit.objective)) return "the objective is not finite";
  for (int i = 0; i < m->fit.n_starts; i++)
    if (!isfinite(m->fit.starts[i].objective) || !isfinite(m->fit.starts[i].gradient))
      return "a start's record is not finite";
  for (int i = 0; i < m->fit.n_notes; i++)
    if (!isfinite(m->fit.notes[i].value)) return "a note is not finite";
  return NULL;
}

/* Relative slope of the plain objective at the model; NaN where there is none to compare with. */
static double recompute(const setting *t, blica_model *m, const blica_data *data, const blica_counts *counts,
                        double *objective) {
  plain p = {.weight = 1,
             .precision_mixing = precision(m->fit.prior_mixing),
             .precision_variance = precision(m->fit.prior_variance),
             .precision_mean = precision(note(m, "prior_mean"))};
  blica_cor *cor = NULL, *regular = NULL;
  int full = strcmp(t->method, "mle") == 0;
  *objective = m->fit.objective;
  if (strcmp(t->method, "fastica") == 0) return data->missing ? NAN : plain_fastica(m, data);
  if (strcmp(t->method, "ivae") == 0) return NAN; /* its bound needs the encoder, which the model does not keep */
  if (t->slack == 0) return NAN;
  assert_int_equal(blica_correlate(ctx, counts, &cor), BLICA_OK);
  p.rows = data;
  if (full) p.data = data, p.ctx = ctx, p.model = m;
  if (full && m->k == m->n) assert_true(plain_cuts_to_means(m));
  p.matched = strcmp(t->method, "matched") == 0;
  if (p.matched || strcmp(t->method, "pairwise") == 0) p.counts = counts;
  p.cor = cor;
  if (strcmp(t->method, "blica") == 0) {
    if (data->missing && cor->empty_pairs > 0) {
      blica_cor *gaps = cor;
      assert_int_equal(bl_cor_fill(ctx, gaps, m->k, &cor), BLICA_OK);
      blica_cor_free(gaps);
    }
    assert_int_equal(blica_regularise(ctx, cor, t->condition, &regular), BLICA_OK);
    p.cor = regular;
  }
  plain_take(&p, m);
  double value = plain_value(&p), slope = plain_gradient(&p, m->n > 100 ? 4 : full ? 8 : 24) / fmax(1, fabs(value));
  *objective = -value;
  for (int s = 0; s < m->u && !p.data && (p.matched || !p.counts); s++)
    *objective -= (p.matched ? 1 - plain_rare(&p, s) : 1) * m->samples[s] * m->n / 2 * log(6.283185307179586477);
  plain_free(&p);
  blica_cor_free(cor), blica_cor_free(regular);
  return slope;
}

/* Matched with learned priors: what one more round changes. A is told, not tested: where data leave it open, it moves
 * along what they leave open for next to no gain. */
static void check_round(const char *what, blica_model *m, const blica_data *data, const blica_counts *counts,
                        uint64_t seed) {
  plain p = {.weight = 1,
             .precision_mixing = precision(m->fit.prior_mixing),
             .precision_variance = precision(m->fit.prior_variance),
             .counts = counts,
             .rows = data,
             .matched = 1};
  blica_cor *cor = NULL;
  double change = NAN, gain = NAN, last = note(m, "round_change");
  if (m->k > AVERAGE_SOURCES || m->n > 20 || m->u > (quick ? 10 : 100)) return;
  assert_int_equal(blica_correlate(ctx, counts, &cor), BLICA_OK);
  p.cor = cor;
  plain_take(&p, m);
  int usable = one_more_round(ctx, &p, seed, &change, &gain);
  print_message("    the last round changed A by %.1e, one more by %.1e and the objective by %.1e\n", last, change,
                gain);
  if (usable) claims++;
  if (usable && !(gain >= -1e-9 && gain < 1e-4))
    complain("%s: one more round changes the objective by %g of itself", what, gain);
  plain_free(&p);
  blica_cor_free(cor);
}

/* Fits that end in a fraction of a second, and so are waited for where others are cut short. */
static int patient(const torture_case *c, const setting *t) {
  static const char *const mle[] = {"99.9 % zeros", "coins, k = n", "k = n, variances nearly equal",
                                    "every row the same"};
  static const char *const ivae[] = {"one segment", "one source", "pair never together", "variable all missing"};
  for (int i = 0; i < 4; i++) {
    if (strcmp(t->method, "mle") == 0 && strcmp(t->prior, "auto") == 0 && strcmp(c->name, mle[i]) == 0) return 1;
    if (strcmp(t->method, "ivae") == 0 && strcmp(c->name, ivae[i]) == 0) return 1;
  }
  return 0;
}

/* Iterations of a quick fit, by what one costs. */
static int most_iterations(const torture_case *c, const setting *t) {
  static const struct {
    const char *method;
    int small, large; /* up to 100 variables, and beyond */
  } most[] = {{"blica", 300, 3}, {"matched", 300, 1}, {"pairwise", 40, 1},
              {"mle", 3, 1},     {"ivae", 30, 3},     {"fastica", 200, 20}};
  int i = 0;
  while (strcmp(most[i].method, t->method) != 0) i++;
  return c->n > 100 ? most[i].large : most[i].small;
}

static void one(const torture_case *c, const setting *t, const blica_data *data, const blica_counts *counts) {
  blica_fit_options o = blica_fit_options_default();
  blica_input input = {c->scale > 0 ? NULL : data, counts, NULL};
  blica_model *m = NULL;
  o.method = blica_method_find(t->method);
  set_word(blica_fit_option_table, &o, "prior", t->prior);
  if (t->thresholds) set_word(blica_fit_option_table, &o, "thresholds", t->thresholds);
  o.sources = c->k, o.condition = t->condition;
  if (!quick) o.max_seconds = 60;
  if (quick && !patient(c, t)) o.max_iterations = most_iterations(c, t);
  double begun = now();
  alarm(3600); /* a hang ends the program */
  blica_status status = blica_fit(ctx, &input, &o, &m);
  alarm(0);
  double took = now() - begun, objective = NAN;
  char what[160];
  snprintf(what, sizeof what, "%s: %s, condition %g, prior %s%s", c->name, t->method, t->condition, t->prior,
           t->thresholds ? ", no cuts" : "");
  fits++;
  if (status != BLICA_OK) {
    refused++;
    print_message("  %-70s %5.1f s  %s: %s\n", what, took, blica_status_name(status), blica_message(ctx));
    assert_true(status == BLICA_ERR_DATA || status == BLICA_ERR_ARGUMENT);
    assert_null(m);
    return;
  }
  if (fault(m)) complain("%s: %s", what, fault(m));
  double slope = m->fit.stop == BLICA_STOP_CONVERGED ? recompute(t, m, data, counts, &objective) : NAN;
  print_message("  %-70s %5.1f s  %-9s %6lld iterations, gradient %.1e, recomputed %.1e\n", what, took,
                blica_stop_name(m->fit.stop), (long long)m->fit.iterations,
                isnan(note(m, "learned_gradient")) ? m->fit.starts[m->fit.best_start].gradient
                                                   : note(m, "learned_gradient"),
                slope);
  if (m->fit.stop == BLICA_STOP_CONVERGED && t->slack == 0 && isnan(note(m, "margin_misfit")))
    check_round(what, m, data, counts, o.seed);
  if (!isnan(slope)) {
    double error = note(m, "gradient_error"), slack = t->slack + (isnan(error) ? 0 : error);
    claims++;
    if (!(slope < (m->n > 100 ? 100 : 1) * slack))
      complain("%s: claims to have converged, yet the relative slope is %g", what, slope);
    double close = strcmp(t->method, "mle") == 0 ? 1e-6 : 1e-8;
    if (!(fabs(objective - m->fit.objective) <= close * fmax(1, fabs(objective))))
      complain("%s: objective %.12g, by its definition %.12g", what, m->fit.objective, objective);
  }
  blica_model_free(m);
}

static int heavy(const char *method) {
  return strcmp(method, "pairwise") == 0 || strcmp(method, "mle") == 0;
}

static void torture(void **state) {
  torture_case *c = *state;
  blica_data *data = torture_data(ctx, c);
  blica_counts *counts;
  if (!data) fail_msg("%s cannot be read", c->path);
  assert_int_equal(blica_count(ctx, data, &counts), BLICA_OK);
  if (c->scale > 0) torture_scale(counts, c->scale);
  complaints = 0;
  const char *method = getenv("BLICA_TORTURE_METHOD");
  for (int t = 0; t < SETTINGS; t++)
    if ((!method || strstr(settings[t].method, method)) && !(quick && c->n > 100 && heavy(settings[t].method)))
      one(c, &settings[t], data, counts);
  assert_int_equal(complaints, 0);
  blica_data_free(data), blica_counts_free(counts);
}

/* Tables of others: the authors' beside this project, and with BLICA_TORTURE_DATA a folder of <name>.<sources>.csv. */
static int other_tables(torture_case *c) {
  static const struct {
    const char *name, *file;
    int k;
  } authors[] = {{"authors, n = 6, k = 2, N = 50", "n6_nz2_N50_s1", 2},
                 {"authors, n = 6, k = 6, N = 100", "n6_nz6_N100_s1", 6},
                 {"authors, n = 10, k = 10, N = 100", "n10_nz10_N100_s1", 10},
                 {"authors, n = 6, k = 6, N = 1000", "n6_nz6_N1000_s1", 6},
                 {"authors, n = 20, k = 10, N = 1000", "n20_nz10_N1000_s1", 10}};
  const char *folder = getenv("BLICA_TORTURE_DATA");
  int count = 0;
  for (int i = 0; i < (quick ? 2 : 5); i++) {
    torture_case *own = &c[count];
    *own = (torture_case){.name = authors[i].name, .k = authors[i].k};
    snprintf(own->path, sizeof own->path, "../shared/data/authors/%s.csv.gz", authors[i].file);
    if (access(own->path, R_OK) == 0)
      count++;
    else
      print_message("SKIPPED: %s is not there\n", own->path);
  }
  DIR *all = folder ? opendir(folder) : NULL;
  if (!all) print_message("SKIPPED: real data, BLICA_TORTURE_DATA names no folder (make torture does)\n");
  for (struct dirent *entry; all && count < OTHERS && (entry = readdir(all));) {
    static char names[OTHERS][64];
    int k = 0;
    if (strlen(entry->d_name) + strlen(folder) + 2 > sizeof c->path) continue;
    if (sscanf(entry->d_name, "%63[^.].%d.csv", names[count], &k) != 2 || k < 1) continue;
    c[count] = (torture_case){.name = names[count], .k = k};
    strcat(strcat(strcpy(c[count].path, folder), "/"), entry->d_name);
    count++;
  }
  if (all) closedir(all);
  return count;
}

int main(void) {
  const char *all = getenv("BLICA_TORTURE"), *only = getenv("BLICA_TORTURE_CASE");
  static torture_case cases[TORTURE_CASES + OTHERS];
  struct CMUnitTest tests[TORTURE_CASES + OTHERS];
  size_t count = 0;
  quick = !all;
  memcpy(cases, torture_cases, sizeof torture_cases);
  int cases_there = TORTURE_CASES + other_tables(cases + TORTURE_CASES);
  for (int i = 0; i < cases_there; i++)
    if (!only || strstr(cases[i].name, only))
      tests[count++] = (struct CMUnitTest){cases[i].name, torture, NULL, NULL, &cases[i]};
  if (blica_ctx_create(&ctx) != BLICA_OK) return 1;
  blica_set_threads(ctx, 1); /* sharing a loaded machine; tests/identity/test_sameness.c has the threads */
  int failed = _cmocka_run_group_tests("torture", tests, count, NULL, NULL);
  print_message("%d fits, %d refused, %d claims of convergence recomputed\n", fits, refused, claims);
  blica_ctx_free(ctx);
  const int whole = quick && !only && !getenv("BLICA_TORTURE_METHOD");
  if (whole && claims < LEAST_CLAIMS)
    print_error("FAIL only %d claims were recomputed, not %d\n", claims, LEAST_CLAIMS);
  return failed || (whole && claims < LEAST_CLAIMS);
}
