/* html.h - pieces of a page; every text that comes from outside passes through html_text. */
#ifndef HTML_H
#define HTML_H

#include <stdint.h>
#include <stdio.h>

/* Text, so that it shows as it is, in content and in quoted attributes. Bytes that are not UTF-8 become U+FFFD. */
void html_text(FILE *page, const char *text);
/* printf with the result escaped. */
void html_textf(FILE *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* printf as an element whose tag, with attributes, is given without its brackets. */
void html_block(FILE *page, const char *tag, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A table whose columns sort on a click. columns: "name|name|...", a name that starts with # holds numbers. */
void html_table(FILE *page, const char *caption, const char *columns);
/* A whole row: "t|w|z|%.3f" is a text, a few words that are kept on one line, the name of a source by its number, and a
 * number in this format of printf; NaN shows as a dash. */
void html_cells(FILE *page, const char *cells, ...);
void html_row(FILE *page);                                      /* begins a row whose cells follow one by one */
void html_cell(FILE *page, const char *text);                   /* with its text escaped */
void html_word(FILE *page, const char *text);                   /* a cell of few words, kept on one line */
void html_number(FILE *page, const char *format, double value); /* format of one double; NaN shows as a dash */
void html_row_end(FILE *page);                                  /* and ends it */
void html_table_end(FILE *page);                                /* ends the table */

#endif
