/* records.c - lines into fields. Plain lines are split in place; a record with quotes goes through
 * libcsv, line by line until it is complete, so that quoted fields may hold separators and newlines. */
#include "records.h"

#include <csv.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void records_close(records *r) {
  byte_source_close(r->source);
  free(r->buffer);
  free(r->fields);
  free(r->quoted);
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

typedef struct {
  records *r;
  size_t used; /* bytes of r->quoted */
  bool complete, no_memory;
} collector;

/* Offsets stand in for pointers until the record is complete: r->quoted may move. */
static void on_field(void *text, size_t length, void *user) {
  collector *c = user;
  records *r = c->r;
  char message[SOURCE_MESSAGE];
  if (!r->quoted || c->used + length > r->quoted_capacity) {
    size_t capacity = 2 * (c->used + length) + 256;
    char *quoted = realloc(r->quoted, capacity);
    if (!quoted) {
      c->no_memory = true;
      return;
    }
    r->quoted = quoted;
    r->quoted_capacity = capacity;
  }
  if (length) memcpy(r->quoted + c->used, text, length);
  if (add_field(r, NULL, 0, message) != BLICA_OK)
    c->no_memory = true;
  else
    r->fields[r->field_count - 1].length = length;
  c->used += length;
}

static void on_record(int end, void *user) {
  (void)end;
  ((collector *)user)->complete = true;
}

/* Runs of blanks outside quotes become one, so that libcsv sees one separator. In place; the new length. */
static size_t squeeze(char *line, size_t length) {
  size_t to = 0;
  bool inside = false;
  for (size_t k = 0; k < length; k++) {
    char c = line[k];
    if (c == '"') inside = !inside;
    bool blank = !inside && (c == ' ' || c == '\t' || c == '\r');
    if (blank && (to == 0 || line[to - 1] == ' ')) continue;
    line[to++] = blank ? ' ' : c;
  }
  while (to && line[to - 1] == ' ') to--;
  return to;
}

static blica_status split_quoted(records *r, size_t length, char *message) {
  collector c = {.r = r};
  struct csv_parser parser;
  blica_status status = BLICA_OK;
  size_t used = 0;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) return no_memory(message);
  csv_set_delim(&parser, (unsigned char)r->separator);
  bool bad = false;
  for (;;) {
    char *line = r->buffer + r->at + used;
    status = check_text(r, line, length, message);
    if (status != BLICA_OK) break;
    size_t text = r->separator == ' ' ? squeeze(line, length) : length;
    bad = csv_parse(&parser, line, text, on_field, on_record, &c) != text ||
          csv_parse(&parser, "\n", 1, on_field, on_record, &c) != 1;
    used += length;
    bool last = r->at + used >= r->have;
    if (!last) used++;
    r->line++;
    if (bad || c.complete || c.no_memory || last) break;
    status = line_at(r, used, message, &length);
    if (status != BLICA_OK) break;
  }
  csv_free(&parser);
  r->at += used;
  if (status != BLICA_OK) return status;
  if (c.no_memory) return no_memory(message);
  if (bad || !c.complete) {
    snprintf(message, SOURCE_MESSAGE, "%s, line %lld: %s", byte_source_name(r->source), (long long)r->record_line,
             bad ? "a quote stands inside an unquoted field" : "a quoted field does not end");
    return BLICA_ERR_FORMAT;
  }
  size_t at = 0;
  for (int k = 0; k < r->field_count; at += r->fields[k++].length) r->fields[k].text = r->quoted + at;
  return BLICA_OK;
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
