/* cmd_correlate.c - blica correlate DATA|COUNTS: tetrachoric correlations of every segment. */
#include <math.h>

#include "communicator.h"
#include "data_args.h"
#include "output.h"

typedef struct {
  data_values data;
  const char *out;
  double condition;
} correlate_values;

static const blica_option own[] = {
    OPTION(correlate_values, out, BLICA_OPT_TEXT, NULL, 0, 0, NULL, "FILE", "File for the correlations, .npz or .csv."),
    OPTION(correlate_values, condition, BLICA_OPT_REAL, "none", 1.01, INFINITY, "none=inf", "R",
           "Regularise every segment's matrix to this condition number, as fit does; none leaves the estimates as they "
           "are."),
};
OPTION_TABLE(own_table, own)

static blica_status regularise(program *p, double condition, blica_cor **cor) {
  blica_cor *better;
  if (isinf(condition)) return BLICA_OK;
  blica_status status = blica_regularise(p->ctx, *cor, condition, &better);
  if (status != BLICA_OK) return status;
  blica_cor_free(*cor);
  *cor = better;
  return BLICA_OK;
}

static int run(program *p, void *values) {
  correlate_values *v = values;
  if (!output_is_table(v->out, "correlations")) return EXIT_USAGE;
  if (!output_possible(p, v->out, v->data.segment_file)) return EXIT_DATA;
  blica_counts *counts;
  blica_cor *cor = NULL;
  int code = data_count(p, &v->data, p->operands[0], NULL, &counts);
  if (code != EXIT_OK) return code;
  blica_status status = writes() ? blica_correlate(p->ctx, counts, &cor) : BLICA_OK;
  blica_counts_free(counts);
  if (status == BLICA_OK && !cor) return EXIT_OK; /* the leading process does this alone */
  if (status == BLICA_OK) status = regularise(p, v->condition, &cor);
  code = status == BLICA_OK ? EXIT_OK : fail_reading(p, status);
  if (code == EXIT_OK && (status = blica_cor_save(p->ctx, cor, v->out)) != BLICA_OK) code = fail_writing(p, status);
  if (code == EXIT_OK)
    say_note("%lld correlations in each of %d segments, in %s", (long long)cor->pairs, cor->u, v->out);
  blica_cor_free(cor);
  return code;
}

const command command_correlate = {
    .name = "correlate",
    .summary = "correlations of the latent variables, with standard errors and thresholds",
    .operands = "DATA|COUNTS",
    .least = 1,
    .most = 1,
    .required = "out",
    .text =
        "Estimates, for every segment and pair of variables, the correlation of the latent Gaussian variables behind "
        "the binary ones (tetrachoric correlation; of items with more levels polychoric) with its standard error, and "
        "for every variable its threshold.\n\n"
        "The input is data, as for `blica count`, or counts. The .npz holds rho, se and flags as [segments, n, n] and "
        "thresholds as [segments, n]; the .csv has one row per pair: segment,i,j,rho,se,flags,threshold. Flags add 1 "
        "for a table with an empty cell, which was filled, 2 for a variable that is constant in the segment, 4 for a "
        "pair without common rows.",
    .examples = "blica correlate survey.csv --out correlations.csv\n"
                "blica correlate counts.npz --out correlations.npz",
    .groups = {{"Files", own_table, 0}, {"How the data are read", data_option_table, offsetof(correlate_values, data)}},
    .values = sizeof(correlate_values),
    .run = run,
    .shared = true,
};
