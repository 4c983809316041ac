/* select_options.c - the table of select's options. */
#include "base/option.h"
#include "estimate/method.h"

#define SELECT(name) #name, BL_FIELD(blica_select_options, name)

static const blica_option select_table[] = {
    BL_ROW(SELECT(sources), BLICA_OPT_RANGE, "1:8", 1, 1e6, NULL, "LOW:HIGH",
           "Numbers of sources to compare; the upper end is lowered to what the data can determine."),
    BL_ROW(SELECT(method), BLICA_OPT_CHOICE, "auto", 0, 0, bl_select_methods, "NAME",
           "Estimator, the same for all numbers of sources; auto is matched."),
    BL_ROW(SELECT(folds), BLICA_OPT_INT, "5", 2, 100, NULL, "COUNT",
           "Parts into which the rows of every segment are divided; each is held out once."),
    BL_ROW(SELECT(references), BLICA_OPT_INT, "100", 20, 1e6, NULL, "COUNT",
           "Data sets of independent items with the same margins in every segment, for parallel analysis."),
    BL_ROW(SELECT(seed), BLICA_OPT_SEED, "1", 0, 18446744073709551615.0, NULL, "SEED",
           "Seed of the division and of the reference data. The same seed gives the same numbers."),
};

BL_OPTION_TABLE(select, select_table)
