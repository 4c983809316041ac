/* cmd_check.c - blica check DATA|COUNTS: what is in the data, before anything is fitted to them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "base/text.h"
#include "data_args.h"
#include "output.h"
#include "words.h"

enum { SMALL = 50, LISTED = 10 };

typedef struct {
  int sources, json;
} check_values;

static const blica_option own[] = {
    OPTION(check_values, sources, BLICA_OPT_INT, NULL, 1, 1e6, NULL, "K",
           "Check identifiability for this number of sources. Without it, the largest number that can be identified is "
           "printed."),
    FLAG(check_values, json, "A JSON object on the standard output."),
};
OPTION_TABLE(own_table, own)

typedef struct {
  const blica_counts *c;
  const blica_check *found;
  blica_coding *coding; /* NULL: a column is a variable */
  int sources;          /* judged; 0: no number of sources can be identified */
  int64_t statistics, unknowns;
} findings;

static const char *name(const findings *f, int i) {
  return f->coding ? f->coding->names[i] : f->c->variables[i];
}

/* Table 1 of the paper, for the number asked for or the largest with no more unknowns than statistics. */
static blica_status judge_sources(program *p, int sources, findings *f) {
  int u = f->c->u, ordinal = blica_ordinal_items(f->coding);
  f->sources = sources ? sources : f->found->n;
  for (;;) {
    blica_status status =
        blica_identify_count(p->ctx, f->found->n, f->sources, u, ordinal, &f->statistics, &f->unknowns);
    if (status != BLICA_OK || sources || f->statistics >= f->unknowns) return status;
    if (--f->sources == 0) return BLICA_OK;
  }
}

/* ---- printing ---- */

static void print_constants(const findings *f) {
  int listed = 0;
  char segment[SHOWN_TEXT], variable[SHOWN_TEXT], text[SHOWN_TEXT];
  for (int s = 0; s < f->c->u; s++)
    for (int i = 0; i < f->found->n; i++) {
      const int level = constant_level(f->c, f->coding, s, i);
      if (level == -2 || listed++ >= LISTED) continue;
      printf("    segment '%s', variable '%s': ", shown(f->c->segments[s], segment), shown(name(f, i), variable));
      if (level < 0)
        puts("all missing");
      else
        printf("always %s\n", shown(level_label(f->coding, i, level), text));
    }
  if (listed > LISTED) printf("    and %d more\n", listed - LISTED);
}

static void print_missing(const findings *f) {
  int listed = 0;
  char variable[SHOWN_TEXT];
  for (int i = 0; i < f->found->n; i++) {
    const double missing = f->found->missing[i];
    if (missing > 0 && listed++ < LISTED)
      printf("    '%s': %.15g (%.3g %%)\n", shown(name(f, i), variable), missing, 100 * missing / f->found->rows);
  }
  if (listed > LISTED) printf("    and %d more variables\n", listed - LISTED);
}

/* The worst level of what was found; nothing can be fitted either when no number of sources can be identified. */
static int worst(const findings *f) {
  int level = f->statistics < f->unknowns ? 2 : 0;
  for (int i = 0; i < f->found->count; i++)
    if (f->found->findings[i].level > level) level = f->found->findings[i].level;
  return level;
}

static void print_verdict(const findings *f) {
  static const char *const verdicts[] = {"nothing prevents a fit",
                                         "these data can be fitted; the fit improves without what is listed above",
                                         "not ready for a fit: repair what is listed above"};
  for (int i = 0; i < f->found->count; i++) {
    const blica_finding *one = &f->found->findings[i];
    if (one->level > 0) printf("%s: %s\n    %s\n", one->level > 1 ? "mend" : "look", one->found, one->advice);
  }
  printf("verdict: %s\n", verdicts[worst(f)]);
}

static int print_text(const findings *f, bool asked) {
  const blica_check *d = f->found;
  const double tables = 0.5 * d->n * (d->n - 1.0) * d->u;
  char words[DATA_WORDS];
  data_words(d, words, sizeof words);
  print_sentences(stdout, words);
  if (f->c->exact) puts("The counts are exact, and their numbers of rows nominal.");
  printf("rows per segment: %.15g least, %.15g median, %.15g most\n", d->least, d->median, d->most);
  printf("segments with fewer than %d rows: %d\n", SMALL, d->small_segments);
  printf("constant columns: %lld of %lld\n", (long long)d->constant_columns, (long long)d->n * d->u);
  print_constants(f);
  printf("pairs with an empty cell: %lld of %.15g (%.3g %%)\n", (long long)d->zero_cells, tables,
         100 * (double)d->zero_cells / tables);
  if (d->empty_pairs)
    printf("pairs without a common row: %lld, in no segment: %lld\n", (long long)d->empty_pairs,
           (long long)d->never_together);
  printf("missing values: %.15g of %.15g\n", d->missing_values, d->rows * d->n);
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
  print_verdict(f);
  return EXIT_OK;
}

