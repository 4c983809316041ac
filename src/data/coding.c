/* coding.c - codings from names and names from codings (coding.h has the form). */
#include "data/coding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void blica_coding_free(blica_coding *c) {
  if (!c) return;
  bl_free(c->labels);
  bl_free(c->names);
  bl_free(c->first);
  bl_free(c);
}

static blica_status check_label(blica_ctx *ctx, const char *item, const char *label) {
  if (!*label || strpbrk(label, "<[]"))
    return bl_fail(ctx, BLICA_ERR_DATA, "item '%s': a level is '%s'; levels must not be empty nor contain <, [ or ]",
                   item, label);
  return BLICA_OK;
}

static blica_status set_labels(blica_ctx *ctx, blica_coding *c, const char *const *labels) {
  MUST(bl_alloc(ctx, (size_t)(c->first[c->items] + c->items), &c->labels));
  for (int i = 0, at = 0; i < c->items; i++)
    for (int l = 0; l <= c->first[i + 1] - c->first[i]; l++, at++) {
      char number[16];
      if (!labels) snprintf(number, sizeof number, "%d", l);
      MUST(bl_copy_text_for(ctx, c->labels, labels ? labels[at] : number, &c->labels[at]));
      MUST(check_label(ctx, c->names[i], c->labels[at]));
      for (int before = c->first[i] + i; before < at; before++)
        if (strcmp(c->labels[before], c->labels[at]) == 0)
          return bl_fail(ctx, BLICA_ERR_DATA, "item '%s': the level '%s' occurs twice", c->names[i], c->labels[at]);
    }
  return BLICA_OK;
}

blica_status bl_coding_make(blica_ctx *ctx, int items, const char *const *names, const int *levels,
                            const char *const *labels, blica_coding **out) {
  BL_AUTO(blica_coding) *c = NULL;
  *out = NULL;
  MUST(bl_alloc(ctx, 1, &c));
  MUST(bl_copy_texts(ctx, items, names, &c->names));
  c->items = items;
  MUST(bl_alloc(ctx, (size_t)items + 1, &c->first));
  for (int i = 0; i < items; i++) {
    if (levels[i] < 2 || levels[i] > BL_MOST_LEVELS)
      return bl_fail(ctx, BLICA_ERR_DATA, "item '%s' has %d level%s; from 2 to %d can be used", names[i], levels[i],
                     levels[i] == 1 ? "" : "s", BL_MOST_LEVELS);
    c->first[i + 1] = c->first[i] + levels[i] - 1;
  }
  MUST(set_labels(ctx, c, labels));
  *out = bl_take(&c);
  return BLICA_OK;
}

blica_status bl_coding_copy(blica_ctx *ctx, const blica_coding *from, blica_coding **out) {
  BL_OWNED int *levels = NULL;
  *out = NULL;
  if (!from) return BLICA_OK;
  MUST(bl_alloc(ctx, (size_t)from->items, &levels));
  for (int i = 0; i < from->items; i++) levels[i] = from->first[i + 1] - from->first[i] + 1;
  MUST(bl_coding_make(ctx, from->items, (const char *const *)from->names, levels, (const char *const *)from->labels,
                      out));
  return BLICA_OK;
}

static bool plain(const blica_coding *c, int i) {
  const char *const *own = (const char *const *)c->labels + c->first[i] + i;
  return c->first[i + 1] - c->first[i] == 1 && strcmp(own[0], "0") == 0 && strcmp(own[1], "1") == 0;
}

/* The name of an item with the list of its levels: "item[low<high". Returns the end of what it wrote. */
static char *write_list(char *to, const char *item, char *const *labels, int count) {
  to = bl_text_put(to, item);
  for (int l = 0; l < count; l++) {
    *to++ = l ? '<' : '[';
    to = bl_text_put(to, labels[l]);
  }
  return to;
}

blica_status bl_coding_columns(blica_ctx *ctx, const blica_coding *c, char ***out) {
  BL_OWNED char **list = NULL;
  *out = NULL;
  MUST(bl_alloc(ctx, (size_t)c->first[c->items], &list));
  for (int i = 0; i < c->items; i++) {
    int count = c->first[i + 1] - c->first[i];
    char **own = c->labels + c->first[i] + i;
    size_t size = strlen(c->names[i]) + 16;
    for (int l = 0; l <= count; l++) size += strlen(own[l]) + 1;
    for (int l = 1; l <= count; l++) {
      char **name = &list[c->first[i] + l - 1];
      MUST(bl_alloc_for(ctx, list, size, name));
      char *end = write_list(*name, c->names[i], own, plain(c, i) ? 0 : count + 1);
      if (!plain(c, i)) snprintf(end, size - (size_t)(end - *name), "]>=%d", l);
    }
  }
  *out = bl_take(&list);
  return BLICA_OK;
}

static int count_levels(const char *list, size_t length) {
  int count = 1;
  for (size_t i = 0; i < length; i++) count += list[i] == '<';
  return count;
}

