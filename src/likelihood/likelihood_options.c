/* likelihood_options.c - the tables of the options of blica_loglik and blica_sources. */
#include "base/option.h"

#define LOGLIK(name) #name, BL_FIELD(blica_loglik_options, name)
#define SOURCES(name) #name, BL_FIELD(blica_sources_options, name)

#define ENGINES "auto|grid|lattice|ep"
#define ENGINE_HELP                                                                                                    \
  "How probabilities of rows are computed: grid integrates over up to 3 sources, lattice samples up to 128 "           \
  "variables, ep is an approximation for any number; auto chooses by size."

static const blica_option loglik_table[] = {
    BL_ROW(LOGLIK(engine), BLICA_OPT_CHOICE, "auto", 0, 0, ENGINES, "NAME", ENGINE_HELP),
    BL_ROW_WITH("engine=auto|grid|lattice", LOGLIK(error), BLICA_OPT_REAL, "0.5", 0, 1e9, NULL, "EPS",
                "Numerical error of the total that is small enough; what was reached is reported."),
    BL_ROW_WITH("engine=auto|lattice", LOGLIK(seed), BLICA_OPT_SEED, "1", 0, 18446744073709551615.0, NULL, "SEED",
                "Seed of the lattice's random shifts."),
};

static const blica_option sources_table[] = {
    BL_ROW(SOURCES(segment), BLICA_OPT_CHOICE, "known", 0, 0, "known|unknown", "KIND",
           "Whether rows have the segment that their label says, or unknown ones: then a row is averaged over all "
           "segments "
           "of the model, weighted by their samples and its likelihood in them. Without a label, a row's is unknown."),
    BL_ROW(SOURCES(draws), BLICA_OPT_INT, "0", 0, 1000, NULL, "M",
           "Plausible values: this many draws from the posterior of each row, for analyses that use scores as data."),
    BL_ROW(SOURCES(standardise), BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL,
           "Sources in units of their standard deviation over all segments of the model, from their mean there."),
    BL_ROW_WITH("draws", SOURCES(seed), BLICA_OPT_SEED, "1", 0, 18446744073709551615.0, NULL, "SEED",
                "Seed of the draws."),
};

BL_OPTION_TABLE(loglik, loglik_table)
BL_OPTION_TABLE(sources, sources_table)
