/* json.c - the two things in JSON that are easy to get wrong: strings and numbers. */
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Length of the valid UTF-8 sequence at s (RFC 3629: no overlong forms, no surrogates), or 0. */
static int sequence(const unsigned char *s) {
  int length = s[0] < 0x80                    ? 1
               : s[0] >= 0xc2 && s[0] <= 0xdf ? 2
               : s[0] >= 0xe0 && s[0] <= 0xef ? 3
               : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4
                                              : 0;
  for (int i = 1; i < length; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)) return 0;
  if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) return 0;
  return length;
}

void bl_json_text(FILE *stream, const char *text) {
  putc('"', stream);
  for (const unsigned char *s = (const unsigned char *)text; *s;) {
    int length = sequence(s);
    if (length == 0)
      fprintf(stream, "\\u%04x", *s);
    else if (*s < 0x20 || *s == 0x7f)
      fprintf(stream, "\\u%04x", *s);
    else if (*s == '"' || *s == '\\')
      fprintf(stream, "\\%c", *s);
    else
      fwrite(s, 1, (size_t)length, stream);
    s += length ? length : 1;
  }
  putc('"', stream);
}

void bl_json_number(FILE *stream, double value) {
  char text[40];
  if (isnan(value)) {
    fputs("null", stream);
    return;
  }
  if (isinf(value)) {
    fputs(value > 0 ? "\"Infinity\"" : "\"-Infinity\"", stream);
    return;
  }
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  char *comma = strchr(text, ','); /* the decimal point of the caller's locale */
  if (comma) *comma = '.';
  fputs(text, stream);
}
