/* cmd_check.c - blica check DATA|COUNTS: what is in the data, before anything is fitted to them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data_args.h"
#include "output.h"

enum { SMALL = 50, LISTED = 10 };

typedef struct {
  data_values data;
  int sources, json;
} check_values;

static const blica_option own[] = {
    OPTION(check_values, sources, BLICA_OPT_INT, NULL, 1, 1e6, NULL, "K",
           "Number of sources to judge identifiability for; without it, the largest number that can be identified is "
           "told."),
    OPTION(check_values, json, BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL, "A JSON object on the standard output."),
};
OPTION_TABLE(own_table, own)

typedef struct {
  const blica_counts *c;
  double rows, least, median, most; /* rows per segment */
  int small;                        /* segments with fewer than SMALL rows */
  int64_t constants, zero_cells, empty_pairs;
  double missing;
  int sources; /* judged; 0: no number of sources can be identified */
  int64_t statistics, unknowns;
} findings;

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static bool judge_segments(findings *f) {
  int u = f->c->u;
  double *sizes = malloc((size_t)u * sizeof *sizes);
  if (!sizes) return false;
  memcpy(sizes, f->c->samples, (size_t)u * sizeof *sizes);
  qsort(sizes, (size_t)u, sizeof *sizes, by_size);
  f->least = sizes[0];
  f->most = sizes[u - 1];
  f->median = (sizes[(u - 1) / 2] + sizes[u / 2]) / 2;
  for (int s = 0; s < u; s++) {
    f->rows += sizes[s];
    f->small += sizes[s] < SMALL;
  }
  free(sizes);
  return true;
}

static bool constant(const blica_counts *c, int s, int i) {
  size_t at = (size_t)s * (size_t)c->n + (size_t)i;
  return c->ones[at] <= 0 || c->ones[at] >= c->present[at];
}

static double missing_of(const blica_counts *c, int i) {
  double missing = 0;
  for (int s = 0; s < c->u; s++) missing += c->samples[s] - c->present[(size_t)s * (size_t)c->n + (size_t)i];
  return missing;
}

static void judge_tables(findings *f) {
  const blica_counts *c = f->c;
  for (int i = 0; i < c->n; i++) f->missing += missing_of(c, i);
  for (int s = 0; s < c->u; s++)
    for (int j = 0; j < c->n; j++) {
      f->constants += constant(c, s, j);
      for (int i = 0; i < j; i++) {
        double cell[4];
        blica_counts_table(c, s, i, j, cell);
        int zeros = 0;
        for (int k = 0; k < 4; k++) zeros += cell[k] <= 1e-9 * c->samples[s];
        f->zero_cells += zeros > 0;
        f->empty_pairs += zeros == 4;
      }
    }
}

/* Table 1 of the paper, for the number asked for or the largest with no more unknowns than statistics. */
static blica_status judge_sources(program *p, int sources, findings *f) {
  int n = f->c->n, u = f->c->u;
  f->sources = sources ? sources : n;
  for (;;) {
    blica_status status = blica_identify_count(p->ctx, n, f->sources, u, &f->statistics, &f->unknowns);
    if (status != BLICA_OK || sources || f->statistics >= f->unknowns) return status;
    if (--f->sources == 0) return BLICA_OK;
  }
}

/* ---- telling ---- */

static void print_constants(const blica_counts *c) {
  int listed = 0;
  char segment[SHOWN_TEXT], variable[SHOWN_TEXT];
  for (int s = 0; s < c->u; s++)
    for (int i = 0; i < c->n; i++)
      if (constant(c, s, i) && listed++ < LISTED)
        printf("    segment '%s', variable '%s': %s\n", shown(c->segments[s], segment),
               shown(c->variables[i], variable),
               c->present[(size_t)s * (size_t)c->n + (size_t)i] <= 0 ? "all missing"
               : c->ones[(size_t)s * (size_t)c->n + (size_t)i] <= 0  ? "always 0"
                                                                     : "always 1");
  if (listed > LISTED) printf("    and %d more\n", listed - LISTED);
}

static void print_missing(const findings *f) {
  int listed = 0;
  char variable[SHOWN_TEXT];
  for (int i = 0; i < f->c->n; i++) {
    double missing = missing_of(f->c, i);
    if (missing > 0 && listed++ < LISTED)
      printf("    '%s': %.15g (%.3g %%)\n", shown(f->c->variables[i], variable), missing, 100 * missing / f->rows);
  }
  if (listed > LISTED) printf("    and %d more variables\n", listed - LISTED);
}

