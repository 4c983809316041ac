/* cmd_count.c - blica count DATA: pair counts of a table, however large. */
#include <math.h>
#include "communicator.h"
#include "data_args.h"
#include "output.h"

static const blica_option own[] = {
    TEXT(program, out, "FILE", "File for the counts, .npz or .csv."),
};
OPTION_TABLE(own_table, own)

/* A segment may have one row here and more in another part, so this is no error. */
static void warn_small(const blica_counts *c) {
  int small = 0, first = -1;
  for (int s = 0; s < c->u; s++)
    if (!c->exact && c->samples[s] < 2 && small++ == 0) first = s;
  if (small)
    say_warning("%d segment%s fewer than 2 rows, the first is '%s': no correlation can be made of %s alone", small,
                small == 1 ? " has" : "s have", c->segments[first], small == 1 ? "it" : "them");
}

static int run(program *p, void *values) {
  (void)values;
  if (!output_is_table(p->out, "counts")) return EXIT_USAGE;
  STEP(read_counts(p, p->operands[0]));
  const blica_counts *counts = p->counts;
  double rows = 0;
  for (int s = 0; s < counts->u; s++) rows += counts->samples[s];
  warn_small(counts);
  const blica_status status = writes() ? blica_counts_save(p->ctx, counts, p->out) : BLICA_OK;
  if (status != BLICA_OK) return fail_writing(p, status);
  char width[80];
  say_note("%.*f rows of %s in %d segments: %lld pairs each, in %s", rows != floor(rows), rows,
           counts_width(p, counts, width, sizeof width), counts->u, (long long)counts->pairs, p->out);
  return EXIT_OK;
}

const command command_count = {
    .name = "count",
    .summary = "count the 2x2 tables of all pairs of variables in every segment",
    .operands = "DATA",
    .required = "out",
    .text =
        "Counts, for every segment and every pair of variables, the rows with both 1, one of them 1, and none. These "
        "counts are all that the default method needs, and far smaller than the data. The data are read in pieces and "
        "may be larger than memory; counts of parts add up with `blica merge`. An item with more than two levels is "
        "counted as one column for each level but the lowest, which says whether the item is at least that level.\n\n"
        "DATA is text (comma, semicolon, tab or blank separated, with or without a header, plain, gzip or zstd; - is "
        "the standard input) or a NumPy .npy array. Missing values are empty, NA, N/A, NaN or NULL; a pair is then "
        "counted over the rows that have both.",
    .examples = "blica count survey.csv.gz --out counts.npz\n"
                "# the segment is the last column of a file without header\n"
                "blica count data.csv --segment-column last --out counts.csv\n"
                "# a time series in segments of 1000 rows\n"
                "zcat spikes.tsv.gz | blica count - --segment-length 1000 --out counts.npz",
    .groups = {{"Files", own_table, OF_PROGRAM, 0}},
    .reads = true,
    .run = run,
    .shared = true,
};
