/* fuzz_report.c - the page about any model that loads: names from outside never become markup. Every tag and attribute
 * of the page must be one of those that the report writes, and data inside scripts must hold no `<`. An even first byte
 * adds the model's own exact counts as data. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "report.h"

static const char tags[] = " a b body caption circle code dd details div dl dt em figcaption figure footer g h1 h2 h3 "
                           "head header html i li main meta nav "
                           "ol p path pre rect script section small span strong style sub sup summary svg table tbody "
                           "td text th thead title tr tspan ul ";
static const char attributes[] =
    " aria-hidden aria-label charset class colspan content cx cy d data-v data-values fill "
    "fill-opacity font-size font-weight height hidden href "
    "http-equiv id lang name nonce open r role scope shape-rendering stroke "
    "stroke-dasharray stroke-opacity stroke-width style tabindex "
    "text-anchor title transform type viewBox width x y ";

static bool listed(const char *list, const char *word, size_t length) {
  char padded[40];
  if (length == 0 || length > 32) return false;
  snprintf(padded, sizeof padded, " %.*s ", (int)length, word);
  return strstr(list, padded) != NULL;
}

/* The tag at p, after its '<'; returns what follows its '>'. */
static const char *check_tag(const char *p) {
  const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
  if (*p == '/') p++;
  size_t length = strspn(p, letters);
  CHECK(listed(tags, p, length));
  for (p += length; *p != '>' && *p != '/';) {
    CHECK(*p == ' ' || *p == '\n');
    p += strspn(p, " \n");
    length = strspn(p, letters);
    CHECK(listed(attributes, p, length));
    p += length;
    if (*p != '=') continue;
    CHECK(p[1] == '"');
    p += 2;
    p += strcspn(p, "\"<");
    CHECK(*p == '"');
    p++;
  }
  p += *p == '/';
  CHECK(*p == '>');
  return p + 1;
}

static void check_page(const char *page) {
  static const char data[] = "<script type=\"application/json\"", program[] = "<script>", start[] = "<!DOCTYPE html>";
  int programs = 0;
  CHECK(strncmp(page, start, sizeof start - 1) == 0);
  for (const char *p = page + sizeof start - 1; (p = strchr(p, '<'));) {
    bool is_data = strncmp(p, data, sizeof data - 1) == 0, is_program = strncmp(p, program, sizeof program - 1) == 0;
    bool style = strncmp(p, "<style", 6) == 0;
    CHECK(is_data || is_program || strncmp(p, "<script", 7) != 0);
    p = check_tag(p + 1);
    if (is_program) p = strstr(p, "</script>");
    if (is_data || style) p += strcspn(p, "<");
    programs += is_program;
    CHECK(p);
  }
  CHECK(programs == 1);
}

static void write_report(const blica_model *m, const blica_counts *counts, blica_cor *cor) {
  int segment[64];
  char *page = NULL;
  size_t length;
  for (int s = 0; s < 64; s++) segment[s] = s;
  blica_identification *id = NULL;
  if (blica_identify(fuzz_ctx(), m, &id) != BLICA_OK) CHECK(!id);
  blica_fitted_values *fitted = NULL;
  if (cor && blica_fitted(fuzz_ctx(), m, NULL, &fitted) != BLICA_OK) CHECK(!fitted);
  report_input in = {.model = m,
                     .counts = counts,
                     .cor = cor,
                     .fitted = fitted,
                     .segment = segment,
                     .identification = id,
                     .surplus = 1,
                     .model_path = m->variables[0],
                     .data_path = counts ? m->segments[0] : NULL,
                     .data_options = "",
                     .level_options = "",
                     .version = "0"};
  FILE *stream = open_memstream(&page, &length);
  CHECK(stream && report_write(&in, stream) && fclose(stream) == 0);
  CHECK(strlen(page) == length);
  check_page(page);
  free(page);
  blica_fitted_free(fitted);
  blica_identification_free(id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_bytes b = {data, size};
  blica_ctx *ctx = fuzz_ctx();
  blica_model *m;
  blica_counts *counts = NULL;
  blica_cor *raw = NULL, *cor = NULL;
  bool with_data = fuzz_byte(&b) % 2 == 0;
  if (blica_model_load(ctx, fuzz_file("in.json", b.at, b.left), &m) != BLICA_OK) return 0;
  bool small = m->n >= 2 && m->n <= 8 && m->k <= 8 && m->u <= 16;
  if (small && with_data && blica_simulate_exact(ctx, m, &counts) == BLICA_OK &&
      blica_correlate(ctx, counts, &raw) == BLICA_OK)
    (void)blica_regularise(ctx, raw, INFINITY, &cor);
  if (small) write_report(m, cor ? counts : NULL, cor);
  blica_cor_free(cor);
  blica_cor_free(raw);
  blica_counts_free(counts);
  blica_model_free(m);
  return 0;
}
