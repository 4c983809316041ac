/* Reads tables "n11 n10 n01 n00", one per line, and prints "rho se threshold_i threshold_j flags". */
#include <stdio.h>

#include "blica.h"

int main(void) {
  blica_ctx *ctx;
  double cell[4], rho, se, t[2];
  int flags;
  if (blica_ctx_create(&ctx) != BLICA_OK) return 1;
  while (scanf("%lf %lf %lf %lf", &cell[0], &cell[1], &cell[2], &cell[3]) == 4) {
    if (blica_tetrachoric(ctx, cell, &rho, &se, t, &flags) != BLICA_OK) {
      fprintf(stderr, "%s\n", blica_message(ctx));
      return 1;
    }
    printf("%.17g %.17g %.17g %.17g %d\n", rho, se, t[0], t[1], flags);
  }
  blica_ctx_free(ctx);
  return 0;
}
