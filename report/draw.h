/* draw.h - figures as SVG, in a file of their own or in a page with values on hover.
 *
 * Units are CSS pixels, y downwards. Colours are 0xRRGGBBAA. Tips are shown when the mouse is over a mark, or NULL for
 * nothing; only the page shows them. Drawing never fails visibly: a figure that ran out of memory says so when it
 * is written. */
#ifndef DRAW_H
#define DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint32_t colour;
typedef struct figure figure;

typedef enum { ALIGN_START, ALIGN_MIDDLE, ALIGN_END } alignment;

/* Ink and its paler shades take the colour of the text around a figure, so that a page may be dark. */
enum { INK = 0x222222ff, GREY = 0x222222a6, FRAME = 0x22222280, PALE = 0x22222226, CLEAR = 0, WHITE = 0xffffffff };

/* alt describes the picture in words, for readers who do not see it. */
figure *figure_new(double width, double height, const char *alt);
void figure_free(figure *f); /* NULL is fine */

/* A rectangle; tip, which may be NULL, is shown under the mouse. */
void draw_rect(figure *f, double x, double y, double w, double h, colour fill, colour stroke, const char *tip);
/* A circle around (x, y). */
void draw_circle(figure *f, double x, double y, double r, colour fill, colour stroke, const char *tip);
/* A line from (x1, y1) to (x2, y2). */
void draw_line(figure *f, double x1, double y1, double x2, double y2, colour stroke, double width, bool dashed);
/* points are x, y pairs; count of pairs. */
void draw_path(figure *f, const double *points, int count, bool closed, colour fill, colour stroke, double width);
/* y is the baseline; angle in degrees, counterclockwise about (x, y). */
void draw_text(figure *f, double x, double y, double size, alignment align, colour ink, double angle, bool bold,
               const char *format, ...) __attribute__((format(printf, 9, 10)));
/* Zeroed memory for those who draw. Once there was none, for them or for a figure, draw_out_of_memory() is true: the
 * page or file that was being made is not whole. */
void *draw_alloc(size_t count, size_t size);
bool draw_out_of_memory(void);                               /* see draw_alloc */
double text_width(double size, bool bold, const char *text); /* in points */
/* A name cut to fit width, with three dots; into out. */
void text_fit(char *out, size_t size, double font, double width, const char *text);

/* Cells of a heat map, row by row from the top; the fewer colours, the smaller the file. */
typedef struct {
  int rows, columns;
  const colour *cells; /* [rows * columns] */
} heat;
void draw_heat(figure *f, double x, double y, double w, double h, const heat *map); /* into this rectangle */

/* Writes NAME.svg into folder, whole or not at all. On failure the reason is in message. */
bool figure_save(const figure *f, const char *folder, const char *name, char *message, size_t size);
/* Writes the figure into a page. False when memory ran out. */
bool figure_inline(const figure *f, FILE *page);

/* Eight colours that people with colour-blindness can tell apart (Okabe and Ito, 2008). */
colour palette(int index);
colour with_alpha(colour c, double alpha); /* 0 is transparent, 1 opaque */
/* A colour of the palette in one of 16 strengths: value 0 is transparent, 1 and more opaque. */
colour shade(int index, double value);

#endif
