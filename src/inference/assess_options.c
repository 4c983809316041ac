/* assess_options.c - the table of assess's options. */
#include "base/option.h"

#define ASSESS(name) #name, BL_FIELD(blica_assess_options, name)

static const blica_option assess_table[] = {
    BL_ROW(ASSESS(bootstrap), BLICA_OPT_INT, "auto", 20, 1e6, "auto=-1|none=0", "DRAWS",
           "Refits of rows that are drawn anew within segments; none: asymptotic errors only. auto: 200, fewer for "
           "large models, as docs/uncertainty.md says."),
    BL_ROW(ASSESS(block_length), BLICA_OPT_INT, "auto", 1, 1e9, "auto=0", "ROWS",
           "Rows that follow each other and are taken as one unit by errors, tests and refits, as in a time series; "
           "1: rows are independent. auto: by the dependence that the rows show."),
    BL_ROW(ASSESS(level), BLICA_OPT_REAL, "0.95", 0.5, 0.9999, NULL, "SHARE", "Coverage of the intervals."),
    BL_ROW(ASSESS(seed), BLICA_OPT_SEED, "1", 0, 18446744073709551615.0, NULL, "SEED",
           "Seed of the draws. The same seed gives the same numbers."),
};

BL_OPTION_TABLE(assess, assess_table)
