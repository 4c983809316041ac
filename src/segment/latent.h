/* latent.h - small parts of the normal variables behind items: quantiles, cuts, and well-conditioned correlations. */
#ifndef BL_LATENT_H
#define BL_LATENT_H

/* Cuts of an item whose latent variable has mean 0 and this standard deviation, from its thresholds: bounded, and
 * growing even where a level has next to no rows. */
void bl_latent_cuts(int count, const double *threshold, double sd, double *cut);

/* Phi^-1, with shares next to 0 and 1 moved to 1e-6 from them. */
double bl_latent_quantile(double share);

/* Shrinks the correlations [n,n] until their condition number is at most 100. scratch: n n + bl_eigen_work(n) doubles.
 */
void bl_latent_condition(int n, double *correlation, double *scratch);

#endif
