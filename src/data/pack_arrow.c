/* pack_arrow.c - tables as Arrow's C stream gives them: booleans, whole numbers and dictionaries of text, in chunks,
 * with nulls and offsets.
 *
 * Levels are known only when the stream has ended, so that each column keeps a byte a value, numbered in the order in
 * which values appeared, and is packed at the end. The interface has no sizes of buffers: that a buffer has as many
 * elements as the array says must be believed; all else that the structs say is checked before it is used. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/intern.h"
#include "data/arrow.h"
#include "data/coding.h"

enum { CHUNK = 1 << 14 };

typedef struct {
  int64_t number;
  int8_t id;
} numbered;

typedef struct {
  const struct ArrowSchema *schema;
  const char *name;
  char type;                        /* of the elements, or of the indexes of a dictionary */
  bool ordered;                     /* the dictionary is in the order of the levels */
  bl_intern texts;                  /* of the dictionary, of which `occurs` says which rows have */
  bool occurs[BL_MOST_LEVELS];      /* [texts.count] */
  numbered values[BL_MOST_LEVELS];  /* distinct numbers, by id */
  int count, last;                  /* of them; the id of the last value */
  int8_t *code;                     /* [capacity] ids of the rows */
  int8_t level[BL_MOST_LEVELS];     /* of an id; -1: missing */
  int levels;                       /* 0: plain 0 and 1 */
  char numbers[BL_MOST_LEVELS][24]; /* levels that are numbers, as text */
} column;

typedef struct {
  blica_ctx *ctx;
  struct ArrowSchema schema;
  int n, segment_at; /* items; the child that holds segments, or -1 */
  column *columns;   /* [n] */
  bl_intern segments;
  int32_t *segment; /* [capacity] */
  int64_t rows, capacity;
} reader;

static blica_status fail_stream(reader *r, struct ArrowArrayStream *stream, int code) {
  const char *text = stream->get_last_error ? stream->get_last_error(stream) : NULL;
  return bl_fail(r->ctx, BLICA_ERR_IO, "the Arrow stream failed: %.400s (error %d)",
                 text ? text : "it does not say why", code);
}

/* The one letter of a format that is read here, 0 for all others. */
static char letter_of(const char *format) {
  return format && format[0] && !format[1] ? format[0] : 0;
}

static bool is_text(char type) {
  return type == 'u' || type == 'U';
}

static blica_status check_type(blica_ctx *ctx, const struct ArrowSchema *s, bool segment) {
  const char type = letter_of(s->format), *name = s->name ? s->name : "";
  if (s->dictionary && !is_text(letter_of(s->dictionary->format)))
    return bl_fail(ctx, BLICA_ERR_DATA, "column '%.100s' has a dictionary of format '%.20s'; its values must be text",
                   name, s->dictionary->format ? s->dictionary->format : "");
  if (type && strchr(s->dictionary ? "cCsSiIlL" : "bcCsSiIlL", type)) return BLICA_OK;
  if (segment && is_text(type)) return BLICA_OK;
  return bl_fail(
      ctx, BLICA_ERR_DATA,
      "column '%.100s' has the Arrow format '%.20s'; items are booleans, whole numbers or dictionaries: cast it", name,
      s->format ? s->format : "");
}

/* Lists the columns of the table that are items, and finds that of the segments. */
static blica_status read_schema(reader *r, const char *segment_column) {
  const struct ArrowSchema *s = &r->schema;
  r->segment_at = -1;
  if (!s->format || strcmp(s->format, "+s") != 0)
    return bl_fail(r->ctx, BLICA_ERR_DATA, "the Arrow stream holds '%.20s', not a table (+s)",
                   s->format ? s->format : "");
  if (s->n_children < 0 || s->n_children > 1 << 24 || (s->n_children > 0 && !s->children))
    return bl_fail(r->ctx, BLICA_ERR_FORMAT, "the Arrow schema is damaged: it has %lld columns",
                   (long long)s->n_children);
  for (int k = 0; k < (int)s->n_children; k++) {
    const struct ArrowSchema *child = s->children[k];
    if (!child) return bl_fail(r->ctx, BLICA_ERR_FORMAT, "the Arrow schema is damaged: column %d is NULL", k + 1);
    const bool named = segment_column && child->name && strcmp(child->name, segment_column) == 0;
    if (named && r->segment_at < 0) r->segment_at = k;
  }
  if (segment_column && r->segment_at < 0)
    return bl_fail(r->ctx, BLICA_ERR_ARGUMENT, "the Arrow stream has no column '%.100s' for the segments",
                   segment_column);
  MUST(bl_alloc(r->ctx, (size_t)s->n_children + 1, &r->columns));
  for (int k = 0; k < (int)s->n_children; k++) {
    const struct ArrowSchema *child = s->children[k];
    MUST(check_type(r->ctx, child, k == r->segment_at));
    if (k == r->segment_at) continue;
    r->columns[r->n++] = (column){.schema = child,
                                  .name = child->name ? child->name : "",
                                  .type = letter_of(child->format),
                                  .ordered = (child->flags & ARROW_FLAG_DICTIONARY_ORDERED) != 0};
  }
  return BLICA_OK;
}

