/* html.c - see html.h. */
#include "html.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"

static const char *entity(unsigned char c) {
  static const char *const entities[] = {
      ['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;", ['\''] = "&#39;", [0x7F] = "\xEF\xBF\xBD"};
  if (c == '\t' || c == '\n' || c >= sizeof entities / sizeof *entities) return NULL;
  return c < 0x20 ? entities[0x7F] : entities[c];
}

void html_text(FILE *page, const char *text) {
  for (const char *p = text; *p;) {
    const int length = bl_utf8_length(p);
    const char *instead = length == 0 ? "\xEF\xBF\xBD" : length == 1 ? entity((unsigned char)*p) : NULL;
    if (instead)
      fputs(instead, page);
    else
      fwrite(p, 1, (size_t)length, page);
    p += length ? length : 1;
  }
}

void html_textf(FILE *page, const char *format, ...) {
  char text[4096];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  html_text(page, text);
}

void html_block(FILE *page, const char *tag, const char *format, ...) {
  char text[4096];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fprintf(page, "<%s>", tag);
  html_text(page, text);
  fprintf(page, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}

/* ---- tables ---- */

void html_table(FILE *page, const char *caption, const char *columns) {
  fputs("<div class=\"wide\" tabindex=\"0\"><table class=\"sort\"><caption>", page);
  html_text(page, caption);
  fputs("</caption><thead><tr>", page);
  for (const char *word = columns; word;) {
    size_t length = strcspn(word, "|");
    bool number = *word == '#';
    fprintf(page, "<th scope=\"col\"%s>", number ? " class=\"n\"" : "");
    html_textf(page, "%.*s", (int)(length - number), word + number);
    fputs("</th>", page);
    word = word[length] ? word + length + 1 : NULL;
  }
  fputs("</tr></thead><tbody>\n", page);
}

void html_row(FILE *page) {
  fputs("<tr>", page);
}

static void put_cell(FILE *page, const char *tag, const char *text) {
  fputs(tag, page);
  html_text(page, text);
  fputs("</td>", page);
}

void html_cell(FILE *page, const char *text) {
  put_cell(page, "<td>", text);
}

void html_word(FILE *page, const char *text) {
  put_cell(page, "<td class=\"w\">", text);
}

void html_number(FILE *page, const char *format, double value) {
  if (isnan(value)) {
    fputs("<td class=\"n\" data-v=\"\">\xE2\x80\x93</td>", page);
    return;
  }
  char text[64];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  snprintf(text, sizeof text, format, value);
#pragma GCC diagnostic pop
  fprintf(page, "<td class=\"n\" data-v=\"%.17g\">", value);
  if (*text == '-') {
    fputs("\xE2\x88\x92", page); /* a minus as wide as a plus */
    html_text(page, text + 1);
  } else {
    html_text(page, text);
  }
  fputs("</td>", page);
}

void html_row_end(FILE *page) {
  fputs("</tr>\n", page);
}

void html_cells(FILE *page, const char *cells, ...) {
  va_list args;
  va_start(args, cells);
  html_row(page);
  for (const char *cell = cells; *cell; cell += strcspn(cell, "|"), cell += *cell == '|') {
    char format[32];
    snprintf(format, sizeof format, "%.*s", (int)strcspn(cell, "|"), cell);
    if (*cell == 't')
      html_cell(page, va_arg(args, const char *));
    else if (*cell == 'w')
      html_word(page, va_arg(args, const char *));
    else if (*cell == 'z')
      fprintf(page, "<td class=\"w\">z%d</td>", va_arg(args, int));
    else
      html_number(page, format, va_arg(args, double));
  }
  html_row_end(page);
  va_end(args);
}

void html_table_end(FILE *page) {
  fputs("</tbody></table></div>\n", page);
}
