/* matched_information.h - Fisher's information of method matched in one segment: about the covariances of the
 * sources, which all items share, and about A and log v. */
#ifndef BL_MATCHED_INFORMATION_H
#define BL_MATCHED_INFORMATION_H

#include <stdbool.h>
#include <stddef.h>

/* One segment at a point. */
typedef struct {
  int n, k;
  double link, weight; /* c, N_s */
  const double *a;     /* [n,k] */
  const double *log_v; /* [k] */
  const double *noise; /* [n] D of docs/method.md, equation 19 */
} bl_matched_point;

/* d_i = M_ii^-1/2 of item i, and its row of B = diag(d) A diag(c v)^1/2, from root [k], the roots of c v. */
double bl_matched_row(const bl_matched_point *at, const double *root, int i, double *row /* [k] */);

/* The information about a symmetric F, by which the covariance of the sources, in units of their standard deviations,
 * changes to I + F: log v_j changes F_jj. Sets root [k] and W = (I + B' diag(psi)^-1 B)^-1 [k,k]; sets among [k,k], the
 * information about the diagonal of F; and, unless pairs is NULL, for i < j pairs[i + j k], that about F_ij = F_ji
 * alone. work is as many doubles as bl_matched_information_work says. False: W could not be computed. */
bool bl_matched_information(const bl_matched_point *at, double *root, double *w, double *among, double *pairs,
                            double *work);
/* Doubles of work, with pairs or without. */
size_t bl_matched_information_work(int k, bool pairs);

/* The whole information about A and log v: adds that about A to mixing [nk,nk], sets cross [nk,k] and variances [k,k].
 * work is as many doubles as bl_matched_mixing_work says. False: R + D could not be inverted. */
bool bl_matched_mixing(const bl_matched_point *at, double *mixing, double *cross, double *variances, double *work);
size_t bl_matched_mixing_work(int n, int k); /* doubles of work */
/* That about log v alone, among of bl_matched_information, at the cost n^3 in place of k^4 + n k^3; work as above. */
bool bl_matched_variances(const bl_matched_point *at, double *variances, double *work);

#endif
