/* draw.c - figures as SVG: tips as <title>. Marks are written into memory as they are drawn; see draw.h. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "files/outfile.h"
#include "html.h"

struct figure {
  double width, height;
  char *alt, *text; /* text: of the marks, as far as `svg` was flushed */
  size_t size;
  FILE *svg; /* NULL: memory ran out */
};

/* Whether memory ran out since the program began: what is drawn after that may lack parts. */
static bool out_of_memory;

bool draw_out_of_memory(void) {
  return out_of_memory;
}

void *draw_alloc(size_t count, size_t size) {
  void *block = calloc(count ? count : 1, size);
  if (!block) out_of_memory = true;
  return block;
}

figure *figure_new(double width, double height, const char *alt) {
  figure *f = draw_alloc(1, sizeof *f);
  if (!f) return NULL;
  f->width = width;
  f->height = height;
  f->alt = strdup(alt);
  f->svg = f->alt ? open_memstream(&f->text, &f->size) : NULL;
  if (!f->svg) out_of_memory = true;
  return f;
}

void figure_free(figure *f) {
  if (!f) return;
  if (f->svg) fclose(f->svg);
  free(f->text);
  free(f->alt);
  free(f);
}

/* ---- marks ---- */

static void put_colour(FILE *svg, const char *name, colour c) {
  if ((c & 255) == 0) {
    fprintf(svg, " %s=\"none\"", name);
    return;
  }
  if (c >> 8 == INK >> 8)
    fprintf(svg, " %s=\"currentColor\"", name);
  else
    fprintf(svg, " %s=\"#%06x\"", name, (unsigned)(c >> 8));
  if ((c & 255) != 255) fprintf(svg, " %s-opacity=\"%.3g\"", name, (c & 255) / 255.0);
}

/* Ends the element that was begun with its colours, and with a tip unless that is NULL. */
static void put_end(FILE *svg, const char *element, colour fill, colour stroke, double width, const char *tip) {
  put_colour(svg, "fill", fill);
  if ((stroke & 255) != 0) put_colour(svg, "stroke", stroke);
  if ((stroke & 255) != 0 && width != 1) fprintf(svg, " stroke-width=\"%.3g\"", width);
  if (!tip) {
    fputs("/>\n", svg);
    return;
  }
  fputs("><title>", svg);
  html_text(svg, tip);
  fprintf(svg, "</title></%s>\n", element);
}

void draw_rect(figure *f, double x, double y, double w, double h, colour fill, colour stroke, const char *tip) {
  if (!f || !f->svg) return;
  fprintf(f->svg, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"", x, y, w, h);
  put_end(f->svg, "rect", fill, stroke, 1, tip);
}

void draw_circle(figure *f, double x, double y, double r, colour fill, colour stroke, const char *tip) {
  if (!f || !f->svg) return;
  fprintf(f->svg, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.3g\"", x, y, r);
  put_end(f->svg, "circle", fill, stroke, 1, tip);
}

static void put_path(figure *f, const double *points, int count, const char *end, colour fill, colour stroke,
                     double width) {
  if (!f || !f->svg) return;
  fputs("<path d=\"", f->svg);
  for (int i = 0; i < count; i++) fprintf(f->svg, "%c%.2f %.2f", i ? 'L' : 'M', points[2 * i], points[2 * i + 1]);
  fprintf(f->svg, "%s", end);
  put_end(f->svg, "path", fill, stroke, width, NULL);
}

void draw_path(figure *f, const double *points, int count, bool closed, colour fill, colour stroke, double width) {
  put_path(f, points, count, closed ? "Z\"" : "\"", fill, stroke, width);
}

void draw_line(figure *f, double x1, double y1, double x2, double y2, colour stroke, double width, bool dashed) {
  put_path(f, (double[]){x1, y1, x2, y2}, 2, dashed ? "\" stroke-dasharray=\"4 3\"" : "\"", CLEAR, stroke, width);
}

void draw_text(figure *f, double x, double y, double size, alignment align, colour ink, double angle, bool bold,
               const char *format, ...) {
  static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  char text[1024];
  va_list args;
  if (!f || !f->svg) return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fprintf(f->svg, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.3g\"%s", x, y, size, anchors[align]);
  put_colour(f->svg, "fill", ink);
  if (bold) fputs(" font-weight=\"bold\"", f->svg);
  if (angle != 0) fprintf(f->svg, " transform=\"rotate(%.4g %.2f %.2f)\"", -angle, x, y);
  putc('>', f->svg);
  html_text(f->svg, text);
  fputs("</text>\n", f->svg);
}

