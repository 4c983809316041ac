/* json.h - writing JSON: text that is always valid UTF-8 and numbers that read back to the same bits. */
#ifndef BL_JSON_H
#define BL_JSON_H

#include <stdio.h>

/* A quoted string. A byte that is not part of valid UTF-8 is taken as Latin-1. */
void bl_json_text(FILE *stream, const char *text);
/* The shortest of 15 to 17 digits that reads back exactly. NaN is null, infinities are the strings
 * "Infinity" and "-Infinity". */
void bl_json_number(FILE *stream, double value);

#endif
