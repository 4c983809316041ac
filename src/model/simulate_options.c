/* simulate_options.c - the table of blica_simulate's options. */
#include "base/option.h"

#define SIM(name) #name, BL_FIELD(blica_simulate_options, name)

static const blica_option simulate_table[] = {
    BL_ROW(SIM(variables), BLICA_OPT_INT, "10", 2, 1e6, NULL, "N", "Number of binary variables."),
    BL_ROW(SIM(sources), BLICA_OPT_INT, "10", 1, 1e6, NULL, "K", "Number of sources, at most the number of variables."),
    BL_ROW(SIM(segments), BLICA_OPT_INT, "40", 1, 1e6, NULL, "U", "Number of segments."),
    BL_ROW(SIM(samples), BLICA_OPT_INT, "1000", 1, 9e15, NULL, "COUNT",
           "Rows per segment; with exact, the nominal number."),
    BL_ROW(SIM(seed), BLICA_OPT_SEED, "1", 0, 18446744073709551615.0, NULL, "SEED",
           "Seed of all random numbers. The same seed gives the same model and data."),
    BL_ROW(SIM(link), BLICA_OPT_REAL, "pi/8", 1e-6, 1e6, BL_PI_8, "C",
           "Squared coefficient c of the link, P(x=1|y) = Phi(sqrt(c) y)."),
    BL_ROW(SIM(mixing_range), BLICA_OPT_REAL, "3", 1e-6, 1e6, NULL, "R", "Elements of A are uniform in (-R, R)."),
    BL_ROW(SIM(sd_low), BLICA_OPT_REAL, "0.5", 1e-6, 1e6, NULL, "SD",
           "Lower end of the uniform standard deviations of the sources."),
    BL_ROW(SIM(sd_high), BLICA_OPT_REAL, "3", 1e-6, 1e6, NULL, "SD", "Upper end of the same."),
    BL_ROW(SIM(mean_range), BLICA_OPT_REAL, "0.5", 0, 1e6, NULL, "R", "Means of the sources are uniform in (-R, R)."),
    BL_ROW(SIM(intercepts), BLICA_OPT_REAL, "0", 0, 1e6, NULL, "SD",
           "Standard deviation of the items' thresholds, which are normal; 0 is the paper's model."),
    BL_ROW(SIM(levels), BLICA_OPT_INT, "2", 2, 100, NULL, "L",
           "Levels of every item, about equally frequent over all segments; 2 is the paper's model."),
    BL_ROW(SIM(exact), BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL,
           "Exact pair probabilities (the limit of infinitely many samples) instead of rows."),
};

BL_OPTION_TABLE(simulate, simulate_table)
