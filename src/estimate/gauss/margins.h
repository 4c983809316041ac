/* margins.h - what the shares of ones tell about A and v, in method matched. */
#ifndef BL_MARGINS_H
#define BL_MARGINS_H

#include "estimate/gauss/corfit.h"

/* Makes room for the margins of all segments; it borrows the data. Free with bl_free. */
blica_status bl_margins_make(blica_ctx *ctx, const bl_corfit_data *data, bl_margins **out);
/* Sets the precisions of the thresholds: sampling variance plus the variance of misfit that theta leaves. Returns the
 * latter; NaN when the tables have all of the weight, so that margins do not count. */
double bl_margins_learn(bl_margins *margins, const double *theta);
/* The best cuts and means at theta; returns the value of the term. */
double bl_margins_solve(bl_margins *margins, const double *theta);
/* The same, and adds the gradient in theta. */
double bl_margins_eval(bl_margins *margins, const double *theta, double *gradient);
/* Adds to information [k,k] what the margins of segment s tell about its log v, after bl_margins_solve at theta; work
 * [bl_margins_work(n, k)]. */
void bl_margins_information(const bl_margins *margins, const double *theta, int s, double *information, double *work);
size_t bl_margins_work(int n, int k); /* doubles */

#endif
