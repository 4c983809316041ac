/* segment_options.c - the table of the options of blica_segment. */
#include <math.h>

#include "base/option.h"
#include "estimate/method.h"

#define SEGMENT(name) #name, BL_FIELD(blica_segment_options, name)

static const blica_option segment_table[] = {
    BL_ROW(SEGMENT(sources), BLICA_OPT_INT, NULL, 1, 1e6, NULL, "K",
           "Number of sources, at most the number of variables."),
    BL_ROW(SEGMENT(states), BLICA_OPT_INT, "auto", 1, 1000, "auto=0", "S",
           "Number of hidden states; auto lets the data choose, one state included."),
    BL_ROW_WITH("states=auto", SEGMENT(max_states), BLICA_OPT_INT, "16", 1, 1000, NULL, "S",
                "The most states that auto may choose."),
    BL_ROW(SEGMENT(min_length), BLICA_OPT_INT, "10", 1, 9e15, NULL, "ROWS",
           "Fewest rows before a state may change: in every run of the labels, and on average in the probabilities."),
    BL_ROW(SEGMENT(change_points), BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL,
           "States never return: each is one run of rows, and the search finds the points of change."),
    BL_ROW(SEGMENT(starts), BLICA_OPT_INT, "3", 1, 1e6, NULL, "COUNT",
           "Clusterings from which the search for states begins; the best result is kept."),
    BL_ROW(SEGMENT(seed), BLICA_OPT_SEED, "1", 0, 18446744073709551615.0, NULL, "SEED",
           "Seed of the clusterings and of the fit. The same seed gives the same result."),
    BL_ROW(SEGMENT(method), BLICA_OPT_CHOICE, "auto", 0, 0, bl_segment_methods, "NAME",
           "Estimator of the mixing matrix, as in blica fit; those that need rows are left out."),
    BL_ROW(SEGMENT(link), BLICA_OPT_REAL, "pi/8", 1e-6, 1e6, BL_PI_8, "C",
           "Squared coefficient c of the link, P(x=1|y) = Phi(sqrt(c) y)."),
    BL_ROW(SEGMENT(max_seconds), BLICA_OPT_REAL, "none", 0, INFINITY, "none=inf", "SECONDS",
           "Time limit. When it is reached, the best result so far is returned."),
    BL_ROW(SEGMENT(checkpoint), BLICA_OPT_TEXT, NULL, 0, 0, NULL, "FILE",
           "Keep the state of the search in this file, so that a run that was killed can be resumed."),
    BL_ROW_WITH("checkpoint", SEGMENT(checkpoint_seconds), BLICA_OPT_REAL, "60", 0, 1e9, NULL, "SECONDS",
                "Time between two writes of the checkpoint; it is also written when the search is interrupted."),
    BL_ROW_WITH("checkpoint", SEGMENT(resume), BLICA_OPT_FLAG, "no", 0, 1, NULL, NULL,
                "Continue from the checkpoint; the result has the same bits as without the break."),
};

BL_OPTION_TABLE(segment, segment_table)
