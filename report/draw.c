/* draw.c - recording of marks; see draw.h. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "draw_marks.h"

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

static void fail(figure *f) {
  f->failed = out_of_memory = true;
}

figure *figure_new(double width, double height, const char *alt) {
  figure *f = draw_alloc(1, sizeof *f);
  if (!f) return NULL;
  f->width = width;
  f->height = height;
  f->alt = strdup(alt);
  if (!f->alt) fail(f);
  return f;
}

static void mark_free(mark *m) {
  free(m->text);
  free(m->points);
  free(m->cells);
}

void figure_free(figure *f) {
  if (!f) return;
  for (int i = 0; i < f->count; i++) mark_free(&f->marks[i]);
  free(f->marks);
  free(f->alt);
  free(f);
}

/* Records m and returns its place in the list, or NULL after a failure. */
static mark *add(figure *f, mark m) {
  if (!f || f->failed) return NULL;
  if (f->count == f->capacity) {
    int capacity = f->capacity ? 2 * f->capacity : 64;
    mark *more = realloc(f->marks, (size_t)capacity * sizeof *more);
    if (!more) {
      fail(f);
      return NULL;
    }
    f->marks = more;
    f->capacity = capacity;
  }
  f->marks[f->count] = m;
  return &f->marks[f->count++];
}

static void *copy(figure *f, const void *bytes, size_t size) {
  void *block = bytes ? draw_alloc(size, 1) : NULL;
  if (block)
    memcpy(block, bytes, size);
  else if (bytes)
    fail(f);
  return block;
}

static void add_text(figure *f, mark *m, const char *text) {
  if (m && text) m->text = copy(f, text, strlen(text) + 1);
}

void draw_rect(figure *f, double x, double y, double w, double h, colour fill, colour stroke, const char *tip) {
  const mark m = {MARK_RECT, .x = x, .y = y, .w = w, .h = h, .fill = fill, .stroke = stroke, .width = 1};
  add_text(f, add(f, m), tip);
}

void draw_circle(figure *f, double x, double y, double r, colour fill, colour stroke, const char *tip) {
  const mark m = {MARK_CIRCLE, .x = x, .y = y, .w = r, .fill = fill, .stroke = stroke, .width = 1};
  add_text(f, add(f, m), tip);
}

void draw_path(figure *f, const double *points, int count, bool closed, colour fill, colour stroke, double width) {
  mark *m = add(f, (mark){MARK_PATH, .closed = closed, .fill = fill, .stroke = stroke, .width = width});
  if (!m) return;
  m->points = copy(f, points, 2 * (size_t)count * sizeof *points);
  m->count = count;
}

void draw_line(figure *f, double x1, double y1, double x2, double y2, colour stroke, double width, bool dashed) {
  double points[4] = {x1, y1, x2, y2};
  draw_path(f, points, 2, false, CLEAR, stroke, width);
  if (f && !f->failed) f->marks[f->count - 1].dashed = dashed;
}

void draw_text(figure *f, double x, double y, double size, alignment align, colour ink, double angle, bool bold,
               const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const mark m = {MARK_TEXT, .x = x, .y = y, .w = size, .h = angle, .align = align, .fill = ink, .bold = bold};
  add_text(f, add(f, m), text);
}

void draw_heat(figure *f, double x, double y, double w, double h, const heat *map) {
  mark *m = add(f, (mark){MARK_HEAT, .x = x, .y = y, .w = w, .h = h, .rows = map->rows, .columns = map->columns});
  if (m) m->cells = copy(f, map->cells, (size_t)map->rows * (size_t)map->columns * sizeof *map->cells);
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
