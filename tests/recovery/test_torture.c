/* Every method on data that no one planned for: no crash, no hang, nothing in a model that is not a finite number, and no
 * claim of convergence that slopes recomputed from the definition of the objective do not bear out.
 *
 * BLICA_TORTURE=all gives every method a minute for every case (make torture); else a fit has 0.05 s, so that those which
 * need more are cut short, and two that cannot begin in that time on 500 variables are left out. */
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

#include "torture_cases.h"
#include "torture_check.h"

typedef struct {
  const char *method;
  double condition;
  const char *prior;
  double slack; /* a claimed gradient of 1e-8 is borne out when the recomputed one is below this */
} setting;

/* Without a slack only the model's numbers are looked at: matched with learned priors averages over what the data leave open
 * of the variances, and ivae over noise, neither of which a model holds.
 * The full likelihood is integrated to 1e-5 in each probability while it is maximised: that much its slopes may be off; the value that it
 * records is computed more finely, to 1e-6. */
static const setting settings[] = {
    {"blica", 10, "none", 1e-7},       {"blica", 3, "none", 1e-7},        {"blica", INFINITY, "none", 1e-7},
    {"blica", 10, "auto", 1e-7},       {"blica", 10, "fixed", 1e-7},      {"matched", 0, "auto", 0},
    {"matched", 0, "fixed", 1e-7},     {"matched", 0, "none", 1e-7},      {"pairwise", 0, "auto", 1e-7},     {"pairwise", 0, "none", 1e-7},
    {"mle", 0, "auto", 1e-4},          {"mle", 0, "none", 1e-4},          {"ivae", 0, "default", 0},
    {"fastica", 0, "default", 1e-3},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static blica_ctx *ctx;
static double seconds;
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
    if (!isfinite(m->fit.starts[i].objective) || !isfinite(m->fit.starts[i].gradient)) return "a start's record is not finite";
  for (int i = 0; i < m->fit.n_notes; i++)
    if (!isfinite(m->fit.notes[i].value)) return "a note is not finite";
  return NULL;
}

static double note(const blica_model *m, const char *name) {
  for (int i = 0; i < m->fit.n_notes; i++)
    if (strcmp(m->fit.notes[i].name, name) == 0) return 1 / (m->fit.notes[i].value * m->fit.notes[i].value);
  return 0;
}

/* Relative slope of the plain objective at the model; NaN where there is none to compare with. */
static double recompute(const setting *t, blica_model *m, const blica_data *data, const blica_counts *counts,
                        double *objective) {
  plain p = {.weight = 1, .precision_mixing = note(m, "prior_mixing"), .precision_variance = note(m, "prior_variance"),
             .precision_mean = note(m, "prior_mean")};
  blica_cor *cor = NULL, *regular = NULL;
  int full = strcmp(t->method, "mle") == 0;
  *objective = m->fit.objective;
  if (strcmp(t->method, "fastica") == 0) return data->missing ? NAN : plain_fastica(m, data);
  if (t->slack == 0 || (full && (m->k > 2 || m->n > 20))) return NAN;
  assert_int_equal(blica_correlate(ctx, counts, &cor), BLICA_OK);
  if (full) p.data = data, p.ctx = ctx, p.model = m;
  if (strcmp(t->method, "pairwise") == 0) p.counts = counts;
  p.matched = strcmp(t->method, "matched") == 0;
  p.cor = cor;
  if (strcmp(t->method, "blica") == 0) {
    assert_int_equal(blica_regularise(ctx, cor, t->condition, &regular), BLICA_OK);
    p.cor = regular;
  }
  plain_take(&p, m);
  double value = plain_value(&p), slope = plain_gradient(&p, m->n > 100 ? 4 : full ? 8 : 24) / fmax(1, fabs(value));
  *objective = -value;
  for (int s = 0; s < m->u && !p.data && !p.counts; s++) *objective -= m->samples[s] * m->n / 2 * log(6.283185307179586477);
  plain_free(&p);
  blica_cor_free(cor), blica_cor_free(regular);
  return slope;
}

static void one(const torture_case *c, const setting *t, const blica_data *data, const blica_counts *counts) {
  blica_fit_options o = blica_fit_options_default();
  blica_input input = {c->scale > 0 ? NULL : data, counts, NULL};
  blica_model *m = NULL;
  snprintf(o.method, sizeof o.method, "%s", t->method);
  snprintf(o.prior, sizeof o.prior, "%s", t->prior);
  o.sources = c->k, o.condition = t->condition, o.max_seconds = seconds;
  double begun = now();
  alarm(seconds < 10 ? 300 : 3600); /* a hang ends the program */
  blica_status status = blica_fit(ctx, &input, &o, &m);
  alarm(0);
  double took = now() - begun, objective;
  char what[160];
  snprintf(what, sizeof what, "%s: %s, condition %g, prior %s", c->name, t->method, t->condition, t->prior);
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
  print_message("  %-70s %5.1f s  %-9s %6lld iterations, gradient %.1e, recomputed %.1e\n", what, took, blica_stop_name(m->fit.stop),
                (long long)m->fit.iterations, m->fit.starts[m->fit.best_start].gradient, slope);
  if (!isnan(slope)) {
    claims++;
    if (!(slope < (m->n > 100 ? 100 : 1) * t->slack)) complain("%s: claims to have converged, yet the relative slope is %g", what, slope);
    if (!(fabs(objective - m->fit.objective) <= (t->slack > 1e-6 ? 1e-6 * fmax(1, fabs(objective)) : 1e-8 * fmax(1, fabs(objective)))))
      complain("%s: objective %.12g, by its definition %.12g", what, m->fit.objective, objective);
  }
  blica_model_free(m);
}

static int heavy(const char *method) { return strcmp(method, "pairwise") == 0 || strcmp(method, "mle") == 0; }

static void torture(void **state) {
  const torture_case *c = *state;
  blica_data *data = torture_data(ctx, c);
  blica_counts *counts;
  assert_non_null(data);
  assert_int_equal(blica_count(ctx, data, &counts), BLICA_OK);
  if (c->scale > 0) torture_scale(counts, c->scale);
  complaints = 0;
  const char *method = getenv("BLICA_TORTURE_METHOD");
  for (int t = 0; t < SETTINGS; t++)
    if ((!method || strstr(settings[t].method, method)) && !(quick && c->n > 100 && heavy(settings[t].method))) one(c, &settings[t], data, counts);
  assert_int_equal(complaints, 0);
  blica_data_free(data), blica_counts_free(counts);
}

int main(void) {
  const char *all = getenv("BLICA_TORTURE"), *only = getenv("BLICA_TORTURE_CASE");
  struct CMUnitTest tests[TORTURE_CASES];
  size_t count = 0;
  quick = !all;
  seconds = all ? 60 : 0.05;
  for (int i = 0; i < TORTURE_CASES; i++)
    if (!only || strstr(torture_cases[i].name, only))
      tests[count++] = (struct CMUnitTest){torture_cases[i].name, torture, NULL, NULL, (void *)&torture_cases[i]};
  if (blica_ctx_create(&ctx) != BLICA_OK) return 1;
  blica_set_threads(ctx, 1); /* sharing a loaded machine; tests/unit/test_sameness.c has the threads */
  int failed = _cmocka_run_group_tests("torture", tests, count, NULL, NULL);
  print_message("%d fits, %d refused, %d claims of convergence recomputed\n", fits, refused, claims);
  blica_ctx_free(ctx);
  return failed;
}
