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

/* Values with names, as rows of dots: value[i * step], with its interval where low and high have one. */
typedef struct {
  int count, step;
  char *const *names;
  const double *value, *low, *high; /* low and high may be NULL */
  double reference;                 /* a line is drawn here */
} named_rows;
double rows_names_width(int count, char *const *names); /* that the names take left of the frame */
double rows_height(int count);                          /* of a frame for this number of rows */
/* Largest value first; what lies beyond the horizontal scale is drawn on its edge. */
void axes_rows(const axes *a, const named_rows *rows);

/* Median, quartiles, whiskers to the last value within 1.5 quartile distances, values beyond as dots. values is sorted
 * in place; centre and width are in pixels. */
void axes_box(const axes *a, double centre, double width, double *values, int count, colour c, const char *what);

/* In one or more lines from (x, y), at most width wide; returns the y below the last. */
double draw_legend(figure *f, double x, double y, double width, const char *const *names, const colour *colours,
                   int count);

double median(double *values, int count);                   /* sorts */
double quantile(const double *sorted, int count, double p); /* between neighbours by proportion */

#endif
