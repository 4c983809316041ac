/* cmd_invariance.c - blica invariance MODEL DATA: items that differ between segments. */
#include <math.h>
#include <stdio.h>

#include "args.h"
#include "communicator.h"
#include "data_args.h"
#include "output.h"
#include "words.h"

static const blica_option own[] = {
    TEXT(program, out, "FILE", "Write all tests here, as JSON."),
    FLAG(program, json,
         "A JSON object with items, a list of tests (item, segment or null for all segments, kind cuts or loadings, "
         "effect, p, p_adjusted, and for one segment found, shift, probability or loading), level and found."),
};
OPTION_TABLE(own_table, own)

/* Adds what differs in one segment: shift of the cuts and change of the probability of each level, or loadings. */
static void add_details(const blica_invariance_result *r, const blica_model *m, const blica_item_test *t,
                        json_t *item) {
  const int i = t->item, s = t->segment, first = m->coding ? m->coding->first[i] : i;
  const int cuts = (m->coding ? m->coding->first[i + 1] : i + 1) - first;
  json_object_set_new(item, "found", t->found ? json_integer(t->found) : json_null());
  if (t->kind == BLICA_CUTS) {
    json_object_set_new(item, "shift", json_numbers(r->shift + first + (size_t)r->planes * s, cuts));
    json_object_set_new(item, "probability",
                        json_numbers(r->share + first + i + (size_t)(r->planes + r->n) * s, cuts + 1));
    return;
  }
  json_t *list = json_array();
  for (int l = 0; l < r->k; l++)
    json_array_append_new(list, json_number(r->loading[i + (size_t)r->n * (l + (size_t)r->k * s)]));
  json_object_set_new(item, "loading", list);
}

static json_t *record(const blica_invariance_result *r, const blica_model *m) {
  json_t *list = json_array();
  for (int i = 0; i < r->tests; i++) {
    const blica_item_test *t = &r->test[i];
    json_t *item = json_members("item:t segment:t kind:t effect:n p:n p_adjusted:n", r->variables[t->item],
                                t->segment < 0 ? NULL : r->segments[t->segment], blica_item_part_name(t->kind),
                                t->effect, t->p, t->p_adjusted);
    if (t->segment >= 0) add_details(r, m, t, item);
    json_array_append_new(list, item);
  }
  return json_members("items:o found:i level:n", list, r->found, r->level);
}

static void print_row(const blica_invariance_result *r, const blica_item_test *t, int item, int segment) {
  put_name(stdout, r->variables[t->item], item, item);
  printf("  ");
  put_name(stdout, t->segment < 0 ? "all" : r->segments[t->segment], segment, segment);
  printf("  %-9s %+6.2f  %8.2g  %8.2g%s\n", blica_item_part_name(t->kind), t->effect, t->p, t->p_adjusted,
         t->found ? "  differs" : "");
}

static int print_text(const blica_invariance_result *r) {
  enum { WORST = 5 };
  static const char *const what[] = {"Cuts", "Loadings"};
  for (int kind = 0; kind < BLICA_ITEM_PARTS; kind++) {
    const int items = items_that_differ(r, (blica_item_part)kind);
    if (items < 0)
      printf("%s: cannot be tested here, as this many sources fit any %s.\n", what[kind],
             blica_item_part_name((blica_item_part)kind));
    else if (items)
      printf("%s: %d of %d items differ between segments.\n", what[kind], items, r->n);
    else
      printf("%s: no item is shown to differ between segments.\n", what[kind]);
  }
  const int item = names_width(r->variables, r->n, 4), segment = names_width(r->segments, r->u, 7);
  printf("\n%-*s  %-*s  %-9s %6s  %8s  %8s\n", item, "item", segment, "segment", "what", "effect", "p", "adjusted");
  for (int i = 0, overall = 0, single = 0; i < r->tests; i++) {
    const blica_item_test *t = &r->test[i];
    int *seen = t->segment < 0 ? &overall : &single;
    if (*seen < WORST || t->found) print_row(r, t, item, segment);
    ++*seen;
  }
  puts("");
  print_sentences(stdout,
                  "The effect on cuts is by how many standard deviations they are higher, so that fewer rows reach the "
                  "level; on loadings, the largest change of a standardised loading. p is adjusted for the number of "
                  "tests (false discovery rate).");
  return EXIT_OK;
}

static int run(program *p, void *values) {
  const blica_invariance_options *options = values;
  AUTO(blica_invariance_result) *result = NULL;
  STEP(read_model_and_rows(p));
  ASK(p, blica_invariance(p->ctx, p->model, p->rows, options, &result));
  STEP(json_give(record(result, p->model), p->out, p->json));
  return p->json ? EXIT_OK : print_text(result);
}

const command command_invariance = {
    .name = "invariance",
    .summary = "which items have other cuts or loadings in some segments",
    .operands = "MODEL DATA",
    .text =
        "A model holds that every item has the same cuts and the same loadings in all segments; only means and "
        "variances of the sources differ. For each item and segment this tests whether that is so, from the rows that "
        "the model was fitted to and without refits: first over all segments, then in each. The item that differs most "
        "is set apart in that segment before the others are tested again, as one item that differs makes others look "
        "as if they did.\n\n"
        "The effect on cuts is by how many standard deviations of the item's latent response they are higher here; on "
        "loadings, the largest change of a standardised loading. p_adjusted is adjusted for the number of tests (false "
        "discovery rate). Large samples show differences that do not matter: look at the effect first.",
    .examples = "blica invariance model.json data.csv\n"
                "blica invariance model.json data.csv --json",
    .groups = {VERB_OPTIONS("Options", invariance, 0), {"Output", own_table, OF_PROGRAM, 0}},
    .reads = true,
    .values = sizeof(blica_invariance_options),
    .run = run,
    .shared = true,
};
