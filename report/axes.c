/* axes.c - see axes.h. */
#include "axes.h"

#include <math.h>
#include <stdlib.h>

static double place(double value, double low, double high, bool log_scale) {
  if (log_scale) return (log(value) - log(low)) / (log(high) - log(low));
  return (value - low) / (high - low);
}

double axes_x(const axes *a, double value) {
  return a->x + a->w * place(value, a->x_low, a->x_high, a->log_x);
}
double axes_y(const axes *a, double value) {
  return a->y + a->h * (1 - place(value, a->y_low, a->y_high, a->log_y));
}

void axes_frame(const axes *a, const char *title) {
  draw_rect(a->f, a->x, a->y, a->w, a->h, CLEAR, FRAME, NULL);
  if (title) draw_text(a->f, a->x + a->w / 2, a->y - 7, 12, ALIGN_MIDDLE, INK, 0, true, "%s", title);
}

/* 1, 2 or 5 times a power of ten, so that about `wanted` steps fit. */
static double round_step(double range, int wanted) {
  double raw = range / wanted, power = pow(10, floor(log10(raw))), lead = raw / power;
  return power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
}

enum { MOST_TICKS = 32 };

static int ticks_of(double low, double high, bool log_scale, int wanted, double *at) {
  int count = 0;
  if (log_scale) {
    double step = ceil((log10(high) - log10(low)) / wanted);
    if (step < 1) step = 1;
    for (double p = ceil(log10(low) - 1e-9); p <= log10(high) + 1e-9 && count < MOST_TICKS; p += step)
      at[count++] = pow(10, p);
    if (count > 1) return count;
    count = 0; /* within a decade: 1, 2 and 5 times its powers */
    static const double parts[] = {1, 2, 5};
    for (double p = floor(log10(low)); p <= log10(high); p++)
      for (int i = 0; i < 3; i++)
        if (parts[i] * pow(10, p) >= low && parts[i] * pow(10, p) <= high) at[count++] = parts[i] * pow(10, p);
    if (count > 1) return count;
    count = 0; /* narrower still: as on a plain scale */
  }
  double step = round_step(high - low, wanted);
  for (double i = ceil(low / step - 1e-9); i * step <= high + 1e-9 * step && count < MOST_TICKS; i++)
    at[count++] = i * step;
  return count;
}

static void tick_label(char *text, size_t size, double value, bool log_scale) {
  if (log_scale && (value >= 1e5 || value < 1e-3))
    snprintf(text, size, "1e%d", (int)lround(log10(value)));
  else
    snprintf(text, size, value < 0 ? "\xE2\x88\x92%.6g" : "%.6g", fabs(value));
}

void axes_tick_x(const axes *a, double at, const char *text) {
  double x = axes_x(a, at), y = a->y + a->h;
  draw_line(a->f, x, y, x, y + 4, FRAME, 1, false);
  draw_text(a->f, x, y + 15, 10, ALIGN_MIDDLE, INK, 0, false, "%s", text);
}

void axes_ticks_x(const axes *a, const char *label) {
  double at[MOST_TICKS], wide = INFINITY;
  char text[MOST_TICKS][32];
  int count = 0;
  for (int wanted = a->w < 160 ? 3 : 6; wanted > 0 && wide > a->w; wanted--) { /* as many as do not touch */
    count = ticks_of(a->x_low, a->x_high, a->log_x, wanted, at);
    wide = 0;
    for (int i = 0; i < count; i++) {
      tick_label(text[i], sizeof text[i], at[i], a->log_x);
      wide += text_width(10, false, text[i]) + 12;
    }
  }
  for (int i = 0; i < count; i++) axes_tick_x(a, at[i], text[i]);
  if (label) draw_text(a->f, a->x + a->w / 2, a->y + a->h + 31, 11, ALIGN_MIDDLE, INK, 0, false, "%s", label);
}

void axes_ticks_y(const axes *a, const char *label) {
  double at[MOST_TICKS], widest = 0;
  int wanted = a->h < 160 ? 3 : 6, count = ticks_of(a->y_low, a->y_high, a->log_y, wanted, at);
  for (int i = 0; i < count; i++) {
    char text[32];
    double y = axes_y(a, at[i]);
    tick_label(text, sizeof text, at[i], a->log_y);
    draw_line(a->f, a->x, y, a->x + a->w, y, PALE, 1, false);
    draw_line(a->f, a->x - 4, y, a->x, y, FRAME, 1, false);
    draw_text(a->f, a->x - 6, y + 3.5, 10, ALIGN_END, INK, 0, false, "%s", text);
    double width = text_width(10, false, text);
    if (width > widest) widest = width;
  }
  if (label) draw_text(a->f, a->x - 14 - widest, a->y + a->h / 2, 11, ALIGN_MIDDLE, INK, 90, false, "%s", label);
}

/* ---- named rows ---- */

enum { NAMED_ROWS = 80, ROW = 15, NAME_WIDEST = 260 };

