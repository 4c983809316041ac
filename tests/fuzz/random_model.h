/* random_model.h - small models and data out of the input. */
#ifndef RANDOM_MODEL_H
#define RANDOM_MODEL_H

#include "fuzz.h"

/* Up to 5 variables, 5 sources, 4 segments; wild: numbers of any size. */
blica_model *random_model(fuzz_bytes *b, bool wild);
/* Rows of n variables in segments 1..u, some missing. Up to most rows. NULL when the input makes none. */
blica_data *random_data(fuzz_bytes *b, int n, int u, int most);

#endif
