/* chi2.h - the chi-square distribution, central and not. */
#ifndef BL_CHI2_H
#define BL_CHI2_H

/* P(X > x) for chi-square with df degrees of freedom. */
double bl_chi2_upper(double x, double df);
/* The noncentrality at which P(X <= x) is p; 0 when it is below p already without any. */
double bl_chi2_noncentrality(double x, double df, double p);

#endif
