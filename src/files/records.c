/* records.c - lines into fields, in place; quoted fields (RFC 4180) may hold separators, newlines and doubled quotes.
 */
#include "files/records.h"

#include <limits.h>
#include <string.h>

#include "base/base.h"
#include "base/number.h"

void bl_records_clear(bl_records *r) {
  if (r->buffer) r->resize(r->buffer, 0, r->resize_user);
  if (r->fields) r->resize(r->fields, 0, r->resize_user);
  memset(r, 0, sizeof *r);
}

static blica_status no_memory(char *message) {
  snprintf(message, BL_RECORDS_MESSAGE, "out of memory");
  return BLICA_ERR_MEMORY;
}

blica_status bl_records_more(bl_records *r, char *message) {
  if (r->buffer && r->at > 0) {
    memmove(r->buffer, r->buffer + r->at, r->have - r->at);
    r->have -= r->at;
    r->dropped += (int64_t)r->at;
    r->at = 0;
  }
  if (r->have == r->capacity) {
    if (r->capacity >= BL_RECORDS_LONGEST) {
      snprintf(message, BL_RECORDS_MESSAGE, "%s, line %lld: is longer than %d MiB; is this a table?", r->name,
               (long long)(r->line ? r->line : 1), BL_RECORDS_LONGEST >> 20);
      return BLICA_ERR_FORMAT;
    }
    size_t capacity = r->capacity ? 2 * r->capacity : BL_RECORDS_CAPACITY;
    char *buffer = r->resize(r->buffer, capacity + 1, r->resize_user);
    if (!buffer) return no_memory(message);
    r->buffer = buffer;
    r->capacity = capacity;
  }
  size_t got;
  blica_status status = r->read(r->source, r->buffer + r->have, r->capacity - r->have, message, &got);
  r->have += got;
  r->ended = got == 0;
  return status;
}

