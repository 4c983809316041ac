/* text.c - see text.h. */
#include "base/text.h"

#include <string.h>
#include <strings.h>

/* Bytes of the sequence that the byte begins, or 0. */
static int promised(unsigned char first) {
  return first < 0x80                     ? 1
         : first >= 0xc2 && first <= 0xdf ? 2
         : first >= 0xe0 && first <= 0xef ? 3
         : first >= 0xf0 && first <= 0xf4 ? 4
                                          : 0;
}

static bool continues(char byte) {
  return ((unsigned char)byte & 0xc0) == 0x80;
}

int bl_utf8_length(const char *s) {
  const unsigned char first = (unsigned char)s[0], second = first ? (unsigned char)s[1] : 0;
  int length = promised(first);
  for (int i = 1; i < length; i++)
    if (!continues(s[i])) return 0;
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
  return length;
}

char *bl_utf8_put(uint32_t code, char *to) {
  const bool byte = code >= 0xdc80 && code <= 0xdcff;
  const int length = code < 0x80 || byte ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  static const unsigned char mark[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (int i = length - 1; i > 0; i--, code >>= 6) to[i] = (char)(0x80 | (code & 63));
  to[0] = (char)(byte ? code - 0xdc00 : mark[length] | code);
  return to + length;
}

char *bl_text_put(char *to, const char *text) {
  const size_t length = strlen(text);
  memcpy(to, text, length + 1);
  return to + length;
}

bool bl_is_utf8(const char *text) {
  for (int length; *text; text += length)
    if ((length = bl_utf8_length(text)) == 0) return false;
  return true;
}

/* C0, DEL and C1 controls. */
static bool is_control(const char *s, int length) {
  const unsigned char first = (unsigned char)s[0];
  return (length == 1 && (first < 0x20 || first == 0x7f)) ||
         (length == 2 && first == 0xc2 && (unsigned char)s[1] < 0xa0);
}

/* Bytes of a sequence that begins properly and ends too early, or 0. */
static int cut_short(const char *s) {
  int length = promised((unsigned char)s[0]), have = 1;
  while (have < length && continues(s[have])) have++;
  return length > 1 && have < length ? have : 0;
}

void bl_text_clean(char *text) {
  char *to = text;
  for (const char *s = text; *s;) {
    int length = bl_utf8_length(s);
    if (length && !is_control(s, length)) {
      memmove(to, s, (size_t)length);
      to += length;
    } else if (length || !cut_short(s)) {
      *to++ = '?';
    }
    s += length ? length : cut_short(s) ? cut_short(s) : 1;
  }
  *to = 0;
}

bool bl_has_ending(const char *path, const char *ending) {
  size_t length = strlen(path), tail = strlen(ending);
  return length >= tail && strcasecmp(path + length - tail, ending) == 0;
}
