/* options.h - the choices that more than one table must agree on. */
#ifndef BL_OPTIONS_H
#define BL_OPTIONS_H

/* auto, and the names of the estimators, as listed by blica_methods(): a new row there is a new word here. */
#define BL_METHOD_WORDS BL_SELECT_WORDS "|ivae|fastica"
/* Those that blica_select compares numbers of sources with. */
#define BL_SELECT_WORDS BL_SEGMENT_WORDS "|mle"
/* Those that blica_segment can use: they fit counts. */
#define BL_SEGMENT_WORDS "auto|blica|matched|pairwise"

#endif
