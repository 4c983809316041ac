/* counts_check.h - what holds of pair counts that could be read, and of correlations made of them. */
#ifndef COUNTS_CHECK_H
#define COUNTS_CHECK_H

#include "fuzz.h"

/* Saves as .npz and .csv and loads again: the same; then correlates. */
void counts_check(const blica_counts *counts);
/* Correlations in [-1, 1], thresholds finite, standard errors positive or none. */
void cor_check(const blica_cor *cor);

#endif
