/* cmd_merge.c - blica merge C1 C2 ...: counts of parts, added. */
#include "output.h"
#include "program.h"

static const blica_option own[] = {
    TEXT(program, out, "FILE", "File for the sum, .npz or .csv."),
};
OPTION_TABLE(own_table, own)

/* *sum becomes *sum + the counts in path; memory holds the sum and one part. */
static blica_status add_file(program *p, const char *path, blica_counts **sum) {
  blica_counts *part;
  blica_status status = blica_counts_load(p->ctx, path, &part);
  if (status != BLICA_OK || !*sum) {
    if (status == BLICA_OK) *sum = part;
    return status;
  }
  if (part->exact != (*sum)->exact) say_warning("'%s' and the files before it mix exact counts with samples", path);
  status = blica_merge_add(p->ctx, part, sum);
  blica_counts_free(part);
  return status;
}

static int run(program *p, void *values) {
  (void)values;
  char width[80];
  if (!output_is_table(p->out, "counts")) return EXIT_USAGE;
  for (int k = 0; k < p->operand_count; k++) {
    const bool together = p->counts != NULL;
    const blica_status status = add_file(p, p->operands[k], &p->counts);
    if (status == BLICA_OK) continue;
    const int code = fail_reading(p, status);
    if (status == BLICA_ERR_DATA && together)
      say_error("merge: part 1 is the sum of the files before, part 2 is '%s'", p->operands[k]);
    return code;
  }
  const blica_status status = blica_counts_save(p->ctx, p->counts, p->out);
  if (status != BLICA_OK) return fail_writing(p, status);
  say_note("%d file%s: %s, %d segments, in %s", p->operand_count, p->operand_count == 1 ? "" : "s",
           counts_width(p, p->counts, width, sizeof width), p->counts->u, p->out);
  return EXIT_OK;
}

const command command_merge = {
    .name = "merge",
    .summary = "add up pair counts of parts of the data",
    .operands = "COUNTS...",
    .required = "out",
    .text = "Adds counts made by `blica count` (or by SQL, as CSV in long form) on parts of the data, on one machine "
            "or many. The variables must be the same and in the same order; segments are matched by their labels, and "
            "a segment may be spread over several parts. The sum is exactly what counting the whole would give.",
    .examples = "blica merge monday.npz tuesday.npz --out week.npz\n"
                "blica fit week.npz --sources 5 --out model.json",
    .groups = {{"Files", own_table, OF_PROGRAM, 0}},
    .run = run,
};
