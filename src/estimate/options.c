/* options.c - the tables of options and the one function that sets an option from text. */
#include "estimate/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#define FIELD(type, name) offsetof(type, name), sizeof(((type *)0)->name)
#define FIT(name) #name, FIELD(blica_fit_options, name)
#define SIM(name) #name, FIELD(blica_simulate_options, name)
#define LOGLIK(name) #name, FIELD(blica_loglik_options, name)
#define SOURCES(name) #name, FIELD(blica_sources_options, name)
#define PI_8 "pi/8=0.39269908169872414"
#define ROW(label_offset_size, kind, ...) ROW_(label_offset_size, kind, __VA_ARGS__)
#define ROW_(label, offset, size, kind, ...)                                                                           \
  { label, kind, offset, size, __VA_ARGS__ }

static const blica_option fit_table[] = {
    ROW(FIT(method), BLICA_OPT_TEXT, "auto", 0, 0, BL_METHOD_WORDS, "NAME",
        "Estimator. auto is matched for samples with at most 200 elements of A, where it is the most accurate for its "
        "time, "
        "and blica beyond, for exact counts, and when a condition is given."),
    ROW(FIT(sources), BLICA_OPT_INT, NULL, 1, 1e6, NULL, "K", "Number of sources, at most the number of variables."),
    ROW(FIT(starts), BLICA_OPT_INT, "3", 1, 1e6, NULL, "COUNT",
        "Starting points; the result with the best objective is kept, all are reported."),
    ROW(FIT(seed), BLICA_OPT_SEED, "1", 0, 18446744073709551615.0, NULL, "SEED",
        "Seed of the random starting points. The same seed gives the same result."),
    ROW(FIT(condition), BLICA_OPT_REAL, "default", 1.01, INFINITY, "default=0|auto=-1|none=inf", "R",
        "Condition number to which each correlation matrix is regularised: a number, none, or auto to learn it from "
        "segments "
        "that are held out. The default is 10 for samples and none for exact counts."),
    ROW(FIT(link), BLICA_OPT_REAL, "pi/8", 1e-6, 1e6, PI_8, "C",
        "Squared coefficient c of the link, P(x=1|y) = Phi(sqrt(c) y)."),
    ROW(FIT(max_iterations), BLICA_OPT_INT, "default", 1, 9e15, "default=0", "COUNT",
        "Iterations that one start may take. The default is 10000; 1000 for ivae and fastica."),
    ROW(FIT(tolerance), BLICA_OPT_REAL, "default", 0, 1, "default=-1", "EPS",
        "A start has converged when its relative gradient, max |df/dtheta| / max(1, |f|) where the mean variance of "
        "each source is 1, is at "
        "most this; for fastica, when no component turns by more (1 - |cos|). The default is 1e-8; 1e-4 for fastica."),
    ROW(FIT(max_seconds), BLICA_OPT_REAL, "none", 0, INFINITY, "none=inf", "SECONDS",
        "Time limit of the whole fit; the best result so far is returned when it is over."),
    ROW(FIT(prior), BLICA_OPT_TEXT, "default", 0, 0, "default|none|auto|fixed", "KIND",
        "Prior on A and on log v: none, auto to learn its scales from the data, or fixed to the two scales below. The "
        "default is none for blica, auto for matched, pairwise and mle."),
    ROW(FIT(prior_mixing), BLICA_OPT_REAL, "3", 1e-6, 1e6, NULL, "SD",
        "Standard deviation of the elements of A, with a fixed prior."),
    ROW(FIT(prior_variance), BLICA_OPT_REAL, "1", 1e-6, 1e6, NULL, "SD",
        "Standard deviation of the log-variances of the sources, with a fixed prior."),
    ROW(FIT(weight), BLICA_OPT_REAL, "1", 1e-6, 1, NULL, "SHARE",
        "Share of its samples that a segment counts with, against the prior."),
    ROW(FIT(kl), BLICA_OPT_TEXT, "analytic", 0, 0, "analytic|sample", "FORM",
        "Method ivae: the divergence from the prior in closed form, or at the drawn sources as in the published code."),
    ROW(FIT(draws), BLICA_OPT_INT, "1", 1, 1000, NULL, "COUNT", "Method ivae: noise vectors drawn for each row."),
    ROW(FIT(contrast), BLICA_OPT_TEXT, "logcosh", 0, 0, "logcosh|exp|cube", "NAME",
        "Method fastica: the function whose expectation is made extreme."),
    ROW(FIT(approach), BLICA_OPT_TEXT, "symmetric", 0, 0, "symmetric|deflation", "NAME",
        "Method fastica: all components at once, or one after the other."),
    ROW(FIT(or_threshold), BLICA_OPT_REAL, "none", 0, 1, "none=0", "SHARE",
        "Method fastica: read the data as an OR of binary sources; entries of A of at least this share of their "
        "column's "
        "largest become 1, all others 0."),
    ROW(FIT(checkpoint), BLICA_OPT_TEXT, NULL, 0, 0, NULL, "FILE",
        "Keep the state of the fit in this file, so that a run that was killed can be resumed."),
    ROW(FIT(checkpoint_seconds), BLICA_OPT_REAL, "60", 0, 1e9, NULL, "SECONDS",
        "Time between two writes of the checkpoint; it is also written when the fit is interrupted or its time is "
        "over."),
    ROW(FIT(resume), BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL,
        "Continue from the checkpoint, to the same bits as without the break. Without a file there the fit begins at "
        "its "
        "start."),
};

