/* fuzz_tetrachoric.c - one 2x2 table of any four numbers, at every level of SIMD. */
#include <math.h>
#include <string.h>

#include "fuzz.h"

/* Of the bivariate normal distribution: the change of Phi2 with rho, by which its rounding shows in rho. */
static double density(double h, double k, double rho) {
  double rest = fmax((1 - rho) * (1 + rho), 1e-300);
  return exp(-0.5 * (h * h - 2 * rho * h * k + k * k) / rest) / sqrt(rest) / 6.283185307179586;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_bytes b = {data, size};
  blica_ctx *ctx = fuzz_ctx();
  double cell[4], rho = 7, se = 7, threshold[2] = {NAN, NAN};
  int flags = -1, counts = fuzz_byte(&b) & 1;
  for (int c = 0; c < 4; c++) cell[c] = counts ? (double)fuzz_int(&b, 0, 300) : fuzz_any(&b);
  blica_status status = blica_tetrachoric(ctx, cell, &rho, &se, threshold, &flags);
  if (status != BLICA_OK) {
    CHECK(blica_message(ctx)[0] && !counts && status == BLICA_ERR_ARGUMENT);
    return 0;
  }
  CHECK(rho >= -1 && rho <= 1);
  CHECK(isnan(se) || (se >= 0 && isfinite(se)));
  CHECK(isfinite(threshold[0]) && isfinite(threshold[1]));
  CHECK(flags >= 0 && flags < 8);
  double swapped[4] = {cell[0], cell[2], cell[1], cell[3]}, turned[4] = {cell[2], cell[3], cell[0], cell[1]}, other;
  if (fmin(fmin(cell[0], cell[1]), fmin(cell[2], cell[3])) < 0)
    return 0; /* what rounding left of 0: no table to relabel */
  double near = 1e-9 + 1e-14 / density(threshold[0], threshold[1], rho);
  CHECK(blica_tetrachoric(ctx, swapped, &other, NULL, NULL, NULL) == BLICA_OK && fabs(other - rho) <= near);
  CHECK(blica_tetrachoric(ctx, turned, &other, NULL, NULL, NULL) == BLICA_OK && fabs(other + rho) <= near);
  blica_simd most = blica_simd_level(ctx);
  blica_set_simd(ctx, BLICA_SIMD_SCALAR);
  CHECK(blica_tetrachoric(ctx, cell, &other, NULL, NULL, NULL) == BLICA_OK);
  blica_set_simd(ctx, most);
  CHECK(memcmp(&other, &rho, sizeof rho) == 0);
  return 0;
}
