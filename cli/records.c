/* records.c - lines into fields, in place; quoted fields (RFC 4180) may hold separators, newlines and doubled quotes.
 */
#include "records.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void records_close(records *r) {
  byte_source_close(r->source);
  free(r->buffer);
  free(r->fields);
  memset(r, 0, sizeof *r);
}

void records_restart(records *r) {
  r->at = r->have = 0;
  r->ended = false;
}

/* Text has no zero bytes; names and labels would end at one. */
static blica_status check_text(const records *r, const char *text, size_t length, char *message) {
  if (!length || !memchr(text, 0, length)) return BLICA_OK;
  snprintf(message, SOURCE_MESSAGE, "%s, line %lld: is not text (it has zero bytes)", byte_source_name(r->source),
           (long long)r->line);
  return BLICA_ERR_FORMAT;
}

static blica_status no_memory(char *message) {
  snprintf(message, SOURCE_MESSAGE, "out of memory");
  return BLICA_ERR_MEMORY;
}

blica_status records_more(records *r, char *message) {
  if (r->buffer && r->at > 0) {
    memmove(r->buffer, r->buffer + r->at, r->have - r->at);
    r->have -= r->at;
    r->dropped += (int64_t)r->at;
    r->at = 0;
  }
  if (r->have == r->capacity) {
    if (r->capacity >= RECORDS_LONGEST) {
      snprintf(message, SOURCE_MESSAGE, "%s, line %lld: is longer than %d MiB; is this a table?",
               byte_source_name(r->source), (long long)(r->line ? r->line : 1), RECORDS_LONGEST >> 20);
      return BLICA_ERR_FORMAT;
    }
    size_t capacity = r->capacity ? 2 * r->capacity : RECORDS_CAPACITY;
    char *buffer = realloc(r->buffer, capacity);
    if (!buffer) return no_memory(message);
    r->buffer = buffer;
    r->capacity = capacity;
  }
  size_t got;
  blica_status status = byte_source_read(r->source, r->buffer + r->have, r->capacity - r->have, message, &got);
  r->have += got;
  r->ended = got == 0;
  return status;
}

/* The line at offset `from` past `at`; complete once this returns. */
static blica_status line_at(records *r, size_t from, char *message, size_t *length) {
  MUST(r->buffer ? BLICA_OK : records_more(r, message));
  for (size_t seen = from;;) {
    const char *begin = r->buffer + r->at;
    const char *end = r->buffer && r->have > r->at + seen ? memchr(begin + seen, '\n', r->have - r->at - seen) : NULL;
    if (end || r->ended) {
      *length = (end ? (size_t)(end - begin) : r->have - r->at) - from;
      return BLICA_OK;
    }
    seen = r->have - r->at;
    MUST(records_more(r, message));
  }
}

static bool only_blanks(const char *text, size_t length) {
  for (size_t k = 0; k < length; k++)
    if (text[k] != ' ' && text[k] != '\t' && text[k] != '\r') return false;
  return true;
}

blica_status records_peek(records *r, char *message, bool *more, size_t *length) {
  *more = false;
  for (;;) {
    MUST(line_at(r, 0, message, length));
    if (r->line == 0) {
      r->line = 1;
      if (*length >= 3 && memcmp(r->buffer + r->at, "\xef\xbb\xbf", 3) == 0) {
        r->at += 3;
        *length -= 3;
      }
    }
    if (r->at + *length >= r->have && *length == 0) return BLICA_OK;
    bool tabs = r->separator == '\t'; /* then a line of tabs is a row of missing values */
    if (!only_blanks(r->buffer + r->at, *length) || (tabs && memchr(r->buffer + r->at, '\t', *length))) break;
    r->at += *length + (r->at + *length < r->have);
    r->line++;
  }
  *more = true;
  return BLICA_OK;
}

