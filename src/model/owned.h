/* owned.h - public objects that are freed when the function returns: BL_AUTO(blica_counts) *counts = NULL; (base.h). */
#ifndef BL_OWNED_H
#define BL_OWNED_H

#include "base/base.h"

BL_AUTO_FREE(blica_data)
BL_AUTO_FREE(blica_counts)
BL_AUTO_FREE(blica_cor)
BL_AUTO_FREE(blica_model)

#endif
