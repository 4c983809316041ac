/* words.c - see words.h. */
#include "words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the numbers say ---- */

double source_correlation(const blica_model *m, int i, int j) {
  const double loading = m->mixing[(size_t)i + (size_t)j * (size_t)m->n];
  double sum = 0;
  for (int s = 0; s < m->u; s++) {
    const double *v = m->variances + (size_t)m->k * (size_t)s;
    double all = 1;
    for (int l = 0; l < m->k; l++) {
      const double other = m->mixing[(size_t)i + (size_t)l * (size_t)m->n];
      all += m->link * v[l] * other * other;
    }
    sum += sqrt(m->link * v[j] / all);
  }
  return loading * sum / m->u;
}

int source_of_item(const blica_model *m, int i) {
  int best = 0;
  double most = -1;
  for (int j = 0; j < m->k; j++) {
    const double strength = fabs(source_correlation(m, i, j));
    if (strength > most) most = strength, best = j;
  }
  return best;
}

bool is_doubtful(const blica_assessment *a, int i, int j) {
  const size_t at = (size_t)i + (a ? (size_t)j * (size_t)a->n : 0);
  return a && isfinite(a->mixing_low[at]) && a->mixing_low[at] <= 0 && a->mixing_high[at] >= 0;
}

enum { NAMED = 3 }; /* names at one end of a source */

/* The items whose correlation with source j has this sign and is worth a word: how many there are. The first `*listed`
 * of them are in list. */
static int name_items(const blica_model *m, const blica_assessment *a, int j, double sign, int list[NAMED],
                      int *listed) {
  enum { MANY = 5, WIDE = 60 }; /* sources from which one name fewer is given; bytes of the names of a sentence */
  const double worth = 0.3;
  const int most = m->k < MANY ? NAMED : NAMED - 1;
  double strength[NAMED];
  int all = 0, count = 0;
  for (int i = 0; i < m->n; i++) {
    const double size = sign * source_correlation(m, i, j);
    if (size < worth || is_doubtful(a, i, j)) continue;
    all++;
    if (count == most && size <= strength[most - 1]) continue;
    int at = count < most ? count++ : most - 1;
    for (; at > 0 && strength[at - 1] < size; at--) strength[at] = strength[at - 1], list[at] = list[at - 1];
    strength[at] = size, list[at] = i;
  }
  size_t wide = 0;
  for (*listed = 0; *listed < count; ++*listed)
    if ((wide += strlen(m->variables[list[*listed]])) > WIDE && *listed > 0) break;
  return all;
}

/* The items at one end of source j; how many there are. */
static int write_end(const blica_model *m, const blica_assessment *a, int j, double sign, const char *before,
                     void (*put)(const char *name, FILE *to), FILE *to) {
  int list[NAMED], listed;
  const int all = name_items(m, a, j, sign, list, &listed);
  for (int i = 0; i < listed; i++) {
    fputs(i ? ", " : before, to);
    put(m->variables[list[i]], to);
  }
  if (all > listed) fprintf(to, " and %d more", all - listed);
  return all;
}

void write_source(const blica_model *m, const blica_assessment *a, int j, void (*put)(const char *name, FILE *to),
                  FILE *to) {
  const int up = write_end(m, a, j, 1, "", put, to), down = write_end(m, a, j, -1, up ? " against " : "", put, to);
  if (up + down == 0) fputs("no item is clearly related to it", to);
}

typedef struct {
  int item, source;
  double strength;
} keyed;

static int by_source(const void *x, const void *y) {
  const keyed *a = x, *b = y;
  if (a->source != b->source) return a->source < b->source ? -1 : 1;
  if (a->strength != b->strength) return a->strength > b->strength ? -1 : 1;
  return a->item < b->item ? -1 : 1;
}

int *sorted_items(const blica_model *m, void *(*alloc)(size_t, size_t)) {
  keyed *keys = alloc((size_t)m->n, sizeof *keys);
  int *order = keys ? alloc((size_t)m->n, sizeof *order) : NULL;
  for (int i = 0; i < m->n && order; i++) {
    const int source = source_of_item(m, i);
    keys[i] = (keyed){i, source, fabs(source_correlation(m, i, source))};
  }
  if (order) qsort(keys, (size_t)m->n, sizeof *keys, by_source);
  for (int i = 0; i < m->n && order; i++) order[i] = keys[i].item;
  free(keys);
  return order;
}

/* The variance that source j gives to all latent variables together, mean over segments. */
static double explained(const blica_model *m, int j) {
  double squares = 0, variance = 0;
  for (int i = 0; i < m->n; i++) squares += pow(m->mixing[(size_t)i + (size_t)j * (size_t)m->n], 2);
  for (int s = 0; s < m->u; s++) variance += m->variances[(size_t)s * (size_t)m->k + (size_t)j] / m->u;
  return squares * variance;
}

double explained_share(const blica_model *m, int j) {
  double all = 0;
  for (int l = 0; l < m->k; l++) all += explained(m, l);
  return explained(m, j) / all;
}

