/* counts_validate.c - whether the numbers of a file can be counts. */
#include <math.h>

#include "counts/counts.h"
#include "counts/counts_csv.h"

/* before: elements of the array in the file that stand before x. */
static blica_status check_array(blica_ctx *ctx, const char *path, const char *name, const double *x, size_t before,
                                size_t count) {
  for (size_t k = 0; x && k < count; k++)
    if (!(x[k] >= 0 && x[k] <= 0x1p1000))
      return bl_fail(ctx, BLICA_ERR_FORMAT, "%s: %s holds %g (element %zu), which is not a count", path, name, x[k],
                     before + k + 1);
  return BLICA_OK;
}

static blica_status check_segment(blica_ctx *ctx, const blica_counts *c, int s, const char *path) {
  double slack = 1e-9 * c->samples[s];
  for (int i = 0; i < c->n; i++) {
    size_t at = (size_t)s * (size_t)c->n + (size_t)i;
    if (c->ones[at] > c->present[at] + slack || c->present[at] > c->samples[s] + slack)
      return bl_fail(ctx, BLICA_ERR_FORMAT,
                     "%s: segment %d ('%s'), variable %d ('%s'): %g ones in %g values of %g rows", path, s + 1,
                     c->segments[s], i + 1, c->variables[i], c->ones[at], c->present[at], c->samples[s]);
    if (!c->n10 && c->present[at] < c->samples[s] - slack)
      return bl_fail(ctx, BLICA_ERR_FORMAT,
                     "%s: segment %d ('%s'), variable %d ('%s') has missing values, but n10, n01 and n00 are not there",
                     path, s + 1, c->segments[s], i + 1, c->variables[i]);
  }
  for (int j = 1; s >= bl_counts_first(c) && s < bl_counts_last(c) && j < c->n; j++)
    for (int i = 0; i < j; i++) {
      double cell[4];
      blica_counts_table(c, s, i, j, cell);
      if (fmin(fmin(cell[0], cell[1]), fmin(cell[2], cell[3])) < -slack ||
          cell[0] + cell[1] + cell[2] + cell[3] > c->samples[s] + 4 * slack)
        return bl_fail(
            ctx, BLICA_ERR_FORMAT,
            "%s: segment %d ('%s'), pair '%s', '%s': the table %g %g %g %g does not fit %g rows and the margins", path,
            s + 1, c->segments[s], c->variables[i], c->variables[j], cell[0], cell[1], cell[2], cell[3], c->samples[s]);
    }
  return BLICA_OK;
}

blica_status bl_counts_validate(blica_ctx *ctx, const blica_counts *c, const char *path) {
  blica_status status;
  const size_t pairs = (size_t)c->pairs, before = pairs * (size_t)bl_counts_first(c),
               cells = pairs * (size_t)(bl_counts_last(c) - bl_counts_first(c));
  const size_t margins = (size_t)c->n * (size_t)c->u;
  TRY(check_array(ctx, path, "samples", c->samples, 0, (size_t)c->u));
  TRY(check_array(ctx, path, "ones", c->ones, 0, margins));
  TRY(check_array(ctx, path, "present", c->present, 0, margins));
  TRY(check_array(ctx, path, "n11", c->n11, before, cells));
  TRY(check_array(ctx, path, "n10", c->n10, before, cells));
  TRY(check_array(ctx, path, "n01", c->n01, before, cells));
  TRY(check_array(ctx, path, "n00", c->n00, before, cells));
  for (int s = 0; s < c->u; s++) TRY(check_segment(ctx, c, s, path));
done:
  return status;
}
