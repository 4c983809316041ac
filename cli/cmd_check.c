/* cmd_check.c - blica check DATA|COUNTS: what is in the data, before anything is fitted to them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "data_args.h"
#include "output.h"

enum { SMALL = 50, LISTED = 10 };

typedef struct {
  data_values data;
  int sources, json;
} check_values;

static const blica_option own[] = {
    OPTION(check_values, sources, BLICA_OPT_INT, NULL, 1, 1e6, NULL, "K",
           "Check identifiability for this number of sources. Without it, the largest number that can be identified is "
           "printed."),
    OPTION(check_values, json, BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL, "A JSON object on the standard output."),
};
OPTION_TABLE(own_table, own)

typedef struct {
  const blica_counts *c;
  blica_coding *coding;             /* NULL: a column is a variable */
  int n;                            /* variables */
  double rows, least, median, most; /* rows per segment */
  int small;                        /* segments with fewer than SMALL rows */
  int64_t constants, zero_cells, empty_pairs;
  double missing;
  int sources; /* judged; 0: no number of sources can be identified */
  int64_t statistics, unknowns;
} findings;

static bool check_segments(findings *f) {
  int u = f->c->u;
  double *sizes = malloc((size_t)u * sizeof *sizes);
  if (!sizes) return false;
  memcpy(sizes, f->c->samples, (size_t)u * sizeof *sizes);
  qsort(sizes, (size_t)u, sizeof *sizes, bl_rising);
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

/* First column of variable i; one past the last for i = n. */
static int column(const findings *f, int i) {
  return f->coding ? f->coding->first[i] : i;
}

static const char *name(const findings *f, int i) {
  return f->coding ? f->coding->names[i] : f->c->variables[i];
}

static bool constant(const findings *f, int s, int i) {
  for (int l = column(f, i); l < column(f, i + 1); l++) {
    size_t at = (size_t)s * (size_t)f->c->n + (size_t)l;
    if (f->c->ones[at] > 0 && f->c->ones[at] < f->c->present[at]) return false;
  }
  return true;
}

static double missing_of(const findings *f, int i) {
  const blica_counts *c = f->c;
  double missing = 0;
  for (int s = 0; s < c->u; s++) missing += c->samples[s] - c->present[(size_t)s * (size_t)c->n + (size_t)column(f, i)];
  return missing;
}

/* Rows where variable i is at least its level a and j at least its level b. */
static double at_least(const findings *f, int s, int i, int a, int j, int b) {
  double cell[4];
  int left = column(f, i) + (a > 0 ? a - 1 : 0), right = column(f, j) + (b > 0 ? b - 1 : 0);
  if (left >= column(f, i + 1) || right >= column(f, j + 1)) return 0;
  blica_counts_table(f->c, s, left, right, cell);
  return cell[0] + (b == 0 ? cell[1] : 0) + (a == 0 ? cell[2] : 0) + (a == 0 && b == 0 ? cell[3] : 0);
}

static void judge_pair(findings *f, int s, int i, int j) {
  int zeros = 0, rows = column(f, i + 1) - column(f, i) + 1, columns = column(f, j + 1) - column(f, j) + 1;
  for (int a = 0; a < rows; a++)
    for (int b = 0; b < columns; b++) {
      double cell = at_least(f, s, i, a, j, b) - at_least(f, s, i, a + 1, j, b) - at_least(f, s, i, a, j, b + 1) +
                    at_least(f, s, i, a + 1, j, b + 1);
      zeros += cell <= 1e-9 * f->c->samples[s];
    }
  f->zero_cells += zeros > 0;
  f->empty_pairs += zeros == rows * columns;
}

static void judge_tables(findings *f) {
  for (int i = 0; i < f->n; i++) f->missing += missing_of(f, i);
  for (int s = 0; s < f->c->u; s++)
    for (int j = 0; j < f->n; j++) {
      f->constants += constant(f, s, j);
      for (int i = 0; i < j; i++) judge_pair(f, s, i, j);
    }
}

/* Table 1 of the paper, for the number asked for or the largest with no more unknowns than statistics. */
static blica_status judge_sources(program *p, int sources, findings *f) {
  int u = f->c->u, ordinal = blica_ordinal_items(f->coding);
  f->sources = sources ? sources : f->n;
  for (;;) {
    blica_status status = blica_identify_count(p->ctx, f->n, f->sources, u, ordinal, &f->statistics, &f->unknowns);
    if (status != BLICA_OK || sources || f->statistics >= f->unknowns) return status;
    if (--f->sources == 0) return BLICA_OK;
  }
}

/* ---- printing ---- */

/* The level that a constant variable always has. */
static const char *only_level(const findings *f, int s, int i) {
  const double *ones = f->c->ones + (size_t)s * (size_t)f->c->n;
  int level = 0;
  while (level < column(f, i + 1) - column(f, i) && ones[column(f, i) + level] > 0) level++;
  return f->coding ? f->coding->labels[f->coding->first[i] + i + level] : level ? "1" : "0";
}

static void print_constants(const findings *f) {
  const blica_counts *c = f->c;
  int listed = 0;
  char segment[SHOWN_TEXT], variable[SHOWN_TEXT], level[SHOWN_TEXT];
  for (int s = 0; s < c->u; s++)
    for (int i = 0; i < f->n; i++) {
      if (!constant(f, s, i) || listed++ >= LISTED) continue;
      printf("    segment '%s', variable '%s': ", shown(c->segments[s], segment), shown(name(f, i), variable));
      if (c->present[(size_t)s * (size_t)c->n + (size_t)column(f, i)] <= 0)
        puts("all missing");
      else
        printf("always %s\n", shown(only_level(f, s, i), level));
    }
  if (listed > LISTED) printf("    and %d more\n", listed - LISTED);
}

static void print_missing(const findings *f) {
  int listed = 0;
  char variable[SHOWN_TEXT];
  for (int i = 0; i < f->n; i++) {
    double missing = missing_of(f, i);
    if (missing > 0 && listed++ < LISTED)
      printf("    '%s': %.15g (%.3g %%)\n", shown(name(f, i), variable), missing, 100 * missing / f->rows);
  }
  if (listed > LISTED) printf("    and %d more variables\n", listed - LISTED);
}

static int print_text(const findings *f, bool asked) {
  const blica_counts *c = f->c;
  double tables = 0.5 * f->n * (f->n - 1.0) * c->u;
  printf("%d variables, %d segments, %.15g rows%s\n", f->n, c->u, f->rows, c->exact ? " (exact counts, nominal)" : "");
  printf("rows per segment: %.15g least, %.15g median, %.15g most\n", f->least, f->median, f->most);
  printf("segments with fewer than %d rows: %d\n", SMALL, f->small);
  printf("constant columns: %lld of %lld\n", (long long)f->constants, (long long)f->n * c->u);
  print_constants(f);
  printf("pairs with an empty cell: %lld of %.15g (%.3g %%)\n", (long long)f->zero_cells, tables,
         100 * (double)f->zero_cells / tables);
  if (f->empty_pairs) printf("pairs without a common row: %lld\n", (long long)f->empty_pairs);
  printf("missing values: %.15g of %.15g\n", f->missing, f->rows * f->n);
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
  for (int i = 0; i < f->n; i++) json_array_append_new(missing, json_number(missing_of(f, i)));
  for (int s = 0; s < c->u; s++) {
    json_array_append_new(samples, json_number(c->samples[s]));
    for (int i = 0; i < f->n; i++)
      if (constant(f, s, i))
        json_array_append_new(
            constants, json_pack("{s:o,s:o}", "segment", json_text(c->segments[s]), "variable", json_text(name(f, i))));
  }
  json_t *rows = json_pack("{s:o,s:o,s:o}", "least", json_number(f->least), "median", json_number(f->median), "most",
                           json_number(f->most));
  return json_print(json_pack("{s:i,s:i,s:o,s:o,s:o,s:i,s:o,s:I,s:I,s:I,s:o,s:i,s:I,s:I,s:I,s:b}", "variables", f->n,
                              "segments", c->u, "rows", json_number(f->rows), "rows_per_segment", rows, "samples",
                              samples, "small_segments", f->small, "constant_columns", constants, "zero_cell_pairs",
                              (json_int_t)f->zero_cells, "empty_pairs", (json_int_t)f->empty_pairs, "pairs",
                              (json_int_t)f->n * (f->n - 1) / 2 * c->u, "missing", missing, "sources", f->sources,
                              "statistics", (json_int_t)f->statistics, "unknowns", (json_int_t)f->unknowns, "surplus",
                              (json_int_t)(f->statistics - f->unknowns), "exact", c->exact));
}

static int run(program *p, void *values) {
  check_values *v = values;
  blica_counts *counts;
  int code = data_count(p, &v->data, p->operands[0], NULL, &counts);
  if (code != EXIT_OK) return code;
  findings f = {.c = counts};
  blica_status status = blica_counts_coding(p->ctx, counts, &f.coding);
  if (status != BLICA_OK) {
    blica_counts_free(counts);
    return fail_reading(p, status);
  }
  f.n = f.coding ? f.coding->items : counts->n;
  judge_tables(&f);
  if (!check_segments(&f)) {
    say_error("out of memory");
    code = EXIT_FAILED;
  } else if ((status = judge_sources(p, v->sources, &f)) != BLICA_OK) {
    code = fail_reading(p, status);
  } else {
    code = v->json ? print_json(&f) : print_text(&f, v->sources > 0);
  }
  blica_coding_free(f.coding);
  blica_counts_free(counts);
  return code;
}

const command command_check = {
    .name = "check",
    .summary = "describe the data: sizes, constants, empty cells, missing values, identifiability",
    .operands = "DATA|COUNTS",
    .least = 1,
    .most = 1,
    .text = "Reads the data (or counts) and lists what matters for a fit: the number of variables, segments and rows, "
            "small segments, columns that are constant in a segment, pairs with an empty cell in their table, missing "
            "values, and how many sources can be identified by counting statistics against unknowns (Table 1 of the "
            "paper).",
    .examples = "blica check survey.csv\n"
                "blica check counts.npz --sources 5 --json",
    .groups = {{"Options", own_table, 0}, {"How the data are read", data_option_table, offsetof(check_values, data)}},
    .values = sizeof(check_values),
    .run = run,
};