/* The line at offset `from` past `at`; complete once this returns. */
static blica_status line_at(bl_records *r, size_t from, char *message, size_t *length) {
  MUST(r->buffer ? BLICA_OK : bl_records_more(r, message));
  for (size_t seen = from;;) {
    const char *begin = r->buffer + r->at;
    const char *end = r->have > r->at + seen ? memchr(begin + seen, '\n', r->have - r->at - seen) : NULL;
    if (end || r->ended) {
      *length = (end ? (size_t)(end - begin) : r->have - r->at) - from;
      return BLICA_OK;
    }
    seen = r->have - r->at;
    MUST(bl_records_more(r, message));
  }
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

blica_status bl_records_peek(bl_records *r, char *message, bool *more, size_t *length) {
  *more = false;
  for (;;) {
    MUST(line_at(r, 0, message, length));
    const bool marked = r->line == 0 && *length >= 3 && memcmp(r->buffer + r->at, "\xef\xbb\xbf", 3) == 0;
    if (marked) r->at += 3, *length -= 3;
    if (r->line == 0) r->line = 1;
    const char *line = r->buffer + r->at;
    size_t blanks = 0; /* where tabs separate, a line of them is a row of missing values */
    while (blanks < *length && is_blank(line[blanks]) && (line[blanks] != '\t' || r->separator != '\t')) blanks++;
    *more = blanks < *length;
    if (*more || r->at + *length >= r->have) return BLICA_OK;
    r->at += *length + 1;
    r->line++;
  }
}

void bl_records_guess_separator(bl_records *r, size_t length) {
  static const char candidates[] = ",\t;";
  size_t best = 0;
  r->separator = ' ';
  for (const char *c = candidates; *c; c++) {
    size_t count = 0;
    bool inside = false;
    for (size_t k = 0; k < length; k++) {
      char x = r->buffer[r->at + k];
      if (x == '"') inside = !inside;
      count += x == *c && !inside;
    }
    if (count > best) best = count, r->separator = *c;
  }
}

static blica_status add_field(bl_records *r, const char *text, size_t length, char *message) {
  if (r->field_count == r->field_capacity) {
    if (r->field_capacity > INT_MAX / 2) return no_memory(message);
    int capacity = r->field_capacity ? 2 * r->field_capacity : 64;
    bl_record_field *fields = r->resize(r->fields, (size_t)capacity * sizeof *fields, r->resize_user);
    if (!fields) return no_memory(message);
    r->fields = fields;
    r->field_capacity = capacity;
  }
  r->fields[r->field_count++] = (bl_record_field){text, length};
  return BLICA_OK;
}

/* The quoted field that begins after the quote at *at; doubled quotes become one, in place. *at moves past its end.
 * NULL when it has none. */
static char *unquote(char **at, char *end, size_t *length) {
  char *from = *at + 1, *begin = from, *to = from;
  for (; from < end; from++) {
    if (*from == '"' && !(from + 1 < end && from[1] == '"')) {
      *at = from + 1;
      *length = (size_t)(to - begin);
      return begin;
    }
    from += *from == '"';
    *to++ = *from;
  }
  return NULL;
}

/* Splits the text of a whole record; *wrong says what is wrong with its quotes, or is NULL. A zero byte takes the place
 * of what follows each field, or comes behind the text. */
static blica_status split_fields(bl_records *r, char *at, char *end, bool quotes, char *message, const char **wrong) {
  const char separator = r->separator;
  const bool blanks = separator == ' ';
  while (end > at && is_blank(end[-1]) && end[-1] != separator) end--;
  for (bool more = true; more;) {
    while (at < end && is_blank(*at) && (blanks || *at != separator)) at++;
    if (blanks && at == end) return BLICA_OK;
    char *text = at;
    size_t length = 0;
    if (at < end && *at == '"') {
      text = unquote(&at, end, &length);
      if (!text) return *wrong = "a quoted field does not end", BLICA_OK;
      while (at < end && is_blank(*at) && *at != separator) at++;
      if (at < end && *at != separator) return *wrong = "an unquoted field contains a quote", BLICA_OK;
    } else {
      char *stop = blanks ? NULL : memchr(at, separator, at < end ? (size_t)(end - at) : 0);
      while (blanks && at < end && !is_blank(*at)) at++;
      if (!blanks) at = stop ? stop : end;
      length = (size_t)(at - text);
      if (quotes && memchr(text, '"', length)) return *wrong = "an unquoted field contains a quote", BLICA_OK;
      while (length && is_blank(text[length - 1])) length--;
    }
    MUST(add_field(r, text, length, message));
    more = at < end;
    text[length] = 0;
    at += more;
  }
  return BLICA_OK;
}

blica_status bl_records_split(bl_records *r, size_t length, char *message) {
  size_t quotes = 0, used = 0;
  const char *wrong = NULL;
  r->field_count = 0;
  r->record_line = r->line;
  r->record_byte = r->dropped + (int64_t)r->at;
  for (;;) { /* a record with quotes goes on over the ends of lines until all its quotes are closed */
    const char *line = r->buffer + r->at + used;
    if (memchr(line, 0, length)) { /* names and labels would end there */
      snprintf(message, BL_RECORDS_MESSAGE, "%s, line %lld: is not text (it has zero bytes)", r->name,
               (long long)r->line);
      return BLICA_ERR_FORMAT;
    }
    for (size_t k = 0; k < length; k++) quotes += line[k] == '"';
    used += length;
    r->line++;
    if (quotes % 2 == 0 || r->at + used >= r->have) break;
    MUST(line_at(r, ++used, message, &length));
  }
  r->quotes |= quotes > 0;
  char *record = r->buffer + r->at;
  r->at += used + (r->at + used < r->have);
  MUST(split_fields(r, record, record + used, quotes > 0, message, &wrong));
  if (!wrong) return BLICA_OK;
  snprintf(message, BL_RECORDS_MESSAGE, "%s, line %lld: %s", r->name, (long long)r->record_line, wrong);
  return BLICA_ERR_FORMAT;
}

/* ---- writing ---- */

void bl_put_field(FILE *stream, const char *text) {
  const bool plain = text[0] != 0 && text[0] != '#' && !strpbrk(text, ",\"\r\n") && !is_blank(text[0]) &&
                     !is_blank(text[strlen(text) - 1]);
  if (plain) {
    fputs(text, stream);
    return;
  }
  putc('"', stream);
  for (; *text; text++) {
    if (*text == '"') putc('"', stream);
    putc(*text, stream);
  }
  putc('"', stream);
}

void bl_put_number(FILE *stream, double value) {
  char text[BL_NUMBER_TEXT];
  bl_number_text(value, text);
  fputs(text, stream);
}