/* ---- arrays ---- */

static blica_status lie(reader *r, const char *name, const char *what) {
  return bl_fail(r->ctx, BLICA_ERR_FORMAT, "row %lld, column '%.100s': the Arrow array is damaged: %s",
                 (long long)r->rows + 1, name, what);
}

static blica_status check_array(reader *r, const struct ArrowArray *a, const char *name, char type, int64_t needed) {
  if (!a || !a->release) return lie(r, name, "it is missing or released");
  if (a->length < 0 || a->offset < 0 || a->length > INT64_MAX - a->offset)
    return lie(r, name, "its length is impossible");
  if (a->length < needed) return lie(r, name, "it is shorter than the table");
  if (a->null_count < -1 || a->null_count > a->length) return lie(r, name, "it has more nulls than rows");
  if (a->n_buffers != (is_text(type) ? 3 : 2) || !a->buffers) return lie(r, name, "it has a wrong number of buffers");
  if (a->length > 0 && !a->buffers[1]) return lie(r, name, "it has no values");
  if (!a->buffers[0] && a->null_count > 0) return lie(r, name, "it has nulls that nothing marks");
  return BLICA_OK;
}

static bool is_valid(const struct ArrowArray *a, int64_t at) {
  const uint8_t *bits = a->buffers[0];
  return !bits || a->null_count == 0 || (bits[at / 8] >> (at % 8) & 1);
}

/* Element at (offset included) of booleans or whole numbers; unsigned ones above INT64_MAX are no levels and become it.
 */
static int64_t number_at(const struct ArrowArray *a, char type, int64_t at) {
  const void *x = a->buffers[1];
  switch (type) {
  case 'b':
    return ((const uint8_t *)x)[at / 8] >> (at % 8) & 1;
  case 'c':
    return ((const int8_t *)x)[at];
  case 'C':
    return ((const uint8_t *)x)[at];
  case 's':
    return ((const int16_t *)x)[at];
  case 'S':
    return ((const uint16_t *)x)[at];
  case 'i':
    return ((const int32_t *)x)[at];
  case 'I':
    return ((const uint32_t *)x)[at];
  case 'l':
    return ((const int64_t *)x)[at];
  default: {
    const uint64_t value = ((const uint64_t *)x)[at];
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
  }
  }
}

static int64_t text_offset(const struct ArrowArray *a, char type, int64_t at) {
  return type == 'u' ? ((const int32_t *)a->buffers[1])[at] : ((const int64_t *)a->buffers[1])[at];
}

/* The text of element at; NULL when its offsets are impossible. */
static const char *text_at(const struct ArrowArray *a, char type, int64_t at, size_t *length) {
  const int64_t from = text_offset(a, type, at), to = text_offset(a, type, at + 1);
  if (from < 0 || to < from || to > text_offset(a, type, a->offset + a->length) || (to > from && !a->buffers[2]))
    return NULL;
  *length = (size_t)(to - from);
  return *length ? (const char *)a->buffers[2] + from : "";
}

/* Numbers of the entries of a chunk's dictionary among the texts of the column; -1 for null. */
static blica_status read_dictionary(reader *r, const struct ArrowArray *a, const struct ArrowSchema *schema,
                                    const char *name, bl_intern *texts, int32_t **out) {
  const struct ArrowArray *d = a->dictionary;
  const char type = letter_of(schema->dictionary->format);
  MUST(check_array(r, d, name, type, 0));
  MUST(bl_alloc(r->ctx, (size_t)d->length + 1, out));
  for (int64_t k = 0; k < d->length; k++) {
    size_t length;
    const char *text = text_at(d, type, d->offset + k, &length);
    if (!text) return lie(r, name, "the offsets of its dictionary are impossible");
    (*out)[k] = -1;
    if (is_valid(d, d->offset + k)) MUST(bl_intern_add(r->ctx, texts, text, length, &(*out)[k]));
  }
  return BLICA_OK;
}

