/* cmd_report.c - blica report MODEL [DATA]: a page about a fit. */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data_args.h"
#include "output.h"
#include "program.h"
#include "timeline.h"
#include "words.h"

typedef struct {
  const char *out, *figures, *assessment;
} report_values;

static const blica_option own[] = {
    TEXT(report_values, out, "FILE", "The report is written here, as HTML; - is the standard output."),
    TEXT(report_values, figures, "DIR", "Also write each figure as SVG into this folder, which is created if missing."),
    TEXT(report_values, assessment, "FILE",
         "Show this assessment, which blica assess --out wrote for this model, instead of assessing again; it "
         "needs no rows."),
};
OPTION_TABLE(own_table, own)

static const double TABLES_MOST = 2e8; /* beyond it correlations, held twice with their standard errors, take 7 GB */
enum { ITEMS_MOST = 10000 };           /* items x sources x segments up to which items are tested, in some seconds */
enum { RANK_MOST = 2500 };             /* parameters; the time grows with their cube, here to some seconds */

/* The contents of the page, and the objects that they come from. */
typedef struct {
  report_input in;
  char data_words[DATA_WORDS], levels[2 * WORD_TEXT];
  blica_cor *raw;        /* correlations before regularisation */
  bool assessment_given; /* read from a file */
} material;

static void release(material *m) {
  blica_check_free(m->in.check);
  blica_cor_free(m->raw);
  blica_cor_free(m->in.cor);
  blica_fitted_free(m->in.fitted);
  blica_identification_free(m->in.identification);
  m->assessment_given ? assessment_close(m->in.assessment) : blica_assessment_free(m->in.assessment);
  blica_reliability_free(m->in.reliability);
  blica_invariance_free(m->in.invariance);
  free(m->in.segment);
  timeline_free(m->in.timeline);
}

/* ---- the data must be those of the model ---- */

static int levels_of(const blica_coding *c, int i) {
  return c ? c->first[i + 1] - c->first[i] + 1 : 2;
}

/* Whether item i of one coding has the levels of item j of another. */
static bool same_levels(const blica_coding *a, int i, const blica_coding *b, int j) {
  bool same = levels_of(a, i) == levels_of(b, j);
  for (int l = 0; l < levels_of(a, i) && same; l++) same = strcmp(level_label(a, i, l), level_label(b, j, l)) == 0;
  return same;
}

static int match(const program *p, material *m) {
  const blica_model *a = p->model;
  const blica_cor *c = m->raw;
  if (a->n != c->n || a->u != c->u) {
    say_error("report: '%s' has %d variables in %d segments, but '%s' has %d in %d; give the data that the model was "
              "fitted to",
              p->operands[0], a->n, a->u, p->operands[1], c->n, c->u);
    return EXIT_DATA;
  }
  for (int i = 0; i < a->n; i++) {
    if (strcmp(a->variables[i], c->variables[i]) != 0) {
      say_error("report: variable %d is '%s' in '%s' and '%s' in '%s'; give the data that the model was fitted to",
                i + 1, a->variables[i], p->operands[0], c->variables[i], p->operands[1]);
      return EXIT_DATA;
    }
    if (!same_levels(a->coding, i, c->coding, i)) {
      say_error(
          "report: variable '%s' has other levels in '%s' than in '%s'; give the data that the model was fitted to",
          a->variables[i], p->operands[1], p->operands[0]);
      return EXIT_DATA;
    }
  }
  m->in.segment = calloc((size_t)a->u, sizeof *m->in.segment);
  if (!m->in.segment) {
    say_error("out of memory");
    return EXIT_FAILED;
  }
  for (int s = 0; s < a->u; s++)
    if ((m->in.segment[s] = table_place(c->segments, c->u, a->segments[s], strlen(a->segments[s]))) < 0) {
      say_error("report: segment '%s' of '%s' is not in '%s'; give the data that the model was fitted to",
                a->segments[s], p->operands[0], p->operands[1]);
      return EXIT_DATA;
    }
  return EXIT_OK;
}

