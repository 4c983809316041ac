/* fit_summary.c - see fit_summary.h. */
#include "fit_summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table_io.h"
#include "words.h"

enum {
  TABLE_ITEMS = 60, /* up to this number of items and sources all loadings are printed */
  TABLE_SOURCES = 8,
  NAME = 40,      /* characters of a name */
  RANK_MOST = 400 /* parameters up to which the rank of the design is computed in passing */
};

static int characters_of(const char *text) {
  int count = 0;
  for (; *text; text++) count += ((unsigned char)*text & 0xC0) != 0x80;
  return count;
}

/* The name in at most `most` characters, filled with blanks up to `least`. */
static void put_name(FILE *to, const char *name, int least, int most) {
  char text[SHOWN_TEXT];
  const char *c = shown(name, text);
  const int all = characters_of(c), kept = all > most ? most - 1 : all;
  for (int count = 0; *c; c++) {
    if (((unsigned char)*c & 0xC0) != 0x80 && ++count > kept) break;
    putc(*c, to);
  }
  fprintf(to, "%s%*s", all > most ? "\xE2\x80\xA6" : "", all < least ? least - all : 0, "");
}

static int names_width(const blica_model *m) {
  int widest = 8;
  for (int i = 0; i < m->n; i++) {
    const int own = characters_of(m->variables[i]);
    widest = own > widest ? own : widest;
  }
  return widest < NAME ? widest : NAME;
}

static void print_loadings(const blica_model *m, const int *order, FILE *to) {
  const int width = names_width(m);
  fprintf(to, "%-*s", width, "loadings");
  for (int j = 0; j < m->k; j++) fprintf(to, "  %*sz%d", j < 9 ? 4 : 3, "", j + 1);
  for (int i = 0; i < m->n; i++) {
    putc('\n', to);
    put_name(to, m->variables[order[i]], width, width);
    for (int j = 0; j < m->k; j++)
      fprintf(to, "  %6.2f", round(100 * m->mixing[(size_t)order[i] + (size_t)j * (size_t)m->n]) / 100 + 0.0);
  }
  fputs("\n\n", to);
}

/* The items at one end of source j; how many there are. */
static int print_end(const blica_model *m, int j, double sign, const char *before, FILE *to) {
  int list[NAMED], listed;
  const int all = name_items(m, NULL, j, sign, list, &listed);
  for (int i = 0; i < listed; i++) {
    fputs(i ? ", " : before, to);
    put_name(to, m->variables[list[i]], 0, NAME);
  }
  if (all > listed) fprintf(to, " and %d more", all - listed);
  return all;
}

static void print_sources(const blica_model *m, FILE *to) {
  for (int j = 0; j < m->k; j++) {
    fprintf(to, "z%d (%.0f %%%s): ", j + 1, 100 * explained_share(m, j), j == 0 ? " of what is explained" : "");
    const int up = print_end(m, j, 1, "", to), down = print_end(m, j, -1, up ? " against " : "", to);
    fputs(up + down ? "\n" : "no item is clearly related to it\n", to);
  }
  putc('\n', to);
}

static void print_design(program *p, const blica_model *m, FILE *to) {
  int64_t statistics, unknowns;
  blica_identification *found = NULL;
  if (blica_identify_count(p->ctx, m->n, m->k, m->u, blica_ordinal_items(m->coding), &statistics, &unknowns) !=
      BLICA_OK)
    return;
  if (statistics < unknowns)
    fprintf(to,
            "Design: no. There are %lld more unknowns than statistics, so these data cannot determine %d sources.\n",
            (long long)(unknowns - statistics), m->k);
  else if ((int64_t)m->k * (m->n + m->u) <= RANK_MOST && blica_identify(p->ctx, m, &found) == BLICA_OK)
    fprintf(to, "Design: %s determine %d sources%s (rank %lld of %lld).\n",
            found->local ? "yes. These segments can" : "no. These segments cannot", m->k,
            found->local ? " if their variances change" : "", (long long)found->rank, (long long)found->parameters);
  else
    fputs("Design: not tested yet (blica identify).\n", to);
  blica_identification_free(found);
}

void print_summary(program *p, const blica_model *m, FILE *to, const char *out, const char *data,
                   const char *data_options, const char *words) {
  char starts[STARTS_TEXT], model_word[WORD_TEXT], data_word[WORD_TEXT];
  int *order = calloc((size_t)m->n, sizeof *order);
  if (*words) fprintf(to, "%s\n\n", words);
  if (order) {
    sort_items(m, order);
    if (m->n <= TABLE_ITEMS && m->k <= TABLE_SOURCES) print_loadings(m, order, to);
    print_sources(m, to);
  }
  free(order);
  print_design(p, m, to);
  fputs("Change, fit, loadings: not tested yet (blica assess).\n", to);
  starts_words(&m->fit, starts);
  if (*starts) fprintf(to, "Starts: %s\n", starts);
  const bool rows = strcmp(data, "-") != 0 && !table_is_counts(data);
  shell_word(out, model_word), shell_word(data, data_word);
  if (strcmp(out, "/dev/stdout") == 0) return;
  fputs("Next:\n", to);
  if (rows) fprintf(to, "  blica assess %s %s%s\n", model_word, data_word, data_options);
#ifdef BLICA_REPORT
  fprintf(to, "  blica report %s%s%s%s --out report.html\n", model_word, strcmp(data, "-") ? " " : "",
          strcmp(data, "-") ? data_word : "", strcmp(data, "-") ? data_options : "");
#endif
}
