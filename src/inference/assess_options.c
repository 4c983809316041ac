/* assess_options.c - the table of assess's options. */
#include "base/option.h"

#define ASSESS(name) #name, BL_FIELD(blica_assess_options, name)

static const blica_option assess_table[] = {
    BL_ROW(ASSESS(bootstrap), BLICA_OPT_INT, "200", 20, 1e6, "none=0", "DRAWS",
           "Refits of rows that are drawn anew within segments; none: asymptotic errors only. Take more for "
           "smoother numbers, none where a fit takes long."),
    BL_ROW(ASSESS(level), BLICA_OPT_REAL, "0.95", 0.5, 0.9999, NULL, "SHARE", "Coverage of the intervals."),
    BL_ROW(ASSESS(seed), BLICA_OPT_SEED, "1", 0, 18446744073709551615.0, NULL, "SEED",
           "Seed of the draws. The same seed gives the same numbers."),
};

BL_OPTION_TABLE(assess, assess_table)
