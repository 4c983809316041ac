/* identify.h - blica_identify with the size from which only the ends of the spectrum are computed first. */
#ifndef BL_IDENTIFY_H
#define BL_IDENTIFY_H

#include "base/base.h"

/* As blica_identify; from ends_from parameters on the ends of the spectrum are computed first. */
blica_status bl_identify(blica_ctx *ctx, const blica_model *model, size_t ends_from, blica_identification **out);

#endif
