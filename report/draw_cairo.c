/* draw_cairo.c - figures as files: SVG, PDF and PNG from the same list of marks. */
#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"
#include "draw_marks.h"

static void ink(cairo_t *cr, colour c) {
  cairo_set_source_rgba(cr, (c >> 24) / 255.0, (c >> 16 & 255) / 255.0, (c >> 8 & 255) / 255.0, (c & 255) / 255.0);
}

/* Fills and strokes the current path, then drops it. */
static void paint(cairo_t *cr, const mark *m) {
  static const double dashes[2] = {4, 3};
  if (m->fill & 255) {
    ink(cr, m->fill);
    cairo_fill_preserve(cr);
  }
  if (m->stroke & 255) {
    ink(cr, m->stroke);
    cairo_set_line_width(cr, m->width);
    cairo_set_dash(cr, dashes, m->dashed ? 2 : 0, 0);
    cairo_stroke_preserve(cr);
  }
  cairo_new_path(cr);
}

static void render_text(cairo_t *cr, const mark *m) {
  cairo_text_extents_t extents;
  cairo_save(cr);
  cairo_select_font_face(cr, draw_font, CAIRO_FONT_SLANT_NORMAL,
                         m->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cr, m->w);
  cairo_text_extents(cr, m->text, &extents);
  cairo_translate(cr, m->x, m->y);
  cairo_rotate(cr, -m->h * acos(-1) / 180);
  double shift = m->align == ALIGN_START ? 0 : m->align == ALIGN_MIDDLE ? extents.x_advance / 2 : extents.x_advance;
  cairo_move_to(cr, -shift, 0);
  ink(cr, m->fill);
  cairo_show_text(cr, m->text);
  cairo_restore(cr);
  cairo_new_path(cr);
}

enum { RECTANGLES_MOST = 8000, PIXELS = 4 };

/* A large map is an image, with some pixels per cell because viewers smooth images. */
static void render_heat_image(cairo_t *cr, const mark *m) {
  cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, PIXELS * m->columns, PIXELS * m->rows);
  if (cairo_surface_status(image) == CAIRO_STATUS_SUCCESS) {
    cairo_surface_flush(image);
    unsigned char *data = cairo_image_surface_get_data(image);
    size_t stride = (size_t)cairo_image_surface_get_stride(image);
    for (int i = 0; i < PIXELS * m->rows; i++)
      for (int j = 0; j < PIXELS * m->columns; j++) {
        uint32_t pixel = m->cells[(size_t)(i / PIXELS) * (size_t)m->columns + (size_t)(j / PIXELS)] >> 8;
        memcpy(data + (size_t)i * stride + 4 * (size_t)j, &pixel, 4);
      }
    cairo_surface_mark_dirty(image);
  }
  cairo_save(cr);
  cairo_translate(cr, m->x, m->y);
  cairo_scale(cr, m->w / (PIXELS * m->columns), m->h / (PIXELS * m->rows));
  cairo_set_source_surface(cr, image, 0, 0);
  cairo_pattern_set_filter(cairo_get_source(cr), CAIRO_FILTER_NEAREST);
  cairo_paint(cr);
  cairo_restore(cr);
  cairo_surface_destroy(image);
}

/* Neighbours of one colour in a row become one rectangle; no smoothing, so that no seams show. */
static void render_heat(cairo_t *cr, const mark *m) {
  double w = m->w / m->columns, h = m->h / m->rows;
  if ((int64_t)m->rows * m->columns > RECTANGLES_MOST) {
    render_heat_image(cr, m);
    return;
  }
  cairo_save(cr);
  cairo_set_antialias(cr, CAIRO_ANTIALIAS_NONE);
  for (int i = 0; i < m->rows; i++)
    for (int j = 0, end; j < m->columns; j = end) {
      const colour *row = m->cells + (size_t)i * (size_t)m->columns;
      for (end = j + 1; end < m->columns && row[end] == row[j];) end++;
      cairo_rectangle(cr, m->x + j * w, m->y + i * h, (end - j) * w, h);
      ink(cr, row[j]);
      cairo_fill(cr);
    }
  cairo_restore(cr);
}

