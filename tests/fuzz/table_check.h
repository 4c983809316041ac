/* table_check.h - what holds of every table that can be read, however it is stored. */
#ifndef TABLE_CHECK_H
#define TABLE_CHECK_H

#include "fuzz.h"
#include "table_io.h"

/* How to read it, from two bytes of the input; labels is the path of a segment file, or NULL. */
table_options table_check_options(fuzz_bytes *b, const char *labels);

/* Reads path as a whole, in pieces, and again after writing it out with every field quoted, and CHECKs that all agree.
 * Returns the data, or NULL when the table was refused (with its reason). */
blica_data *table_check(const char *path, const table_options *options);

/* The same bits under the same names. */
bool table_same(const blica_data *a, const blica_data *b);

#endif
