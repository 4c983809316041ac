/* normal.h - the standard normal distribution, to nearly full double precision; bivariate probabilities, and the pieces
 * of them that root finding needs. */
#ifndef BL_NORMAL_H
#define BL_NORMAL_H

double bl_phi_density(double x);                    /* phi(x) */
double bl_phi_cdf(double x);                        /* Phi(x) */
double bl_phi_log_cdf(double x);                    /* log Phi(x), finite far into the lower tail */
double bl_phi_quantile(double p);                   /* Phi^-1(p); -inf at 0, inf at 1, NaN outside [0,1] */
double bl_phi_log_between(double low, double high); /* log(Phi(high) - Phi(low)), low < high, in both tails */
double bl_phi_mills(double t);                      /* Phi(-t)/phi(t) for t >= 0 */

/* ---- two variables (bvn.c) ---- */

/* phi2(h,k;rho) = d Phi2/d rho. Infinite or zero at |rho| = 1. */
double bl_bvn_density(double h, double k, double rho);

/* Phi2(h,k;sin theta) - Phi(h)Phi(k), for |theta| <= BL_BVN_MID. */
double bl_bvn_excess(double h, double k, double theta);

/* |Phi2(h,k;s) - Phi2(h,k;s sqrt(1-a^2))| for s = +-1 and 0 <= a <= cos(BL_BVN_MID): what is lost on the way
 * from perfect correlation. Increasing in a; its derivative in a is bl_bvn_deficit_slope. */
double bl_bvn_deficit(double h, double k, double s, double a);
double bl_bvn_deficit_slope(double h, double k, double s, double a); /* see bl_bvn_deficit */

#define BL_BVN_MID 1.1810 /* asin rho where the methods change over, rho = 0.9249 */

#endif