/* The dictionary of a chunk, which for ordered levels must be that of the chunks before. */
static blica_status read_levels(reader *r, column *c, const struct ArrowArray *a, int32_t **entry) {
  const int known = c->texts.count;
  MUST(read_dictionary(r, a, c->schema, c->name, &c->texts, entry));
  if (c->texts.count > BL_MOST_LEVELS)
    return bl_fail(r->ctx, BLICA_ERR_DATA, "column '%.100s' has a dictionary of more than %d values", c->name,
                   BL_MOST_LEVELS);
  bool rising = known == 0 || c->texts.count == known;
  for (int64_t k = 1; k < a->dictionary->length; k++) rising = rising && (*entry)[k] > (*entry)[k - 1];
  if (c->ordered && !rising)
    return bl_fail(r->ctx, BLICA_ERR_DATA,
                   "column '%.100s': its ordered dictionary differs between chunks, or has nulls", c->name);
  return BLICA_OK;
}

/* The id of a number of a column. */
static blica_status number_id(reader *r, column *c, int64_t number, int8_t *id) {
  if (c->last < c->count && c->values[c->last].number == number) {
    *id = (int8_t)c->last;
    return BLICA_OK;
  }
  for (c->last = 0; c->last < c->count && c->values[c->last].number != number; c->last++) continue;
  if (c->last == BL_MOST_LEVELS)
    return bl_fail(r->ctx, BLICA_ERR_DATA,
                   "column '%.100s' has more than %d values; is it a number rather than an item?", c->name,
                   BL_MOST_LEVELS);
  if (c->last == c->count) c->values[c->count++] = (numbered){number, (int8_t)c->last};
  *id = (int8_t)c->last;
  return BLICA_OK;
}

/* Codes the values of one item in the rows of a chunk. */
static blica_status read_items(reader *r, column *c, const struct ArrowArray *a, int64_t first, int64_t rows) {
  BL_OWNED int32_t *entry = NULL;
  MUST(check_array(r, a, c->name, c->type, first + rows));
  if (c->schema->dictionary) MUST(read_levels(r, c, a, &entry));
  for (int64_t k = 0; k < rows; k++) {
    const int64_t at = a->offset + first + k;
    int8_t *code = &c->code[r->rows + k];
    *code = BLICA_MISSING;
    if (!is_valid(a, at)) continue;
    const int64_t value = number_at(a, c->type, at);
    if (!entry) {
      MUST(number_id(r, c, value, code));
      continue;
    }
    if (value < 0 || value >= a->dictionary->length) return lie(r, c->name, "an index is outside its dictionary");
    *code = (int8_t)entry[value];
    if (*code >= 0) c->occurs[*code] = true;
  }
  return BLICA_OK;
}

/* Numbers the segments of the rows of a chunk in the order of their first appearance. */
static blica_status read_segments(reader *r, const struct ArrowArray *a, int64_t first, int64_t rows) {
  BL_OWNED int32_t *entry = NULL;
  const struct ArrowSchema *schema = r->schema.children[r->segment_at];
  const char type = letter_of(schema->format);
  BL_CLEAN(bl_intern_clear) bl_intern texts = {0};
  MUST(check_array(r, a, schema->name, type, first + rows));
  if (schema->dictionary) MUST(read_dictionary(r, a, schema, schema->name, &texts, &entry));
  for (int64_t k = 0; k < rows; k++) {
    const int64_t at = a->offset + first + k, value = is_text(type) ? 0 : number_at(a, type, at);
    char number[24];
    size_t length = 0;
    const char *text = number;
    const bool present = is_valid(a, at);
    if (present && entry && (value < 0 || value >= a->dictionary->length))
      return bl_fail(r->ctx, BLICA_ERR_FORMAT, "row %lld: the index of its segment is outside the dictionary",
                     (long long)(r->rows + k + 1));
    if (!present || (entry && entry[value] < 0))
      return bl_fail(r->ctx, BLICA_ERR_DATA,
                     "row %lld has no segment; drop such rows or give them a segment of their own",
                     (long long)(r->rows + k + 1));
    if (entry)
      text = texts.texts[entry[value]], length = strlen(text);
    else if (is_text(type))
      text = text_at(a, type, at, &length);
    else
      length = (size_t)snprintf(number, sizeof number, "%lld", (long long)value);
    if (!text)
      return bl_fail(r->ctx, BLICA_ERR_FORMAT, "row %lld: the offsets of its segment are impossible",
                     (long long)(r->rows + k + 1));
    MUST(bl_intern_add(r->ctx, &r->segments, text, length, &r->segment[r->rows + k]));
  }
  return BLICA_OK;
}