/* One path for all cells of a colour, in which neighbours in a row are one rectangle. */
void draw_heat(figure *f, double x, double y, double w, double h, const heat *map) {
  const int cells = map->rows * map->columns, wide = map->columns;
  bool *drawn = f && f->svg ? draw_alloc((size_t)cells, sizeof *drawn) : NULL;
  if (!drawn) return;
  fprintf(f->svg, "<g shape-rendering=\"crispEdges\" transform=\"translate(%.2f %.2f) scale(%.6g %.6g)\">\n", x, y,
          w / wide, h / map->rows);
  for (int first = 0; first < cells; first++) {
    const colour c = map->cells[first];
    if (drawn[first] || (c & 255) == 0) continue;
    fputs("<path", f->svg);
    put_colour(f->svg, "fill", c);
    fputs(" d=\"", f->svg);
    for (int at = first; at < cells;)
      if (map->cells[at] == c) {
        const int from = at, end = (at / wide + 1) * wide;
        while (at < end && map->cells[at] == c) drawn[at++] = true;
        fprintf(f->svg, "M%d %dh%dv1H%dz", from % wide, from / wide, at - from, from % wide);
      } else {
        at++;
      }
    fputs("\"/>\n", f->svg);
  }
  fputs("</g>\n", f->svg);
  free(drawn);
}

/* ---- the figure ---- */

/* The svg element, of a page or of a file of its own; false when memory ran out. */
static bool put_figure(const figure *f, FILE *page, bool in_page) {
  if (!f || !f->svg || fflush(f->svg) != 0 || ferror(f->svg) || out_of_memory) {
    out_of_memory = true;
    return false;
  }
  fprintf(page, "<svg %s role=\"img\" viewBox=\"0 0 %.4g %.4g\" width=\"%.4g\" height=\"%.4g\" aria-label=\"",
          in_page ? "class=\"fig\"" : "xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\" color=\"#222\"",
          f->width, f->height, f->width, f->height);
  html_text(page, f->alt);
  fputs("\">\n", page);
  if (!in_page) fputs("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", page);
  fwrite(f->text, 1, f->size, page);
  fputs("</svg>\n", page);
  return true;
}

bool figure_save(const figure *f, const char *folder, const char *name, char *message, size_t size) {
  bl_outfile file;
  char path[4096];
  if ((size_t)snprintf(path, sizeof path, "%s/%s.svg", folder, name) >= sizeof path) {
    snprintf(message, size, "the name of the folder is longer than 4000 bytes");
    return false;
  }
  bool open = bl_outfile_open(&file, path), drawn = open && put_figure(f, file.stream, false);
  if (open && !drawn) {
    bl_outfile_discard(&file);
    errno = ENOMEM;
  }
  if (drawn && bl_outfile_commit(&file)) return true;
  if (out_of_memory)
    snprintf(message, size, "out of memory while drawing %s", name);
  else
    snprintf(message, size, "cannot write '%s': %s", path, strerror(errno));
  return false;
}

bool figure_inline(const figure *f, FILE *page) {
  return put_figure(f, page, true);
}

/* ---- text ---- */

/* Thousandths of an em of the printable ASCII characters in DejaVu Sans, the widest of the usual fonts without serifs:
 * what fits with these widths fits in every viewer. */
static const short widths[] = {318,  401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,
                               636,  636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531,
                               1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
                               603,  787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500,
                               500,  613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
                               635,  635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838};

/* Other characters have the width of a digit, those of East Asian scripts of a square. */
double text_width(double size, bool bold, const char *text) {
  enum { DIGIT = 636, SQUARE = 1000, FIRST = ' ', LAST = '~' };
  double sum = 0;
  for (const unsigned char *c = (const unsigned char *)text; *c; c++)
    if ((*c & 0xc0) != 0x80) sum += *c >= FIRST && *c <= LAST ? widths[*c - FIRST] : *c >= 0xe3 ? SQUARE : DIGIT;
  return size * sum / 1000 * (bold ? 1.12 : 1);
}

void text_fit(char *out, size_t size, double font, double width, const char *text) {
  snprintf(out, size, "%s", text);
  size_t length = strlen(out);
  bool cut = length < strlen(text);
  while (length > 0 && (cut || text_width(font, false, out) > width)) {
    do length--;
    while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80); /* never inside a UTF-8 character */
    if (length + 4 > size) continue;
    snprintf(out, size, "%.*s\xE2\x80\xA6", (int)length, text);
    cut = false;
  }
}

/* ---- colours ---- */

colour palette(int index) {
  static const colour list[] = {0x0072b2ff, 0xd55e00ff, 0x009e73ff, 0xcc79a7ff,
                                0x56b4e9ff, 0xe69f00ff, 0x444444ff, 0xb8a800ff};
  return list[(unsigned)index % (sizeof list / sizeof *list)];
}

colour with_alpha(colour c, double alpha) {
  return (c & 0xffffff00u) | (colour)lround(255 * alpha);
}

colour shade(int index, double value) {
  return with_alpha(palette(index), round(16 * fmax(0, fmin(1, value))) / 16);
}
