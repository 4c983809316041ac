/* option.h - rows of option tables, and defaults from them. */
#ifndef BL_OPTION_H
#define BL_OPTION_H

#include "base/base.h"

#define BL_FIELD(type, name) offsetof(type, name), sizeof(((type *)0)->name)
#define BL_PI_8 "pi/8=0.39269908169872414"
/* BL_ROW(name and field, type, default, low, high, words, metavar, help): one blica_option. */
#define BL_ROW(label_offset_size, kind, ...) BL_ROW_(label_offset_size, kind, __VA_ARGS__)
#define BL_ROW_(label, offset, size, kind, ...)                                                                        \
  { label, kind, offset, size, __VA_ARGS__ }

/* Zeros and, for each option of the table within `size` bytes that has one, its default; the first field of the struct
 * becomes size. */
void bl_options_default(const blica_option *table, int count, void *options, size_t size);

/* Copies the options of a caller, who may know fewer of them, over the defaults in own, a struct of `size` bytes. Fails
 * when given is NULL or its first field is not the size of an options struct. type is for messages. */
blica_status bl_options_take(blica_ctx *ctx, const char *type, const void *given, void *own, size_t size);

/* Defines blica_<verb>_option_table and blica_<verb>_options_init by the rows, an array. */
#define BL_OPTION_TABLE(verb, rows)                                                                                    \
  const blica_option *blica_##verb##_option_table(int *count) {                                                        \
    if (count) *count = (int)(sizeof rows / sizeof *rows);                                                             \
    return rows;                                                                                                       \
  }                                                                                                                    \
  void blica_##verb##_options_init(blica_##verb##_options *options, size_t size) {                                     \
    bl_options_default(rows, (int)(sizeof rows / sizeof *rows), options, size);                                        \
  }

/* The value of an option as blica_option_set reads it back: a word of its list where one stands for it. */
void bl_option_spell(const blica_option *option, const void *options, char *text, size_t size);
/* Fails when a value of the struct is one that blica_option_set would refuse. Options without a default (NULL) are not
 * checked. */
blica_status bl_options_check(blica_ctx *ctx, const blica_option *table, int count, const void *options);

#endif
