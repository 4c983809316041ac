/* cmd_compare.c - blica compare A B. */
#include <stdio.h>
#include <stdlib.h>

#include "data_args.h"
#include "output.h"
#include "program.h"

static const blica_option own[] = {
    FLAG(program, json,
         "A JSON object with mcs, matching (column of B, from 0, for each column of A) and cosine (signed)."),
};
OPTION_TABLE(own_table, own)

static int print_json(double mcs, int k, const int *matching, const double *cosine) {
  json_t *match = json_array();
  for (int j = 0; j < k; j++) json_array_append_new(match, json_integer(matching[j]));
  return json_print(json_members("mcs:n matching:o cosine:o", mcs, match, json_numbers(cosine, k)));
}

static int print_text(double mcs, int k, const int *matching, const double *cosine) {
  printf("MCS %.15g (1-MCS %.3g)\ncolumn of A  column of B  cosine\n", mcs, 1 - mcs);
  for (int j = 0; j < k; j++) printf("%11d  %11d  %.12g\n", j + 1, matching[j] + 1, cosine[j]);
  return EXIT_OK;
}

static int compare(program *p, const matrix *a, const matrix *b) {
  OWNED int *matching = malloc((size_t)a->k * sizeof *matching);
  OWNED double *cosine = malloc((size_t)a->k * sizeof *cosine);
  double mcs;
  if (a->n != b->n || a->k != b->k) {
    say_error("'%s' has %d variables and %d sources, '%s' has %d and %d; only matrices of equal shape can be compared",
              p->operands[0], a->n, a->k, p->operands[1], b->n, b->k);
    return EXIT_DATA;
  }
  if (!matching || !cosine) return fail_table(BLICA_ERR_MEMORY, "out of memory");
  ASK(p, blica_compare(p->ctx, a->n, a->k, a->x, b->x, &mcs, matching, cosine));
  return p->json ? print_json(mcs, a->k, matching, cosine) : print_text(mcs, a->k, matching, cosine);
}

static int run(program *p, void *values) {
  (void)values;
  matrix m[2] = {{0}};
  char message[SOURCE_MESSAGE];
  int code = EXIT_OK;
  for (int i = 0; i < 2 && code == EXIT_OK; i++) {
    blica_status status = matrix_read(p->ctx, p->operands[i], &m[i], message);
    if (status == BLICA_OK) continue;
    say_error("%s", message);
    code = status == BLICA_ERR_MEMORY ? EXIT_FAILED : EXIT_DATA;
  }
  if (code == EXIT_OK) code = compare(p, &m[0], &m[1]);
  free(m[0].x), free(m[1].x);
  return code;
}

const command command_compare = {
    .name = "compare",
    .summary = "mean cosine similarity of two mixing matrices",
    .operands = "A B",
    .text = "Matches the columns of two mixing matrices so that the sum of the absolute cosines between matched "
            "columns is largest, and prints its mean, the MCS: 1 when the matrices agree up to order, sign and scale "
            "of their columns.\n\n"
            "A and B are models (model.json) or tables of numbers, one row per variable and one column per source, "
            "separated by commas, semicolons, tabs or blanks; a header and a column of row names are left out.",
    .examples = "blica compare demo/model.json model.json\n"
                "# for scripts\n"
                "blica compare truth.csv model.json --json",
    .groups = {{"Options", own_table, OF_PROGRAM, 0}},
    .run = run,
};
