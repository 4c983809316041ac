/* draw_marks.h - the recorded list, for the writers of files and pages. */
#ifndef DRAW_MARKS_H
#define DRAW_MARKS_H

#include "draw.h"

typedef enum { MARK_RECT, MARK_CIRCLE, MARK_PATH, MARK_TEXT, MARK_HEAT } mark_kind;

typedef struct {
  mark_kind kind;
  double x, y, w, h;   /* circle: w is the radius; text: w size, h angle */
  colour fill, stroke; /* text: fill */
  double width;        /* of the stroke */
  bool dashed, closed, bold;
  alignment align;
  char *text;     /* of a text, or the tip of a mark */
  double *points; /* path: 2 * count */
  int count;
  int rows, columns; /* heat map */
  colour *cells;
} mark;

struct figure {
  double width, height;
  char *alt;
  mark *marks;
  int count, capacity;
  bool failed;
};

#endif
