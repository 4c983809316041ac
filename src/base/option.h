/* option.h - rows of option tables, and defaults from them. */
#ifndef BL_OPTION_H
#define BL_OPTION_H

#include "base/base.h"

#define BL_FIELD(type, name) offsetof(type, name), sizeof(((type *)0)->name)
#define BL_PI_8 "pi/8=0.39269908169872414"
/* BL_ROW(name and field, type, default, low, high, words, metavar, help): one blica_option. */
#define BL_ROW(label_offset_size, kind, ...) BL_ROW_(label_offset_size, kind, __VA_ARGS__, NULL)
/* A row for an option that has no effect without another: BL_ROW_WITH(needs, arguments of BL_ROW). */
#define BL_ROW_WITH(needs, label_offset_size, kind, ...) BL_ROW_(label_offset_size, kind, __VA_ARGS__, needs)
#define BL_ROW_(label, offset, size, kind, ...)                                                                        \
  { label, kind, offset, size, __VA_ARGS__ }

/* Zeros and, for each option of the table within `size` bytes that has one, its default; the first field of the struct
 * becomes size. */
void bl_options_default(const blica_option *table, int count, void *options, size_t size);

/* Makes own, a struct of `size` bytes, from the defaults of the table and from what a caller gave, who may know fewer
 * options (given is NULL: none), and checks it. Fails when the first field of given is not the size of an options
 * struct, or when blica_options_check does. type is for messages. */
blica_status bl_options_take(blica_ctx *ctx, const char *type, const blica_option *(*table)(int *), const void *given,
                             void *own, size_t size);
/* The same by the name of the verb, as in fit, into *own. */
#define BL_TAKE_OPTIONS(ctx, verb, given, own)                                                                         \
  bl_options_take(ctx, "blica_" #verb "_options", blica_##verb##_option_table, given, own,                             \
                  sizeof(blica_##verb##_options))

/* Defines blica_<verb>_option_table and blica_<verb>_options_init by the rows, an array. */
#define BL_OPTION_TABLE(verb, rows)                                                                                    \
  const blica_option *blica_##verb##_option_table(int *count) {                                                        \
    if (count) *count = (int)(sizeof rows / sizeof *rows);                                                             \
    return rows;                                                                                                       \
  }                                                                                                                    \
  void blica_##verb##_options_init(blica_##verb##_options *options, size_t size) {                                     \
    bl_options_default(rows, (int)(sizeof rows / sizeof *rows), options, size);                                        \
  }

/* Whether the option has what it needs of the others in options, the struct that the table describes. */
bool bl_option_works(const blica_option *option, const blica_option *table, int count, const void *options);
/* False for options that may differ between runs with the same result: where the state is kept, and for how long to
 * run. */
bool bl_option_decides(const char *name);
/* The value of an option as text that blica_option_set reads back: a word of its list, if one has this value. */
void bl_option_spell(const blica_option *option, const void *options, char *text, size_t size);
#endif