static void play(cairo_t *cr, const mark *m) {
  switch (m->kind) {
  case MARK_RECT:
    cairo_rectangle(cr, m->x, m->y, m->w, m->h);
    paint(cr, m);
    break;
  case MARK_CIRCLE:
    cairo_new_sub_path(cr);
    cairo_arc(cr, m->x, m->y, m->w, 0, 2 * acos(-1));
    paint(cr, m);
    break;
  case MARK_PATH:
    for (int i = 0; i < m->count; i++) cairo_line_to(cr, m->points[2 * i], m->points[2 * i + 1]);
    if (m->closed) cairo_close_path(cr);
    paint(cr, m);
    break;
  case MARK_TEXT:
    render_text(cr, m);
    break;
  case MARK_HEAT:
    render_heat(cr, m);
    break;
  }
}

static cairo_status_t to_stream(void *stream, const unsigned char *bytes, unsigned int count) {
  return fwrite(bytes, 1, count, stream) == count ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

typedef enum { AS_SVG, AS_PDF, AS_PNG } format;
enum { PNG_SCALE = 2 };

static cairo_surface_t *surface_for(const figure *f, format as, FILE *stream) {
  switch (as) {
  case AS_SVG:
    return cairo_svg_surface_create_for_stream(to_stream, stream, f->width, f->height);
  case AS_PDF: /* a CSS pixel is 3/4 point */
    return cairo_pdf_surface_create_for_stream(to_stream, stream, 0.75 * f->width, 0.75 * f->height);
  default:
    return cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)ceil(PNG_SCALE * f->width),
                                      (int)ceil(PNG_SCALE * f->height));
  }
}

static cairo_status_t render(const figure *f, format as, FILE *stream) {
  cairo_surface_t *surface = surface_for(f, as, stream);
  cairo_t *cr = cairo_create(surface);
  double scale = as == AS_PDF ? 0.75 : as == AS_PNG ? PNG_SCALE : 1;
  cairo_scale(cr, scale, scale);
  cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
  ink(cr, WHITE);
  cairo_paint(cr);
  for (int i = 0; i < f->count; i++) play(cr, &f->marks[i]);
  cairo_show_page(cr);
  cairo_status_t status = cairo_status(cr);
  cairo_destroy(cr);
  if (status == CAIRO_STATUS_SUCCESS && as == AS_PNG)
    status = cairo_surface_write_to_png_stream(surface, to_stream, stream);
  cairo_surface_finish(surface);
  if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_status(surface);
  cairo_surface_destroy(surface);
  return status;
}

static bool save_as(const figure *f, format as, const char *path, char *message, size_t size) {
  bl_outfile file;
  if (!bl_outfile_open(&file, path)) {
    snprintf(message, size, "cannot write '%s': %s", path, strerror(errno));
    return false;
  }
  cairo_status_t status = draw_begin() ? render(f, as, file.stream) : CAIRO_STATUS_NO_MEMORY;
  /* cairo may write a file with other fonts, or blame freetype, when memory was out for one of its steps */
  if (!draw_end()) status = CAIRO_STATUS_NO_MEMORY;
  if (status != CAIRO_STATUS_SUCCESS) {
    bl_outfile_discard(&file);
    snprintf(message, size, "cannot draw '%s': %s", path, cairo_status_to_string(status));
    return false;
  }
  if (!bl_outfile_commit(&file)) {
    snprintf(message, size, "cannot write '%s': %s", path, strerror(errno));
    return false;
  }
  return true;
}

bool figure_save(const figure *f, const char *folder, const char *name, char *message, size_t size) {
  static const char *const endings[] = {"svg", "pdf", "png"};
  if (!f || f->failed || draw_out_of_memory()) {
    snprintf(message, size, "out of memory while drawing %s", name);
    return false;
  }
  for (int as = AS_SVG; as <= AS_PNG; as++) {
    char path[4096];
    if ((size_t)snprintf(path, sizeof path, "%s/%s.%s", folder, name, endings[as]) >= sizeof path) {
      snprintf(message, size, "the name of the folder is longer than 4000 bytes");
      return false;
    }
    if (!save_as(f, (format)as, path, message, size)) return false;
  }
  return true;
}
