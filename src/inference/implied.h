/* implied.h - what a model implies for the pairs of one segment, and how that depends on A and v. */
#ifndef BL_IMPLIED_H
#define BL_IMPLIED_H

#include "base/base.h"

/* Correlations of the latent q: rho [pairs] from A [n,k] and v [k]; scale [n] receives M_ii^-1/2. */
void bl_implied_rho(int n, int k, double link, const double *mixing, const double *variance, double *scale,
                    double *rho);

/* d rho_ij / d (A_i., A_j., log v): slope [3k]. scale as bl_implied_rho leaves it, rho that of the pair. */
void bl_implied_pair_slopes(int n, int k, double link, const double *mixing, const double *variance,
                            const double *scale, double rho, int i, int j, double *slope);

/* out [nk + k] <- D'x, D [pairs, nk + k] = d rho / d (A, log v). rho and scale as bl_implied_rho leaves them; work [n].
 */
void bl_implied_gather(int n, int k, double link, const double *mixing, const double *variance, const double *scale,
                       const double *rho, const double *x, double *work, double *out);

/* The last k columns of D: slope [pairs,k]. */
void bl_implied_variance_slope(int n, int k, double link, const double *mixing, const double *variance,
                               const double *scale, const double *rho, double *slope);

/* One table of two binary variables with thresholds h and k and correlation rho. */
typedef struct {
  double cell[4];     /* probabilities 11, 10, 01, 00 */
  double density;     /* phi2(h,k;rho) = d P11 / d rho */
  double first;       /* P(x_j = 1 | q_i = h) = (d P11 / d h) / phi(h) */
  double second;      /* the same for k */
  double information; /* about rho in one row, thresholds known */
} bl_implied_table;
bl_implied_table bl_implied_pair(double h, double k, double rho); /* at thresholds h and k */

#endif