static const blica_option simulate_table[] = {
    ROW(SIM(variables), BLICA_OPT_INT, "10", 2, 1e6, NULL, "N", "Number of binary variables."),
    ROW(SIM(sources), BLICA_OPT_INT, "10", 1, 1e6, NULL, "K", "Number of sources, at most the number of variables."),
    ROW(SIM(segments), BLICA_OPT_INT, "40", 1, 1e6, NULL, "U", "Number of segments."),
    ROW(SIM(samples), BLICA_OPT_INT, "1000", 1, 9e15, NULL, "COUNT",
        "Rows per segment; with exact, the nominal number."),
    ROW(SIM(seed), BLICA_OPT_SEED, "1", 0, 18446744073709551615.0, NULL, "SEED",
        "Seed of all random numbers. The same seed gives the same model and data."),
    ROW(SIM(link), BLICA_OPT_REAL, "pi/8", 1e-6, 1e6, PI_8, "C",
        "Squared coefficient c of the link, P(x=1|y) = Phi(sqrt(c) y)."),
    ROW(SIM(mixing_range), BLICA_OPT_REAL, "3", 1e-6, 1e6, NULL, "R", "Elements of A are uniform in (-R, R)."),
    ROW(SIM(sd_low), BLICA_OPT_REAL, "0.5", 1e-6, 1e6, NULL, "SD",
        "Lower end of the uniform standard deviations of the sources."),
    ROW(SIM(sd_high), BLICA_OPT_REAL, "3", 1e-6, 1e6, NULL, "SD", "Upper end of the same."),
    ROW(SIM(mean_range), BLICA_OPT_REAL, "0.5", 0, 1e6, NULL, "R", "Means of the sources are uniform in (-R, R)."),
    ROW(SIM(exact), BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL,
        "Exact pair probabilities (the limit of infinitely many samples) instead of rows."),
};

#define ENGINES "auto|grid|exact|lattice|ep"
#define ENGINE_HELP                                                                                                    \
  "How probabilities of rows are computed: grid integrates over up to 3 sources, exact reduces up to 12 variables to " \
  "small "                                                                                                             \
  "integrals, lattice samples up to 128 variables, ep is an approximation for any number; auto chooses by size."

static const blica_option loglik_table[] = {
    ROW(LOGLIK(engine), BLICA_OPT_TEXT, "auto", 0, 0, ENGINES, "NAME", ENGINE_HELP),
    ROW(LOGLIK(error), BLICA_OPT_REAL, "0.5", 0, 1e9, NULL, "EPS",
        "Numerical error of the total that is small enough; what was reached is reported."),
    ROW(LOGLIK(seed), BLICA_OPT_SEED, "1", 0, 18446744073709551615.0, NULL, "SEED",
        "Seed of the lattice's random shifts."),
};

