/* words.h - what console and report say alike: which items belong to which source, how starts ended, what the data
 * hold. Nothing here draws, so that a program without the report has it too. */
#ifndef WORDS_H
#define WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "blica.h"

/* Mean over segments of the correlation between source j and the latent variable behind item i. */
double source_correlation(const blica_model *m, int i, int j);
/* The source with which item i correlates most. */
int source_of_item(const blica_model *m, int i);
/* Items by their source, those that correlate most with it first: [n], to be freed; NULL when memory is out. alloc is
 * calloc or draw_alloc. */
int *sorted_items(const blica_model *m, void *(*alloc)(size_t count, size_t size));
/* Whether the interval of the loading of item i on source j is known and meets 0; assessment may be NULL. */
bool is_doubtful(const blica_assessment *assessment, int i, int j);
/* Writes which items source j is: "x7, x6 and 2 more against x3". Named are those whose correlation with it is worth a
 * word (.3 or more, and not doubtful), strongest first, as many as a sentence takes; put writes a name. Without any it
 * says so. */
void write_source(const blica_model *m, const blica_assessment *assessment, int j,
                  void (*put)(const char *name, FILE *to), FILE *to);
/* The part of the explained variance that source j has, 0 to 1. */
double explained_share(const blica_model *m, int j);

/* How many items differ between segments in their cuts or loadings; -1: none could be tested. */
int items_that_differ(const blica_invariance_result *result, blica_item_part part);
/* The least and the largest reliability of source j within a segment; false where fewer than two are known. */
bool reliability_range(const blica_reliability *reliability, int j, double *low, double *high);

enum { STARTS_TEXT = 400 };
/* How many starts reached the best optimum, in words; empty for a model that was not fitted. */
void starts_words(const blica_fit_report *fit, char text[STARTS_TEXT]);

/* The level that all rows of segment s of the counts have in item i, -1 when all are missing, -2 when they differ.
 * coding NULL: a column is an item. */
int constant_level(const blica_counts *counts, const blica_coding *coding, int s, int i);
/* The label of a level of item i. */
const char *level_label(const blica_coding *coding, int i, int level);

enum { WORD_TEXT = 8192, DATA_WORDS = 1024 };
/* Describes the data in a few sentences, for check, fit and report. */
void data_words(const blica_check *check, char *text, size_t size);
/* A word as a POSIX shell reads it back. */
void shell_word(const char *word, char text[WORD_TEXT]);

#endif
