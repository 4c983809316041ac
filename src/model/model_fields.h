/* model_fields.h - the scalar fields of a fit record in model.json, listed once for writing and reading. Times are
 * not among them: the same fit is the same file. */
#ifndef BL_MODEL_FIELDS_H
#define BL_MODEL_FIELDS_H

#include "base/base.h"

typedef enum { BL_FIELD_REAL, BL_FIELD_INT, BL_FIELD_WIDE, BL_FIELD_SEED, BL_FIELD_STOP, BL_FIELD_KIND } bl_field_type;

typedef struct {
  const char *name;
  bl_field_type type; /* double, int, int64_t, uint64_t, blica_stop, char[16] */
  size_t offset;
} bl_field;

extern const bl_field bl_report_fields[]; /* of blica_fit_report; the last name is NULL */
extern const bl_field bl_start_fields[];  /* of blica_start */

#endif
