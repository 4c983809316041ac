/* json.c - the two things in JSON that are easy to get wrong: strings and numbers. */
#include "files/json.h"

#include <math.h>

#include "base/number.h"
#include "base/text.h"

void bl_json_text(FILE *stream, const char *text) {
  putc('"', stream);
  for (const char *s = text; *s;) {
    int length = bl_utf8_length(s);
    unsigned char first = (unsigned char)*s;
    if (length == 0 || first < 0x20 || first == 0x7f)
      fprintf(stream, "\\u%04x", first);
    else if (*s == '"' || *s == '\\')
      fprintf(stream, "\\%c", *s);
    else
      fwrite(s, 1, (size_t)length, stream);
    s += length ? length : 1;
  }
  putc('"', stream);
}

void bl_json_number(FILE *stream, double value) {
  char text[BL_NUMBER_TEXT];
  if (isnan(value)) {
    fputs("null", stream);
    return;
  }
  if (isinf(value)) {
    fputs(value > 0 ? "\"Infinity\"" : "\"-Infinity\"", stream);
    return;
  }
  bl_number_text(value, text);
  fputs(text, stream);
}
