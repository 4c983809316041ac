/* discard.h - the _free functions under one type, for tables of verbs in tests. */
#ifndef TESTS_DISCARD_H
#define TESTS_DISCARD_H

#include "blica.h"

#define DISCARD(type)                                                                                                  \
  static inline void discard_##type(void *object) {                                                                    \
    blica_##type##_free(object);                                                                                       \
  }
DISCARD(ctx)
DISCARD(data)
DISCARD(counts)
DISCARD(cor)
DISCARD(model)
DISCARD(posterior)
DISCARD(loglik_result)
DISCARD(identification)
DISCARD(segmentation)
DISCARD(assessment)
DISCARD(selection)

#endif
