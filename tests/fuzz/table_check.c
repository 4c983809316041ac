/* table_check.c - see table_check.h. */
#include "table_check.h"

#include <stdio.h>
#include <string.h>

#include "table.h"

static void note(const char *text, void *user) {
  (void)user;
  CHECK(text[0]);
}

table_options table_check_options(fuzz_bytes *b, const char *labels) {
  uint8_t first = fuzz_byte(b), second = fuzz_byte(b);
  table_options o = {.ordinal = (first & 1) != 0, .header = (table_header)((first >> 1 & 3) % 3), .note = note};
  switch (second & 7) {
  case 1:
    o.segment_column = "last";
    break;
  case 2:
    o.segment_column = "1";
    break;
  case 3:
    o.segment_column = "segment";
    break;
  case 4:
    o.segment_length = 1 + (second >> 3);
    break;
  case 5:
    o.segment_count = 1 + (second >> 3);
    break;
  case 6:
    o.segment_file = labels;
    break;
  }
  return o;
}

/* ---- the packed form keeps its promises ---- */

static void check_segment(const blica_data *d, int s, int64_t *missing) {
  CHECK(d->samples[s] >= 1 && d->words[s] >= (d->samples[s] + 63) / 64);
  for (int i = 0; i < d->n; i++)
    for (int64_t w = 0; w < d->words[s]; w++) {
      int64_t rest = d->samples[s] - 64 * w;
      uint64_t inside = rest >= 64 ? ~UINT64_C(0) : rest <= 0 ? 0 : (UINT64_C(1) << rest) - 1;
      uint64_t ones = d->ones[s][i * d->words[s] + w];
      uint64_t present = d->present[s] ? d->present[s][i * d->words[s] + w] : inside;
      CHECK((ones & ~present) == 0 && (present & ~inside) == 0);
      *missing += __builtin_popcountll(inside & ~present);
    }
}

static void check_data(const blica_data *d) {
  int64_t rows = 0, missing = 0;
  CHECK(d->n >= 2 && d->u >= 1);
  for (int s = 0; s < d->u; s++) {
    CHECK(d->segments[s]);
    rows += d->samples[s];
    check_segment(d, s, &missing);
  }
  CHECK(rows == d->rows && missing == d->missing);
  for (int64_t r = 0; r < d->rows; r++) CHECK(d->row_segment[r] >= 0 && d->row_segment[r] < d->u);
}

bool table_same(const blica_data *a, const blica_data *b) {
  if (a->n != b->n || a->u != b->u || a->rows != b->rows || a->missing != b->missing) return false;
  if (!fuzz_same_text(a->variables, b->variables, a->n) || !fuzz_same_text(a->segments, b->segments, a->u))
    return false;
  if (memcmp(a->row_segment, b->row_segment, (size_t)a->rows * sizeof *a->row_segment) != 0) return false;
  for (int s = 0; s < a->u; s++) {
    size_t bytes = (size_t)a->words[s] * (size_t)a->n * sizeof(uint64_t);
    if (a->words[s] != b->words[s] || memcmp(a->ones[s], b->ones[s], bytes) != 0) return false;
    if (!a->present[s] != !b->present[s] || (a->present[s] && memcmp(a->present[s], b->present[s], bytes) != 0))
      return false;
  }
  return true;
}

/* ---- pieces ---- */

static void check_pieces(const char *path, const table_options *o, const blica_data *whole);

static void check_sums(const blica_counts *sum, const blica_counts *all) {
  CHECK(sum && sum->n == all->n && sum->u == all->u);
  CHECK(fuzz_same_text(sum->variables, all->variables, all->n) && fuzz_same_text(sum->segments, all->segments, all->u));
  CHECK(fuzz_same_numbers(sum->samples, all->samples, (size_t)all->u));
  CHECK(fuzz_same_numbers(sum->ones, all->ones, (size_t)all->n * (size_t)all->u));
  CHECK(fuzz_same_numbers(sum->n11, all->n11, (size_t)all->pairs * (size_t)all->u));
  CHECK(fuzz_same_numbers(sum->n00, all->n00, (size_t)all->pairs * (size_t)all->u));
}

/* The pieces of a file with a value that is neither 0 nor 1, where t stopped: the values of each column are a usual
 * pair, for the whole was read, and the levels are known before the first row when it is read again. */