/* Space for more rows in all columns. */
static blica_status reserve(reader *r, int64_t more) {
  if (more > INT64_MAX / 4 - r->rows)
    return bl_fail(r->ctx, BLICA_ERR_FORMAT, "the Arrow array is damaged: its length is impossible");
  if (r->rows + more <= r->capacity) return BLICA_OK;
  const int64_t capacity = 2 * (r->rows + more);
  for (int i = 0; i < r->n; i++) MUST(bl_resize(r->ctx, (size_t)r->rows, (size_t)capacity, &r->columns[i].code));
  MUST(bl_resize(r->ctx, (size_t)r->rows, (size_t)capacity, &r->segment));
  r->capacity = capacity;
  return BLICA_OK;
}

static blica_status read_chunk(reader *r, const struct ArrowArray *a) {
  if (a->length < 0 || a->offset < 0 || a->length > INT64_MAX - a->offset || a->n_children != r->schema.n_children ||
      (a->n_children > 0 && !a->children))
    return bl_fail(r->ctx, BLICA_ERR_FORMAT,
                   "the Arrow array is damaged: it has %lld rows and %lld columns, and the schema %lld columns",
                   (long long)a->length, (long long)a->n_children, (long long)r->schema.n_children);
  if (a->length == 0) return BLICA_OK;
  if (a->null_count != 0 && a->n_buffers > 0 && a->buffers && a->buffers[0])
    for (int64_t k = 0; k < a->length; k++)
      if (!is_valid(a, a->offset + k))
        return bl_fail(r->ctx, BLICA_ERR_DATA, "row %lld is null as a whole", (long long)(r->rows + k + 1));
  for (int64_t k = 0; k < a->n_children; k++)
    if (!a->children[k] || a->children[k]->length < a->offset + a->length)
      return bl_fail(r->ctx, BLICA_ERR_FORMAT, "the Arrow array is damaged: column %lld is shorter than the table",
                     (long long)k + 1);
  MUST(reserve(r, a->length));
  for (int i = 0, k = 0; k < (int)a->n_children; k++)
    if (k == r->segment_at)
      MUST(read_segments(r, a->children[k], a->offset, a->length));
    else
      MUST(read_items(r, &r->columns[i++], a->children[k], a->offset, a->length));
  if (r->segment_at < 0) memset(r->segment + r->rows, 0, (size_t)a->length * sizeof *r->segment);
  r->rows += a->length;
  return BLICA_OK;
}

/* ---- levels ---- */

static int by_number(const void *a, const void *b) {
  const int64_t x = ((const numbered *)a)->number, y = ((const numbered *)b)->number;
  return (x > y) - (x < y);
}

static blica_status refuse_levels(blica_ctx *ctx, const column *c, int count, const char *advice) {
  return bl_fail(ctx, BLICA_ERR_DATA, "column '%.100s' has %d different value%s; an item has two, or more in order: %s",
                 c->name, count, count == 1 ? "" : "s", advice);
}

/* Orders the values of an item as levels; fails when they are fewer than two or have no order. */
static blica_status find_levels(blica_ctx *ctx, column *c, bool ordinal) {
  int count = 0;
  if (c->schema->dictionary) {
    for (int k = 0; k < c->texts.count; k++) c->level[k] = (int8_t)(c->ordered || c->occurs[k] ? count++ : -1);
    c->levels = count;
    return count < 2 || (count > 2 && !c->ordered) ? refuse_levels(ctx, c, count, "make its dictionary ordered")
                                                   : BLICA_OK;
  }
  qsort(c->values, (size_t)c->count, sizeof *c->values, by_number);
  bool plain = true;
  for (int l = 0; l < c->count; l++) plain = plain && (c->values[l].number == 0 || c->values[l].number == 1);
  for (int l = 0; l < c->count; l++) {
    c->level[c->values[l].id] = (int8_t)(plain ? c->values[l].number : l);
    snprintf(c->numbers[l], sizeof c->numbers[l], "%lld", (long long)c->values[l].number);
  }
  c->levels = plain ? 0 : c->count;
  return !plain && (c->count < 2 || (c->count > 2 && !ordinal))
             ? refuse_levels(ctx, c, c->count, "say that whole numbers are ordinal, or recode it")
             : BLICA_OK;
}