static int print_text(const findings *f, bool asked) {
  const blica_counts *c = f->c;
  double tables = (double)c->pairs * c->u;
  printf("%d variables, %d segments, %.15g rows%s\n", c->n, c->u, f->rows, c->exact ? " (exact counts, nominal)" : "");
  printf("rows per segment: %.15g least, %.15g median, %.15g most\n", f->least, f->median, f->most);
  printf("segments with fewer than %d rows: %d\n", SMALL, f->small);
  printf("constant columns: %lld of %lld\n", (long long)f->constants, (long long)c->n * c->u);
  print_constants(c);
  printf("pairs with an empty cell: %lld of %.15g (%.3g %%)\n", (long long)f->zero_cells, tables,
         100 * (double)f->zero_cells / tables);
  if (f->empty_pairs) printf("pairs without a common row: %lld\n", (long long)f->empty_pairs);
  printf("missing values: %.15g of %.15g\n", f->missing, f->rows * c->n);
  print_missing(f);
  if (f->sources == 0)
    puts("sources: no number of them can be identified from so few variables and segments");
  else if (!asked)
    printf("sources: at most %d by counting (%lld statistics, %lld unknowns)\n", f->sources, (long long)f->statistics,
           (long long)f->unknowns);
  else
    printf("%d sources: %s by counting (%lld statistics, %lld unknowns)\n", f->sources,
           f->statistics >= f->unknowns ? "can be identified" : "can NOT be identified", (long long)f->statistics,
           (long long)f->unknowns);
  return EXIT_OK;
}

static int print_json(const findings *f) {
  const blica_counts *c = f->c;
  json_t *missing = json_array(), *constants = json_array(), *samples = json_array();
  for (int i = 0; i < c->n; i++) json_array_append_new(missing, json_number(missing_of(c, i)));
  for (int s = 0; s < c->u; s++) {
    json_array_append_new(samples, json_number(c->samples[s]));
    for (int i = 0; i < c->n; i++)
      if (constant(c, s, i))
        json_array_append_new(constants, json_pack("{s:o,s:o}", "segment", json_text(c->segments[s]), "variable",
                                                   json_text(c->variables[i])));
  }
  json_t *rows = json_pack("{s:o,s:o,s:o}", "least", json_number(f->least), "median", json_number(f->median), "most",
                           json_number(f->most));
  return json_print(json_pack("{s:i,s:i,s:o,s:o,s:o,s:i,s:o,s:I,s:I,s:I,s:o,s:i,s:I,s:I,s:I,s:b}", "variables", c->n,
                              "segments", c->u, "rows", json_number(f->rows), "rows_per_segment", rows, "samples",
                              samples, "small_segments", f->small, "constant_columns", constants, "zero_cell_pairs",
                              (json_int_t)f->zero_cells, "empty_pairs", (json_int_t)f->empty_pairs, "pairs",
                              (json_int_t)(c->pairs * c->u), "missing", missing, "sources", f->sources, "statistics",
                              (json_int_t)f->statistics, "unknowns", (json_int_t)f->unknowns, "surplus",
                              (json_int_t)(f->statistics - f->unknowns), "exact", c->exact));
}

static int run(program *p, void *values) {
  check_values *v = values;
  char message[TABLE_MESSAGE];
  table_options options = data_table_options(&v->data);
  blica_counts *counts;
  blica_status status = table_counts(p->ctx, p->operands[0], &options, NULL, message, &counts);
  if (status != BLICA_OK) return fail_table(status, message);
  findings f = {.c = counts};
  int code;
  judge_tables(&f);
  if (!judge_segments(&f)) {
    say_error("out of memory");
    code = EXIT_FAILED;
  } else if ((status = judge_sources(p, v->sources, &f)) != BLICA_OK) {
    code = fail_reading(p, status);
  } else {
    code = v->json ? print_json(&f) : print_text(&f, v->sources > 0);
  }
  blica_counts_free(counts);
  return code;
}

const command command_check = {
    .name = "check",
    .summary = "what is in the data: sizes, constants, empty cells, missing values, identifiability",
    .operands = "DATA|COUNTS",
    .least = 1,
    .most = 1,
    .text = "Reads the data (or counts) and tells what a fit will meet: the number of variables, segments and rows, "
            "small segments, "
            "columns that are constant in a segment, pairs with an empty cell in their 2x2 table, missing values, and "
            "how many "
            "sources can be identified by counting statistics against unknowns (Table 1 of the paper).",
    .examples = "blica check survey.csv\n"
                "blica check counts.npz --sources 5 --json",
    .groups = {{"Options", own_table, 0}, {"How the data are read", data_option_table, offsetof(check_values, data)}},
    .values = sizeof(check_values),
    .run = run,
};
