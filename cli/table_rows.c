/* table_rows.c - rows of text into the packer. A line of single 0/1 characters is read without
 * splitting; any other line goes through bl_records_split. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "messages.h"
#include "table.h"

enum { CHUNK_BYTES = 1 << 16 };

blica_status table_begin_rows(table *t) {
  t->capacity = t->n < CHUNK_BYTES ? CHUNK_BYTES / (t->n ? t->n : 1) : 1;
  t->x = malloc((size_t)t->capacity * (size_t)(t->n ? t->n : 1));
  t->segment = malloc((size_t)t->capacity * sizeof *t->segment);
  if (!t->x || !t->segment) return table_no_memory(t);
  blica_status status = table_begin_known(t);
  if (status != BLICA_OK || !t->options.segment_file) return status;
  return records_open(t->options.segment_file, t->message, &t->labels);
}

blica_status table_flush(table *t) {
  if (t->filled == 0) return BLICA_OK;
  if (interrupted()) return table_fail(t, BLICA_ERR_INTERRUPTED, "reading was interrupted");
  blica_status status = blica_pack_rows(t->ctx, t->packer, t->filled, t->x, t->segment);
  t->filled = 0;
  return status == BLICA_OK ? BLICA_OK : table_library_failed(t, status);
}

/* ---- segments ---- */

/* The id of a label; rows of one segment usually follow each other. */
static blica_status label_id(table *t, const char *label, size_t length, int32_t *id) {
  if (t->options.blank_segments && table_is_missing(label, length)) length = 0;
  if (t->last_id >= 0 && length == t->last_length && (length == 0 || memcmp(label, t->last_label, length) == 0)) {
    *id = t->last_id;
    return BLICA_OK;
  }
  if (table_is_missing(label, length) && !t->options.blank_segments)
    return table_fail_row(t, BLICA_ERR_DATA, " has no segment; drop such rows or give them a segment of their own");
  if (length && memchr(label, 0, length))
    return table_fail_row(t, BLICA_ERR_FORMAT, ": its segment is not text (it has zero bytes)");
  if (length + 1 > t->last_capacity) {
    char *text = realloc(t->last_label, 2 * length + 64);
    if (!text) return table_no_memory(t);
    t->last_label = text;
    t->last_capacity = 2 * length + 64;
  }
  if (length) memcpy(t->last_label, label, length);
  t->last_label[length] = 0;
  t->last_length = length;
  blica_status status = blica_pack_segment(t->ctx, t->packer, t->last_label, &t->last_id);
  *id = t->last_id;
  return status == BLICA_OK ? BLICA_OK : table_library_failed(t, status);
}

/* Whether the first columns of a line are those of the header. */
static bool begins(const char *line, size_t length, const char *header) {
  const size_t size = strlen(header);
  while (length && strchr("\r ", line[length - 1])) length--;
  return length >= size && memcmp(line, header, size) == 0 && (length == size || line[size] == ',');
}

/* The first line of a file of labels that is a table, as blica segment writes it: its first column is read. */
static bool is_label_header(table *t, const char *line, size_t length) {
  t->labels_found = begins(line, length, "found_segment");
  t->labels_split = begins(line, length, "segment,held_out");
  return t->labels_found || begins(line, length, "segment");
}

static blica_status next_label(table *t, bool *more, size_t *length) {
  blica_status status = bl_records_peek(&t->labels, t->message, more, length);
  if (status != BLICA_OK || !*more || t->row > 0 || t->label_table) return status;
  t->label_table = is_label_header(t, t->labels.buffer + t->labels.at, *length);
  if (!t->label_table) return status;
  t->labels.at += *length + (t->labels.at + *length < t->labels.have);
  return bl_records_peek(&t->labels, t->message, more, length);
}

/* *used is false for a row that is left out: the states were found in it, and others were held out to be assessed. */
static blica_status label_from_file(table *t, const char **label, size_t *length, bool *used) {
  bool more;
  MUST(next_label(t, &more, length));
  if (!more)
    return table_say(t->message, BLICA_ERR_DATA,
                     "%s: has %lld labels, but %s has more rows; one label per row is needed", t->options.segment_file,
                     (long long)t->row, t->name);
  *label = t->labels.buffer + t->labels.at;
  t->labels.at += *length + (t->labels.at + *length < t->labels.have);
  const char *comma = t->label_table ? memchr(*label, ',', *length) : NULL;
  const size_t whole = *length;
  if (comma) *length = (size_t)(comma - *label);
  *used = !t->labels_split || t->options.blank_segments || (comma && *length + 1 < whole && comma[1] == '1');
  while (*length && strchr(" \t\r\"", (*label)[*length - 1])) --*length;
  while (*length && strchr(" \t\"", **label)) ++*label, --*length;
  return BLICA_OK;
}