/* How far scores can be relied on. */
static blica_status score(program *p, material *m) {
  AUTO(blica_posterior) *posterior = NULL;
  MUST(blica_sources(p->ctx, p->model, p->rows, NULL, &posterior));
  return blica_reliability_add(p->ctx, p->model, p->rows, posterior, &m->in.reliability);
}

/* Notes that a part of the page is left out, and why; fails when memory is out or the user interrupted. */
static int note_missing_part(program *p, blica_status status, const char *without) {
  if (status == BLICA_ERR_MEMORY || status == BLICA_ERR_INTERRUPTED) return fail_reading(p, status);
  if (status != BLICA_OK) say_note("%s: %s", without, blica_message(p->ctx));
  return EXIT_OK;
}

/* Computes the parts of the page that need rows. */
static int ask_rows(program *p, material *m) {
  const blica_model *model = p->model;
  const char *path = p->operands[1];
  const blica_assess_options usual = blica_assess_options_default();
  if (table_is_counts(path) || strcmp(path, "-") == 0) return EXIT_OK;
  p->data.note = no_note; /* notes were printed when the counts were made */
  STEP(read_rows(p, path));
  if (!m->in.assessment)
    STEP(note_missing_part(p, blica_assess(p->ctx, model, p->rows, &usual, &m->in.assessment),
                           "the fit is not assessed"));
  STEP(note_missing_part(p, score(p, m), "the reliability of scores is left out"));
  if ((double)model->n * model->k * model->u <= ITEMS_MOST)
    STEP(note_missing_part(p, blica_invariance(p->ctx, model, p->rows, NULL, &m->in.invariance),
                           "items are not tested"));
  return EXIT_OK;
}

/* Computes the parts of the page that need counts. */
static int ask_counts(program *p, material *m) {
  const blica_model *model = p->model;
  const double tables = 0.5 * model->n * (model->n - 1.0) * model->u;
  if (tables > TABLES_MOST) {
    say_error("report: %d variables in %d segments are %.3g tables, and their correlations would take %.0f GB; give no "
              "DATA, and the page shows the model alone",
              model->n, model->u, tables, 34e-9 * tables);
    return EXIT_DATA;
  }
  STEP(read_counts(p, p->operands[1]));
  ASK(p, blica_check_counts(p->ctx, p->counts, &m->in.check));
  ASK(p, blica_correlate(p->ctx, p->counts, &m->raw));
  data_words(m->in.check, m->data_words, sizeof m->data_words);
  STEP(match(p, m));
  if (p->data.segment_file) {
    char message[TABLE_MESSAGE];
    const blica_status status =
        timeline_read(p->data.segment_file, model->segments, model->u, message, &m->in.timeline);
    if (status != BLICA_OK) return fail_table(status, message);
  }
  const double condition = model->fit.condition > 1 ? model->fit.condition : 1.0 / 0.0; /* a simulated one has none */
  ASK(p, blica_regularise(p->ctx, m->raw, condition, &m->in.cor));
  ASK(p, blica_fitted(p->ctx, model, NULL, &m->in.fitted));
  return EXIT_OK;
}

static int gather(program *p, const report_values *v, material *m) {
  STEP(read_model(p));
  if (v->assessment) {
    int code;
    m->in.assessment = assessment_read(v->assessment, p->model, &code);
    m->assessment_given = true;
    STEP(code);
  }
  const int64_t parameters = (int64_t)p->model->k * (p->model->n + p->model->u - 1);
  if (parameters > RANK_MOST)
    say_note("the rank of %lld parameters is left out of the report; blica identify %s computes it",
             (long long)parameters, p->operands[0]);
  else
    STEP(
        note_missing_part(p, blica_identify(p->ctx, p->model, &m->in.identification), "no verdict on identifiability"));
  if (p->operand_count == 1) return EXIT_OK;
  STEP(ask_counts(p, m));
  return ask_rows(p, m);
}

/* ---- writing ---- */

