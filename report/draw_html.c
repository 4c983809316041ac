/* draw_html.c - a figure inside a page: inline SVG, tips as <title>, heat maps as a small PNG with their values. */
#include <cairo.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw_marks.h"
#include "html.h"

enum { HOVER_MOST = 100000 }; /* cells; larger heat maps are shown without values on hover */

static void put_colour(FILE *page, const char *name, colour c) {
  if ((c & 255) == 0) {
    fprintf(page, " %s=\"none\"", name);
    return;
  }
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

/* ---- heat maps ---- */

typedef struct {
  unsigned char *bytes;
  size_t count, capacity;
} buffer;

static cairo_status_t to_buffer(void *user, const unsigned char *bytes, unsigned int count) {
  buffer *b = user;
  if (b->count + count > b->capacity) {
    size_t capacity = 2 * (b->count + count);
    unsigned char *more = realloc(b->bytes, capacity);
    if (!more) return CAIRO_STATUS_NO_MEMORY;
    b->bytes = more;
    b->capacity = capacity;
  }
  memcpy(b->bytes + b->count, bytes, count);
  b->count += count;
  return CAIRO_STATUS_SUCCESS;
}

/* One pixel per cell. */
static bool heat_png(const mark *m, buffer *png) {
  if (!draw_begin()) return false;
  cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, m->columns, m->rows);
  bool ok = cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS;
  if (ok) {
    cairo_surface_flush(surface);
    unsigned char *data = cairo_image_surface_get_data(surface);
    int stride = cairo_image_surface_get_stride(surface);
    for (int i = 0; i < m->rows; i++)
      for (int j = 0; j < m->columns; j++) {
        uint32_t pixel = m->cells[(size_t)i * (size_t)m->columns + (size_t)j] >> 8;
        memcpy(data + (size_t)i * (size_t)stride + 4 * (size_t)j, &pixel, 4);
      }
    cairo_surface_mark_dirty(surface);
    ok = cairo_surface_write_to_png_stream(surface, to_buffer, png) == CAIRO_STATUS_SUCCESS;
  }
  cairo_surface_destroy(surface);
  if (!ok) errno = ENOMEM; /* nothing else can fail here, and not every library says so */
  return draw_end();
}

static void put_names(FILE *page, char *const *names, int count) {
  putc('[', page);
  for (int i = 0; i < count; i++) {
    if (i) putc(',', page);
    html_json_string(page, names[i]);
  }
  putc(']', page);
}

/* The values, for the script of the page. */
static void put_values(FILE *page, const mark *m, const char *id, int index) {
  fprintf(page, "<script type=\"application/json\" id=\"%s-%d\">{\"what\":", id, index);
  html_json_string(page, m->text ? m->text : "");
  fputs(",\"rows\":", page);
  put_names(page, m->names, m->rows);
  fputs(",\"columns\":", page);
  put_names(page, m->names + m->rows, m->columns);
  fputs(",\"values\":[", page);
  for (int i = 0; i < m->rows * m->columns; i++) {
    double value = m->points[i];
    if (i) putc(',', page);
    if (isfinite(value))
      fprintf(page, "%.3g", value);
    else
      fputs("null", page);
  }
  fputs("]}</script>\n", page);
}

static bool put_heat(FILE *page, const mark *m, const char *id, int index) {
  buffer png = {0};
  bool ok = heat_png(m, &png);
  if (ok) {
    fprintf(page,
            "<image x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" preserveAspectRatio=\"none\" "
            "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,",
            m->x, m->y, m->w, m->h);
    html_base64(page, png.bytes, png.count);
    fputs("\"/>\n", page);
    if (m->points && m->names && (int64_t)m->rows * m->columns <= HOVER_MOST)
      fprintf(page,
              "<rect class=\"heat\" data-values=\"%s-%d\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
              "fill=\"#fff\" fill-opacity=\"0\"/>\n",
              id, index, m->x, m->y, m->w, m->h);
  }
  free(png.bytes);
  return ok;
}

/* ---- all marks ---- */

static bool put_mark(FILE *page, const mark *m, const char *id, int index) {
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
    return put_heat(page, m, id, index);
  }
  return false;
}

bool figure_inline(const figure *f, FILE *page, const char *id) {
  if (!f || f->failed) return false;
  fprintf(page,
          "<svg class=\"fig\" role=\"img\" viewBox=\"0 0 %.4g %.4g\" width=\"%.4g\" height=\"%.4g\" aria-label=\"",
          f->width, f->height, f->width, f->height);
  html_text(page, f->alt);
  fputs("\">\n", page);
  bool ok = true;
  for (int i = 0; i < f->count; i++) ok = put_mark(page, &f->marks[i], id, i) && ok;
  fputs("</svg>\n", page);
  for (int i = 0; i < f->count; i++) {
    const mark *m = &f->marks[i];
    if (m->kind == MARK_HEAT && m->points && m->names && (int64_t)m->rows * m->columns <= HOVER_MOST)
      put_values(page, m, id, i);
  }
  return ok;
}