/* Adds the row in the buffer to segment id `copies` times. */
static blica_status add_copies(table *t, int32_t id, int64_t copies) {
  const int8_t *row = t->x + t->filled * t->n;
  for (int64_t c = 0; c < copies; c++) {
    if (c > 0) memmove(t->x + t->filled * t->n, row, (size_t)t->n);
    t->segment[t->filled] = id;
    if (++t->filled == t->capacity) MUST(table_flush(t));
  }
  return BLICA_OK;
}

blica_status table_finish_row(table *t, const bl_record_field *carried) {
  char number[32];
  const char *label = carried[ROLE_SEGMENT].text;
  size_t length = carried[ROLE_SEGMENT].length;
  int64_t copies = 1;
  int32_t id = -1;
  const table_options *o = &t->options;
  bool used = true;
  if (o->segment_file) {
    MUST(label_from_file(t, &label, &length, &used));
  } else if (o->unlabelled) {
    label = "1", length = 1;
  } else if (o->segment_length || o->segment_count) {
    int64_t run =
        o->segment_length ? t->row / o->segment_length : (int64_t)((__int128)t->row * o->segment_count / t->total);
    length = (size_t)snprintf(number, sizeof number, "%lld", (long long)run + 1);
    label = number;
  }
  if (!used) {
    t->row++, t->left_out++;
    return BLICA_OK;
  }
  if (t->attributes) MUST(table_take_attributes(t, carried, &copies));
  if (copies > 0) MUST(label_id(t, label, length, &id));
  t->row++;
  return copies > 0 ? add_copies(t, id, copies) : BLICA_OK;
}

/* ---- rows ---- */

/* k values of one character with the separator between them; false when they are anything else. Sixteen at a time where
 * there is SSE2: XOR with "0,0,0,..." leaves 0 or 1 in every second byte, or something is wrong. */
static bool plain_values(const char *p, int k, char separator, int8_t *x) {
  unsigned wrong = 0;
  int i = 0;
#ifdef __SSE2__
  const __m128i pattern = _mm_set1_epi16((short)(separator << 8 | '0')), values = _mm_set1_epi16(0xff);
  __m128i all = _mm_setzero_si128();
  for (; i + 16 < k; i += 16) {
    __m128i low = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(p + 2 * i)), pattern);
    __m128i high = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(p + 2 * i + 16)), pattern);
    all = _mm_or_si128(all, _mm_or_si128(low, high));
    _mm_storeu_si128((__m128i *)(x + i), _mm_packus_epi16(_mm_and_si128(low, values), _mm_and_si128(high, values)));
  }
  all = _mm_andnot_si128(_mm_set1_epi16(1), all);
  wrong = _mm_movemask_epi8(_mm_cmpeq_epi8(all, _mm_setzero_si128())) != 0xffff;
#endif
  for (; i < k; i++) {
    unsigned char value = (unsigned char)(p[2 * i] - '0');
    x[i] = (int8_t)value;
    wrong |= value > 1;
    if (i < k - 1) wrong |= p[2 * i + 1] != separator;
  }
  return !wrong;
}

static bool plain_line(const table *t, const char *p, size_t length, int8_t *x, bl_record_field *carried) {
  char separator = t->text.separator;
  const char *end = p + length;
  while (end > p && end[-1] == '\r') end--;
  for (int r = 0; r < t->run_count; r++) {
    const column_run *run = &t->runs[r];
    if (r > 0) {
      if (p >= end || *p != separator) return false;
      p++;
    }
    if (run->role == ROLE_VALUE) {
      if (end - p < 2 * (ptrdiff_t)run->count - 1 || !plain_values(p, run->count, separator, x)) return false;
      x += run->count;
      p += 2 * run->count - 1;
      continue;
    }
    const char *stop = memchr(p, separator, (size_t)(end - p));
    if (!stop) stop = end;
    if (memchr(p, '"', (size_t)(stop - p)) || (separator == ' ' && (stop == p || memchr(p, '\t', (size_t)(stop - p)))))
      return false;
    const char *last = stop;
    while (last > p && (last[-1] == ' ' || last[-1] == '\t')) last--;
    const char *first = p;
    while (first < last && (*first == ' ' || *first == '\t')) first++;
    carried[run->role] = (bl_record_field){first, (size_t)(last - first)};
    p = stop;
  }
  return p == end;
}