static const blica_option sources_table[] = {
    ROW(SOURCES(segment), BLICA_OPT_TEXT, "known", 0, 0, "known|unknown", "KIND",
        "Whether the segment of a row is the model's of that label, or unknown: then the row is averaged over all "
        "segments of the model, weighted by their samples and its likelihood in them."),
    ROW(SOURCES(engine), BLICA_OPT_TEXT, "auto", 0, 0, ENGINES, "NAME", ENGINE_HELP),
    ROW(SOURCES(seed), BLICA_OPT_SEED, "1", 0, 18446744073709551615.0, NULL, "SEED",
        "Seed of the lattice's random shifts."),
    ROW(SOURCES(amortised), BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL,
        "Take the encoder's mean and standard deviation, which method ivae fits along with the model, in place of the "
        "posterior."),
};

const blica_option *blica_loglik_option_table(int *count) {
  if (count) *count = (int)(sizeof loglik_table / sizeof *loglik_table);
  return loglik_table;
}

const blica_option *blica_sources_option_table(int *count) {
  if (count) *count = (int)(sizeof sources_table / sizeof *sources_table);
  return sources_table;
}

const blica_option *blica_fit_option_table(int *count) {
  if (count) *count = (int)(sizeof fit_table / sizeof *fit_table);
  return fit_table;
}

const blica_option *blica_simulate_option_table(int *count) {
  if (count) *count = (int)(sizeof simulate_table / sizeof *simulate_table);
  return simulate_table;
}

/* ---- words: "default=0|none=inf" and "a|b|c" ---- */

/* The word of the list that text spells: *value is what follows its '=' (or NULL), true when found. */
static bool find_word(const char *words, const char *text, const char **value) {
  size_t length = strlen(text);
  for (const char *word = words; word && length; word = strchr(word, '|') ? strchr(word, '|') + 1 : NULL) {
    size_t size = strcspn(word, "=|");
    if (size != length || strncmp(word, text, length) != 0) continue;
    *value = word[size] == '=' ? word + size + 1 : NULL;
    return true;
  }
  return false;
}

/* "from 1 to 10, none or auto" */
static void describe(const blica_option *option, char *text, size_t size) {
  size_t at = 0;
  if (option->type != BLICA_OPT_TEXT) {
    const char *kind = option->type == BLICA_OPT_REAL ? "a number" : "a whole number";
    if (option->type == BLICA_OPT_SEED)
      at = (size_t)snprintf(text, size, "a whole number from 0 to 18446744073709551615");
    else if (isinf(option->high))
      at = (size_t)snprintf(text, size, "%s from %.15g up", kind, option->low);
    else
      at = (size_t)snprintf(text, size, "%s from %.15g to %.15g", kind, option->low, option->high);
  }
  for (const char *word = option->words; word && at < size;) {
    size_t length = strcspn(word, "=|");
    const char *next = strchr(word, '|');
    const char *before = at == 0 ? "" : next ? ", " : " or ";
    at += (size_t)snprintf(text + at, size - at, "%s%.*s", before, (int)length, word);
    word = next ? next + 1 : NULL;
  }
}

static blica_status refuse(blica_ctx *ctx, const blica_option *option, const char *text) {
  char wanted[512];
  describe(option, wanted, sizeof wanted);
  return bl_fail(ctx, BLICA_ERR_ARGUMENT, "option %s: '%.200s' is not allowed; give %s", option->name, text, wanted);
}

/* ---- one function per type ---- */

static bool parse_real(const char *text, double *value) {
  char *end;
  if (!*text || strchr(" \t\n", *text)) return false;
  *value = strtod(text, &end);
  return *end == 0 && !isnan(*value);
}

static blica_status set_real(blica_ctx *ctx, const blica_option *option, char *field, const char *text) {
  double value;
  const char *word;
  if (find_word(option->words, text, &word)) {
    value = strtod(word, NULL);
  } else if (!parse_real(text, &value) || value < option->low || value > option->high) {
    return refuse(ctx, option, text);
  }
  memcpy(field, &value, sizeof value);
  return BLICA_OK;
}

