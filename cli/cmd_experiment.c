/* cmd_experiment.c - blica experiment NAME: the tables and figures of the paper. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "communicator.h"
#include "draw.h"
#include "experiment.h"
#include "output.h"
#include "program.h"

static const blica_option own[] = {
    TEXT(experiment, out, "DIR",
         "Output folder for the CSV and the figures; created if missing. Rows already in the CSV are not run again."),
    FLAG(experiment, quick, "A small version that takes seconds to a minute: fewer data sets and sizes."),
    OPTION(experiment, datasets, BLICA_OPT_INT, "paper", 1, 100000, "paper=0", "D",
           "Data sets (or models) per size; the paper has 30."),
    OPTION(experiment, starts, BLICA_OPT_INT, "3", 1, 1000, NULL, "S", "Starts of each fit."),
    OPTION(experiment, max_seconds, BLICA_OPT_REAL, "none", 0, 1e9, "none=inf", "S",
           "Time limit of one fit; a fit that reaches it counts with the best it has, and its row says so."),
    TEXT(experiment, methods, "NAMES",
         "Only these methods, separated by commas, where an experiment compares methods."),
    OPTION(experiment, variables, BLICA_OPT_RANGE, "2:10", 1, 10000, NULL, "LOW:HIGH",
           "Numbers of variables in table1, identifiability and levels."),
    OPTION(experiment, segments, BLICA_OPT_RANGE, "2:6", 1, 10000, NULL, "LOW:HIGH",
           "Numbers of segments in table1, identifiability and levels."),
    OPTION(experiment, samples, BLICA_OPT_RANGE, "50:10000", 1, 10000, NULL, "LOW:HIGH",
           "Only numbers of samples per segment in this range (finite-sample)."),
    OPTION(experiment, sources, BLICA_OPT_INT, "variables", 1, 100000, "variables=0", "K",
           "Sources in table1, identifiability and levels; without it as many as variables."),
    FLAG(experiment, draw_only, "Run nothing; draw the figures from the CSV that is there."),
};
OPTION_TABLE(own_table, own)

static void show_note(const char *text) {
  say_note("%s", text);
}

static const experiment_entry *find_experiment(const char *name) {
  const char *names[16];
  int count = 0;
  for (const experiment_entry *entry = experiments; entry->name; entry++) {
    if (strcmp(entry->name, name) == 0) return entry;
    names[count++] = entry->name;
  }
  const char *near = nearest(name, names, count);
  if (near)
    say_error("experiment: there is no experiment '%s'; did you mean %s?", name, near);
  else
    say_error("experiment: there is no experiment '%s'; blica experiment --help lists them", name);
  return NULL;
}

static bool methods_known(const char *list) {
  for (const char *word = list; word && *word;) {
    char name[32];
    const size_t length = strcspn(word, ",");
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    if (blica_method_find(name) < 1) {
      say_error("experiment: --methods: there is no method '%.*s'; blica fit --help lists them", (int)length, word);
      return false;
    }
    word += length + (word[length] == ',');
  }
  return true;
}

static int run(program *p, void *values) {
  experiment *e = values;
  const experiment_entry *entry = find_experiment(p->operands[0]);
  if (!entry) return EXIT_USAGE;
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  e->ctx = p->ctx;
  e->comm = entry->shared ? communicator() : NULL;
  e->threads = p->threads ? p->threads : cores > 0 ? (int)cores : 1;
  e->stop = interrupted, e->note = show_note, e->progress = progress_show;
  if (!methods_known(e->methods)) return EXIT_USAGE;
  if (!agree_on(!leads() || make_folder(e->out, NULL))) return EXIT_FAILED;
  blica_set_comm(p->ctx, NULL); /* whole data sets are shared, not what is inside them */
  blica_status status = entry->shared || leads() ? entry->run(e) : BLICA_OK;
  progress_clear();
  if (status == BLICA_OK) {
    say_note("%s: wrote CSV and figures (SVG) to %s", entry->name, e->out);
    return EXIT_OK;
  }
  char message[sizeof e->message + 64];
  snprintf(message, sizeof message, "%s: %s", entry->name, e->message);
  return fail_table(status == BLICA_ERR_IO ? BLICA_ERR_INTERNAL : status, message); /* a failed write */
}

static const char *experiment_words(void) {
  static char words[256];
  size_t at = 0;
  for (const experiment_entry *x = experiments; x->name && at < sizeof words; x++)
    at += (size_t)snprintf(words + at, sizeof words - at, "%s%s", at ? "|" : "", x->name);
  return words;
}

const command command_experiment = {
    .name = "experiment",
    .summary = "the tables and figures of the paper",
    .operands = "NAME",
    .required = "out",
    .text =
        "Runs one of the experiments of section 6 of the paper and writes a CSV with one row per run, and figures as "
        "SVG.\n\n"
        "table1: Table 1, statistics less unknowns, with the numerical rank of random models beside it.\n\n"
        "identifiability: Figure 3, which sizes can be identified, from exact pair probabilities.\n\n"
        "finite-sample: Figure 4, error against samples per segment, all methods.\n\n"
        "scalability: Figure 5, error and running time against the number of variables.\n\n"
        "indeterminacy: Figure 2, Theorem 1 and the causal direction of section 4.2: different models, same data.\n\n"
        "levels: beyond the paper, what three and five levels identify that two cannot: counts, ranks and recovered "
        "models, errors from samples, Theorem 1's pair of models and the causal direction of two variables (identified "
        "only if A and all cuts are the same in all segments: not a method for real data, see "
        "docs/identifiability.md).\n\n"
        "An interrupted run leaves a valid CSV, and the same command goes on from there. Data sets run in parallel; "
        "the numbers, except seconds, are the same for any number of threads.",
    .examples = "blica experiment table1 --out results\n"
                "blica experiment identifiability --out results\n"
                "# a small version first\n"
                "blica experiment identifiability --quick --out quick",
    .groups = {{"Options", own_table, 0, 0}},
    .values = sizeof(experiment),
    .words = experiment_words,
    .run = run,
    .shared = true,
};