int items_that_differ(const blica_invariance_result *r, blica_item_part part) {
  int count = 0;
  bool tested = false;
  for (int i = 0; i < r->tests; i++) {
    const blica_item_test *t = &r->test[i];
    if (t->kind != part) continue;
    tested = tested || !isnan(t->p);
    count += t->segment < 0 && t->p_adjusted <= r->level;
  }
  return tested ? count : -1;
}

bool reliability_range(const blica_reliability *r, int j, double *low, double *high) {
  *low = INFINITY, *high = -INFINITY;
  for (int s = 0; s < r->u; s++) {
    const double here = blica_reliability_of(r, j, s);
    if (!isnan(here)) *low = fmin(*low, here), *high = fmax(*high, here);
  }
  return *low < *high;
}

/* ---- starts ---- */

/* Whether start i reached the optimum of the best. Starts are compared with the one that was kept: where priors are
 * learned, the model's own objective is under others. Duplicates were ended before they had its objective. */
static bool at_best(const blica_fit_report *fit, int i) {
  const double best = fit->starts[fit->best_start].objective, near = 1e-6 * fmax(1, fabs(best));
  const bool first =
      fabs(best - fit->starts[0].objective) <= near || fit->starts[fit->best_start].stop == BLICA_STOP_DUPLICATE;
  if (i == 0 || fit->starts[i].stop == BLICA_STOP_DUPLICATE) return first;
  return fabs(best - fit->starts[i].objective) <= near;
}

void starts_words(const blica_fit_report *fit, char text[STARTS_TEXT]) {
  int reached = 0;
  for (int i = 0; i < fit->n_starts; i++) reached += at_best(fit, i);
  text[0] = 0;
  if (fit->n_starts == 1)
    snprintf(text, STARTS_TEXT,
             "There was one start only; more starts would show whether it ended in the best optimum.");
  else if (fit->n_starts > 1 && reached == fit->n_starts)
    snprintf(text, STARTS_TEXT, "All %d starts reached the same optimum.", reached);
  else if (fit->n_starts > 1)
    snprintf(text, STARTS_TEXT,
             "%d of %d starts reached the best optimum (within 1e-6 of its objective); the others stopped early or in "
             "worse ones.%s",
             reached, fit->n_starts, reached == 1 ? " More starts may find a better one." : "");
}

/* ---- data and commands ---- */

int constant_level(const blica_counts *c, const blica_coding *coding, int s, int i) {
  const int first = coding ? coding->first[i] : i, end = coding ? coding->first[i + 1] : i + 1;
  const size_t at = (size_t)s * (size_t)c->n;
  int level = 0;
  if (c->present[at + (size_t)first] == 0) return -1;
  for (int p = first; p < end; p++) {
    const double ones = c->ones[at + (size_t)p];
    if (ones > 0 && ones < c->present[at + (size_t)p]) return -2;
    level += ones > 0;
  }
  return level;
}

const char *level_label(const blica_coding *c, int i, int level) {
  return c ? c->labels[c->first[i] + i + level] : level ? "1" : "0";
}

void shell_word(const char *word, char text[WORD_TEXT]) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,-+@%=";
  const bool quote = !*word || word[strspn(word, plain)];
  size_t at = (size_t)snprintf(text, WORD_TEXT, "%s", quote ? "'" : "");
  for (; *word && at + 8 < WORD_TEXT; word++)
    at += (size_t)snprintf(text + at, WORD_TEXT - at, *word == '\'' && quote ? "'\\''" : "%c", *word);
  if (quote) snprintf(text + at, WORD_TEXT - at, "'");
}

/* Adds a sentence about a count that is not 0: "<before>5 segments<after>." */
static size_t tell(char *text, size_t size, size_t at, double count, const char *before, const char *noun,
                   const char *after) {
  if (!(count > 0) || at >= size) return at;
  return at +
         (size_t)snprintf(text + at, size - at, " %s%.15g %s%s%s.", before, count, noun, count == 1 ? "" : "s", after);
}

void data_words(const blica_check *d, char *text, size_t size) {
  char to[32] = "", share[48];
  if (d->most > d->least) snprintf(to, sizeof to, " to %.15g", d->most);
  size_t at = (size_t)snprintf(text, size, "%.15g rows, %d items, %d segment%s of %.15g%s rows.", d->rows, d->n, d->u,
                               d->u == 1 ? "" : "s", d->least, to);
  const size_t sizes = at;
  snprintf(share, sizeof share, " missing (%.2g %%)", 100 * d->missing_values / (d->rows * d->n));
  at = tell(text, size, at, d->missing_values, "", "value", share);
  at = tell(text, size, at, d->small_segments, "", "segment", " of fewer than 50 rows");
  at = tell(text, size, at, (double)d->absent_columns, "In ", "case", " an item has no value in a segment");
  at = tell(text, size, at, (double)(d->constant_columns - d->absent_columns), "In ", "case",
            " an item has one value only in a segment");
  at = tell(text, size, at, (double)d->never_together, "", "pair", " of items never asked together");
  at = tell(text, size, at, (double)d->zero_cells, "", "two-by-two table", " with an empty cell");
  at = tell(text, size, at, (double)d->copies, "", "item", " that another one determines");
  if (at == sizes && at < size) snprintf(text + at, size - at, " Nothing is missing, constant or too rare.");
}
