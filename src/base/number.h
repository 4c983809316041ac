/* number.h - numbers as text with a decimal point, whatever the locale of the host program. Linked into the library and
 * the program. */
#ifndef BL_NUMBER_H
#define BL_NUMBER_H

#include <stddef.h>

/* For qsort: doubles in rising order. */
int bl_rising(const void *a, const void *b);

/* As strtod in the C locale. */
double bl_strtod(const char *text, char **end);
/* The value in the fewest of 15 to 17 significant digits that read back to the same bits. */
enum { BL_NUMBER_TEXT = 40 };
void bl_number_text(double value, char text[BL_NUMBER_TEXT]); /* into text */

#endif
