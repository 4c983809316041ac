/* draw_svg.c - a figure as SVG, in a file or inside a page: tips as <title>. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files/outfile.h"
#include "draw_marks.h"
#include "html.h"

static void put_colour(FILE *page, const char *name, colour c) {
  if ((c & 255) == 0) {
    fprintf(page, " %s=\"none\"", name);
    return;
  }
  if (c >> 8 == INK >> 8)
    fprintf(page, " %s=\"currentColor\"", name);
  else
    fprintf(page, " %s=\"#%06x\"", name, (unsigned)(c >> 8));
  if ((c & 255) != 255) fprintf(page, " %s-opacity=\"%.3g\"", name, (c & 255) / 255.0);
}

static void put_paint(FILE *page, const mark *m) {
  put_colour(page, "fill", m->fill);
  if ((m->stroke & 255) == 0) return;
  put_colour(page, "stroke", m->stroke);
  if (m->width != 1) fprintf(page, " stroke-width=\"%.3g\"", m->width);
  if (m->dashed) fputs(" stroke-dasharray=\"4 3\"", page);
}

static void put_end(FILE *page, const mark *m, const char *element) {
  if (!m->text) {
    fputs("/>\n", page);
    return;
  }
  fputs("><title>", page);
  html_text(page, m->text);
  fprintf(page, "</title></%s>\n", element);
}

static void put_text(FILE *page, const mark *m) {
  static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  fprintf(page, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.3g\"%s", m->x, m->y, m->w, anchors[m->align]);
  put_colour(page, "fill", m->fill);
  if (m->bold) fputs(" font-weight=\"bold\"", page);
  if (m->h != 0) fprintf(page, " transform=\"rotate(%.4g %.2f %.2f)\"", -m->h, m->x, m->y);
  putc('>', page);
  html_text(page, m->text);
  fputs("</text>\n", page);
}

/* One path for all cells of a colour, in which neighbours in a row are one rectangle. */
static bool put_heat(FILE *page, const mark *m) {
  const int cells = m->rows * m->columns;
  bool *drawn = draw_alloc((size_t)cells, sizeof *drawn);
  if (!drawn) return false;
  fprintf(page, "<g shape-rendering=\"crispEdges\" transform=\"translate(%.2f %.2f) scale(%.6g %.6g)\">\n", m->x, m->y,
          m->w / m->columns, m->h / m->rows);
  for (int first = 0; first < cells; first++) {
    const colour c = m->cells[first];
    if (drawn[first] || (c & 255) == 0) continue;
    fputs("<path", page);
    put_colour(page, "fill", c);
    fputs(" d=\"", page);
    for (int at = first; at < cells;)
      if (m->cells[at] == c) {
        const int from = at, end = (at / m->columns + 1) * m->columns;
        while (at < end && m->cells[at] == c) drawn[at++] = true;
        fprintf(page, "M%d %dh%dv1H%dz", from % m->columns, from / m->columns, at - from, from % m->columns);
      } else {
        at++;
      }
    fputs("\"/>\n", page);
  }
  fputs("</g>\n", page);
  free(drawn);
  return true;
}

/* ---- all marks ---- */

static bool put_mark(FILE *page, const mark *m) {
  switch (m->kind) {
  case MARK_RECT:
    fprintf(page, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"", m->x, m->y, m->w, m->h);
    put_paint(page, m);
    put_end(page, m, "rect");
    return true;
  case MARK_CIRCLE:
    fprintf(page, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.3g\"", m->x, m->y, m->w);
    put_paint(page, m);
    put_end(page, m, "circle");
    return true;
  case MARK_PATH:
    fputs("<path d=\"", page);
    for (int i = 0; i < m->count; i++)
      fprintf(page, "%c%.2f %.2f", i ? 'L' : 'M', m->points[2 * i], m->points[2 * i + 1]);
    fprintf(page, "%s\"", m->closed ? "Z" : "");
    put_paint(page, m);
    fputs("/>\n", page);
    return true;
  case MARK_TEXT:
    put_text(page, m);
    return true;
  case MARK_HEAT:
    return put_heat(page, m);
  }
  return false;
}

/* The svg element, of a page or of a file of its own. */
static bool put_figure(const figure *f, FILE *page, bool in_page) {
  bool ok = true;
  fprintf(page, "<svg %s role=\"img\" viewBox=\"0 0 %.4g %.4g\" width=\"%.4g\" height=\"%.4g\" aria-label=\"",
          in_page ? "class=\"fig\"" : "xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\" color=\"#222\"",
          f->width, f->height, f->width, f->height);
  html_text(page, f->alt);
  fputs("\">\n", page);
  if (!in_page) fputs("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", page);
  for (int i = 0; i < f->count; i++) ok = put_mark(page, &f->marks[i]) && ok;
  fputs("</svg>\n", page);
  return ok;
}

bool figure_save(const figure *f, const char *folder, const char *name, char *message, size_t size) {
  bl_outfile file;
  char path[4096];
  if (!f || f->failed || draw_out_of_memory()) {
    snprintf(message, size, "out of memory while drawing %s", name);
    return false;
  }
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
  snprintf(message, size, "cannot write '%s': %s", path, strerror(errno));
  return false;
}

bool figure_inline(const figure *f, FILE *page) {
  return f && !f->failed && put_figure(f, page, true);
}
