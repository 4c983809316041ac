/* mle_cuts.c - cuts of the items as parameters that may have any value: of each item the first cut, then the logarithms
 * of the steps from cut to cut, so that cuts grow whatever an optimiser does. An item of two levels has its cut alone.
 */
#include <math.h>

#include "estimate/mle/mle.h"

void bl_mle_cuts(const bl_mle *m, const double *own, double *cut) {
  for (int i = 0; i < m->n; i++)
    for (int first = bl_plane(m->coding, i), p = first; p < bl_plane(m->coding, i + 1); p++)
      cut[p] = p == first ? own[p] : cut[p - 1] + exp(own[p]);
}

void bl_mle_cuts_set(const bl_mle *m, const double *cut, double *own) {
  for (int i = 0; i < m->n; i++)
    for (int first = bl_plane(m->coding, i), p = first; p < bl_plane(m->coding, i + 1); p++)
      own[p] = p == first ? cut[p] : log(fmax(cut[p] - cut[p - 1], 1e-6));
}

void bl_mle_cuts_chain(const bl_mle *m, const double *own, double *gradient) {
  for (int i = 0; i < m->n; i++) {
    double sum = 0.0;
    for (int first = bl_plane(m->coding, i), p = bl_plane(m->coding, i + 1) - 1; p >= first; p--) {
      sum += gradient[p];
      gradient[p] = p == first ? sum : exp(own[p]) * sum;
    }
  }
}

void bl_mle_cuts_move(const bl_mle *m, const double *own, double *change) {
  for (int i = 0; i < m->n; i++)
    for (int p = bl_plane(m->coding, i) + 1; p < bl_plane(m->coding, i + 1); p++)
      change[p] = change[p - 1] + exp(own[p]) * change[p];
}
