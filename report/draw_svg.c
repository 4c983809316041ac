/* draw_svg.c - a figure as SVG, in a file or inside a page: tips as <title>, heat maps as a small PNG. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

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

/* ---- heat maps ---- */

enum { PNG_HEAD = 8 + 25, CHUNK = 12 }; /* bytes of the signature and IHDR; of a chunk around its data */

static void put_number(unsigned char *to, uint32_t x) {
  for (int i = 0; i < 4; i++) to[i] = (unsigned char)(x >> (24 - 8 * i));
}

/* Length, type and checksum around `size` bytes of data at chunk + 8; returns the end of the chunk. */
static unsigned char *close_chunk(unsigned char *chunk, const char *type, size_t size) {
  put_number(chunk, (uint32_t)size);
  memcpy(chunk + 4, type, 4);
  put_number(chunk + 8 + size, (uint32_t)crc32(0, chunk + 4, (uInt)size + 4));
  return chunk + CHUNK + size;
}

/* A PNG with one pixel per cell, of *size bytes (W3C, Portable Network Graphics, second edition); NULL without memory.
 * The caller frees it. */
static unsigned char *heat_png(const mark *m, size_t *size) {
  const size_t line = 1 + 4 * (size_t)m->columns, raw = line * (size_t)m->rows; /* a filter byte and RGBA */
  uLongf packed = compressBound((uLong)raw);
  unsigned char *pixels = draw_alloc(raw, 1), *png = draw_alloc(PNG_HEAD + packed + 2 * CHUNK, 1), *at = png;
  for (int i = 0; pixels && i < m->rows; i++)
    for (int j = 0; j < m->columns; j++)
      for (int c = 0; c < 4; c++)
        pixels[line * (size_t)i + 1 + 4 * (size_t)j + (size_t)c] =
            (unsigned char)(m->cells[(size_t)i * (size_t)m->columns + (size_t)j] >> (24 - 8 * c));
  if (pixels && png && compress(png + PNG_HEAD + 8, &packed, pixels, (uLong)raw) == Z_OK) {
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, rgba[5] = {8, 6, 0, 0, 0};
    memcpy(at, signature, 8);
    put_number(at + 16, (uint32_t)m->columns);
    put_number(at + 20, (uint32_t)m->rows);
    memcpy(at + 24, rgba, 5);
    at = close_chunk(close_chunk(close_chunk(at + 8, "IHDR", 13), "IDAT", packed), "IEND", 0);
  } else {
    free(png);
    png = NULL;
  }
  free(pixels);
  *size = (size_t)(at - png) * (png != NULL);
  return png;
}

static bool put_heat(FILE *page, const mark *m) {
  size_t size;
  unsigned char *png = heat_png(m, &size);
  if (png) {
    fprintf(page,
            "<image x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" preserveAspectRatio=\"none\" "
            "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,",
            m->x, m->y, m->w, m->h);
    html_base64(page, png, size);
    fputs("\"/>\n", page);
  }
  free(png);
  return png != NULL;
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