/* The parts of a name: lengths of the item's name and of its list of labels; the column's number, 0 for a plain one. A
 * name such as q[1]>=2, whose list has no second level or ends below the number, is plain: an item may be named so. */
static int split(const char *name, size_t *item, size_t *list) {
  const char *end = strrchr(name, ']'), *begin = NULL;
  *item = strlen(name), *list = 0;
  if (!end || strncmp(end, "]>=", 3) != 0 || strspn(end + 3, "0123456789") != strlen(end + 3)) return 0;
  for (const char *c = name; c < end; c++)
    if (*c == '[') begin = c;
  if (!begin || begin == name) return 0;
  *item = (size_t)(begin - name);
  *list = (size_t)(end - begin - 1);
  const long level = strtol(end + 3, NULL, 10), levels = count_levels(name + *item + 1, *list);
  if (level >= 1 && level < levels) return (int)level;
  *item = strlen(name), *list = 0;
  return 0;
}

/* Levels of the item whose first column is c; 0 when its columns are not all there, in order. */
static int levels_at(int columns, char *const *names, int c) {
  size_t item, list, other, other_list;
  int number = split(names[c], &item, &list);
  if (!number) return 2;
  int levels = count_levels(names[c] + item + 1, list);
  for (int l = 1; l < levels; l++)
    if (c + l - 1 >= columns || split(names[c + l - 1], &other, &other_list) != l || other != item ||
        strncmp(names[c + l - 1], names[c], item + list + 2) != 0)
      return 0;
  return levels;
}

/* Name and labels of the item at column c, each a text of its own, owned by owner. */
static blica_status take_item(blica_ctx *ctx, void *owner, const char *column, char **name, const char **labels) {
  size_t item, list;
  MUST(bl_copy_text_for(ctx, owner, column, name));
  if (!split(column, &item, &list)) {
    labels[0] = "0", labels[1] = "1";
    return BLICA_OK;
  }
  (*name)[item] = 0;
  const char *at = column + item + 1, *end = at + list;
  for (int l = 0; at <= end; l++) {
    size_t length = strcspn(at, "<]");
    char *label;
    MUST(bl_copy_text_for(ctx, owner, at, &label));
    label[length] = 0;
    labels[l] = label;
    at += length + 1;
  }
  return BLICA_OK;
}

blica_status bl_coding_parse(blica_ctx *ctx, int columns, char *const *names, blica_coding **out) {
  BL_OWNED char **item = NULL;
  BL_OWNED const char **labels = NULL;
  BL_OWNED int *levels = NULL;
  int items = 0, total = 0;
  bool coded = false;
  *out = NULL;
  for (int c = 0; c < columns && !coded; c++) {
    size_t of_item, of_list;
    coded = split(names[c], &of_item, &of_list) > 0;
  }
  if (!coded) return BLICA_OK;
  MUST(bl_alloc(ctx, (size_t)columns, &item));
  MUST(bl_alloc(ctx, (size_t)columns, &levels));
  MUST(bl_alloc(ctx, 2 * (size_t)columns, &labels));
  for (int c = 0; c < columns; c += levels[items++] - 1) {
    levels[items] = levels_at(columns, names, c);
    if (levels[items] < 2)
      return bl_fail(ctx, BLICA_ERR_DATA,
                     "column '%s': the columns of its item are not all there, in the order of its levels", names[c]);
    MUST(take_item(ctx, item, names[c], &item[items], labels + total));
    total += levels[items];
  }
  MUST(bl_coding_make(ctx, items, (const char *const *)item, levels, labels, out));
  return BLICA_OK;
}

/* ---- cuts as parameters ---- */

void bl_cuts_of(const blica_coding *coding, int n, const double *own, double *cut) {
  for (int i = 0; i < n; i++)
    for (int first = bl_plane(coding, i), p = first; p < bl_plane(coding, i + 1); p++)
      cut[p] = p == first ? own[p] : cut[p - 1] + exp(own[p]);
}

void bl_cuts_set(const blica_coding *coding, int n, const double *cut, double *own) {
  for (int i = 0; i < n; i++)
    for (int first = bl_plane(coding, i), p = first; p < bl_plane(coding, i + 1); p++)
      own[p] = p == first ? cut[p] : log(fmax(cut[p] - cut[p - 1], 1e-6));
}

void bl_cuts_chain(const blica_coding *coding, int n, const double *own, double *gradient) {
  for (int i = 0; i < n; i++) {
    double sum = 0.0;
    for (int first = bl_plane(coding, i), p = bl_plane(coding, i + 1) - 1; p >= first; p--) {
      sum += gradient[p];
      gradient[p] = p == first ? sum : exp(own[p]) * sum;
    }
  }
}

void bl_cuts_move(const blica_coding *coding, int n, const double *own, double *change) {
  for (int i = 0; i < n; i++)
    for (int p = bl_plane(coding, i) + 1; p < bl_plane(coding, i + 1); p++)
      change[p] = change[p - 1] + exp(own[p]) * change[p];
}
