/* cmd_correlate.c - blica correlate DATA|COUNTS: tetrachoric correlations of every segment. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "communicator.h"
#include "data_args.h"
#include "files/outfile.h"
#include "output.h"

typedef struct {
  const char *out;
  double condition;
  const char *acm;
} correlate_values;

static const blica_option own[] = {
    TEXT(correlate_values, out, "FILE", "File for the correlations, .npz or .csv."),
    OPTION(correlate_values, condition, BLICA_OPT_REAL, "none", 1.01, INFINITY, "none=inf", "R",
           "Regularise every segment's matrix to this condition number, as fit does; none leaves the estimates as they "
           "are."),
    TEXT(correlate_values, acm, "FILE",
         "File (.csv) for the asymptotic covariance of all thresholds and correlations, times the rows of the "
         "segment: lavaan's NACOV. It needs rows, whose --weights and --cluster count."),
};
OPTION_TABLE(own_table, own)

/* Statistic `at` of segment s, in lavaan's order: its name as a field of CSV, item|t1 or item~~item; returns its
 * value. */
static double print_statistic(FILE *f, const blica_cor *cor, int s, int at) {
  int i = 0, j = at - cor->planes;
  if (j >= 0) {
    for (; j >= cor->n - 1 - i; i++) j -= cor->n - 1 - i;
    j += i + 1;
  } else {
    while (cor->coding ? cor->coding->first[i + 1] <= at : i < at) i++;
  }
  const char *second = j >= 0 ? cor->variables[j] : "";
  const size_t size = strlen(cor->variables[i]) + strlen(second) + 16;
  OWNED char *text = malloc(size);
  if (text && j >= 0) snprintf(text, size, "%s~~%s", cor->variables[i], second);
  if (text && j < 0)
    snprintf(text, size, "%s|t%d", cor->variables[i], cor->coding ? at - cor->coding->first[i] + 1 : 1);
  print_field(f, text ? text : "");
  if (j < 0) return -cor->thresholds[(size_t)at + (size_t)s * (size_t)cor->planes];
  return cor->rho[blica_pair(i, j) + s * cor->pairs];
}

static void print_acm(FILE *f, const blica_cor *cor, int s, const double *acm) {
  const int size = blica_acm_size(cor);
  for (int r = 0; r < size; r++) {
    print_id(f, cor->segments[s]);
    const double value = print_statistic(f, cor, s, r);
    fprintf(f, ",%.17g", value);
    for (int c = 0; c < size; c++) fprintf(f, ",%.17g", acm[r + (size_t)c * (size_t)size]);
    putc('\n', f);
  }
}

/* The covariances of all segments: a column for the segment, the name and the value of a statistic, then the matrix. */
static int write_acm(program *p, const blica_cor *cor, const char *path) {
  const size_t size = (size_t)blica_acm_size(cor);
  OWNED double *acm = size > SIZE_MAX / size / sizeof *acm ? NULL : malloc(size * size * sizeof *acm);
  __attribute__((cleanup(bl_outfile_discard))) bl_outfile file = {0};
  if (!acm || !bl_outfile_open(&file, path)) {
    say_error("cannot write '%s': %s", path, acm ? strerror(errno) : "there is no memory for the covariance");
    return EXIT_FAILED;
  }
  fputs("segment,statistic,value", file.stream);
  for (int c = 0; c < (int)size; c++) {
    putc(',', file.stream);
    print_statistic(file.stream, cor, 0, c);
  }
  putc('\n', file.stream);
  for (int s = 0; s < cor->u; s++) {
    ASK(p, blica_acm(p->ctx, p->rows, cor, s, acm));
    print_acm(file.stream, cor, s, acm);
  }
  if (bl_outfile_commit(&file)) return EXIT_OK;
  say_error("cannot write '%s': %s", path, strerror(errno));
  return EXIT_FAILED;
}

/* The leading process does this alone; counts that were not read are made here, of the rows. */
static int write_results(program *p, const correlate_values *v) {
  AUTO(blica_cor) *cor = NULL, *regularised = NULL;
  blica_set_comm(p->ctx, NULL);
  if (!p->counts) ASK(p, blica_count(p->ctx, p->rows, &p->counts));
  ASK(p, blica_correlate(p->ctx, p->counts, &cor));
  if (v->acm) STEP(write_acm(p, cor, v->acm));
  if (isfinite(v->condition)) ASK(p, blica_regularise(p->ctx, cor, v->condition, &regularised));
  const blica_status status = blica_cor_save(p->ctx, regularised ? regularised : cor, v->out);
  if (status != BLICA_OK) return fail_writing(p, status);
  say_note("%lld correlations in each of %d segments, in %s", (long long)cor->pairs, cor->u, v->out);
  return EXIT_OK;
}

static int run(program *p, void *values) {
  const correlate_values *v = values;
  if (!output_is_table(v->out, "correlations")) return EXIT_USAGE;
  if (v->acm && !output_possible(p, v->acm, v->out)) return EXIT_DATA;
  if (v->acm && !bl_has_ending(v->acm, ".csv")) {
    say_error("correlate: --acm %s: the covariance is written as .csv; end the name in that", v->acm);
    return EXIT_USAGE;
  }
  if (v->acm && table_is_counts(p->operands[0])) {
    say_error("correlate: --acm needs rows, and '%s' holds counts", p->operands[0]);
    return EXIT_USAGE;
  }
  STEP(v->acm ? read_rows(p, p->operands[0]) : read_counts(p, p->operands[0]));
  return writes() ? write_results(p, v) : EXIT_OK;
}

const command command_correlate = {
    .name = "correlate",
    .summary = "correlations of the latent variables, with errors and thresholds",
    .operands = "DATA|COUNTS",
    .required = "out",
    .text = "Estimates, for every segment and pair of variables, the correlation of the latent Gaussian variables "
            "behind the binary ones (tetrachoric correlation; of items with more levels polychoric) with its standard "
            "error, and for every variable its threshold.\n\n"
            "The input is data, as for `blica count`, or counts. The .npz holds rho, se and flags as [segments, n, n] "
            "and thresholds as [segments, n]; the .csv has one row per pair: segment,i,j,rho,se,flags,threshold. Flags "
            "add 1 for a table with an empty cell, which was filled, 2 for a variable that is constant in the segment, "
            "4 for a pair without common rows.\n\n"
            "--acm writes a .csv with a row for each threshold (item|t1) and correlation (item~~item): the segment, "
            "the name, the estimate, and its row of the covariance.",
    .examples = "blica correlate survey.csv --out correlations.csv\n"
                "blica correlate survey.csv --ordinal --segment-count 1 --out r.csv --acm covariance.csv\n"
                "blica correlate counts.npz --out correlations.npz",
    .groups = {{"Files", own_table, 0, 0}},
    .reads = true,
    .values = sizeof(correlate_values),
    .run = run,
    .shared = true,
};