static blica_status set_int(blica_ctx *ctx, const blica_option *option, char *field, const char *text) {
  char *end;
  const char *word;
  bool special = find_word(option->words, text, &word); /* its value may lie outside the range */
  if (special) text = word;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (end == text || (*end != 0 && !(special && *end == '|')) || errno || strchr(" \t\n", *text))
    return refuse(ctx, option, text);
  if (!special && ((double)value < option->low || (double)value > option->high)) return refuse(ctx, option, text);
  if (option->size == sizeof(int64_t)) {
    int64_t wide = value;
    memcpy(field, &wide, sizeof wide);
  } else {
    int narrow = (int)value;
    memcpy(field, &narrow, sizeof narrow);
  }
  return BLICA_OK;
}

static blica_status set_seed(blica_ctx *ctx, const blica_option *option, char *field, const char *text) {
  if (!*text || strspn(text, "0123456789") != strlen(text)) return refuse(ctx, option, text);
  errno = 0;
  uint64_t seed = strtoull(text, NULL, 10);
  if (errno) return refuse(ctx, option, text);
  memcpy(field, &seed, sizeof seed);
  return BLICA_OK;
}

static blica_status set_flag(blica_ctx *ctx, const blica_option *option, char *field, const char *text) {
  const char *word;
  int value;
  if (find_word("yes|true|1", text, &word))
    value = 1;
  else if (find_word("no|false|0", text, &word))
    value = 0;
  else
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "option %s: '%.200s' is not allowed; give yes or no", option->name, text);
  memcpy(field, &value, sizeof value);
  return BLICA_OK;
}

static blica_status set_text(blica_ctx *ctx, const blica_option *option, char *field, const char *text) {
  const char *word;
  if (!option->words) {
    memcpy(field, &text, sizeof text);
    return BLICA_OK;
  }
  if (!find_word(option->words, text, &word) || strlen(text) >= option->size) return refuse(ctx, option, text);
  memcpy(field, text, strlen(text) + 1);
  return BLICA_OK;
}

blica_status blica_option_set(blica_ctx *ctx, const blica_option *option, void *options, const char *text) {
  if (!option || !options || !text)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "option %s: no value was given", option ? option->name : "?");
  char *field = (char *)options + option->offset;
  switch (option->type) {
  case BLICA_OPT_INT:
    return set_int(ctx, option, field, text);
  case BLICA_OPT_REAL:
    return set_real(ctx, option, field, text);
  case BLICA_OPT_TEXT:
    return set_text(ctx, option, field, text);
  case BLICA_OPT_FLAG:
    return set_flag(ctx, option, field, text);
  case BLICA_OPT_SEED:
    return set_seed(ctx, option, field, text);
  }
  return bl_fail(ctx, BLICA_ERR_INTERNAL, "option %s: its type %d is not known", option->name, (int)option->type);
}

/* The tables are constant and their defaults valid (a test sets each), so no context is needed: the
 * setters touch it only to refuse. */
static void set_defaults(const blica_option *table, int count, void *options) {
  for (int i = 0; i < count; i++)
    if (table[i].initial) (void)blica_option_set(NULL, &table[i], options, table[i].initial);
}

blica_fit_options blica_fit_options_default(void) {
  blica_fit_options options = {.sources = 0};
  int count;
  const blica_option *table = blica_fit_option_table(&count);
  set_defaults(table, count, &options);
  return options;
}

blica_simulate_options blica_simulate_options_default(void) {
  blica_simulate_options options = {.variables = 0};
  int count;
  const blica_option *table = blica_simulate_option_table(&count);
  set_defaults(table, count, &options);
  return options;
}

blica_loglik_options blica_loglik_options_default(void) {
  blica_loglik_options options = {.seed = 0};
  int count;
  const blica_option *table = blica_loglik_option_table(&count);
  set_defaults(table, count, &options);
  return options;
}

blica_sources_options blica_sources_options_default(void) {
  blica_sources_options options = {.seed = 0};
  int count;
  const blica_option *table = blica_sources_option_table(&count);
  set_defaults(table, count, &options);
  return options;
}
