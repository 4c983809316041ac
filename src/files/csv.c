/* csv.c - a reader and writer of quoted comma-separated text. */
#include "files/csv.h"

#include <limits.h>
#include <string.h>

#include "base/number.h"

static blica_status put(blica_ctx *ctx, bl_csv *csv, char c) {
  if (csv->length == csv->capacity) {
    size_t capacity = csv->capacity ? 2 * csv->capacity : 256;
    MUST(bl_resize(ctx, csv->length, capacity, &csv->text));
    csv->capacity = capacity;
  }
  csv->text[csv->length++] = c;
  return BLICA_OK;
}

/* A byte of the file. Text has no zero bytes; a field would end at one. */
static blica_status put_byte(blica_ctx *ctx, bl_csv *csv, int byte) {
  if (byte == 0)
    return bl_fail(ctx, BLICA_ERR_FORMAT, "%s, line %lld: is not text (it has a zero byte)", csv->path,
                   (long long)csv->line);
  return put(ctx, csv, (char)byte);
}

static blica_status begin_field(blica_ctx *ctx, bl_csv *csv) {
  if (csv->fields == csv->field_capacity) {
    if (csv->field_capacity > INT_MAX / 2)
      return bl_fail(ctx, BLICA_ERR_FORMAT, "%s, line %lld: has more than %d fields", csv->path, (long long)csv->line,
                     csv->field_capacity);
    int capacity = csv->field_capacity ? 2 * csv->field_capacity : 16;
    MUST(bl_resize(ctx, (size_t)csv->fields, (size_t)capacity, &csv->starts));
    csv->field_capacity = capacity;
  }
  csv->starts[csv->fields++] = csv->length;
  return BLICA_OK;
}

/* The rest of a quoted field, after its first quote. */
static blica_status read_quoted(blica_ctx *ctx, bl_csv *csv) {
  blica_status status;
  for (int c; (c = getc(csv->stream)) != EOF;) {
    if (c == '\n') csv->next_line++;
    if (c == '"') {
      c = getc(csv->stream);
      if (c != '"') {
        if (c != EOF) ungetc(c, csv->stream);
        return BLICA_OK;
      }
    }
    TRY(put_byte(ctx, csv, c));
  }
  status =
      bl_fail(ctx, BLICA_ERR_FORMAT, "%s, line %lld: a quoted field does not end", csv->path, (long long)csv->line);
done:
  return status;
}

/* The mark of byte order that some programs write before UTF-8. */
static void skip_mark(FILE *stream) {
  int c = getc(stream);
  if (c != 0xef) {
    ungetc(c, stream);
    return;
  }
  const int second = getc(stream), third = getc(stream);
  if (second != 0xbb || third != 0xbf) rewind(stream); /* no mark; the bytes will be seen not to be UTF-8 */
}

blica_status bl_csv_next(blica_ctx *ctx, bl_csv *csv, bool *more) {
  int c;
  *more = false;
  csv->length = 0;
  csv->fields = 0;
  if (csv->next_line == 0) {
    csv->next_line = 1;
    skip_mark(csv->stream);
  }
  while ((c = getc(csv->stream)) == '\n' || c == '\r') csv->next_line += c == '\n';
  if (c == EOF) return BLICA_OK;
  ungetc(c, csv->stream);
  csv->line = csv->next_line;
  MUST(begin_field(ctx, csv));
  for (bool end = false; !end;) {
    c = getc(csv->stream);
    end = c == EOF || c == '\n';
    if (c == '\n') csv->next_line++;
    if (c == '"' && csv->length == csv->starts[csv->fields - 1]) {
      MUST(read_quoted(ctx, csv));
    } else if (c == ',' || end) {
      MUST(put(ctx, csv, 0));
      if (!end) MUST(begin_field(ctx, csv));
    } else if (c != '\r') {
      MUST(put_byte(ctx, csv, c));
    }
  }
  *more = true;
  return BLICA_OK;
}

const char *bl_csv_field(const bl_csv *csv, int index) {
  return csv->text + csv->starts[index];
}

void bl_csv_clear(bl_csv *csv) {
  bl_free(csv->text);
  bl_free(csv->starts);
  memset(csv, 0, sizeof *csv);
}

void bl_csv_put_text(FILE *stream, const char *text) {
  bool plain =
      text[0] != 0 && text[0] != '#' && !strpbrk(text, ",\"\r\n") && text[0] != ' ' && text[strlen(text) - 1] != ' ';
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

void bl_csv_put_number(FILE *stream, double value) {
  char text[BL_NUMBER_TEXT];
  bl_number_text(value, text);
  fputs(text, stream);
}
