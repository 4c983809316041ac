/* model_io.c - writing model.json. Numbers read back to the same bits; the file appears whole or not
 * at all. Reading is in model_load.c. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files/outfile.h"
#include "base/number.h"
#include "base/system.h"
#include "base/text.h"
#include "model/model.h"

/* A byte that is not part of valid UTF-8 is taken as Latin-1. */
static void write_text(FILE *stream, const char *text) {
  putc('"', stream);
  for (const char *s = text; *s;) {
    int length = bl_utf8_length(s);
    unsigned char first = (unsigned char)*s;
    if (length == 0 || first < 0x20 || first == 0x7f)
      fprintf(stream, "\\u%04x", first);
    else if (*s == '"' || *s == '\\')
      fprintf(stream, "\\%c", *s);
    else
      fwrite(s, 1, (size_t)length, stream);
    s += length ? length : 1;
  }
  putc('"', stream);
}

/* In as few digits as read back to the same bits. NaN is null, infinities are the strings "Infinity" and "-Infinity".
 */
static void write_number(FILE *stream, double value) {
  char text[BL_NUMBER_TEXT];
  bl_number_text(value, text);
  fputs(isnan(value) ? "null" : isfinite(value) ? text : value > 0 ? "\"Infinity\"" : "\"-Infinity\"", stream);
}

