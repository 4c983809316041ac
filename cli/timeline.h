/* timeline.h - states of rows over time, from the file that blica segment writes. */
#ifndef TIMELINE_H
#define TIMELINE_H

#include "report.h"

/* *out is NULL when path is no such file: a table whose first column is named segment. Fails with the reason in message
 * (TABLE_MESSAGE bytes) when it cannot be read, or has a label that is not one of the segments [u]. */
blica_status timeline_read(const char *path, char **segments, int u, char *message, report_timeline **out);
void timeline_free(report_timeline *timeline);

#endif