static json_t *constants_record(const findings *f) {
  json_t *list = json_array();
  for (int s = 0; s < f->c->u; s++)
    for (int i = 0; i < f->found->n; i++)
      if (constant_level(f->c, f->coding, s, i) != -2)
        json_array_append_new(list, json_members("segment:t variable:t", f->c->segments[s], name(f, i)));
  return list;
}

static json_t *findings_record(const blica_check *d) {
  json_t *list = json_array();
  for (int i = 0; i < d->count; i++) {
    const blica_finding *one = &d->findings[i];
    json_array_append_new(
        list, json_members("code:t level:i found:t advice:t", one->code, (int)one->level, one->found, one->advice));
  }
  return list;
}

static int print_json(const findings *f) {
  static const char *const verdicts[] = {"ready", "look", "mend"};
  const blica_check *d = f->found;
  return json_print(json_members(
      "rows_per_segment:o samples:o constant_columns:o pairs:w missing:o sources:i statistics:w unknowns:w surplus:w "
      "exact:b findings:o verdict:t variables:i segments:i rows:n small_segments:i zero_cell_pairs:w empty_pairs:w "
      "never_together:w copies:w",
      json_members("least:n median:n most:n", d->least, d->median, d->most), json_numbers(f->c->samples, d->u),
      constants_record(f), (int64_t)d->n * (d->n - 1) / 2 * d->u, json_numbers(d->missing, d->n), f->sources,
      f->statistics, f->unknowns, f->statistics - f->unknowns, f->c->exact != 0, findings_record(d), verdicts[worst(f)],
      d->n, d->u, d->rows, d->small_segments, d->zero_cells, d->empty_pairs, d->never_together, d->copies));
}

/* ---- the variables of a survey file, as long as none are chosen ---- */

static void print_variable(const table_variable *variable, void *user) {
  char name[SHOWN_TEXT], levels[64];
  (void)user;
  snprintf(levels, sizeof levels, "%s", variable->count < 0 ? "more than 100 values" : variable->levels);
  bl_text_clean(levels);
  printf("    %-12s %-8s %8lld missing  %-24s  %s\n", shown(variable->name, name), variable->kind,
         (long long)variable->missing, levels, variable->label);
}

static int list_variables(const char *path) {
  char message[TABLE_MESSAGE];
  puts("variables, to choose from by --columns, --ignore, --numeric and --segment-column:");
  const blica_status status = table_list_variables(path, message, print_variable, NULL);
  return status == BLICA_OK ? EXIT_OK : fail_table(status, message);
}

static int run(program *p, void *values) {
  const check_values *v = values;
  AUTO(blica_check) *found = NULL;
  AUTO(blica_coding) *coding = NULL;
  const bool choose = table_is_readstat(p->operands[0]) && !p->data.columns && !p->data.ignore && !v->json;
  if (choose) STEP(list_variables(p->operands[0]));
  STEP(read_counts(p, p->operands[0]));
  ASK(p, blica_counts_coding(p->ctx, p->counts, &coding));
  ASK(p, blica_check_counts(p->ctx, p->counts, &found));
  findings f = {.c = p->counts, .found = found, .coding = coding};
  ASK(p, judge_sources(p, v->sources, &f));
  return v->json ? print_json(&f) : print_text(&f, v->sources > 0);
}

const command command_check = {
    .name = "check",
    .summary = "what is in the data, and what to do about it before a fit",
    .operands = "DATA|COUNTS",
    .text = "Reads the data (or counts) and lists what matters for a fit: the number of variables, segments and rows, "
            "small segments, columns that are constant in a segment, pairs with an empty cell in their table, missing "
            "values, and how many sources can be identified by counting statistics against unknowns (Table 1 of the "
            "paper). Then it names what a fit cannot repair, such as items that are copies of others, says what to do "
            "about it, and ends with a verdict.\n\n"
            "For a file of SPSS, Stata or SAS it first lists the variables, unless --columns or --ignore choose among "
            "them: name, kind, missing values, levels and label.",
    .examples = "blica check survey.csv\n"
                "blica check counts.npz --sources 5 --json",
    .groups = {{"Options", own_table, 0, 0}},
    .reads = true,
    .values = sizeof(check_values),
    .run = run,
};
