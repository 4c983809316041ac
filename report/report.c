/* report.c - the page as a whole. All text from files goes through html_text; the page allows no network and no
 * script but its own. */
#include "report.h"

#include <stdlib.h>

#include "html.h"
#include "report_parts.h"

static bool stopped(const report_input *in) {
  return in->stop && in->stop();
}

typedef struct {
  const char *id, *title;
  void (*write)(const report *r, FILE *page);
} section;

/* All are folded but the answer, which comes before them. */
static const section sections[] = {
    {"assessment", "How sure it is, in numbers", section_assessment},
    {"fit", "How well it fits", section_fit},
    {"sources", "The sources over segments", section_sources},
    {"items", "Do items work alike in all segments?", section_items},
    {"mixing-matrix", "All loadings", section_mixing},
    {"data", "What is in the data", section_data},
    {"identifiability", "What the design can identify", section_identifiability},
    {"model", "The model and the optimiser", section_summary},
    {"reproduce", "How to repeat the fit", section_reproduce},
};
enum { SECTIONS = sizeof sections / sizeof *sections };

/* The policy allows the page's own script by its SHA-256, so that nothing in a name can run (tests/cli/report.bats
 * recomputes it). */
static void head(const report_input *in, FILE *page) {
  fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'; script-src 'sha256-djDE5bHYAFkz4m44Ei5Edx6Mi2N0np7wdDXSoM9p7UU='\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>blica: ",
        page);
  html_text(page, in->model_path);
  fputs("</title>\n<style>", page);
  fputs(page_style, page);
  bool doubted = false; /* the page advises against interpreting the sources */
  for (int q = 0; q < BLICA_QUESTIONS && in->assessment; q++)
    doubted = doubted || in->assessment->answer[q] == BLICA_NO;
  fprintf(page, "</style></head>\n<body>\n<header><h1>%d source%s %s %d %s items</h1><p>", in->model->k,
          in->model->k == 1 ? "" : "s", doubted ? "fitted to" : "behind", in->model->n,
          blica_ordinal_items(in->model->coding) ? "ordinal" : "binary");
  html_text(page, in->model_path);
  if (in->data_path) {
    fputs(", fitted to ", page);
    html_text(page, in->data_path);
  }
  fputs("</p></header>\n<main>\n", page);
}

bool report_write(const report_input *in, FILE *page) {
  report r = {.in = in};
  bool ok = agreement_make(in, &r.agree);
  if (ok) {
    head(in, page);
    fputs("<section id=\"answer\">\n", page);
    section_answer(&r, page);
    fputs("</section>\n", page);
    for (int i = 0; i < SECTIONS && !stopped(in); i++) {
      fprintf(page, "<details class=\"part\" id=\"%s\"><summary><h2>%s</h2></summary>\n", sections[i].id,
              sections[i].title);
      sections[i].write(&r, page);
      fputs("</details>\n", page);
    }
    fputs("</main>\n<footer>", page);
    html_textf(page, "Written by blica %s.", in->version);
    fputs("</footer>\n<div id=\"tip\" role=\"status\" hidden></div>\n<script>", page);
    fputs(page_script, page);
    fputs("</script>\n</body></html>\n", page);
  }
  agreement_free(&r.agree);
  return ok && !draw_out_of_memory();
}

bool report_figures(const report_input *in, const char *folder, char *message, size_t size) {
  static const struct {
    const char *name;
    figure *(*draw)(const report *r);
  } list[] = {{"mixing", figure_mixing},      {"variances", figure_variances}, {"means", figure_means},
              {"timeline", figure_timeline},  {"agreement", figure_agreement}, {"segments", figure_segments},
              {"residuals", figure_residuals}};
  report r = {.in = in};
  bool ok = agreement_make(in, &r.agree);
  for (size_t i = 0; i < sizeof list / sizeof *list && ok && !stopped(in); i++) {
    figure *f = list[i].draw(&r);
    if (f) ok = figure_save(f, folder, list[i].name, message, size);
    figure_free(f);
  }
  agreement_free(&r.agree);
  if (draw_out_of_memory()) snprintf(message, size, "out of memory: the figures are not complete");
  return ok && !draw_out_of_memory();
}