static bool write_page(FILE *stream, const void *in) {
  return report_write(in, stream) && !interrupted();
}

static int write_figures(const report_input *in, const char *folder) {
  char message[1024];
  if (!make_folder(folder, NULL)) return EXIT_FAILED;
  if (report_figures(in, folder, message, sizeof message) && !interrupted()) return EXIT_OK;
  if (interrupted()) snprintf(message, sizeof message, "interrupted while writing '%s'", folder);
  say_error("%s", message);
  return interrupted() ? EXIT_INTERRUPTED : EXIT_FAILED;
}

/* Writes the flags that give the items the levels of the model, for commands on the page that take no model. The text
 * is empty when all items are 0 and 1, or when the options of reading give the levels. */
static void level_flags(const blica_coding *c, const table_options *v, char *flags, size_t size) {
  char list[WORD_TEXT - 8] = "", word[WORD_TEXT];
  size_t used = 0;
  bool whole = true, alike = true;
  if (!c || v->ordinal || v->list) return;
  for (int i = 0; i < c->items; i++) alike = alike && same_levels(c, 0, c, i);
  for (int i = 0; i < c->first[c->items] + c->items; i++)
    whole = whole && *c->labels[i] && !c->labels[i][strspn(c->labels[i], "-0123456789")];
  for (int i = 0; i < (alike ? 1 : c->items) && used < sizeof list; i++) {
    if (!alike) used += (size_t)snprintf(list + used, sizeof list - used, "%s%s=", i ? "," : "", c->names[i]);
    for (int l = c->first[i] + i; l <= c->first[i + 1] + i && used < sizeof list; l++)
      used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", l > c->first[i] + i ? "<" : "", c->labels[l]);
  }
  shell_word(used < sizeof list ? list : "...", word);
  snprintf(flags, size, whole ? " --ordinal" : " --levels %s", word);
}

static int run(program *p, void *values) {
  const report_values *v = values;
  material m = {0};
  report_input *in = &m.in;
  int code = gather(p, v, &m);
  if (code == EXIT_OK) {
    int64_t statistics, unknowns;
    level_flags(p->model->coding, &p->data, m.levels, sizeof m.levels);
    in->model = p->model, in->counts = p->counts;
    in->data_words = in->check ? m.data_words : NULL;
    in->model_path = p->operands[0], in->data_path = p->operand_count > 1 ? p->operands[1] : NULL;
    in->data_options = p->reading, in->level_options = m.levels;
    in->version = blica_version(), in->stop = interrupted;
    if (blica_identify_count(p->ctx, p->model->n, p->model->k, p->model->u, blica_ordinal_items(p->model->coding),
                             &statistics, &unknowns) == BLICA_OK)
      in->surplus = statistics - unknowns;
    code = write_file(v->out, write_page, in);
    if (code == EXIT_OK && v->figures) code = write_figures(in, v->figures);
  }
  if (code == EXIT_OK)
    say_note("wrote %s%s%s", v->out, v->figures ? " and figures to " : "", v->figures ? v->figures : "");
  release(&m);
  return code;
}

const command command_report = {
    .name = "report",
    .summary = "write an HTML report about a fit",
    .operands = "MODEL [DATA|COUNTS]",
    .required = "out",
    .text = "Writes one HTML page that needs no other file and no network: what was fitted and how well, the mixing "
            "matrix, the sources over segments, what was corrected in the data, how far to trust it, and the command "
            "that gives the same result again.\n\n"
            "With DATA (or COUNTS), which must be what the model was fitted to, it also shows observed against fitted "
            "correlations and residuals, and names constant variables and pairs with empty cells. With --segment-file "
            "and what blica segment wrote, it shows when each state occurred, and for how long.",
    .examples = "blica report model.json data.csv --out report.html\n"
                "# each figure as SVG too\n"
                "blica report model.json data.csv --out report.html --figures figures",
    .groups = {{"Files", own_table, 0, 0}},
    .reads = true,
    .values = sizeof(report_values),
    .run = run,
};
