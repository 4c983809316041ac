/* facts.c - see facts.h. */
#include "ranks/facts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/option.h"
#include "base/share.h"
#include "num/arithmetic.h"

void bl_facts_free(bl_facts *f) {
  for (size_t i = 0; f->text && i < 2 * f->count; i++) bl_free(f->text[i]);
  bl_free(f->text);
  *f = (bl_facts){.ctx = f->ctx};
}

blica_status bl_facts_reserve(bl_facts *f, size_t capacity) {
  blica_status status = bl_resize(f->ctx, 2 * f->count, 2 * capacity, &f->text);
  if (status == BLICA_OK) f->capacity = capacity;
  return status;
}

blica_status bl_facts_add(bl_facts *f, const char *name, const char *format, ...) {
  blica_status status = BLICA_OK;
  char value[512];
  va_list args;
  va_start(args, format);
  vsnprintf(value, sizeof value, format, args);
  va_end(args);
  if (f->count == f->capacity) TRY(bl_facts_reserve(f, 2 * f->capacity + 32));
  char **pair = f->text + 2 * f->count;
  pair[0] = pair[1] = NULL;
  f->count++;
  TRY(bl_copy_text(f->ctx, name, &pair[0]));
  TRY(bl_copy_text(f->ctx, value, &pair[1]));
done:
  return status;
}

/* ---- options ---- */

blica_status bl_facts_options(bl_facts *f, const blica_option *table, int count, const void *options) {
  blica_status status;
  TRY(bl_facts_add(f, "blica", "%s", blica_version()));
  for (int i = 0; i < count; i++) {
    char value[64];
    if (!bl_option_decides(table[i].name)) continue;
    bl_option_spell(&table[i], options, value, sizeof value);
    TRY(bl_facts_add(f, table[i].name, "%s", value));
  }
done:
  return status;
}

/* ---- the machine ---- */

blica_status bl_facts_machine(bl_facts *f) {
  static const char *const level[] = {"auto", "scalar", "AVX2", "AVX-512"};
  blica_status status;
  TRY(bl_facts_add(f, "SIMD level", "%s", level[blica_simd_level(f->ctx)]));
  TRY(bl_facts_add(f, "BLAS kernels", "%s", bl_blas_name()));
  TRY(bl_facts_add(f, "results of BLAS and the mathematical library", "%s%016llx", BL_FACTS_DIGEST,
                   (unsigned long long)bl_arithmetic_digest()));
done:
  return status;
}

/* ---- ranks ---- */

static blica_status differ(blica_ctx *ctx, const char *name, const char *here, const char *there) {
  static const char advice[] = "all processes must have the same program, kind of processor, options and data";
  const int rank = bl_comm(ctx)->rank, size = bl_comm(ctx)->size;
  if (here && there && *here == *BL_FACTS_DIGEST)
    return bl_fail(ctx, BLICA_ERR_ARGUMENT, "process %d of %d differs from the first in its %s; %s", rank, size, name,
                   advice);
  return bl_fail(ctx, BLICA_ERR_ARGUMENT, "process %d of %d has %s %s, the first has %s; %s", rank, size, name,
                 here ? here : "(none)", there ? there : "(none)", advice);
}

static blica_status compare(blica_ctx *ctx, const bl_facts *own, int count, const char *const *first) {
  for (int i = 0; i < count; i += 2) {
    const bool here = i < 2 * (int)own->count && strcmp(own->text[i], first[i]) == 0;
    if (!here || strcmp(own->text[i + 1], first[i + 1]) != 0)
      return differ(ctx, first[i], here ? own->text[i + 1] : NULL, first[i + 1]);
  }
  if (2 * (int)own->count > count) return differ(ctx, own->text[count], own->text[count + 1], NULL);
  return BLICA_OK;
}

blica_status bl_facts_same(blica_ctx *ctx, const bl_facts *f, blica_status status) {
  BL_OWNED const char **first = NULL;
  int count = 2 * (int)f->count; /* of texts; the first rank's later */
  if (bl_comm(ctx)->size == 1) return status;
  TRY(bl_agree(ctx, status));
  TRY(bl_broadcast_texts(ctx, f->text, &count, 0, &first));
  TRY(bl_agree(ctx, compare(ctx, f, count, first)));
done:
  return status;
}
