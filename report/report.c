/* report.c - the page as a whole. All text from files goes through html_text; the page allows no network and no
 * script but its own. */
#include "report.h"

#include <stdlib.h>

#include "html.h"
#include "report_parts.h"

static bool prepare(const report_input *in, report *r) {
  *r = (report){.in = in};
  return agreement_make(in, &r->agree) && row_order_make(in->model, &r->rows);
}

static bool stopped(const report_input *in) {
  return in->stop && in->stop();
}

static void release(report *r) {
  agreement_free(&r->agree);
  free(r->rows.order);
}

typedef struct {
  const char *id, *title;
  void (*write)(const report *r, FILE *page);
} section;

static const section sections[] = {
    {"summary", "What was fitted", section_summary},
    {"assessment", "How far to trust it", section_assessment},
    {"identifiability", "What the design can identify", section_identifiability},
    {"mixing-matrix", "The mixing matrix", section_mixing},
    {"sources", "The sources over segments", section_sources},
    {"fit", "How well it fits", section_fit},
    {"data", "What was corrected in the data", section_data},
    {"reproduce", "How to get it again", section_reproduce},
};
enum { SECTIONS = sizeof sections / sizeof *sections };

/* The policy allows the page's own script by its SHA-256, so that nothing in a name can run (tests/cli/report.bats
 * recomputes it). */
static void head(const report_input *in, FILE *page) {
  fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src "
        "'unsafe-inline'; script-src 'sha256-LNeMg+vMbPw20iCAQkIT0Vv/X+X+yKZJkcWeBzXJp7g='\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>blica: ",
        page);
  html_text(page, in->model_path);
  fputs("</title>\n<style>", page);
  fputs(page_style, page);
  fprintf(page, "</style></head>\n<body>\n<header><h1>Independent components of %s data</h1><p>",
          blica_ordinal_items(in->model->coding) ? "ordinal" : "binary");
  html_text(page, in->model_path);
  if (in->data_path) {
    fputs(", fitted to ", page);
    html_text(page, in->data_path);
  }
  fputs("</p><nav>", page);
  for (int i = 0; i < SECTIONS; i++) fprintf(page, "<a href=\"#%s\">%s</a> ", sections[i].id, sections[i].title);
  fputs("</nav></header>\n<main>\n", page);
}

bool report_write(const report_input *in, FILE *page) {
  report r;
  bool ok = prepare(in, &r);
  if (ok) {
    head(in, page);
    for (int i = 0; i < SECTIONS && !stopped(in); i++) {
      fprintf(page, "<section id=\"%s\"><h2>%s</h2>\n", sections[i].id, sections[i].title);
      sections[i].write(&r, page);
      fputs("</section>\n", page);
    }
    fputs("</main>\n<footer>", page);
    html_textf(page, "Written by blica %s.", in->version);
    fputs("</footer>\n<div id=\"tip\" role=\"status\" hidden></div>\n<script>", page);
    fputs(page_script, page);
    fputs("</script>\n</body></html>\n", page);
  }
  release(&r);
  return ok && !draw_out_of_memory();
}

bool report_figures(const report_input *in, const char *folder, char *message, size_t size) {
  static const struct {
    const char *name;
    figure *(*draw)(const report *r);
  } list[] = {{"mixing", figure_mixing},     {"variances", figure_variances}, {"means", figure_means},
              {"timeline", figure_timeline}, {"loadings", figure_loadings},   {"agreement", figure_agreement},
              {"segments", figure_segments}, {"residuals", figure_residuals}, {"selection", figure_selection}};
  report r;
  bool ok = prepare(in, &r);
  for (size_t i = 0; i < sizeof list / sizeof *list && ok && !stopped(in); i++) {
    figure *f = list[i].draw(&r);
    if (f) ok = figure_save(f, folder, list[i].name, message, size);
    figure_free(f);
  }
  release(&r);
  if (draw_out_of_memory()) snprintf(message, size, "out of memory: the figures are not complete");
  return ok && !draw_out_of_memory();
}