#define REPORT(type, name)                                                                                             \
  { #name, type, offsetof(blica_fit_report, name) }
const bl_field bl_report_fields[] = {
    REPORT(BL_FIELD_REAL, objective),
    REPORT(BL_FIELD_STOP, stop),
    REPORT(BL_FIELD_WIDE, iterations),
    REPORT(BL_FIELD_WIDE, evaluations),
    REPORT(BL_FIELD_SEED, seed),
    REPORT(BL_FIELD_REAL, condition),
    REPORT(BL_FIELD_REAL, prior_mixing),
    REPORT(BL_FIELD_REAL, prior_variance),
    REPORT(BL_FIELD_INT, best_start),
    REPORT(BL_FIELD_WIDE, zero_cells),
    REPORT(BL_FIELD_WIDE, constant_pairs),
    REPORT(BL_FIELD_WIDE, empty_pairs),
    REPORT(BL_FIELD_WIDE, constant_columns),
    {NULL, BL_FIELD_REAL, 0},
};

#define START(type, name)                                                                                              \
  { #name, type, offsetof(blica_start, name) }
const bl_field bl_start_fields[] = {
    START(BL_FIELD_KIND, kind),       START(BL_FIELD_REAL, objective),   START(BL_FIELD_REAL, gradient),
    START(BL_FIELD_WIDE, iterations), START(BL_FIELD_WIDE, evaluations), START(BL_FIELD_STOP, stop),
    {NULL, BL_FIELD_REAL, 0},
};

/* Writes the name and the value of one member of a record. */
static void write_field(FILE *f, const bl_field *field, const void *record) {
  const char *at = (const char *)record + field->offset;
  fprintf(f, "\"%s\":", field->name);
  switch (field->type) {
  case BL_FIELD_REAL:
    write_number(f, *(const double *)at);
    break;
  case BL_FIELD_INT:
    fprintf(f, "%d", *(const int *)at);
    break;
  case BL_FIELD_WIDE:
    fprintf(f, "%lld", (long long)*(const int64_t *)at);
    break;
  case BL_FIELD_STOP:
    write_text(f, blica_stop_name(*(const blica_stop *)at));
    break;
  case BL_FIELD_KIND:
    write_text(f, at);
    break;
  case BL_FIELD_SEED: { /* beyond 2^53 readers that know only doubles would round it */
    const char *quote = *(const uint64_t *)at > (UINT64_C(1) << 53) ? "\"" : "";
    fprintf(f, "%s%llu%s", quote, (unsigned long long)*(const uint64_t *)at, quote);
  }
  }
}

static void write_fields(FILE *f, const bl_field *field, const void *record, const char *between) {
  for (const bl_field *first = field; field->name; field++) {
    if (field > first) fputs(between, f);
    write_field(f, field, record);
  }
}

static void write_vector(FILE *f, size_t count, const double *x, size_t stride) {
  putc('[', f);
  for (size_t i = 0; i < count; i++) {
    if (i) putc(',', f);
    write_number(f, x[i * stride]);
  }
  putc(']', f);
}

/* An array of rows, one per line: element (r,c) is x[r * row_stride + c * stride]. */
static void write_matrix(FILE *f, const char *name, size_t rows, size_t columns, const double *x, size_t row_stride,
                         size_t stride) {
  fprintf(f, ",\n\"%s\":[", name);
  for (size_t r = 0; r < rows; r++) {
    fputs(r ? ",\n " : "\n ", f);
    write_vector(f, columns, x + r * row_stride, stride);
  }
  putc(']', f);
}

static void write_texts(FILE *f, const char *name, int count, char *const *texts) {
  fprintf(f, ",\n\"%s\":[", name);
  for (int i = 0; i < count; i++) {
    if (i) putc(',', f);
    write_text(f, texts[i]);
  }
  putc(']', f);
}

static void write_optional(FILE *f, const char *name, int count, const double *x) {
  if (!x) return;
  fprintf(f, ",\n \"%s\":", name);
  write_vector(f, (size_t)count, x, 1);
}

/* Whether anything is known of a fit: a simulated model has none, one written by hand perhaps notes alone. */
static bool has_fit(const blica_fit_report *fit) {
  return fit->n_starts || fit->n_notes || fit->n_options || fit->iterations || fit->seed || fit->objective != 0 ||
         fit->prior_mixing > 0 || fit->prior_variance > 0 || fit->shift || fit->eigen_min || fit->eigen_max;
}

static void write_starts(FILE *f, const blica_fit_report *fit) {
  if (fit->n_starts == 0) return;
  fputs(",\n \"starts\":[", f);
  for (int i = 0; i < fit->n_starts; i++) {
    fputs(i ? ",\n  {" : "\n  {", f);
    write_fields(f, bl_start_fields, &fit->starts[i], ",");
    putc('}', f);
  }
  putc(']', f);
}

static void write_fit(FILE *f, const blica_model *m) {
  const blica_fit_report *fit = &m->fit;
  fputs(",\n\"fit\":{\n ", f);
  write_fields(f, bl_report_fields, fit, ",\n ");
  write_starts(f, fit);
  write_optional(f, "shift", m->u, fit->shift);
  write_optional(f, "eigen_min", m->u, fit->eigen_min);
  write_optional(f, "eigen_max", m->u, fit->eigen_max);
  fputs(",\n \"notes\":{", f);
  for (int i = 0; i < fit->n_notes; i++) {
    if (i) putc(',', f);
    write_text(f, fit->notes[i].name);
    putc(':', f);
    write_number(f, fit->notes[i].value);
  }
  fputs("},\n \"options\":{", f);
  for (int i = 0; i < fit->n_options; i++) {
    if (i) putc(',', f);
    write_text(f, fit->options[i].name);
    putc(':', f);
    write_text(f, fit->options[i].value);
  }
  fputs("}}", f);
}

/* Levels, lowest first, and cuts of every item. */
static void write_items(FILE *f, const blica_model *m) {
  fputs(",\n\"levels\":[", f);
  for (int i = 0; i < m->n; i++) {
    int count = bl_plane(m->coding, i + 1) - bl_plane(m->coding, i) + 1;
    fputs(i ? ",[" : "[", f);
    for (int l = 0; l < count; l++) {
      if (l) putc(',', f);
      if (m->coding)
        write_text(f, m->coding->labels[m->coding->first[i] + i + l]);
      else
        fprintf(f, "\"%d\"", l);
    }
    putc(']', f);
  }
  fputs("],\n\"cuts\":[", f);
  for (int i = 0; i < m->n; i++) {
    int first = bl_plane(m->coding, i);
    fputs(i ? ",\n " : "\n ", f);
    write_vector(f, (size_t)(bl_plane(m->coding, i + 1) - first), m->cuts + first, 1);
  }
  putc(']', f);
}

/* Writes the cuts and rows of A that items have of their own in single segments. */
static void write_freed(FILE *f, const blica_model *m) {
  const char *before = ",\n\"free\":[\n {";
  if (!m->freed || !m->own_cuts) return;
  for (int s = 0; s < m->u; s++)
    for (int i = 0; i < m->n; i++) {
      const int first = bl_plane(m->coding, i);
      if (!bl_freed(m, i, s)) continue;
      fprintf(f, "%s\"item\":", before);
      write_text(f, m->variables[i]);
      fputs(",\"segment\":", f);
      write_text(f, m->segments[s]);
      fputs(",\"cuts\":", f);
      write_vector(f, (size_t)(bl_plane(m->coding, i + 1) - first), bl_cuts_in(m, s) + first, 1);
      if (bl_freed(m, i, s) == BLICA_FREED_ROW) fputs(",\"mixing\":", f);
      if (bl_freed(m, i, s) == BLICA_FREED_ROW) write_vector(f, (size_t)m->k, bl_mixing_in(m, s) + i, (size_t)m->n);
      putc('}', f);
      before = ",\n {";
    }
  if (before[1] == '\n' && before[2] == ' ') putc(']', f);
}

static void write_model(FILE *f, const blica_model *m) {
  size_t n = (size_t)m->n, k = (size_t)m->k, u = (size_t)m->u;
  fputs("{\"format\":\"blica-model\",\"version\":2,\n\"method\":", f);
  write_text(f, m->method);
  fputs(",\n\"link\":", f);
  write_number(f, m->link);
  write_texts(f, "variables", m->n, m->variables);
  if (m->labels) write_texts(f, "labels", m->n, m->labels);
  write_texts(f, "segments", m->u, m->segments);
  fputs(",\n\"samples\":", f);
  write_vector(f, u, m->samples, 1);
  write_matrix(f, "mixing", n, k, m->mixing, 1, n);
  write_matrix(f, "variances", u, k, m->variances, k, 1);
  write_matrix(f, "means", u, k, m->means, k, 1);
  write_items(f, m);
  write_matrix(f, "thresholds", u, (size_t)m->planes, m->thresholds, (size_t)m->planes, 1);
  write_freed(f, m);
  if (has_fit(&m->fit)) write_fit(f, m);
  fputs("}\n", f);
}

blica_status blica_model_write(blica_ctx *ctx, const blica_model *model, char **text, size_t *length) {
  BL_NEED_OUT(ctx, text, model, length);
  blica_status status = BLICA_OK;
  char *made = NULL;
  size_t size = 0;
  *length = 0;
  FILE *stream = bl_memory_open(&made, &size);
  if (stream) write_model(stream, model);
  if (!stream || !bl_memory_close(stream, &made, &size))
    FAIL(ctx, BLICA_ERR_MEMORY, "out of memory: the text of a model of %d variables", model->n);
  TRY(bl_alloc(ctx, size + 1, text));
  memcpy(*text, made, size);
  *length = size;
done:
  free(made);
  return status;
}

void blica_text_free(char *text) {
  bl_free(text);
}

blica_status blica_model_save(blica_ctx *ctx, const blica_model *model, const char *path) {
  BL_NEED(ctx, model, path);
  bl_outfile file;
  if (!bl_outfile_open(&file, path))
    return bl_fail(ctx, BLICA_ERR_IO, "cannot write the model to '%s': %s", path, strerror(errno));
  write_model(file.stream, model);
  if (!bl_outfile_commit(&file))
    return bl_fail(ctx, BLICA_ERR_IO, "cannot write the model to '%s': %s", path, strerror(errno));
  return BLICA_OK;
}
