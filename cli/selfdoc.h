/* selfdoc.h - the writers behind `blica self-doc`. Each returns an exit code. */
#ifndef SELFDOC_H
#define SELFDOC_H

#include <stdio.h>

#include "args.h"

int selfdoc_man(const char *folder);     /* blica.1, blica-COMMAND.1 */
int selfdoc_bash(const char *folder);    /* blica */
int selfdoc_zsh(const char *folder);     /* _blica */
int selfdoc_fish(const char *folder);    /* blica.fish */
int selfdoc_options(const char *folder); /* options.md */

/* Creates folder/name and lets `write` fill it. Returns an exit code; a failure has been reported. */
int selfdoc_file(const char *folder, const char *name, void (*write)(FILE *f, const void *what), const void *what);

/* The options of a command, the common ones last: calls each(f, option) for all. */
typedef void (*option_writer)(FILE *f, const blica_option *option);
void selfdoc_each_option(FILE *f, const command *c, option_writer write); /* in the order of the table */

#endif
