/* options.h - the choices that more than one table must agree on. */
#ifndef BL_OPTIONS_H
#define BL_OPTIONS_H

/* auto, and the names of the estimators, as listed by blica_methods(): a new row there is a new word here. */
#define BL_METHOD_WORDS "auto|blica|matched|pairwise|mle|ivae|fastica"

#endif