static void check_recognised(const char *path, const table_options *o, const table *t, const blica_data *whole) {
  table_options again = *o;
  table *found;
  CHECK(t->odd && !o->found && table_recognise(fuzz_ctx(), path, o, t->header, &found));
  again.found = found;
  again.header = t->header ? TABLE_HEADER_YES : TABLE_HEADER_NO;
  check_pieces(path, &again, whole);
  table_close(found);
}

static void check_pieces(const char *path, const table_options *o, const blica_data *whole) {
  blica_ctx *ctx = fuzz_ctx();
  char message[TABLE_MESSAGE] = "";
  table *t;
  bool recognised = false;
  blica_counts *all = NULL, *sum = NULL;
  CHECK(blica_count(ctx, whole, &all) == BLICA_OK);
  CHECK(table_open(ctx, path, o, message, &t) == BLICA_OK);
  for (;;) {
    blica_data *piece;
    blica_counts *part, *both;
    if (table_next(t, 3, &piece) != BLICA_OK) {
      check_recognised(path, o, t, whole);
      recognised = true;
      break;
    }
    if (!piece) break;
    check_data(piece);
    CHECK(blica_count(ctx, piece, &part) == BLICA_OK);
    blica_data_free(piece);
    if (sum) {
      CHECK(blica_merge(ctx, 2, (const blica_counts *[]){sum, part}, &both) == BLICA_OK);
      blica_counts_free(sum);
      blica_counts_free(part);
      sum = both;
    } else {
      sum = part;
    }
  }
  table_close(t);
  if (!recognised) check_sums(sum, all);
  blica_counts_free(all);
  blica_counts_free(sum);
}

/* ---- quoted ---- */

static void put_quoted(FILE *f, const char *text) {
  putc('"', f);
  for (; *text; text++) {
    if (*text == '"') putc('"', f);
    putc(*text, f);
  }
  putc('"', f);
}

/* Rows in the order of the input: of each segment, row by row. */
static void write_rows(FILE *f, const blica_data *d) {
  int64_t seen[256] = {0};
  for (int64_t r = 0; r < d->rows; r++) {
    int s = d->row_segment[r];
    int64_t at = seen[s]++;
    for (int i = 0; i < d->n; i++) {
      int64_t word = i * d->words[s] + at / 64;
      bool here = !d->present[s] || (d->present[s][word] >> at % 64 & 1);
      fprintf(f, "\"%s\",", here ? d->ones[s][word] >> at % 64 & 1 ? "1" : "0" : "");
    }
    put_quoted(f, d->segments[s]);
    putc('\n', f);
  }
}

static void check_quoted(const blica_data *d) {
  static const char column[] = "\001segment";
  char message[TABLE_MESSAGE] = "";
  blica_data *again;
  if (d->u > 256 || !d->variables[0][0]) return; /* a first column without a name is one of row names */
  for (int i = 0; i < d->n; i++)
    if (strcmp(d->variables[i], column) == 0) return;
  const char *path = fuzz_path("quoted.csv");
  FILE *f = fopen(path, "wb");
  CHECK(f);
  for (int i = 0; i < d->n; i++) {
    put_quoted(f, d->variables[i]);
    putc(',', f);
  }
  put_quoted(f, column);
  putc('\n', f);
  write_rows(f, d);
  CHECK(fclose(f) == 0);
  table_options o = {.segment_column = column, .header = TABLE_HEADER_YES};
  CHECK(table_read(fuzz_ctx(), path, &o, message, &again) == BLICA_OK);
  CHECK(table_same(d, again));
  blica_data_free(again);
}

blica_data *table_check(const char *path, const table_options *options) {
  char message[TABLE_MESSAGE] = "";
  blica_data *data;
  blica_status status = table_read(fuzz_ctx(), path, options, message, &data);
  if (status != BLICA_OK) {
    CHECK(data == NULL && message[0]);
    const bool by_readstat = table_is_readstat(path) && (status == BLICA_ERR_IO || status == BLICA_ERR_MEMORY);
    CHECK(status == BLICA_ERR_DATA || status == BLICA_ERR_FORMAT || status == BLICA_ERR_ARGUMENT || by_readstat);
    return NULL;
  }
  check_data(data);
  check_pieces(path, options, data);
  check_quoted(data);
  return data;
}
