/* choose.h - the number of states by held-out rows. */
#ifndef BL_CHOOSE_H
#define BL_CHOOSE_H

#include "segment/search.h"

/* Takes *states, the number that a first search of all rows asks for, to the fewest states that predict held-out rows
 * as well as any number up to `most`, within one standard error. trials [count] gets the held-out log-likelihoods of
 * the numbers that came into question. A run that is stopped leaves *states as it is. */
blica_status bl_choose_states(blica_ctx *ctx, bl_em *em, const blica_segment_options *options, int most, int count,
                              blica_segment_trial *trials, int *states);

#endif
