/* normal.h - the standard normal distribution, to nearly full double precision. */
#ifndef BL_NORMAL_H
#define BL_NORMAL_H

double bl_phi_density(double x);                    /* phi(x) */
double bl_phi_cdf(double x);                        /* Phi(x) */
double bl_phi_log_cdf(double x);                    /* log Phi(x), finite far into the lower tail */
double bl_phi_quantile(double p);                   /* Phi^-1(p); -inf at 0, inf at 1, NaN outside [0,1] */
double bl_phi_log_between(double low, double high); /* log(Phi(high) - Phi(low)), low < high, in both tails */
double bl_phi_mills(double t);                      /* Phi(-t)/phi(t) for t >= 0 */

#endif
