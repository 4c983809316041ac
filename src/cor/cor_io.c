/* cor_io.c - correlations in files, chosen by the name's ending.
 *
 * .npz, arrays that numpy.load opens as they are:
 *   format "blica-cor", version 1, variables [n], segments [u], samples [u], exact,
 *   rho        [u,n,n] correlations, 1 on the diagonal
 *   se         [u,n,n] standard errors, NaN where unknown and on the diagonal
 *   flags      [u,n,n] 1 a zero cell was corrected, 2 a variable is constant, 4 no row has both
 *   thresholds [u,n]   Phi^-1 of the share of ones; of items with levels [u,planes], of the share at or above each
 * level location, log_scale, log_scale_se [u,n]   where items have three or more levels condition, shift [u], eigen_min
 * [u], eigen_max [u]   what regularisation did; infinite, 0, NaN before it
 *
 * .csv, one row per segment and pair, and one per segment and variable:
 *   segment,i,j,rho,se,flags,threshold
 * The rows of pairs (i before j) leave threshold empty; the rows with i = j have rho 1, no se, flags 0,
 * and the threshold of the variable. Empty means unknown. Numbers read back to the same bits. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files/records.h"
#include "files/outfile.h"
#include "cor/cor.h"
#include "data/coding.h"
#include "files/npz.h"
#include "base/text.h"

/* Row i of segment s of symmetric matrices that are kept in pairs; r = s n + i. */
static void square_row(const blica_cor *c, const double *pairs, size_t r, double diagonal, double *row) {
  const size_t n = (size_t)c->n, i = r % n;
  pairs += r / n * (size_t)c->pairs;
  memcpy(row, pairs + i * (i - 1) / 2, i * sizeof *row); /* no bytes for i = 0 */
  row[i] = diagonal;
  for (size_t j = i + 1; j < n; j++) row[j] = pairs[j * (j - 1) / 2 + i];
}

static void rho_row(const void *cor, size_t r, void *row) {
  square_row(cor, ((const blica_cor *)cor)->rho, r, 1, row);
}
static void se_row(const void *cor, size_t r, void *row) {
  square_row(cor, ((const blica_cor *)cor)->se, r, NAN, row);
}

static void flags_row(const void *cor, size_t r, void *row) {
  const blica_cor *c = cor;
  const size_t n = (size_t)c->n, i = r % n;
  const uint8_t *flags = c->flags + r / n * (size_t)c->pairs;
  for (size_t j = 0; j < n; j++)
    ((uint8_t *)row)[j] = j == i ? 0 : flags[j < i ? i * (i - 1) / 2 + j : j * (j - 1) / 2 + i];
}

static blica_status save_npz(blica_ctx *ctx, const blica_cor *c, const char *path) {
  BL_AUTO(bl_npz_writer) *npz = NULL;
  const size_t u = (size_t)c->u, n = (size_t)c->n, square[3] = {u, n, n}, margin[2] = {u, (size_t)c->planes},
               items[2] = {u, n};
  MUST(bl_npz_begin_tables(ctx, path, "blica-cor", c->n, c->variables, c->u, c->segments, c->exact, c->samples, &npz));
  MUST(bl_npz_add_rows(ctx, npz, "rho", 'f', 8, 3, square, rho_row, c));
  MUST(bl_npz_add_rows(ctx, npz, "se", 'f', 8, 3, square, se_row, c));
  MUST(bl_npz_add_rows(ctx, npz, "flags", 'u', 1, 3, square, flags_row, c));
  MUST(bl_npz_add(ctx, npz, "thresholds", 'f', 8, 2, margin, c->thresholds));
  if (c->log_scale) {
    MUST(bl_npz_add(ctx, npz, "location", 'f', 8, 2, items, c->location));
    MUST(bl_npz_add(ctx, npz, "log_scale", 'f', 8, 2, items, c->log_scale));
    MUST(bl_npz_add(ctx, npz, "log_scale_se", 'f', 8, 2, items, c->log_scale_se));
  }
  MUST(bl_npz_add_scalar(ctx, npz, "condition", 'f', c->condition));
  if (c->shift) MUST(bl_npz_add(ctx, npz, "shift", 'f', 8, 1, &u, c->shift));
  if (c->eigen_min) MUST(bl_npz_add(ctx, npz, "eigen_min", 'f', 8, 1, &u, c->eigen_min));
  if (c->eigen_max) MUST(bl_npz_add(ctx, npz, "eigen_max", 'f', 8, 1, &u, c->eigen_max));
  return bl_npz_write(ctx, npz);
}

/* Writes a pair of items, or with i = j the thresholds of an item, as a row of the file. */
static void put_row(FILE *f, const blica_cor *c, int s, int i, int j) {
  bl_put_field(f, c->segments[s]);
  putc(',', f);
  bl_put_field(f, c->variables[i]);
  putc(',', f);
  bl_put_field(f, c->variables[j]);
  putc(',', f);
  if (i == j) {
    fputs("1,,0,", f);
    for (int p = bl_plane(c->coding, i); p < bl_plane(c->coding, i + 1); p++) { /* of levels, one after the other */
      if (p > bl_plane(c->coding, i)) putc(' ', f);
      bl_put_number(f, c->thresholds[(size_t)s * (size_t)c->planes + (size_t)p]);
    }
    putc('\n', f);
    return;
  }
  const int64_t at = s * c->pairs + blica_pair(i, j);
  bl_put_number(f, c->rho[at]);
  putc(',', f);
  if (!isnan(c->se[at])) bl_put_number(f, c->se[at]);
  fprintf(f, ",%d,\n", c->flags[at]);
}

static blica_status save_csv(blica_ctx *ctx, const blica_cor *c, const char *path) {
  BL_CLEAN(bl_outfile_discard) bl_outfile file = {0};
  if (!bl_outfile_open(&file, path)) return bl_fail(ctx, BLICA_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
  fputs("segment,i,j,rho,se,flags,threshold\n", file.stream);
  for (int s = 0; s < c->u; s++)
    for (int j = 0; j < c->n; j++)
      for (int i = 0; i <= j; i++) put_row(file.stream, c, s, i, j);
  if (!bl_outfile_commit(&file)) return bl_fail(ctx, BLICA_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
  return BLICA_OK;
}

blica_status blica_cor_save(blica_ctx *ctx, const blica_cor *c, const char *path) {
  BL_NEED(ctx, c, path);
  if (bl_has_ending(path, ".csv")) return save_csv(ctx, c, path);
  if (bl_has_ending(path, ".npz")) return save_npz(ctx, c, path);
  return bl_fail(ctx, BLICA_ERR_ARGUMENT, "%s: correlations are saved as .npz or .csv; end the name in one of them",
                 path);
}
