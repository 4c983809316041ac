/* axes.h - a plotting frame on a figure: scales, ticks, boxes and legends. */
#ifndef AXES_H
#define AXES_H

#include "draw.h"

typedef struct {
  figure *f;
  double x, y, w, h; /* inside of the frame */
  double x_low, x_high, y_low, y_high;
  bool log_x, log_y;
} axes;

double axes_x(const axes *a, double value); /* the place of a value on the page */
double axes_y(const axes *a, double value); /* the same of the vertical axis */

void axes_frame(const axes *a, const char *title);   /* a rectangle around the plot, with its title above */
void axes_ticks_x(const axes *a, const char *label); /* round numbers of the scale */
void axes_ticks_y(const axes *a, const char *label); /* the same of the vertical axis */
/* Ticks at given places. */
void axes_tick_x(const axes *a, double at, const char *text);

/* Median, quartiles, whiskers to the last value within 1.5 quartile distances, values beyond as dots. values is sorted
 * in place; centre and width are in pixels. */
void axes_box(const axes *a, double centre, double width, double *values, int count, colour c, const char *what);

/* In one or more lines from (x, y), at most width wide; returns the y below the last. */
double draw_legend(figure *f, double x, double y, double width, const char *const *names, const colour *colours,
                   int count);

double median(double *values, int count);                   /* sorts */
double quantile(const double *sorted, int count, double p); /* between neighbours by proportion */

#endif
