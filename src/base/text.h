/* text.h - text that came from outside: whether it is UTF-8, and how it may be shown. Linked into the library and the
 * program. */
#ifndef BL_TEXT_H
#define BL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the valid UTF-8 sequence at s (RFC 3629: no overlong forms, no surrogates), or 0. Reads no byte after a
 * zero. */
int bl_utf8_length(const char *s);
/* Writes a character as UTF-8, and U+DC80 to U+DCFF, which represent bytes that were not UTF-8, as those bytes. Returns
 * the place behind it. */
char *bl_utf8_put(uint32_t code, char *to);
/* Whether the name of a file ends in that, in any case. */
bool bl_has_ending(const char *path, const char *ending);
/* Whether the text is UTF-8. */
bool bl_is_utf8(const char *text);
/* Copies text with its zero; returns the place of that. */
char *bl_text_put(char *to, const char *text);
/* Makes text fit for a message, in place: a sequence that was cut short is removed; other bytes that are not UTF-8 and
 * control characters, which a terminal would obey, become question marks. */
void bl_text_clean(char *text);

#endif
