/* output.h - finding out before the work whether its result can be written, and JSON on stdout. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>

#include <jansson.h>

/* Whether a file can be made at path; says why not. */
bool output_possible(const char *path);

/* A number as in model.json: null for NaN, "Infinity" and "-Infinity". */
json_t *json_number(double value);

/* A string; text that is not UTF-8 becomes "(not UTF-8)". */
json_t *json_text(const char *text);

/* Lets json_print know when memory ran out while an object was made: jansson leaves out what it had none for. */
void json_watch_memory(void);

/* Prints the object with a newline and drops it. Returns an exit code. */
int json_print(json_t *object);

#endif
