/* fit_summary.h - a fitted model in words: which items belong to which source, how the starts ended, what to do next.
 */
#ifndef FIT_SUMMARY_H
#define FIT_SUMMARY_H

#include <stdio.h>

#include "program.h"

/* Prints the answer of a fit: the data, loadings sorted by source, each source in words, what the design can determine,
 * how the starts ended, and the next command. data is the path of the data, data_options how they were read
 * (data_args_text), data_words what is in them ("" where that is not known). */
void print_summary(program *p, const blica_model *model, FILE *to, const char *out, const char *data,
                   const char *data_options, const char *data_words);

#endif