double rows_names_width(int count, char *const *names) {
  double widest = 0;
  for (int i = 0; i < count && count <= NAMED_ROWS; i++) widest = fmax(widest, text_width(10, false, names[i]));
  return fmin(widest, NAME_WIDEST) + 12;
}

double rows_height(int count) {
  return count <= NAMED_ROWS ? ROW * count : fmax(2.0 * count, ROW * NAMED_ROWS);
}

typedef struct {
  double value;
  int index;
} ranked;

static int falling(const void *x, const void *y) {
  const ranked *a = x, *b = y;
  return a->value != b->value ? (a->value < b->value) - (a->value > b->value) : a->index - b->index;
}

static double inside(const axes *a, double value) {
  return axes_x(a, fmin(fmax(value, a->x_low), a->x_high));
}

static void draw_row(const axes *a, const named_rows *rows, int i, double y) {
  const size_t at = (size_t)i * (size_t)rows->step;
  char tip[320], interval[64] = "", name[256];
  if (rows->low && isfinite(rows->low[at]) && isfinite(rows->high[at])) {
    draw_line(a->f, inside(a, rows->low[at]), y, inside(a, rows->high[at]), y, with_alpha(palette(0), 0.55), 1.6,
              false);
    snprintf(interval, sizeof interval, ", from %.3g to %.3g", rows->low[at], rows->high[at]);
  }
  snprintf(tip, sizeof tip, "%.200s: %.3g%s", rows->names[i], rows->value[at], interval);
  const bool beyond = rows->value[at] < a->x_low || rows->value[at] > a->x_high;
  draw_circle(a->f, inside(a, rows->value[at]), y, 3, palette(beyond), CLEAR, tip);
  if (rows->count > NAMED_ROWS) return;
  text_fit(name, sizeof name, 10, NAME_WIDEST, rows->names[i]);
  draw_text(a->f, a->x - 6, y + 3.5, 10, ALIGN_END, INK, 0, false, "%s", name);
}

void axes_rows(const axes *a, const named_rows *rows) {
  ranked *order = draw_alloc((size_t)rows->count, sizeof *order);
  int count = 0;
  for (int i = 0; order && i < rows->count; i++)
    if (isfinite(rows->value[(size_t)i * (size_t)rows->step]))
      order[count++] = (ranked){rows->value[(size_t)i * (size_t)rows->step], i};
  if (order) qsort(order, (size_t)count, sizeof *order, falling);
  if (rows->reference >= a->x_low && rows->reference <= a->x_high)
    draw_line(a->f, axes_x(a, rows->reference), a->y, axes_x(a, rows->reference), a->y + a->h, FRAME, 1, true);
  for (int i = 0; order && i < count; i++) draw_row(a, rows, order[i].index, a->y + (i + 0.5) * a->h / rows->count);
  free(order);
}

/* ---- boxes ---- */

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double quantile(const double *sorted, int count, double p) {
  double at = p * (count - 1);
  int i = (int)at;
  if (i >= count - 1) return sorted[count - 1];
  return sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]);
}

double median(double *values, int count) {
  if (count == 0) return NAN;
  qsort(values, (size_t)count, sizeof *values, ascending);
  return quantile(values, count, 0.5);
}

void axes_box(const axes *a, double centre, double width, double *values, int count, colour c, const char *what) {
  if (count == 0) return;
  double middle = median(values, count), low = quantile(values, count, 0.25), high = quantile(values, count, 0.75);
  double reach = 1.5 * (high - low), from = low, to = high;
  for (int i = count - 1; i >= 0; i--)
    if (values[i] <= low && values[i] >= low - reach) from = values[i];
  for (int i = 0; i < count; i++)
    if (values[i] >= high && values[i] <= high + reach) to = values[i];
  double half = width / 2, top = axes_y(a, high), bottom = axes_y(a, low);
  if (bottom - top < 1) bottom = top + 1;
  draw_line(a->f, centre, axes_y(a, from), centre, axes_y(a, to), c, 1, false);
  char tip[256];
  snprintf(tip, sizeof tip, "%s: median %.4g, quartiles %.4g and %.4g, %d values", what, middle, low, high, count);
  draw_rect(a->f, centre - half, top, width, bottom - top, with_alpha(c, 0.35), c, tip);
  draw_line(a->f, centre - half, axes_y(a, middle), centre + half, axes_y(a, middle), c, 2, false);
  for (int i = 0; i < count; i++)
    if (values[i] < from || values[i] > to) draw_circle(a->f, centre, axes_y(a, values[i]), 1.3, c, CLEAR, NULL);
}

double draw_legend(figure *f, double x, double y, double width, const char *const *names, const colour *colours,
                   int count) {
  double at = x;
  for (int i = 0; i < count; i++) {
    double w = 16 + text_width(11, false, names[i]) + 16;
    if (at > x && at + w > x + width) {
      at = x;
      y += 17;
    }
    draw_rect(f, at, y - 9, 10, 10, with_alpha(colours[i], 0.6), colours[i], NULL);
    draw_text(f, at + 15, y, 11, ALIGN_START, INK, 0, false, "%s", names[i]);
    at += w;
  }
  return y + 17;
}