void records_guess_separator(records *r, size_t length) {
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

static blica_status add_field(records *r, const char *text, size_t length, char *message) {
  if (r->field_count == r->field_capacity) {
    if (r->field_capacity > INT_MAX / 2) return no_memory(message);
    int capacity = r->field_capacity ? 2 * r->field_capacity : 64;
    field *fields = realloc(r->fields, (size_t)capacity * sizeof *fields);
    if (!fields) return no_memory(message);
    r->fields = fields;
    r->field_capacity = capacity;
  }
  while (length && (*text == ' ' || *text == '\t')) text++, length--;
  while (length && (text[length - 1] == ' ' || text[length - 1] == '\t' || text[length - 1] == '\r')) length--;
  r->fields[r->field_count++] = (field){text, length};
  return BLICA_OK;
}

static blica_status split_plain(records *r, const char *line, size_t length, char *message) {
  const char *at = line, *end = line + length;
  while (end > at && end[-1] == '\r') end--;
  if (r->separator == ' ') {
    for (;;) {
      while (at < end && (*at == ' ' || *at == '\t')) at++;
      if (at == end) return BLICA_OK;
      const char *start = at;
      while (at < end && *at != ' ' && *at != '\t') at++;
      blica_status status = add_field(r, start, (size_t)(at - start), message);
      if (status != BLICA_OK) return status;
    }
  }
  for (;;) {
    const char *stop = memchr(at, r->separator, (size_t)(end - at));
    blica_status status = add_field(r, at, (size_t)((stop ? stop : end) - at), message);
    if (status != BLICA_OK || !stop) return status;
    at = stop + 1;
  }
}

/* ---- quoted records ---- */

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

/* The quoted field that begins after the quote at *at; doubled quotes become one, in place. *at moves past its end.
 * NULL when it has none. */
static const char *unquote(char **at, char *end, size_t *length) {
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

/* Splits the text of a whole record; *wrong says what is wrong with its quotes, or is NULL. */
static blica_status split_fields(records *r, char *at, char *end, char *message, const char **wrong) {
  const bool blanks = r->separator == ' ';
  while (end > at && is_blank(end[-1]) && end[-1] != r->separator) end--;
  for (bool more = true; more;) {
    while (at < end && is_blank(*at) && (blanks || *at != r->separator)) at++;
    if (blanks && at == end) return BLICA_OK;
    *wrong = "an unquoted field contains a quote";
    if (at < end && *at == '"') {
      field quoted;
      quoted.text = unquote(&at, end, &quoted.length);
      while (at < end && is_blank(*at) && *at != r->separator) at++;
      if (!quoted.text) *wrong = "a quoted field does not end";
      if (!quoted.text || !(at == end || *at == r->separator)) return BLICA_OK;
      MUST(add_field(r, NULL, 0, message));
      r->fields[r->field_count - 1] = quoted; /* with the blanks that it has */
    } else {
      char *start = at;
      while (at < end && (blanks ? !is_blank(*at) : *at != r->separator)) at++;
      if (memchr(start, '"', (size_t)(at - start))) return BLICA_OK;
      MUST(add_field(r, start, (size_t)(at - start), message));
    }
    *wrong = NULL;
    more = at < end;
    at += more;
  }
  return BLICA_OK;
}

/* A record with quotes goes on over the ends of lines until all its quotes are closed. */
static blica_status split_quoted(records *r, size_t length, char *message) {
  size_t quotes = 0, used = 0;
  const char *wrong = NULL;
  for (;;) {
    const char *line = r->buffer + r->at + used;
    MUST(check_text(r, line, length, message));
    for (size_t k = 0; k < length; k++) quotes += line[k] == '"';
    used += length;
    r->line++;
    if (quotes % 2 == 0 || r->at + used >= r->have) break;
    MUST(line_at(r, ++used, message, &length));
  }
  char *record = r->buffer + r->at;
  r->at += used + (r->at + used < r->have);
  MUST(split_fields(r, record, record + used, message, &wrong));
  if (!wrong) return BLICA_OK;
  snprintf(message, SOURCE_MESSAGE, "%s, line %lld: %s", byte_source_name(r->source), (long long)r->record_line, wrong);
  return BLICA_ERR_FORMAT;
}

blica_status records_split(records *r, size_t length, char *message) {
  r->field_count = 0;
  r->record_line = r->line;
  r->record_byte = r->dropped + (int64_t)r->at;
  const char *line = r->buffer + r->at;
  if (memchr(line, '"', length)) {
    r->quotes = true;
    return split_quoted(r, length, message);
  }
  blica_status status = check_text(r, line, length, message);
  if (status == BLICA_OK) status = split_plain(r, line, length, message);
  r->at += length + (r->at + length < r->have);
  r->line++;
  return status;
}
