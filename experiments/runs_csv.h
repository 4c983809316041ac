/* runs_csv.h - rows of runs as text. */
#ifndef RUNS_CSV_H
#define RUNS_CSV_H

#include <stdio.h>

#include "runs.h"

void runs_csv_header(FILE *f);            /* the line of names */
void runs_csv_row(FILE *f, const run *r); /* one run as a line */
/* Rows of the file at path, none when there is no such file. A last line without its newline, as a killed run may
 * leave, is dropped; whole is the length of the file up to there. */
blica_status runs_csv_load(experiment *e, const char *path, runs *out, long *whole);

#endif