blica_status table_bad_value(const table *t, int variable, const char *text, size_t length) {
  char buffer[32];
  int column = t->column_of[variable];
  char line[40] = "";
  if (!t->npy) snprintf(line, sizeof line, " (line %lld)", (long long)t->text.record_line);
  return table_fail_row(t, BLICA_ERR_DATA,
                        "%s, column %d (%s): value '%.*s' is not 0 or 1 (missing: empty, NA, N/A, NaN or NULL); use "
                        "--ordinal or --levels if items have other levels, or name the column with --segment-column if "
                        "it is the segment, with --id or --ignore if it is no item",
                        line, column + 1, table_column_name(t, column, buffer), (int)(length < 40 ? length : 40), text);
}

/* The record in text.fields. */
static blica_status split_row(table *t) {
  const bl_record_field *f = t->text.fields;
  if (t->text.field_count != t->columns)
    return table_fail_row(t, BLICA_ERR_DATA, " (line %lld): %d fields, %d are expected", (long long)t->text.record_line,
                          t->text.field_count, t->columns);
  int8_t *x = t->x + t->filled * t->n;
  bl_record_field carried[ROLES] = {{"", 0}};
  for (int k = 0, i = 0; k < t->columns; k++) {
    if (table_take_replicate(t, k, f[k].text, f[k].length)) continue;
    carried[t->role[k]] = f[k];
    if (t->role[k] != ROLE_VALUE) continue;
    if (t->levels) {
      MUST(table_level(t, i, f[k].text, f[k].length, &x[i]));
    } else {
      int value = table_listed_missing(t, f[k].text, f[k].length) ? BLICA_MISSING : table_value(f[k].text, f[k].length);
      t->odd |= value == NOT_A_VALUE;
      if (value == NOT_A_VALUE) return table_bad_value(t, i, f[k].text, f[k].length);
      x[i] = (int8_t)value;
    }
    i++;
  }
  return table_finish_row(t, carried);
}

static blica_status check_labels_used(table *t) {
  bool more = false;
  size_t length;
  if (!t->options.segment_file) return BLICA_OK;
  blica_status status = bl_records_peek(&t->labels, t->message, &more, &length);
  if (status == BLICA_OK && more)
    return table_say(t->message, BLICA_ERR_DATA,
                     "%s: has more labels than %s has rows (%lld); one label per row is needed",
                     t->options.segment_file, t->name, (long long)t->row);
  if (t->left_out) table_note(t, "%lld rows in which the segments were found are left out", (long long)t->left_out);
  return status;
}

blica_status table_read_rows(table *t, int64_t max_rows) {
  int64_t stop = t->row + max_rows;
  if (t->npy) {
    MUST(table_read_npy(t, max_rows));
  } else if (t->survey) {
    MUST(table_read_readstat(t));
  } else if (t->pending) {
    t->pending = false;
    MUST(split_row(t));
  }
  while (!t->ended && t->row < stop && !t->npy) {
    size_t length;
    bool more;
    bl_record_field carried[ROLES] = {{"", 0}};
    MUST(bl_records_peek(&t->text, t->message, &more, &length));
    t->ended = !more;
    if (!more) break;
    if (!t->levels && !t->options.missing && !t->replicates &&
        plain_line(t, t->text.buffer + t->text.at, length, t->x + t->filled * t->n, carried)) {
      t->text.at += length + (t->text.at + length < t->text.have);
      t->text.line++;
      MUST(table_finish_row(t, carried));
    } else {
      MUST(bl_records_split(&t->text, length, t->message));
      MUST(split_row(t));
    }
  }
  MUST(table_flush(t));
  return t->ended ? check_labels_used(t) : BLICA_OK;
}
