/* runs_csv.c - see runs_csv.h. */
#include "runs_csv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

enum { FIELDS = 22, LINE = 1024 };

/* Files without the last column are of two levels. */
static const char
    levels_header[] = ",levels",
    header[] =
        "seed,variables,sources,segments,samples,method,condition,starts,mcs,error,objective,best_start,iterations,"
        "seconds,seconds_count,seconds_correlate,seconds_regularise,seconds_optimise,seconds_near,stop";

void runs_csv_header(FILE *f) {
  fprintf(f, "%s%s\n", header, levels_header);
}

void runs_csv_row(FILE *f, const run *r) {
  fprintf(f, "%llu,%d,%d,%d,%lld,%s,%.17g,%d,%.17g,%.17g,%.17g,%d,%lld,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%s,%d\n",
          (unsigned long long)r->seed, r->n, r->k, r->u, (long long)r->samples, r->method, r->condition, r->starts,
          r->mcs, r->error, r->objective, r->best_start, (long long)r->iterations, r->seconds, r->seconds_count,
          r->seconds_correlate, r->seconds_regularise, r->seconds_optimise, r->seconds_near, r->stop, r->levels);
}

static int split(char *line, char *field[FIELDS]) {
  int count = 0;
  for (char *at = line; at && count < FIELDS;) {
    field[count++] = at;
    at = strchr(at, ',');
    if (at) *at++ = 0;
  }
  return count;
}

static int whole(const char *text) {
  return (int)strtol(text, NULL, 10);
}

static bool parse(char *line, run *r) {
  char *f[FIELDS];
  line[strcspn(line, "\r\n")] = 0;
  int count = split(line, f);
  if (count != 20 && count != 21) return false;
  *r = (run){.seed = strtoull(f[0], NULL, 10),
             .n = whole(f[1]),
             .k = whole(f[2]),
             .u = whole(f[3]),
             .samples = strtoll(f[4], NULL, 10),
             .condition = bl_strtod(f[6], NULL),
             .starts = whole(f[7]),
             .done = true,
             .mcs = bl_strtod(f[8], NULL),
             .error = bl_strtod(f[9], NULL),
             .objective = bl_strtod(f[10], NULL),
             .best_start = whole(f[11]),
             .iterations = strtoll(f[12], NULL, 10),
             .seconds = bl_strtod(f[13], NULL),
             .seconds_count = bl_strtod(f[14], NULL),
             .seconds_correlate = bl_strtod(f[15], NULL),
             .seconds_regularise = bl_strtod(f[16], NULL),
             .seconds_optimise = bl_strtod(f[17], NULL),
             .seconds_near = bl_strtod(f[18], NULL),
             .levels = count == 21 ? whole(f[20]) : 2};
  snprintf(r->method, sizeof r->method, "%s", f[5]);
  snprintf(r->stop, sizeof r->stop, "%s", f[19]);
  return r->n > 0 && r->k > 0 && r->u > 0;
}

static blica_status read_rows(experiment *e, FILE *f, const char *path, runs *out, long *whole) {
  char line[LINE];
  if (!fgets(line, sizeof line, f)) return BLICA_OK; /* empty */
  const size_t length = strlen(header);
  line[strcspn(line, "\r\n")] = 0;
  if (strncmp(line, header, length) != 0 || (line[length] && strcmp(line + length, levels_header) != 0))
    return fail_experiment(e, BLICA_ERR_FORMAT,
                           "'%s' was not written by this experiment; move it away or give another folder", path);
  *whole = ftell(f);
  for (int number = 2; fgets(line, sizeof line, f); number++) {
    run r;
    if (!strchr(line, '\n')) break;
    if (!parse(line, &r))
      return fail_experiment(e, BLICA_ERR_FORMAT, "'%s', line %d, is not a row of a run", path, number);
    blica_status status = runs_add(e, out, &r);
    if (status != BLICA_OK) return status;
    *whole = ftell(f);
  }
  return BLICA_OK;
}

blica_status runs_csv_load(experiment *e, const char *path, runs *out, long *whole) {
  *whole = 0;
  FILE *f = fopen(path, "r");
  if (!f && errno == ENOENT) return BLICA_OK;
  if (!f) return fail_experiment(e, BLICA_ERR_IO, "cannot read '%s': %s", path, strerror(errno));
  blica_status status = read_rows(e, f, path, out, whole);
  fclose(f);
  return status;
}