static blica_status pack_chunks(reader *r, blica_packer *packer) {
  BL_OWNED int8_t *x = NULL;
  MUST(bl_alloc(r->ctx, bl_mul(CHUNK, (size_t)r->n), &x));
  for (int64_t from = 0; from < r->rows; from += CHUNK) {
    const int64_t rows = r->rows - from < CHUNK ? r->rows - from : CHUNK;
    for (int i = 0; i < r->n; i++)
      for (int64_t k = 0; k < rows; k++) {
        const int8_t id = r->columns[i].code[from + k];
        x[i * rows + k] = id < 0 ? BLICA_MISSING : r->columns[i].level[id];
      }
    MUST(blica_pack_columns(r->ctx, packer, rows, x, r->segment + from));
  }
  return BLICA_OK;
}

static blica_status pack(reader *r, bool ordinal, blica_data **out) {
  BL_AUTO(blica_packer) *packer = NULL;
  BL_OWNED const char **names = NULL, **labels = NULL;
  BL_OWNED int *levels = NULL;
  int at = 0;
  MUST(bl_alloc(r->ctx, (size_t)r->n + 1, &names));
  MUST(bl_alloc(r->ctx, (size_t)r->n + 1, &levels));
  MUST(bl_alloc(r->ctx, ((size_t)r->n + 1) * BL_MOST_LEVELS, &labels));
  for (int i = 0; i < r->n; i++) {
    column *c = &r->columns[i];
    MUST(find_levels(r->ctx, c, ordinal));
    names[i] = c->name;
    levels[i] = c->levels ? c->levels : 2;
    for (int l = 0; l < levels[i] && !c->schema->dictionary; l++)
      labels[at++] = c->levels ? c->numbers[l] : l ? "1" : "0";
    for (int k = 0; k < c->texts.count; k++)
      if (c->level[k] >= 0) labels[at++] = c->texts.texts[k];
  }
  MUST(blica_pack_begin_items(r->ctx, r->n, names, levels, labels, &packer));
  for (int s = 0; s < (r->segments.count ? r->segments.count : 1); s++) {
    int32_t id;
    MUST(blica_pack_segment(r->ctx, packer, r->segments.count ? r->segments.texts[s] : "1", &id));
  }
  MUST(pack_chunks(r, packer));
  return blica_pack_end(r->ctx, bl_take(&packer), out);
}

static blica_status read_stream(reader *r, struct ArrowArrayStream *stream, const char *segment_column) {
  if (!stream->release || !stream->get_schema || !stream->get_next)
    return bl_fail(r->ctx, BLICA_ERR_ARGUMENT, "the Arrow stream was released before");
  int code = stream->get_schema(stream, &r->schema);
  if (code) return fail_stream(r, stream, code);
  MUST(read_schema(r, segment_column));
  for (;;) {
    struct ArrowArray chunk = {0};
    code = stream->get_next(stream, &chunk);
    if (code) return fail_stream(r, stream, code);
    if (!chunk.release) return BLICA_OK;
    const blica_status status = read_chunk(r, &chunk);
    chunk.release(&chunk);
    MUST(status);
    const blica_progress progress = {"read", -1, NAN, 0, 0};
    if (bl_poll(r->ctx, &progress)) return bl_fail(r->ctx, BLICA_ERR_INTERRUPTED, "reading was interrupted");
  }
}

blica_status blica_pack_arrow(blica_ctx *ctx, struct ArrowArrayStream *stream, const char *segment_column, int ordinal,
                              blica_data **out) {
  BL_NEED_OUT(ctx, out, stream);
  reader r = {.ctx = ctx};
  bl_poll_reset(ctx);
  blica_status status = read_stream(&r, stream, segment_column);
  if (status == BLICA_OK) status = pack(&r, ordinal != 0, out);
  for (int i = 0; i < r.n; i++) {
    bl_intern_clear(&r.columns[i].texts);
    bl_free(r.columns[i].code);
  }
  bl_free(r.columns);
  bl_free(r.segment);
  bl_intern_clear(&r.segments);
  if (r.schema.release) r.schema.release(&r.schema);
  if (stream->release) stream->release(stream);
  return status;
}
